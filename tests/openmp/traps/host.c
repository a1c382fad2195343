/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens plugins RTLD_LOCAL, so that their libgomp is in nobody's scope but their own, and runs each twice.
 * Arguments with a "=" are variables that the program itself sets before, as Python does in front of an
 * import; "thread": the plugins are opened and run by another thread than the first. */
#include <dlfcn.h>
#include <pthread.h>

#include "trap.h"

static int count;
static char** words;

static void* run(void* unused) {
  (void)unused;
  for (int round = 0; round < 2; round++)
    for (int i = 1; i < count; i++) {
      if (strchr(words[i], '=') || !strcmp(words[i], "thread")) continue;
      void* library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        puts(dlerror());
        exit(2);
      }
      int (*plug)(void) = (int (*)(void))dlsym(library, "plug");
      expect(words[i], plug(), 3);
    }
  return NULL;
}

int main(int argc, char** argv) {
  int other = 0;
  const int whole = mask_size();
  count = argc;
  words = argv;
  for (int i = 1; i < argc; i++) {
    if (strchr(argv[i], '=')) putenv(argv[i]);
    other |= !strcmp(argv[i], "thread");
  }
  if (!other) {
    run(NULL);
  } else {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    expect("the mask of the first thread, which opened no region", mask_size(), whole);
  }
  return verdict();
}
