// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What `nigh machine --probe-mpi` starts on the ranks of an MPI library: messages between nodes and on them,
// barriers, copying and transposing, all nodes at once, as a transpose will be. Ranks that take no part in
// something sleep meanwhile: a program with fewer ranks would not have them. Figures are medians of a few
// batches; the whole takes less than two seconds. What they mean is fitted by nigh (machine/mpi_fit.hpp).
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transpose/local.hpp"

namespace {

using nigh::transpose::Team;
constexpr std::size_t word = sizeof(double);
constexpr double message_seconds = 0.3;  // for messages of one k, at the most, but for one that is slow
constexpr std::size_t most_memory = std::size_t{32} << 20;  // of a node, to read and to write together

int rank = 0, ranks = 1;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "probe: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// Nobody spins: all but those who measure are waiting here.
void quiet_barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) usleep(300);
  }
}

struct Where {
  MPI_Comm node = MPI_COMM_NULL;
  int local = 0, index = 0, nodes = 1;  // rank on the node, which node
  int each = 1, most = 1;               // ranks of the node with the fewest, with the most
  int cpus = 1;                         // that the ranks of a node may use together
  int threads = 1;                      // of each rank, so that all CPUs are used
  [[nodiscard]] int cores() const { return each * threads; }
};

Where find_out() {
  Where out;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &out.node);
  int here = 1, leader = rank;
  MPI_Comm_rank(out.node, &out.local);
  MPI_Comm_size(out.node, &here);
  MPI_Bcast(&leader, 1, MPI_INT, 0, out.node);
  std::vector<int> leaders(static_cast<std::size_t>(ranks));
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  out.nodes = static_cast<int>(leaders.size());
  out.index = static_cast<int>(std::lower_bound(leaders.begin(), leaders.end(), leader) - leaders.begin());
  MPI_Allreduce(&here, &out.each, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&here, &out.most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  cpu_set_t mine, all;
  CPU_ZERO(&mine);
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, out.node);
  int cpus = std::max(1, CPU_COUNT(&all));
  MPI_Allreduce(&cpus, &out.cpus, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  out.threads = std::max(1, out.cpus / out.each);
  return out;
}

// Those who take part in something, in the order of nodes; the others have none.
class Some {
 public:
  Some(const Where& where, int each) {
    const bool take_part = where.local < each;
    MPI_Comm_split(MPI_COMM_WORLD, take_part ? 0 : MPI_UNDEFINED, where.index * each + where.local, &comm_);
  }
  ~Some() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Some(const Some&) = delete;
  Some& operator=(const Some&) = delete;
  [[nodiscard]] bool member() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  // Seconds of the slowest for one call of `once`, which all call as often: the median of batches of `least`
  // seconds. Alone: what one does does not wait for what others do; then the time is from when the first one
  // begins until the last is through, since where CPUs are shared some don't begin before others end.
  enum class Calls { alone, wait_for_each_other };
  [[nodiscard]] double time(Calls calls, double least, const std::function<void()>& once) const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};
using Calls = Some::Calls;

double Some::time(Calls kind, double least, const std::function<void()>& once) const {
  const auto slowest = [&](int calls) {
    MPI_Barrier(comm_);
    const double from = MPI_Wtime();
    for (int i = 0; i < calls; ++i) once();
    if (kind == Calls::alone) MPI_Barrier(comm_);
    double mine = MPI_Wtime() - from, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return all / calls;
  };
  once();  // connections are made, pages touched
  const double first = std::min(slowest(1), slowest(1));
  // What takes long evens noise out by itself; of what is short one call is mostly the clock and the barrier.
  const int batches = first > 0.03           ? 2
                      : first > 0.005        ? 3
                      : kind == Calls::alone ? 9
                                             : 5,
            least_calls = first > 0.005 ? 1 : 3;
  const int calls = std::clamp(static_cast<int>(least / std::max(first, 1e-7)), least_calls, 2000);
  std::vector<double> times;
  while (static_cast<int>(times.size()) < batches) times.push_back(slowest(calls));
  return median(times);
}

struct Point {
  int k;
  std::size_t bytes;
  double us;
};

// Each of k ranks of every node sends to one of the next node, and receives from one of the node before.
std::vector<Point> between_nodes(const Where& where, int k) {
  const Some some(where, k);
  std::vector<Point> out;
  if (some.member()) {
    int me = 0, all = 1;
    MPI_Comm_rank(some.comm(), &me);
    MPI_Comm_size(some.comm(), &all);
    const int to = (me + k) % all, from = (me + all - k) % all;
    std::vector<char> mine(std::size_t{1} << 20), theirs(mine.size());
    const double start = MPI_Wtime();
    double left = message_seconds, last = 0;
    for (const std::size_t bytes : {8UL, 1024UL, 4096UL, 32768UL, 65536UL, 262144UL, 1048576UL}) {
      if (bytes > 262144 && 32 * last > 3 * left) break;  // it would take about that
      if (bytes < 65536 && 8 * last * 4 > left * 3 / 2) continue;
      const int count = static_cast<int>(bytes);
      last = some.time(Calls::wait_for_each_other, 0.004, [&] {
        MPI_Sendrecv(mine.data(), count, MPI_BYTE, to, 0, theirs.data(), count, MPI_BYTE, from, 0,
                     some.comm(), MPI_STATUS_IGNORE);
      });
      out.push_back({k, bytes, last * 1e6});
      left = message_seconds - (MPI_Wtime() - start);
      MPI_Bcast(&left, 1, MPI_DOUBLE, 0, some.comm());
    }
  }
  quiet_barrier(MPI_COMM_WORLD);
  return out;
}

// MB/s of a node while each of k of its ranks has some messages under way each way, as ours has.
double streaming(const Where& where, int k) {
  constexpr int count = 131072;
  constexpr int most = 8;
  const Some some(where, k);
  double out = 0;
  if (some.member()) {
    int me = 0, all = 1;
    MPI_Comm_rank(some.comm(), &me);
    MPI_Comm_size(some.comm(), &all);
    const int to = (me + k) % all, from = (me + all - k) % all, under_way = std::max(2, most / k);
    std::vector<char> mine(std::size_t{most} * count), theirs(mine.size());
    const double seconds = some.time(Calls::wait_for_each_other, 0.01, [&] {
      std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(under_way));
      for (int i = 0; i < under_way; ++i) {
        MPI_Request* pair = &requests[2 * static_cast<std::size_t>(i)];
        char *out_of = &mine[static_cast<std::size_t>(i) * count],
             *into = &theirs[static_cast<std::size_t>(i) * count];
        MPI_Irecv(into, count, MPI_BYTE, from, 1, some.comm(), pair);
        MPI_Isend(out_of, count, MPI_BYTE, to, 1, some.comm(), pair + 1);
      }
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    });
    out = 1e-6 * count * under_way * k / seconds;
  }
  quiet_barrier(MPI_COMM_WORLD);
  return out;
}

// The same on the node, all ranks at once; us of a short message.
double on_node(const Where& where) {
  double out = 0;
  if (where.each > 1) {
    int here = 1;
    MPI_Comm_size(where.node, &here);
    const Some all(where, where.most);
    const int to = (where.local + 1) % here, from = (where.local + here - 1) % here;
    char mine = 0, theirs = 0;
    out = 1e6 * all.time(Calls::wait_for_each_other, 0.004, [&] {
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
    out = 1e6 * first.time(Calls::alone, 0.004, [&] { team.run([](int) {}); });
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
      const double seconds = some.time(Calls::alone, 0.004, [&] { nigh::transpose::copy(rows, team); });
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
    const double copied = some.time(Calls::alone, 0.004, [&] { nigh::transpose::copy(all, team); });
    out = copied / some.time(Calls::alone, 0.004, [&] { nigh::transpose::transpose(block, word, team); });
  }
  quiet_barrier(MPI_COMM_WORLD);
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

void measure() {
  const std::string name = library();
  const Where where = find_out();
  const double start = MPI_Wtime();
  std::vector<Point> points;
  double stream_one = 0, stream_node = 0;
  if (where.nodes > 1) {
    for (int k = 1;; k = where.each) {
      const std::vector<Point> more = between_nodes(where, k);
      points.insert(points.end(), more.begin(), more.end());
      (k == 1 ? stream_one : stream_node) = streaming(where, k);
      if (k == where.each) break;
    }
    stream_node = std::max(stream_node, stream_one);
  }

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
  const Rate near = copying(where, memory, small), far = copying(where, memory, large);
  const double powers = transposing(where, memory, rows, 1024),
               others = transposing(where, memory, rows - 11, 1013);
  const double seconds = MPI_Wtime() - start;
  if (rank == 0)
    std::printf(
        "{\"probe\":\"mpi\",\"library\":\"%s\",\"ranks\":%d,\"nodes\":%d,\"ranks_per_node\":%d,\"most_"
        "ranks\":%d,"
        "\"cores\":%d,\"cpus\":%d,\"seconds\":%.3f,\"messages\":%s,\"stream_one\":%.6g,\"stream_node\":%.6g,"
        "\"message_us\":%.6g,\"barrier_us\":%.6g,"
        "\"cache_bytes\":%zu,\"cache_one\":%.6g,\"cache_node\":%.6g,\"touched\":%zu,\"last_cache\":%zu,"
        "\"memory_one\":%.6g,\"memory_node\":%.6g,\"transpose_powers\":%.4g,\"transpose_others\":%.4g}\n",
        name.c_str(), ranks, where.nodes, where.each, where.most, where.cores(), where.cpus, seconds,
        text(points).c_str(), stream_one, stream_node, message, wait, l2, near.one, near.node,
        far.bytes * static_cast<std::size_t>(where.each), last, far.one, far.node, powers, others);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  measure();
  std::fflush(stdout);
  quiet_barrier(MPI_COMM_WORLD);
#ifdef MPICH_VERSION
  usleep(50000);  // see docs/testing-hosts.md, MPI_Finalize
#endif
  MPI_Finalize();
  return 0;
}
