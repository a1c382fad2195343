/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * syscall(3), as libc has it, but for the calls that change memory: these are answered as the functions of those
 * names are (mmap.cpp). Whoever stands in for mmap, munmap, mremap and madvise himself (UCX, Open MPI and libfabric
 * write jumps over them, or over ours) ends in syscall(); so what the slot needs happens whoever came last. Written
 * by hand, because a child may return from it on another stack, or on its parent's (clone, vfork).
 */
#if defined(__x86_64__)
  .text
  .p2align 4
  .globl syscall
  .type syscall, @function
syscall:
  .cfi_startproc
  endbr64
  cmp $9, %rdi /* mmap */
  je .Lours
  cmp $11, %rdi /* munmap */
  je .Lours
  cmp $25, %rdi /* mremap */
  je .Lours
  cmp $28, %rdi /* madvise */
  je .Lours
  cmp $151, %rdi /* mlockall */
  je .Lours
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  cmp $-4095, %rax
  jae .Lfailed
  ret
.Lfailed:
  neg %eax
  push %rax
  .cfi_adjust_cfa_offset 8
  call __errno_location@PLT
  pop %rcx
  .cfi_adjust_cfa_offset -8
  mov %ecx, (%rax)
  mov $-1, %rax
  ret
.Lours: /* the same arguments */
  jmp nigh_space_syscall
  .cfi_endproc
  .size syscall, . - syscall

#elif defined(__aarch64__)
  .text
  .p2align 4
  .globl syscall
  .type syscall, %function
syscall:
  .cfi_startproc
  cmp x0, #222 /* mmap */
  b.eq .Lours
  cmp x0, #215 /* munmap */
  b.eq .Lours
  cmp x0, #216 /* mremap */
  b.eq .Lours
  cmp x0, #233 /* madvise */
  b.eq .Lours
  cmp x0, #230 /* mlockall */
  b.eq .Lours
  mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  mov x5, x6
  svc #0
  cmn x0, #4095
  b.cs .Lfailed
  ret
.Lfailed:
  stp x29, x30, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  neg w0, w0
  str x0, [sp, #16]
  bl __errno_location
  ldr x1, [sp, #16]
  str w1, [x0]
  mov x0, #-1
  ldp x29, x30, [sp], #32
  .cfi_adjust_cfa_offset -32
  .cfi_restore x29
  .cfi_restore x30
  ret
.Lours:
  b nigh_space_syscall
  .cfi_endproc
  .size syscall, . - syscall
#endif
  .section .note.GNU-stack, "", %progbits
