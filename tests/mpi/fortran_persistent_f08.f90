! SPDX-License-Identifier: BSD-3-Clause
! Persistent collectives from Fortran with mpi_f08 and mpi_f08_ext, whose handles are types, started in different orders
! and completed together. Errors are optional here.
! ranks: 2 3
! mpirun: --mca coll basic,self,libnbc
! expect: right integers, handles kept
! taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
program fortran_persistent_f08
    use mpi_f08
#ifndef WITHOUT_MPI_EXT
    use mpi_f08_ext
#endif
    implicit none
    integer, parameter :: length = 3001
    integer :: rank, ranks, i, failures, total, round
    type(MPI_Request) :: requests(3), kept(3)
    ! Volatile, because MPI writes them behind the compiler's back while operations are pending; the counts because the
    ! interfaces want them asynchronous.
    integer, volatile :: spread(length), mine(length), gathered(length * 3), unequal(length * 3)
    integer, asynchronous :: counts(3), places(3)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    failures = 0
    do i = 1, 3
        counts(i) = length - 100 * i
        places(i) = (3 - i) * length
    end do
    call MPIX_Bcast_init(spread, length, MPI_INTEGER, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPIX_Allgather_init(mine, length, MPI_INTEGER, gathered, length, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                             requests(2))
    call MPIX_Allgatherv_init(mine, counts(rank + 1), MPI_INTEGER, unequal, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                              MPI_INFO_NULL, requests(3))
    kept = requests
    do round = 1, 6
        spread = -1
        if (rank == 1) spread = 7 * round
        mine = rank + 100 * round
        gathered = -1
        unequal = -1
        if (mod(round, 2) == 0) then
            call MPI_Startall(3, requests)
        else
            do i = 1, 3
                call MPI_Start(requests(1 + mod(i + rank, 3)))
            end do
        end if
        call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
        do i = 1, 3
            if (requests(i) /= kept(i)) failures = failures + 1
        end do
        if (any(spread /= 7 * round)) failures = failures + 1
        do i = 1, ranks
            if (any(gathered((i - 1) * length + 1:i * length) /= i - 1 + 100 * round)) failures = failures + 1
            if (any(unequal(places(i) + 1:places(i) + counts(i)) /= i - 1 + 100 * round)) failures = failures + 1
            if (unequal(places(i) + counts(i) + 1) /= -1) failures = failures + 1
        end do
    end do
    do i = 1, 3
        call MPI_Request_free(requests(i))
        if (requests(i) /= MPI_REQUEST_NULL) failures = failures + 1
    end do
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. total == 0) print '(a)', 'persistent collectives with mpi_f08: right'
    if (rank == 0 .and. total /= 0) print '(a,i0)', 'failures: ', total
    call MPI_Finalize()
    if (total /= 0) stop 1
end program
