// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The Machine value: names, queries, its invariants, and the builder that every reader goes through.
#include "machine/machine.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace nigh {

namespace {
constexpr std::array<const char*, 10> kind_names = {"machine", "group", "board", "package", "die",
                                                    "numa",    "l3",    "l2",    "core",    "pu"};
constexpr std::array<const char*, 7> source_names = {"unknown",   "measured", "hmat",  "slit",
                                                     "datasheet", "guessed",  "fitted"};

template <std::size_t N>
std::string join(const std::array<const char*, N>& names) {
  std::string out;
  for (const char* n : names) out += (out.empty() ? "" : ", ") + std::string(n);
  return out;
}

std::string plural(std::size_t n, const char* one, const char* many) {
  return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

std::string describe(const Machine& m, int index) {
  const auto& o = m.objects[static_cast<std::size_t>(index)];
  std::string out = kind_name(o.kind);
  if (o.os_index >= 0) out += ' ' + std::to_string(o.os_index);
  return out + " (object " + std::to_string(index) + ')';
}

Result<void> validate_devices(const Machine& m) {
  for (std::size_t i = 0; i < m.devices.size(); ++i) {
    const Device& device = m.devices[i];
    if (device.pus.empty() || !m.pus().contains(device.pus))
      return fail(Errc::invalid, "device " + device.bus + " must be near some of the machine's PUs");
    if (i > 0 && std::pair(m.devices[i - 1].type, m.devices[i - 1].bus) >= std::pair(device.type, device.bus))
      return fail(Errc::invalid, "device " + device.bus + " is out of order, or appears twice");
  }
  return {};
}

// Only a leaf NUMA node may lie in another one: each PU has one local memory.
Result<void> validate_nesting(const Machine& m, int index) {
  const auto& o = m.objects[static_cast<std::size_t>(index)];
  for (int up = o.parent; up >= 0; up = m.objects[static_cast<std::size_t>(up)].parent) {
    Kind outer = m.objects[static_cast<std::size_t>(up)].kind;
    bool node_in_node = o.kind == Kind::numa && outer == Kind::numa && !o.children.empty();
    if (!may_hold(outer, o.kind) || node_in_node)
      return fail(Errc::invalid, describe(m, index) + " can't be inside a " + kind_name(outer) +
                                     "; from the outside in: " + join(kind_names));
  }
  return {};
}

// An object's place in the list, its children, and its PU set (the union of what is below).
Result<void> validate_object(const Machine& m, int i) {
  const auto& o = m.objects[static_cast<std::size_t>(i)];
  if (i > 0 && (o.parent < 0 || o.parent >= i))
    return fail(Errc::invalid, describe(m, i) + " must come after its parent");
  if (auto ok = validate_nesting(m, i); !ok) return ok;
  CpuSet below;
  for (int c : o.children) {
    if (c <= i || c >= static_cast<int>(m.objects.size()) ||
        m.objects[static_cast<std::size_t>(c)].parent != i)
      return fail(Errc::invalid, describe(m, i) + " lists a child that is not its own");
    below |= m.objects[static_cast<std::size_t>(c)].pus;
  }
  if (o.kind == Kind::pu) {
    if (o.os_index < 0) return fail(Errc::invalid, describe(m, i) + " has no os_index");
    below.set(o.os_index);
  } else if (o.children.empty() && o.kind != Kind::numa) {
    return fail(Errc::invalid,
                describe(m, i) + " is empty; only a PU or a memory-only NUMA node has nothing inside");
  }
  if (!(below == o.pus)) return fail(Errc::invalid, describe(m, i) + " has a PU set that is not its own");
  return {};
}

// OS numbers name one thing each: packages, NUMA nodes and PUs in the machine, cores in their package.
Result<void> validate_numbers(const Machine& m) {
  std::map<std::tuple<Kind, int, int>, int> seen;
  std::vector<int> package(m.objects.size(), -1);
  for (int i = 1; i < static_cast<int>(m.objects.size()); ++i) {
    const auto& o = m.objects[static_cast<std::size_t>(i)];
    int around = package[static_cast<std::size_t>(o.parent)];
    package[static_cast<std::size_t>(i)] = o.kind == Kind::package ? i : around;
    bool named =
        o.kind == Kind::package || o.kind == Kind::numa || o.kind == Kind::core || o.kind == Kind::pu;
    if (!named) continue;
    if (o.kind == Kind::numa && o.os_index < 0)
      return fail(Errc::invalid, describe(m, i) + " has no os_index");
    if (o.os_index < 0) continue;
    auto key = std::make_tuple(o.kind, o.kind == Kind::core ? around : -1, o.os_index);
    if (!seen.emplace(key, i).second)
      return fail(Errc::invalid,
                  std::string(kind_name(o.kind)) + ' ' + std::to_string(o.os_index) +
                      (o.kind == Kind::core ? " appears twice in its package" : " appears twice"));
  }
  return {};
}

Result<void> validate_tree(const Machine& m) {
  if (m.objects.empty() || m.objects[0].kind != Kind::machine || m.objects[0].parent != -1)
    return fail(Errc::invalid, "a machine needs a tree whose root is of type machine");
  for (int i = 0; i < static_cast<int>(m.objects.size()); ++i)
    if (auto ok = validate_object(m, i); !ok) return ok;
  if (m.pus().empty()) return fail(Errc::invalid, "a machine needs at least one PU");
  if (auto ok = validate_numbers(m); !ok) return ok;
  if (m.nodes.size() != m.of_kind(Kind::numa).size())
    return fail(Errc::invalid, "the node list does not match the tree");
  return {};
}

Result<void> validate_matrix(const Machine& m, const LinkMatrix& matrix, const char* what) {
  std::size_t n = m.node_count();
  if (matrix.empty() && matrix.source.empty()) return {};
  if (matrix.value.size() != n * n || matrix.source.size() != n * n)
    return fail(Errc::invalid, std::string(what) + " must be " + std::to_string(n) + " rows of " +
                                   std::to_string(n) + " entries, one for each NUMA node");
  for (std::size_t i = 0; i < n * n; ++i) {
    bool known = matrix.source[i] != Source::unknown;
    bool bad = !(matrix.value[i] >= 0) || matrix.value[i] > 1e12 || known != (matrix.value[i] > 0);
    if (bad)
      return fail(Errc::invalid, std::string(what) + " entry [" + std::to_string(i / n) + "][" +
                                     std::to_string(i % n) +
                                     "] must be a positive number with a source, or unknown");
  }
  return {};
}
}  // namespace

bool may_hold(Kind outer, Kind inner) {
  bool floating = inner == Kind::group || inner == Kind::numa;
  if (floating) return outer < Kind::core;
  if (outer == Kind::group || outer == Kind::numa) return inner != Kind::machine;
  return outer < inner;
}

const char* kind_name(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }
const char* device_type_name(Device::Type type) { return type == Device::Type::gpu ? "gpu" : "nic"; }
const char* source_name(Source source) { return source_names[static_cast<std::size_t>(source)]; }

Result<Kind> kind_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kind_names.size(); ++i)
    if (name == kind_names[i]) return static_cast<Kind>(i);
  return fail(Errc::invalid, "unknown type '" + std::string(name) + "'; use one of " + join(kind_names));
}

Result<Source> source_from_name(std::string_view name) {
  for (std::size_t i = 0; i < source_names.size(); ++i)
    if (name == source_names[i]) return static_cast<Source>(i);
  return fail(Errc::invalid, "unknown source '" + std::string(name) + "'; use one of " + join(source_names));
}

std::vector<int> Machine::of_kind(Kind kind) const {
  std::vector<int> out;
  for (std::size_t i = 0; i < objects.size(); ++i)
    if (objects[i].kind == kind) out.push_back(static_cast<int>(i));
  return out;
}

int Machine::ancestor_of_pu(int pu, Kind kind) const {
  int found = -1;
  for (std::size_t i = 0; i < objects.size(); ++i)
    if (objects[i].kind == kind && objects[i].pus.test(pu)) found = static_cast<int>(i);
  return found;
}

int Machine::node_of_pu(int pu) const {
  int object = ancestor_of_pu(pu, Kind::numa);
  auto at = std::find(nodes.begin(), nodes.end(), object);
  return object < 0 || at == nodes.end() ? -1 : static_cast<int>(at - nodes.begin());
}

std::string Machine::summary() const {
  std::string out;
  auto add = [&](std::size_t n, const char* one, const char* many) {
    if (n > 0) out += (out.empty() ? "" : ", ") + plural(n, one, many);
  };
  add(of_kind(Kind::board).size(), "board", "boards");
  add(of_kind(Kind::package).size(), "package", "packages");
  add(nodes.size(), "NUMA node", "NUMA nodes");
  add(of_kind(Kind::core).size(), "core", "cores");
  add(of_kind(Kind::pu).size(), "PU", "PUs");
  std::uint64_t memory = 0;
  for (int n : nodes) memory += objects[static_cast<std::size_t>(n)].bytes;
  if (memory >= (std::uint64_t{1} << 30))
    out += ", " + std::to_string((memory + (std::uint64_t{1} << 29)) >> 30) + " GiB";
  else if (memory > 0)
    out += ", " + std::to_string(memory >> 20) + " MiB";
  return out;
}

Result<void> Machine::validate() const {
  if (auto ok = validate_tree(*this); !ok) return ok;
  std::size_t n = node_count();
  if (!slit.empty() && slit.size() != n * n)
    return fail(Errc::invalid, "slit must be " + std::to_string(n) + " rows of " + std::to_string(n) +
                                   " distances, one for each NUMA node");
  for (int d : slit)
    if (d < 1 || d > 255) return fail(Errc::invalid, "a SLIT distance is a number from 1 to 255 (local: 10)");
  if (auto ok = validate_matrix(*this, bandwidth, "bandwidth"); !ok) return ok;
  if (auto ok = validate_matrix(*this, latency, "latency"); !ok) return ok;
  if (auto ok = network.validate(); !ok) return ok;
  if (auto ok = copying.validate(); !ok) return ok;
  return validate_devices(*this);
}

MachineBuilder::MachineBuilder() {
  machine_.objects.push_back(Object{});
  stack_.push_back(0);
}

int MachineBuilder::open(Kind kind, int os_index, std::uint64_t bytes) {
  int index = static_cast<int>(machine_.objects.size());
  Object o;
  o.kind = kind;
  o.os_index = os_index;
  o.parent = stack_.back();
  o.bytes = bytes;
  machine_.objects.push_back(std::move(o));
  machine_.objects[static_cast<std::size_t>(stack_.back())].children.push_back(index);
  stack_.push_back(index);
  return index;
}

void MachineBuilder::close() {
  NIGH_CHECK(stack_.size() > 1);
  stack_.pop_back();
}

Result<Machine> MachineBuilder::finish() {
  NIGH_CHECK(stack_.size() == 1);
  auto& objects = machine_.objects;
  machine_.nodes.clear();
  for (std::size_t i = objects.size(); i-- > 0;) {
    auto& o = objects[i];
    if (o.kind == Kind::pu && o.os_index >= 0) o.pus.set(o.os_index);
    if (o.parent >= 0) objects[static_cast<std::size_t>(o.parent)].pus |= o.pus;
    if (o.kind == Kind::numa) machine_.nodes.push_back(static_cast<int>(i));
  }
  std::sort(machine_.nodes.begin(), machine_.nodes.end(), [&](int a, int b) {
    return objects[static_cast<std::size_t>(a)].os_index < objects[static_cast<std::size_t>(b)].os_index;
  });
  if (auto ok = machine_.validate(); !ok) return tl::unexpected(ok.error());
  return std::move(machine_);
}

}  // namespace nigh
