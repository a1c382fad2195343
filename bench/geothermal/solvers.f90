! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! The two linear solvers, each one parallel region of the inner team: conjugate gradients for the symmetric flow
! problem, preconditioned with a Chebyshev polynomial in the Jacobi-scaled matrix (parallel, symmetric and with few
! sums per step), and BiCGStab with Jacobi for the heat problem, which upwinding makes unsymmetric. Each thread
! adds up the planes' sums itself, which costs less than a reduction and gives every thread the same bits.
module solvers
  use model, only: dp
  use stencil, only: stencil_type, plane_multiply, plane_dot, plane_combine, plane_scale, total
  use placement, only: seen
  implicit none
  private
  public :: solver_space, solve_symmetric, solve_general, relative_residual

  integer, parameter :: max_iterations = 5000
  integer, parameter :: degree = 4            ! of the polynomial
  real(dp), parameter :: upper = 2.0_dp       ! Gershgorin: the Jacobi-scaled matrix has no larger eigenvalue
  real(dp), parameter :: lower = upper/30.0_dp

  type :: solver_space
    real(dp), allocatable, dimension(:, :, :) :: r, z, p, q, s, t, r0
    real(dp), allocatable, dimension(:) :: sum1, sum2, sum3, sum4
    integer :: iterations = 0
    logical :: converged = .false.
  end type

contains

  subroutine solve_symmetric(a, b, x, w, tolerance, team, outer)
    type(stencil_type), intent(in) :: a
    real(dp), contiguous, intent(in) :: b(0:, 0:, 0:)
    real(dp), contiguous, intent(inout) :: x(0:, 0:, 0:)
    type(solver_space), intent(inout) :: w
    real(dp), intent(in) :: tolerance
    integer, intent(in) :: team, outer
    real(dp) :: rho, rho_old, alpha, norm_b
    integer :: k, nz, iteration
    logical :: done
    nz = size(a%centre, 3)
    !$omp parallel num_threads(team) default(shared) private(k, iteration, rho, rho_old, alpha, norm_b, done)
    call seen(outer)
    call initial_residual(a, b, x, w, norm_b)
    done = sqrt(total(w%sum2)) <= tolerance*norm_b
    rho_old = 1.0_dp
    do iteration = 1, max_iterations
      if (done) exit
      call precondition(a, w)
      !$omp do schedule(static)
      do k = 1, nz
        w%sum1(k) = plane_dot(k, w%r, w%z)
      end do
      rho = total(w%sum1)
      !$omp do schedule(static)
      do k = 1, nz
        call plane_combine(k, 1.0_dp, w%z, merge(0.0_dp, rho/rho_old, iteration == 1), w%p)
      end do
      !$omp do schedule(static)
      do k = 1, nz
        call plane_multiply(a, k, w%p, w%q)
        w%sum3(k) = plane_dot(k, w%p, w%q)
      end do
      alpha = rho/total(w%sum3)
      rho_old = rho
      !$omp do schedule(static)
      do k = 1, nz
        call plane_combine(k, alpha, w%p, 1.0_dp, x)
        call plane_combine(k, -alpha, w%q, 1.0_dp, w%r)
        w%sum2(k) = plane_dot(k, w%r, w%r)
      end do
      done = sqrt(total(w%sum2)) <= tolerance*norm_b
    end do
    !$omp single
    w%iterations = min(iteration - 1, max_iterations)
    w%converged = done
    !$omp end single
    !$omp end parallel
  end subroutine

  ! r = b - A x, and the norm of b. Called by all threads of the team.
  subroutine initial_residual(a, b, x, w, norm_b)
    type(stencil_type), intent(in) :: a
    real(dp), contiguous, intent(in) :: b(0:, 0:, 0:), x(0:, 0:, 0:)
    type(solver_space), intent(inout) :: w
    real(dp), intent(out) :: norm_b
    integer :: k
    !$omp do schedule(static)
    do k = 1, size(a%centre, 3)
      call plane_multiply(a, k, x, w%r)
      call plane_combine(k, 1.0_dp, b, -1.0_dp, w%r)
      w%sum1(k) = plane_dot(k, b, b)
      w%sum2(k) = plane_dot(k, w%r, w%r)
    end do
    norm_b = sqrt(total(w%sum1))
    if (norm_b <= 0.0_dp) norm_b = 1.0_dp
    !$omp barrier
  end subroutine

  ! z = P r: `degree` steps of the Chebyshev iteration for A z = r from z = 0; t is the step, q holds A z.
  ! Called by all threads of the team.
  subroutine precondition(a, w)
    type(stencil_type), intent(in) :: a
    type(solver_space), intent(inout) :: w
    real(dp) :: theta, delta, sigma, rho, rho_new
    integer :: k, m, nz
    nz = size(a%centre, 3)
    theta = 0.5_dp*(upper + lower)
    delta = 0.5_dp*(upper - lower)
    sigma = theta/delta
    rho = 1.0_dp/sigma
    !$omp do schedule(static)
    do k = 1, nz
      call plane_scale(a, k, 1.0_dp/theta, w%r, 0.0_dp, w%t)
      call plane_combine(k, 1.0_dp, w%t, 0.0_dp, w%z)
    end do
    do m = 2, degree
      rho_new = 1.0_dp/(2.0_dp*sigma - rho)
      !$omp do schedule(static)
      do k = 1, nz
        call plane_multiply(a, k, w%z, w%q)
      end do
      !$omp do schedule(static)
      do k = 1, nz
        call plane_combine(k, 1.0_dp, w%r, -1.0_dp, w%q)
        call plane_scale(a, k, 2.0_dp*rho_new/delta, w%q, rho_new*rho, w%t)
        call plane_combine(k, 1.0_dp, w%t, 1.0_dp, w%z)
      end do
      rho = rho_new
    end do
  end subroutine

  subroutine solve_general(a, b, x, w, tolerance, team, outer)
    type(stencil_type), intent(in) :: a
    real(dp), contiguous, intent(in) :: b(0:, 0:, 0:)
    real(dp), contiguous, intent(inout) :: x(0:, 0:, 0:)
    type(solver_space), intent(inout) :: w
    real(dp), intent(in) :: tolerance
    integer, intent(in) :: team, outer
    real(dp) :: rho, rho_old, alpha, omega, norm_b
    integer :: k, nz, iteration
    logical :: done
    nz = size(a%centre, 3)
    !$omp parallel num_threads(team) default(shared) private(k, iteration, rho, rho_old, alpha, omega, norm_b, done)
    call seen(outer)
    call initial_residual(a, b, x, w, norm_b)
    done = sqrt(total(w%sum2)) <= tolerance*norm_b
    !$omp do schedule(static)
    do k = 1, nz
      w%r0(:, :, k) = w%r(:, :, k)
      w%p(:, :, k) = 0.0_dp
      w%q(:, :, k) = 0.0_dp
      w%sum1(k) = plane_dot(k, w%r, w%r)
    end do
    rho_old = 1.0_dp
    alpha = 1.0_dp
    omega = 1.0_dp
    do iteration = 1, max_iterations
      if (done) exit
      rho = total(w%sum1)
      ! p = r + beta (p - omega q), z = p / diagonal
      !$omp do schedule(static)
      do k = 1, nz
        call plane_combine(k, -omega, w%q, 1.0_dp, w%p)
        call plane_combine(k, 1.0_dp, w%r, (rho/rho_old)*(alpha/omega), w%p)
        call plane_scale(a, k, 1.0_dp, w%p, 0.0_dp, w%z)
      end do
      !$omp do schedule(static)
      do k = 1, nz
        call plane_multiply(a, k, w%z, w%q)
        w%sum3(k) = plane_dot(k, w%r0, w%q)
      end do
      alpha = rho/total(w%sum3)
      ! r becomes s = r - alpha q; s holds s / diagonal
      !$omp do schedule(static)
      do k = 1, nz
        call plane_combine(k, -alpha, w%q, 1.0_dp, w%r)
        call plane_scale(a, k, 1.0_dp, w%r, 0.0_dp, w%s)
      end do
      !$omp do schedule(static)
      do k = 1, nz
        call plane_multiply(a, k, w%s, w%t)
        w%sum2(k) = plane_dot(k, w%t, w%r)
        w%sum4(k) = plane_dot(k, w%t, w%t)
      end do
      omega = total(w%sum2)/max(total(w%sum4), tiny(1.0_dp))
      rho_old = rho
      !$omp barrier
      !$omp do schedule(static)
      do k = 1, nz
        call plane_combine(k, alpha, w%z, 1.0_dp, x)
        call plane_combine(k, omega, w%s, 1.0_dp, x)
        call plane_combine(k, -omega, w%t, 1.0_dp, w%r)
        w%sum1(k) = plane_dot(k, w%r0, w%r)
        w%sum2(k) = plane_dot(k, w%r, w%r)
      end do
      done = sqrt(total(w%sum2)) <= tolerance*norm_b
    end do
    !$omp single
    w%iterations = min(iteration - 1, max_iterations)
    w%converged = done
    !$omp end single
    !$omp end parallel
  end subroutine

  ! |b - A x| / |b|, computed from scratch.
  real(dp) function relative_residual(a, b, x, w, team)
    type(stencil_type), intent(in) :: a
    real(dp), contiguous, intent(in) :: b(0:, 0:, 0:), x(0:, 0:, 0:)
    type(solver_space), intent(inout) :: w
    integer, intent(in) :: team
    real(dp) :: norm_b
    !$omp parallel num_threads(team) default(shared) private(norm_b)
    call initial_residual(a, b, x, w, norm_b)
    !$omp end parallel
    norm_b = sqrt(total(w%sum1))
    relative_residual = sqrt(total(w%sum2))
    if (norm_b > 0.0_dp) relative_residual = relative_residual/norm_b
  end function

end module
