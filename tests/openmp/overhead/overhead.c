/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of a parallel region: ns per region, the smallest of many samples, because everything that
 * disturbs a sample makes it longer. Arguments: threads, regions per sample, samples. Prints one number.
 *
 * The program brings its own malloc. libgomp allocates a team for each region of one thread, and glibc's time
 * for that depends on the holes in the heap: loading any library changes it (callgrind: 1097 to 1667
 * instructions per region for two builds of one library, 1241 without). Free lists by size cost the same
 * whatever was allocated before. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { header = 16, classes = 40, smallest = 5 };
static char memory[(size_t)1 << 28]; /* zero pages until touched */
static size_t used;
static struct block {
  struct block* next;
}* spare[classes];
static volatile int lock;

/* A block of a power of two, its class in the word before it. */
static void* take(size_t size, size_t align) {
  int class = smallest;
  const size_t need = size + header + (align > header ? align : 0);
  while (((size_t)1 << class) < need) class ++;
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {}
  char* block = (char*)spare[class];
  if (block != NULL) {
    spare[class] = spare[class]->next;
  } else if (((size_t)1 << class) <= sizeof memory - used) {
    block = memory + used;
    used += (size_t)1 << class;
  }
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  if (block == NULL) return NULL;
  char* data = block + header;
  if (align > header) data = (char*)(((uintptr_t)data + align - 1) & ~(uintptr_t)(align - 1));
  ((uint64_t*)(void*)data)[-1] = (uint64_t)class << 56 | (uint64_t)(data - block);
  return data;
}

void* malloc(size_t size) { return take(size, header); }
void* aligned_alloc(size_t align, size_t size) { return take(size, align); }
void* memalign(size_t align, size_t size) { return take(size, align); }
int posix_memalign(void** out, size_t align, size_t size) {
  return (*out = take(size, align)) == NULL ? ENOMEM : 0;
}

void free(void* data) {
  if (data == NULL) return;
  const uint64_t word = ((uint64_t*)data)[-1];
  struct block* block = (struct block*)(void*)((char*)data - (word & 0xffffffffffffff));
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {}
  block->next = spare[word >> 56];
  spare[word >> 56] = block;
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void* calloc(size_t n, size_t size) {
  void* data = take(n * size, header);
  return data == NULL ? NULL : memset(data, 0, n * size);
}

void* realloc(void* data, size_t size) {
  void* moved = take(size, header);
  if (data == NULL || moved == NULL) return moved;
  const uint64_t word = ((uint64_t*)data)[-1];
  const size_t room = ((size_t)1 << (word >> 56)) - (word & 0xffffffffffffff);
  memcpy(moved, data, room < size ? room : size);
  free(data);
  return moved;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void sample(int threads, int regions) {
  for (int i = 0; i < regions; i++) {
#pragma omp parallel num_threads(threads)
    __asm__ volatile("" ::: "memory");
  }
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  const int regions = argc > 2 ? atoi(argv[2]) : 200;
  const int samples = argc > 3 ? atoi(argv[3]) : 1000;
  double best = 1e18;
  sample(2, 10); /* a team of two loads the planner, also where one thread is measured */
  for (int i = 0; i < samples; i++) {
    const double start = now();
    sample(threads, regions);
    const double each = (now() - start) / regions;
    if (each < best) best = each;
  }
  printf("%.1f\n", best);
  return 0;
}
