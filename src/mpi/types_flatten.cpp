// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From a datatype to the blocks of one element: the constructor calls that made it are asked back from the
// library (envelope and contents) and replayed. Arrays of more dimensions are one nest of loops over runs for
// subarrays and for each distribution of darray. Predefined types with holes (MPI_DOUBLE_INT) tell their map
// themselves: an element whose bytes are numbered is packed.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "mpi/types.hpp"

namespace nigh::mpi {
namespace {

struct Contents {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  int combiner = MPI_UNDEFINED;

  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    for (MPI_Datatype& type : types)
      if (!is_predefined(type)) real().Type_free(&type);
  }

  static bool is_predefined(MPI_Datatype type) {
    int i = 0, a = 0, t = 0, combiner = MPI_UNDEFINED;
    if (type == MPI_DATATYPE_NULL || real().Type_get_envelope(type, &i, &a, &t, &combiner) != MPI_SUCCESS)
      return true;
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_VALUE_INDEX;
  }

  // False: the library won't tell.
  bool read(MPI_Datatype type) {
    int i = 0, a = 0, t = 0;
    MPI_Count ni = 0, na = 0, large = 0, nt = 0;
    if (real().Type_get_envelope_c &&
        (real().Type_get_envelope_c(type, &ni, &na, &large, &nt, &combiner) != MPI_SUCCESS || large != 0))
      return false;  // made with counts over 2^31
    if (real().Type_get_envelope(type, &i, &a, &t, &combiner) != MPI_SUCCESS) return false;
    if (combiner == MPI_COMBINER_NAMED || t == 0) return true;
    integers.resize(static_cast<std::size_t>(i) + 1);
    addresses.resize(static_cast<std::size_t>(a) + 1);
    std::vector<MPI_Datatype> made(static_cast<std::size_t>(t));
    if (real().Type_get_contents(type, i, a, t, integers.data(), addresses.data(), made.data()) !=
        MPI_SUCCESS)
      return false;
    types.swap(made);
    return true;
  }
};

struct Extent {
  MPI_Count lower = 0, extent = 0;
  explicit Extent(MPI_Datatype type) { real().Type_get_extent_x(type, &lower, &extent); }
};

bool append(const TypeBlocks& child, std::ptrdiff_t at, TypeBlocks& out) {
  for (std::size_t i = 0; i < child.count; ++i)
    if (!out.add(at + child.data[i].offset, child.data[i].bytes)) return false;
  return true;
}

// An old type, ready to be laid down many times.
class Child {
 public:
  explicit Child(MPI_Datatype type) : extent_(Extent(type).extent) { ok_ = flatten(type, 0, blocks_); }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::ptrdiff_t extent() const { return extent_; }
  // `count` of them in a row.
  bool lay(std::ptrdiff_t at, std::ptrdiff_t count, TypeBlocks& out) const {
    if (count <= 0 || blocks_.count == 0) return true;
    const message::Block& first = blocks_.data[0];
    if (blocks_.count == 1 && static_cast<std::ptrdiff_t>(first.bytes) == extent_)
      return out.add(at + first.offset, first.bytes * static_cast<std::size_t>(count));
    for (std::ptrdiff_t i = 0; i < count; ++i)
      if (!append(blocks_, at + i * extent_, out)) return false;
    return true;
  }

 private:
  TypeBlocks blocks_;
  std::ptrdiff_t extent_;
  bool ok_;
};

struct Run {
  std::ptrdiff_t first, count;
};
using Runs = std::vector<Run>;

// Lays `child` at every index of the product of the runs; dims[0] varies slowest. strides in elements.
bool lay_grid(const std::vector<Runs>& dims, const std::vector<std::ptrdiff_t>& strides, std::size_t dim,
              std::ptrdiff_t element, const Child& child, std::ptrdiff_t at, TypeBlocks& out) {
  for (const Run& run : dims[dim]) {
    if (dim + 1 == dims.size()) {
      if (!child.lay(at + (element + run.first) * child.extent(), run.count, out)) return false;
      continue;
    }
    for (std::ptrdiff_t i = run.first; i < run.first + run.count; ++i)
      if (!lay_grid(dims, strides, dim + 1, element + i * strides[dim], child, at, out)) return false;
  }
  return true;
}

// `sizes` and `dims` in the user's order of dimensions.
bool lay_array(bool fortran, std::vector<std::ptrdiff_t> sizes, std::vector<Runs> dims, const Child& child,
               std::ptrdiff_t at, TypeBlocks& out) {
  const std::size_t n = sizes.size();
  if (n == 0) return false;
  if (fortran) {
    sizes = {sizes.rbegin(), sizes.rend()};
    dims = {dims.rbegin(), dims.rend()};
  }
  std::vector<std::ptrdiff_t> strides(n, 1);
  for (std::size_t d = n - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
  return lay_grid(dims, strides, 0, 0, child, at, out);
}

bool lay_subarray(const Contents& c, const Child& child, std::ptrdiff_t at, TypeBlocks& out) {
  const auto n = static_cast<std::size_t>(c.integers[0]);
  const int* sizes = &c.integers[1];
  std::vector<std::ptrdiff_t> all(sizes, sizes + n);
  std::vector<Runs> dims;
  for (std::size_t d = 0; d < n; ++d) dims.push_back({{.first = sizes[2 * n + d], .count = sizes[n + d]}});
  return lay_array(sizes[3 * n] == MPI_ORDER_FORTRAN, all, dims, child, at, out);
}

// The part of `size` elements that process `at` of `processes` owns (MPI 4.0, 5.1.4).
Runs owned(int distribution, int argument, std::ptrdiff_t size, std::ptrdiff_t processes, std::ptrdiff_t at) {
  if (distribution == MPI_DISTRIBUTE_NONE) return {{.first = 0, .count = size}};
  std::ptrdiff_t block = argument;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG)
    block = distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
  Runs runs;
  const std::ptrdiff_t step =
      distribution == MPI_DISTRIBUTE_BLOCK ? size + block * processes : block * processes;
  for (std::ptrdiff_t first = at * block; block > 0 && first < size; first += step)
    runs.push_back({.first = first, .count = size - first < block ? size - first : block});
  return runs;
}

bool lay_darray(const Contents& c, const Child& child, std::ptrdiff_t at, TypeBlocks& out) {
  const int rank = c.integers[1];
  const auto n = static_cast<std::size_t>(c.integers[2]);
  const int* sizes = &c.integers[3];
  const int *kinds = sizes + n, *arguments = kinds + n, *processes = arguments + n;
  std::vector<std::ptrdiff_t> all(sizes, sizes + n);
  std::vector<Runs> dims(n);
  std::ptrdiff_t rest = rank;  // the grid of processes is row-major whatever the order of the array
  for (std::size_t d = n; d-- > 0;) {
    if (processes[d] <= 0) return false;
    dims[d] = owned(kinds[d], arguments[d], sizes[d], processes[d], rest % processes[d]);
    rest /= processes[d];
  }
  return lay_array(processes[n] == MPI_ORDER_FORTRAN, all, dims, child, at, out);
}

bool lay_struct(const Contents& c, std::ptrdiff_t at, TypeBlocks& out) {
  for (int i = 0; i < c.integers[0]; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Child child(c.types[k]);
    if (!child.ok() || !child.lay(at + c.addresses[k], c.integers[k + 1], out)) return false;
  }
  return true;
}

bool lay_one(const Contents& c, std::ptrdiff_t at, TypeBlocks& out) {
  const Child child(c.types[0]);
  const std::ptrdiff_t extent = child.extent();
  const std::vector<int>& n = c.integers;
  const auto count = static_cast<std::size_t>(n[0]);
  if (!child.ok()) return false;
  switch (c.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return child.lay(at, 1, out);
    case MPI_COMBINER_CONTIGUOUS: return child.lay(at, n[0], out);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
      for (int i = 0; i < n[0]; ++i) {
        const std::ptrdiff_t stride = c.combiner == MPI_COMBINER_VECTOR ? n[2] * extent : c.addresses[0];
        if (!child.lay(at + i * stride, n[1], out)) return false;
      }
      return true;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
      for (std::size_t i = 0; i < count; ++i) {
        const std::ptrdiff_t offset =
            c.combiner == MPI_COMBINER_INDEXED ? n[count + 1 + i] * extent : c.addresses[i];
        if (!child.lay(at + offset, n[i + 1], out)) return false;
      }
      return true;
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      for (std::size_t i = 0; i < count; ++i) {
        const std::ptrdiff_t offset =
            c.combiner == MPI_COMBINER_INDEXED_BLOCK ? n[2 + i] * extent : c.addresses[i];
        if (!child.lay(at + offset, n[1], out)) return false;
      }
      return true;
    case MPI_COMBINER_SUBARRAY: return lay_subarray(c, child, at, out);
    case MPI_COMBINER_DARRAY:
      // Intel MPI 2021 forgets the gap between columns of a Fortran array in blocks of a given size: it walks
      // its own.
      return !is_intel() && lay_darray(c, child, at, out);
    default: return false;
  }
}

bool flatten_predefined(MPI_Datatype type, std::ptrdiff_t at, TypeBlocks& out) {
  int size = 0;
  if (real().Type_size(type, &size) != MPI_SUCCESS || size < 0) return false;
  const Extent e(type);
  if (size == 0 || (e.lower == 0 && e.extent == size)) return out.add(at, static_cast<std::size_t>(size));
  unsigned char numbered[64] = {}, packed[64] = {};
  if (e.lower != 0 || e.extent > 64 || size > 64) return false;
  for (unsigned char i = 0; i < 64; ++i) numbered[i] = i;
  int position = 0;
  if (real().Pack(numbered, 1, type, packed, 64, &position, MPI_COMM_SELF) != MPI_SUCCESS || position != size)
    return false;
  for (int i = 0; i < size; ++i)
    if (!out.add(at + packed[i], 1)) return false;
  return true;
}

}  // namespace

bool TypeBlocks::add(std::ptrdiff_t offset, std::size_t bytes) {
  if (bytes == 0) return true;
  if (count != 0 && data[count - 1].offset + static_cast<std::ptrdiff_t>(data[count - 1].bytes) == offset) {
    data[count - 1].bytes += bytes;
    return true;
  }
  if (count == room) {
    if (room >= most) return false;
    const std::size_t more = room == 0 ? 8 : 2 * room;
    void* grown = std::realloc(data, more * sizeof(message::Block));
    if (!grown) return false;
    data = static_cast<message::Block*>(grown);
    room = more;
  }
  data[count++] = {.offset = offset, .bytes = bytes};
  return true;
}

TypeBlocks::~TypeBlocks() { std::free(data); }

bool flatten(MPI_Datatype type, std::ptrdiff_t at, TypeBlocks& blocks) {
  Contents contents;
  if (!contents.read(type)) return false;
  if (contents.types.empty())
    return Contents::is_predefined(type) ? flatten_predefined(type, at, blocks)
                                         : contents.combiner != MPI_COMBINER_NAMED;  // an empty struct
  return contents.combiner == MPI_COMBINER_STRUCT ? lay_struct(contents, at, blocks)
                                                  : lay_one(contents, at, blocks);
}

std::size_t basic_size(MPI_Datatype type) {
  if (Contents::is_predefined(type)) {
    int size = 0;
    return type != MPI_DATATYPE_NULL && real().Type_size(type, &size) == MPI_SUCCESS && size > 0
               ? static_cast<std::size_t>(size)
               : 0;
  }
  Contents contents;
  if (!contents.read(type)) return 0;
  std::size_t common = 0;
  for (MPI_Datatype part : contents.types) {
    const std::size_t size = basic_size(part);
    if (size == 0 || (common != 0 && size != common)) return 0;
    common = size;
  }
  return common;
}

namespace {

// False: not all the same.
bool find_basic(MPI_Datatype type, MPI_Datatype& common) {
  if (Contents::is_predefined(type)) {
    if (common == MPI_DATATYPE_NULL) common = type;
    return common == type && type != MPI_DATATYPE_NULL;
  }
  Contents contents;
  if (!contents.read(type)) return false;
  return std::all_of(contents.types.begin(), contents.types.end(),
                     [&](MPI_Datatype part) { return find_basic(part, common); });
}

}  // namespace

MPI_Datatype basic_type(MPI_Datatype type, TypeInfo& info) {
  if (info.named) return type;
  MPI_Datatype common = info.basic.load(std::memory_order_relaxed);
  if (common != MPI_DATATYPE_NULL) return common;
  if (!find_basic(type, common)) return MPI_DATATYPE_NULL;
  info.basic.store(common, std::memory_order_relaxed);
  return common;
}

}  // namespace nigh::mpi
