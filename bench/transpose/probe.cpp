// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The program that `nigh machine --probe-mpi` starts on the ranks of an MPI library: messages between nodes
// and on them, barriers, copying and transposing, all nodes at once, as in a transpose. Ranks that take no
// part in something sleep meanwhile: a program with fewer ranks would not have them. Figures are medians of a
// few batches; the whole takes less than two seconds. nigh fits them (machine/mpi_fit.hpp).
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "transpose/local.hpp"
#include "transpose/probe_messages.hpp"

namespace {

using nigh::transpose::Team;
constexpr std::size_t word = sizeof(double);
constexpr double alone_seconds = 0.02;                      // for each of what is measured on the node
constexpr std::size_t most_memory = std::size_t{32} << 20;  // of a node, to read and to write together

// The same on the node, all ranks at once; us of a short message.
double on_node(const Where& where) {
  double out = 0;
  if (where.each > 1) {
    int here = 1;
    MPI_Comm_size(where.node, &here);
    const Some all(where, where.most);
    const int to = (where.local + 1) % here, from = (where.local + here - 1) % here;
    char mine = 0, theirs = 0;
    out = 1e6 * all.time(Calls::wait_for_each_other, alone_seconds, [&] {
      MPI_Sendrecv(&mine, 1, MPI_BYTE, to, 0, &theirs, 1, MPI_BYTE, from, 0, where.node, MPI_STATUS_IGNORE);
    });
  }
  quiet_barrier(MPI_COMM_WORLD);
  return out;
}

// us of all threads of a node that wait for each other, one team on each node.
double barrier(const Where& where) {
  const Some first(where, 1);
  double out = 0;
  if (first.member() && where.cores() > 1) {
    Team team(where.cores());
    out = 1e6 * first.time(Calls::alone, alone_seconds, [&] { team.run([](int) {}); });
  }
  quiet_barrier(MPI_COMM_WORLD);
  return out;
}

// Memory of this rank, on pages that its threads touched.
struct Memory {
  explicit Memory(std::size_t bytes) : from(get(bytes)), to(get(bytes)) {}
  static std::unique_ptr<std::byte, void (*)(void*)> get(std::size_t bytes) {
    void* at = std::aligned_alloc(4096, (bytes + 4095) & ~std::size_t{4095});
    if (at == nullptr) give_up("there is no memory for " + std::to_string(bytes) + " bytes to copy");
    std::memset(at, 1, bytes);
    return {static_cast<std::byte*>(at), std::free};
  }
  std::unique_ptr<std::byte, void (*)(void*)> from, to;
};

struct Rate {
  std::size_t bytes;  // that a rank reads and writes
  double one, node;   // MB/s of one thread of each node, of all threads
};

Rate copying(const Where& where, const Memory& memory, std::size_t bytes) {
  Rate out{2 * bytes, 0, 0};
  for (const bool every : {false, true}) {
    const Some some(where, every ? where.each : 1);
    if (some.member()) {
      Team team(every ? where.threads : 1);
      const nigh::transpose::Rows rows{memory.from.get(), 0, memory.to.get(), 0, 1, bytes};
      const double seconds =
          some.time(Calls::alone, alone_seconds, [&] { nigh::transpose::copy(rows, team); });
      (every ? out.node : out.one) = 2e-6 * static_cast<double>(bytes) * (every ? where.each : 1) / seconds;
    }
    quiet_barrier(MPI_COMM_WORLD);
  }
  return out;
}

// Seconds of copying over seconds of transposing as much, all threads of all nodes busy.
double transposing(const Where& where, const Memory& memory, std::size_t rows, std::size_t columns) {
  const Some some(where, where.each);
  double out = 0;
  if (some.member()) {
    Team team(where.threads);
    const std::size_t bytes = rows * columns * word;
    const nigh::transpose::Rows all{memory.from.get(), 0, memory.to.get(), 0, 1, bytes};
    const nigh::transpose::Block block{memory.from.get(), columns, memory.to.get(), rows, rows, columns};
    const auto copy = [&] { nigh::transpose::copy(all, team); };
    const auto turn = [&] { nigh::transpose::transpose(block, word, team); };
    const int calls = calls_of(some.time(Calls::alone, 0, copy));
    std::vector<double> ratios;
    for (int i = 0; i < 7; ++i) {  // by turns
      const double copied = some.batch(Calls::alone, calls, copy);
      ratios.push_back(copied / some.batch(Calls::alone, calls, turn));
    }
    out = median(ratios);
  }
  quiet_barrier(MPI_COMM_WORLD);
  return out;
}

// The rates as fields of the report; `small` bytes lie in L2, `large` in memory.
std::string copying_text(const Where& where, const Memory& memory, std::size_t small, std::size_t large,
                         std::size_t l2, std::size_t last) {
  const Rate near = copying(where, memory, small), far = copying(where, memory, large);
  char out[256];
  std::snprintf(
      out, sizeof out,
      "\"cache_bytes\":%zu,\"cache_one\":%.6g,\"cache_node\":%.6g,\"touched\":%zu,\"last_cache\":%zu,"
      "\"memory_one\":%.6g,\"memory_node\":%.6g,",
      l2, near.one, near.node, far.bytes * static_cast<std::size_t>(where.each), last, far.one, far.node);
  return out;
}

std::size_t cache(int name, std::size_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise;
}

std::string text(const std::vector<Point>& points) {
  std::string out;
  for (const Point& p : points) {
    char one[96];
    std::snprintf(one, sizeof one, "%s{\"k\":%d,\"bytes\":%zu,\"us\":%.6g}", out.empty() ? "" : ",", p.k,
                  p.bytes, p.us);
    out += one;
  }
  return "[" + out + "]";
}

// The library by its first line, the same on all ranks.
std::string library() {
  char words[MPI_MAX_LIBRARY_VERSION_STRING] = "", first[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0, same = 0;
  MPI_Get_library_version(words, &length);
  std::memcpy(first, words, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  const int mine = std::strcmp(first, words) == 0;
  MPI_Allreduce(&mine, &same, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (same == 0) give_up("the ranks have different MPI libraries: " + std::string(words));
  std::string out;
  for (const char* at = words; *at != 0 && *at != '\n' && *at != ','; ++at)
    if (*at != '"' && *at != '\\') out += *at == '\t' ? ' ' : *at;
  return out;
}

// known: CPUs of a node with which its copying was measured before; 0: it was not.
void measure(int known) {
  const std::string name = library();
  const Where where = find_out();
  const double start = MPI_Wtime();
  std::vector<Point> points;
  double stream_one = 0, stream_node = 0;
  if (where.nodes > 1) between_nodes(where, points, stream_one, stream_node);
  const double message = on_node(where);
  const double wait = barrier(where);
  const std::size_t l2 = cache(_SC_LEVEL2_CACHE_SIZE, std::size_t{1} << 20),
                    last = std::max(cache(_SC_LEVEL3_CACHE_SIZE, l2), l2);
  // Half of what L2 holds; what the last cache does not hold, if that is not too large.
  const std::size_t small = std::max<std::size_t>(
      4096, l2 / 4 / static_cast<std::size_t>(where.threads) * static_cast<std::size_t>(where.threads));
  const std::size_t node_large = std::min(most_memory, 4 * last) / 2;
  const std::size_t side = node_large / static_cast<std::size_t>(where.each) / (1024 * word);
  const std::size_t rows = std::max<std::size_t>(side, 64), large = rows * 1024 * word;
  const Memory memory(large);
  std::string copied;
  if (known != where.cpus) copied = copying_text(where, memory, small, large, l2, last);
  const double powers = transposing(where, memory, rows, 1024),
               others = transposing(where, memory, rows - 11, 1013);
  const double seconds = MPI_Wtime() - start;
  if (rank == 0)
    std::printf(
        "{\"probe\":\"mpi\",\"library\":\"%s\",\"ranks\":%d,\"nodes\":%d,\"ranks_per_node\":%d,\"most_"
        "ranks\":%d,"
        "\"cores\":%d,\"cpus\":%d,\"seconds\":%.3f,\"reorder_nodes\":%d,\"reorder\":%s,\"stream_one\":%.6g,"
        "\"stream_node\":%.6g,"
        "\"message_us\":%.6g,\"barrier_us\":%.6g,%s\"transpose_powers\":%.4g,\"transpose_others\":%.4g}\n",
        name.c_str(), ranks, where.nodes, where.each, where.most, where.cores(), where.cpus, seconds,
        reorder_nodes(where), text(points).c_str(), stream_one, stream_node, message, wait, copied.c_str(),
        powers, others);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int known = 0;
  if (argc == 3 && std::strcmp(argv[1], "--copying-known") == 0)
    known = std::atoi(argv[2]);
  else if (argc > 1)
    give_up("usage: probe [--copying-known CPUS]");
  measure(known);
  std::fflush(stdout);
  quiet_barrier(MPI_COMM_WORLD);
#ifdef MPICH_VERSION
  usleep(50000);  // see docs/testing-hosts.md, MPI_Finalize
#endif
  MPI_Finalize();
  return 0;
}
