// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/raw_tmpfs.hpp"

#include <linux/sched.h>
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

// In the child, whose descriptors are the parent's, too.
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

// The child's own word for it, or why there is none.
long open_by_child(volatile long* answer) {
  const long user = nigh_raw_syscall3(SYS_geteuid, 0, 0, 0), group = nigh_raw_syscall3(SYS_getegid, 0, 0, 0);
  constexpr long quiet = 0;  // its end sends no signal
  const long child =
      nigh_raw_syscall6(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_FILES | quiet, 0, 0, 0, 0, 0);
  if (child < 0) return child;
  if (child == 0) {
    *answer = open_in_namespace(static_cast<unsigned long>(user), static_cast<unsigned long>(group));
    for (;;) nigh_raw_syscall3(SYS_exit_group, 0, 0, 0);
  }
  while (nigh_raw_syscall6(SYS_wait4, child, 0, __WALL, 0, 0, 0) == -EINTR) continue;
  return *answer;
}

}  // namespace

long raw_huge_memory_file(std::uint64_t bytes) {
  const long page = raw_map(0, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (is_error(page)) return page;
  auto* answer = reinterpret_cast<volatile long*>(page);
  *answer = -EPERM;  // as of a child that was killed
  const long fd = open_by_child(answer);
  raw_unmap(static_cast<std::uintptr_t>(page), sizeof(long));
  return fd < 0 ? fd : raw_finish_memory_file(fd, bytes);
}

}  // namespace nigh::sys
