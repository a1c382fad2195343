! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! The same in Fortran: nested regions of several kinds, right sums, every inner thread bound, all processors counted.
program nestedf
  use omp_lib
  use iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function trap_mask_size() bind(c)
      import c_int
    end function
  end interface
  integer :: i, s, loose, procs
  procs = trap_mask_size()
  call omp_set_max_active_levels(2)
  s = 0
  loose = 0
!$omp parallel num_threads(2) private(i) reduction(+:s, loose)
!$omp parallel do num_threads(2) schedule(guided) reduction(+:s, loose)
  do i = 1, 10
    s = s + i
    if (trap_mask_size() /= 1) loose = loose + 1
  end do
!$omp end parallel do
!$omp parallel sections num_threads(2) reduction(+:s, loose)
!$omp section
  s = s + 1
  if (trap_mask_size() /= 1) loose = loose + 1
!$omp section
  s = s + omp_get_level()
  if (trap_mask_size() /= 1) loose = loose + 1
!$omp end parallel sections
!$omp end parallel
  if (s == 116 .and. loose == 0 .and. omp_get_num_procs() == procs) then
    print '(a)', 'right'
  else
    print *, 'wrong: sum', s, 'loose', loose, 'processors', omp_get_num_procs(), 'of', procs
    stop 1
  end if
end program
