! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! Fourier transforms for Fortran (nigh/fft.h, nigh/fft_mpi.h say what each argument is), as a module in source form, since module
! files fit one compiler only: compile this file with yours, beside the program, and link with -lnigh-fft, or with
! -lnigh-fft-openmpi -lnigh-transpose-openmpi, or the same of MPICH. Fortran's arrays are column by column, so dimensions are
! given here as nigh has them, the last one first: an array a(columns, rows) has n = [rows, columns].
!
!   use nigh_fft
!   type(nigh_fft_plan) :: plan
!   type(nigh_fft_part) :: in, out
!   call nigh_fft_mpi_share([rows, columns], nigh_fft_forward, 0, .false., MPI_COMM_WORLD, in, out, status)
!   call nigh_fft_mpi(plan, [rows, columns], nigh_fft_forward, 0, c_loc(a), in%bytes, c_loc(b), out%bytes, MPI_COMM_WORLD, 0, status)
!   if (status /= 0) error stop nigh_fft_why()
!   call nigh_fft_execute(plan, status)
!   call nigh_fft_destroy(plan)
module nigh_fft
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: nigh_fft_plan, nigh_fft_part, nigh_fft_local, nigh_fft_mpi, nigh_fft_mpi_share
  public :: nigh_fft_execute, nigh_fft_destroy, nigh_fft_why
  integer, parameter, public :: nigh_fft_forward = -1, nigh_fft_backward = 1
  integer, parameter, public :: nigh_fft_float = 1, nigh_fft_real = 2, nigh_fft_transposed_out = 4
  integer, parameter, public :: nigh_fft_transposed_in = 8, nigh_fft_destroy_input = 16, nigh_fft_fftw = 32

  type :: nigh_fft_plan
    private
    type(c_ptr) :: c = c_null_ptr
  end type nigh_fft_plan
  ! Rows first, first + 1, ..., counted from 0, of `row` elements each.
  type, bind(c) :: nigh_fft_part
    integer(c_size_t) :: first = 0, rows = 0, row = 0, bytes = 0
  end type nigh_fft_part

  interface
    function plan_c(dimensions, n, sign, flags, in, in_bytes, out, out_bytes, threads) bind(c, name='nigh_fft_plan') result(plan)
      import :: c_int, c_ptr, c_size_t
      integer(c_int), value :: dimensions, sign, flags, threads
      integer(c_size_t), intent(in) :: n(*)
      type(c_ptr), value :: in, out
      integer(c_size_t), value :: in_bytes, out_bytes
      type(c_ptr) :: plan
    end function plan_c
    function mpi_c(dimensions, n, sign, flags, in, in_bytes, out, out_bytes, comm, threads) bind(c, name='nigh_fft_mpi_f') &
      result(plan)
      import :: c_int, c_ptr, c_size_t
      integer(c_int), value :: dimensions, sign, flags, comm, threads
      integer(c_size_t), intent(in) :: n(*)
      type(c_ptr), value :: in, out
      integer(c_size_t), value :: in_bytes, out_bytes
      type(c_ptr) :: plan
    end function mpi_c
    function share_c(dimensions, n, sign, flags, in_place, comm, in, out) bind(c, name='nigh_fft_mpi_share_f') result(status)
      import :: c_int, c_size_t, nigh_fft_part
      integer(c_int), value :: dimensions, sign, flags, in_place, comm
      integer(c_size_t), intent(in) :: n(*)
      type(nigh_fft_part), intent(out) :: in, out
      integer(c_int) :: status
    end function share_c
    function execute_c(plan) bind(c, name='nigh_fft_execute') result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: plan
      integer(c_int) :: status
    end function execute_c
    subroutine destroy_c(plan) bind(c, name='nigh_fft_destroy')
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine destroy_c
    function why_c() bind(c, name='nigh_fft_why') result(text)
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

  ! In one process. status: 0, or -1 and nigh_fft_why() says why; without it a plan that was not made can't be executed.
  subroutine nigh_fft_local(plan, n, sign, flags, in, in_bytes, out, out_bytes, threads, status)
    type(nigh_fft_plan), intent(out) :: plan
    integer(c_size_t), intent(in) :: n(:), in_bytes, out_bytes
    integer, intent(in) :: sign, flags, threads
    type(c_ptr), intent(in) :: in, out
    integer, intent(out), optional :: status
    plan%c = plan_c(size(n, kind=c_int), n, int(sign, c_int), int(flags, c_int), in, in_bytes, out, out_bytes, int(threads, c_int))
    if (present(status)) status = merge(0, -1, c_associated(plan%c))
  end subroutine nigh_fft_local

  ! comm: as in mpif.h and module mpi; with mpi_f08 its MPI_VAL.
  subroutine nigh_fft_mpi(plan, n, sign, flags, in, in_bytes, out, out_bytes, comm, threads, status)
    type(nigh_fft_plan), intent(out) :: plan
    integer(c_size_t), intent(in) :: n(:), in_bytes, out_bytes
    integer, intent(in) :: sign, flags, comm, threads
    type(c_ptr), intent(in) :: in, out
    integer, intent(out), optional :: status
    plan%c = mpi_c(size(n, kind=c_int), n, int(sign, c_int), int(flags, c_int), in, in_bytes, out, out_bytes, int(comm, c_int), &
                   int(threads, c_int))
    if (present(status)) status = merge(0, -1, c_associated(plan%c))
  end subroutine nigh_fft_mpi

  subroutine nigh_fft_mpi_share(n, sign, flags, in_place, comm, in, out, status)
    integer(c_size_t), intent(in) :: n(:)
    integer, intent(in) :: sign, flags, comm
    logical, intent(in) :: in_place
    type(nigh_fft_part), intent(out) :: in, out
    integer, intent(out), optional :: status
    integer(c_int) :: shared
    shared = share_c(size(n, kind=c_int), n, int(sign, c_int), int(flags, c_int), merge(1_c_int, 0_c_int, in_place), &
                     int(comm, c_int), in, out)
    if (present(status)) status = shared
  end subroutine nigh_fft_mpi_share

  subroutine nigh_fft_execute(plan, status)
    type(nigh_fft_plan), intent(in) :: plan
    integer, intent(out), optional :: status
    integer(c_int) :: done
    done = execute_c(plan%c)
    if (present(status)) status = done
  end subroutine nigh_fft_execute

  subroutine nigh_fft_destroy(plan)
    type(nigh_fft_plan), intent(inout) :: plan
    call destroy_c(plan%c)
    plan%c = c_null_ptr
  end subroutine nigh_fft_destroy

  ! Of the last call that failed.
  function nigh_fft_why() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: at
    integer(c_size_t) :: i
    at = why_c()
    call c_f_pointer(at, letters, [length_c(at)])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters, kind=c_size_t)
      text(i:i) = letters(i)
    end do
  end function nigh_fft_why

end module nigh_fft
