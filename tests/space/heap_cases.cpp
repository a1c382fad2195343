// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// malloc and its family.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"

CASE(heap_is_where_it_should_be) {
  void* all[] = {std::malloc(10),
                 std::malloc(100000),
                 std::malloc(50 << 20),
                 std::calloc(3, 1000),
                 std::calloc(1, 20 << 20),
                 operator new(40),
                 aligned_alloc(64, 640),
                 memalign(4096, 100),
                 valloc(10),
                 pvalloc(10),
                 std::realloc(nullptr, 77)};
  for (void* one : all) CHECK(in_slot(one) == expect_shared());
  void* grown = std::realloc(all[0], 9 << 20);
  CHECK(in_slot(grown) == expect_shared());
  std::free(grown);
  for (void* one : all)
    if (one != all[0]) std::free(one);
}

// The touched part of a block of 64 MiB: in huge pages where EXPECT_HUGE says so, and little beside it.
CASE(large_blocks_are_touched_in_steps) {
  constexpr std::size_t page = 4096, bytes = 64 << 20;
  const char* expected = std::getenv("EXPECT_HUGE");
  auto* block = static_cast<unsigned char*>(std::malloc(bytes));
  CHECK(block != nullptr);
  unsigned char* middle = block + (bytes / 2 + page - 1) / page * page;
  std::vector<unsigned char> there(bytes / page);
  const auto resident = [&] {
    auto* first = reinterpret_cast<unsigned char*>(reinterpret_cast<std::uintptr_t>(block) & ~(page - 1));
    CHECK(mincore(first, bytes, there.data()) == 0);
    std::size_t count = 0;
    for (const unsigned char one : there) count += one & 1U;
    return count;
  };
  const std::size_t before = resident();
  for (std::size_t i = 0; i < 100 * page; i += page) middle[i] = 1;
  const std::size_t after = resident();
  CHECK(after >= 100 || expected == nullptr);  // the kernel may have put some away again
  if (expected != nullptr) {
    const bool huge = *expected == '1';
    CHECK(before == 0 && (huge ? after % 512 == 0 && after <= 1024 : after == 100));
  }
  std::free(block);
}

CASE(family_keeps_its_promises) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::size_t align = std::size_t{8} << random() % 16, bytes = random() % 100000;
    void* data = nullptr;
    CHECK(posix_memalign(&data, align, bytes) == 0 && reinterpret_cast<std::uintptr_t>(data) % align == 0);
    CHECK(malloc_usable_size(data) >= bytes);
    std::memset(data, 1, malloc_usable_size(data));
    std::free(data);
    data = memalign(align, bytes);
    CHECK(data != nullptr && reinterpret_cast<std::uintptr_t>(data) % align == 0);
    std::free(data);
    data = std::malloc(random() % 64);  // as libc's, which is aligned for all sizes
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
    data = std::realloc(data, random() % 64 + 1);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
    std::free(data);
    data = std::calloc(1, random() % 64);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
    std::free(data);
  }
  void* data = &data;
  CHECK(posix_memalign(&data, 24, 8) == EINVAL && data == &data);
  CHECK(posix_memalign(&data, 4, 8) == EINVAL);
  volatile std::size_t half = SIZE_MAX / 2, two = 3, whole = SIZE_MAX;
  errno = 0;
  CHECK(std::malloc(whole - 5) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(std::calloc(half, two) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(nullptr, half, two) == nullptr && errno == ENOMEM);
  CHECK(aligned_alloc(64, half) == nullptr);
  void* zero = std::malloc(0);
  CHECK(zero != nullptr && std::realloc(zero, 0) == nullptr);
  std::free(nullptr);
  CHECK(malloc_usable_size(nullptr) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(pvalloc(1)) % 4096 == 0 && malloc_usable_size(pvalloc(1)) >= 4096);
  errno = 5;
  std::free(std::malloc(40 << 20));
  CHECK(errno == 5);
}

CASE(realloc_keeps_the_bytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::size_t bytes = 1 + random() % 5000;
    auto* data = static_cast<unsigned char*>(std::malloc(bytes));
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 7);
    for (int step = 0; step < 12; ++step) {
      std::size_t next = 1 + random() % (step % 4 == 0 ? 6000000 : 20000), kept = std::min(bytes, next);
      data = static_cast<unsigned char*>(std::realloc(data, next));
      for (std::size_t i = 0; i < kept; ++i) CHECK(data[i] == static_cast<unsigned char>(i * 7));
      for (std::size_t i = kept; i < next; ++i) data[i] = static_cast<unsigned char>(i * 7);
      bytes = next;
    }
    std::free(data);
  }
}

CASE(calloc_is_zero_when_reused) {
  std::mt19937 random(5);
  for (int round = 0; round < 250; ++round) {
    std::size_t bytes = std::size_t{1} << (4 + random() % 20);
    bytes += random() % bytes;
    auto* dirty = static_cast<unsigned char*>(std::malloc(bytes));
    std::memset(dirty, 0xff, bytes);
    std::free(dirty);
    auto* clean = static_cast<unsigned char*>(std::calloc(1, bytes));
    for (std::size_t i = 0; i < bytes; ++i) CHECK(clean[i] == 0);
    std::memset(clean, 0xee, bytes);
    std::free(clean);
  }
  constexpr std::size_t sparse = std::size_t{3} << 30;  // may not be populated
  auto* large = static_cast<char*>(std::calloc(1, sparse));
  CHECK(large != nullptr && large[0] == 0 && large[sparse - 1] == 0 && large[sparse / 2] == 0);
  std::free(large);
}

CASE(blocks_of_libc_are_freed_by_us) {
  for (int i = 0; i < 200; ++i) {
    char* copy = strdup("some words");
    copy = static_cast<char*>(std::realloc(copy, 200000));
    CHECK(std::strcmp(copy, "some words") == 0 && malloc_usable_size(copy) >= 200000);
    std::free(copy);
    char* text = nullptr;
    CHECK(asprintf(&text, "%d", i) > 0);
    std::free(text);
    CHECK((text = realpath("/", nullptr)) != nullptr && std::strcmp(text, "/") == 0);
    std::free(text);
    std::size_t bytes = 2;
    char* line = static_cast<char*>(std::malloc(bytes));  // ours, which libc makes larger
    FILE* file = std::fopen("/proc/self/status", "r");
    CHECK(file != nullptr && getline(&line, &bytes, file) > 2);
    std::fclose(file);
    std::free(line);
    FILE* memory = open_memstream(&text, &bytes);
    for (int k = 0; k < 1000; ++k) std::fprintf(memory, "%d ", k);
    std::fclose(memory);
    CHECK(bytes == 3890);
    std::free(text);
  }
}

namespace {
struct Block {
  unsigned char* data = nullptr;
  std::size_t bytes = 0;
  unsigned char mark = 0;
};
void fill(Block& block) {
  for (std::size_t i = 0; i < block.bytes; i += block.bytes > 5000 ? 509 : 1) block.data[i] = block.mark;
  block.data[block.bytes - 1] = block.mark;
}
bool intact(const Block& block) {
  for (std::size_t i = 0; i < block.bytes; i += block.bytes > 5000 ? 509 : 1)
    if (block.data[i] != block.mark) return false;
  return block.data[block.bytes - 1] == block.mark;
}
}  // namespace

// Blocks made by one thread and freed by another, patterns checked before each free.
CASE(churn_of_many_threads) {
  constexpr int threads = 6, steps = 20000, slots = 400;
  static Block shared[slots];
  static std::mutex locks[slots];
  std::atomic<bool> good = true;
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int step = 0; step < steps; ++step) {
        unsigned slot = random() % slots;
        Block fresh;
        fresh.bytes = 1 + random() % (step % 200 == 0 ? 4000000 : step % 10 == 0 ? 60000 : 600);
        fresh.mark = static_cast<unsigned char>(random());
        switch (random() % 3) {
          case 0: fresh.data = static_cast<unsigned char*>(std::malloc(fresh.bytes)); break;
          case 1: fresh.data = static_cast<unsigned char*>(std::calloc(1, fresh.bytes)); break;
          default: fresh.data = static_cast<unsigned char*>(memalign(64, fresh.bytes));
        }
        if (fresh.data == nullptr) good = false;
        fill(fresh);
        std::unique_lock lock(locks[slot]);
        std::swap(fresh, shared[slot]);
        lock.unlock();
        if (fresh.data != nullptr && !intact(fresh)) good = false;
        std::free(fresh.data);
      }
    });
  for (auto& thread : all) thread.join();
  CHECK(good);
}

static void* mapped_elsewhere(void* hint, std::size_t bytes, int prot, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, hint, bytes, prot, flags, fd, offset));
}

// UCX's way: every caller of libc's mmap, libc too, comes to mapped_elsewhere.
static void jump_over_libcs_mmap() {
  auto* code = static_cast<unsigned char*>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "mmap"));
  const auto page = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{4095};
  CHECK(mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  auto* to = &mapped_elsewhere;
#if defined(__x86_64__)
  unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov $to, %rax; jmp *%rax
  std::memcpy(jump + 2, &to, sizeof to);
#else
  unsigned char jump[16] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6};  // ldr x16, .+8; br x16
  std::memcpy(jump + 8, &to, sizeof to);
#endif
  std::memcpy(code, jump, sizeof jump);
  __builtin___clear_cache(reinterpret_cast<char*>(code), reinterpret_cast<char*>(code + sizeof jump));
}

// A block that libc's getline makes.
static char* line_of(std::size_t bytes) {
  std::FILE* file = std::tmpfile();
  const std::string text(bytes, 'x');
  CHECK(std::fputs(text.c_str(), file) >= 0);
  std::rewind(file);
  char* line = nullptr;
  std::size_t room = 0;
  CHECK(getline(&line, &room, file) == static_cast<ssize_t>(bytes));
  std::fclose(file);
  return line;
}

// Blocks of libc's own, which it maps for itself: lines that getline reads, and, where only what is sent is
// shared, the program's. Threads have stacks that it maps, and heaps.
CASE(libcs_heap_outlives_a_jump_over_mmap) {
  jump_over_libcs_mmap();
  for (int round = 0; round < 3; ++round) {
    void* block = std::malloc(300'000);
    std::memset(block, 1, 300'000);
    block = std::realloc(block, 3'000'000);
    void* zeros = std::calloc(3, 200'000);
    CHECK(block != nullptr && zeros != nullptr && static_cast<char*>(zeros)[599'999] == 0);
    std::free(block);
    std::free(zeros);
    char* line = line_of(1 << 20);
    CHECK(!in_slot(line));
    std::free(line);
    // A thread that frees before it allocates: its heap is made then.
    char* other = line_of(1000);
    std::thread([other] {
      std::free(other);
      char* own = strdup("x");
      CHECK(!in_slot(own));
      std::free(own);
    }).join();
    std::thread([] {
      void* small = std::malloc(100);
      void* large = std::malloc(400'000);
      const int on_stack = 0;
      CHECK(!in_slot(&on_stack));
      std::memset(large, 2, 400'000);
      std::free(small);
      std::free(large);
    }).join();
  }
  auto* own =
      static_cast<char*>(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(own != MAP_FAILED && own[4096] == 0);
  const char* share = std::getenv("NIGH_SPACE_SHARE");
  CHECK(in_slot(own) == (expect_shared() && (share == nullptr || std::strcmp(share, "all") == 0)));
}
