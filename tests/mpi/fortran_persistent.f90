! SPDX-License-Identifier: BSD-3-Clause
! Persistent requests from Fortran: Send_init, Ssend_init, Bsend_init, Recv_init, Start, Startall. The handles are
! integers that must stay the same from the first start to the last wait; MPI_Request_free makes them null.
! ranks: 2 3
! environment: CASTOFF_P2P=yes
! expect: right integers, handles kept
program fortran_persistent
    use mpi
    implicit none
    integer, parameter :: length = 3001
    integer, parameter :: no_place(2) = [MPI_UNDEFINED, MPI_UNDEFINED + UNDEFINED_OFFSET] ! build.mk says why
    integer, parameter :: short = 901 ! a larger buffered one native starts again with the bytes of the first time
    integer :: rank, ranks, error, i, failures, total, round, place, left, right, done, packed
    integer :: requests(6), kept(6), statuses(MPI_STATUS_SIZE, 6), status(MPI_STATUS_SIZE), indices(6)
    ! Volatile, because MPI writes them behind the compiler's back while operations are pending.
    integer, volatile :: outgoing(length, 3), incoming(length, 3)
    integer :: attached(3 * length)
    logical :: flag

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    failures = 0
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    call MPI_Buffer_attach(attached, 4 * 3 * length, error)

    do i = 1, 3
        call MPI_Recv_init(incoming(1, i), length, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), error)
    end do
    call MPI_Send_init(outgoing(1, 1), length, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(4), error)
    call MPI_Ssend_init(outgoing(1, 2), length, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(5), error)
    call MPI_Bsend_init(outgoing(1, 3), short, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(6), error)
    kept = requests

    call MPI_Wait(requests(1), status, error)
    call expect(status(MPI_SOURCE) == MPI_ANY_SOURCE .and. status(MPI_TAG) == MPI_ANY_TAG, 1)

    do round = 1, 12
        do i = 1, 3
            outgoing(:, i) = rank + 10 * i + 100 * round
        end do
        incoming = -1
        if (mod(round, 2) == 0) then
            call MPI_Startall(6, requests, error)
        else
            do i = 1, 6
                call MPI_Start(requests(i), error)
            end do
        end if
        call expect(all(requests == kept), 2)
        select case (mod(round, 4))
        case (0)
            call MPI_Waitall(6, requests, statuses, error)
            call expect(all(statuses(MPI_SOURCE, 1:3) == left), 3)
        case (1)
            do i = 1, 6
                call MPI_Waitany(6, requests, place, MPI_STATUS_IGNORE, error)
            end do
            call MPI_Waitany(6, requests, place, MPI_STATUS_IGNORE, error)
            call expect(any(place == no_place), 4)
        case (2)
            flag = .false.
            do while (.not. flag)
                call MPI_Testall(6, requests, flag, MPI_STATUSES_IGNORE, error)
            end do
        case (3)
            done = 0
            do while (done < 6)
                call MPI_Waitsome(6, requests, packed, indices, MPI_STATUSES_IGNORE, error)
                done = done + packed
            end do
        end select
        call expect(all(requests == kept), 5)
        call expect(all(incoming(1:short, 3) == left + 30 + 100 * round), 6)
        do i = 1, 2
            call expect(all(incoming(:, i) == left + 10 * i + 100 * round), 6)
        end do
        ! The buffer that the buffered message lay in is free when the neighbour has it, and has said so.
        call MPI_Barrier(MPI_COMM_WORLD, error)
    end do

    call MPI_Start(requests(1), error)
    call MPI_Cancel(requests(1), error)
    call MPI_Wait(requests(1), status, error)
    call MPI_Test_cancelled(status, flag, error)
    call expect(flag .and. requests(1) == kept(1), 7)

    do i = 1, 6
        call MPI_Request_free(requests(i), error)
        call expect(requests(i) == MPI_REQUEST_NULL, 8)
    end do
    call MPI_Buffer_detach(attached, place, error)
    call MPI_Reduce(failures, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (rank == 0) then
        if (total == 0) print '(a)', 'persistent requests from Fortran: right'
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
