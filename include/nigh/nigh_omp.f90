! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! omp_set_nesting_info for Fortran, as a module in source form, since module files fit one compiler only:
! compile this file with yours, beside the program. It finds nigh in the running process by its name, so
! nothing need be linked, and the program runs the same where nigh is not there.
!
!   use nigh_omp
!   call omp_set_nesting_info('4,scatter,2,subcompact')           ! from the next outermost region on
!   call omp_set_nesting_info('4,scatter,2,subcompact', status)   ! 0, or -1: wrong spec, or no nigh
module nigh_omp
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_null_char, c_null_ptr, c_ptr, &
                                         c_f_procpointer, c_associated
  implicit none
  private
  public :: omp_set_nesting_info

  abstract interface
    function set_nesting_info(spec) bind(c) result(status)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: spec(*)
      integer(c_int) :: status
    end function set_nesting_info
  end interface

  interface
    function dlsym(handle, name) bind(c, name='dlsym') result(address)
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function dlsym
  end interface

contains

  subroutine omp_set_nesting_info(spec, status)
    character(len=*), intent(in) :: spec
    integer, intent(out), optional :: status
    procedure(set_nesting_info), pointer :: set
    type(c_funptr) :: address
    integer(c_int) :: answer

    answer = -1_c_int
    address = dlsym(c_null_ptr, 'nigh_omp_set_nesting_info'//c_null_char)  ! c_null_ptr: RTLD_DEFAULT
    if (c_associated(address)) then
      call c_f_procpointer(address, set)
      answer = set(trim(spec)//c_null_char)
    end if
    if (present(status)) status = int(answer)
  end subroutine omp_set_nesting_info
end module nigh_omp
