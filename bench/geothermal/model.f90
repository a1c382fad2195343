! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! The reservoir: a block of rock 4 km x 4 km wide and 2 km deep on a regular grid of finite volumes, cut by a
! fault, in zones of different permeability and thermal conductivity. The parameters of the derivatives are the
! natural logarithms of the zones' permeabilities (parameters 1 .. zones) and thermal conductivities (zones+1 ..
! 2 zones), so that all derivatives are kelvin (or metres of head) per relative change and can be compared.
module model
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  private
  public :: dp, grid_type, rock_type, make_grid, rock_of, zone_of, inflow_temperature

  integer, parameter, public :: zones = 8
  integer, parameter, public :: max_parameters = 2*zones
  real(dp), parameter, public :: heat_capacity_water = 4.18e6_dp    ! J/(m3 K)
  real(dp), parameter, public :: heat_capacity_rock = 2.6e6_dp      ! J/(m3 K), of the saturated rock
  real(dp), parameter, public :: surface_temperature = 10.0_dp      ! degC, fixed at the top
  real(dp), parameter, public :: heat_flux = 0.065_dp               ! W/m2 through the bottom
  real(dp), parameter, public :: mean_conductivity = 2.5_dp         ! W/(m K), of the initial profile

  type :: grid_type
    integer :: nx = 0, ny = 0, nz = 0
    real(dp) :: dx = 0, dy = 0, dz = 0            ! m; k = 1 is the bottom layer
    real(dp) :: head_west = 100.0_dp              ! m; the head in the east is 0
    logical :: uniform = .false.                  ! one homogeneous rock: has an analytic solution
    real(dp) :: shift(max_parameters) = 0.0_dp    ! added to the parameters: for finite differences
  end type

  type :: rock_type
    real(dp) :: conductivity   ! hydraulic conductivity, m/s
    real(dp) :: lambda         ! thermal conductivity, W/(m K)
    integer :: zone
  end type

contains

  pure function make_grid(nx, ny, nz) result(grid)
    integer, intent(in) :: nx, ny, nz
    type(grid_type) :: grid
    grid%nx = nx
    grid%ny = ny
    grid%nz = nz
    grid%dx = 4000.0_dp/nx
    grid%dy = 4000.0_dp/ny
    grid%dz = 2000.0_dp/nz
  end function

  ! Layers that dip to the east, thrown by a quarter of the depth at a fault that runs across the block.
  pure integer function zone_of(grid, i, j, k)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: i, j, k
    real(dp) :: x, y, depth
    x = (i - 0.5_dp)/grid%nx
    y = (j - 0.5_dp)/grid%ny
    depth = (k - 0.5_dp)/grid%nz + 0.2_dp*x
    if (x > 0.45_dp + 0.2_dp*y) depth = depth + 0.25_dp
    zone_of = 1 + modulo(int(depth*zones), zones)
  end function

  pure function rock_of(grid, i, j, k) result(rock)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: i, j, k
    type(rock_type) :: rock
    ! Sand, clay and chalk in turn; the exponents are log10 of the hydraulic conductivity.
    real(dp), parameter :: log_k(zones) = [-7.0_dp, -9.0_dp, -6.6_dp, -8.2_dp, -7.4_dp, -9.4_dp, -6.9_dp, -8.0_dp]
    real(dp), parameter :: lambda(zones) = [2.2_dp, 1.6_dp, 2.9_dp, 2.0_dp, 2.5_dp, 1.5_dp, 3.1_dp, 2.3_dp]
    rock%zone = zone_of(grid, i, j, k)
    if (grid%uniform) then
      rock%conductivity = 1.0e-7_dp
      rock%lambda = mean_conductivity
      return
    end if
    rock%conductivity = 10.0_dp**(log_k(rock%zone) + 0.4_dp*grain(i, j, k))*exp(grid%shift(rock%zone))
    rock%lambda = lambda(rock%zone)*exp(grid%shift(zones + rock%zone))
  end function

  ! The heterogeneity within a zone: a number in -1 .. 1 that depends on the cell only, the same everywhere.
  pure real(dp) function grain(i, j, k)
    integer, intent(in) :: i, j, k
    integer :: mixed
    mixed = modulo(i*7919 + j*104729 + k*1299, 65521)
    mixed = modulo(mixed*171 + 11213, 53125)
    grain = 2.0_dp*mixed/53125.0_dp - 1.0_dp
  end function

  ! The undisturbed profile of layer k: the temperature of what flows in, and that of all cells at the start.
  pure real(dp) function inflow_temperature(grid, k)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: k
    inflow_temperature = surface_temperature + heat_flux/mean_conductivity*(grid%nz - k + 0.5_dp)*grid%dz
  end function

end module
