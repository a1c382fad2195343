! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! calls.c in Fortran through the module; the spec comes with trailing blanks, as Fortran text does.
program calls
  use omp_lib
  use nigh_omp
  implicit none
  character(len=80) :: spec
  integer :: good, bad

  call omp_set_max_active_levels(2)
  spec = '2,scatter,2,subcompact'
  call omp_set_nesting_info(spec, good)
  call regions('first', '2,scatter,2,scatter')
  call regions('changed', '')
  call omp_set_nesting_info('2,scatter,2,nowhere', bad)
  call regions('kept', '')
  print '(a,i0,1x,i0)', '== status ', good, bad

contains

  subroutine regions(name, spec_inside)
    character(len=*), intent(in) :: name, spec_inside
    external :: observe
    print '(2a)', '== ', name
    flush (6)
    !$omp parallel num_threads(2)
    !$omp single
    if (len(spec_inside) > 0) call omp_set_nesting_info(spec_inside)
    !$omp end single
    !$omp parallel num_threads(2)
    call observe()
    !$omp end parallel
    !$omp end parallel
  end subroutine regions
end program calls
