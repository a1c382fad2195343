/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_X and PMPI_X for every intercepted X: one indirect jump through a slot. A call that is not ours costs this
 * jump and nothing else. Every slot first leads to nigh_mpi_resolve (front.cpp), with the arguments kept; two slots
 * a function, because a tool that the program was linked with may own MPI_X and will call PMPI_X.
 *
 *     nigh_mpi_slots: | MPI_Init | PMPI_Init | MPI_Init_thread | PMPI_Init_thread | ...   in the order of functions.inc
 */
#if defined(__x86_64__)

.macro nigh_stub name
  .text
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  jmp *.Lslot_\name(%rip)
.Lresolve_\name:
  lea .Lslot_\name(%rip), %r11
  jmp .Lresolve
  .cfi_endproc
  .size \name, . - \name
  .data
.Lslot_\name:
  .quad .Lresolve_\name
.endm

  .text
  .type .Lresolve, @function
.Lresolve:
  .cfi_startproc
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  push %rdx
  .cfi_adjust_cfa_offset 8
  push %rcx
  .cfi_adjust_cfa_offset 8
  push %r8
  .cfi_adjust_cfa_offset 8
  push %r9
  .cfi_adjust_cfa_offset 8
  push %rax
  .cfi_adjust_cfa_offset 8
  mov %r11, %rdi
  call nigh_mpi_resolve
  mov %rax, %r11
  pop %rax
  .cfi_adjust_cfa_offset -8
  pop %r9
  .cfi_adjust_cfa_offset -8
  pop %r8
  .cfi_adjust_cfa_offset -8
  pop %rcx
  .cfi_adjust_cfa_offset -8
  pop %rdx
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%r11
  .cfi_endproc
  .size .Lresolve, . - .Lresolve

#elif defined(__aarch64__)

.macro nigh_stub name
  .text
  .p2align 4
  .globl \name
  .type \name, %function
\name:
  .cfi_startproc
  adrp x16, .Lslot_\name
  ldr x16, [x16, :lo12:.Lslot_\name]
  br x16
.Lresolve_\name:
  adrp x17, .Lslot_\name
  add x17, x17, :lo12:.Lslot_\name
  b .Lresolve
  .cfi_endproc
  .size \name, . - \name
  .data
.Lslot_\name:
  .quad .Lresolve_\name
.endm

  .text
  .type .Lresolve, %function
.Lresolve:
  .cfi_startproc
  stp x29, x30, [sp, #-96]!
  .cfi_def_cfa_offset 96
  .cfi_offset x29, -96
  .cfi_offset x30, -88
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  mov x0, x17
  bl nigh_mpi_resolve
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp x29, x30, [sp], #96
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
  .size .Lresolve, . - .Lresolve

#else
#error "nigh's MPI stubs are written for x86-64 and aarch64; add yours here"
#endif

  .data
  .p2align 6
  .globl nigh_mpi_slots
  .hidden nigh_mpi_slots
nigh_mpi_slots:

#define NIGH_MPI(part, name, ...) nigh_stub MPI_##name ; nigh_stub PMPI_##name ;
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"

  .section .note.GNU-stack, "", %progbits
