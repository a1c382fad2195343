// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// soak [--seconds S] [--seed X] [--batches N] [--max BYTES] [--threads T] [--only KIND,..] [--no-errors]
// Random traffic in which every rank knows what every byte and every status must be. The last lines give the
// number of operations and a digest of all data received: the same seed and number of batches give the same
// digest with us and without. A rank that finds something wrong says the seed and the operation, and aborts
// the job.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "engine.hpp"

namespace {
constexpr std::size_t stack_bytes = std::size_t{1} << 20;
constexpr std::size_t data_bytes = std::size_t{6} << 20;
char static_data[data_bytes] = {1};  // .data, not .bss
char static_zero[data_bytes];        // .bss

soak::Options read_options(int argc, char** argv) {
  soak::Options options;
  auto value = [&](int& i) { return i + 1 < argc ? argv[++i] : "0"; };
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--seconds")
      options.seconds = atoi(value(i));
    else if (name == "--seed")
      options.seed = strtoull(value(i), nullptr, 0);
    else if (name == "--batches")
      options.batches = atoi(value(i));
    else if (name == "--max")
      options.most_bytes = strtoull(value(i), nullptr, 0);
    else if (name == "--threads")
      options.threads = atoi(value(i));
    else if (name == "--no-errors")
      options.errors = false;
    else if (name == "--verbose")
      options.verbose = 1;
    else if (name == "--only") {
      static const char* const names[] = {"messages",    "wild",      "collectives",
                                          "nonblocking", "exchanges", "comms"};
      std::string list = std::string(",") + value(i) + ",";
      options.kinds = 0;
      for (unsigned k = 0; k < 6; ++k)
        if (list.find(std::string(",") + names[k] + ",") != std::string::npos) options.kinds |= 1U << k;
    } else {
      fprintf(stderr, "soak: what is %s?\n", argv[i]);
      exit(2);
    }
  }
  return options;
}

struct Outcome {
  std::uint64_t digest = 0;
  long operations = 0;
  double bytes = 0;
  int batches = 0;
};

// All ranks stop after the same batch: rank 0 says when.
Outcome run(const soak::Options& options, MPI_Comm world, int stream) {
  char on_stack[stack_bytes];
  soak::Arenas arenas{
      {on_stack, stack_bytes},
      {stream == 0 ? static_data : static_zero + data_bytes / 64 * static_cast<std::size_t>(stream % 64),
       stream == 0 ? data_bytes : data_bytes / 64}};
  soak::where.seed = options.seed;
  MPI_Comm_rank(world, &soak::where.rank);
  Outcome outcome;
  soak::Engine engine(options, world, arenas, stream);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  for (int batch = 0;; ++batch) {
    if (options.batches > 0 && batch == options.batches) break;
    if (options.batches == 0 && batch % 8 == 0) {
      int more = std::chrono::steady_clock::now() < end;
      soak::operation("agree whether to go on");
      MPI_OK(MPI_Bcast(&more, 1, MPI_INT, 0, world));
      if (!more) break;
    }
    if (options.verbose && soak::where.rank == 0) fprintf(stderr, "batch %d\n", batch);
    engine.batch(batch);
    outcome.batches = batch + 1;
  }
  outcome.digest = engine.digest();
  outcome.operations = engine.operations();
  outcome.bytes = engine.bytes();
  return outcome;
}
}  // namespace

int main(int argc, char** argv) {
  soak::Options options = read_options(argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (options.threads > 1 && provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("SKIP: the library gives no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  soak::watch_for_stalls(getenv("SOAK_STALL") != nullptr ? atoi(getenv("SOAK_STALL")) : 60);
  if (rank == 0) {
    printf("soak: seed %llu, %d ranks, %d threads\n", static_cast<unsigned long long>(options.seed), size,
           options.threads);
    fflush(stdout);
  }
  constexpr int attached = 2 << 20;
  std::vector<char> for_bsend(attached);
  MPI_Buffer_attach(for_bsend.data(), attached);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(options.threads));
  if (options.threads == 1) {
    outcomes[0] = run(options, MPI_COMM_WORLD, 0);
  } else {
    std::vector<MPI_Comm> worlds(outcomes.size());
    for (MPI_Comm& world : worlds) MPI_Comm_dup(MPI_COMM_WORLD, &world);
    std::vector<std::thread> threads;
    for (int t = 0; t < options.threads; ++t)
      threads.emplace_back([&, t] { outcomes[t] = run(options, worlds[t], t + 1); });
    for (std::thread& thread : threads) thread.join();
    for (MPI_Comm& world : worlds) MPI_Comm_free(&world);
  }
  void* detached = nullptr;
  int detached_bytes = 0;
  MPI_Buffer_detach(&detached, &detached_bytes);
  if (detached != for_bsend.data() || detached_bytes != attached)
    soak::fail("MPI_Buffer_detach gives another buffer");
  double mine[3] = {};
  std::uint64_t digest = 0;
  for (const Outcome& outcome : outcomes) {
    digest += outcome.digest;
    mine[0] += static_cast<double>(outcome.operations);
    mine[1] += outcome.bytes;
    mine[2] += outcome.batches;
  }
  double all[3] = {};
  std::uint64_t all_digest = 0;
  MPI_Reduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&digest, &all_digest, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("soak: ok, seed %llu, %d ranks, %.0f batches, %.0f operations, %.0f MB, digest %016llx\n",
           static_cast<unsigned long long>(options.seed), size, all[2] / size, all[0], all[1] / 1e6,
           static_cast<unsigned long long>(all_digest));
  MPI_Finalize();
  return 0;
}
