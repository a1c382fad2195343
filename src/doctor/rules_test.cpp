// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Each finding is provoked on a made-up machine, and gone once its cure was applied there.
#include "doctor/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sys/test_tree.hpp"

namespace nigh::doctor {
namespace {

// A machine of 8 PUs with nothing in the way.
class Doctor : public testing::Test {
 protected:
  Doctor() {
    patient.os = tree.os();
    patient.variable = [this](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    };
    patient.own = *CpuSet::parse("0-7");
    patient.shm_bytes = std::uint64_t{8} << 30;
    patient.has_probe = true;
    tree.put("/sys/devices/system/cpu/online", "0-7\n").put("/usr/lib/x86_64-linux-gnu/libmpi.so.40", "");
    tree.put("/proc/self/cgroup", "0::/job/step\n");
    tree.put("/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
  }

  [[nodiscard]] std::vector<Finding> found() const {
    std::vector<Finding> out = examine(patient);
    std::erase_if(out, [](const Finding& one) { return one.level == Level::fine; });
    return out;
  }
  [[nodiscard]] std::string ids() const {
    std::string out;
    for (const Finding& one : found()) out += (out.empty() ? "" : " ") + one.id;
    return out;
  }
  // Expects one finding, of this level, with a cure that names this.
  void expect_only(const std::string& id, Level level, const std::string& in_cure) const {
    EXPECT_EQ(ids(), id);
    for (const Finding& one : found()) {
      EXPECT_EQ(one.level, level) << id;
      EXPECT_NE(one.cure.find(in_cure), std::string::npos) << one.cure;
      EXPECT_FALSE(one.sentence.empty());
    }
  }

  sys::TestTree tree;
  Patient patient;
  std::map<std::string, std::string> variables;
};

TEST_F(Doctor, FindsNothingWhereNothingIsInTheWay) { EXPECT_EQ(ids(), ""); }

TEST_F(Doctor, FindsFilesThatContradict) {
  const struct {
    const char *file, *sick, *well, *id, *cure;
    Level level;
    bool root;
  } cases[] = {
      {"/proc/sys/vm/overcommit_memory", "2\n", "0\n", "overcommit", "vm.overcommit_memory=0",
       Level::hindrance, true},
      {"/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n", "always [madvise] never\n",
       "huge-pages", "echo madvise", Level::note, true},
      {"/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size advise never [deny] force\n",
       "always within_size [advise] never deny force\n", "huge-shared", "echo advise", Level::note, true},
      {"/proc/sys/user/max_user_namespaces", "0\n", "10000\n", "namespaces", "echo 10000", Level::note,
       false},
      {"/proc/sys/kernel/unprivileged_userns_clone", "0\n", "1\n", "namespaces", "echo 1", Level::note,
       false},
      {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "0\n", "namespaces", "echo 0",
       Level::note, false},
      {"/proc/sys/kernel/perf_event_paranoid", "3\n", "1\n", "perf", "perf_event_paranoid=1", Level::note,
       false},
      {"/proc/sys/kernel/yama/ptrace_scope", "1\n", "0\n", "ptrace", "ptrace_scope=0", Level::note, false},
      {"/sys/devices/system/cpu/smt/active", "1\n", "0\n", "smt", "OMP_NUM_THREADS", Level::note, true},
      {"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n", "performance\n", "governor",
       "-g performance", Level::note, true},
      {"/sys/devices/system/cpu/online", "0-15\n", "0-7\n", "fewer-pus", "cpuset", Level::note, true},
      {"/sys/fs/cgroup/job/step/cpu.max", "200000 100000\n", "max 100000\n", "cpu-quota", "OMP_NUM_THREADS=2",
       Level::hindrance, true},
      {"/sys/fs/cgroup/job/cpu.max", "50000 100000\n", "800000 100000\n", "cpu-quota", "OMP_NUM_THREADS=1",
       Level::hindrance, true}};
  for (const auto& one : cases) {
    patient.is_root = one.root;
    variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    tree.put(one.file, one.sick);
    expect_only(one.id, one.level, one.cure);
    tree.put(one.file, one.well);
    EXPECT_EQ(ids(), "") << one.file;
  }
}

TEST_F(Doctor, KnowsWhatRootNeedNotMind) {
  tree.put("/proc/sys/kernel/perf_event_paranoid", "3\n").put("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  EXPECT_EQ(ids(), "perf ptrace");
  patient.is_root = true;
  EXPECT_EQ(ids(), "");
}

TEST_F(Doctor, NumaBalancingMattersOnSeveralNodes) {
  tree.put("/proc/sys/kernel/numa_balancing", "1\n").put("/sys/devices/system/node/has_memory", "0\n");
  EXPECT_EQ(ids(), "");
  tree.put("/sys/devices/system/node/has_memory", "0-3\n");
  expect_only("numa-balancing", Level::note, "numa_balancing=0");
}

TEST_F(Doctor, PowersaveOfADriverThatAdaptsIsFine) {
  tree.put("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
  EXPECT_EQ(ids(), "governor");
  tree.put("/sys/devices/system/cpu/intel_pstate/status", "active\n");
  EXPECT_EQ(ids(), "");
}

TEST_F(Doctor, FindsLimits) {
  patient.limited_address_space = true;
  expect_only("limit-address-space", Level::hindrance, "ulimit -v");
  patient.limited_address_space = false;
  patient.limited_data = true;
  expect_only("limit-data", Level::hindrance, "ulimit -d");
  patient.limited_data = false;
  patient.largest_file = std::uint64_t{1} << 30;
  expect_only("limit-file", Level::hindrance, "ulimit -f");
  patient.largest_file = ~std::uint64_t{0};
  patient.shm_bytes = std::uint64_t{64} << 20;
  expect_only("small-shm", Level::note, "--shm-size");
  patient.shm_bytes = 0;
  expect_only("no-shm", Level::note, "tmpfs");
}

TEST_F(Doctor, FindsVariables) {
  const struct {
    const char *name, *value, *id, *cure;
    Level level;
  } cases[] = {
      {"OMP_PROC_BIND", "close", "user-binds", "unset OMP_PROC_BIND", Level::note},
      {"KMP_AFFINITY", "compact", "user-binds", "unset KMP_AFFINITY", Level::note},
      {"OMP_NUM_THREADS", "16", "too-many-threads", "OMP_NUM_THREADS=8", Level::hindrance},
      {"NIGH_MPI", "off", "switched-off", "unset NIGH_MPI", Level::hindrance},
      {"NIGH_SPACE", "0", "switched-off", "unset NIGH_SPACE", Level::hindrance},
      {"LD_PRELOAD", "/usr/lib/libjemalloc.so.2", "other-heap", "unset LD_PRELOAD", Level::note},
      {"OMP_TOOL_LIBRARIES", "/opt/tau.so", "other-tool", "unset OMP_TOOL_LIBRARIES", Level::hindrance},
      {"OMP_TOOL", "disabled", "no-tool", "unset OMP_TOOL", Level::hindrance}};
  for (const auto& one : cases) {
    variables[one.name] = one.value;
    expect_only(one.id, one.level, one.cure);
    variables.clear();
    EXPECT_EQ(ids(), "");
  }
}

TEST_F(Doctor, FindsMpiWhereverItIs) {
  const auto libraries = [this] {
    std::string out;
    for (const Finding& one : examine(patient))
      if (one.id == "mpi-library") out += one.sentence.substr(0, one.sentence.find(' ')) + " ";
    return out;
  };
  EXPECT_EQ(libraries(), "/usr/lib/x86_64-linux-gnu/libmpi.so.40 ");
  tree.put("/opt/mpich5/lib/libmpi_abi.so.1", "").put("/home/me/lib/libmpi.so.12", "");
  EXPECT_EQ(libraries(), "/usr/lib/x86_64-linux-gnu/libmpi.so.40 /opt/mpich5/lib/libmpi_abi.so.1 ");
  variables["LD_LIBRARY_PATH"] = ":/home/me/lib:/home/me/lib";
  EXPECT_EQ(
      libraries(),
      "/home/me/lib/libmpi.so.12 /usr/lib/x86_64-linux-gnu/libmpi.so.40 /opt/mpich5/lib/libmpi_abi.so.1 ");
  const sys::TestTree bare;
  patient.os = bare.os();
  variables.clear();
  EXPECT_EQ(ids(), "no-mpi");
}

TEST_F(Doctor, FindsWhatIsMissingOfOurs) {
  patient.has_proc = false;
  expect_only("no-proc", Level::hindrance, "mount -t proc");
  patient.has_proc = true;
  patient.missing_files = {"libnigh-mpi.so"};
  expect_only("missing-file", Level::hindrance, "install");
  patient.missing_files.clear();
  patient.has_probe = false;
  expect_only("no-probe", Level::note, "--probe");
  patient.unused_probe = "the probe is another machine's";
  expect_only("other-probe", Level::note, "--probe");
}

TEST_F(Doctor, PutsWhatIsInTheWayFirst) {
  variables = {{"OMP_PROC_BIND", "close"}, {"NIGH_MPI", "off"}};
  EXPECT_EQ(ids(), "switched-off user-binds");
}

TEST_F(Doctor, OpenMpiRefusesRoot) {
  patient.is_root = true;
  tree.put("/usr/bin/mpirun.openmpi", "");
  expect_only("openmpi-root", Level::note, "OMPI_ALLOW_RUN_AS_ROOT=1");
  variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
  EXPECT_EQ(ids(), "");
}

}  // namespace
}  // namespace nigh::doctor
