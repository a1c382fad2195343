! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! constructs.c in Fortran: the pomp2_ names, Fortran's locks, workshare.
program constructs
  use omp_lib
  implicit none
  integer, parameter :: n = 400
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest_lock
  integer :: total, critical_sum, atomic_sum, locked, nested, tested, order, i
  integer :: a(n)

  call omp_init_lock(lock)
  call omp_init_nest_lock(nest_lock)
  total = 0
  critical_sum = 0
  atomic_sum = 0
  locked = 0
  nested = 0
  tested = 0
  order = 0

  !$omp parallel num_threads(4) reduction(+:total)
  !$omp do schedule(guided)
  do i = 1, n
    total = total + i
  end do
  !$omp end do
  !$omp sections
  !$omp section
  total = total + 1000
  !$omp section
  total = total + 2000
  !$omp end sections
  !$omp single
  total = total + 10000
  !$omp end single
  !$omp master
  total = total + 20000
  !$omp end master
  !$omp barrier
  !$omp do ordered
  do i = 0, 15
    !$omp ordered
    if (order == i) total = total + 7
    order = order + 1
    !$omp end ordered
  end do
  !$omp end do
  !$omp end parallel

  !$omp parallel workshare num_threads(2)
  a = 5
  !$omp end parallel workshare
  total = total + sum(a)

  !$omp parallel num_threads(4)
  !$omp do
  do i = 1, n
    !$omp critical
    critical_sum = critical_sum + i
    !$omp end critical
    !$omp atomic
    atomic_sum = atomic_sum + i
    call omp_set_lock(lock)
    locked = locked + i
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest_lock)
    call omp_set_nest_lock(nest_lock)
    nested = nested + i
    call omp_unset_nest_lock(nest_lock)
    call omp_unset_nest_lock(nest_lock)
  end do
  !$omp end do
  !$omp single
  if (omp_test_lock(lock)) tested = 1
  call omp_unset_lock(lock)
  tested = tested + 10*omp_test_nest_lock(nest_lock)
  call omp_unset_nest_lock(nest_lock)
  !$omp end single
  !$omp end parallel

  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest_lock)
  print '(a,i0)', 'sum ', total + critical_sum + atomic_sum + locked + nested + tested
end program constructs
