// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Is there room for the teams? A mask smaller than they are is seldom meant: launchers of ranks bind as if
// each had one thread, and a `taskset` may have been forgotten.
#pragma once

#include <stddef.h>

namespace nigh::preload {

// So many threads were planned at once, and the spec has so many for each of them in deeper levels: says
// once, where the former are more than there are PUs, what to do about all of them. One rank of a node says
// it for all.
void note_threads(unsigned long threads, unsigned long each);
// The most so far.
unsigned long most_threads();
// Advice for too few PUs for that many threads, by the launcher that is there.
void advice(unsigned long threads, char* text, size_t size);

}  // namespace nigh::preload
