// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/raw_tmpfs.hpp"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "sys/loaded_file.hpp"

namespace nigh::sys {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{8} << 20;

bool is_refused(long fd) {
  return fd == -EPERM || fd == -ENOSPC || fd == -ENOSYS || fd == -EINVAL || fd == -EACCES;
}

#define FILE_OR_SKIP(fd)                                                 \
  const long fd = raw_huge_memory_file(kBytes);                          \
  if (is_refused(fd)) GTEST_SKIP() << strerror(static_cast<int>(-(fd))); \
  ASSERT_GE(fd, 0) << strerror(static_cast<int>(-(fd)))

TEST(RawTmpfs, GivesASparseFileThatTakesMemory) {
  FILE_OR_SKIP(fd);
  struct stat is = {};
  ASSERT_EQ(fstat(static_cast<int>(fd), &is), 0);
  EXPECT_EQ(is.st_size, static_cast<off_t>(kBytes));
  EXPECT_EQ(is.st_blocks, 0);
  EXPECT_EQ(is.st_uid, geteuid());
  auto* data =
      static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0));
  ASSERT_NE(data, MAP_FAILED);
  data[kBytes - 1] = 1;
  EXPECT_EQ(data[0], 0);
  munmap(data, kBytes);
  close(static_cast<int>(fd));
}

// The child has the caller's memory, and the caller goes on as before: its privileges over itself (ptrace,
// core files), its signals, its children.
TEST(RawTmpfs, LeavesTheCallerAsItWas) {
  sigset_t some, before, after;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &some, &before);
  const int dumpable = prctl(PR_GET_DUMPABLE);
  FILE_OR_SKIP(fd);
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), dumpable);
  pthread_sigmask(SIG_SETMASK, &before, &after);
  for (int signal = 1; signal < 32; ++signal)
    EXPECT_EQ(sigismember(&after, signal), signal == SIGUSR2 || sigismember(&before, signal)) << signal;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
  close(static_cast<int>(fd));
}

pid_t g_process = 0;
std::atomic<int> g_here = 0, g_elsewhere = 0;

void note_process(int /*signal*/) {
  const int saved = errno;
  ++(syscall(SYS_getpid) == g_process ? g_here : g_elsewhere);
  errno = saved;
}

// Signals that come meanwhile are the caller's, and other threads go on.
TEST(RawTmpfs, RunsNoHandlerInTheChild) {
  g_process = getpid();
  // The signals are for a group of this process and its child.
  ASSERT_EQ(getpgrp() == getpid() ? 0 : setpgid(0, 0), 0);
  struct sigaction act = {}, old = {};
  act.sa_handler = note_process;
  ASSERT_EQ(sigaction(SIGPROF, &act, &old), 0);
  std::atomic<bool> over = false;
  std::atomic<unsigned> turns = 0;
  std::thread other([&] {
    while (!over) {
      ++turns;
      kill(0, SIGPROF);
    }
  });
  long refused = 0;
  for (int i = 0; i < 100 && refused == 0; ++i) {
    const long fd = raw_huge_memory_file(kBytes);
    if (fd < 0) refused = fd;
    if (fd >= 0) close(static_cast<int>(fd));
  }
  over = true;
  other.join();
  sigaction(SIGPROF, &old, nullptr);
  if (is_refused(refused)) GTEST_SKIP() << strerror(static_cast<int>(-refused));
  EXPECT_EQ(refused, 0);
  EXPECT_GT(turns, 0u);
  EXPECT_GT(g_here, 0);
  EXPECT_EQ(g_elsewhere, 0);
}

// A copy of the caller's memory costs a fault for each of its pages when it is written again.
TEST(RawTmpfs, CopiesNoMemory) {
  if (prctl(PR_GET_SECCOMP) != 0) GTEST_SKIP() << "system calls are filtered here";
  constexpr std::size_t page = 4096, bytes = std::size_t{16} << 20;
  std::vector<char> data(bytes, 1);
  FILE_OR_SKIP(fd);
  rusage before = {}, after = {};
  getrusage(RUSAGE_THREAD, &before);
  for (std::size_t i = 0; i < bytes; i += page) data[i] = 2;
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, static_cast<long>(bytes / page / 8));
  close(static_cast<int>(fd));
}

// Then the child has a copy.
TEST(RawTmpfs, WorksWhereSystemCallsAreFiltered) {
  FILE_OR_SKIP(fd);
  close(static_cast<int>(fd));
  const pid_t child = fork();
  if (child == 0) {
    sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program = {1, all};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      _exit(77);
    _exit(raw_huge_memory_file(kBytes) >= 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no filter can be set here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LoadedFile, IsTheFileThatHoldsTheAddress) {
  EXPECT_NE(
      std::string(loaded_file(reinterpret_cast<const void*>(&gnu_get_libc_version)).path).find("libc.so"),
      std::string::npos);
  EXPECT_STREQ(loaded_file(reinterpret_cast<const void*>(&note_process)).path, "");
  int on_the_stack = 0;
  EXPECT_EQ(loaded_file(&on_the_stack).path, nullptr);
}

}  // namespace
}  // namespace nigh::sys
