// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Random datatypes of a given number of items: contiguous, vectors with strides of either sign, index lists
// in any order, structures, subarrays in C and Fortran order, nested and resized ones. Blocks never overlap,
// since the same types are received into.
#include "layout.hpp"

#include <algorithm>
#include <utility>

#include "check.hpp"
#include "quirks.hpp"

namespace soak {

namespace {
struct Basic {
  MPI_Datatype type;
  std::size_t bytes;
};
Basic basic_of(Kind kind) {
  switch (kind) {
    case Kind::byte: return {MPI_BYTE, 1};
    case Kind::chars: return {MPI_CHAR, 1};
    case Kind::int16: return {MPI_SHORT, 2};
    case Kind::int32: return {MPI_INT, 4};
    case Kind::int64: return {MPI_INT64_T, 8};
    case Kind::single: return {MPI_FLOAT, 4};
    case Kind::real: return {MPI_DOUBLE, 8};
    case Kind::complex: return {MPI_C_DOUBLE_COMPLEX, 16};
    default: return {MPI_DATATYPE_NULL, 0};
  }
}
constexpr std::size_t pattern_bytes[] = {4, 8, 1, 1, 2};
constexpr std::size_t pattern_size = 16;
constexpr int pattern_parts = 5;

// Lengths of random blocks that make up `items`.
std::vector<int> blocks_of(Rng& rng, int items) {
  std::vector<int> lengths;
  int most = std::max(1, items / 2);
  for (int left = items; left > 0;) {
    int length = lengths.size() >= 40 ? left : std::min(left, rng.in(1, most));
    lengths.push_back(length);
    left -= length;
    if (rng.percent(5) && lengths.size() < 40) lengths.push_back(0);  // empty blocks are legal
  }
  if (lengths.empty()) lengths.push_back(0);
  return lengths;
}
// Places the blocks with gaps, in random memory order: displacement of each, in items.
std::vector<int> places_of(Rng& rng, const std::vector<int>& lengths) {
  std::vector<int> order(lengths.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  if (rng.percent(40))
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[rng.below(static_cast<int>(i))]);
  std::vector<int> places(lengths.size());
  int at = rng.percent(30) ? rng.in(-8, 8) : 0;
  for (int block : order) {
    places[block] = at;
    at += lengths[block] + (rng.percent(60) ? rng.in(0, 7) : 0);
  }
  return places;
}
}  // namespace

MPI_Datatype basic(Kind kind) { return basic_of(kind).type; }
std::size_t item_bytes(Kind kind) { return kind == Kind::mixed ? pattern_size : basic_of(kind).bytes; }

int basics_in(Kind kind, std::size_t bytes) {
  if (kind != Kind::mixed) return bytes % item_bytes(kind) ? -1 : static_cast<int>(bytes / item_bytes(kind));
  int count = static_cast<int>(bytes / pattern_size) * pattern_parts;
  std::size_t left = bytes % pattern_size;
  for (int part = 0; left > 0; ++part, ++count) {
    if (left < pattern_bytes[part]) return -1;
    left -= pattern_bytes[part];
  }
  return count;
}

int divisor(Rng& rng, int n, int most) {
  if (n <= 1) return 1;
  int start = rng.in(1, std::min(n, most));
  for (int d = start; d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

Layout& Layout::operator=(Layout&& other) noexcept {
  drop();
  type = std::exchange(other.type, MPI_DATATYPE_NULL);
  owned_ = std::exchange(other.owned_, false);
  kind = other.kind;
  size = other.size;
  extent = other.extent;
  runs = std::move(other.runs);
  shape = std::move(other.shape);
  return *this;
}

void Layout::drop() {
  if (owned_) MPI_Type_free(&type);
  owned_ = false;
}

void Layout::commit() {
  MPI_OK(MPI_Type_commit(&type));
  owned_ = true;
}

void Layout::contiguous(Rng&, int items) {
  shape = "contiguous";
  MPI_OK(MPI_Type_contiguous(items, basic(kind), &type));
  if (items > 0) runs.push_back({0, static_cast<std::size_t>(items) * item_bytes(kind)});
}

void Layout::vector(Rng& rng, int items) {
  auto bytes = static_cast<std::ptrdiff_t>(item_bytes(kind));
  int length = divisor(rng, items, std::max(1, items));
  int count = items / length;
  std::ptrdiff_t stride = length + rng.in(0, 9);
  if (rng.percent(25) && !quirks::backward_vectors) stride = -stride;
  shape = stride < 0 ? "vector backwards" : "vector";
  if (rng.percent(30)) {
    shape += " by bytes";
    std::ptrdiff_t odd = stride * bytes + (stride > 0 ? rng.in(0, 3) : 0);
    MPI_OK(MPI_Type_create_hvector(count, length, odd, basic(kind), &type));
    for (int i = 0; i < count; ++i) runs.push_back({i * odd, static_cast<std::size_t>(length * bytes)});
  } else {
    MPI_OK(MPI_Type_vector(count, length, static_cast<int>(stride), basic(kind), &type));
    for (int i = 0; i < count; ++i)
      runs.push_back({i * stride * bytes, static_cast<std::size_t>(length * bytes)});
  }
}

void Layout::indexed(Rng& rng, int items) {
  shape = "indexed";
  std::size_t bytes = item_bytes(kind);
  std::vector<int> lengths = blocks_of(rng, items);
  if (rng.percent(30) && items > 0) {  // equal blocks
    int length = divisor(rng, items, items);
    lengths.assign(static_cast<std::size_t>(std::min(items / length, 1 << 16)), length);
    if (static_cast<int>(lengths.size()) * length != items) lengths = blocks_of(rng, items);
    std::vector<int> places = places_of(rng, lengths);
    if (std::all_of(lengths.begin(), lengths.end(), [&](int l) { return l == lengths[0]; })) {
      shape = "indexed block";
      MPI_OK(MPI_Type_create_indexed_block(static_cast<int>(lengths.size()), lengths[0], places.data(),
                                           basic(kind), &type));
      for (std::size_t i = 0; i < lengths.size(); ++i)
        runs.push_back({places[i] * static_cast<std::ptrdiff_t>(bytes), lengths[i] * bytes});
      return;
    }
  }
  std::vector<int> places = places_of(rng, lengths);
  int blocks = static_cast<int>(lengths.size());
  for (int i = 0; i < blocks; ++i)
    if (lengths[i] > 0) runs.push_back({places[i] * static_cast<std::ptrdiff_t>(bytes), lengths[i] * bytes});
  if (rng.percent(50)) {
    shape = "indexed by items";
    MPI_OK(MPI_Type_indexed(blocks, lengths.data(), places.data(), basic(kind), &type));
    return;
  }
  std::vector<MPI_Aint> far(places.size());
  for (int i = 0; i < blocks; ++i) far[i] = places[i] * static_cast<MPI_Aint>(bytes);
  MPI_OK(MPI_Type_create_hindexed(blocks, lengths.data(), far.data(), basic(kind), &type));
}

void Layout::structure(Rng& rng, int items) {
  shape = "struct";
  std::size_t bytes = item_bytes(kind);
  std::vector<int> lengths = blocks_of(rng, items);
  std::vector<int> places = places_of(rng, lengths);
  std::vector<MPI_Aint> far(places.size());
  std::vector<MPI_Datatype> types(places.size(), basic(kind));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    far[i] = places[i] * static_cast<MPI_Aint>(bytes);
    if (lengths[i] > 0) runs.push_back({far[i], lengths[i] * bytes});
  }
  MPI_OK(MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), far.data(), types.data(),
                                &type));
}

void Layout::subarray(Rng& rng, int items) {
  shape = "subarray";
  auto bytes = static_cast<std::ptrdiff_t>(item_bytes(kind));
  int rows = divisor(rng, items, 200);
  int columns = items / rows;
  int sub[2] = {rows, columns};
  int start[2] = {rng.in(0, 3), rng.in(0, 3)};
  int full[2] = {rows + start[0] + rng.in(0, 3), columns + start[1] + rng.in(0, 3)};
  bool fortran = rng.percent(40);
  if (fortran) shape += " fortran";
  MPI_OK(MPI_Type_create_subarray(2, full, sub, start, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, basic(kind),
                                  &type));
  int inner = fortran ? 0 : 1;
  int outer = 1 - inner;
  for (int i = 0; i < sub[outer]; ++i) {
    std::ptrdiff_t at = static_cast<std::ptrdiff_t>(start[outer] + i) * full[inner] + start[inner];
    runs.push_back({at * bytes, static_cast<std::size_t>(sub[inner] * bytes)});
  }
}

void Layout::nested(Rng& rng, int items) {
  shape = "nested";
  int inside = divisor(rng, items, 50);
  Layout inner = make(rng, kind, inside);
  shape = "nested " + inner.shape;
  int count = items / inside;
  std::ptrdiff_t first = 0;
  std::ptrdiff_t end = 0;
  inner.reach(1, first, end);
  std::ptrdiff_t step = std::max<std::ptrdiff_t>(end - first, 1) + rng.in(0, 20);
  MPI_OK(MPI_Type_create_hvector(count, 1, step, inner.type, &type));
  for (int i = 0; i < count; ++i)
    for (const Run& run : inner.runs) runs.push_back({i * step + run.offset, run.bytes});
}

// Several patterns of the mixed kind: a structure whose parts lie anywhere, as its own element.
void Layout::pattern(Rng& rng, int items) {
  shape = "mixed struct";
  static const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_CHAR, MPI_SHORT};
  std::vector<int> lengths(pattern_parts, 1);
  std::vector<int> places = places_of(rng, lengths);  // slots of 16 bytes, so that nothing overlaps
  MPI_Aint far[pattern_parts];
  int slot = rng.percent(50) ? 16 : 8;
  for (int i = 0; i < pattern_parts; ++i) far[i] = static_cast<MPI_Aint>(places[i]) * slot;
  MPI_Datatype one = MPI_DATATYPE_NULL;
  MPI_OK(MPI_Type_create_struct(pattern_parts, lengths.data(), far, parts, &one));
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  constexpr MPI_Aint room = 16 * 48;
  MPI_OK(MPI_Type_create_resized(one, 0, room, &spaced));
  MPI_OK(MPI_Type_contiguous(items, spaced, &type));
  for (int i = 0; i < items; ++i)
    for (int part = 0; part < pattern_parts; ++part)
      runs.push_back({i * room + far[part], pattern_bytes[part]});
  MPI_OK(MPI_Type_free(&one));
  MPI_OK(MPI_Type_free(&spaced));
}

void Layout::resize(Rng& rng) {
  shape += " resized";
  std::ptrdiff_t first = 0;
  std::ptrdiff_t end = 0;
  reach(1, first, end);
  MPI_Aint lower = first - rng.in(0, 16);
  MPI_Aint wide = end - first + rng.in(0, 40) + 16;
  MPI_Datatype old = type;
  MPI_OK(MPI_Type_create_resized(old, lower, wide, &type));
  MPI_OK(MPI_Type_free(&old));
}

Layout Layout::make(Rng& rng, Kind kind, int items, bool only_contiguous) {
  Layout layout;
  layout.kind = kind;
  int shape = only_contiguous ? 1 : rng.below(9);
  if (kind == Kind::mixed) {
    layout.pattern(rng, items);
  } else if (items == 1 && rng.percent(50)) {
    layout.type = basic(kind);
    layout.shape = "basic";
    layout.runs.push_back({0, item_bytes(kind)});
    layout.size = item_bytes(kind);
    layout.extent = static_cast<std::ptrdiff_t>(layout.size);
    return layout;
  } else if (items <= 0 || shape <= 1) {
    layout.contiguous(rng, items);
  } else if (shape <= 3) {
    layout.vector(rng, items);
  } else if (shape == 4) {
    layout.indexed(rng, items);
  } else if (shape == 5) {
    layout.structure(rng, items);
  } else if (shape == 6) {
    layout.subarray(rng, items);
  } else {
    layout.nested(rng, items);
  }
  if (!only_contiguous && rng.percent(25)) layout.resize(rng);
  layout.commit();
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_OK(MPI_Type_size(layout.type, &size));
  MPI_OK(MPI_Type_get_extent(layout.type, &lower, &extent));
  for (const Run& run : layout.runs) layout.size += run.bytes;
  EXPECT(layout.size == static_cast<std::size_t>(size));
  layout.extent = extent;
  // Elements of a shape with a hull smaller than its data (negative strides) would overlap: spread them.
  std::ptrdiff_t first = 0;
  std::ptrdiff_t end = 0;
  layout.reach(1, first, end);
  if (extent < end - first) {
    MPI_Datatype old = layout.type;
    MPI_OK(MPI_Type_create_resized(old, first, end - first, &layout.type));
    MPI_OK(MPI_Type_commit(&layout.type));
    MPI_OK(MPI_Type_free(&old));
    layout.extent = end - first;
  }
  return layout;
}

void Layout::reach(int count, std::ptrdiff_t& first, std::ptrdiff_t& end) const {
  first = end = 0;
  if (count <= 0 || runs.empty()) return;
  first = runs[0].offset;
  end = first;
  for (const Run& run : runs) {
    first = std::min(first, run.offset);
    end = std::max(end, run.offset + static_cast<std::ptrdiff_t>(run.bytes));
  }
  std::ptrdiff_t last = (count - 1) * extent;
  if (last > 0) end += last;
  if (last < 0) first += last;
}

void Layout::scatter(const char* stream, std::size_t bytes, char* memory) const {
  for (std::size_t at = 0; at < bytes; memory += extent)
    for (const Run& run : runs) {
      std::size_t part = std::min(run.bytes, bytes - at);
      if (part > 0) std::memcpy(memory + run.offset, stream + at, part);
      at += part;
    }
}

void Layout::gather(const char* memory, std::size_t bytes, char* stream) const {
  for (std::size_t at = 0; at < bytes; memory += extent)
    for (const Run& run : runs) {
      std::size_t part = std::min(run.bytes, bytes - at);
      if (part > 0) std::memcpy(stream + at, memory + run.offset, part);
      at += part;
    }
}

}  // namespace soak
