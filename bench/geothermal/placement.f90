! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! Where the threads were: each thread of an inner team notes the PU it runs on under its path (outer, inner).
! Slots are 128 bytes apart, so that the note disturbs no neighbour.
module placement
  use, intrinsic :: iso_c_binding, only: c_int
  use omp_lib, only: omp_get_thread_num
  implicit none
  private
  public :: open_notes, seen, placed, moves

  integer, parameter :: pad = 32
  integer(c_int), allocatable :: pu(:, :, :), moved(:, :, :)   ! (pad, inner, outer)

  interface
    function sched_getcpu() bind(c) result(cpu)
      import :: c_int
      integer(c_int) :: cpu
    end function
  end interface

contains

  subroutine open_notes(outer, inner)
    integer, intent(in) :: outer, inner
    if (allocated(pu)) deallocate (pu, moved)
    allocate (pu(pad, inner, outer), moved(pad, inner, outer))
    pu = -1
    moved = 0
  end subroutine

  ! Called by every thread of the inner team of outer thread `outer` (1 ..).
  subroutine seen(outer)
    integer, intent(in) :: outer
    integer :: inner
    integer(c_int) :: now
    inner = omp_get_thread_num() + 1
    if (inner > size(pu, 2) .or. outer > size(pu, 3)) return
    now = sched_getcpu()
    if (pu(1, inner, outer) >= 0 .and. pu(1, inner, outer) /= now) &
      moved(1, inner, outer) = moved(1, inner, outer) + 1
    pu(1, inner, outer) = now
  end subroutine

  integer function placed(outer, inner)
    integer, intent(in) :: outer, inner
    placed = pu(1, inner, outer)
  end function

  integer function moves()
    moves = sum(moved(1, :, :))
  end function

end module
