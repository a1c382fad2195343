/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An OMPT tool with the two callbacks that nigh has and nothing in them: libomp itself takes another 350
 * instructions for a region of one thread under any tool. Types and numbers: OpenMP 5.0, 4.2.3 and 4.4. */
#include <stdint.h>

/* With EMPTY_TOOL set, libomp gets a tool with the two callbacks that nigh has and nothing in them: libomp
 * itself takes another 350 instructions for a region of one thread under any tool. Types and numbers:
 * OpenMP 5.0, 4.2.3 and 4.4. */
static void no_begin(void* task, const void* frame, void* region, unsigned size, int flags,
                     const void* code) {
  (void)task, (void)frame, (void)region, (void)size, (void)flags, (void)code;
}
static void no_task(int endpoint, void* region, void* task, unsigned size, unsigned index, int flags) {
  (void)endpoint, (void)region, (void)task, (void)size, (void)index, (void)flags;
}
static int start_tool(void (*(*lookup)(const char*))(void), int device, void* data) {
  (void)device, (void)data;
  int (*set)(int, void (*)(void)) = (int (*)(int, void (*)(void)))lookup("ompt_set_callback");
  set(3, (void (*)(void))no_begin);
  set(7, (void (*)(void))no_task);
  return 1;
}
static void end_tool(void* data) { (void)data; }
void* ompt_start_tool(unsigned version, const char* runtime) {
  static struct {
    int (*start)(void (*(*)(const char*))(void), int, void*);
    void (*end)(void*);
    uint64_t data;
  } tool = {start_tool, end_tool, 0};
  (void)version, (void)runtime;
  return &tool;
}
