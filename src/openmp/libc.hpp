// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// LD_PRELOAD is inherited, also by programs on another C library than glibc (musl). Their loader ends a
// program whose preloaded library needs a symbol that is nowhere. So what only glibc has is weak here, and
// never called where it is missing: there we say so once, and stand aside.
#pragma once

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <pthread.h>

extern "C" int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void*);
extern "C" long __isoc23_strtol(const char*, char**, int);  // strtol, by another name since glibc 2.38
extern "C" void* __dso_handle __attribute__((visibility("hidden")));

#pragma weak __register_atfork
#pragma weak dladdr1
#pragma weak gnu_get_libc_version
#pragma weak pthread_attr_getaffinity_np
#pragma weak pthread_attr_setaffinity_np
#pragma weak __isoc23_strtol

namespace nigh::preload {

inline bool is_glibc() { return gnu_get_libc_version != nullptr; }

}  // namespace nigh::preload
