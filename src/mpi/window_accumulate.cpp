// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The accumulate family. MPI wants each element changed as a whole: who changes one holds the guard of the
// stripe of the member's memory in which it begins. So large operations run at the speed of the kernels,
// stripe by stripe, and those of several ranks beside each other. Whether a call is ours follows from the
// window, the member, the operation and the basic type alone: the library's own way is not atomic to ours.
#include <cstring>
#include <memory>
#include <new>

#include "mpi/op.hpp"
#include "mpi/ours.hpp"
#include "mpi/request.hpp"
#include "mpi/window_place.hpp"

namespace nigh::mpi {
namespace {

class Held {
 public:
  explicit Held(Card::Guard& guard) : guard_(guard) {
    if (!take()) process().waiter->until([this] { return take(); });
  }
  ~Held() { guard_.held.store(0, std::memory_order_release); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  bool take() {
    return guard_.held.load(std::memory_order_relaxed) == 0 &&
           guard_.held.exchange(1, std::memory_order_acquire) == 0;
  }
  Card::Guard& guard_;
};

// All guards of a card, in their order.
class HeldAll {
 public:
  explicit HeldAll(Card& card) {
    for (std::size_t i = 0; i < stripe_count; ++i) new (&at(i)) Held(card.guards[i]);
  }
  ~HeldAll() {
    for (std::size_t i = 0; i < stripe_count; ++i) at(i).~Held();
  }
  HeldAll(const HeldAll&) = delete;
  HeldAll& operator=(const HeldAll&) = delete;

 private:
  Held& at(std::size_t i) { return reinterpret_cast<Held*>(memory_)[i]; }
  alignas(Held) unsigned char memory_[stripe_count * sizeof(Held)];
};

// One call, with its buffers in one piece. `basic`: the type of the elements, `element`: their bytes.
struct Change {
  Accumulation what;
  const TypeInfo* basic = nullptr;
  std::size_t element = 0;
  const char* origin = nullptr;  // not asked by MPI_NO_OP
  char* result = nullptr;        // nullptr: nobody asks
};

// A pair with bytes that are nobody's within or behind it: those in the member's memory may be the program's.
void combine_padded(const message::Combine& combine, const TypeInfo& basic, char* to, const char* from) {
  alignas(16) char a[64] = {}, b[64] = {};
  message::copy(a, &basic.layout, to, nullptr, 0, basic.size);
  message::copy(b, &basic.layout, from, nullptr, 0, basic.size);
  void* const out[] = {a};
  const void* const in[] = {a, b};
  combine.kernel(out, 1, in, 2, 0, 1, combine.user);
  message::copy(to, nullptr, a, &basic.layout, 0, basic.size);
}

// `count` elements in one piece, which are bytes [at, ...) of the message. Within guards.
void change(const Change& c, char* to, std::size_t at, std::size_t count) {
  const std::size_t bytes = count * c.element;
  if (c.result) copy_piece(c.result + at, to, bytes);
  if (c.what.replaces) {
    copy_piece(to, c.origin + at, bytes);
  } else if (c.what.combine && c.what.combine->element_bytes == c.element) {
    void* const out[] = {to};
    const void* const in[] = {to, c.origin + at};
    c.what.combine->kernel(out, 1, in, 2, 0, count, c.what.combine->user);
  } else if (c.what.combine) {
    for (std::size_t i = 0; i < count; ++i)
      combine_padded(*c.what.combine, *c.basic, to + i * c.element, c.origin + at + i * c.element);
  }
}

// The same for a piece of any length, stripe by stripe.
void change_striped(const Change& c, const Target& target, char* to, std::size_t at, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const auto offset = static_cast<std::size_t>(to + done - target.base);
    const std::size_t stripe = offset / stripe_bytes;
    const std::size_t room = (stripe + 1) * stripe_bytes - offset;
    const std::size_t count = std::min((bytes - done) / c.element, (room + c.element - 1) / c.element);
    const Held guard(target.card->guards[stripe % stripe_count]);
    change(c, to + done, at + done, count);
    done += count * c.element;
  }
}

// False: no memory.
bool change_all(const Change& c, const Target& target, char* there, MPI_Count count, TypeInfo& type,
                std::size_t bytes) {
  // MPI_SHORT_INT has a gap within: no piece of memory holds all of it and no more.
  const bool in_pieces = c.basic->contiguous || c.basic->layout.block_count == 1;
  if (type.contiguous) {
    change_striped(c, target, there + type.lower, 0, bytes);
    return true;
  }
  if (!type.opaque && in_pieces) {
    std::size_t at = 0;
    for (MPI_Count i = 0; i < count; ++i, there += type.extent)
      for (std::size_t b = 0; b < type.layout.block_count; ++b) {
        const message::Block& block = type.layout.blocks[b];
        change_striped(c, target, there + block.offset, at, block.bytes);
        at += block.bytes;
      }
    return true;
  }
  const std::unique_ptr<char[]> packed(new (std::nothrow) char[bytes]);
  if (!packed) return false;
  const HeldAll guards(*target.card);
  if (!pack(packed.get(), bytes, there, count, type)) return false;
  change(c, packed.get(), 0, bytes / c.element);
  return unpack(packed.get(), bytes, there, count, type);
}

// The usual case, as short as can be: elements of one predefined type that are one piece, in an epoch that is
// open. False: perhaps another one.
bool change_piece(Window* window, Function function, MPI_Datatype type, MPI_Count count, int member,
                  MPI_Aint displacement, MPI_Op op, const void* origin, void* result) {
  const TypeInfo* info = cached_type_info(type);
  if (!window || !window->is_member(member) || !info || !info->named || !info->contiguous || count <= 0)
    return false;
  const Target& target = window->targets[static_cast<std::size_t>(member)];
  Change what{.what = {},
              .basic = info,
              .element = info->size,
              .origin = static_cast<const char*>(origin),
              .result = static_cast<char*>(result)};
  if (!target.accumulates || !find_accumulation(op, type, what.what) || !is_open(*window, target))
    return false;
  const bool sends = what.what.replaces || what.what.combine;
  std::size_t bytes = 0;
  Reason reason = Reason::other;
  if ((sends && is_nowhere(origin, *info)) || (!sends && !result) || result == MPI_IN_PLACE ||
      __builtin_mul_overflow(static_cast<std::size_t>(count), info->size, &bytes))
    return false;
  char* there = place_of(target, displacement, *info, count, reason);
  if (!there) return false;
  change_striped(what, target, there, 0, bytes);
  nigh::mpi::count(function, Reason::covered, bytes);
  return true;
}

struct Side {
  void* data = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// A buffer of this rank as one piece: where it lies, or beside it.
struct Piece {
  char* data = nullptr;
  std::unique_ptr<char[]> packed = nullptr;
};
bool in_one_piece(const Side& side, TypeInfo& info, std::size_t bytes, bool filled, Piece& piece) {
  if (info.contiguous) {
    piece.data = static_cast<char*>(side.data) + info.lower;
    return true;
  }
  piece.packed.reset(new (std::nothrow) char[bytes]);
  piece.data = piece.packed.get();
  return piece.data && (!filled || pack(piece.data, bytes, side.data, side.count, info));
}

struct Call {
  Side origin, result;  // a result of no type: none is asked for
  int member = 0;
  MPI_Aint displacement = 0;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

enum class Done { yes, no, no_memory };

// `reason` says why the call is the library's, `bytes` how much the program sends.
Done accumulate(Window* window, const Call& call, Reason& reason, std::uint64_t& bytes) {
  reason = Reason::foreign;
  if (!window || !window->is_member(call.member)) return Done::no;
  const Target& target = window->targets[static_cast<std::size_t>(call.member)];
  reason = window->together ? Reason::unshared : Reason::distant;
  if (!target.accumulates) return Done::no;
  reason = Reason::other;
  TypeInfo* type = type_info(call.type);
  if (!type || !type->committed || call.count < 0 ||
      __builtin_mul_overflow(type->size, static_cast<std::size_t>(call.count), &bytes))
    return Done::no;
  Change what;
  const MPI_Datatype basic = basic_type(call.type, *type);
  const TypeInfo* element = basic == MPI_DATATYPE_NULL ? nullptr : type_info(basic);
  reason = Reason::operation;
  if (!element || !find_accumulation(call.op, basic, what.what)) return Done::no;
  what.basic = element;
  what.element = element->size;
  const bool sends = what.what.replaces || what.what.combine;
  const bool fetches = call.result.type != MPI_DATATYPE_NULL;
  reason = Reason::other;
  if (!sends && !fetches) return Done::no;
  TypeInfo* origin = sends ? type_info(call.origin.type) : nullptr;
  TypeInfo* result = fetches ? type_info(call.result.type) : nullptr;
  const auto fits = [&](const Side& side, const TypeInfo* info) {
    return info && info->committed && side.count >= 0 &&
           info->size * static_cast<std::size_t>(side.count) == bytes &&
           (bytes == 0 || !is_nowhere(side.data, *info));
  };
  if ((sends && !fits(call.origin, origin)) || (fetches && !fits(call.result, result))) return Done::no;
  if (!is_open(*window, target) && !wait_open(*window, target, true)) return Done::no;
  if (bytes == 0) return Done::yes;
  char* there = place_of(target, call.displacement, *type, call.count, reason);
  if (!there) return Done::no;
  Piece from, to;
  if (sends && !in_one_piece(call.origin, *origin, bytes, true, from)) return Done::no_memory;
  if (fetches && !in_one_piece(call.result, *result, bytes, false, to)) return Done::no_memory;
  what.origin = from.data;
  what.result = to.data;
  if (!change_all(what, target, there, call.count, *type, bytes)) return Done::no_memory;
  const bool delivered = !to.packed || unpack(to.data, bytes, call.result.data, call.result.count, *result);
  return delivered ? Done::yes : Done::no_memory;
}

int without_memory(MPI_Win win) {
  real().Win_call_errhandler(win, MPI_ERR_NO_MEM);
  return MPI_ERR_NO_MEM;
}

template <class Library>
int run(Function function, const Call& call, MPI_Win win, Library&& library) {
  Window* window = window_of(win);
  const bool fetches = call.result.type != MPI_DATATYPE_NULL;
  if (call.origin.type == call.type && call.origin.count == call.count &&
      (!fetches || (call.result.type == call.type && call.result.count == call.count && call.result.data)) &&
      change_piece(window, function, call.type, call.count, call.member, call.displacement, call.op,
                   call.origin.data, call.result.data))
    return MPI_SUCCESS;
  Reason reason = Reason::other;
  std::uint64_t bytes = 0;
  switch (accumulate(window, call, reason, bytes)) {
    case Done::yes: count(function, Reason::covered, bytes); return MPI_SUCCESS;
    case Done::no_memory: return without_memory(win);
    default: return leave(function, window, call.member, reason, bytes, library);
  }
}

template <class Library>
int run(Function function, const Call& call, MPI_Win win, MPI_Request* request, Library&& library) {
  Window* window = window_of(win);
  Reason reason = Reason::other;
  std::uint64_t bytes = 0;
  const bool may = request && window && window->is_passive();
  const Done done = may ? accumulate(window, call, reason, bytes) : Done::no;
  if (done == Done::no) return leave(function, window, call.member, reason, bytes, library);
  if (done == Done::no_memory || !completed(request)) return without_memory(win);
  count(function, Reason::covered, bytes);
  let_others_go_on(*window);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names and brace lists
#define NIGH_SIDE(side) {const_cast<void*>(static_cast<const void*>(side)), side##_count, side##_type}
#define NIGH_ACCUMULATE(side, outcome) \
  {.origin = NIGH_SIDE(side),          \
   .result = outcome,                  \
   .member = member,                   \
   .displacement = displacement,       \
   .count = count,                     \
   .type = type,                       \
   .op = op}
// NOLINTEND(bugprone-macro-parentheses)

int nigh_mpi_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int member,
                        MPI_Aint displacement, int count, MPI_Datatype type, MPI_Op op, MPI_Win win) {
  return run(Function::Accumulate, NIGH_ACCUMULATE(origin, {}), win, [&] {
    return real().Accumulate(origin, origin_count, origin_type, member, displacement, count, type, op, win);
  });
}

int nigh_mpi_Accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int member,
                          MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Win win) {
  return run(Function::Accumulate_c, NIGH_ACCUMULATE(origin, {}), win, [&] {
    return real().Accumulate_c(origin, origin_count, origin_type, member, displacement, count, type, op, win);
  });
}

int nigh_mpi_Get_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result,
                            int result_count, MPI_Datatype result_type, int member, MPI_Aint displacement,
                            int count, MPI_Datatype type, MPI_Op op, MPI_Win win) {
  return run(Function::Get_accumulate, NIGH_ACCUMULATE(origin, NIGH_SIDE(result)), win, [&] {
    return real().Get_accumulate(origin, origin_count, origin_type, result, result_count, result_type, member,
                                 displacement, count, type, op, win);
  });
}

int nigh_mpi_Get_accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type,
                              void* result, MPI_Count result_count, MPI_Datatype result_type, int member,
                              MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Op op,
                              MPI_Win win) {
  return run(Function::Get_accumulate_c, NIGH_ACCUMULATE(origin, NIGH_SIDE(result)), win, [&] {
    return real().Get_accumulate_c(origin, origin_count, origin_type, result, result_count, result_type,
                                   member, displacement, count, type, op, win);
  });
}

int nigh_mpi_Raccumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int member,
                         MPI_Aint displacement, int count, MPI_Datatype type, MPI_Op op, MPI_Win win,
                         MPI_Request* request) {
  return run(Function::Raccumulate, NIGH_ACCUMULATE(origin, {}), win, request, [&] {
    return real().Raccumulate(origin, origin_count, origin_type, member, displacement, count, type, op, win,
                              request);
  });
}

int nigh_mpi_Raccumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int member,
                           MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Win win,
                           MPI_Request* request) {
  return run(Function::Raccumulate_c, NIGH_ACCUMULATE(origin, {}), win, request, [&] {
    return real().Raccumulate_c(origin, origin_count, origin_type, member, displacement, count, type, op, win,
                                request);
  });
}

int nigh_mpi_Rget_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result,
                             int result_count, MPI_Datatype result_type, int member, MPI_Aint displacement,
                             int count, MPI_Datatype type, MPI_Op op, MPI_Win win, MPI_Request* request) {
  return run(Function::Rget_accumulate, NIGH_ACCUMULATE(origin, NIGH_SIDE(result)), win, request, [&] {
    return real().Rget_accumulate(origin, origin_count, origin_type, result, result_count, result_type,
                                  member, displacement, count, type, op, win, request);
  });
}

int nigh_mpi_Rget_accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type,
                               void* result, MPI_Count result_count, MPI_Datatype result_type, int member,
                               MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Op op,
                               MPI_Win win, MPI_Request* request) {
  return run(Function::Rget_accumulate_c, NIGH_ACCUMULATE(origin, NIGH_SIDE(result)), win, request, [&] {
    return real().Rget_accumulate_c(origin, origin_count, origin_type, result, result_count, result_type,
                                    member, displacement, count, type, op, win, request);
  });
}

int nigh_mpi_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int member,
                          MPI_Aint displacement, MPI_Op op, MPI_Win win) {
  constexpr Function function = Function::Fetch_and_op;
  if (result && change_piece(window_of(win), function, type, 1, member, displacement, op, origin, result))
    return MPI_SUCCESS;
  const Call call = {.origin = {const_cast<void*>(origin), 1, type},
                     .result = {result, 1, type},
                     .member = member,
                     .displacement = displacement,
                     .count = 1,
                     .type = type,
                     .op = op};
  return run(function, call, win,
             [&] { return real().Fetch_and_op(origin, result, type, member, displacement, op, win); });
}

// Exchanges one element under the guard that accumulates of it take.
int nigh_mpi_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                              int member, MPI_Aint displacement, MPI_Win win) {
  constexpr Function function = Function::Compare_and_swap;
  const auto by_library = [&] {
    return real().Compare_and_swap(origin, compare, result, type, member, displacement, win);
  };
  Window* window = window_of(win);
  if (!window || !window->is_member(member))
    return leave(function, window, member, Reason::foreign, 0, by_library);
  const Target& target = window->targets[static_cast<std::size_t>(member)];
  const TypeInfo* info = type_info(type);
  Accumulation any;
  Reason reason = window->together ? Reason::unshared : Reason::distant;
  const bool ours = target.accumulates && info && info->named && info->contiguous && origin && compare &&
                    result && is_comparable(type) && find_accumulation(MPI_NO_OP, type, any) &&
                    (is_open(*window, target) || wait_open(*window, target, true));
  char* there = ours ? place_of(target, displacement, *info, 1, reason) : nullptr;
  if (!there) return leave(function, window, member, reason, 0, by_library);
  const auto offset = static_cast<std::size_t>(there - target.base);
  {
    const Held guard(target.card->guards[offset / stripe_bytes % stripe_count]);
    std::memcpy(result, there, info->size);
    if (std::memcmp(result, compare, info->size) == 0) std::memcpy(there, origin, info->size);
  }
  nigh::mpi::count(function, Reason::covered, info->size);
  return MPI_SUCCESS;
}
