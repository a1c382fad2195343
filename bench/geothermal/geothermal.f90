! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! A geothermal simulation with two levels of parallelism, in the spirit of SHEMAT-Suite: groundwater flow and heat
! transport in 3-D, with the derivatives of what is observed in boreholes in the direction of each parameter of the
! rock. The outer team shares out the directions, each of which an inner team sets up and solves. Prints one line
! of JSON: the time, all derivatives, the placement, and what was verified.
program geothermal
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use omp_lib
  use model
  use directions
  use reservoir, only: space_type
  use placement, only: open_notes, placed, moves
  use checks
  implicit none

  integer :: outer, inner, count, steps, nx, ny, nz
  real(dp), parameter :: tolerance = 1.0e-10_dp, time_step = 2000.0_dp*year
  type(grid_type) :: grid
  type(space_type), allocatable :: spaces(:)
  type(direction_type), allocatable :: found(:)
  integer, allocatable :: team_size(:)
  real(dp) :: started, seconds, analytic, taylor
  integer :: n, self, outer_size
  character(len=160) :: errors(8)
  integer :: error_count = 0

  call read_options()
  call omp_set_dynamic(.false.)
  call omp_set_max_active_levels(2)
  call open_notes(1, 1)
  analytic = check_analytic()
  taylor = check_derivatives(count)
  call open_notes(outer, inner)

  grid = make_grid(nx, ny, nz)
  allocate (spaces(outer), found(count), team_size(outer))
  team_size = 0
  outer_size = 0
  started = omp_get_wtime()
  !$omp parallel num_threads(outer) default(shared) private(n, self)
  self = omp_get_thread_num() + 1
  if (self == 1) outer_size = omp_get_num_threads()
  call count_team(team_size(self))
  !$omp do schedule(static, 1)
  do n = 1, count
    call solve_direction(grid, n, steps, time_step, tolerance, inner, self, spaces(self), found(n))
  end do
  !$omp end parallel
  seconds = omp_get_wtime() - started
  call verify()
  call report()
  if (error_count > 0) stop 1, quiet=.true.

contains

  subroutine count_team(size)
    integer, intent(out) :: size
    integer :: threads
    threads = 0
    !$omp parallel num_threads(inner)
    !$omp atomic
    threads = threads + 1
    !$omp end parallel
    size = threads
  end subroutine

  subroutine read_options()
    character(len=64) :: option, text
    integer :: argument, status
    outer = 1
    inner = 1
    count = 8
    steps = 3
    nx = 32
    ny = 32
    nz = 32
    argument = 1
    do while (argument <= command_argument_count())
      call get_command_argument(argument, option)
      text = ''
      if (option /= '--quick') then
        call get_command_argument(argument + 1, text)
        argument = argument + 1
      end if
      argument = argument + 1
      status = 0
      select case (option)
      case ('--quick')
        count = 4
        steps = 2
        nx = 20
        ny = 20
        nz = 20
      case ('--teams')
        call split(text, status, outer, inner)
      case ('--grid')
        call split(text, status, nx, ny, nz)
      case ('--directions')
        read (text, *, iostat=status) count
      case ('--steps')
        read (text, *, iostat=status) steps
      case default
        status = 1
      end select
      if (status /= 0) call refuse('can''t make sense of '//trim(option)//' '//trim(text))
    end do
    if (min(outer, inner, steps) < 1 .or. min(nx, ny, nz) < 8) call refuse('a number is too small')
    if (count < 1 .or. count > max_parameters) call refuse('--directions takes 1 to 16')
  end subroutine

  ! "4x2" or "48x48x64"
  subroutine split(text, status, a, b, c)
    character(len=*), intent(in) :: text
    integer, intent(out) :: status
    integer, intent(inout) :: a, b
    integer, intent(inout), optional :: c
    character(len=len(text)) :: spaced
    integer :: i
    spaced = text
    do i = 1, len(text)
      if (text(i:i) == 'x') spaced(i:i) = ' '
    end do
    if (present(c)) then
      read (spaced, *, iostat=status) a, b, c
    else
      read (spaced, *, iostat=status) a, b
    end if
  end subroutine

  subroutine refuse(why)
    character(len=*), intent(in) :: why
    write (error_unit, '(a)') 'geothermal: '//why
    write (error_unit, '(a)') 'usage: geothermal --teams YxZ [--directions N] [--grid NXxNYxNZ] [--steps N] [--quick]'
    stop 2, quiet=.true.
  end subroutine

  subroutine add_error(format, value)
    character(len=*), intent(in) :: format
    real(dp), intent(in) :: value
    if (error_count == size(errors)) return
    error_count = error_count + 1
    write (errors(error_count), format) value
  end subroutine

  subroutine verify()
    integer :: i
    if (outer_size /= outer) call add_error('("the outer team had ", f0.0, " threads")', real(outer_size, dp))
    do i = 1, outer
      if (team_size(i) /= inner) call add_error('("an inner team had ", f0.0, " threads")', real(team_size(i), dp))
    end do
    if (.not. all(found%converged)) call add_error('("a solve did not reach ", es8.1)', tolerance)
    if (.not. maxval(found%residual) < 10*tolerance) &
      call add_error('("a recomputed residual is ", es8.1)', maxval(found%residual))
    if (.not. maxval(found%water_lost) < 1.0e-6_dp) call add_error('("water is lost: ", es8.1)', maxval(found%water_lost))
    if (.not. maxval(found%heat_lost) < 1.0e-6_dp) call add_error('("heat is lost: ", es8.1)', maxval(found%heat_lost))
    if (.not. analytic < 1.0e-8_dp) call add_error('("off the analytic solution by ", es8.1)', analytic)
    if (.not. taylor < 1.0e-5_dp) call add_error('("a derivative is off central differences by ", es8.1)', taylor)
  end subroutine

  ! Bytes of what one direction works on: 42 arrays of the grid, for each team at once.
  integer(int64) function bytes()
    bytes = 42_int64*8*nx*ny*nz*min(outer, count)
  end function

  subroutine report()
    integer :: i, j
    write (*, '(a, i0, a, i0, a, i0, a)', advance='no') '{"program": "geothermal", "outer": ', outer, ', "inner": ', &
      inner, ', "size_bytes": ', bytes(), ', "results": [{"name": "solve", "value": '
    write (*, '(a, a)', advance='no') number(seconds), ', "unit": "s"}], "placement": ['
    do i = 1, outer
      do j = 1, inner
        if (i + j > 2) write (*, '(a)', advance='no') ', '
        write (*, '(i0)', advance='no') placed(i, j)
      end do
    end do
    write (*, '(a, i0, a, i0, a, i0)', advance='no') '], "moves": ', moves(), ', "flow_iterations": ', &
      sum(found%flow_iterations), ', "heat_iterations": ', sum(found%heat_iterations)
    write (*, '(8a)', advance='no') ', "residual": ', number(maxval(found%residual)), ', "heat_lost": ', &
      number(maxval(found%heat_lost)), ', "water_lost": ', number(maxval(found%water_lost))
    write (*, '(4a)', advance='no') ', "analytic": ', number(analytic), ', "taylor": ', number(taylor)
    write (*, '(a)', advance='no') ', "derivatives": ['
    do n = 1, count
      do j = 1, observations
        if (n + j > 2) write (*, '(a)', advance='no') ', '
        write (*, '(a)', advance='no') number(found(n)%derivative(j))
      end do
    end do
    write (*, '(a)', advance='no') '], "verified": '//trim(merge('true ', 'false', error_count == 0))//', "errors": ['
    do i = 1, error_count
      if (i > 1) write (*, '(a)', advance='no') ', '
      write (*, '(a)', advance='no') '"'//trim(errors(i))//'"'
    end do
    write (*, '(a)') ']}'
  end subroutine

  ! A number as JSON takes it (no leading blank, no bare point).
  function number(value) result(text)
    real(dp), intent(in) :: value
    character(len=:), allocatable :: text
    character(len=32) :: buffer
    write (buffer, '(es22.14e3)') value
    text = trim(adjustl(buffer))
  end function

end program
