/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The few system calls that code inside a user's process makes, straight to the kernel: libc's wrappers of
 * the same name may be interposed (by us, by the user's tools), and these work before libc is initialised.
 * Each returns the kernel's value: >= 0, or -errno. Plain C, no state, safe in a constructor and after fork.
 */
#ifndef NIGH_SYS_RAW_H
#define NIGH_SYS_RAW_H

#include <stddef.h>
#include <sys/syscall.h>

static inline long nigh_raw_syscall3(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long ret;
  __asm__ volatile("syscall" : "=a"(ret) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return ret;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#else
#error "nigh knows the system call convention of x86-64 and aarch64; add yours here"
#endif
}

static inline long nigh_raw_syscall6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long ret;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(ret)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return ret;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#endif
}

/* The affinity mask of thread tid (0: the caller); returns the number of bytes the kernel wrote. */
static inline long nigh_raw_getaffinity(int tid, unsigned long* words, size_t bytes) {
  return nigh_raw_syscall3(SYS_sched_getaffinity, tid, (long)bytes, (long)words);
}

static inline long nigh_raw_setaffinity(int tid, const unsigned long* words, size_t bytes) {
  return nigh_raw_syscall3(SYS_sched_setaffinity, tid, (long)bytes, (long)words);
}

static inline long nigh_raw_gettid(void) { return nigh_raw_syscall3(SYS_gettid, 0, 0, 0); }

static inline long nigh_raw_write(int fd, const void* data, size_t bytes) {
  return nigh_raw_syscall3(SYS_write, fd, (long)data, (long)bytes);
}

/* Writes all that goes, to a file or a stream of the user's. A pipe whose reader has gone (program | head) or
 * a file at its limit (ulimit -f) costs the words and nothing else: SIGPIPE and SIGXFSZ would end the
 * program. */
static inline void nigh_raw_say(int fd, const void* data, size_t bytes) {
  enum { block = 0, set_mask = 2, sigpipe = 13, sigxfsz = 25, eintr = 4, epipe = 32, efbig = 27 };
  const unsigned long signals = 1UL << (sigpipe - 1) | 1UL << (sigxfsz - 1);
  const long no_time[2] = {0, 0};
  unsigned long before = 0, pending = 0;
  nigh_raw_syscall6(SYS_rt_sigprocmask, block, (long)&signals, (long)&before, sizeof before, 0, 0);
  nigh_raw_syscall3(SYS_rt_sigpending, (long)&pending, sizeof pending, 0);
  for (size_t done = 0; done < bytes;) {
    const long wrote = nigh_raw_write(fd, (const char*)data + done, bytes - done);
    if (wrote == -eintr) continue;
    if (wrote == -epipe || wrote == -efbig) {
      const unsigned long raised = 1UL << ((wrote == -epipe ? sigpipe : sigxfsz) - 1);
      if (!(pending & raised))
        nigh_raw_syscall6(SYS_rt_sigtimedwait, (long)&raised, 0, (long)no_time, sizeof raised, 0, 0);
    }
    if (wrote <= 0) break;
    done += (size_t)wrote;
  }
  nigh_raw_syscall6(SYS_rt_sigprocmask, set_mask, (long)&before, 0, sizeof before, 0, 0);
}

#endif
