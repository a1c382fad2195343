// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The teams' sizes are those that were opened, not the spec's.
#include "openmp/capacity.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openmp/core.hpp"
#include "openmp/say.hpp"
#include "sys/launchers.hpp"

namespace nigh::preload {

static std::atomic<unsigned long> g_most;

unsigned long most_threads() { return g_most.load(std::memory_order_relaxed); }

// By the launcher's name in the list; "%lu" is the number of threads.
static const char* launcher_advice(const char* launcher) {
  static const char* const known[][2] = {{"Open MPI", "give mpirun --bind-to none, or --map-by slot:PE=%lu"},
                                         {"MPICH", "give mpiexec -bind-to none, or -bind-to core:%lu"},
                                         {"Slurm", "give srun --cpus-per-task=%lu"},
                                         {"PALS", "give mpiexec --depth=%lu --cpu-bind depth"}};
  for (const auto& one : known)
    if (!strcmp(one[0], launcher)) return one[1];
  return "start fewer ranks, or plan smaller teams";
}

void advice(unsigned long threads, char* text, size_t size) {
  const char* form = "start it with more PUs (taskset, numactl, the cpuset), or plan smaller teams";
  sys::LocalSeat seat;
  if (home().count() >= sysconf(_SC_NPROCESSORS_ONLN))
    form = "this machine has no more, so plan smaller teams";
  else if (sys::find_local_seat(sys::lookup_variable, nullptr, seat))
    form = launcher_advice(seat.launcher->name);
  const char* number = strstr(form, "%lu");
  if (number)
    snprintf(text, size, "%.*s%lu%s", static_cast<int>(number - form), form, threads, number + 3);
  else
    snprintf(text, size, "%s", form);
}

static void say_too_small(unsigned long threads) {
  static std::atomic<bool> said;
  const char* quiet = getenv("NIGH_QUIET");
  if ((quiet && *quiet) || !sys::speaks_for_node(sys::lookup_variable, nullptr) || said.exchange(true))
    return;
  char list[256], todo[160];
  const int pus = home().count();
  home().list(list, sizeof list);
  advice(threads, todo, sizeof todo);
  say("%lu threads of the plan share %d PU%s (%s): %s", threads, pus, pus == 1 ? "" : "s", list, todo);
}

void note_threads(unsigned long threads, unsigned long each) {
  unsigned long most = g_most.load(std::memory_order_relaxed);
  while (threads > most && !g_most.compare_exchange_weak(most, threads, std::memory_order_relaxed)) {}
  if (threads > static_cast<unsigned long>(home().count())) say_too_small(threads * each);
}

}  // namespace nigh::preload
