// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/elements.hpp"

#include <utility>

namespace nigh::chare {

Elements::Elements(core::ArrayId id, const Shape& shape, const core::Type& type, std::uint32_t here,
                   std::uint32_t pes)
    : array(id.number),
      mark(id.mark),
      shape(shape),
      type(type),
      nx_(static_cast<std::uint64_t>(shape.x)),
      ny_(static_cast<std::uint64_t>(shape.y)),
      nz_(static_cast<std::uint64_t>(shape.z)),
      all_(nx_ * ny_ * nz_),
      here_(here),
      pes_(pes),
      dense_(all_) {
  for (std::uint32_t pe = 0; pe < pes; ++pe)
    for (std::uint64_t number = first_of(pe); number < first_of(pe + 1); ++number) dense_[number].pe = pe;
}

Elements::~Elements() {
  for (core::ElementBase* element : local_) type.destroy(element);
}

Index Elements::index_of(std::uint64_t number) const {
  if (!shape.is_sparse) {
    const std::uint64_t row = number / nx_;
    return {static_cast<std::int64_t>(number % nx_), static_cast<std::int64_t>(row % ny_),
            static_cast<std::int64_t>(row / ny_)};
  }
  auto part = [&](int at) {
    return static_cast<std::int64_t>(number >> at & (2 * sparse_half - 1)) -
           static_cast<std::int64_t>(sparse_half);
  };
  return {part(0), part(21), part(42)};
}

Elements::Place& Elements::sparse_place(std::uint64_t number) {
  const auto [at, is_new] = sparse_.try_emplace(number);
  if (is_new) {  // neighbours to different PEs
    const std::uint64_t mixed = (number ^ number >> 32) * 0x9e3779b97f4a7c15;
    at->second.pe = static_cast<std::uint32_t>((mixed >> 32) * pes_ >> 32);
  }
  return at->second;
}

void Elements::settle(std::uint64_t number, core::ElementBase* element) {
  place(number) = {element, here_};
  local_.push_back(element);
}

core::ElementBase* Elements::leave(std::uint64_t number, std::uint32_t to) {
  return std::exchange(place(number), {nullptr, to}).element;
}

void Elements::forget_those_that_left() {
  std::erase_if(local_, [this](const core::ElementBase* element) {
    return place(*number_of(element->index())).element != element;
  });
}

std::vector<core::Header*> Elements::take_waiting(std::uint64_t number) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return {};
  std::vector<core::Header*> out = std::move(found->second);
  waiting_.erase(found);
  return out;
}

std::vector<core::Header*> Elements::take_all_waiting() {
  std::vector<core::Header*> out;
  for (const auto& [number, messages] : waiting_) out.insert(out.end(), messages.begin(), messages.end());
  waiting_.clear();
  return out;
}

std::string text_of(const Index& index) {
  std::string out = "[" + std::to_string(index.x);
  if (index.y != 0 || index.z != 0) out += ", " + std::to_string(index.y);
  if (index.z != 0) out += ", " + std::to_string(index.z);
  return out + "]";
}

bool can_be(const Shape& shape) {
  for (const std::int64_t extent : {shape.x, shape.y, shape.z})
    if (extent < 0 || extent > most_elements) return false;
  return static_cast<double>(shape.x) * static_cast<double>(shape.y) * static_cast<double>(shape.z) <=
         static_cast<double>(most_elements);
}

std::string text_of(const Shape& shape) {
  if (shape.is_sparse) return "2097152 x 2097152 x 2097152, from -1048576 on";
  std::string out = std::to_string(shape.x);
  if (shape.y != 1 || shape.z != 1) out += " x " + std::to_string(shape.y);
  if (shape.z != 1) out += " x " + std::to_string(shape.z);
  return out;
}

}  // namespace nigh::chare
