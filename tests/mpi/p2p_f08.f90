! SPDX-License-Identifier: BSD-3-Clause
! Sends and receives from Fortran with mpi_f08: every mode, blocking and not, a section of an array with a stride,
! MPI_BOTTOM, MPI_STATUS_IGNORE, wildcards, a message to oneself, Waitall and Testall, and what the status says.
! ranks: 2 3
! environment: CASTOFF_P2P=yes
! expect: right integers and statuses
program p2p_f08
    use mpi_f08
    implicit none
    integer, parameter :: length = 3000
    integer :: rank, ranks, to, from, i, failures, total, count, round
    type(MPI_Request) :: requests(4)
    type(MPI_Status) :: status, statuses(4)
    type(MPI_Datatype) :: absolute, every_other
    integer(kind=MPI_ADDRESS_KIND) :: address
    ! Volatile, because MPI writes them behind the compiler's back while operations are pending.
    integer, volatile :: sent(length), received(length), other(length), own
    logical :: flag

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    to = mod(rank + 1, ranks)
    from = mod(rank + ranks - 1, ranks)
    failures = 0

    do round = 1, 4
        sent = [(i * round + rank, i = 1, length)]
        received = 0
        call MPI_Irecv(received, length, MPI_INTEGER, from, round, MPI_COMM_WORLD, requests(1))
        call MPI_Barrier(MPI_COMM_WORLD)
        if (round == 1) call MPI_Send(sent, length, MPI_INTEGER, to, round, MPI_COMM_WORLD)
        if (round == 2) call MPI_Ssend(sent, length, MPI_INTEGER, to, round, MPI_COMM_WORLD)
        if (round == 3) call MPI_Rsend(sent, length, MPI_INTEGER, to, round, MPI_COMM_WORLD)
        if (round == 4) then
            call MPI_Issend(sent, length, MPI_INTEGER, to, round, MPI_COMM_WORLD, requests(2))
            call MPI_Waitall(2, requests, statuses)
            status = statuses(1)
        else
            call MPI_Wait(requests(1), status)
        end if
        call MPI_Get_count(status, MPI_INTEGER, count)
        call expect(status%MPI_SOURCE == from .and. status%MPI_TAG == round .and. count == length, round)
        call expect(all(received == [(i * round + from, i = 1, length)]), 10 + round)
    end do

    ! Every other element, from an address and into a vector.
    call MPI_Get_address(sent, address)
    call MPI_Type_create_hindexed(1, [100], [address], MPI_INTEGER, absolute)
    call MPI_Type_commit(absolute)
    call MPI_Type_vector(100, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    sent = [(i + rank, i = 1, length)]
    received = -1
    call MPI_Isend(MPI_BOTTOM, 1, absolute, to, 20, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(received, 1, every_other, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(2))
    call MPI_Type_free(absolute)
    call MPI_Type_free(every_other)
    flag = .false.
    do while (.not. flag)
        call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE)
    end do
    call expect(all(received(1:199:2) == [(i + from, i = 1, 100)]) .and. all(received(2:200:2) == -1), 20)
    call expect(requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL, 21)

    ! To oneself, and two that are received in the other order.
    own = 0
    call MPI_Send(rank, 1, MPI_INTEGER, rank, 30, MPI_COMM_WORLD)
    call MPI_Recv(own, 1, MPI_INTEGER, rank, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(own == rank, 30)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Isend(sent, 10, MPI_INTEGER, to, 31, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(sent, length, MPI_INTEGER, to, 32, MPI_COMM_WORLD, requests(2))
    call MPI_Recv(other, length, MPI_INTEGER, from, 32, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Recv(received, 10, MPI_INTEGER, from, 31, MPI_COMM_WORLD, status, i)
    call expect(i == MPI_SUCCESS, 31)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call expect(all(other == [(i + from, i = 1, length)]), 32)

    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0)', 'failures: ', total
    call MPI_Finalize()
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
