// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "machine/draw_model.hpp"

namespace nigh {

namespace {
constexpr std::size_t most_rows = 40;

using DeviceRow = std::array<std::string, 4>;  // number, address, what it is, where

const CpuSet& node_pus(const Machine& machine, int node) {
  return machine.objects[static_cast<std::size_t>(machine.nodes[static_cast<std::size_t>(node)])].pus;
}

// "numa 3", "package 0", or "numa 3, PUs 48-55,112-119".
std::string place_near(const Machine& machine, const CpuSet& pus) {
  if (pus == machine.pus()) return "all PUs";
  for (const Kind kind : {Kind::numa, Kind::package, Kind::board, Kind::die})
    for (const int i : machine.of_kind(kind)) {
      const Object& object = machine.objects[static_cast<std::size_t>(i)];
      if (object.pus == pus && object.os_index >= 0)
        return fmt::format("{} {}", kind_name(kind), object.os_index);
    }
  std::string list = "PUs " + pus.to_list();
  const int node = machine.node_of_pu(pus.first());
  if (machine.node_count() < 2 || node < 0 || !node_pus(machine, node).contains(pus)) return list;
  return fmt::format("numa {}, {}", machine.node_number(static_cast<std::size_t>(node)), list);
}

// At most so many columns; what is cut off leaves "…".
std::string shortened(std::string text, int columns) {
  if (display_width(text) <= columns) return text;
  while (!text.empty() && display_width(text) >= columns) {
    while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    text.pop_back();
  }
  return text + "…";
}

// Names first: they are what people type.
std::string what_it_is(const Device& device) {
  std::string out;
  for (const std::string& name : device.names) out += (out.empty() ? "" : " ") + name;
  std::string model = device.title;
  if (!device.vendor.empty() && !model.starts_with(device.vendor))
    model = device.vendor + (model.empty() ? "" : " ") + model;
  if (!model.empty()) out += (out.empty() ? "" : " · ") + model;
  return printable(out);
}
}  // namespace

std::string draw_devices(const Machine& machine, int width) {
  std::vector<DeviceRow> rows;
  int number = 0;
  for (std::size_t i = 0; i < machine.devices.size() && rows.size() < most_rows; ++i) {
    const Device& device = machine.devices[i];
    if (i > 0 && machine.devices[i - 1].type != device.type) number = 0;
    rows.push_back({fmt::format("{} {}", device_type_name(device.type), number++), printable(device.bus),
                    what_it_is(device), place_near(machine, device.pus)});
  }
  int columns[4] = {};
  for (const DeviceRow& row : rows)
    for (std::size_t c = 0; c < 4; ++c) columns[c] = std::max(columns[c], display_width(row[c]));
  columns[2] = std::min(columns[2], std::max(20, width - columns[0] - columns[1] - columns[3] - 6));
  std::string out = rows.empty() ? "" : "GPUs and network adapters, and what they are near\n";
  for (const DeviceRow& row : rows) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::string cell = shortened(row[c], columns[c]);
      out += cell +
             std::string(static_cast<std::size_t>(std::max(0, columns[c] - display_width(cell))) + 2, ' ');
    }
    out += row[3] + '\n';
  }
  if (rows.size() < machine.devices.size())
    out += fmt::format("... {} more; --json has all\n", machine.devices.size() - rows.size());
  return out;
}

}  // namespace nigh
