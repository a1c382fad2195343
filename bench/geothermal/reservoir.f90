! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! The discrete equations, and their derivative in the direction of one parameter. Every quantity x has a partner
! dx, its derivative, made by differentiating the discrete formula itself (tangent-linear), so that the derivative
! is exact to rounding and solver tolerance. Boundary values live in the layer of cells around the grid (heads and
! inflow temperatures in west and east, the surface above); coefficients of the operators that would lead there
! are zero and their share stands in the right-hand side.
module reservoir
  use model
  use stencil, only: stencil_type
  use solvers, only: solver_space
  use placement, only: seen
  implicit none
  private
  public :: space_type, open_space, set_up_rock, assemble_flow, flow_tangent_rhs, find_fluxes, assemble_heat
  public :: heat_rhs, heat_tangent_rhs

  ! All that one outer thread works on: allocated by it, first touched by its team.
  type :: space_type
    real(dp), allocatable, dimension(:, :, :) :: k, dk, lambda, dlambda              ! of the cells
    real(dp), allocatable, dimension(:, :, :) :: tx, ty, tz, dtx, dty, dtz           ! water through faces, m2/s
    real(dp), allocatable, dimension(:, :, :) :: gx, gy, gz, dgx, dgy, dgz           ! heat through faces, W/K
    real(dp), allocatable, dimension(:, :, :) :: qx, qy, qz, dqx, dqy, dqz           ! water flow, m3/s
    real(dp), allocatable, dimension(:, :, :) :: head, dhead, temp, dtemp, old, dold, rhs
    type(stencil_type) :: a
    type(solver_space) :: w
  end type

contains

  subroutine open_space(grid, s)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    integer :: nx, ny, nz
    nx = grid%nx
    ny = grid%ny
    nz = grid%nz
    allocate (s%k(nx, ny, nz), s%dk(nx, ny, nz), s%lambda(nx, ny, nz), s%dlambda(nx, ny, nz))
    allocate (s%tx(0:nx, ny, nz), s%dtx(0:nx, ny, nz), s%ty(nx, 0:ny, nz), s%dty(nx, 0:ny, nz))
    allocate (s%tz(nx, ny, 0:nz), s%dtz(nx, ny, 0:nz))
    allocate (s%gx(0:nx, ny, nz), s%dgx(0:nx, ny, nz), s%gy(nx, 0:ny, nz), s%dgy(nx, 0:ny, nz))
    allocate (s%gz(nx, ny, 0:nz), s%dgz(nx, ny, 0:nz))
    allocate (s%qx(0:nx, ny, nz), s%dqx(0:nx, ny, nz), s%qy(nx, 0:ny, nz), s%dqy(nx, 0:ny, nz))
    allocate (s%qz(nx, ny, 0:nz), s%dqz(nx, ny, 0:nz))
    allocate (s%head(0:nx + 1, 0:ny + 1, 0:nz + 1), s%temp(0:nx + 1, 0:ny + 1, 0:nz + 1))
    allocate (s%dhead, s%dtemp, s%old, s%dold, s%rhs, mold=s%head)
    allocate (s%w%r, s%w%z, s%w%p, s%w%q, s%w%s, s%w%t, s%w%r0, mold=s%head)
    allocate (s%a%centre, s%a%west, s%a%east, s%a%south, s%a%north, s%a%below, s%a%above, mold=s%k)
    allocate (s%w%sum1(nz), s%w%sum2(nz), s%w%sum3(nz), s%w%sum4(nz))
  end subroutine

  ! The first parallel region of a direction: touches every plane of everything, and finds the rock of each cell.
  subroutine set_up_rock(grid, parameter, s, team, outer)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: parameter, team, outer
    type(space_type), intent(inout) :: s
    type(rock_type) :: rock
    integer :: i, j, k
    !$omp parallel num_threads(team) default(shared) private(i, j, k, rock)
    call seen(outer)
    !$omp do schedule(static)
    do k = 1, grid%nz
      call touch_plane(grid, s, k)
      if (k == 1) call touch_plane(grid, s, 0)
      if (k == grid%nz) call touch_plane(grid, s, grid%nz + 1)
      do j = 1, grid%ny
        do i = 1, grid%nx
          rock = rock_of(grid, i, j, k)
          s%k(i, j, k) = rock%conductivity
          s%lambda(i, j, k) = rock%lambda
          s%dk(i, j, k) = merge(rock%conductivity, 0.0_dp, parameter == rock%zone)
          s%dlambda(i, j, k) = merge(rock%lambda, 0.0_dp, parameter == zones + rock%zone)
        end do
      end do
    end do
    !$omp do schedule(static)
    do k = 1, grid%nz
      call face_plane(grid, s, k)
    end do
    !$omp end parallel
  end subroutine

  ! Plane k = 0 and nz+1 belong to their neighbours inside; arrays that lack them are left alone.
  subroutine touch_plane(grid, s, k)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    integer, intent(in) :: k
    real(dp) :: inflow
    inflow = merge(surface_temperature, inflow_temperature(grid, k), k > grid%nz)
    s%head(:, :, k) = 0.0_dp
    s%head(0, :, k) = grid%head_west
    s%temp(:, :, k) = inflow
    s%old(:, :, k) = inflow
    s%dhead(:, :, k) = 0.0_dp
    s%dtemp(:, :, k) = 0.0_dp
    s%dold(:, :, k) = 0.0_dp
    s%rhs(:, :, k) = 0.0_dp
    s%w%r(:, :, k) = 0.0_dp
    s%w%z(:, :, k) = 0.0_dp
    s%w%p(:, :, k) = 0.0_dp
    s%w%q(:, :, k) = 0.0_dp
    s%w%s(:, :, k) = 0.0_dp
    s%w%t(:, :, k) = 0.0_dp
    s%w%r0(:, :, k) = 0.0_dp
    if (k > grid%nz) return
    s%tz(:, :, k) = 0.0_dp
    s%dtz(:, :, k) = 0.0_dp
    s%gz(:, :, k) = 0.0_dp
    s%dgz(:, :, k) = 0.0_dp
    s%qz(:, :, k) = 0.0_dp
    s%dqz(:, :, k) = 0.0_dp
  end subroutine

  ! What a face lets through per difference: the harmonic mean of its two cells, and the derivative of that.
  elemental subroutine face(a, da, b, db, scale, t, dt)
    real(dp), intent(in) :: a, da, b, db, scale
    real(dp), intent(out) :: t, dt
    t = scale*2.0_dp*a*b/(a + b)
    dt = scale*2.0_dp*(b*b*da + a*a*db)/((a + b)*(a + b))
  end subroutine

  ! The faces of plane k: those within it, and the one above it.
  subroutine face_plane(grid, s, k)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    integer, intent(in) :: k
    real(dp) :: cx, cy, cz
    integer :: nx, ny
    nx = grid%nx
    ny = grid%ny
    cx = grid%dy*grid%dz/grid%dx
    cy = grid%dx*grid%dz/grid%dy
    cz = grid%dx*grid%dy/grid%dz
    associate (c => s%k(:, :, k), dc => s%dk(:, :, k), l => s%lambda(:, :, k), dl => s%dlambda(:, :, k))
      call face(c(1:nx - 1, :), dc(1:nx - 1, :), c(2:nx, :), dc(2:nx, :), cx, s%tx(1:nx - 1, :, k), s%dtx(1:nx - 1, :, k))
      call face(l(1:nx - 1, :), dl(1:nx - 1, :), l(2:nx, :), dl(2:nx, :), cx, s%gx(1:nx - 1, :, k), s%dgx(1:nx - 1, :, k))
      call face(c(:, 1:ny - 1), dc(:, 1:ny - 1), c(:, 2:ny), dc(:, 2:ny), cy, s%ty(:, 1:ny - 1, k), s%dty(:, 1:ny - 1, k))
      call face(l(:, 1:ny - 1), dl(:, 1:ny - 1), l(:, 2:ny), dl(:, 2:ny), cy, s%gy(:, 1:ny - 1, k), s%dgy(:, 1:ny - 1, k))
      ! West and east: a fixed head half a cell away, no conduction of heat. South and north: closed.
      s%tx(0, :, k) = 2.0_dp*cx*c(1, :)
      s%dtx(0, :, k) = 2.0_dp*cx*dc(1, :)
      s%tx(nx, :, k) = 2.0_dp*cx*c(nx, :)
      s%dtx(nx, :, k) = 2.0_dp*cx*dc(nx, :)
      s%ty(:, 0:ny:ny, k) = 0.0_dp
      s%dty(:, 0:ny:ny, k) = 0.0_dp
      s%gx(0:nx:nx, :, k) = 0.0_dp
      s%dgx(0:nx:nx, :, k) = 0.0_dp
      s%gy(:, 0:ny:ny, k) = 0.0_dp
      s%dgy(:, 0:ny:ny, k) = 0.0_dp
      if (k < grid%nz) then
        call face(c, dc, s%k(:, :, k + 1), s%dk(:, :, k + 1), cz, s%tz(:, :, k), s%dtz(:, :, k))
        call face(l, dl, s%lambda(:, :, k + 1), s%dlambda(:, :, k + 1), cz, s%gz(:, :, k), s%dgz(:, :, k))
      else  ! the surface: closed for water, at a fixed temperature half a cell away
        s%gz(:, :, k) = 2.0_dp*cz*l
        s%dgz(:, :, k) = 2.0_dp*cz*dl
      end if
    end associate
  end subroutine

  ! div(K grad h) = 0 with fixed heads in west and east.
  subroutine assemble_flow(grid, s, team)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    integer, intent(in) :: team
    integer :: k, nx, ny
    nx = grid%nx
    ny = grid%ny
    !$omp parallel do schedule(static) num_threads(team) default(shared)
    do k = 1, grid%nz
      s%a%west(:, :, k) = s%tx(0:nx - 1, :, k)
      s%a%east(:, :, k) = s%tx(1:nx, :, k)
      s%a%south(:, :, k) = s%ty(:, 0:ny - 1, k)
      s%a%north(:, :, k) = s%ty(:, 1:ny, k)
      s%a%below(:, :, k) = s%tz(:, :, k - 1)
      s%a%above(:, :, k) = s%tz(:, :, k)
      s%a%centre(:, :, k) = s%a%west(:, :, k) + s%a%east(:, :, k) + s%a%south(:, :, k) + s%a%north(:, :, k) &
                            + s%a%below(:, :, k) + s%a%above(:, :, k)
      s%rhs(1:nx, 1:ny, k) = 0.0_dp
      s%rhs(1, 1:ny, k) = s%a%west(1, :, k)*grid%head_west
      s%a%west(1, :, k) = 0.0_dp
      s%a%east(nx, :, k) = 0.0_dp
    end do
  end subroutine

  ! A dh = -dA h: what the changed faces let through at the heads found.
  subroutine flow_tangent_rhs(grid, s, team)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    integer, intent(in) :: team
    integer :: i, j, k
    !$omp parallel do schedule(static) num_threads(team) default(shared) private(i, j)
    do k = 1, grid%nz
      do j = 1, grid%ny
        do i = 1, grid%nx
          s%rhs(i, j, k) = s%dtx(i - 1, j, k)*(s%head(i - 1, j, k) - s%head(i, j, k)) &
                           - s%dtx(i, j, k)*(s%head(i, j, k) - s%head(i + 1, j, k)) &
                           + s%dty(i, j - 1, k)*(s%head(i, j - 1, k) - s%head(i, j, k)) &
                           - s%dty(i, j, k)*(s%head(i, j, k) - s%head(i, j + 1, k)) &
                           + s%dtz(i, j, k - 1)*(s%head(i, j, k - 1) - s%head(i, j, k)) &
                           - s%dtz(i, j, k)*(s%head(i, j, k) - s%head(i, j, k + 1))
        end do
      end do
    end do
  end subroutine

  ! Darcy: the flow through each face, positive to the east, north and up, and its derivative.
  subroutine find_fluxes(grid, s, team)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    integer, intent(in) :: team
    integer :: k, nx, ny
    nx = grid%nx
    ny = grid%ny
    !$omp parallel do schedule(static) num_threads(team) default(shared)
    do k = 1, grid%nz
      associate (h => s%head(:, :, k), dh => s%dhead(:, :, k))  ! bounds 1 .. n+2 here
        s%qx(:, :, k) = s%tx(:, :, k)*(h(1:nx + 1, 2:ny + 1) - h(2:nx + 2, 2:ny + 1))
        s%dqx(:, :, k) = s%dtx(:, :, k)*(h(1:nx + 1, 2:ny + 1) - h(2:nx + 2, 2:ny + 1)) &
                         + s%tx(:, :, k)*(dh(1:nx + 1, 2:ny + 1) - dh(2:nx + 2, 2:ny + 1))
        s%qy(:, :, k) = s%ty(:, :, k)*(h(2:nx + 1, 1:ny + 1) - h(2:nx + 1, 2:ny + 2))
        s%dqy(:, :, k) = s%dty(:, :, k)*(h(2:nx + 1, 1:ny + 1) - h(2:nx + 1, 2:ny + 2)) &
                         + s%ty(:, :, k)*(dh(2:nx + 1, 1:ny + 1) - dh(2:nx + 1, 2:ny + 2))
      end associate
      s%qz(:, :, k) = s%tz(:, :, k)*(s%head(1:nx, 1:ny, k) - s%head(1:nx, 1:ny, k + 1))
      s%dqz(:, :, k) = s%dtz(:, :, k)*(s%head(1:nx, 1:ny, k) - s%head(1:nx, 1:ny, k + 1)) &
                       + s%tz(:, :, k)*(s%dhead(1:nx, 1:ny, k) - s%dhead(1:nx, 1:ny, k + 1))
    end do
  end subroutine

  ! One implicit step of length `dt`: storage, water that carries the upwind cell's heat, conduction.
  subroutine assemble_heat(grid, s, dt, team)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    real(dp), intent(in) :: dt
    integer, intent(in) :: team
    real(dp), parameter :: c = heat_capacity_water
    real(dp) :: storage
    integer :: k, nx, ny
    nx = grid%nx
    ny = grid%ny
    storage = heat_capacity_rock*grid%dx*grid%dy*grid%dz/dt
    !$omp parallel do schedule(static) num_threads(team) default(shared)
    do k = 1, grid%nz
      s%a%west(:, :, k) = c*max(s%qx(0:nx - 1, :, k), 0.0_dp) + s%gx(0:nx - 1, :, k)
      s%a%east(:, :, k) = c*max(-s%qx(1:nx, :, k), 0.0_dp) + s%gx(1:nx, :, k)
      s%a%south(:, :, k) = c*max(s%qy(:, 0:ny - 1, k), 0.0_dp) + s%gy(:, 0:ny - 1, k)
      s%a%north(:, :, k) = c*max(-s%qy(:, 1:ny, k), 0.0_dp) + s%gy(:, 1:ny, k)
      s%a%below(:, :, k) = c*max(s%qz(:, :, k - 1), 0.0_dp) + s%gz(:, :, k - 1)
      s%a%above(:, :, k) = c*max(-s%qz(:, :, k), 0.0_dp) + s%gz(:, :, k)
      ! what leaves the cell is at its own temperature
      s%a%centre(:, :, k) = storage + c*(max(-s%qx(0:nx - 1, :, k), 0.0_dp) + max(s%qx(1:nx, :, k), 0.0_dp) &
                                         + max(-s%qy(:, 0:ny - 1, k), 0.0_dp) + max(s%qy(:, 1:ny, k), 0.0_dp) &
                                         + max(-s%qz(:, :, k - 1), 0.0_dp) + max(s%qz(:, :, k), 0.0_dp)) &
                            + s%gx(0:nx - 1, :, k) + s%gx(1:nx, :, k) + s%gy(:, 0:ny - 1, k) + s%gy(:, 1:ny, k) &
                            + s%gz(:, :, k - 1) + s%gz(:, :, k)
    end do
  end subroutine

  ! The right-hand side of a step; coefficients that lead out of the grid move into it (then into zero).
  subroutine heat_rhs(grid, s, dt, team)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    real(dp), intent(in) :: dt
    integer, intent(in) :: team
    real(dp) :: storage, inflow
    integer :: k, nx, ny
    nx = grid%nx
    ny = grid%ny
    storage = heat_capacity_rock*grid%dx*grid%dy*grid%dz/dt
    !$omp parallel do schedule(static) num_threads(team) default(shared) private(inflow)
    do k = 1, grid%nz
      inflow = inflow_temperature(grid, k)
      s%old(:, :, k) = s%temp(:, :, k)
      s%dold(:, :, k) = s%dtemp(:, :, k)
      s%rhs(1:nx, 1:ny, k) = storage*s%old(1:nx, 1:ny, k)
      s%rhs(1, 1:ny, k) = s%rhs(1, 1:ny, k) + heat_capacity_water*max(s%qx(0, :, k), 0.0_dp)*inflow
      s%rhs(nx, 1:ny, k) = s%rhs(nx, 1:ny, k) + heat_capacity_water*max(-s%qx(nx, :, k), 0.0_dp)*inflow
      if (k == 1) s%rhs(1:nx, 1:ny, k) = s%rhs(1:nx, 1:ny, k) + heat_flux*grid%dx*grid%dy
      if (k == grid%nz) s%rhs(1:nx, 1:ny, k) = s%rhs(1:nx, 1:ny, k) + s%gz(:, :, k)*surface_temperature
      s%a%west(1, :, k) = 0.0_dp
      s%a%east(nx, :, k) = 0.0_dp
      if (k == grid%nz) s%a%above(:, :, k) = 0.0_dp
    end do
  end subroutine

  ! The derivative of the heat that passes a face at fixed temperatures: left and right cell, flow to the right.
  elemental real(dp) function d_face(q, dq, dg, left, right)
    real(dp), intent(in) :: q, dq, dg, left, right
    d_face = heat_capacity_water*dq*merge(left, right, q > 0.0_dp) + dg*(left - right)
  end function

  subroutine heat_tangent_rhs(grid, s, dt, team)
    type(grid_type), intent(in) :: grid
    type(space_type), intent(inout) :: s
    real(dp), intent(in) :: dt
    integer, intent(in) :: team
    real(dp) :: storage
    integer :: i, j, k
    storage = heat_capacity_rock*grid%dx*grid%dy*grid%dz/dt
    !$omp parallel do schedule(static) num_threads(team) default(shared) private(i, j)
    do k = 1, grid%nz
      do j = 1, grid%ny
        do i = 1, grid%nx
          associate (t => s%temp)
            s%rhs(i, j, k) = storage*s%dold(i, j, k) &
              + d_face(s%qx(i - 1, j, k), s%dqx(i - 1, j, k), s%dgx(i - 1, j, k), t(i - 1, j, k), t(i, j, k)) &
              - d_face(s%qx(i, j, k), s%dqx(i, j, k), s%dgx(i, j, k), t(i, j, k), t(i + 1, j, k)) &
              + d_face(s%qy(i, j - 1, k), s%dqy(i, j - 1, k), s%dgy(i, j - 1, k), t(i, j - 1, k), t(i, j, k)) &
              - d_face(s%qy(i, j, k), s%dqy(i, j, k), s%dgy(i, j, k), t(i, j, k), t(i, j + 1, k)) &
              + d_face(s%qz(i, j, k - 1), s%dqz(i, j, k - 1), s%dgz(i, j, k - 1), t(i, j, k - 1), t(i, j, k)) &
              - d_face(s%qz(i, j, k), s%dqz(i, j, k), s%dgz(i, j, k), t(i, j, k), t(i, j, k + 1))
          end associate
        end do
      end do
    end do
  end subroutine

end module
