! SPDX-License-Identifier: BSD-3-Clause
! Sends and receives from Fortran with mpif.h: integers as handles, MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE, a status
! array, wildcards, sizes on both sides of the eager one, Waitany and Waitall.
! ranks: 2 3
! environment: CASTOFF_P2P=yes
! expect: right integers and statuses
program p2p_mpif
    implicit none
    include 'mpif.h'
    integer, parameter :: length = 20000
    integer, parameter :: no_place(2) = [MPI_UNDEFINED, MPI_UNDEFINED + UNDEFINED_OFFSET] ! build.mk says why
    integer :: rank, ranks, to, from, i, k, failures, total, count, error, place
    integer :: requests(6), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 6)
    integer, volatile :: sent(length), received(length, 3)
    integer :: sizes(3)

    sizes = [1, 1024, length]
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    to = mod(rank + 1, ranks)
    from = mod(rank + ranks - 1, ranks)
    failures = 0
    sent = [(i + rank, i = 1, length)]

    do k = 1, 3
        call MPI_Irecv(received(1, k), sizes(k), MPI_INTEGER, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, requests(k), error)
        call MPI_Isend(sent, sizes(k), MPI_INTEGER, to, k, MPI_COMM_WORLD, requests(3 + k), error)
    end do
    call MPI_Waitall(6, requests, statuses, error)
    do k = 1, 3
        call MPI_Get_count(statuses(1, k), MPI_INTEGER, count, error)
        call expect(statuses(MPI_SOURCE, k) == from .and. statuses(MPI_TAG, k) == k .and. count == sizes(k), k)
        call expect(all(received(1:sizes(k), k) == [(i + from, i = 1, sizes(k))]), 10 + k)
        call expect(requests(k) == MPI_REQUEST_NULL, 20 + k)
    end do

    received = 0
    do k = 1, 3
        call MPI_Irecv(received(1, k), sizes(k), MPI_INTEGER, from, k, MPI_COMM_WORLD, requests(k), error)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
    do k = 3, 1, -1
        call MPI_Send(sent, sizes(k), MPI_INTEGER, to, k, MPI_COMM_WORLD, error)
    end do
    do k = 1, 3
        call MPI_Waitany(3, requests, place, status, error)
        call expect(place >= 1 .and. place <= 3 .and. status(MPI_TAG) == place, 30 + k)
    end do
    call MPI_Waitany(3, requests, place, MPI_STATUS_IGNORE, error)
    call expect(any(place == no_place), 34)
    do k = 1, 3
        call expect(all(received(1:sizes(k), k) == [(i + from, i = 1, sizes(k))]), 40 + k)
    end do

    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, i0)', 'failures: ', total
    call MPI_Finalize(error)
    if (total > 0) stop 1

contains
    subroutine expect(holds, what)
        logical, intent(in) :: holds
        integer, intent(in) :: what
        if (.not. holds) then
            failures = failures + 1
            write (0, '(a, i0, a, i0)') 'rank ', rank, ': FAILED: check ', what
        end if
    end subroutine
end program
