// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Every operation on every element it is defined on, for 2 to 6 operands, 1 to 4 results, results over
// operands and unaligned data, against one plain loop; every instruction set of this machine must give the
// same bits.
#include "message/combine.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace nigh::message {
namespace {

constexpr int ops = static_cast<int>(Op::count), elements = static_cast<int>(Element::count);

template <class T>
T plain(Op op, T a, T b) {
  switch (op) {
    case Op::sum: return static_cast<T>(a + b);
    case Op::prod: return static_cast<T>(a * b);
    case Op::min: return b < a ? b : a;
    case Op::max: return a < b ? b : a;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) switch (op) {
      case Op::land: return a && b;
      case Op::lor: return a || b;
      case Op::lxor: return !a != !b;
      case Op::band: return static_cast<T>(a & b);
      case Op::bor: return static_cast<T>(a | b);
      case Op::bxor: return static_cast<T>(a ^ b);
      default: break;
    }
  ADD_FAILURE();
  return a;
}

template <class T>
void scalar(Op op, void* to, const void* from) {
  T a, b;
  std::memcpy(&a, to, sizeof(T));
  std::memcpy(&b, from, sizeof(T));
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    if (op == Op::sum || op == Op::prod) {  // wraps
      using U = unsigned long long;
      a = static_cast<T>(op == Op::sum ? static_cast<U>(a) + static_cast<U>(b)
                                       : static_cast<U>(a) * static_cast<U>(b));
      std::memcpy(to, &a, sizeof(T));
      return;
    }
  }
  if constexpr (std::is_same_v<T, unsigned short>) {
    if (op == Op::prod) {
      a = static_cast<T>(1u * a * b);
      std::memcpy(to, &a, sizeof(T));
      return;
    }
  }
  a = plain(op, a, b);
  std::memcpy(to, &a, sizeof(T));
}

template <class T>
void complex(Op op, void* to, const void* from) {
  T a[2], b[2];
  std::memcpy(a, to, sizeof(a));
  std::memcpy(b, from, sizeof(b));
  volatile T x = a[0] * b[0], y = a[1] * b[1], z = a[0] * b[1], w = a[1] * b[0];
  const T sum[2] = {a[0] + b[0], a[1] + b[1]}, product[2] = {x - y, z + w};
  std::memcpy(to, op == Op::sum ? sum : product, sizeof(sum));
}

template <class V, class I>
void pair(Op op, void* to, const void* from) {
  struct P {
    V value;
    I index;
  } a, b;
  std::memcpy(&a, to, sizeof(a));
  std::memcpy(&b, from, sizeof(b));
  const bool better = op == Op::minloc ? b.value < a.value : a.value < b.value;
  if (better || (a.value == b.value && b.index < a.index)) a = b;
  std::memcpy(to, &a, sizeof(a));
}

using Step = std::function<void(Op, void*, const void*)>;
const Step steps[elements] = {
    scalar<signed char>,   scalar<short>,          scalar<int>,         scalar<long>,
    scalar<unsigned char>, scalar<unsigned short>, scalar<unsigned>,    scalar<unsigned long>,
    scalar<float>,         scalar<double>,         scalar<long double>, complex<float>,
    complex<double>,       complex<long double>,   pair<float, int>,    pair<double, int>,
    pair<long, int>,       pair<int, int>,         pair<short, int>,    pair<long double, int>,
    pair<float, float>,    pair<double, double>,   pair<int, int>,      scalar<unsigned char>};

bool wide(Element e) { return e == Element::f80 || e == Element::c80 || e == Element::f80_int; }

// Small values, so that pairs tie and logical operations see zeros; padding is zero.
std::vector<unsigned char> values(Element element, std::size_t count, std::mt19937& random) {
  const std::size_t size = element_bytes(element);
  std::vector<unsigned char> data(size * count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* at = data.data() + 1 + i * size;  // unaligned on purpose
    const int small = static_cast<int>(random() % 9) - 4;
    auto put = [&](std::size_t offset, auto value, std::size_t bytes) {
      std::memcpy(at + offset, &value, bytes);
    };
    switch (element) {
      case Element::f32: put(0, static_cast<float>(small) / 3, 4); break;
      case Element::f64: put(0, small / 3.0, 8); break;
      case Element::f80: put(0, static_cast<long double>(small) / 3, 10); break;
      case Element::c32:
        put(0, static_cast<float>(small) / 3, 4), put(4, static_cast<float>(small) / 7 + 1, 4);
        break;
      case Element::c64: put(0, small / 3.0, 8), put(8, small / 7.0 + 1, 8); break;
      case Element::c80:
        put(0, static_cast<long double>(small) / 3, 10), put(16, static_cast<long double>(small) / 7 + 1, 10);
        break;
      case Element::f32_int:
        put(0, static_cast<float>(small), 4), put(4, static_cast<int>(random() % 5), 4);
        break;
      case Element::f64_int:
        put(0, static_cast<double>(small), 8), put(8, static_cast<int>(random() % 5), 4);
        break;
      case Element::i64_int:
        put(0, static_cast<long>(small), 8), put(8, static_cast<int>(random() % 5), 4);
        break;
      case Element::i16_int:
        put(0, static_cast<short>(small), 2), put(4, static_cast<int>(random() % 5), 4);
        break;
      case Element::f80_int:
        put(0, static_cast<long double>(small), 10), put(16, static_cast<int>(random() % 5), 4);
        break;
      case Element::i32_int:
      case Element::i32_i32: put(0, small, 4), put(4, static_cast<int>(random() % 5), 4); break;
      case Element::f32_f32:
        put(0, static_cast<float>(small), 4), put(4, static_cast<float>(random() % 5), 4);
        break;
      case Element::f64_f64:
        put(0, static_cast<double>(small), 8), put(8, static_cast<double>(random() % 5), 8);
        break;
      default:
        for (std::size_t byte = 0; byte < size; ++byte)
          at[byte] = random() % 3 ? static_cast<unsigned char>(random()) : 0;
    }
  }
  return data;
}

// Bytes that are no part of the value.
void clear_padding(Element element, unsigned char* data, std::size_t count) {
  const std::size_t size = element_bytes(element);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* at = data + i * size;
    if (wide(element)) std::memset(at + 10, 0, 6);
    if (element == Element::c80) std::memset(at + 26, 0, 6);
    if (element == Element::f80_int) std::memset(at + 20, 0, 12);
    if (element == Element::f64_int || element == Element::i64_int) std::memset(at + 12, 0, 4);
    if (element == Element::i16_int) std::memset(at + 2, 0, 2);
  }
}

void try_kernel(CombineKernel kernel, Op op, Element element, int ins, int outs, bool alias, unsigned seed) {
  const std::size_t count = 150, size = element_bytes(element), first = 3, last = 147;
  std::mt19937 random(seed);
  std::vector<std::vector<unsigned char>> operands, results;
  for (int k = 0; k < ins; ++k) operands.push_back(values(element, count, random));
  for (int o = 0; o < outs; ++o) results.push_back(values(element, count, random));
  std::vector<unsigned char> expected = operands[0];
  for (std::size_t i = first; i < last; ++i)
    for (int k = 1; k < ins; ++k)
      steps[static_cast<int>(element)](op, &expected[1 + i * size],
                                       &operands[static_cast<std::size_t>(k)][1 + i * size]);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (auto& operand : operands) in.push_back(operand.data() + 1);
  for (auto& result : results) out.push_back(result.data() + 1);
  if (alias) out[0] = operands[static_cast<std::size_t>(ins - 1)].data() + 1;
  const std::vector<unsigned char> untouched = {static_cast<unsigned char*>(out[0]),
                                                static_cast<unsigned char*>(out[0]) + first * size};
  kernel(out.data(), outs, in.data(), ins, first, last, nullptr);
  clear_padding(element, expected.data() + 1, count);
  for (int o = 0; o < outs; ++o) {
    auto* got = static_cast<unsigned char*>(out[static_cast<std::size_t>(o)]);
    if (o == 0) { EXPECT_EQ(std::memcmp(got, untouched.data(), first * size), 0); }
    clear_padding(element, got, count);
    EXPECT_EQ(std::memcmp(got + first * size, &expected[1 + first * size], (last - first) * size), 0)
        << "op " << static_cast<int>(op) << " element " << static_cast<int>(element) << " ins " << ins
        << " outs " << outs << " alias " << alias;
  }
}

TEST(combine, every_operation_element_shape_and_instruction_set) {
  unsigned seed = 1;
  int defined = 0;
  for (const Kernels* const* set = usable_kernels(); *set; ++set)
    for (int op = 0; op < ops; ++op)
      for (int element = 0; element < elements; ++element) {
        const CombineKernel kernel = (*set)->plain[op][element];
        if (!kernel) continue;  // a set may leave some to the next
        EXPECT_NE(base_kernels.plain[op][element], nullptr);
        ++defined;
        for (int ins = 2; ins <= 6; ++ins)
          for (int outs = 1; outs <= 4; ++outs, ++seed)
            try_kernel(kernel, static_cast<Op>(op), static_cast<Element>(element), ins, outs, seed % 2 != 0,
                       seed);
      }
  EXPECT_GT(defined, 100);
}

TEST(combine, what_the_standard_defines) {
  EXPECT_NE(find_combine(Op::sum, Element::c80), nullptr);
  EXPECT_NE(find_combine(Op::band, Element::u8), nullptr);
  EXPECT_NE(find_combine(Op::minloc, Element::f64_f64), nullptr);
  EXPECT_NE(find_combine(Op::lxor, Element::boolean), nullptr);
  EXPECT_EQ(find_combine(Op::min, Element::c32), nullptr);
  EXPECT_EQ(find_combine(Op::band, Element::f32), nullptr);
  EXPECT_EQ(find_combine(Op::land, Element::f64), nullptr);
  EXPECT_EQ(find_combine(Op::sum, Element::boolean), nullptr);
  EXPECT_EQ(find_combine(Op::minloc, Element::i32), nullptr);
  EXPECT_EQ(find_combine(Op::count, Element::i32), nullptr);
  EXPECT_TRUE(find_combine(Op::sum, Element::f32)->floating_sum);
  EXPECT_FALSE(find_combine(Op::max, Element::f32)->floating_sum);
  EXPECT_EQ(find_combine(Op::minloc, Element::f64_int)->element_bytes, 16u);
}

TEST(combine, ordered_kernels_do_not_depend_on_who_holds_what) {
  std::mt19937 random(7);
  for (const Kernels* const* set = usable_kernels(); *set; ++set)
    for (int op = 0; op < ops; ++op)
      for (int number = 0; number < elements; ++number) {
        const CombineKernel kernel = (*set)->ordered[op][number];
        const CombineKernel base = base_kernels.ordered[op][number];
        if (!kernel) continue;
        ASSERT_NE(base, nullptr);
        const auto element = static_cast<Element>(number);
        const std::size_t count = 130, size = element_bytes(element);
        for (const int ins : {2, 3, 4, 7, 61}) {
          std::vector<std::vector<unsigned char>> operands;
          std::vector<const void*> in;
          for (int k = 0; k < ins; ++k) operands.push_back(values(element, count, random));
          for (auto& operand : operands) in.push_back(operand.data() + 1);
          std::vector<unsigned char> once(size * count), again(size * count);
          void *a = once.data(), *b = again.data();
          base(&a, 1, in.data(), ins, 0, count, nullptr);
          std::shuffle(in.begin(), in.end(), random);
          kernel(&b, 1, in.data(), ins, 0, count, nullptr);
          clear_padding(element, once.data(), count);
          clear_padding(element, again.data(), count);
          EXPECT_EQ(once, again) << "op " << op << " element " << number << " ins " << ins;
        }
      }
}

}  // namespace
}  // namespace nigh::message
