// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// AMD: IBS op counts dispatched ops (cnt_ctl) and, where it can, keeps only those that missed L3. Intel: the
// event mem-loads with a least latency, behind its auxiliary event where there is one (Sapphire Rapids and
// later). Arm: SPE, loads only, slow ones only.
#include "watch/pmu_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace nigh::watch {

namespace {

const std::string devices = "/sys/bus/event_source/devices/";
constexpr std::uint64_t samples_a_second = 1000;  // a thread, in frequency mode
constexpr std::uint64_t least_latency = 30;       // cycles: slower than the near caches
constexpr std::uint64_t spe_interval = 1 << 16;   // operations between two samples

Result<std::uint32_t> pmu_type(const sys::Os& os, const std::string& folder) {
  auto line = os.read_line(folder + "/type");
  if (!line) return tl::unexpected(line.error());
  return static_cast<std::uint32_t>(std::strtoul(line->c_str(), nullptr, 10));
}

bool has_field(const sys::Os& os, const std::string& folder, const std::string& name) {
  return os.exists(folder + "/format/" + name);
}

Result<perf_event_attr> base_attr(const sys::Os& os, const std::string& folder, bool kernel_too) {
  auto type = pmu_type(os, folder);
  if (!type) return tl::unexpected(type.error());
  perf_event_attr attr = {};
  attr.size = sizeof attr;
  attr.type = *type;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                     PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
  attr.freq = 1;
  attr.sample_freq = samples_a_second;
  attr.disabled = 1;
  attr.exclude_kernel = kernel_too ? 0 : 1;
  attr.exclude_hv = attr.exclude_kernel;
  return attr;
}

Result<PmuPlan> plan_ibs(const sys::Os& os, const std::string& folder, bool kernel_too) {
  auto attr = base_attr(os, folder, kernel_too);
  if (!attr) return tl::unexpected(attr.error());
  PmuPlan plan;
  plan.kind = PmuKind::ibs;
  plan.name = "AMD IBS op";
  plan.rate_known = true;
  attr->sample_type |= PERF_SAMPLE_RAW;  // for kernels that leave DATA_SRC empty (before 6.2)
  attr->exclude_hv = 0;                  // IBS refuses it
  if (!kernel_too) {
    if (!has_field(os, folder, "swfilt"))
      return fail(
          Errc::permission,
          "IBS of this kernel (before 6.14) can't leave the kernel out, so it is for those who may see "
          "into it");
    if (auto set = set_field(os, folder, "swfilt", 1, *attr); !set) return tl::unexpected(set.error());
  }
  if (has_field(os, folder, "cnt_ctl"))
    if (auto set = set_field(os, folder, "cnt_ctl", 1, *attr); !set) return tl::unexpected(set.error());
  if (has_field(os, folder, "l3missonly")) {
    if (auto set = set_field(os, folder, "l3missonly", 1, *attr); !set) return tl::unexpected(set.error());
    plan.rate_known = false;  // the hardware drops what hit and counts on
  }
  plan.attrs = {*attr};
  return plan;
}

// The most precise level, at most 3 (2 where the kernel does not say).
unsigned precise_level(const sys::Os& os, const std::string& folder) {
  auto line = os.read_line(folder + "/caps/max_precise");
  return line ? static_cast<unsigned>(std::clamp(std::atoi(line->c_str()), 0, 3)) : 2U;
}

Result<PmuPlan> plan_pebs(const sys::Os& os, const std::string& folder, bool kernel_too) {
  auto attr = base_attr(os, folder, kernel_too);
  if (!attr) return tl::unexpected(attr.error());
  auto words = os.read_line(folder + "/events/mem-loads");
  if (!words) return tl::unexpected(words.error());
  PmuPlan plan;
  plan.kind = PmuKind::pebs;
  plan.name = "Intel PEBS load latency";
  plan.rate_known = true;
  if (auto set = set_event(os, folder, *words, *attr); !set) return tl::unexpected(set.error());
  if (auto set = set_field(os, folder, "ldlat", least_latency, *attr); !set)
    return tl::unexpected(set.error());
  attr->precise_ip = precise_level(os, folder) & 3;
  if (attr->precise_ip == 0)
    return fail(Errc::unsupported, "the PMU in " + folder + " has no precise events (PEBS)");
  if (auto helper = os.read_line(folder + "/events/mem-loads-aux"); helper) {
    perf_event_attr leader = *attr;
    leader.config = leader.config1 = leader.config2 = 0;
    leader.precise_ip = 0;
    leader.freq = 0;
    leader.sample_period = 0;  // it only has to run beside the other
    leader.sample_type = 0;
    if (auto set = set_event(os, folder, *helper, leader); !set) return tl::unexpected(set.error());
    attr->disabled = 0;  // follows its leader
    plan.attrs.push_back(leader);
  }
  plan.attrs.push_back(*attr);
  return plan;
}

bool neoverse_here(const sys::Os& os) {
  auto line = os.read_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  std::uint64_t midr = line ? std::strtoull(line->c_str(), nullptr, 16) : 0;
  constexpr unsigned arm = 0x41;
  const unsigned parts[] = {0xd0c, 0xd40, 0xd49, 0xd4f};  // N1, V1, N2, V2
  return (midr >> 24) == arm &&
         std::find(std::begin(parts), std::end(parts), (midr >> 4) & 0xfff) != std::end(parts);
}

Result<PmuPlan> plan_spe(const sys::Os& os, const std::string& folder, bool kernel_too) {
  auto attr = base_attr(os, folder, kernel_too);
  if (!attr) return tl::unexpected(attr.error());
  PmuPlan plan;
  plan.kind = PmuKind::spe;
  plan.name = "Arm SPE";
  plan.neoverse = neoverse_here(os);
  attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;  // the rest is in the AUX buffer
  attr->freq = 0;
  auto least = os.read_line(folder + "/caps/min_interval");
  attr->sample_period =
      std::max<std::uint64_t>(spe_interval, least ? std::strtoull(least->c_str(), nullptr, 10) : 0);
  for (const char* field : {"load_filter", "jitter"})
    if (auto set = set_field(os, folder, field, 1, *attr); !set) return tl::unexpected(set.error());
  if (auto set = set_field(os, folder, "min_latency", least_latency, *attr); !set)
    return tl::unexpected(set.error());
  plan.attrs = {*attr};
  return plan;
}

Result<void> put_bits(const std::string& text, std::uint64_t value, perf_event_attr& attr,
                      const std::string& where) {
  auto colon = text.find(':');
  std::string word = text.substr(0, colon);
  __u64* into = word == "config"    ? &attr.config
                : word == "config1" ? &attr.config1
                : word == "config2" ? &attr.config2
                                    : nullptr;
  if (into == nullptr || colon == std::string::npos)
    return fail(Errc::unsupported, where + " says '" + text + "', which this version of nigh does not know");
  std::istringstream ranges(text.substr(colon + 1));
  for (std::string range; std::getline(ranges, range, ',');) {
    char* end = nullptr;
    unsigned long first = std::strtoul(range.c_str(), &end, 10);
    unsigned long last = *end == '-' ? std::strtoul(end + 1, nullptr, 10) : first;
    if (first > last || last > 63)
      return fail(Errc::unsupported, where + " says '" + text + "', which are no bits of a word");
    for (unsigned long bit = first; bit <= last; ++bit, value >>= 1)
      *into = (*into & ~(std::uint64_t{1} << bit)) | ((value & 1) << bit);
  }
  return {};
}

}  // namespace

Result<void> set_field(const sys::Os& os, const std::string& folder, const std::string& name,
                       std::uint64_t value, perf_event_attr& attr) {
  std::string path = folder + "/format/" + name;
  auto text = os.read_line(path);
  if (!text) return fail(Errc::unsupported, "the PMU in " + folder + " has no field " + name);
  return put_bits(*text, value, attr, path);
}

Result<void> set_event(const sys::Os& os, const std::string& folder, const std::string& words,
                       perf_event_attr& attr) {
  std::istringstream terms(words);
  for (std::string term; std::getline(terms, term, ',');) {
    auto equals = term.find('=');
    std::uint64_t value =
        equals == std::string::npos ? 1 : std::strtoull(term.c_str() + equals + 1, nullptr, 0);
    if (auto set = set_field(os, folder, term.substr(0, equals), value, attr); !set) return set;
  }
  return {};
}

Result<PmuPlan> plan_pmu(const sys::Os& os, bool kernel_too) {
  if (os.exists(devices + "ibs_op/type")) return plan_ibs(os, devices + "ibs_op", kernel_too);
  for (const char* name : {"cpu", "cpu_core"})  // cpu_core: the large cores of a hybrid processor
    if (os.exists(devices + name + "/events/mem-loads")) return plan_pebs(os, devices + name, kernel_too);
  if (os.exists(devices + "arm_spe_0/type")) return plan_spe(os, devices + "arm_spe_0", kernel_too);
  auto info = os.read("/proc/cpuinfo");
  bool guest = info && info->find(" hypervisor") != std::string::npos;
  return fail(Errc::unsupported,
              std::string("no PMU here samples addresses (no ibs_op, mem-loads or arm_spe_0)") +
                  (guest ? ": this is a virtual machine, and its host passes none on" : ""));
}

}  // namespace nigh::watch
