! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! What Fortran passes and C does not: handles as integers, its own MPI_IN_PLACE, MPI_BOTTOM and MPI_STATUS_IGNORE,
! LOGICAL, arrays of requests and statuses. FORM picks mpif.h or the module mpi, by the preprocessor.
program calls
#ifdef USE_MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer, parameter :: n = 40000
  integer :: rank, ranks, code, i, dup, half, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
  integer :: got, right, left, which, count, done_at(2), op, type, cart
  logical :: flag, periods(1)
  integer :: dims(1)
  integer(kind=MPI_ADDRESS_KIND) :: address
  double precision, allocatable :: a(:), b(:)
  double precision :: total
  integer :: gathered(64)
  external :: add

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  allocate (a(n), b(n))
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  a = [(rank * 10d0 + i, i=1, n)]

  call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,f20.1)', 'allreduce', sum(b)
  call MPI_Allreduce(MPI_IN_PLACE, b, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,f20.1)', 'in place ', sum(b)
  call MPI_Op_create(add, .true., op, code)
  call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,f20.1)', 'own op   ', sum(b)
  call MPI_Op_free(op, code)
  call MPI_Bcast(b, n, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, code)
  call MPI_Barrier(MPI_COMM_WORLD, code)

  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1), code)
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, requests(2), code)
  call MPI_Waitall(2, requests, statuses, code)
  call MPI_Get_count(statuses(:, 1), MPI_DOUBLE_PRECISION, got, code)
  if (rank == 0) print '(a,f20.1,3i8)', 'waitall  ', sum(b), got, statuses(MPI_SOURCE, 1), statuses(MPI_TAG, 1)
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, requests(1), code)
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(2), code)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
  if (rank == 0) print '(a,f20.1,l2)', 'ignored  ', sum(b), all(requests == MPI_REQUEST_NULL)
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 6, MPI_COMM_WORLD, requests(1), code)
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 6, MPI_COMM_WORLD, requests(2), code)
  got = 0
  do while (got < 2)
    call MPI_Waitsome(2, requests, count, done_at, statuses, code)
    got = got + count
  end do
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 7, MPI_COMM_WORLD, requests(1), code)
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 7, MPI_COMM_WORLD, requests(2), code)
  do i = 1, 2
    call MPI_Waitany(2, requests, which, status, code)
    if (which < 1 .or. which > 2) print *, 'waitany gave', which
  end do
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 8, MPI_COMM_WORLD, requests(1), code)
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 8, MPI_COMM_WORLD, requests(2), code)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, requests, flag, statuses, code)
  end do
  if (rank == 0) print '(a,f20.1)', 'testall  ', sum(b)
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 9, b, n, MPI_DOUBLE_PRECISION, left, 9, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, code)
  if (rank == 0) print '(a,f20.1)', 'sendrecv ', sum(b)

  ! MPI_BOTTOM with an absolute address.
  b = 0
  call MPI_Get_address(b, address, code)
  call MPI_Type_create_hindexed(1, [n], [address], MPI_DOUBLE_PRECISION, type, code)
  call MPI_Type_commit(type, code)
  if (rank == 0) b = a
  call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, code)
  call MPI_Reduce(sum(b), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,f20.1)', 'bottom   ', total
  if (rank == 0) then
    call MPI_Send(MPI_BOTTOM, 1, type, 1, 1, MPI_COMM_WORLD, code)
  else if (rank == 1) then
    b = 0
    call MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status, code)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, got, code)
    call MPI_Recv(MPI_BOTTOM, 1, type, 0, 1, MPI_COMM_WORLD, status, code)
    if (got /= n .or. any(b /= a - 10d0)) print *, 'bottom: wrong', got
  end if
  call MPI_Type_free(type, code)

  call MPI_Comm_dup(MPI_COMM_WORLD, dup, code)
  call MPI_Comm_split(dup, mod(rank, 2), rank, half, code)
  call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, half, code)
  if (rank == 0) print '(a,f20.1)', 'half     ', sum(b)
  dims = ranks
  periods = .true.
  call MPI_Cart_create(dup, 1, dims, periods, .false., cart, code)
  call MPI_Allgather(rank, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, cart, code)
  if (rank == 0) print '(a,64i4)', 'cart     ', gathered(1:ranks)
  call MPI_Iallreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_MIN, cart, requests(1), code)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)
  if (rank == 0) print '(a,f20.1)', 'iallred  ', sum(b)
  call MPI_Comm_free(cart, code)
  call MPI_Comm_free(half, code)
  call MPI_Comm_free(dup, code)
  call MPI_Finalize(code)
end program

subroutine add(in, inout, length, type)
  implicit none
  integer :: length, type, i
  double precision :: in(length), inout(length)
  do i = 1, length
    inout(i) = inout(i) + in(i)
  end do
end subroutine
