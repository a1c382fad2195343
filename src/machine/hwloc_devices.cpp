// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// GPUs and network adapters of a topology that was loaded with its I/O objects. PCI devices are the
// ones that count: they are there without any vendor's library, and their addresses are what
// CUDA_DEVICE_ORDER=PCI_BUS_ID numbers by.
#include <fmt/format.h>

#include <algorithm>

#include "machine/hwloc_tree.hpp"

namespace nigh {

namespace {
constexpr unsigned class_ethernet = 0x0200, class_infiniband = 0x0207, class_other_network = 0x0280;
constexpr unsigned class_vga = 0x0300, class_3d = 0x0302, class_other_display = 0x0380,
                   class_accelerator = 0x1200;

struct GpuVendor {
  unsigned id;
  const char* name;
};
constexpr GpuVendor gpu_vendors[] = {{0x10de, "NVIDIA"}, {0x1002, "AMD"}, {0x8086, "Intel"}};

const char* text_of(hwloc_obj_t object, const char* key) {
  const char* text = hwloc_obj_get_info_by_name(object, key);
  return text == nullptr ? "" : text;
}

// Its names, and the title where a driver knows a better one than the list of PCI names.
void add_names(hwloc_obj_t object, Device& out) {
  for (hwloc_obj_t child = object->io_first_child; child != nullptr; child = child->next_sibling) {
    const bool counts = child->type == HWLOC_OBJ_OS_DEVICE && child->name != nullptr &&
                        child->attr->osdev.type != HWLOC_OBJ_OSDEV_BLOCK &&
                        child->attr->osdev.type != HWLOC_OBJ_OSDEV_DMA;
    if (counts) out.names.emplace_back(child->name);
    if (const std::string model = text_of(child, "GPUModel"); !model.empty()) out.title = model;
    add_names(child, out);
  }
}

bool is_gpu(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci, Device& out) {
  if (pci.class_id != class_vga && pci.class_id != class_3d && pci.class_id != class_other_display &&
      pci.class_id != class_accelerator)
    return false;
  for (const GpuVendor& vendor : gpu_vendors)  // others are for the console of the machine's management
    if (pci.vendor_id == vendor.id) return out.vendor = vendor.name, true;
  return false;
}

bool is_network(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return pci.class_id == class_ethernet || pci.class_id == class_infiniband ||
         pci.class_id == class_other_network;
}

// False: it is neither a GPU nor an adapter that a driver has.
bool describe_device(hwloc_topology_t topology, hwloc_obj_t object, const Machine& machine, Device& out) {
  const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci = object->attr->pcidev;
  out.bus = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
  out.title = text_of(object, "PCIDevice");
  add_names(object, out);
  std::sort(out.names.begin(), out.names.end());
  if (!is_gpu(pci, out)) {
    if (!is_network(pci) || out.names.empty()) return false;
    out.type = Device::Type::nic;
    out.vendor = text_of(object, "PCIVendor");
  }
  const hwloc_obj_t around = hwloc_get_non_io_ancestor_obj(topology, object);
  out.pus = around == nullptr || around->cpuset == nullptr ? machine.pus()
                                                           : from_bitmap(around->cpuset) & machine.pus();
  if (out.pus.empty()) out.pus = machine.pus();
  return true;
}
}  // namespace

void add_hwloc_devices(hwloc_topology_t topology, Machine& machine) {
  for (hwloc_obj_t object = hwloc_get_next_pcidev(topology, nullptr); object != nullptr;
       object = hwloc_get_next_pcidev(topology, object)) {
    Device device;
    if (describe_device(topology, object, machine, device)) machine.devices.push_back(std::move(device));
  }
  const auto key = [](const Device& device) { return std::pair(device.type, device.bus); };
  std::sort(machine.devices.begin(), machine.devices.end(),
            [&](const Device& a, const Device& b) { return key(a) < key(b); });
  const auto same = [&](const Device& a, const Device& b) { return key(a) == key(b); };
  machine.devices.erase(std::unique(machine.devices.begin(), machine.devices.end(), same),
                        machine.devices.end());
}

}  // namespace nigh
