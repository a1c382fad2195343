// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Picks the machine's kernels and dresses them as the Combine values that calls point to.
#include "message/combine.hpp"

namespace nigh::message {
namespace {

constexpr int ops = static_cast<int>(Op::count), elements = static_cast<int>(Element::count);

constexpr std::size_t sizes[elements] = {1, 2,  4,
                                         8, 1,  2,
                                         4, 8,  // integers
                                         4, 8,  sizeof(long double),
                                         8, 16, 2 * sizeof(long double),  // floats, complex
                                         8, 16, 16,
                                         8, 8,  2 * sizeof(long double),
                                         8, 16, 8,
                                         1};  // pairs, boolean

bool is_float(Element element) { return element >= Element::f32 && element <= Element::c80; }

struct Table {
  Combine combines[ops][elements];
  Table() {
    for (int op = 0; op < ops; ++op)
      for (int element = 0; element < elements; ++element) {
        const bool rounds = (static_cast<Op>(op) == Op::sum || static_cast<Op>(op) == Op::prod) &&
                            is_float(static_cast<Element>(element));
        const Kernels* const* set = usable_kernels();  // the best that has it
        while (!(*set)->plain[op][element] && set[1]) ++set;
        const Kernels& kernels = **set;
        combines[op][element] = {.kernel = kernels.plain[op][element],
                                 .element_bytes = sizes[element],
                                 .user = nullptr,
                                 .floating_sum = rounds,
                                 .commutative = true,
                                 .ordered = kernels.ordered[op][element]};
      }
  }
};

struct Usable {
  const Kernels* list[4] = {};
  Usable() {
    int count = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      list[count++] = &avx512_kernels;
    if (__builtin_cpu_supports("avx2")) list[count++] = &avx2_kernels;
#endif
    list[count] = &base_kernels;
  }
};

}  // namespace

std::size_t element_bytes(Element element) { return sizes[static_cast<int>(element)]; }

const Kernels* const* usable_kernels() {
  static const Usable usable;
  return usable.list;
}

const Combine* find_combine(Op op, Element element) {
  if (op >= Op::count || element >= Element::count) return nullptr;
  static const Table table;
  const Combine& combine = table.combines[static_cast<int>(op)][static_cast<int>(element)];
  return combine.kernel ? &combine : nullptr;
}

}  // namespace nigh::message
