! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! Transposes from Fortran, over ranks in memory that they share, and in one process in place; and what is refused.
program ranks
  use, intrinsic :: iso_c_binding
  use mpi
  use nigh_transpose
  implicit none
  integer(c_size_t), parameter :: rows = 301, columns = 200, element = 16
  type(nigh_transpose_plan) :: plan
  complex(c_double_complex), pointer :: a(:, :), b(:, :)
  real(c_float), allocatable, target :: c(:, :), d(:, :)
  integer(c_size_t) :: first, count, first_b, count_b, i, j
  type(c_ptr) :: pa, pb
  character(len=:), allocatable :: why
  integer :: error, rank, status, failures = 0, all_failures

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, first, count, first_b, count_b)
  pa = nigh_transpose_alloc(columns*count*element, MPI_COMM_WORLD)
  pb = nigh_transpose_alloc(rows*count_b*element, MPI_COMM_WORLD)
  call c_f_pointer(pa, a, [columns, count])
  call c_f_pointer(pb, b, [rows, count_b])
  do i = 1, count
    do j = 1, columns
      a(j, i) = cmplx(first + i, j, c_double_complex)
    end do
  end do
  b = 0
  call nigh_transpose_mpi(plan, rows, columns, element, pa, columns*count*element, pb, rows*count_b*element, &
                          MPI_COMM_WORLD, 2, status)
  call expect(status == 0, 'a plan over ranks')
  call nigh_transpose_execute(plan, status)
  call expect(status == 0, 'its execution')
  do j = 1, count_b
    do i = 1, rows
      if (abs(b(i, j) - cmplx(i, first_b + j, c_double_complex)) > 0) failures = failures + 1
    end do
  end do
  call expect(failures == 0, 'the transpose')
  call nigh_transpose_destroy(plan)
  call nigh_transpose_mpi(plan, rows, columns, 7_c_size_t, pa, columns*count*element, pb, rows*count_b*element, &
                          MPI_COMM_WORLD, 1, status)
  why = nigh_transpose_why()
  call expect(status == -1 .and. index(why, '4, 8 or 16 bytes, not 7') > 0, 'a refusal')
  call nigh_transpose_free(pa)
  call nigh_transpose_free(pb)

  call pencils()
  call batch()

  allocate (c(columns, rows), d(rows, columns))
  call random_number(c)
  call nigh_transpose_local(plan, rows, columns, 4_c_size_t, c_loc(c), columns, c_loc(d), rows, 1, status)
  call expect(status == 0, 'a plan for one process')
  call nigh_transpose_execute(plan)
  call expect(.not. any(abs(d - transpose(c)) > 0), 'the transpose of one process')
  call nigh_transpose_destroy(plan)

  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_failures == 0) print '(a)', 'all transposes are right'
  call MPI_Finalize(error)
  if (all_failures /= 0) error stop 1

contains

  ! Along 2, turned to along 1, over all ranks x 1: a(n2, n1, its n0) becomes b(n1, n2, its n0).
  subroutine pencils()
    integer(c_size_t), parameter :: n(3) = [9_c_size_t, 14_c_size_t, 5_c_size_t]
    real(c_double), allocatable, target :: a(:, :, :), b(:, :, :)
    integer(c_size_t) :: first(3), count(3), x
    integer :: ranks
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call nigh_transpose_pencils_share(n, ranks, 1, 2, MPI_COMM_WORLD, first, count, status)
    call expect(status == 0, 'a share of pencils')
    allocate (a(count(3), count(2), count(1)), b(count(2), count(3), count(1)))
    call random_number(a)
    call nigh_transpose_pencils(plan, n, ranks, 1, 2, 1, 8_c_size_t, c_loc(a), 8*size(a, kind=c_size_t), &
                                c_loc(b), 8*size(b, kind=c_size_t), MPI_COMM_WORLD, 1, status)
    call expect(status == 0, 'a plan for pencils')
    call nigh_transpose_execute(plan, status)
    do x = 1, count(1)
      call expect(.not. any(abs(b(:, :, x) - transpose(a(:, :, x))) > 0), 'a pencil')
    end do
    call nigh_transpose_destroy(plan)
  end subroutine pencils

  ! Three squares in place, there and back.
  subroutine batch()
    real(c_double), allocatable, target :: a(:, :, :)
    real(c_double), allocatable :: before(:, :, :)
    call nigh_transpose_mpi_share(40_c_size_t, 40_c_size_t, MPI_COMM_WORLD, first, count, first_b, count_b)
    allocate (a(40, count, 3))
    call random_number(a)
    before = a
    call nigh_transpose_mpi_many(plan, 3_c_size_t, 40_c_size_t, 40_c_size_t, 8_c_size_t, &
                                 c_loc(a), 8*size(a, kind=c_size_t), 0_c_size_t, 0_c_size_t, &
                                 c_loc(a), 8*size(a, kind=c_size_t), 0_c_size_t, 0_c_size_t, MPI_COMM_WORLD, 1, status)
    call expect(status == 0, 'a plan for a batch')
    call nigh_transpose_execute(plan, status)
    call expect(any(abs(a - before) > 0), 'a batch that is turned')
    call nigh_transpose_execute(plan, status)
    call expect(.not. any(abs(a - before) > 0), 'a batch that is turned twice')
    call nigh_transpose_destroy(plan)
  end subroutine batch

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(a, i0, 4a)', 'rank ', rank, ': wrong: ', what, ' ', nigh_transpose_why()
  end subroutine expect

end program ranks
