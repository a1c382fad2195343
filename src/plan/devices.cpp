// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Items are put into bins, of which each takes as many as the others or one more: devices into ranks, or
// ranks into devices. The nearest pairs come first, from the innermost object outwards; as distances in a
// tree are, that is the best way but where shares overlap, which exchanges of two items then mend.
#include "plan/devices.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace nigh {

namespace {

// PUs of the smallest object around both, as a measure; 0: one holds the other.
double distance(const Machine& machine, const CpuSet& share, const CpuSet& near) {
  if (near.contains(share) || share.contains(near)) return 0;
  if (near.intersects(share)) return 0.5;
  const CpuSet both = share | near;
  int least = machine.pus().count() + 1;
  for (const Object& object : machine.objects)
    if (object.pus.contains(both)) least = std::min(least, object.pus.count());
  return least;
}

class Filling {
 public:
  Filling(std::size_t items, std::size_t bins, std::vector<double> cost)
      : items_(items), bins_(bins), cost_(std::move(cost)), bin_(items, bins), load_(bins, 0) {}

  // The bin of each item.
  std::vector<std::size_t> filled() {
    const std::set<double> costs(cost_.begin(), cost_.end());
    for (const std::size_t most : {items_ / bins_, items_ / bins_ + 1})
      for (const double cost : costs)
        for (std::size_t item = 0; item < items_; ++item) put(item, cost, most);
    while (exchange() || move()) continue;
    return bin_;
  }

 private:
  [[nodiscard]] double cost(std::size_t item, std::size_t bin) const { return cost_[item * bins_ + bin]; }

  // Into the first bin at this cost that has room.
  void put(std::size_t item, double wanted, std::size_t most) {
    for (std::size_t bin = 0; bin < bins_ && bin_[item] == bins_; ++bin)
      if (cost(item, bin) == wanted && load_[bin] < most) {
        bin_[item] = bin;
        ++load_[bin];
      }
  }

  // True if two items are nearer in each other's bins.
  bool exchange() {
    for (std::size_t a = 0; a < items_; ++a)
      for (std::size_t b = a + 1; b < items_; ++b) {
        const double now = cost(a, bin_[a]) + cost(b, bin_[b]);
        if (cost(a, bin_[b]) + cost(b, bin_[a]) < now) return std::swap(bin_[a], bin_[b]), true;
      }
    return false;
  }

  // True if an item is nearer in a bin that holds less, perhaps where another one makes room for it there.
  bool move() {
    for (std::size_t a = 0; a < items_; ++a)
      for (std::size_t to = 0; to < bins_; ++to) {
        if (to == bin_[a]) continue;
        const double saved = cost(a, bin_[a]) - cost(a, to);
        if (load_[to] < load_[bin_[a]] && saved > 0) return put_into(a, to), true;
        for (std::size_t b = 0; b < items_; ++b)
          for (std::size_t on = 0; bin_[b] == to && on < bins_; ++on)
            if (on != to && on != bin_[a] && load_[on] < load_[bin_[a]] &&
                saved + cost(b, to) - cost(b, on) > 0)
              return put_into(b, on), put_into(a, to), true;
      }
    return false;
  }
  void put_into(std::size_t item, std::size_t bin) {
    --load_[bin_[item]];
    ++load_[bin];
    bin_[item] = bin;
  }

  std::size_t items_, bins_;
  std::vector<double> cost_;      // items x bins
  std::vector<std::size_t> bin_;  // of each item; bins_: none yet
  std::vector<std::size_t> load_;
};

}  // namespace

std::vector<int> devices_of(const Machine& machine, Device::Type type) {
  std::vector<int> out;
  for (std::size_t i = 0; i < machine.devices.size(); ++i)
    if (machine.devices[i].type == type) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<std::vector<int>> share_devices(const Machine& machine, const std::vector<int>& devices,
                                            const std::vector<CpuSet>& shares) {
  std::vector<std::vector<int>> out(shares.size());
  if (devices.empty() || shares.empty()) return out;
  const bool by_rank = shares.size() <= devices.size();  // bins are ranks
  const std::size_t items = by_rank ? devices.size() : shares.size();
  const std::size_t bins = by_rank ? shares.size() : devices.size();
  std::vector<double> cost(items * bins);
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    for (std::size_t d = 0; d < devices.size(); ++d)
      cost[by_rank ? d * bins + rank : rank * bins + d] =
          distance(machine, shares[rank], machine.devices[static_cast<std::size_t>(devices[d])].pus);
  const std::vector<std::size_t> bin = Filling(items, bins, std::move(cost)).filled();
  for (std::size_t item = 0; item < items; ++item)
    out[by_rank ? bin[item] : item].push_back(devices[by_rank ? item : bin[item]]);
  return out;
}

}  // namespace nigh
