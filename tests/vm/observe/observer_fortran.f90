! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! observer_fortran SIZES REPEATS: the Fortran form of observer.c, which see. The compiler's own OpenMP opens the teams;
! only the note book is C.
module observing
   use, intrinsic :: iso_c_binding
   use omp_lib
   implicit none
   integer, parameter :: most_levels = 4
   integer(c_int) :: sizes(most_levels) = 0
   integer :: levels = 0, short_teams = 0

   interface
      subroutine seen_note(path, levels) bind(c)
         import :: c_int
         integer(c_int), intent(in) :: path(*)
         integer(c_int), value :: levels
      end subroutine
      subroutine seen_print() bind(c)
      end subroutine
      subroutine seen_turns(first) bind(c)
         import :: c_int
         integer(c_int), value :: first
      end subroutine
      subroutine seen_await(thread, n) bind(c)
         import :: c_int
         integer(c_int), value :: thread, n
      end subroutine
      subroutine seen_next() bind(c)
      end subroutine
      function seen_sizes(text, sizes, most) bind(c) result(levels)
         import :: c_int, c_char
         character(kind=c_char), intent(in) :: text(*)
         integer(c_int), intent(out) :: sizes(*)
         integer(c_int), value :: most
         integer(c_int) :: levels
      end function
   end interface

contains

   recursive subroutine open_team(above, level)
      integer(c_int), intent(in) :: above(most_levels)
      integer, intent(in) :: level
      integer(c_int) :: path(most_levels)
      !$omp parallel num_threads(sizes(level)) private(path)
      path = above
      path(level) = omp_get_thread_num()
      if (omp_get_num_threads() /= sizes(level)) then
         !$omp atomic
         short_teams = short_teams + 1
      end if
      call seen_note(path, int(level, c_int))
      if (level == 2 .and. path(2) == 0) call seen_next()
      !$omp barrier
      if (level == 1) call seen_await(path(1), sizes(1))
      if (level < levels) call open_team(path, level + 1)
      !$omp end parallel
   end subroutine

   subroutine shuffle()
      !$omp parallel num_threads(product(sizes(1:levels)))
      !$omp barrier
      !$omp end parallel
   end subroutine
end module

program observer
   use observing
   implicit none
   character(len=64) :: word
   integer :: repeats, i, failed
   integer(c_int) :: nobody(most_levels)

   nobody = 0
   repeats = 100
   call get_command_argument(2, word)
   if (len_trim(word) > 0) read (word, *, iostat=failed) repeats
   call get_command_argument(1, word)
   levels = seen_sizes(trim(word)//c_null_char, sizes, int(most_levels, c_int))
   if (levels == 0) error stop 'usage: observer_fortran SIZES [REPEATS], SIZES like 4,2'
   do i = 1, repeats
      if (levels > 1 .and. mod(i, 8) == 1) then
         call seen_turns(int(i / 8, c_int))
      else
         call seen_turns(-1_c_int)
      end if
      call open_team(nobody, 1)
      if (mod(i, 8) == 0) call shuffle()
   end do
   call seen_print()
   if (short_teams > 0) error stop 'observer: threads were in a team of another size'
end program
