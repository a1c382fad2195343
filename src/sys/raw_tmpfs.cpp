// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/raw_tmpfs.hpp"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "sys/raw_memory.hpp"

namespace nigh::sys {

namespace {

// Newer than some C libraries' headers; the numbers are the same on all machines.
constexpr long kFsOpen = 430, kFsConfig = 431, kFsMount = 432;
constexpr long kSetString = 1, kCreate = 6, kCloseOnExec = 1;

long of(const char* text) { return reinterpret_cast<long>(text); }

long put(const char* path, const char* text, std::size_t bytes) {
  const long fd = nigh_raw_syscall6(SYS_openat, AT_FDCWD, of(path), O_WRONLY | O_CLOEXEC, 0, 0, 0);
  if (fd < 0) return fd;
  const long written = nigh_raw_syscall3(SYS_write, fd, of(text), static_cast<long>(bytes));
  raw_close(static_cast<int>(fd));
  return written < 0 ? written : 0;
}

// "1000 1000 1": an identity stands for itself. Without one no file could be ours.
long put_identity(const char* path, unsigned long id) {
  char digits[24], text[64];
  std::size_t count = 0, length = 0;
  do digits[count++] = static_cast<char>('0' + id % 10);
  while ((id /= 10) != 0);
  for (int times = 0; times < 2; ++times) {
    for (std::size_t i = count; i > 0; --i) text[length++] = digits[i - 1];
    text[length++] = ' ';
  }
  text[length++] = '1';
  return put(path, text, length);
}

long set(long context, const char* name, const char* value) {
  return nigh_raw_syscall6(kFsConfig, context, kSetString, of(name), of(value), 0, 0);
}

// A tmpfs that is mounted nowhere: its root. A size of 0 is none: the file's is the limit.
long make_tmpfs() {
  const long context = nigh_raw_syscall3(kFsOpen, of("tmpfs"), kCloseOnExec, 0);
  if (context < 0) return context;
  long error = set(context, "source", "nigh");
  if (error == 0) error = set(context, "size", "0");
  if (error == 0) error = set(context, "huge", "advise");
  if (error == 0) error = nigh_raw_syscall6(kFsConfig, context, kCreate, 0, 0, 0, 0);
  const long root = error == 0 ? nigh_raw_syscall3(kFsMount, context, kCloseOnExec, 0) : error;
  raw_close(static_cast<int>(context));
  return root;
}

// In the child, whose descriptors are the parent's, too. Makes no call of libc: the thread's data are the
// parent's.
long open_in_namespace(unsigned long user, unsigned long group) {
  put("/proc/self/setgroups", "deny", 4);
  if (const long error = put_identity("/proc/self/uid_map", user); error < 0) return error;
  if (const long error = put_identity("/proc/self/gid_map", group); error < 0) return error;
  const long root = make_tmpfs();
  if (root < 0) return root;
  const long fd =
      nigh_raw_syscall6(SYS_openat, root, of("."), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR, 0, 0);
  raw_close(static_cast<int>(root));
  return fd;
}

struct Order {
  unsigned long user, group;
  long answer;  // a descriptor, or -errno
};

void obey(Order* order) { order->answer = open_in_namespace(order->user, order->group); }

// The child calls obey() on a stack of its own. With CLONE_VM and CLONE_VFORK among the flags it has the
// memory of the caller, which stands still until the child has ended, as with vfork(2); a copy of that memory
// costs the caller a fault for each of its pages.
long clone_and_obey(long flags, char* stack_end, Order* order) {
#if defined(__x86_64__)
  long child;
  asm volatile(
      "xor %%r10d, %%r10d\n\t"
      "xor %%r8d, %%r8d\n\t"
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov %[order], %%rdi\n\t"
      "call *%[obey]\n\t"
      "xor %%edi, %%edi\n\t"
      "mov %[exit], %%eax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "=a"(child)
      : "a"(static_cast<long>(SYS_clone)), "D"(flags), "S"(stack_end),
        "d"(0L), [order] "r"(order), [obey] "r"(&obey), [exit] "i"(SYS_exit)
      : "rcx", "r8", "r10", "r11", "memory", "cc");
  return child;
#else
  const long stack = of(stack_end);  // before: calls change registers
  register long x8 __asm__("x8") = SYS_clone;
  register long x0 __asm__("x0") = flags;
  register long x1 __asm__("x1") = stack;
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  asm volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x0, %[order]\n\t"
      "blr %[obey]\n\t"
      "mov x0, 0\n\t"
      "mov x8, %[exit]\n\t"
      "svc 0\n\t"
      "brk 0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3),
        "r"(x4), [order] "r"(order), [obey] "r"(&obey), [exit] "i"(SYS_exit)
      : "x30", "memory", "cc");
  return x0;
#endif
}

// A system call filter may end the child by a signal with a core dump, which before Linux 5.16 ends all that
// share its memory. (2: there is a filter; an error: prctl is filtered.)
bool may_be_filtered() { return nigh_raw_syscall3(SYS_prctl, PR_GET_SECCOMP, 0, 0) != 0; }

// The child's own word for it, or why there is none. Signals wait meanwhile: the child would run the
// program's handlers in the program's memory. `order`: in shared memory.
long open_by_child(Order* order) {
  constexpr long all_signals = -1;
  constexpr long quiet = 0;  // its end sends no signal
  alignas(16) char stack[16384];
  *order = {.user = static_cast<unsigned long>(nigh_raw_syscall3(SYS_geteuid, 0, 0, 0)),
            .group = static_cast<unsigned long>(nigh_raw_syscall3(SYS_getegid, 0, 0, 0)),
            .answer = -EPERM};  // as of a child that was killed
  long before = 0;
  nigh_raw_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&all_signals),
                    reinterpret_cast<long>(&before), sizeof before, 0, 0);
  const long with_us = may_be_filtered() ? 0 : CLONE_VM | CLONE_VFORK;
  const long child = clone_and_obey(with_us | CLONE_NEWUSER | CLONE_NEWNS | CLONE_FILES | quiet,
                                    stack + sizeof stack, order);
  if (child > 0)
    while (nigh_raw_syscall6(SYS_wait4, child, 0, __WALL, 0, 0, 0) == -EINTR) continue;
  nigh_raw_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before), 0, sizeof before, 0, 0);
  return child < 0 ? child : order->answer;
}

}  // namespace

long raw_huge_memory_file(std::uint64_t bytes) {
  const long page = raw_map(0, sizeof(Order), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (is_error(page)) return page;
  const long fd = open_by_child(reinterpret_cast<Order*>(page));
  raw_unmap(static_cast<std::uintptr_t>(page), sizeof(Order));
  return fd < 0 ? fd : raw_finish_memory_file(fd, bytes);
}

}  // namespace nigh::sys
