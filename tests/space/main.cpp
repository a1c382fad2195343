// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See cases.hpp. "cases --list" names them, "cases NAME" runs one.
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "cases.hpp"
#include "space/layout.hpp"

static Case* first_case = nullptr;
Case::Case(const char* name, void (*run)()) : name(name), run(run), next(first_case) { first_case = this; }

bool expect_shared() {
  const char* text = std::getenv("EXPECT_SHARED");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

bool in_slot(const void* data) {
  const char* rank = std::getenv("NIGH_RANK");
  const char* size = std::getenv("NIGH_SIZE");
  if (rank == nullptr || size == nullptr) return false;
  int shift = nigh::space::slot_shift(std::atoi(size));
  auto start = nigh::space::slot_start(std::atoi(rank), shift);
  return reinterpret_cast<std::uintptr_t>(data) - start < std::uintptr_t{1} << shift;
}

static sigjmp_buf after_fault;
static void on_fault(int) { siglongjmp(after_fault, 1); }

bool faults(void (*access)(volatile char*), void* data) {
  struct sigaction action{}, old_segv{}, old_bus{};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &old_segv);
  sigaction(SIGBUS, &action, &old_bus);
  bool faulted = true;
  if (sigsetjmp(after_fault, 1) == 0) {
    access(static_cast<volatile char*>(data));
    faulted = false;
  }
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  return faulted;
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main(int count, char** words) {
  if (count != 2) return 2;
  bool list = std::strcmp(words[1], "--list") == 0;
  for (Case* one = first_case; one != nullptr; one = one->next) {
    if (list) std::puts(one->name);
    if (std::strcmp(words[1], one->name) != 0) continue;
    one->run();
    std::puts("ok");
    return 0;
  }
  return list ? 0 : 2;
}
