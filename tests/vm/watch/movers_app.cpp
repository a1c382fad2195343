// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "movers_app.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "sys/memory.hpp"
#include "sys/os.hpp"
#include "sys/pages.hpp"
#include "sys/threads.hpp"
#include "watch/move_threads.hpp"

namespace movers {

namespace {
int failed = 0;

void one_pass(std::uint64_t* words, std::size_t count, int thread, std::uint64_t pass) {
  std::uint64_t key = pass * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(thread);
  for (std::size_t i = 0; i < count; ++i) words[i] = words[i] * 6364136223846793005U + (key ^ i);
}

std::uint64_t sum_of(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum = sum * 31 + words[i];
  return sum;
}

// Holds a reference to pages, as direct I/O does: vmsplice into pipes that nobody reads.
int pin_pages(std::byte* data, std::size_t bytes, int every) {
  int held = 0, ends[2] = {-1, -1};
  std::size_t page = nigh::sys::page_bytes();
  for (std::size_t at = 0; at < bytes; at += page * static_cast<std::size_t>(every)) {
    if (held % 16 == 0 && ::pipe(ends) != 0) return held;
    iovec piece = {.iov_base = data + at, .iov_len = page};
    if (::vmsplice(ends[1], &piece, 1, 0) != static_cast<ssize_t>(page)) return held;
    ++held;
  }
  return held;
}
}  // namespace

double now() { return nigh::sys::now_seconds(); }
void nap(double seconds) { ::usleep(static_cast<useconds_t>(seconds * 1e6)); }

bool check(bool good, const char* format, ...) {
  if (good) return true;
  std::printf("FAIL ");
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
  ++failed;
  return false;
}
int failures() { return failed; }

std::uint64_t expected_sum(std::size_t words, int thread, std::uint64_t passes) {
  std::vector<std::uint64_t> own(words, 0);
  for (std::uint64_t pass = 0; pass < passes; ++pass) one_pass(own.data(), words, thread, pass);
  return sum_of(own.data(), words);
}

App::App(const AppOptions& options) : options_(options) {
  void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  shared_ = new (at) Shared;
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) run();
  for (double since = now(); shared_->ready == 0 && now() - since < 20;) nap(0.002);
  if (shared_->ready == 0) std::printf("FAIL the application did not start\n"), ++failed;
}

void App::run() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  nigh::CpuSet all = nigh::sys::affinity().value_or(nigh::CpuSet{});
  (void)nigh::sys::set_affinity(nigh::watch::pus_of_node(nigh::sys::Os(), options_.node));
  auto buffer = nigh::sys::Buffer::map(options_.bytes);
  if (!buffer) ::_exit(3);
  nigh::sys::want_huge_pages(buffer->data(), options_.bytes, options_.huge);
  if (options_.bind && !buffer->bind(options_.node)) ::_exit(4);
  std::memset(buffer->data(), 0, options_.bytes);
  (void)nigh::sys::set_affinity(all);
  if (options_.pinned_every > 0)
    shared_->pinned = pin_pages(buffer->data(), options_.bytes, options_.pinned_every);
  shared_->address = reinterpret_cast<std::uint64_t>(buffer->data());
  auto* words = reinterpret_cast<std::uint64_t*>(buffer->data());
  std::size_t each = options_.bytes / sizeof(std::uint64_t) / static_cast<std::size_t>(options_.threads);
  std::vector<std::thread> team;
  for (int t = 0; t < options_.threads; ++t)
    team.emplace_back([=, this] {
      std::uint64_t* mine = words + each * static_cast<std::size_t>(t);
      while (shared_->release == 0) {
        if (options_.private_passes) one_pass(mine, each, t, shared_->passes[t]);
        if (!options_.private_passes) nap(0.05);
        ++shared_->passes[t];
      }
      if (options_.private_passes) shared_->sums[t] = sum_of(mine, each);
    });
  shared_->ready = 1;
  for (std::thread& one : team) one.join();
  shared_->ended = 1;
  ::_exit(0);
}

App::~App() {
  kill_now();
  ::waitpid(pid_, nullptr, 0);
  ::munmap(shared_, sizeof(Shared));
}

void App::kill_now() const { ::kill(pid_, SIGKILL); }

nigh::sys::ProcessId App::id() const {
  return nigh::sys::process_id(nigh::sys::Os(), pid_).value_or(nigh::sys::ProcessId{});
}

std::uint64_t App::total_passes() const {
  std::uint64_t sum = 0;
  for (int t = 0; t < options_.threads; ++t) sum += shared_->passes[t];
  return sum;
}

bool App::goes_on(double seconds) const {
  std::uint64_t before = total_passes();
  for (double since = now(); now() - since < seconds; nap(0.005))
    if (total_passes() > before) return true;
  return false;
}

std::map<int, std::size_t> App::pages_by_node() const {
  std::vector<std::uint64_t> pages;
  for (std::uint64_t at = 0; at < options_.bytes; at += nigh::sys::page_bytes())
    pages.push_back(shared_->address + at);
  std::vector<int> status(pages.size());
  std::map<int, std::size_t> out;
  if (!nigh::sys::query_pages(pid_, pages, status)) return out;
  for (int one : status) ++out[one];
  return out;
}

bool App::ends_right() {
  shared_->release = 1;
  for (double since = now(); shared_->ended == 0 && now() - since < 30;) nap(0.005);
  if (!check(shared_->ended == 1, "the application did not end")) return false;
  bool right = true;
  std::size_t each = options_.bytes / sizeof(std::uint64_t) / static_cast<std::size_t>(options_.threads);
  for (int t = 0; t < options_.threads && options_.private_passes; ++t)
    right = check(shared_->sums[t] == expected_sum(each, t, shared_->passes[t]),
                  "thread %d: wrong check sum after %lu passes", t,
                  static_cast<unsigned long>(shared_->passes[t])) &&
            right;
  return right;
}

}  // namespace movers
