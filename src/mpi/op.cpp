// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See op.hpp. MPI 4.0, 6.9.2 says which operations exist on which group of types; the groups are bits here.
// Sizes of Fortran's types are asked of the library, because compilers can change them (-i8, -r8).
#include "mpi/op.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace nigh::mpi {
namespace {

using message::Combine;
using message::Element;
using message::Op;

// Groups of types.
enum : unsigned {
  kInteger = 1,  // of C
  kFortran = 2,  // Fortran's integers
  kFloating = 4,
  kLogical = 8,
  kComplex = 16,
  kByte = 32,
  kMulti = 64,  // MPI_AINT and the like
  kPair = 128
};

constexpr unsigned groups_of(Op op) {
  switch (op) {
    case Op::min:
    case Op::max: return kInteger | kFortran | kFloating | kMulti;
    case Op::sum:
    case Op::prod: return kInteger | kFortran | kFloating | kComplex | kMulti;
    case Op::land:
    case Op::lor:
    case Op::lxor: return kInteger | kLogical;
    case Op::band:
    case Op::bor:
    case Op::bxor: return kInteger | kFortran | kByte | kMulti;
    case Op::minloc:
    case Op::maxloc: return kPair;
    case Op::count: break;
  }
  return 0;
}

// Handles are ints or pointers; neither has entropy in one place only.
template <class Handle>
std::size_t spread(Handle handle) {
  std::uint64_t bits = 0;
  static_assert(sizeof(Handle) <= sizeof bits);
  std::memcpy(&bits, &handle, sizeof handle);
  return static_cast<std::size_t>((bits * 0x9e3779b97f4a7c15u) >> 40);
}

// Open addressing; filled once, at most half full, never changed afterwards.
template <class Handle, class Value, std::size_t Slots>
class Table {
 public:
  void add(Handle key, Value value) {
    std::size_t i = spread(key) % Slots;
    while (slots_[i].used) {
      if (slots_[i].key == key) return;  // two names of one type
      i = (i + 1) % Slots;
    }
    slots_[i] = {key, value, true};
  }
  const Value* find(Handle key) const {
    for (std::size_t i = spread(key) % Slots; slots_[i].used; i = (i + 1) % Slots)
      if (slots_[i].key == key) return &slots_[i].value;
    return nullptr;
  }

 private:
  struct Slot {
    Handle key;
    Value value;
    bool used;
  };
  Slot slots_[Slots] = {};
};

struct TypeEntry {
  unsigned groups = 0;  // 0: only user's functions
  std::uint32_t extent = 0;
  const Combine* combines[static_cast<int>(Op::count)] = {};
};

Table<MPI_Datatype, TypeEntry, 256> types;
Table<MPI_Op, Op, 64> ops;

Element integer_of(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? Element::i8 : Element::u8;
    case 2: return is_signed ? Element::i16 : Element::u16;
    case 4: return is_signed ? Element::i32 : Element::u32;
    case 8: return is_signed ? Element::i64 : Element::u64;
    default: return Element::count;
  }
}

Element floating_of(std::size_t bytes) {
  return bytes == 4 ? Element::f32 : bytes == 8 ? Element::f64 : Element::count;
}

Element complex_of(std::size_t bytes) {
  return bytes == 8 ? Element::c32 : bytes == 16 ? Element::c64 : Element::count;
}

// The library's size and extent of a type; false when it has no such type.
bool measure(MPI_Datatype type, std::size_t& size, std::size_t& extent) {
  if (type == MPI_DATATYPE_NULL) return false;
  int bytes = 0;
  MPI_Aint lower = 0, between = 0;
  if (real().Type_size(type, &bytes) != MPI_SUCCESS || bytes <= 0) return false;
  if (real().Type_get_extent(type, &lower, &between) != MPI_SUCCESS || lower != 0 || between < bytes)
    return false;
  size = static_cast<std::size_t>(bytes);
  extent = static_cast<std::size_t>(between);
  return true;
}

void add(MPI_Datatype type, unsigned groups, Element element, std::size_t extent) {
  TypeEntry entry;
  entry.extent = static_cast<std::uint32_t>(extent);
  for (int o = 0; o < static_cast<int>(Op::count) && element != Element::count; ++o) {
    if ((groups_of(static_cast<Op>(o)) & groups) == 0) continue;
    const Combine* combine = message::find_combine(static_cast<Op>(o), element);
    // The library's layout of a pair decides; one that differs from the compiler's is left to it.
    if (combine != nullptr && combine->element_bytes == extent) entry.combines[o] = combine;
  }
  entry.groups = groups;
  types.add(type, entry);
}

using Sized = Element (*)(std::size_t);
void add_sized(MPI_Datatype type, unsigned groups, Sized element_of) {
  std::size_t size = 0, extent = 0;
  if (measure(type, size, extent))
    add(type, groups, size == extent ? element_of(size) : Element::count, extent);
}

void add_fixed(MPI_Datatype type, unsigned groups, Element element) {
  std::size_t size = 0, extent = 0;
  if (measure(type, size, extent)) add(type, groups, element, extent);
}

Element signed_of(std::size_t bytes) { return integer_of(bytes, true); }
Element unsigned_of(std::size_t bytes) { return integer_of(bytes, false); }
Element long_double_of(std::size_t bytes) {
  return bytes == sizeof(long double) ? Element::f80 : Element::count;
}

void add_c_types() {
  for (MPI_Datatype type : {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T,
                            MPI_INT16_T, MPI_INT32_T, MPI_INT64_T})
    add_sized(type, kInteger, signed_of);
  for (MPI_Datatype type : {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                            MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
    add_sized(type, kInteger, unsigned_of);
  for (MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE}) add_sized(type, kFloating, floating_of);
  add_sized(MPI_LONG_DOUBLE, kFloating, long_double_of);
  for (MPI_Datatype type : {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX}) add_sized(type, kComplex, complex_of);
  add_fixed(MPI_C_LONG_DOUBLE_COMPLEX, kComplex, Element::c80);
  add_fixed(MPI_C_BOOL, kLogical, Element::boolean);
  add_sized(MPI_BYTE, kByte, unsigned_of);
  for (MPI_Datatype type : {MPI_AINT, MPI_OFFSET, MPI_COUNT}) add_sized(type, kMulti, signed_of);
  for (MPI_Datatype type : {MPI_CHAR, MPI_WCHAR, MPI_PACKED}) add_fixed(type, 0, Element::count);
}

void add_cxx_types() {
  add_fixed(MPI_CXX_BOOL, kLogical, Element::boolean);
  for (MPI_Datatype type : {MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX})
    add_sized(type, kComplex, complex_of);
  add_fixed(MPI_CXX_LONG_DOUBLE_COMPLEX, kComplex, Element::c80);
}

void add_fortran_types() {
  for (MPI_Datatype type : {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
    add_sized(type, kFortran, signed_of);
  for (MPI_Datatype type : {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
    add_sized(type, kFloating, floating_of);
  for (MPI_Datatype type : {MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
    add_sized(type, kComplex, complex_of);
  add_sized(MPI_LOGICAL, kLogical, signed_of);
  add_fixed(MPI_CHARACTER, 0, Element::count);
}

void add_pairs() {
  add_fixed(MPI_FLOAT_INT, kPair, Element::f32_int);
  add_fixed(MPI_DOUBLE_INT, kPair, Element::f64_int);
  add_fixed(MPI_LONG_INT, kPair, Element::i64_int);
  add_fixed(MPI_SHORT_INT, kPair, Element::i16_int);
  add_fixed(MPI_LONG_DOUBLE_INT, kPair, Element::f80_int);
  add_fixed(MPI_2INT, kPair, Element::i32_int);
  std::size_t size = 0, extent = 0;
  if (measure(MPI_2REAL, size, extent))
    add(MPI_2REAL, kPair, size == 8 ? Element::f32_f32 : Element::f64_f64, extent);
  add_fixed(MPI_2DOUBLE_PRECISION, kPair, Element::f64_f64);
  add_fixed(MPI_2INTEGER, kPair, Element::i32_i32);
}

// --- the user's functions ---

// MPI_Reduce_local(in, inout) makes in op inout: from the last operand to the first, then. Pieces keep the
// accumulator small; the operands are read before the outputs of the same piece are written.
void user_kernel(void* const* out, int outs, const void* const* in, int ins, std::size_t first,
                 std::size_t last, void* user) {
  const auto& mine = *static_cast<const Reduction*>(user);
  const std::size_t size = mine.own.element_bytes;
  alignas(64) char accumulator[8192];
  const std::size_t most = sizeof accumulator / size;
  for (std::size_t at = first; at < last;) {
    const std::size_t count = last - at < most ? last - at : most;
    const std::size_t offset = at * size;
    std::memcpy(accumulator, static_cast<const char*>(in[ins - 1]) + offset, count * size);
    for (int i = ins - 2; i >= 0; --i)
      real().Reduce_local(static_cast<const char*>(in[i]) + offset, accumulator, static_cast<int>(count),
                          mine.type, mine.op);
    for (int o = 0; o < outs; ++o)
      std::memcpy(static_cast<char*>(out[o]) + offset, accumulator, count * size);
    at += count;
  }
}

}  // namespace

void make_op_tables() {
  add_c_types();
  add_cxx_types();
  add_fortran_types();
  add_pairs();
  const struct {
    MPI_Op handle;
    Op op;
  } known[] = {{MPI_SUM, Op::sum},       {MPI_PROD, Op::prod},     {MPI_MIN, Op::min},
               {MPI_MAX, Op::max},       {MPI_LAND, Op::land},     {MPI_LOR, Op::lor},
               {MPI_LXOR, Op::lxor},     {MPI_BAND, Op::band},     {MPI_BOR, Op::bor},
               {MPI_BXOR, Op::bxor},     {MPI_MINLOC, Op::minloc}, {MPI_MAXLOC, Op::maxloc},
               {MPI_REPLACE, Op::count}, {MPI_NO_OP, Op::count},   {MPI_OP_NULL, Op::count}};
  for (const auto& [handle, op] : known) ops.add(handle, op);
}

const Combine* Reduction::find(MPI_Op an_op, MPI_Datatype a_type) {
  const TypeEntry* entry = types.find(a_type);
  if (entry == nullptr) return nullptr;
  if (const Op* known = ops.find(an_op); known != nullptr)
    return *known == Op::count ? nullptr : entry->combines[static_cast<int>(*known)];
  op = an_op;
  type = a_type;
  own = {user_kernel, entry->extent, this, false};
  return &own;
}

bool find_accumulation(MPI_Op op, MPI_Datatype type, Accumulation& found) {
  const TypeEntry* entry = types.find(type);
  if (!entry) return false;
  found.replaces = op == MPI_REPLACE;
  if (op == MPI_NO_OP || found.replaces)
    return entry->groups == 0 || std::any_of(std::begin(entry->combines), std::end(entry->combines),
                                             [](const Combine* one) { return one != nullptr; });
  const Op* known = ops.find(op);
  if (!known || *known == Op::count) return false;
  found.combine = entry->combines[static_cast<int>(*known)];
  return found.combine != nullptr;
}

bool is_comparable(MPI_Datatype type) {
  const TypeEntry* entry = types.find(type);
  return entry && (entry->groups & (kInteger | kFortran | kLogical | kByte | kMulti)) != 0;
}

}  // namespace nigh::mpi
