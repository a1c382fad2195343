// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See door.hpp. A folder is believed when it is a folder, ours, and closed to all others; in these places
// nobody but its owner can put another in its place (they are sticky, or ours). Somebody may have taken the
// name: then the next place serves, or the outer door alone.
#include "space/door.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "space/registry.hpp"

namespace nigh::space {

namespace {

constexpr const char* places[] = {"/dev/shm", "/tmp"};
constexpr int place_count = sizeof places / sizeof *places;
constexpr int door_backlog = 4096;

long at_path(long number, const char* path, long a = 0, long b = 0) {
  return nigh_raw_syscall6(number, AT_FDCWD, reinterpret_cast<long>(path), a, b, 0, 0);
}

bool look_at(const char* path, struct stat& facts, int flags) {
  return at_path(SYS_newfstatat, path, reinterpret_cast<long>(&facts), flags) == 0;
}

// An identity that no other host, and no other network namespace of this one, has: folders may be shared
// between hosts, and so may a key that a scheduler gives. 0: /proc does not tell.
std::uint64_t find_host() {
  struct stat network{};
  char text[9] = "";
  const long fd = at_path(SYS_openat, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const long got = nigh_raw_syscall3(SYS_read, fd, reinterpret_cast<long>(text), sizeof text - 1);
  sys::close_fd(static_cast<int>(fd));
  if (got != sizeof text - 1 || !look_at("/proc/self/ns/net", network, 0)) return 0;
  return std::strtoull(text, nullptr, 16) << 32 ^ network.st_ino;
}

std::uint64_t host() {
  static std::uint64_t found = 0;
  if (found == 0) found = find_host();
  return found;
}

}  // namespace

Folder folder_of(const unsigned char (&key)[16], int place) {
  Folder folder{};
  char hash[33];
  if (host() == 0) return folder;
  hash_text(key, "door", host(), hash);
  std::snprintf(folder.path, sizeof folder.path, "%s/nigh-%s", places[place], hash);
  return folder;
}

namespace {

bool is_private(const Folder& folder) {
  struct stat facts{};
  return folder.path[0] != '\0' && look_at(folder.path, facts, AT_SYMLINK_NOFOLLOW) &&
         S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && (facts.st_mode & 0077) == 0;
}

sys::SocketName door_name(const Folder& folder, int rank) {
  sys::SocketName name;
  name.address.sun_family = AF_UNIX;
  std::snprintf(name.address.sun_path, sizeof name.address.sun_path, "%s/%d", folder.path, rank);
  name.bytes = sizeof name.address;
  return name;
}

void remove_door(const Folder& folder, int rank) {
  at_path(SYS_unlinkat, door_name(folder, rank).address.sun_path);
}

void remove_folder(const Folder& folder) { at_path(SYS_unlinkat, folder.path, AT_REMOVEDIR); }

// The last rank of those that have ended their join takes the folder away, so it may go just after we found
// it.
int open_inner(const Job& job, int place) {
  constexpr int attempts = 8;
  const Folder folder = folder_of(job.key, place);
  int listener = -ENOENT;
  for (int i = 0; i < attempts && listener == -ENOENT; ++i) {
    if (folder.path[0] != '\0') at_path(SYS_mkdirat, folder.path, 0700);
    if (!is_private(folder)) return -EACCES;
    remove_door(folder, job.rank);  // we hold the claim: it can only be a dead one
    listener = sys::listen_at(door_name(folder, job.rank), door_backlog);
  }
  if (listener < 0) remove_folder(folder);
  return listener;
}

// At the inner door of a rank, by a socket that is not connected yet.
int try_inner(int fd, const Job& job, int rank) {
  int done = -ECONNREFUSED;
  for (int place = 0; place < place_count; ++place) {
    const Folder folder = folder_of(job.key, place);
    if (!is_private(folder)) continue;
    done = sys::try_connect(fd, door_name(folder, rank));
    if (done == 0 || done == -EAGAIN) break;
  }
  return done;
}

// True if the holder of our outer door's name is no process of ours: that name can be worked out by others,
// unless the key is a secret.
bool is_squatted(const Job& job) {
  const int fd = sys::open_socket();
  if (fd < 0) return false;
  ucred peer{};
  bool ours = true;
  if (const int inner = try_inner(fd, job, job.rank); inner != 0 && inner != -EAGAIN) {
    const int outer = sys::try_connect(fd, rank_name(job, job.rank));
    ours = outer == 0 && sys::peer_credentials(fd, peer) && peer.uid == geteuid();
  }
  sys::close_fd(fd);
  return !ours;
}

}  // namespace

int open_doors(const Job& job, Doors& doors) {
  doors.outer = sys::listen_at(rank_name(job, job.rank), door_backlog);
  if (doors.outer >= 0) return 0;
  if (doors.outer != -EADDRINUSE || !is_squatted(job)) return doors.outer;
  doors.outer = -1;
  open_inner_door(job, doors);
  return doors.inner < 0 ? -EADDRINUSE : 0;
}

void open_inner_door(const Job& job, Doors& doors) {
  for (doors.place = 0; doors.place < place_count; ++doors.place)
    if ((doors.inner = open_inner(job, doors.place)) >= 0) return;
  doors.inner = -1;
}

void close_doors(const Job& job, Doors& doors) {
  if (doors.inner >= 0) {
    const Folder folder = folder_of(job.key, doors.place);
    remove_door(folder, job.rank);
    remove_folder(folder);
  }
  sys::hang_up(doors.inner);
  sys::hang_up(doors.outer);
  doors = {};
}

void forget_doors(Doors& doors) {
  sys::close_fd(doors.inner);
  sys::close_fd(doors.outer);
  doors = {};
}

void shut_outer(const Doors& doors) { sys::shut_down(doors.outer); }

int visit_rank(const Job& job, int rank) {
  const int fd = sys::open_socket();
  if (fd < 0) return fd;
  int done = try_inner(fd, job, rank);
  if (done != 0 && done != -EAGAIN) done = sys::try_connect(fd, rank_name(job, rank));
  if (done == 0) return fd;
  sys::close_fd(fd);
  return done;
}

void remove_doors(const unsigned char (&key)[16], int size) {
  for (int place = 0; place < place_count; ++place) {
    const Folder folder = folder_of(key, place);
    if (!is_private(folder)) continue;
    for (int rank = 0; rank < size; ++rank) remove_door(folder, rank);
    remove_folder(folder);
  }
}

}  // namespace nigh::space
