! SPDX-License-Identifier: BSD-3-Clause
! Matched probes from Fortran, by mpi_f08 and by integer handles at once: many messages matched, then received in
! another order, some of them from MPI_PROC_NULL and some without a status.
! ranks: 2 3
! environment: CASTOFF_P2P=yes
! modes: native off on faults
! taken: MPI_Mprobe MPI_Improbe MPI_Mrecv MPI_Imrecv
! expect: right integers, no handle left
module matching_by_number
contains
    ! With integers for handles, as in older programs.
    subroutine match(from, tag, message, count)
        use mpi
        integer, intent(in) :: from, tag
        integer, intent(out) :: message, count
        integer :: status(MPI_STATUS_SIZE), error
        logical :: found

        found = .false.
        do while (.not. found)
            call MPI_Improbe(from, tag, MPI_COMM_WORLD, found, message, status, error)
        end do
        call MPI_Get_count(status, MPI_INTEGER, count, error)
    end subroutine match

    subroutine receive(message, buffer, count, left)
        use mpi
        integer, intent(inout) :: message
        integer, intent(in) :: count
        integer, intent(out) :: buffer(count)
        logical, intent(out) :: left
        integer :: error

        call MPI_Mrecv(buffer, count, MPI_INTEGER, message, MPI_STATUS_IGNORE, error)
        left = message /= MPI_MESSAGE_NULL
    end subroutine receive
end module matching_by_number

program p2p_fortran_mprobe
    use mpi_f08
    use matching_by_number
    implicit none
    integer, parameter :: many = 60, most = 4000
    integer :: rank, ranks, i, j, failures, total, next, previous, length, count, number(many)
    integer :: outgoing(most)
    integer, volatile :: incoming(most)
    type(MPI_Message) :: message(many)
    type(MPI_Request) :: requests(many), request
    type(MPI_Status) :: status
    logical :: left

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    next = mod(rank + 1, ranks)
    previous = mod(rank + ranks - 1, ranks)
    failures = 0
    outgoing = [(7 * i + rank, i = 1, most)]

    do i = 1, many
        call MPI_Isend(outgoing, length_of(i), MPI_INTEGER, next, i, MPI_COMM_WORLD, requests(i))
    end do
    do i = 1, many
        if (mod(i, 2) == 0) then
            call MPI_Mprobe(previous, i, MPI_COMM_WORLD, message(i), status)
            call MPI_Get_count(status, MPI_INTEGER, count)
            call expect(status%MPI_SOURCE == previous .and. status%MPI_TAG == i, 1)
        else
            call match(previous, i, number(i), count)
        end if
        call expect(count == length_of(i), 2)
    end do
    do i = many, 1, -1
        length = length_of(i)
        incoming = -1
        if (mod(i, 4) == 0) then
            call MPI_Imrecv(incoming, most, MPI_INTEGER, message(i), request)
            call MPI_Wait(request, status)
            call MPI_Get_count(status, MPI_INTEGER, count)
            call expect(count == length, 3)
        else if (mod(i, 2) == 0) then
            call MPI_Mrecv(incoming, most, MPI_INTEGER, message(i), MPI_STATUS_IGNORE)
        else
            call receive(number(i), incoming, length, left)
            call expect(.not. left, 4)
        end if
        if (mod(i, 2) == 0) call expect(message(i) == MPI_MESSAGE_NULL, 5)
        call expect(all(incoming(1:length) == [(7 * j + previous, j = 1, length)]), 6)
        call expect(all(incoming(length + 1:) == -1), 7)
    end do
    call MPI_Waitall(many, requests, MPI_STATUSES_IGNORE)

    call MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, message(1), status)
    call expect(message(1) == MPI_MESSAGE_NO_PROC, 8)
    call MPI_Mrecv(incoming, most, MPI_INTEGER, message(1), status)
    call expect(message(1) == MPI_MESSAGE_NULL .and. status%MPI_SOURCE == MPI_PROC_NULL, 9)

    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0)', 'failures ', total
    call MPI_Finalize()
    if (total > 0) stop 1
contains
    integer function length_of(number)
        integer, intent(in) :: number
        length_of = 1 + mod(number * 631, most)
    end function length_of

    subroutine expect(holds, check)
        logical, intent(in) :: holds
        integer, intent(in) :: check
        if (.not. holds) then
            failures = failures + 1
            write (0, '(a, i0, a, i0)') 'rank ', rank, ': check ', check
        end if
    end subroutine expect
end program p2p_fortran_mprobe
