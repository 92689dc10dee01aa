! SPDX-License-Identifier: BSD-3-Clause
! The calls from Fortran with mpif.h: MPI_IN_PLACE, MPI_STATUS_IGNORE, MPI_BOTTOM, and a native
! persistent request between Iallgathers in Waitall, Waitany and Testall. The persistent handle must
! be the same integer before and after.
! ranks: 2 3
! expect: right integers, persistent handle kept
! taken: MPI_Bcast MPI_Ibcast MPI_Allgather MPI_Iallgather MPI_Allgatherv MPI_Iallgatherv
program fortran_mpif
    implicit none
    include 'mpif.h'
    integer, parameter :: length = 3001
    integer, parameter :: no_place(2) = [MPI_UNDEFINED, MPI_UNDEFINED + UNDEFINED_OFFSET] ! build.mk says why
    integer :: rank, ranks, error, root, i, failures, total, round, place, persistent
    integer :: requests(4), statuses(MPI_STATUS_SIZE, 4)
    ! Volatile, because MPI writes them behind the compiler's back while operations are pending.
    integer, volatile :: counts(3), places(3)
    integer, volatile :: buffer(length), gathered(length * 3), token(2)
    integer(kind=MPI_ADDRESS_KIND) :: address
    integer :: absolute
    logical :: flag

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    failures = 0

    do root = 0, ranks - 1
        buffer = 0
        if (rank == root) buffer = [(i * 7 + root, i = 1, length)]
        call MPI_Bcast(buffer, length, MPI_INTEGER, root, MPI_COMM_WORLD, error)
        call expect(all(buffer == [(i * 7 + root, i = 1, length)]), 1)
        if (rank /= root) buffer = 0
        call MPI_Ibcast(buffer, length, MPI_INTEGER, root, MPI_COMM_WORLD, requests(1), error)
        call expect(requests(1) /= MPI_REQUEST_NULL, 10)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
        call expect(all(buffer == [(i * 7 + root, i = 1, length)]) .and. requests(1) == MPI_REQUEST_NULL, 11)
    end do

    call MPI_Get_address(buffer, address, error)
    call MPI_Type_create_hindexed(1, [length], [address], MPI_INTEGER, absolute, error)
    call MPI_Type_commit(absolute, error)
    buffer = rank
    call MPI_Bcast(MPI_BOTTOM, 1, absolute, ranks - 1, MPI_COMM_WORLD, error)
    call MPI_Type_free(absolute, error)
    call expect(all(buffer == ranks - 1), 2)

    gathered = -1
    gathered(rank * length + 1:(rank + 1) * length) = rank + 50
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered, length, MPI_INTEGER, &
        MPI_COMM_WORLD, error)
    do i = 0, ranks - 1
        call expect(all(gathered(i * length + 1:(i + 1) * length) == i + 50), 3)
    end do

    counts = [(i * 100 + 1, i = 0, 2)]
    places = [(length * i + 5, i = 0, 2)]
    gathered = -1
    buffer = rank + 70
    call MPI_Allgatherv(buffer, counts(rank + 1), MPI_INTEGER, gathered, counts, places, MPI_INTEGER, &
        MPI_COMM_WORLD, error)
    do i = 0, ranks - 1
        call expect(all(gathered(places(i + 1) + 1:places(i + 1) + counts(i + 1)) == i + 70), 12)
        call expect(gathered(places(i + 1)) == -1 .and. gathered(places(i + 1) + counts(i + 1) + 1) == -1, 13)
    end do
    call MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered, counts, places, MPI_INTEGER, &
        MPI_COMM_WORLD, requests(1), error)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
    do i = 0, ranks - 1
        call expect(all(gathered(places(i + 1) + 1:places(i + 1) + counts(i + 1)) == i + 70), 14)
    end do

    call MPI_Recv_init(token(2), 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 4, MPI_COMM_WORLD, &
        persistent, error)
    do round = 1, 6
        requests(2) = persistent
        token = [rank + 100 * round, 0]
        buffer = rank + round
        gathered = -1
        call MPI_Start(requests(2), error)
        call MPI_Iallgather(buffer, length, MPI_INTEGER, gathered, length, MPI_INTEGER, &
            MPI_COMM_WORLD, requests(1), error)
        call expect(requests(1) /= MPI_REQUEST_NULL, 4)
        call MPI_Isend(token(1), 1, MPI_INTEGER, mod(rank + 1, ranks), 4, MPI_COMM_WORLD, &
            requests(3), error)
        requests(4) = MPI_REQUEST_NULL
        if (mod(round, 3) == 0) then
            call MPI_Waitall(4, requests, statuses, error)
            call expect(statuses(MPI_SOURCE, 2) == mod(rank + ranks - 1, ranks), 5)
        else if (mod(round, 3) == 1) then
            place = 0
            do while (all(place /= no_place))
                call MPI_Waitany(4, requests, place, MPI_STATUS_IGNORE, error)
            end do
        else
            flag = .false.
            do while (.not. flag)
                call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, error)
            end do
        end if
        call expect(requests(1) == MPI_REQUEST_NULL .and. requests(2) == persistent, 6)
        call expect(token(2) == mod(rank + ranks - 1, ranks) + 100 * round, 7)
        do i = 0, ranks - 1
            call expect(all(gathered(i * length + 1:(i + 1) * length) == i + round), 8)
        end do
    end do
    call MPI_Request_free(persistent, error)

    call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered, length, MPI_INTEGER, &
        MPI_COMM_WORLD, requests(1), error)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
    call expect(gathered(1) == 6 .and. requests(1) == MPI_REQUEST_NULL, 9)

    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a,i0,a,i0,a)', 'mpif.h on ', ranks, ' ranks: ', total, ' failures'
    call MPI_Finalize(error)
    if (total > 0) stop 1

contains

    subroutine expect(holds, place_in_program)
        logical, intent(in) :: holds
        integer, intent(in) :: place_in_program
        if (holds) return
        failures = failures + 1
        write (0, '(a,i0,a,i0)') 'rank ', rank, ': FAILED: check ', place_in_program
    end subroutine expect
end program fortran_mpif
