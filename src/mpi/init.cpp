// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Start and end. We begin when the library's MPI_Init has returned, and end in the deletion of an attribute
// of MPI_COMM_SELF: the first thing that MPI_Finalize does is to delete these, the last one set first, so
// that ours, the first one set, goes when all callbacks of the program have run and MPI still works. Until
// then a message may come in our way, from then on none can.
#include <cstdlib>
#include <exception>

#include "mpi/comm.hpp"
#include "mpi/comm_members.hpp"
#include "mpi/half.hpp"
#include "mpi/nbc.hpp"
#include "mpi/ours.hpp"
#include "mpi/process.hpp"
#include "mpi/record.hpp"
#include "mpi/reserve.hpp"
#include "sys/process_here.hpp"

namespace nigh::mpi {
namespace {

int g_end_keyval = MPI_KEYVAL_INVALID;

void cover_parts() {
  for (const Part part : {Part::frame, Part::hook, Part::coll, Part::p2p}) cover(part, process().on(part));
  if (explains()) cover_waiting();  // else with the first call that it is for
}

void uncover_parts() {
  for (const Part part : {Part::away, Part::rma, Part::p2p, Part::coll, Part::hook, Part::frame})
    cover(part, false);
  cover(Function::Finalize);
}

void take_down() noexcept {
  if (!process().started) return;
  run_stop_hooks();
  uncover_parts();
  comms_stop();
  members_stop();
  reserve_stop();
  stop_process();
  close_account();
}

int on_end(MPI_Comm, int, void*, void*) {
  take_down();
  return MPI_SUCCESS;
}

// Not in a child of the rank, which ends by itself.
int g_pid = 0;
void tell_early(const char* how) {
  if (process().started && sys::own_pid() == g_pid) print_account_now(how);
}
void tell_at_exit() { tell_early("ended without MPI_Finalize"); }

bool set_up_all() {
  if (!start_process()) return false;
  real().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end, &g_end_keyval, nullptr);
  real().Comm_set_attr(MPI_COMM_SELF, g_end_keyval, nullptr);
  int ranks = 0;
  real().Comm_size(MPI_COMM_WORLD, &ranks);
  reserve_start((std::size_t{256} << 10) + (static_cast<std::size_t>(ranks) << 10));
  members_start();
  comms_start();
  run_start_hooks();
  const std::uint64_t job = job_hash();
  make_state(MPI_COMM_WORLD, mix(job, 1));
  make_state(MPI_COMM_SELF, mix(job, 2));
  cover_parts();
  g_pid = sys::own_pid();
  if (std::getenv("NIGH_EXPLAIN") != nullptr) std::atexit(tell_at_exit);
  return true;
}

void write_record_at_exit() {
  if (sys::own_pid() == g_pid) record_write();
}

void set_up() noexcept {
  if (record_start()) {
    cover_nothing();
    g_pid = sys::own_pid();
    std::atexit(write_record_at_exit);
  }
  try {
    set_up_all();
  } catch (const std::exception&) {
    say("there is no memory for nigh's part of MPI: it runs as without nigh");
    g_process.started = false;
    if (g_process.page) g_process.page->aside.store(1);
  }
  cover(Function::Finalize);
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Init(int* argc, char*** argv) {
  prepare_process();
  const int code = real().Init(argc, argv);
  if (code == MPI_SUCCESS) set_up();
  return code;
}

int nigh_mpi_Init_thread(int* argc, char*** argv, int wanted, int* given) {
  prepare_process();
  const int code = real().Init_thread(argc, argv, wanted, given);
  if (code == MPI_SUCCESS) set_up();
  return code;
}

int nigh_mpi_Abort(MPI_Comm comm, int code) {
  record_write();
  tell_early("called MPI_Abort");
  return real().Abort(comm, code);
}

int nigh_mpi_Finalize() {
  record_write();
  const int code = real().Finalize();
  take_down();  // where the library deletes no attributes
  print_account();
  return code;
}
