// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// hwloc's three sources (this computer, an XML file, a synthetic string) behind one function that loads a
// topology with the same filters. Nothing here may move the calling thread: hwloc's x86 backend binds it
// to each CPU in turn unless told not to.
//
// Descriptions of other computers are read in a child process: damaged XML crashes hwloc, and long
// descriptions keep it for hours (decision 0026). The machine comes back as our JSON.
#include <hwloc.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "machine/hmat.hpp"
#include "machine/hwloc_tree.hpp"
#include "machine/load.hpp"
#include "sys/in_child.hpp"

namespace nigh {

namespace {
struct Destroy {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

enum class Io { no, yes };

// I/O objects bring groups of their own, which would change the tree: devices are read from a second
// topology.
void set_filters(hwloc_topology_t t, Io io) {
  hwloc_topology_set_io_types_filter(
      t, io == Io::yes ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE);
  // These start the drivers of GPUs, which takes long and shows up on them.
  if (io == Io::yes)
    for (const char* one : {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"})
      hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, one);
  for (auto type : {HWLOC_OBJ_MISC, HWLOC_OBJ_MEMCACHE, HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L4CACHE,
                    HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2ICACHE, HWLOC_OBJ_L3ICACHE})
    hwloc_topology_set_type_filter(t, type, HWLOC_TYPE_FILTER_KEEP_NONE);
}

// `select` names the source to a fresh topology and returns 0, or -1 with errno as hwloc does.
Result<Topology> load_topology(const std::string& what, const std::function<int(hwloc_topology_t)>& select,
                               Io io = Io::no) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    return fail(Errc::io, "hwloc can't start: " + std::string(std::strerror(errno)), errno);
  Topology topology(raw);
  set_filters(raw, io);
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
constexpr std::size_t longest_xml = std::size_t{64} << 20;

// The answer of the child: the machine, or the kind of an error and its sentence.
std::string told(const Result<Machine>& machine) {
  return machine ? 'M' + machine_to_json(*machine)
                 : std::to_string(static_cast<int>(machine.error().code)) + machine.error().message;
}

Result<Machine> read_in_child(const std::string& what, const std::function<Result<Machine>()>& read) {
  auto answer = sys::in_child("reading " + what + " with hwloc", [&] { return told(read()); });
  if (!answer) return tl::unexpected(answer.error());
  if (answer->starts_with('M')) return machine_from_json(std::string_view(*answer).substr(1), what);
  if (answer->empty()) return fail(Errc::internal, "hwloc said nothing of " + what);
  return fail(static_cast<Errc>(answer->front() - '0'), answer->substr(1));
}

Result<Machine> this_machine(const sys::Os& os) {
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

// hwloc takes these for this computer.
bool told_of_another() {
  for (const char* name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH"})
    if (const char* value = std::getenv(name); value != nullptr && *value != 0) return true;
  return false;
}

// A library reads what its own major version writes, and older ones. Of a later one it says nothing.
Result<void> check_xml(const std::string& path, std::string_view text) {
  if (text.size() > longest_xml)
    return fail(Errc::invalid, "the XML file " + path + " has more than " +
                                   std::to_string(longest_xml >> 20) + " MiB: that is no machine");
  constexpr std::string_view start = "<topology version=\"";
  const std::size_t at = text.find(start);
  if (at == std::string_view::npos) return {};
  const std::string_view version = text.substr(at + start.size(), 20),
                         number = version.substr(0, version.find('"'));
  const unsigned ours = hwloc_get_api_version() >> 16;
  unsigned theirs = 0;
  std::from_chars(number.data(), number.data() + number.size(), theirs);
  if (theirs <= ours) return {};
  const std::string major = std::to_string(ours);
  return fail(Errc::unsupported,
              "the XML file " + path + " is in the format of hwloc " + std::string(number) +
                  ", and the hwloc that nigh is linked with reads no later one than " + major +
                  "; write it where it comes from with 'lstopo --of xml --export-xml-flags v" + major + "'");
}

Result<Machine> machine_of_xml(const std::string& path, const std::string& text) {
  const auto select = [&](hwloc_topology_t t) {
    return hwloc_topology_set_xmlbuffer(t, text.c_str(), static_cast<int>(text.size() + 1));
  };
  auto topology = load_topology("the XML file " + path, select);
  auto machine = machine_of(path, topology);
  if (!machine) return machine;
  if (auto devices = load_topology(path, select, Io::yes)) add_hwloc_devices(devices->get(), *machine);
  auto slash = path.rfind('/');
  machine->name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (machine->name.size() > 4 && machine->name.ends_with(".xml"))
    machine->name.resize(machine->name.size() - 4);
  machine->title = cpu_title(topology->get());
  machine->origin = "hwloc XML";
  return finished(std::move(machine));
}

// The PUs of a synthetic description: the product of its numbers except those in brackets, which are memory
// and sizes. Large ones keep hwloc for hours, or overflow in it.
Result<void> check_synthetic(const std::string& description) {
  constexpr std::uint64_t most = 16384;  // more take hwloc 2 minutes
  std::uint64_t all = 1;
  int depth = 0;
  for (std::size_t i = 0; i < description.size(); ++i) {
    const char c = description[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool begins = i == 0 || description[i - 1] == ' ' || description[i - 1] == ':';
    if (depth != 0 || !begins || c < '0' || c > '9') continue;
    std::uint64_t number = 0;
    const char* const end = description.data() + description.size();
    const auto parsed = std::from_chars(description.data() + i, end, number);
    if (parsed.ec != std::errc() || number > most || number * all > most)
      return fail(Errc::invalid, "the synthetic description has more than " + std::to_string(most) +
                                     " PUs or other objects, the most that nigh takes of one");
    all *= std::max<std::uint64_t>(1, number);
  }
  return {};
}

Result<Machine> machine_of_synthetic(const std::string& description) {
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
}  // namespace

Result<Machine> load_this_machine(const sys::Os& os) {
  if (!told_of_another()) return this_machine(os);
  return read_in_child("the machine that HWLOC_* variables name", [&] { return this_machine(os); });
}

Result<Machine> load_this_machine() { return load_this_machine(sys::Os()); }

// In a child: hwloc's plugins bring libraries of others along, which leave memory behind.
Result<Machine> load_this_machine_with_devices() {
  auto machine = load_this_machine();
  if (!machine) return machine;
  auto equipped = read_in_child("the devices of this machine", [&] {
    Machine copy = *machine;
    if (auto topology = load_topology("this machine", [](hwloc_topology_t) { return 0; }, Io::yes))
      add_hwloc_devices(topology->get(), copy);
    return Result<Machine>(std::move(copy));
  });
  if (equipped) machine->devices = std::move(equipped->devices);
  return machine;
}

Result<Machine> load_hwloc_xml(const std::string& path) {
  auto text = sys::read_file(path);
  if (!text) return tl::unexpected(text.error());
  if (auto known = check_xml(path, *text); !known) return tl::unexpected(known.error());
  return read_in_child("the XML file " + path, [&] { return machine_of_xml(path, *text); });
}

Result<Machine> load_hwloc_synthetic(const std::string& description) {
  if (auto fits = check_synthetic(description); !fits) return tl::unexpected(fits.error());
  return read_in_child("the synthetic description '" + description + "'",
                       [&] { return machine_of_synthetic(description); });
}

}  // namespace nigh
