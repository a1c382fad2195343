/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The marks by which a program in a guest tells access_count to begin and to end: a long nop with a number
 * that no compiler writes. Without the plugin it does nothing.
 */
#ifndef NIGH_TESTS_VM_MARKER_H
#define NIGH_TESTS_VM_MARKER_H

#define MARKER_MAGIC 0x4e554d00u /* the last byte is the command */
#define MARKER_BEGIN 1u          /* all counts are 0, counting is on */
#define MARKER_END 2u            /* counting is off, the counts are written */

/* nopl imm32(%rax), always in its seven bytes: 0f 1f 80 imm32. */
#define MARKER(command) \
  __asm__ volatile(".byte 0x0f, 0x1f, 0x80; .long %c0" ::"i"(MARKER_MAGIC | (command)) : "memory")

/* The addresses that are counted: a program maps here what it wants counted (numavm/counting.py: START, END).
 * Its stack, its libraries and all other programs stay out. */
#define COUNTED_START 0x4e0000000000u
#define COUNTED_END 0x4e1000000000u

static inline void marker_begin(void) { MARKER(MARKER_BEGIN); }
static inline void marker_end(void) { MARKER(MARKER_END); }

#endif
