! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! A seven-point operator and the loops over one horizontal plane of it. All parallel loops of the program run over
! planes with the same static schedule, so that a plane is always worked on by the thread that touched it first.
! Sums are kept per plane and added up by every thread in the same order: no reduction, and results that do not
! depend on the number of threads, so that a serial run is an exact reference.
module stencil
  use model, only: dp
  implicit none
  private
  public :: stencil_type, plane_multiply, plane_dot, plane_combine, plane_scale, total

  ! (A x)(i,j,k) = centre x - west x(i-1) - east x(i+1) - south x(j-1) - north x(j+1) - below x(k-1) - above x(k+1).
  ! Vectors carry a layer of cells around the grid; coefficients that lead there are zero.
  type :: stencil_type
    real(dp), allocatable, dimension(:, :, :) :: centre, west, east, south, north, below, above
  end type

contains

  ! y = A x on plane k
  subroutine plane_multiply(a, k, x, y)
    type(stencil_type), intent(in) :: a
    integer, intent(in) :: k
    real(dp), contiguous, intent(in) :: x(0:, 0:, 0:)
    real(dp), contiguous, intent(inout) :: y(0:, 0:, 0:)
    call multiply(size(a%centre, 1), size(a%centre, 2), a%centre(:, :, k), a%west(:, :, k), a%east(:, :, k), &
                  a%south(:, :, k), a%north(:, :, k), a%below(:, :, k), a%above(:, :, k), x(:, :, k - 1), &
                  x(:, :, k), x(:, :, k + 1), y(:, :, k))
  end subroutine

  ! Explicit shapes, here and below: the compilers then see that the planes are contiguous, and vectorise.
  pure subroutine multiply(nx, ny, centre, west, east, south, north, below, above, x_below, x, x_above, y)
    integer, intent(in) :: nx, ny
    real(dp), intent(in), dimension(nx, ny) :: centre, west, east, south, north, below, above
    real(dp), intent(in), dimension(0:nx + 1, 0:ny + 1) :: x_below, x, x_above
    real(dp), intent(inout) :: y(0:nx + 1, 0:ny + 1)
    integer :: i, j
    do j = 1, ny
      do i = 1, nx
        y(i, j) = centre(i, j)*x(i, j) - west(i, j)*x(i - 1, j) - east(i, j)*x(i + 1, j) - south(i, j)*x(i, j - 1) &
                  - north(i, j)*x(i, j + 1) - below(i, j)*x_below(i, j) - above(i, j)*x_above(i, j)
      end do
    end do
  end subroutine

  real(dp) function plane_dot(k, x, y)
    integer, intent(in) :: k
    real(dp), contiguous, intent(in) :: x(0:, 0:, 0:), y(0:, 0:, 0:)
    plane_dot = dot(size(x, 1)*size(x, 2), x(:, :, k), y(:, :, k))
  end function

  ! The cells around the grid are in it: in all vectors of a solver at least one factor is zero there.
  pure real(dp) function dot(n, x, y)
    integer, intent(in) :: n
    real(dp), intent(in) :: x(n), y(n)
    real(dp) :: lane(8)
    integer :: i
    lane = 0.0_dp
    do i = 1, n - 7, 8
      lane = lane + x(i:i + 7)*y(i:i + 7)
    end do
    dot = sum(lane)
    do i = n - modulo(n, 8) + 1, n
      dot = dot + x(i)*y(i)
    end do
  end function

  ! y = alpha x + beta y
  subroutine plane_combine(k, alpha, x, beta, y)
    integer, intent(in) :: k
    real(dp), intent(in) :: alpha, beta
    real(dp), contiguous, intent(in) :: x(0:, 0:, 0:)
    real(dp), contiguous, intent(inout) :: y(0:, 0:, 0:)
    call combine(size(x, 1)*size(x, 2), alpha, x(:, :, k), beta, y(:, :, k))
  end subroutine

  pure subroutine combine(n, alpha, x, beta, y)
    integer, intent(in) :: n
    real(dp), intent(in) :: alpha, beta, x(n)
    real(dp), intent(inout) :: y(n)
    integer :: i
    do i = 1, n
      y(i) = alpha*x(i) + beta*y(i)
    end do
  end subroutine

  ! y = alpha x / diagonal + beta y
  subroutine plane_scale(a, k, alpha, x, beta, y)
    type(stencil_type), intent(in) :: a
    integer, intent(in) :: k
    real(dp), intent(in) :: alpha, beta
    real(dp), contiguous, intent(in) :: x(0:, 0:, 0:)
    real(dp), contiguous, intent(inout) :: y(0:, 0:, 0:)
    call scale(size(a%centre, 1), size(a%centre, 2), a%centre(:, :, k), alpha, x(:, :, k), beta, y(:, :, k))
  end subroutine

  pure subroutine scale(nx, ny, centre, alpha, x, beta, y)
    integer, intent(in) :: nx, ny
    real(dp), intent(in) :: centre(nx, ny), alpha, beta, x(0:nx + 1, 0:ny + 1)
    real(dp), intent(inout) :: y(0:nx + 1, 0:ny + 1)
    integer :: i, j
    do j = 1, ny
      do i = 1, nx
        y(i, j) = alpha*x(i, j)/centre(i, j) + beta*y(i, j)
      end do
    end do
  end subroutine

  ! The sum of one number per plane, in the order of the planes.
  pure real(dp) function total(partial)
    real(dp), intent(in) :: partial(:)
    integer :: k
    total = 0.0_dp
    do k = 1, size(partial)
      total = total + partial(k)
    end do
  end function

end module
