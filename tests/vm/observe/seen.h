// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What every observer shares: a thread says "I am path 2.3" and its affinity mask, CPU and thread id are
// noted down; at the end one line a path is printed, with all that was seen there.
//
//     path 2.3 mask 11 times 100 cpus 11 threads 3
//     path 2.3 mask 0-15 times 7 ...              (a second line: the mask was not always the same)
#pragma once

// Taking turns, so that a pool's threads are handed out in an order that the program chose and no race can
// undo: the n threads of a team each wait for their turn, and the thread whose turn it is calls seen_next
// once it has got what it came for. seen_turns says who comes first; -1, or without OBSERVER_TURNS in the
// environment: nobody waits.
void seen_turns(int first);
void seen_await(int thread, int n);
void seen_next(void);

// path: the thread's number at each level, outermost first.
void seen_note(const int* path, int levels);
void seen_print(void);
// "4,2,2" to sizes; the number of levels, 0 if it is no such list.
int seen_sizes(const char* text, int* sizes, int most);
