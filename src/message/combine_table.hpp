// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The operations that are defined on each element (MPI 4.0, 6.9.2), as the table of one instruction set.
// Signed and unsigned integers share the kernels in which the sign makes no difference, so that wrapping is
// defined too.
#pragma once

#include "message/combine_ordered.hpp"

namespace nigh::message {
namespace {

struct Maker {
  Kernels table{};
  constexpr CombineKernel& plain(Op op, Element element) {
    return table.plain[static_cast<int>(op)][static_cast<int>(element)];
  }
  constexpr CombineKernel& ordered_of(Op op, Element element) {
    return table.ordered[static_cast<int>(op)][static_cast<int>(element)];
  }

  template <class T>
  constexpr void logical(Element element) {
    plain(Op::land, element) = combine<T, Land>;
    plain(Op::lor, element) = combine<T, Lor>;
    plain(Op::lxor, element) = combine<T, Lxor>;
  }
  template <class Signed, class Unsigned>
  constexpr void integers(Element with_sign, Element without) {
    for (const Element element : {with_sign, without}) {
      plain(Op::sum, element) = combine<Unsigned, Sum>;
      plain(Op::prod, element) = combine<Unsigned, Prod>;
      plain(Op::band, element) = combine<Unsigned, Band>;
      plain(Op::bor, element) = combine<Unsigned, Bor>;
      plain(Op::bxor, element) = combine<Unsigned, Bxor>;
      logical<Unsigned>(element);
    }
    plain(Op::min, with_sign) = combine<Signed, Min>;
    plain(Op::max, with_sign) = combine<Signed, Max>;
    plain(Op::min, without) = combine<Unsigned, Min>;
    plain(Op::max, without) = combine<Unsigned, Max>;
  }
  template <class T>
  constexpr void floats(Element element) {
    plain(Op::sum, element) = combine<T, Sum>;
    plain(Op::prod, element) = combine<T, Prod>;
    plain(Op::min, element) = combine<T, Min>;
    plain(Op::max, element) = combine<T, Max>;
  }
  template <class T, class Key>
  constexpr void words_in_order(Element element) {
    ordered_of(Op::sum, element) = ordered<T, Key, Sum>;
    ordered_of(Op::prod, element) = ordered<T, Key, Prod>;
    ordered_of(Op::min, element) = ordered<T, Key, Min>;
    ordered_of(Op::max, element) = ordered<T, Key, Max>;
  }
  template <class T>
  constexpr void complex(Element element) {
    plain(Op::sum, element) = by_parts<T, combine<T, Sum>>;
#ifndef NIGH_FUSES_COMPLEX
    plain(Op::prod, element) = combine<Complex<T>, ComplexProd>;
    ordered_of(Op::prod, element) = ordered_singly<Complex<T>, ComplexProd>;
#endif
  }
  template <class V, class I>
  constexpr void pairs(Element element) {
    plain(Op::minloc, element) = combine<Pair<V, I>, MinLoc>;
    plain(Op::maxloc, element) = combine<Pair<V, I>, MaxLoc>;
  }
  template <class V, class I>
  constexpr void float_pairs(Element element) {
    pairs<V, I>(element);
    ordered_of(Op::minloc, element) = ordered_singly<Pair<V, I>, MinLoc>;
    ordered_of(Op::maxloc, element) = ordered_singly<Pair<V, I>, MaxLoc>;
  }
};

constexpr Kernels make_kernels() {
  Maker m;
  m.integers<std::int8_t, std::uint8_t>(Element::i8, Element::u8);
  m.integers<std::int16_t, std::uint16_t>(Element::i16, Element::u16);
  m.integers<std::int32_t, std::uint32_t>(Element::i32, Element::u32);
  m.integers<std::int64_t, std::uint64_t>(Element::i64, Element::u64);
  m.floats<float>(Element::f32);
  m.floats<double>(Element::f64);
  m.floats<long double>(Element::f80);
  m.words_in_order<float, std::uint32_t>(Element::f32);
  m.words_in_order<double, std::uint64_t>(Element::f64);
  m.ordered_of(Op::sum, Element::f80) = ordered_singly<long double, Sum>;
  m.ordered_of(Op::prod, Element::f80) = ordered_singly<long double, Prod>;
  m.ordered_of(Op::min, Element::f80) = ordered_singly<long double, Min>;
  m.ordered_of(Op::max, Element::f80) = ordered_singly<long double, Max>;
  m.complex<float>(Element::c32);
  m.complex<double>(Element::c64);
  m.complex<long double>(Element::c80);
  m.ordered_of(Op::sum, Element::c32) = by_parts<float, ordered<float, std::uint32_t, Sum>>;
  m.ordered_of(Op::sum, Element::c64) = by_parts<double, ordered<double, std::uint64_t, Sum>>;
  m.ordered_of(Op::sum, Element::c80) = by_parts<long double, ordered_singly<long double, Sum>>;
  m.float_pairs<float, int>(Element::f32_int);
  m.float_pairs<double, int>(Element::f64_int);
  m.float_pairs<long double, int>(Element::f80_int);
  m.float_pairs<float, float>(Element::f32_f32);
  m.float_pairs<double, double>(Element::f64_f64);
  m.pairs<long, int>(Element::i64_int);
  m.pairs<int, int>(Element::i32_int);
  m.pairs<int, int>(Element::i32_i32);
  m.pairs<short, int>(Element::i16_int);
  m.logical<std::uint8_t>(Element::boolean);
  return m.table;
}

}  // namespace
}  // namespace nigh::message
