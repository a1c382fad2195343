// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Forks of all kinds, threads, exceptions, other programs.
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"

static int initialised = 41;
static int cleared[1000];

// In a child: everything is as in the parent, and none of it is the parent's.
static void spoil(char* heap, std::vector<int>& numbers, char* mapped, int own) {
  initialised = cleared[3] = own;
  std::strcpy(heap, "child");
  std::fill(numbers.begin(), numbers.end(), own);
  std::memset(mapped, own, 1 << 20);
  for (int i = 1; i < 2000; ++i) std::free(std::malloc(static_cast<std::size_t>(i) * 97));
  char* large = static_cast<char*>(std::calloc(1, 30 << 20));
  for (std::size_t i = 0; i < 30 << 20; i += 997) CHECK(large[i] == 0);
  std::memset(large, 1, 30 << 20);
  std::free(large);
  std::thread([] { std::free(std::malloc(100)); }).join();
}

static void check_fork(pid_t (*make)()) {
  char* heap = static_cast<char*>(std::malloc(100));
  std::strcpy(heap, "heap");
  std::vector<int> numbers(3000000, 5);
  auto* mapped =
      static_cast<char*>(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(mapped, 6, 1 << 20);
  auto* guard = static_cast<char*>(mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  int on_stack = 7;
  std::fflush(stdout);
  pid_t child = make();
  if (child == 0) {
    bool same = std::strcmp(heap, "heap") == 0 && numbers[2999999] == 5 && mapped[777] == 6 &&
                on_stack == 7 && initialised == 41 && cleared[3] == 0 && faults(read_byte, guard);
    if (!same) _exit(9);
    on_stack = 99;
    spoil(heap, numbers, mapped, 99);
    _exit(std::strcmp(heap, "child") == 0 && numbers[5] == 99 && initialised == 99 ? 3 : 8);
  }
  CHECK(child > 0 && status_of(child) == 3);
  CHECK(on_stack == 7 && initialised == 41 && cleared[3] == 0 && std::strcmp(heap, "heap") == 0);
  CHECK(numbers[0] == 5 && numbers[2999999] == 5 && mapped[0] == 6 && mapped[(1 << 20) - 1] == 6);
  std::free(heap);
  CHECK(munmap(mapped, 1 << 20) == 0);
}

CASE(fork_makes_a_copy) {
  for (int i = 0; i < 4; ++i) check_fork(fork);
}

CASE(fork_without_handlers) { check_fork(_Fork); }

CASE(fork_when_descriptors_are_gone) {
  closefrom(3);
  int reused = dup(1);  // may get the number that was the library's
  for (int fd = 3; fd < 900; ++fd) dup2(reused, fd);
  check_fork(fork);
  rlimit limit = {.rlim_cur = 900, .rlim_max = 900};
  setrlimit(RLIMIT_NOFILE, &limit);
  while (dup(1) >= 0) {}
  check_fork(fork);
}

CASE(fork_in_forks) {
  char* heap = static_cast<char*>(std::malloc(50));
  std::strcpy(heap, "one");
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    std::strcpy(heap, "two");
    pid_t grandchild = fork();
    if (grandchild == 0) {
      std::strcpy(heap, "three");
      std::free(std::malloc(5000000));
      _exit(5);
    }
    int status = status_of(grandchild);
    _exit(status == 5 && std::strcmp(heap, "two") == 0 ? 4 : 1);
  }
  CHECK(status_of(child) == 4 && std::strcmp(heap, "one") == 0);
}

CASE(fork_while_threads_allocate) {
  std::atomic<bool> stop = false, good = true;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      unsigned x = t + 1;
      while (!stop) {
        x = x * 1664525 + 1013904223;
        std::size_t bytes = 1 + x % 40000;
        auto* data = static_cast<unsigned char*>(std::malloc(bytes));
        std::memset(data, static_cast<int>(t), bytes);
        FILE* file = std::fopen("/dev/null", "w");
        std::fprintf(file, "%u", x);
        std::fclose(file);
        for (std::size_t i = 0; i < bytes; i += 61) good = good && data[i] == t;
        std::free(data);
      }
    });
  for (int i = 0; i < 30; ++i) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 500; ++k) std::free(std::malloc(static_cast<std::size_t>(k) * 31));
      _exit(6);
    }
    CHECK(status_of(child) == 6);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  CHECK(good);
}

// libc clears other threads' values in the child of a fork, and resets the locks of streams: not the
// parent's.
CASE(fork_leaves_other_threads_values) {
  static pthread_key_t keys[100];
  for (auto& key : keys) CHECK(pthread_key_create(&key, nullptr) == 0);
  static std::atomic<int> stage{0};
  static FILE* stream = std::fopen("/dev/null", "w");
  std::thread holder([] {
    for (long i = 0; i < 100; ++i) pthread_setspecific(keys[i], reinterpret_cast<void*>(i + 1));
    flockfile(stream);
    stage = 1;
    while (stage == 1) usleep(100);
    for (long i = 0; i < 100; ++i) CHECK(pthread_getspecific(keys[i]) == reinterpret_cast<void*>(i + 1));
    funlockfile(stream);
    stage = 3;
  });
  while (stage == 0) usleep(100);
  std::fflush(stdout);
  for (int i = 0; i < 10; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    CHECK(status_of(child) == 0);
  }
  CHECK(ftrylockfile(stream) != 0);  // still held
  stage = 2;
  holder.join();
  CHECK(ftrylockfile(stream) == 0);
}

static int handled = 0;
CASE(fork_runs_the_programs_handlers) {
  pthread_atfork(
      [] {
        std::free(std::malloc(1000));
        ++handled;
      },
      [] { std::free(std::malloc(2000)); },
      [] {
        std::free(std::malloc(3000));
        handled += 10;
      });
  check_fork(fork);
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(handled);
  CHECK(status_of(child) == 12 && handled == 2);
}

CASE(wiped_memory_is_wiped) {
  auto* data =
      static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(data, 4, 8192);
  CHECK(madvise(data, 4096, MADV_WIPEONFORK) == 0 && data[5] == 4);
  auto* gone =
      static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(madvise(gone, 4096, MADV_DONTFORK) == 0);
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(data[5] == 0 && data[4096] == 4 && faults(read_byte, gone) ? 2 : 1);
  CHECK(status_of(child) == 2 && data[5] == 4 && gone[0] == 0);
}

CASE(daemon_and_forkpty) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  char* heap = strdup("mine");
  char* block = static_cast<char*>(std::malloc(5000));
  std::strcpy(block, "parent");
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (daemon(1, 1) != 0) _exit(1);  // forks, and the parent of the two leaves
    std::strcpy(block, "daemon");
    std::string text = std::string(heap) + " " + block;
    _exit(write(ends[1], text.c_str(), text.size() + 1) > 0 ? 0 : 1);
  }
  close(ends[1]);
  CHECK(status_of(child) == 0);
  char got[100] = "";
  CHECK(read(ends[0], got, sizeof got) > 0 && std::strcmp(got, "mine daemon") == 0);
  CHECK(std::strcmp(block, "parent") == 0);
  int terminal = -1;
  child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    std::strcpy(block, "pty");
    _exit(write(1, "from the pty", 12) == 12 ? 7 : 1);
  }
  CHECK(child > 0 && read(terminal, got, 12) == 12 && std::memcmp(got, "from the pty", 12) == 0);
  CHECK(status_of(child) == 7 && std::strcmp(block, "parent") == 0);
}

CASE(other_programs_run) {
  for (int i = 0; i < 3; ++i) {
    CHECK(system("true") == 0 && system("exit 3") == 3 << 8);
    FILE* file = popen("echo hello; cat /dev/null", "r");
    char line[20] = "";
    CHECK(file != nullptr && std::fgets(line, sizeof line, file) != nullptr &&
          std::strcmp(line, "hello\n") == 0);
    CHECK(pclose(file) == 0);
    pid_t child = 0;
    char name[] = "/bin/true";
    char* words[] = {name, nullptr};
    CHECK(posix_spawn(&child, name, nullptr, nullptr, words, environ) == 0 && status_of(child) == 0);
    child = vfork();
    if (child == 0) {
      execv(name, words);
      _exit(9);
    }
    CHECK(status_of(child) == 0);
    std::fflush(stdout);
    child = fork();
    if (child == 0) {
      execv(name, words);
      _exit(9);
    }
    CHECK(status_of(child) == 0);
  }
}

__attribute__((noinline)) static long descend(long depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  frame[1023] = static_cast<char>(depth);
  return depth <= 0 ? 0 : descend(depth - 1) + frame[0] - frame[1023] + 1;
}
__attribute__((noinline)) static std::size_t throw_deep(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  std::string local(100, 'a');
  return throw_deep(depth - 1) + local.size();
}

CASE(stacks_and_exceptions) {
  CHECK(descend(6000) == 6000);
  for (int i = 0; i < 100; ++i) {
    bool caught = false;
    try {
      throw_deep(20);
    } catch (const std::exception& error) { caught = std::strcmp(error.what(), "deep") == 0; }
    CHECK(caught);
  }
  std::thread([] {
    try {
      throw_deep(5);
    } catch (...) {}
  }).join();
  pthread_attr_t attributes;
  void* stack = nullptr;
  std::size_t bytes = 0;
  CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0 &&
        pthread_attr_getstack(&attributes, &stack, &bytes) == 0);
  CHECK(reinterpret_cast<char*>(&bytes) >= stack &&
        reinterpret_cast<char*>(&bytes) < static_cast<char*>(stack) + bytes);
  CHECK(!in_slot(&bytes));
  void* frames[30];
  int found = backtrace(frames, 30);
  CHECK(found >= 3 && found < 30);
}

CASE(stack_overflow_is_a_signal_to_catch) {
  static char other[65536];
  stack_t stack = {.ss_sp = other, .ss_flags = 0, .ss_size = sizeof other};
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) { _exit(write(1, "overflow\n", 9) == 9 ? 0 : 1); };
  sigaction(SIGSEGV, &action, nullptr);
  descend(100000000);
  CHECK(false);
}

CASE(many_threads_come_and_go) {
  for (int round = 0; round < 60; ++round) {
    std::vector<std::thread> threads;
    std::atomic<int> sum = 0;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&sum, t] {
        volatile char large[256 * 1024];
        for (std::size_t i = 0; i < sizeof large; i += 4096) large[i] = 1;
        std::vector<int> numbers(static_cast<std::size_t>(t) * 1000 + 1, 1);
        sum += static_cast<int>(numbers.size());
      });
    for (auto& thread : threads) thread.join();
    CHECK(sum == 28008);
  }
}

CASE(libraries_are_loaded) {
  for (const char* name : {"libz.so.1", "libnuma.so.1", "libgomp.so.1", "libstdc++.so.6", "libhwloc.so.15"}) {
    void* library = dlopen(name, RTLD_NOW);
    if (library == nullptr) std::printf("no %s\n", name);
    if (library != nullptr) dlclose(library);
  }
  CHECK(dlopen("libthere-is-none.so", RTLD_NOW) == nullptr && dlerror() != nullptr);
}

CASE(a_limit_set_later_is_a_limit) {
  std::free(std::malloc(10));
  rlimit limit = {.rlim_cur = std::size_t{2} << 30, .rlim_max = RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  errno = 0;
  volatile std::size_t large = std::size_t{3} << 30;
  CHECK(std::malloc(large) == nullptr && errno == ENOMEM);
  void* small = std::malloc(100000);
  CHECK(small != nullptr);
  std::free(small);
  char name[] = "/bin/true";
  char* words[] = {name, nullptr};
  pid_t child = 0;
  CHECK(posix_spawn(&child, name, nullptr, nullptr, words, environ) == 0 && status_of(child) == 0);
}

CASE(more_than_the_machine_has_is_refused) {
  volatile std::size_t bytes = std::size_t{1} << 45;  // 32 TiB
  errno = 0;
  void* data = std::malloc(bytes);
  std::printf("%d %d\n", data == nullptr, data == nullptr ? errno : 0);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::printf("%d %d\n", mapped == MAP_FAILED, mapped == MAP_FAILED ? errno : 0);
}
