! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! One directional derivative from start to end, by one outer thread and its team: rock, flow and its derivative,
! then time steps of heat and its derivative, as code made by forward-mode differentiation does it. What was
! computed is checked from scratch: residuals, and that water and heat are neither made nor lost.
module directions
  use model
  use stencil, only: stencil_type
  use solvers, only: solve_symmetric, solve_general, relative_residual
  use reservoir
  implicit none
  private
  public :: direction_type, solve_direction, year

  integer, parameter, public :: observations = 5   ! temperature in four boreholes, and the water that flows through
  real(dp), parameter :: year = 365.25_dp*86400.0_dp

  type :: direction_type
    real(dp) :: observed(observations) = 0, derivative(observations) = 0
    real(dp) :: residual = 0      ! the largest relative residual of all solves
    real(dp) :: water_lost = 0    ! relative to what flows through
    real(dp) :: heat_lost = 0     ! relative to what is stored and exchanged in the last step
    integer :: flow_iterations = 0, heat_iterations = 0
    logical :: converged = .true.
  end type

contains

  ! parameter = 0: the simulation alone, without a derivative.
  subroutine solve_direction(grid, parameter, steps, dt, tolerance, team, outer, s, out)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: parameter, steps, team, outer
    real(dp), intent(in) :: dt, tolerance
    type(space_type), intent(inout) :: s
    type(direction_type), intent(out) :: out
    integer :: step
    if (.not. allocated(s%k)) call open_space(grid, s)
    call set_up_rock(grid, parameter, s, team, outer)
    call assemble_flow(grid, s, team)
    call solve_symmetric(s%a, s%rhs, s%head, s%w, tolerance, team, outer)
    call account(out%flow_iterations, s%head)
    if (parameter > 0) then
      call flow_tangent_rhs(grid, s, team)
      call solve_symmetric(s%a, s%rhs, s%dhead, s%w, tolerance, team, outer)
      call account(out%flow_iterations, s%dhead)
    end if
    call find_fluxes(grid, s, team)
    call assemble_heat(grid, s, dt, team)
    do step = 1, steps
      call heat_rhs(grid, s, dt, team)
      call solve_general(s%a, s%rhs, s%temp, s%w, tolerance, team, outer)
      call account(out%heat_iterations, s%temp)
      if (parameter == 0) cycle
      call heat_tangent_rhs(grid, s, dt, team)
      call solve_general(s%a, s%rhs, s%dtemp, s%w, tolerance, team, outer)
      call account(out%heat_iterations, s%dtemp)
    end do
    call observe(grid, s, out)
    call balance(grid, s, dt, out)

  contains

    subroutine account(iterations, x)
      integer, intent(inout) :: iterations
      real(dp), contiguous, intent(in) :: x(0:, 0:, 0:)
      iterations = iterations + s%w%iterations
      out%converged = out%converged .and. s%w%converged
      out%residual = max(out%residual, relative_residual(s%a, s%rhs, x, s%w, team))
    end subroutine

  end subroutine

  subroutine observe(grid, s, out)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(in) :: s
    type(direction_type), intent(inout) :: out
    real(dp), parameter :: at_x(4) = [0.2_dp, 0.4_dp, 0.6_dp, 0.8_dp]
    real(dp), parameter :: at_y(4) = [0.3_dp, 0.7_dp, 0.4_dp, 0.6_dp]
    real(dp), parameter :: at_z(4) = [0.2_dp, 0.5_dp, 0.3_dp, 0.4_dp]
    integer :: n, i, j, k
    do n = 1, 4
      i = 1 + int(at_x(n)*grid%nx)
      j = 1 + int(at_y(n)*grid%ny)
      k = 1 + int(at_z(n)*grid%nz)
      out%observed(n) = s%temp(i, j, k)
      out%derivative(n) = s%dtemp(i, j, k)
    end do
    out%observed(5) = sum(s%qx(grid%nx, :, :))
    out%derivative(5) = sum(s%dqx(grid%nx, :, :))/out%observed(5)
  end subroutine

  ! What flows in and is not stored must flow out.
  subroutine balance(grid, s, dt, out)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(in) :: s
    real(dp), intent(in) :: dt
    type(direction_type), intent(inout) :: out
    real(dp) :: water_in, water_out, stored, carried, surface, bottom
    integer :: nx, ny, nz
    nx = grid%nx
    ny = grid%ny
    nz = grid%nz
    water_in = sum(s%qx(0, :, :))
    water_out = sum(s%qx(nx, :, :))
    out%water_lost = abs(water_in - water_out)/max(abs(water_in), abs(water_out), tiny(1.0_dp))
    stored = heat_capacity_rock*grid%dx*grid%dy*grid%dz/dt &
             *sum(s%temp(1:nx, 1:ny, 1:nz) - s%old(1:nx, 1:ny, 1:nz))
    carried = heat_capacity_water &
              *(sum(s%qx(0, :, :)*merge(s%temp(0, 1:ny, 1:nz), s%temp(1, 1:ny, 1:nz), s%qx(0, :, :) > 0)) &
                - sum(s%qx(nx, :, :)*merge(s%temp(nx, 1:ny, 1:nz), s%temp(nx + 1, 1:ny, 1:nz), s%qx(nx, :, :) > 0)))
    surface = sum(s%gz(:, :, nz)*(s%temp(1:nx, 1:ny, nz) - surface_temperature))
    bottom = heat_flux*grid%dx*grid%dy*nx*ny
    out%heat_lost = abs(stored - carried + surface - bottom)/(abs(stored) + abs(carried) + abs(surface) + bottom)
  end subroutine

end module
