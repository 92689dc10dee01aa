! SPDX-License-Identifier: BSD-3-Clause
! Persistent collectives from Fortran by their names in Open MPI 4.1: MPIX_Bcast_init, MPIX_Allgather_init,
! MPIX_Allgatherv_init. The handles are integers that must stay the same from the first start to the last wait;
! MPI_Request_free makes them null. The array of counts is in place from the first call to the last.
! ranks: 2 3
! mpirun: --mca coll basic,self,libnbc
! expect: right integers, handles kept
! taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
program fortran_persistent_collectives
    use mpi
#ifndef WITHOUT_MPI_EXT
    use mpi_ext
#endif
    implicit none
    integer, parameter :: length = 3001
    integer, parameter :: no_place(2) = [MPI_UNDEFINED, MPI_UNDEFINED + UNDEFINED_OFFSET] ! build.mk says why
    integer :: rank, ranks, error, i, failures, total, round, place, done, packed
    integer :: requests(4), kept(4), statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE), indices(4)
    ! Volatile, because MPI writes them behind the compiler's back while operations are pending.
    integer, volatile :: spread(length), mine(length)
    integer, volatile, allocatable :: gathered(:), in_place(:), unequal(:)
    integer, allocatable :: counts(:), places(:)
    logical :: flag

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    failures = 0
    allocate (gathered(length * ranks), in_place(length * ranks), unequal((length + 1) * ranks), counts(ranks), places(ranks))
    do i = 1, ranks
        counts(i) = length - 100 * i
        places(i) = (ranks - i) * (length + 1)
    end do

    call MPIX_Bcast_init(spread, length, MPI_INTEGER, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), error)
    call MPIX_Allgather_init(mine, length, MPI_INTEGER, gathered, length, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                             requests(2), error)
    call MPIX_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place, length, MPI_INTEGER, MPI_COMM_WORLD, &
                             MPI_INFO_NULL, requests(3), error)
    call MPIX_Allgatherv_init(mine, counts(rank + 1), MPI_INTEGER, unequal, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                              MPI_INFO_NULL, requests(4), error)
    kept = requests
    call MPI_Wait(requests(1), status, error)
    call expect(status(MPI_SOURCE) == MPI_ANY_SOURCE .and. status(MPI_TAG) == MPI_ANY_TAG, 1)

    do round = 1, 12
        spread = -1
        if (rank == 1) spread = 7 * round
        mine = rank + 100 * round
        gathered = -1
        unequal = -1
        in_place = -1
        in_place(rank * length + 1:(rank + 1) * length) = rank + 1000 * round
        if (mod(round, 2) == 0) then
            call MPI_Startall(4, requests, error)
        else
            do i = 1, 4
                call MPI_Start(requests(1 + mod(i + rank, 4)), error)
            end do
        end if
        call expect(all(requests == kept), 2)
        select case (mod(round, 4))
        case (0)
            call MPI_Waitall(4, requests, statuses, error)
        case (1)
            do i = 1, 4
                call MPI_Waitany(4, requests, place, MPI_STATUS_IGNORE, error)
            end do
            call MPI_Waitany(4, requests, place, MPI_STATUS_IGNORE, error)
            call expect(any(place == no_place), 4)
        case (2)
            flag = .false.
            do while (.not. flag)
                call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, error)
            end do
        case (3)
            done = 0
            do while (done < 4)
                call MPI_Waitsome(4, requests, packed, indices, MPI_STATUSES_IGNORE, error)
                done = done + packed
            end do
        end select
        call expect(all(requests == kept), 5)
        call expect(all(spread == 7 * round), 6)
        do i = 1, ranks
            call expect(all(gathered((i - 1) * length + 1:i * length) == i - 1 + 100 * round), 7)
            call expect(all(in_place((i - 1) * length + 1:i * length) == i - 1 + 1000 * round), 8)
            call expect(all(unequal(places(i) + 1:places(i) + counts(i)) == i - 1 + 100 * round), 9)
            call expect(unequal(places(i) + counts(i) + 1) == -1, 10)
        end do
    end do

    do i = 1, 4
        call MPI_Request_free(requests(i), error)
        call expect(requests(i) == MPI_REQUEST_NULL, 11)
    end do
    call MPI_Reduce(failures, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (rank == 0) then
        if (total == 0) print '(a)', 'persistent collectives from Fortran: right'
        if (total /= 0) print '(a,i0)', 'failures: ', total
    end if
    call MPI_Bcast(total, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call MPI_Finalize(error)
    if (total /= 0) stop 1

contains
    subroutine expect(holds, check)
        logical, intent(in) :: holds
        integer, intent(in) :: check
        if (.not. holds) then
            failures = failures + 1
            write (0, '(a,i0,a,i0,a,i0)') 'rank ', rank, ', round ', round, ': check ', check
        end if
    end subroutine
end program
