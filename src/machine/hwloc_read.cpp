// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// hwloc's three sources (this computer, an XML file, a synthetic string) behind one function that loads a
// topology with the same filters. Nothing here may move the calling thread: hwloc's x86 backend binds it
// to each CPU in turn unless told not to.
#include <hwloc.h>

#include <cstring>
#include <functional>
#include <memory>

#include "machine/hmat.hpp"
#include "machine/hwloc_tree.hpp"
#include "machine/load.hpp"

namespace nigh {

namespace {
struct Destroy {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

void set_filters(hwloc_topology_t t) {
  hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (auto type : {HWLOC_OBJ_MISC, HWLOC_OBJ_MEMCACHE, HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L4CACHE,
                    HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2ICACHE, HWLOC_OBJ_L3ICACHE})
    hwloc_topology_set_type_filter(t, type, HWLOC_TYPE_FILTER_KEEP_NONE);
}

// `select` names the source to a fresh topology and returns 0, or -1 with errno as hwloc does.
Result<Topology> load_topology(const std::string& what, const std::function<int(hwloc_topology_t)>& select) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    return fail(Errc::io, "hwloc can't start: " + std::string(std::strerror(errno)), errno);
  Topology topology(raw);
  set_filters(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
  errno = EINVAL;
  if (select(raw) != 0) return fail(Errc::invalid, what + " is not one that hwloc can read", errno);
  if (hwloc_topology_load(raw) != 0)
    return fail(Errc::invalid, "hwloc can't make a machine of " + what, errno);
  return topology;
}

Result<Machine> machine_of(const std::string& what, const Result<Topology>& topology) {
  if (!topology) return tl::unexpected(topology.error());
  auto machine = tree_from_hwloc(topology->get());
  if (!machine) return fail_in(what, machine.error());
  add_hwloc_links(topology->get(), *machine);
  return machine;
}

Result<Machine> finished(Result<Machine> machine) {
  if (!machine) return machine;
  add_latencies_from_slit(*machine);
  if (auto ok = machine->validate(); !ok) return tl::unexpected(ok.error());
  return machine;
}

const char* info(hwloc_topology_t topology, const char* key) {
  const char* value = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), key);
  if (value != nullptr) return value;
  hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  return package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, key);
}

// "2 x Intel(R) Xeon(R) ..." as far as hwloc knows.
std::string cpu_title(hwloc_topology_t topology) {
  const char* model = info(topology, "CPUModel");
  if (model == nullptr) return "";
  int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  std::string text = model;
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return packages > 1 ? std::to_string(packages) + " x " + text : text;
}
}  // namespace

Result<Machine> load_this_machine(const sys::Os& os) {
  auto topology = load_topology("this machine", [](hwloc_topology_t) { return 0; });
  auto machine = machine_of("this machine", topology);
  if (!machine) return machine;
  const char* host = info(topology->get(), "HostName");
  machine->name = host != nullptr ? host : "this-machine";
  machine->title = cpu_title(topology->get());
  machine->origin = "hwloc, on this computer";
  if (hwloc_topology_is_thissystem(topology->get()) != 0)
    add_hmat_links(*machine, os);
  else
    machine->notes.push_back("hwloc was told by its environment variables to describe another machine");
  return finished(std::move(machine));
}

Result<Machine> load_this_machine() { return load_this_machine(sys::Os()); }

Result<Machine> load_hwloc_xml(const std::string& path) {
  auto text = sys::read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto topology = load_topology("the XML file " + path, [&](hwloc_topology_t t) {
    return hwloc_topology_set_xmlbuffer(t, text->c_str(), static_cast<int>(text->size() + 1));
  });
  auto machine = machine_of(path, topology);
  if (!machine) return machine;
  auto slash = path.rfind('/');
  machine->name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (machine->name.size() > 4 && machine->name.ends_with(".xml"))
    machine->name.resize(machine->name.size() - 4);
  machine->title = cpu_title(topology->get());
  machine->origin = "hwloc XML";
  return finished(std::move(machine));
}

Result<Machine> load_hwloc_synthetic(const std::string& description) {
  std::string what = "the synthetic description '" + description + "'";
  auto topology = load_topology(
      what, [&](hwloc_topology_t t) { return hwloc_topology_set_synthetic(t, description.c_str()); });
  auto machine = machine_of(what, topology);
  if (!machine) return machine;
  machine->name = "synthetic";
  machine->title = description;
  machine->origin = "hwloc synthetic description";
  return finished(std::move(machine));
}

}  // namespace nigh
