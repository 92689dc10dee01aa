! SPDX-License-Identifier: BSD-3-Clause
! All-to-alls from Fortran with mpif.h: nonblocking of equal and unequal blocks, in place, and persistent by the names
! that Open MPI 4.1 has for them, completed together with a receive.
! ranks: 2 3
! environment: CASTOFF_PROXY=yes
! mpirun: --mca coll basic,self,libnbc
! expect: right integers, handles kept
! taken: MPI_Ialltoall MPI_Ialltoallv MPIX_Alltoall_init MPIX_Alltoallv_init
program fortran_alltoall_mpif
    implicit none
    include 'mpif.h'
#ifndef WITHOUT_MPI_EXT
    include 'mpif-ext.h'
#endif
    integer, parameter :: length = 1501, most = 16
    integer :: rank, ranks, ierror, i, failures, total, round, token
    integer :: requests(6), kept(6)
    ! Volatile, because MPI writes them behind the compiler's back while operations are pending.
    integer, volatile :: send(length * most), equal(length * most), in_place(length * most), unequal(length * most)
    integer, volatile :: planned(length * most), planned_unequal(length * most)
    integer :: counts(most), places(most), incoming
    external :: MPIX_Alltoall_init, MPIX_Alltoallv_init

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    failures = 0
    ! As long one way as the other.
    do i = 1, most
        counts(i) = length - 40 * (i + rank)
        places(i) = (most - i) * length
    end do
    call MPIX_Alltoall_init(send, length, MPI_INTEGER, planned, length, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                            requests(5), ierror)
    call MPIX_Alltoallv_init(send, counts, places, MPI_INTEGER, planned_unequal, counts, places, MPI_INTEGER, &
                             MPI_COMM_WORLD, MPI_INFO_NULL, requests(6), ierror)
    kept = requests

    do round = 1, 6
        equal = -1
        unequal = -1
        planned = -1
        planned_unequal = -1
        do i = 1, most
            send((i - 1) * length + 1:i * length) = 100 * rank + 10000 * round
        end do
        in_place = send
        token = rank
        call MPI_Ialltoall(send, length, MPI_INTEGER, equal, length, MPI_INTEGER, MPI_COMM_WORLD, requests(1), ierror)
        call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place, length, MPI_INTEGER, MPI_COMM_WORLD, &
                           requests(2), ierror)
        call MPI_Ialltoallv(send, counts, places, MPI_INTEGER, unequal, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                            requests(3), ierror)
        call MPI_Irecv(incoming, 1, MPI_INTEGER, mod(rank + 1, ranks), 3, MPI_COMM_WORLD, requests(4), ierror)
        if (mod(round, 2) == 0) then
            call MPI_Startall(2, requests(5:6), ierror)
        else
            call MPI_Start(requests(5 + mod(rank, 2)), ierror)
            call MPI_Start(requests(6 - mod(rank, 2)), ierror)
        end if
        call MPI_Send(token, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, ierror)
        call MPI_Waitall(6, requests, MPI_STATUSES_IGNORE, ierror)
        call expect(requests(1) == MPI_REQUEST_NULL .and. requests(3) == MPI_REQUEST_NULL, 1)
        call expect(requests(5) == kept(5) .and. requests(6) == kept(6), 2)
        call expect(incoming == mod(rank + 1, ranks), 3)
        do i = 1, ranks
            call expect(all(equal((i - 1) * length + 1:i * length) == 100 * (i - 1) + 10000 * round), 4)
            call expect(all(in_place((i - 1) * length + 1:i * length) == 100 * (i - 1) + 10000 * round), 5)
            call expect(all(unequal(places(i) + 1:places(i) + counts(i)) == 100 * (i - 1) + 10000 * round), 6)
            call expect(unequal(places(i) + counts(i) + 1) == -1, 7)
            call expect(all(planned((i - 1) * length + 1:i * length) == 100 * (i - 1) + 10000 * round), 8)
            call expect(all(planned_unequal(places(i) + 1:places(i) + counts(i)) == 100 * (i - 1) + 10000 * round), 9)
        end do
    end do

    call MPI_Request_free(requests(5), ierror)
    call MPI_Request_free(requests(6), ierror)
    call expect(requests(5) == MPI_REQUEST_NULL .and. requests(6) == MPI_REQUEST_NULL, 10)
    call MPI_Reduce(failures, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) then
        if (total == 0) print '(a)', 'all-to-alls from Fortran: right'
        if (total /= 0) print '(a,i0)', 'failures: ', total
    end if
    call MPI_Bcast(total, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call MPI_Finalize(ierror)
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
