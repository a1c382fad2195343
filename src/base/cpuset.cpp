// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// CpuSet keeps no trailing zero word, so that equality of sets is equality of vectors.
#include "base/cpuset.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

namespace nigh {

namespace {
constexpr int word_bits = 64;

void skip_blanks(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')) ++at;
}

Result<int> read_number(std::string_view text, std::size_t& at) {
  skip_blanks(text, at);
  unsigned long value = 0;
  const char* begin = text.data() + at;
  auto [end, ec] = std::from_chars(begin, text.data() + text.size(), value);
  if (ec == std::errc::invalid_argument)
    return fail(Errc::invalid, "expected a CPU number at position " + std::to_string(at + 1) + " of '" +
                                   std::string(text) + "', as in 0-5,8,12-15");
  if (ec != std::errc() || value > CpuSet::max_cpu)
    return fail(Errc::invalid, "the CPU number at position " + std::to_string(at + 1) + " of '" +
                                   std::string(text) + "' is above " + std::to_string(CpuSet::max_cpu));
  at += static_cast<std::size_t>(end - begin);
  skip_blanks(text, at);
  return static_cast<int>(value);
}
}  // namespace

CpuSet CpuSet::range(int first, int last) {
  CpuSet out;
  for (int c = first; c <= last; ++c) out.set(c);
  return out;
}

Result<CpuSet> CpuSet::parse(std::string_view list) {
  CpuSet out;
  std::size_t at = 0;
  skip_blanks(list, at);
  if (at == list.size()) return out;
  for (;;) {
    auto first = read_number(list, at);
    if (!first) return tl::unexpected(first.error());
    int last = *first;
    if (at < list.size() && list[at] == '-') {
      ++at;
      auto end = read_number(list, at);
      if (!end) return tl::unexpected(end.error());
      last = *end;
      if (last < *first)
        return fail(Errc::invalid, "the range " + std::to_string(*first) + "-" + std::to_string(last) +
                                       " in '" + std::string(list) + "' runs backwards");
    }
    for (int c = *first; c <= last; ++c) out.set(c);
    if (at == list.size()) return out;
    if (list[at] != ',')
      return fail(Errc::invalid, "unexpected '" + std::string(1, list[at]) + "' at position " +
                                     std::to_string(at + 1) + " of '" + std::string(list) +
                                     "'; a CPU list looks like 0-5,8,12-15");
    ++at;
  }
}

CpuSet CpuSet::from_words(std::vector<std::uint64_t> words) {
  CpuSet out;
  out.words_ = std::move(words);
  out.trim();
  return out;
}

void CpuSet::set(int cpu) {
  NIGH_CHECK(cpu >= 0);
  auto word = static_cast<std::size_t>(cpu / word_bits);
  if (word >= words_.size()) words_.resize(word + 1, 0);
  words_[word] |= std::uint64_t{1} << (cpu % word_bits);
}

void CpuSet::clear(int cpu) {
  if (!test(cpu)) return;
  words_[static_cast<std::size_t>(cpu / word_bits)] &= ~(std::uint64_t{1} << (cpu % word_bits));
  trim();
}

bool CpuSet::test(int cpu) const {
  if (cpu < 0) return false;
  auto word = static_cast<std::size_t>(cpu / word_bits);
  return word < words_.size() && ((words_[word] >> (cpu % word_bits)) & 1) != 0;
}

int CpuSet::count() const {
  int n = 0;
  for (auto w : words_) n += std::popcount(w);
  return n;
}

int CpuSet::next(int cpu) const {
  int c = cpu + 1;
  for (auto word = static_cast<std::size_t>(c / word_bits); word < words_.size(); ++word) {
    auto bits = words_[word];
    if (word == static_cast<std::size_t>(c / word_bits)) bits &= ~std::uint64_t{0} << (c % word_bits);
    if (bits != 0) return static_cast<int>(word) * word_bits + std::countr_zero(bits);
  }
  return -1;
}

bool CpuSet::contains(const CpuSet& other) const { return other.minus(*this).empty(); }

bool CpuSet::intersects(const CpuSet& other) const {
  for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    if ((words_[i] & other.words_[i]) != 0) return true;
  return false;
}

std::vector<int> CpuSet::members() const {
  std::vector<int> out;
  for (int c = first(); c >= 0; c = next(c)) out.push_back(c);
  return out;
}

std::string CpuSet::to_list() const {
  std::string out;
  for (int c = first(); c >= 0;) {
    int last = c;
    while (test(last + 1)) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(c);
    if (last > c) out += '-' + std::to_string(last);
    c = next(last);
  }
  return out;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size(), 0);
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  trim();
  return *this;
}

CpuSet CpuSet::minus(const CpuSet& other) const {
  CpuSet out = *this;
  for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    out.words_[i] &= ~other.words_[i];
  out.trim();
  return out;
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace nigh
