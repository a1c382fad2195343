! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! Transposes for Fortran (nigh/transpose.h, nigh/transpose_mpi.h say what each argument is), as a module in source form,
! since module files fit one compiler only: compile this file with yours, beside the program, and link with
! -lnigh-transpose, or with -lnigh-transpose-openmpi or -lnigh-transpose-mpich. Fortran's arrays are column by column: a
! "row" here is what lies together in memory, so A is a(columns, row_count) and its transpose b(rows, column_count).
!
!   use nigh_transpose
!   type(nigh_transpose_plan) :: plan
!   call nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, first, count, first_b, count_b)
!   allocate (a(columns, count), b(rows, count_b))
!   call nigh_transpose_mpi(plan, rows, columns, 8_c_size_t, c_loc(a), 8*size(a, kind=c_size_t), &
!                           c_loc(b), 8*size(b, kind=c_size_t), MPI_COMM_WORLD, 0, status)
!   if (status /= 0) error stop nigh_transpose_why()
!   call nigh_transpose_execute(plan, status)
!   call nigh_transpose_destroy(plan)
module nigh_transpose
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: nigh_transpose_plan, nigh_transpose_local, nigh_transpose_mpi, nigh_transpose_mpi_share
  public :: nigh_transpose_mpi_many, nigh_transpose_pencils, nigh_transpose_pencils_share
  public :: nigh_transpose_alloc, nigh_transpose_free, nigh_transpose_execute, nigh_transpose_destroy, nigh_transpose_why

  type :: nigh_transpose_plan
    private
    type(c_ptr) :: c = c_null_ptr
  end type nigh_transpose_plan

  interface
    function local_c(rows, columns, element, from, from_stride, to, to_stride, threads) bind(c, name='nigh_transpose_local') &
      result(plan)
      import :: c_int, c_ptr, c_size_t
      integer(c_size_t), value :: rows, columns, element, from_stride, to_stride
      type(c_ptr), value :: from, to
      integer(c_int), value :: threads
      type(c_ptr) :: plan
    end function local_c
    function mpi_c(rows, columns, element, a, a_bytes, b, b_bytes, comm, threads) bind(c, name='nigh_transpose_mpi_f') &
      result(plan)
      import :: c_int, c_ptr, c_size_t
      integer(c_size_t), value :: rows, columns, element, a_bytes, b_bytes
      type(c_ptr), value :: a, b
      integer(c_int), value :: comm, threads
      type(c_ptr) :: plan
    end function mpi_c
    function many_c(matrices, rows, columns, element, a, a_bytes, a_stride, a_apart, b, b_bytes, b_stride, b_apart, comm, &
                    threads) bind(c, name='nigh_transpose_mpi_many_f') result(plan)
      import :: c_int, c_ptr, c_size_t
      integer(c_size_t), value :: matrices, rows, columns, element, a_bytes, a_stride, a_apart, b_bytes, b_stride, b_apart
      type(c_ptr), value :: a, b
      integer(c_int), value :: comm, threads
      type(c_ptr) :: plan
    end function many_c
    function pencils_c(n, p, q, from_axis, to_axis, element, a, a_bytes, b, b_bytes, comm, threads) &
      bind(c, name='nigh_transpose_pencils_f') result(plan)
      import :: c_int, c_ptr, c_size_t
      integer(c_size_t), intent(in) :: n(3)
      integer(c_int), value :: p, q, from_axis, to_axis, comm, threads
      integer(c_size_t), value :: element, a_bytes, b_bytes
      type(c_ptr), value :: a, b
      type(c_ptr) :: plan
    end function pencils_c
    function pencils_share_c(n, p, q, axis, comm, first, count) bind(c, name='nigh_transpose_pencils_share_f') result(status)
      import :: c_int, c_size_t
      integer(c_size_t), intent(in) :: n(3)
      integer(c_int), value :: p, q, axis, comm
      integer(c_size_t), intent(out) :: first(3), count(3)
      integer(c_int) :: status
    end function pencils_share_c
    subroutine share_c(rows, columns, comm, first, count, first_b, count_b) bind(c, name='nigh_transpose_mpi_share_f')
      import :: c_int, c_size_t
      integer(c_size_t), value :: rows, columns
      integer(c_int), value :: comm
      integer(c_size_t), intent(out) :: first, count, first_b, count_b
    end subroutine share_c
    function alloc_c(bytes, comm) bind(c, name='nigh_transpose_alloc_f') result(memory)
      import :: c_int, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      integer(c_int), value :: comm
      type(c_ptr) :: memory
    end function alloc_c
    subroutine free_c(memory) bind(c, name='nigh_transpose_free')
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine free_c
    function execute_c(plan) bind(c, name='nigh_transpose_execute') result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: plan
      integer(c_int) :: status
    end function execute_c
    subroutine destroy_c(plan) bind(c, name='nigh_transpose_destroy')
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine destroy_c
    function why_c() bind(c, name='nigh_transpose_why') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function why_c
    function length_c(text) bind(c, name='strlen') result(bytes)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: bytes
    end function length_c
  end interface

contains

  ! status: 0, or -1 and nigh_transpose_why() says why; without it a plan that was not made can't be executed.
  subroutine nigh_transpose_local(plan, rows, columns, element, from, from_stride, to, to_stride, threads, status)
    type(nigh_transpose_plan), intent(out) :: plan
    integer(c_size_t), intent(in) :: rows, columns, element, from_stride, to_stride
    type(c_ptr), intent(in) :: from, to
    integer, intent(in) :: threads
    integer, intent(out), optional :: status
    plan%c = local_c(rows, columns, element, from, from_stride, to, to_stride, int(threads, c_int))
    if (present(status)) status = merge(0, -1, c_associated(plan%c))
  end subroutine nigh_transpose_local

  ! comm: as in mpif.h and module mpi; with mpi_f08 its MPI_VAL.
  subroutine nigh_transpose_mpi(plan, rows, columns, element, a, a_bytes, b, b_bytes, comm, threads, status)
    type(nigh_transpose_plan), intent(out) :: plan
    integer(c_size_t), intent(in) :: rows, columns, element, a_bytes, b_bytes
    type(c_ptr), intent(in) :: a, b
    integer, intent(in) :: comm, threads
    integer, intent(out), optional :: status
    plan%c = mpi_c(rows, columns, element, a, a_bytes, b, b_bytes, int(comm, c_int), int(threads, c_int))
    if (present(status)) status = merge(0, -1, c_associated(plan%c))
  end subroutine nigh_transpose_mpi

  ! A batch; strides and distances in elements, 0: without gaps.
  subroutine nigh_transpose_mpi_many(plan, matrices, rows, columns, element, a, a_bytes, a_stride, a_apart, &
                                     b, b_bytes, b_stride, b_apart, comm, threads, status)
    type(nigh_transpose_plan), intent(out) :: plan
    integer(c_size_t), intent(in) :: matrices, rows, columns, element, a_bytes, a_stride, a_apart, b_bytes, b_stride, b_apart
    type(c_ptr), intent(in) :: a, b
    integer, intent(in) :: comm, threads
    integer, intent(out), optional :: status
    plan%c = many_c(matrices, rows, columns, element, a, a_bytes, a_stride, a_apart, b, b_bytes, b_stride, b_apart, &
                    int(comm, c_int), int(threads, c_int))
    if (present(status)) status = merge(0, -1, c_associated(plan%c))
  end subroutine nigh_transpose_mpi_many

  ! n, first and count are in the order of C's axes 0, 1, 2; in Fortran's arrays the axis that is whole comes first:
  ! a(axis 2, axis 1, axis 0) along 2, a(axis 1, axis 2, axis 0) along 1, a(axis 0, axis 1, axis 2) along 0.
  subroutine nigh_transpose_pencils(plan, n, p, q, from_axis, to_axis, element, a, a_bytes, b, b_bytes, comm, threads, status)
    type(nigh_transpose_plan), intent(out) :: plan
    integer(c_size_t), intent(in) :: n(3), element, a_bytes, b_bytes
    integer, intent(in) :: p, q, from_axis, to_axis, comm, threads
    type(c_ptr), intent(in) :: a, b
    integer, intent(out), optional :: status
    plan%c = pencils_c(n, int(p, c_int), int(q, c_int), int(from_axis, c_int), int(to_axis, c_int), element, a, a_bytes, &
                       b, b_bytes, int(comm, c_int), int(threads, c_int))
    if (present(status)) status = merge(0, -1, c_associated(plan%c))
  end subroutine nigh_transpose_pencils

  subroutine nigh_transpose_pencils_share(n, p, q, axis, comm, first, count, status)
    integer(c_size_t), intent(in) :: n(3)
    integer, intent(in) :: p, q, axis, comm
    integer(c_size_t), intent(out) :: first(3), count(3)
    integer, intent(out), optional :: status
    integer :: done
    done = pencils_share_c(n, int(p, c_int), int(q, c_int), int(axis, c_int), int(comm, c_int), first, count)
    if (present(status)) status = done
  end subroutine nigh_transpose_pencils_share

  ! first and first_b count from 0.
  subroutine nigh_transpose_mpi_share(rows, columns, comm, first, count, first_b, count_b)
    integer(c_size_t), intent(in) :: rows, columns
    integer, intent(in) :: comm
    integer(c_size_t), intent(out) :: first, count, first_b, count_b
    call share_c(rows, columns, int(comm, c_int), first, count, first_b, count_b)
  end subroutine nigh_transpose_mpi_share

  ! c_f_pointer() makes an array of it; C_NULL_PTR: there is none.
  function nigh_transpose_alloc(bytes, comm) result(memory)
    integer(c_size_t), intent(in) :: bytes
    integer, intent(in) :: comm
    type(c_ptr) :: memory
    memory = alloc_c(bytes, int(comm, c_int))
  end function nigh_transpose_alloc

  subroutine nigh_transpose_free(memory)
    type(c_ptr), intent(in) :: memory
    call free_c(memory)
  end subroutine nigh_transpose_free

  subroutine nigh_transpose_execute(plan, status)
    type(nigh_transpose_plan), intent(in) :: plan
    integer, intent(out), optional :: status
    integer :: done
    done = execute_c(plan%c)
    if (present(status)) status = done
  end subroutine nigh_transpose_execute

  subroutine nigh_transpose_destroy(plan)
    type(nigh_transpose_plan), intent(inout) :: plan
    call destroy_c(plan%c)
    plan%c = c_null_ptr
  end subroutine nigh_transpose_destroy

  function nigh_transpose_why() result(why)
    character(len=:), allocatable :: why
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: c
    integer :: i, length
    c = why_c()
    length = int(length_c(c))
    allocate (character(len=length) :: why)
    if (length == 0) return
    call c_f_pointer(c, text, [length])
    do i = 1, length
      why(i:i) = text(i)
    end do
  end function nigh_transpose_why

end module nigh_transpose
