/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens plugins RTLD_LOCAL, so that their libgomp is in nobody's scope but their own, and runs each twice. */
#include <dlfcn.h>

#include "trap.h"

int main(int argc, char** argv) {
  for (int round = 0; round < 2; round++)
    for (int i = 1; i < argc; i++) {
      void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        puts(dlerror());
        return 2;
      }
      int (*plug)(void) = (int (*)(void))dlsym(library, "plug");
      expect(argv[i], plug(), 3);
    }
  return verdict();
}
