// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "openmp/pins.hpp"
#include "sys/cgroup.hpp"

namespace nigh::doctor {

const char* level_name(Level level) {
  switch (level) {
    case Level::hindrance: return "hindrance";
    case Level::note: return "note";
    case Level::fine: break;
  }
  return "fine";
}

namespace {

class Examination {
 public:
  explicit Examination(const Patient& patient) : p_(patient) {}
  std::vector<Finding> run();

 private:
  void add(const char* id, Level level, std::string sentence, std::string cure = "") {
    out_.push_back({id, level, std::move(sentence), std::move(cure)});
  }
  [[nodiscard]] std::string line(const std::string& path) const { return p_.os.read_line(path).value_or(""); }
  // -1: there is no such file, or no number in it.
  [[nodiscard]] long number(const std::string& path) const {
    const std::string text = line(path);
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    return end == text.c_str() ? -1 : value;
  }
  // The word in brackets of "always [madvise] never".
  [[nodiscard]] std::string chosen(const std::string& path) const {
    const std::string text = line(path);
    const std::size_t from = text.find('['), to = text.find(']');
    return from == std::string::npos || to == std::string::npos ? "" : text.substr(from + 1, to - from - 1);
  }
  [[nodiscard]] bool has_several_nodes() const {
    return line("/sys/devices/system/node/has_memory").find_first_of(",-") != std::string::npos;
  }

  void files();
  void mpi_libraries();
  void space();
  void huge_pages();
  void cpus();
  void quota();
  void near_and_far();
  void meters();
  void variables();
  void probe();

  const Patient& p_;
  std::vector<Finding> out_;
};

void Examination::files() {
  if (!p_.has_proc)
    add("no-proc", Level::hindrance,
        "there is no /proc, so nigh finds neither its libraries nor what is below",
        "mount -t proc proc /proc");
  for (const std::string& file : p_.missing_files)
    add("missing-file", Level::hindrance, file + " is not beside nigh",
        "install nigh completely (make install)");
}

// ---- MPI ----

struct Library {
  const char* file;
  const char* name;
};
constexpr Library mpi_files[] = {{"libmpi.so.40", "Open MPI 4 or 5"},
                                 {"libmpi.so.12", "MPICH, Intel MPI or one with their ABI"},
                                 {"libmpich.so.12", "MPICH"},
                                 {"libmpi_abi.so.0", "an MPI of the standard ABI"},
                                 {"libmpi_abi.so.1", "an MPI of the standard ABI"}};

void Examination::mpi_libraries() {
  std::vector<std::string> folders;
  const std::string path = p_.variable("LD_LIBRARY_PATH");
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (end > at) folders.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  folders.insert(folders.end(), {"/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64"});
  for (const char* parent : {"/usr/lib", "/opt"})
    for (const std::string& name : p_.os.list(parent))
      for (const char* below : {"", "/lib", "/lib64"}) folders.push_back(parent + ("/" + name) + below);
  std::set<std::string> seen;
  for (const std::string& folder : folders)
    for (const Library& library : mpi_files)
      if (const std::string file = folder + "/" + library.file;
          p_.os.exists(file) && seen.insert(file).second)
        add("mpi-library", Level::fine,
            fmt::format("{} ({}): messages, collectives and windows of ranks on one node are covered", file,
                        library.name));
  if (seen.empty())
    add("no-mpi", Level::note, "no MPI library is in the usual folders or in LD_LIBRARY_PATH",
        "set LD_LIBRARY_PATH (module load), if programs here use one");
  if (p_.is_root && p_.os.exists("/usr/bin/mpirun.openmpi") && p_.variable("OMPI_ALLOW_RUN_AS_ROOT").empty())
    add("openmpi-root", Level::note, "Open MPI's mpirun refuses to start anything for root",
        "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
}

void Examination::space() {
  const std::string lost = "so the ranks of a node share no memory and messages are as without nigh";
  if (p_.limited_address_space)
    add("limit-address-space", Level::hindrance, "the address space of processes is limited, " + lost,
        "ulimit -v unlimited");
  if (p_.limited_data)
    add("limit-data", Level::hindrance, "the data of processes is limited, " + lost, "ulimit -d unlimited");
  if (p_.largest_file < (std::uint64_t{4} << 30))
    add("limit-file", Level::hindrance, "files are limited to less than 4 GiB, " + lost,
        "ulimit -f unlimited");
  if (number("/proc/sys/vm/overcommit_memory") == 2)
    add("overcommit", Level::hindrance, "the kernel keeps strict account of memory, " + lost,
        "as root: sysctl vm.overcommit_memory=0");
  if (p_.shm_bytes == 0)
    add("no-shm", Level::note,
        "there is no /dev/shm that may be written to: MPI libraries put their shared memory elsewhere, or "
        "fail",
        "mount a tmpfs there (docker run --shm-size=1g)");
  else if (p_.shm_bytes <= (std::uint64_t{64} << 20))
    add("small-shm", Level::note,
        fmt::format("/dev/shm has {} MiB, too little for the shared memory of some MPI libraries; nigh's own "
                    "is not there",
                    p_.shm_bytes >> 20),
        "docker run --shm-size=1g");
  for (const char* name : {"NIGH_MPI", "NIGH_SPACE", "NIGH_MPI_P2P", "NIGH_MPI_COLL", "NIGH_MPI_RMA"})
    if (const std::string value = p_.variable(name); value == "off" || value == "0")
      add("switched-off", Level::hindrance, fmt::format("{}={} switches off a part of nigh", name, value),
          std::string("unset ") + name);
  for (const std::string& sentence : p_.unknown_settings)
    add("unknown-setting", Level::note, sentence, "nigh settings lists those that it reads");
}

void Examination::huge_pages() {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  if (chosen(folder + "enabled") == "never")
    add("huge-pages", Level::note, "the kernel makes no huge pages of programs' memory",
        "as root: echo madvise >" + folder + "enabled");
  if (chosen(folder + "shmem_enabled") == "deny")
    add("huge-shared", Level::note, "the kernel makes no huge pages of shared memory, the space's among them",
        "as root: echo advise >" + folder + "shmem_enabled");
  const struct {
    const char* file;
    long forbids, allows;
  } namespaces[] = {{"/proc/sys/user/max_user_namespaces", 0, 10000},
                    {"/proc/sys/kernel/unprivileged_userns_clone", 0, 1},
                    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1, 0}};
  for (const auto& one : namespaces)
    if (!p_.is_root && number(one.file) == one.forbids)
      add("namespaces", Level::note,
          "users may make no user namespaces, so the shared memory of ranks gets huge pages later and at a "
          "higher price",
          fmt::format("as root: echo {} >{}", one.allows, one.file));
}

// ---- CPUs ----

void Examination::cpus() {
  const auto online = CpuSet::parse(line("/sys/devices/system/cpu/online"));
  if (online && p_.own.count() < online->count())
    add("fewer-pus", Level::note,
        fmt::format("of the machine's {} PUs {} may be used here ({})", online->count(), p_.own.count(),
                    p_.own.to_list()),
        "taskset, the cpuset of the container or the batch job (srun --cpus-per-task) decide");
  const std::string threads = p_.variable("OMP_NUM_THREADS");
  if (const long first = std::strtol(threads.c_str(), nullptr, 10); first > p_.own.count())
    add("too-many-threads", Level::hindrance,
        fmt::format("OMP_NUM_THREADS={} is more than the {} PUs that may be used", threads, p_.own.count()),
        fmt::format("export OMP_NUM_THREADS={}", p_.own.count()));
  if (number("/sys/devices/system/cpu/smt/active") == 1 && threads.empty())
    add("smt", Level::note, "cores have several PUs, and OpenMP runtimes start a thread on each of them",
        "export OMP_NUM_THREADS to the number of cores, if one thread a core is faster (nigh compare)");
  std::set<std::string> governors;
  for (const std::string& name : p_.os.list("/sys/devices/system/cpu/cpufreq"))
    governors.insert(line("/sys/devices/system/cpu/cpufreq/" + name + "/scaling_governor"));
  const bool pstate = p_.os.exists("/sys/devices/system/cpu/intel_pstate") ||
                      p_.os.exists("/sys/devices/system/cpu/amd_pstate");  // there powersave adapts
  if (governors.count("powersave") != 0 && !pstate)
    add("governor", Level::note, "the governor powersave keeps CPUs at their lowest frequency",
        "as root: cpupower frequency-set -g performance");
}

void Examination::quota() {
  const auto place = sys::own_place(p_.os);
  if (!place) return;
  for (std::string folder = place->group.folder; folder.size() >= place->mount.size();
       folder.resize(folder.rfind('/'))) {
    const std::string text = line(folder + "/cpu.max");
    char* rest = nullptr;
    const double time = std::strtod(text.c_str(), &rest);
    const double period = rest == text.c_str() ? 0 : std::strtod(rest, nullptr);
    if (period <= 0 || time / period >= p_.own.count()) continue;
    add("cpu-quota", Level::hindrance,
        fmt::format("the cgroup {} has the time of {:.3g} CPUs, but {} PUs may be used: threads on all of "
                    "them are stopped again and again",
                    folder, time / period, p_.own.count()),
        fmt::format("give whole PUs (docker run --cpuset-cpus), or export OMP_NUM_THREADS={}",
                    std::max(1, static_cast<int>(time / period))));
    return;
  }
}

void Examination::near_and_far() {
  if (has_several_nodes()) {
    if (number("/proc/sys/kernel/numa_balancing") >= 1)
      add("numa-balancing", Level::note,
          "the kernel takes pages away from programs now and then to see who uses them "
          "(kernel.numa_balancing)",
          "as root: sysctl kernel.numa_balancing=0, where threads are bound anyway");
    return;
  }
  add("one-node", Level::fine,
      "one NUMA node: nigh run binds OpenMP teams only if there are several last-level caches");
}

void Examination::meters() {
  if (!p_.is_root && number("/proc/sys/kernel/perf_event_paranoid") > 1)
    add("perf", Level::note,
        "users may not sample their programs' memory accesses, so nigh watch counts less exactly",
        "as root: sysctl kernel.perf_event_paranoid=1");
  if (!p_.is_root && number("/proc/sys/kernel/yama/ptrace_scope") >= 1)
    add("ptrace", Level::note,
        "processes may not read each other's memory (ptrace_scope), so UCX and Open MPI copy twice; nigh "
        "needs no such right",
        "as root: sysctl kernel.yama.ptrace_scope=0");
}

// ---- the shell ----

void Examination::variables() {
  for (const char* name : openmp::pins)
    if (const std::string value = p_.variable(name); !value.empty())
      add("user-binds", Level::note,
          fmt::format("{}={} binds OpenMP threads, so nigh run leaves teams alone", name, value),
          std::string("unset ") + name);
  const std::string preload = p_.variable("LD_PRELOAD");
  for (const char* heap : {"jemalloc", "tcmalloc", "mimalloc"})
    if (preload.find(heap) != std::string::npos)
      add("other-heap", Level::note,
          fmt::format("LD_PRELOAD names {}: blocks of its heap are shared between ranks only as far as "
                      "nigh's stands in front",
                      heap),
          "nigh run --explain -- ... tells how much was unshared; without it: unset LD_PRELOAD");
  if (const std::string tools = p_.variable("OMP_TOOL_LIBRARIES"); !tools.empty())
    add("other-tool", Level::hindrance,
        "OMP_TOOL_LIBRARIES=" + tools + ": libomp takes one tool, and this is not nigh's",
        "unset OMP_TOOL_LIBRARIES");
  if (p_.variable("OMP_TOOL") == "disabled")
    add("no-tool", Level::hindrance, "OMP_TOOL=disabled: libomp tells nobody of its regions",
        "unset OMP_TOOL");
}

void Examination::probe() {
  if (!p_.unused_probe.empty())
    add("other-probe", Level::note, p_.unused_probe, "nigh machine --probe");
  else if (!p_.has_probe)
    add("no-probe", Level::note,
        "the bandwidth and latency of this machine's memory was not measured; plans assume it",
        "nigh machine --probe");
}

std::vector<Finding> Examination::run() {
  files();
  mpi_libraries();
  space();
  huge_pages();
  cpus();
  quota();
  near_and_far();
  meters();
  variables();
  probe();
  std::vector<Finding> sorted;
  for (const Level level : {Level::hindrance, Level::note, Level::fine})
    for (Finding& one : out_)
      if (one.level == level) sorted.push_back(std::move(one));
  return sorted;
}

}  // namespace

std::vector<Finding> examine(const Patient& patient) { return Examination(patient).run(); }

}  // namespace nigh::doctor
