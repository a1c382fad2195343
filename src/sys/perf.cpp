// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The order that linux/perf_event.h prescribes: data_head is read before the data, data_tail written after.
#include "sys/perf.hpp"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <utility>

#include "sys/pages.hpp"

namespace nigh::sys {

namespace {

tl::unexpected<Error> open_error(int error, int tid, int cpu) {
  std::string whom = tid > 0    ? "thread " + std::to_string(tid)
                     : tid == 0 ? "ourselves"
                                : "CPU " + std::to_string(cpu);
  std::string what = "can't open a perf event for " + whom + ": " + std::strerror(error);
  switch (error) {
    case EACCES:
    case EPERM: return fail(Errc::permission, what, error);
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case ENOSYS:
    case EINVAL: return fail(Errc::unsupported, what, error);
    default: return fail(Errc::io, what, error);
  }
}

Result<void> control(int fd, unsigned long request, void* argument, const char* what) {
  if (::ioctl(fd, request, argument) == 0) return {};
  return fail(Errc::io, std::string("can't ") + what + " a perf event: " + std::strerror(errno), errno);
}

}  // namespace

void copy_ring(const std::byte* ring, std::size_t bytes, std::uint64_t tail, std::uint64_t head,
               std::vector<std::byte>& out) {
  if (bytes == 0 || head - tail > bytes) return;
  std::size_t size = static_cast<std::size_t>(head - tail);
  std::size_t start = static_cast<std::size_t>(tail & (bytes - 1));
  std::size_t first = std::min(size, bytes - start);
  out.insert(out.end(), ring + start, ring + start + first);
  out.insert(out.end(), ring, ring + (size - first));
}

PerfEvent& PerfEvent::operator=(PerfEvent&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(ring_bytes_, other.ring_bytes_);
  std::swap(aux_, other.aux_);
  std::swap(aux_bytes_, other.aux_bytes_);
  return *this;
}

PerfEvent::~PerfEvent() { close(); }

void PerfEvent::close() {
  if (aux_ != nullptr) ::munmap(aux_, aux_bytes_);
  if (base_ != nullptr) ::munmap(base_, page_bytes() + ring_bytes_);
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  base_ = aux_ = nullptr;
}

Result<PerfEvent> PerfEvent::open(perf_event_attr attr, int tid, int cpu, const PerfEvent* leader) {
  attr.size = sizeof attr;
  int group = leader != nullptr ? leader->fd_ : -1;
  long fd = ::syscall(SYS_perf_event_open, &attr, tid, cpu, group, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return open_error(errno, tid, cpu);
  PerfEvent event;
  event.fd_ = static_cast<int>(fd);
  return event;
}

Result<void> PerfEvent::map(std::size_t pages, std::size_t fewest) {
  int error = EINVAL;
  for (; pages >= std::max<std::size_t>(fewest, 1); pages /= 2) {
    std::size_t bytes = pages * page_bytes();
    void* got = ::mmap(nullptr, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (got != MAP_FAILED) {
      base_ = static_cast<std::byte*>(got);
      ring_bytes_ = bytes;
      return {};
    }
    error = errno;
    if (error != EPERM && error != ENOMEM) break;
  }
  return fail(error == EPERM ? Errc::permission : Errc::io,
              std::string("can't map the ring of a perf event: ") + std::strerror(error) +
                  (error == EPERM ? "; raise kernel.perf_event_mlock_kb or the limit on locked memory" : ""),
              error);
}

Result<void> PerfEvent::map_aux(std::size_t pages) {
  auto* page = reinterpret_cast<perf_event_mmap_page*>(base_);
  if (page == nullptr) return fail(Errc::internal, "the AUX buffer of a perf event needs its ring first");
  page->aux_offset = page_bytes() + ring_bytes_;
  page->aux_size = pages * page_bytes();
  void* got = ::mmap(nullptr, page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                     static_cast<off_t>(page->aux_offset));
  if (got == MAP_FAILED)
    return fail(errno == EPERM ? Errc::permission : Errc::io,
                std::string("can't map the AUX buffer of a perf event: ") + std::strerror(errno), errno);
  aux_ = static_cast<std::byte*>(got);
  aux_bytes_ = page->aux_size;
  return {};
}

Result<void> PerfEvent::enable() { return control(fd_, PERF_EVENT_IOC_ENABLE, nullptr, "start"); }
Result<void> PerfEvent::disable() { return control(fd_, PERF_EVENT_IOC_DISABLE, nullptr, "stop"); }
Result<void> PerfEvent::set_period(std::uint64_t period) {
  return control(fd_, PERF_EVENT_IOC_PERIOD, &period, "change the period of");
}

void PerfEvent::drain(std::vector<std::byte>& out) {
  if (base_ == nullptr) return;
  auto* page = reinterpret_cast<perf_event_mmap_page*>(base_);
  std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  copy_ring(base_ + page_bytes(), ring_bytes_, page->data_tail, head, out);
  __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

std::uint64_t PerfEvent::drain_aux(std::vector<std::byte>& out) {
  if (aux_ == nullptr) return 0;
  auto* page = reinterpret_cast<perf_event_mmap_page*>(base_);
  std::uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE), tail = page->aux_tail;
  copy_ring(aux_, aux_bytes_, tail, head, out);
  __atomic_store_n(&page->aux_tail, head, __ATOMIC_RELEASE);
  return tail;
}

int perf_paranoid(const Os& os) {
  auto line = os.read_line("/proc/sys/kernel/perf_event_paranoid");
  return line && !line->empty() ? std::atoi(line->c_str()) : 2;
}

namespace {
// True if CapEff in /proc/self/status holds one of the capabilities (linux/capability.h).
bool has_capability(const Os& os, std::initializer_list<int> wanted) {
  auto status = os.read("/proc/self/status");
  auto at = status ? status->find("CapEff:") : std::string::npos;
  if (at == std::string::npos) return false;
  unsigned long long caps = std::strtoull(status->c_str() + at + 7, nullptr, 16);
  return std::any_of(wanted.begin(), wanted.end(), [&](int one) { return ((caps >> one) & 1) != 0; });
}
}  // namespace

bool may_perfmon(const Os& os) {
  constexpr int cap_sys_admin = 21, cap_perfmon = 38;
  return has_capability(os, {cap_sys_admin, cap_perfmon});
}

std::size_t ring_limit(const Os& os) {
  constexpr int cap_ipc_lock = 14;
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  rlimit locked = {};
  if (has_capability(os, {cap_ipc_lock}) || perf_paranoid(os) < 0) return none;
  if (::getrlimit(RLIMIT_MEMLOCK, &locked) != 0) locked.rlim_cur = 0;
  if (locked.rlim_cur == RLIM_INFINITY) return none;
  auto line = os.read_line("/proc/sys/kernel/perf_event_mlock_kb");
  auto online = os.read_line("/sys/devices/system/cpu/online");
  auto cpus = online ? CpuSet::parse(*online) : Result<CpuSet>();
  std::size_t kib = line ? std::strtoull(line->c_str(), nullptr, 10) : 516;
  return kib * 1024 * static_cast<std::size_t>(std::max(1, cpus ? cpus->count() : 1)) + locked.rlim_cur;
}

std::size_t raise_file_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace nigh::sys
