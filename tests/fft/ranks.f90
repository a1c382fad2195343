! Copyright (c) 2026, the nigh authors.
! SPDX-License-Identifier: BSD-3-Clause
!
! Fourier transforms from Fortran: over ranks there and back, one whose result is known, and what is refused.
program ranks
  use, intrinsic :: iso_c_binding
  use mpi
  use nigh_fft
  implicit none
  integer(c_size_t), parameter :: n(2) = [24_c_size_t, 30_c_size_t]
  type(nigh_fft_plan) :: plan, back
  type(nigh_fft_part) :: in, out
  complex(c_double_complex), allocatable, target :: a(:, :), b(:, :), kept(:, :)
  real(c_double), allocatable :: noise(:, :)
  character(len=:), allocatable :: why
  integer :: error, rank, status, failures = 0, all_failures

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call nigh_fft_mpi_share(n, nigh_fft_forward, 0, .false., MPI_COMM_WORLD, in, out, status)
  call expect(status == 0, 'a share')
  allocate (a(in%row, in%rows), b(out%row, out%rows), noise(in%row, in%rows))
  call nigh_fft_mpi(plan, n, nigh_fft_forward, 0, c_loc(a), in%bytes, c_loc(b), out%bytes, MPI_COMM_WORLD, 1, status)
  call expect(status == 0, 'a plan over ranks')
  call nigh_fft_mpi(back, n, nigh_fft_backward, 0, c_loc(b), out%bytes, c_loc(a), in%bytes, MPI_COMM_WORLD, 1, status)
  call expect(status == 0, 'a plan back')
  a = 0
  if (in%first == 0) a(1, 1) = (2d0, 1d0)
  call nigh_fft_execute(plan, status)
  call expect(status == 0, 'its execution')
  call expect(all(abs(b - (2d0, 1d0)) < 1d-12), 'the spectrum of a pulse')
  call random_number(noise)
  a = noise
  kept = a
  call nigh_fft_execute(plan)
  call nigh_fft_execute(back)
  call expect(all(abs(a/product(n) - kept) < 1d-12), 'there and back')
  call nigh_fft_destroy(plan)
  call nigh_fft_destroy(back)
  call nigh_fft_mpi(plan, n, 3, 0, c_loc(a), in%bytes, c_loc(b), out%bytes, MPI_COMM_WORLD, 1, status)
  why = nigh_fft_why()
  call expect(status == -1 .and. index(why, 'sign is neither') > 0, 'a refusal')
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_failures == 0) print '(a)', 'all transforms are right'
  call MPI_Finalize(error)
  if (all_failures > 0) error stop 1

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(2a)', 'wrong: ', what
  end subroutine expect
end program ranks
