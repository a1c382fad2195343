! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! Checks that need no reference run, on a small grid before the timed part. In a uniform rock the head falls
! linearly and the flow is Darcy's law by hand; without flow the temperature ends on the straight conductive
! profile. And every derivative must agree with central differences of the simulation itself.
module checks
  use model
  use directions
  use reservoir, only: space_type
  implicit none
  private
  public :: check_analytic, check_derivatives

contains

  ! Both return the largest relative deviation.
  real(dp) function check_analytic()
    type(grid_type) :: grid
    type(space_type) :: s
    type(direction_type) :: out
    real(dp) :: expected, by_hand
    integer :: i, k
    grid = make_grid(12, 10, 8)
    grid%uniform = .true.
    call solve_direction(grid, 0, 1, 100.0_dp*year, 1.0e-12_dp, 1, 1, s, out)
    check_analytic = 0.0_dp
    do i = 1, grid%nx
      expected = grid%head_west*(1.0_dp - (i - 0.5_dp)/grid%nx)
      check_analytic = max(check_analytic, maxval(abs(s%head(i, 1:10, 1:8) - expected))/grid%head_west)
    end do
    by_hand = 1.0e-7_dp*grid%head_west/4000.0_dp*4000.0_dp*2000.0_dp   ! K dh/L times the section
    check_analytic = max(check_analytic, abs(out%observed(5)/by_hand - 1.0_dp))

    grid%head_west = 0.0_dp
    call solve_direction(grid, 0, 3, 1.0e9_dp*year, 1.0e-12_dp, 1, 1, s, out)
    do k = 1, grid%nz
      expected = inflow_temperature(grid, k)
      check_analytic = max(check_analytic, maxval(abs(s%temp(1:12, 1:10, k) - expected))/expected)
    end do
  end function

  real(dp) function check_derivatives(parameters)
    integer, intent(in) :: parameters
    real(dp), parameter :: h = 1.0e-4_dp
    type(grid_type) :: grid
    type(space_type) :: s
    type(direction_type) :: out, up, down
    real(dp) :: difference(observations), scale(observations)
    integer :: p
    grid = make_grid(10, 9, 12)
    check_derivatives = 0.0_dp
    do p = 1, parameters
      grid%shift = 0.0_dp
      call solve_direction(grid, p, 2, 500.0_dp*year, 1.0e-13_dp, 1, 1, s, out)
      grid%shift(p) = h
      call solve_direction(grid, 0, 2, 500.0_dp*year, 1.0e-13_dp, 1, 1, s, up)
      grid%shift(p) = -h
      call solve_direction(grid, 0, 2, 500.0_dp*year, 1.0e-13_dp, 1, 1, s, down)
      difference = (up%observed - down%observed)/(2.0_dp*h)
      difference(5) = difference(5)/out%observed(5)
      scale = [1.0_dp, 1.0_dp, 1.0_dp, 1.0_dp, 1.0_dp]
      check_derivatives = max(check_derivatives, maxval(abs(difference - out%derivative)/scale))
    end do
  end function

end module
