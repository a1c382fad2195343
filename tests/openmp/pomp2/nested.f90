! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! nested.c in Fortran.
program nested
  use omp_lib
  implicit none
  external :: observe
  call omp_set_max_active_levels(2)
  !$omp parallel num_threads(2)
  call observe()
  !$omp parallel num_threads(2)
  call observe()
  !$omp end parallel
  !$omp end parallel
end program nested
