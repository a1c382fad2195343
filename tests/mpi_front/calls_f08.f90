! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! As calls_mpif.f90, in the module mpi_f08: typed handles, no ierror, array sections.
program calls
  use mpi_f08
  implicit none
  integer, parameter :: n = 40000
  integer :: rank, ranks, i, got, right, left, which
  type(MPI_Comm) :: dup, half
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  type(MPI_Datatype) :: type
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: address
  double precision, allocatable, target, asynchronous :: a(:), b(:)
  double precision :: total

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate (a(n), b(n))
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  a = [(rank * 10d0 + i, i=1, n)]

  call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a,f20.1)', 'allreduce', sum(b)
  call MPI_Allreduce(MPI_IN_PLACE, b, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  if (rank == 0) print '(a,f20.1)', 'in place ', sum(b)
  call MPI_Bcast(b, n, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD)

  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call MPI_Get_count(statuses(1), MPI_DOUBLE_PRECISION, got)
  if (rank == 0) print '(a,f20.1,3i8)', 'waitall  ', sum(b), got, statuses(1)%MPI_SOURCE, statuses(1)%MPI_TAG
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (rank == 0) print '(a,f20.1,l2)', 'ignored  ', sum(b), all(requests == MPI_REQUEST_NULL)
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 7, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 7, MPI_COMM_WORLD, requests(2))
  do i = 1, 2
    call MPI_Waitany(2, requests, which, status)  ! MPICH 4.0's f08 counts `which` from 0
  end do
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 8, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 8, MPI_COMM_WORLD, requests(2))
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, requests, flag, statuses)
  end do
  if (rank == 0) print '(a,f20.1)', 'testall  ', sum(b)
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 9, b, n, MPI_DOUBLE_PRECISION, left, 9, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE)
  if (rank == 0) print '(a,f20.1)', 'sendrecv ', sum(b)

  b = 0
  call MPI_Get_address(b, address)
  call MPI_Type_create_hindexed(1, [n], [address], MPI_DOUBLE_PRECISION, type)
  call MPI_Type_commit(type)
  if (rank == 0) b = a
  call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD)
  call MPI_Reduce(sum(b), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) print '(a,f20.1)', 'bottom   ', total
  call MPI_Type_free(type)

#ifdef SECTIONS
  ! Every second element: the library makes a datatype of the section.
  b = 0
  call MPI_Sendrecv(a(1:n:2), n / 2, MPI_DOUBLE_PRECISION, right, 10, b(2:n:2), n / 2, MPI_DOUBLE_PRECISION, left, 10, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  if (rank == 0) print '(a,f20.1)', 'section  ', sum(b)
#endif

  call MPI_Comm_dup(MPI_COMM_WORLD, dup)
  call MPI_Comm_split(dup, mod(rank, 2), rank, half)
  call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, half)
  if (rank == 0) print '(a,f20.1)', 'half     ', sum(b)
  call MPI_Iallreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_MIN, dup, requests(1))
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  if (rank == 0) print '(a,f20.1)', 'iallred  ', sum(b)
  call MPI_Comm_free(half)
  call MPI_Comm_free(dup)
  call MPI_Finalize()
end program
