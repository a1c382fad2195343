// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives that compute. All arithmetic is exact (integers that wrap, floating point on small whole
// numbers), so any order of evaluation that the standard allows gives the same bits, and one that it does not
// allow, for an operation that does not commute, shows.
#include <algorithm>
#include <complex>
#include <string>
#include <type_traits>

#include "check.hpp"
#include "engine.hpp"
#include "quirks.hpp"

namespace soak {

namespace {
enum Function { sum, product, maximum, minimum, band, bor, bxor, land, lor, lxor, functions };
const MPI_Op mpi_ops[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_BAND,
                          MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};

struct Arithmetic {
  const char* name;
  MPI_Datatype type;
  std::size_t bytes;  // from one element to the next
  bool wholes;        // bit and logical operations too
  void (*fill)(std::uint64_t id, char* to, int n, Function f);
  void (*combine)(const char* in, char* inout, int n, Function f);
};

template <class T>
T value(std::uint64_t x, Function f) {
  if constexpr (std::is_integral_v<T>) {
    if (f >= land && x % 3 == 0) return 0;
    if constexpr (sizeof(T) < 4) {  // some libraries saturate, some wrap: stay within
      if (f == sum) return static_cast<T>(x % 7);
      if (f == product) return static_cast<T>(x % 16 == 0 ? 2 : 1);
    }
    if (quirks::unsigned_is_signed && (f == maximum || f == minimum))
      return static_cast<T>(x & (~std::uint64_t{0} >> 1) >> (64 - 8 * sizeof(T)));
    return static_cast<T>(x);
  } else {
    if (f == product) return static_cast<T>(x % 2 == 0 ? 1 : x % 3 == 0 ? 2 : -1);
    return static_cast<T>(static_cast<int>(x % 257) - 128);
  }
}
template <class T>
void fill(std::uint64_t id, char* to, int n, Function f) {
  Rng rng(mix(id, 17));
  for (int i = 0; i < n; ++i) {
    T v = value<T>(rng.next(), f);
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof v);
  }
}
template <class T>
T apply(T a, T b, Function f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<(sizeof(T) < 4), unsigned, std::make_unsigned_t<T>>;
    switch (f) {
      case sum: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case product: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
      case band: return static_cast<T>(a & b);
      case bor: return static_cast<T>(a | b);
      case bxor: return static_cast<T>(a ^ b);
      case land: return static_cast<T>(a && b);
      case lor: return static_cast<T>(a || b);
      case lxor: return static_cast<T>(!a != !b);
      default: break;
    }
  }
  if (f == sum) return a + b;
  if (f == product) return a * b;
  return (f == maximum) == (a > b) ? a : b;
}
template <class T>
void combine(const char* in, char* inout, int n, Function f) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    T a;
    T b;
    std::memcpy(&a, in + i * sizeof(T), sizeof a);
    std::memcpy(&b, inout + i * sizeof(T), sizeof b);
    b = apply<T>(a, b, f);
    std::memcpy(inout + i * sizeof(T), &b, sizeof b);
  }
}

// A value and where it was found; the holes of the pair are zero, and stay it.
template <class T>
struct Found {
  T value;
  int place;
};
template <class T>
void fill_found(std::uint64_t id, char* to, int n, Function) {
  Rng rng(mix(id, 18));
  std::memset(to, 0, static_cast<std::size_t>(n) * sizeof(Found<T>));
  for (int i = 0; i < n; ++i) {
    auto* at = to + static_cast<std::size_t>(i) * sizeof(Found<T>);
    T v = static_cast<T>(rng.in(-3, 3));  // many that are equal: the lowest place wins
    int place = rng.in(0, 50);
    std::memcpy(at, &v, sizeof v);
    std::memcpy(at + offsetof(Found<T>, place), &place, sizeof place);
  }
}
template <class T>
void combine_found(const char* in, char* inout, int n, Function f) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    Found<T> a;
    Found<T> b;
    std::memcpy(&a, in + i * sizeof a, sizeof a);
    std::memcpy(&b, inout + i * sizeof b, sizeof b);
    bool take = f == maximum ? a.value > b.value : a.value < b.value;
    if (take || (a.value == b.value && a.place < b.place))
      std::memcpy(inout + i * sizeof b, in + i * sizeof a, sizeof a);
  }
}

// x -> a x + b, composed: does not commute. With a hole after it, so that the type is not contiguous.
struct Affine {
  std::uint32_t a, b, hole;
};
void fill_affine(std::uint64_t id, char* to, int n, Function) { fill<std::uint32_t>(id, to, 3 * n, sum); }
void combine_affine(const char* in, char* inout, int n, Function) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    Affine f;
    Affine g;
    std::memcpy(&f, in + i * sizeof f, sizeof f);
    std::memcpy(&g, inout + i * sizeof g, sizeof g);
    g.b = f.a * g.b + f.b;
    g.a = f.a * g.a;
    std::memcpy(inout + i * sizeof g, &g, sizeof g);
  }
}
int affine_calls = 0;
void affine_of_mpi(void* in, void* inout, int* n, MPI_Datatype* type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  ++affine_calls;
  if (extent != static_cast<MPI_Aint>(sizeof(Affine))) fail("a user operation got a type of another extent");
  combine_affine(static_cast<const char*>(in), static_cast<char*>(inout), *n, sum);
}
void xor_of_mpi(void* in, void* inout, int* n, MPI_Datatype*) {
  combine<std::uint64_t>(static_cast<const char*>(in), static_cast<char*>(inout), *n, bxor);
}

template <class T>
constexpr Arithmetic plain(const char* name, MPI_Datatype type) {
  return {name, type, sizeof(T), std::is_integral_v<T>, fill<T>, combine<T>};
}

struct Task {
  Arithmetic math;
  Function function = sum;
  MPI_Op op = MPI_OP_NULL;
  bool user = false;
  bool own_type = false;
  ~Task() { drop(); }
  void drop() {
    if (user && op != MPI_OP_NULL) MPI_Op_free(&op);
    if (own_type && math.type != MPI_DATATYPE_NULL) MPI_Type_free(&math.type);
    user = own_type = false;
  }
};

std::shared_ptr<Task> draw_task(Rng& rng, bool holes) {
  const Arithmetic table[] = {plain<signed char>("int8", MPI_SIGNED_CHAR),
                              plain<std::uint8_t>("uint8", MPI_UINT8_T),
                              plain<short>("short", MPI_SHORT),
                              plain<int>("int", MPI_INT),
                              plain<int>("int", MPI_INT),
                              plain<unsigned>("unsigned", MPI_UNSIGNED),
                              plain<long>("long", MPI_LONG),
                              plain<std::uint64_t>("uint64", MPI_UINT64_T),
                              plain<std::int32_t>("int32", MPI_INT32_T),
                              plain<float>("float", MPI_FLOAT),
                              plain<double>("double", MPI_DOUBLE),
                              plain<double>("double", MPI_DOUBLE)};
  auto task = std::make_shared<Task>();
  int die = rng.below(100);
  if (die < 70) {
    task->math = table[rng.below(static_cast<int>(sizeof table / sizeof *table))];
    task->function = static_cast<Function>(rng.below(task->math.wholes ? functions : 4));
    if (rng.percent(40)) task->function = sum;
    task->op = mpi_ops[task->function];
  } else if (die < 82) {
    task->function = rng.percent(50) ? maximum : minimum;
    task->op = task->function == maximum ? MPI_MAXLOC : MPI_MINLOC;
    int which = rng.below(4);
    if (which == 0)
      task->math = {"2int", MPI_2INT, sizeof(Found<int>), false, fill_found<int>, combine_found<int>};
    if (which == 1)
      task->math = {"double_int", MPI_DOUBLE_INT,     sizeof(Found<double>),
                    false,        fill_found<double>, combine_found<double>};
    if (which == 2)
      task->math = {"float_int", MPI_FLOAT_INT,     sizeof(Found<float>),
                    false,       fill_found<float>, combine_found<float>};
    if (which == 3)
      task->math = {"short_int", MPI_SHORT_INT,     sizeof(Found<short>),
                    false,       fill_found<short>, combine_found<short>};
  } else if (die < 93 && holes) {
    task->math = {"affine", MPI_DATATYPE_NULL, sizeof(Affine), false, fill_affine, combine_affine};
    MPI_Datatype two = MPI_DATATYPE_NULL;
    MPI_OK(MPI_Type_contiguous(2, MPI_UINT32_T, &two));
    MPI_OK(MPI_Type_create_resized(two, 0, sizeof(Affine), &task->math.type));
    MPI_OK(MPI_Type_commit(&task->math.type));
    MPI_OK(MPI_Type_free(&two));
    MPI_OK(MPI_Op_create(affine_of_mpi, 0, &task->op));
    task->user = task->own_type = true;
  } else {
    task->math = plain<std::uint64_t>("user xor", MPI_UINT64_T);
    task->function = bxor;
    MPI_OK(MPI_Op_create(xor_of_mpi, 1, &task->op));
    task->user = true;
  }
  return task;
}

// The holes of a type: what is in them before stays in them.
void keep_holes(const Arithmetic& math, const char* before, char* now, int n) {
  for (int i = 0; i < n; ++i) {
    std::size_t at = static_cast<std::size_t>(i) * math.bytes;
    if (math.fill == fill_affine) std::memcpy(now + at + 8, before + at + 8, 4);
    if (math.fill == fill_found<double>) std::memcpy(now + at + 12, before + at + 12, 4);
    if (math.fill == fill_found<short>) std::memcpy(now + at + 2, before + at + 2, 2);
  }
}

#define FORMS(Now, Later, ...) MPI_OK(later ? MPI_##Later(__VA_ARGS__, &request) : MPI_##Now(__VA_ARGS__))

struct Compute {
  std::shared_ptr<Task> task;
  Buffer from, to;
  std::vector<int> counts;
};
}  // namespace

// Reduce, Allreduce, Reduce_scatter_block, Reduce_scatter, Scan, Exscan.
void Engine::compute(Rng& rng, Comm& comm, int which, bool later) {
  static const char* const names[] = {"reduce",         "allreduce", "reduce_scatter_block",
                                      "reduce_scatter", "scan",      "exscan"};
  int size = comm.size();
  int me = comm.me;
  auto c = std::make_shared<Compute>();
  bool spread = which == 2 || which == 3;
  c->task = draw_task(rng, !spread || !quirks::scattered_holes);
  const Arithmetic math = c->task->math;
  Function f = c->task->function;
  int root = rng.below(size);
  bool in_place = rng.percent(35) && !(which == 0 && root != 0 && quirks::reduce_in_place);
  std::uint64_t id = rng.next();
  int n = 0;  // elements of the whole
  for (int r = 0; r < (spread ? size : 1); ++r) {
    budget_ = 1.5e6 / (spread ? size : 1);
    int bytes = draw_items(rng, Kind::byte);
    int some = bytes == 0 ? 0 : std::max(1, bytes / static_cast<int>(math.bytes));
    if (which == 2 && r > 0) some = c->counts[0];
    c->counts.push_back(some);
    n += some;
  }
  int share = spread ? c->counts[me] : n;
  int before = 0;
  for (int r = 0; spread && r < me; ++r) before += c->counts[r];
  operation("%s%s on communicator %d (%d ranks), root %d, %d of %s, operation %d%s", later ? "i" : "",
            names[which], comm.number, size, root, n, math.name, c->task->user ? -1 : static_cast<int>(f),
            in_place ? ", in place" : "");

  auto size_of = [&](int elements) { return static_cast<std::size_t>(elements) * math.bytes; };
  std::vector<char> result(size_of(n));
  std::vector<char> theirs(size_of(n));
  int last = which == 4 ? me : which == 5 ? me - 1 : size - 1;
  if (last >= 0) math.fill(mix(id, static_cast<std::uint64_t>(last)), result.data(), n, f);
  for (int r = last - 1; r >= 0; --r) {
    math.fill(mix(id, static_cast<std::uint64_t>(r)), theirs.data(), n, f);
    math.combine(theirs.data(), result.data(), n, f);
  }
  std::vector<char> own(size_of(n));
  math.fill(mix(id, static_cast<std::uint64_t>(me)), own.data(), n, f);

  Rng& mine = local_;
  bool receives = which != 0 || me == root;
  bool placed = in_place && receives;
  auto whole = static_cast<std::ptrdiff_t>(size_of(n));
  c->from = Buffer::make(mine, arenas_, 0, whole);
  if (n > 0) std::memcpy(c->from.data(), own.data(), own.size());
  c->from.snapshot();
  if (mine.percent(20)) c->from.protect();
  c->to = Buffer::make(mine, arenas_, 0, placed ? whole : static_cast<std::ptrdiff_t>(size_of(share)));
  if (placed && n > 0) std::memcpy(c->to.data(), own.data(), own.size());
  c->to.snapshot();
  std::vector<char> old(c->to.data(), c->to.data() + size_of(placed ? n : share));

  MPI_Request request = MPI_REQUEST_NULL;
  const void* from = placed ? MPI_IN_PLACE : c->from.data();
  void* to = receives ? c->to.data() : nullptr;
  MPI_Op op = c->task->op;
  switch (which) {
    case 0: FORMS(Reduce, Ireduce, from, to, n, math.type, op, root, comm.handle); break;
    case 1: FORMS(Allreduce, Iallreduce, from, to, n, math.type, op, comm.handle); break;
    case 2:
      FORMS(Reduce_scatter_block, Ireduce_scatter_block, from, to, c->counts[0], math.type, op, comm.handle);
      break;
    case 3:
      FORMS(Reduce_scatter, Ireduce_scatter, from, to, c->counts.data(), math.type, op, comm.handle);
      break;
    case 4: FORMS(Scan, Iscan, from, to, n, math.type, op, comm.handle); break;
    default: FORMS(Exscan, Iexscan, from, to, n, math.type, op, comm.handle); break;
  }
  if (later && mine.percent(30)) c->task->drop();
  bool undefined = which == 5 && me == 0;
  std::vector<char> part(
      result.begin() + static_cast<std::ptrdiff_t>(spread ? size_of(before) : 0),
      result.begin() + static_cast<std::ptrdiff_t>(spread ? size_of(before + share) : size_of(n)));
  keep_holes(math, old.data(), part.data(), share);
  bool loose_holes =
      math.fill == fill_found<double> || math.fill == fill_found<short> || math.fill == fill_affine;
  if (receives && !undefined)
    count(mix(id, static_cast<std::uint64_t>(me)), result.data() + (spread ? size_of(before) : 0),
          part.size());
  bool rest_undefined = placed && spread;  // what lies behind the result in place
  finish(later, request, [c, math, part, receives, undefined, share, n, loose_holes, rest_undefined] {
    c->from.same("send buffer");
    auto bytes = static_cast<std::size_t>(undefined ? n : share) * math.bytes;
    std::vector<char> got = part;
    if (loose_holes && receives && !undefined) keep_holes(math, c->to.data(), got.data(), share);
    if (undefined)
      c->to.expect_raw(c->to.data(), bytes, 0);
    else if (receives)
      c->to.expect_raw(got.data(), got.size(), 0);
    if (rest_undefined && !undefined)
      c->to.expect_raw(c->to.data() + bytes, static_cast<std::size_t>(n) * math.bytes - bytes,
                       static_cast<std::ptrdiff_t>(bytes));
    c->to.same("receive buffer");
  });
}

}  // namespace soak
