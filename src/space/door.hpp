// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The doors of a rank. Abstract sockets have no permissions: whoever reads their names in /proc/net/unix may
// connect, again and again, and each visit has to be taken and sent away. So a rank has two doors. The inner
// one is a path socket in a folder of the job that only our user may enter: the kernel keeps others away from
// it, and ranks try it first. The outer one is an abstract socket: it claims the rank's name, and is all that
// there is as long as no strangers come, since a folder stays behind when a job is killed. When a crowd has
// come, or somebody else has taken the name, the inner one is opened and the outer one shut.
//
//   @nigh-HASH                 outer
//   /dev/shm/nigh-HASH/RANK    inner; or in /tmp, where /dev/shm can't be used or somebody took the name
//
// Part of the loaded code: no allocation, no C++ library. Results: >= 0, or -errno.
#pragma once

#include "space/process_space.hpp"
#include "sys/socket.hpp"

namespace nigh::space {

struct Doors {
  int inner = -1;  // -1: not opened, or no folder can be had
  int outer = -1;
  int place = 0;  // which of the folders the inner one is in
};

// The outer one, and the inner one where that has been taken from us. -EADDRINUSE: another process has
// claimed the rank.
int open_doors(const Job& job, Doors& doors);
void open_inner_door(const Job& job, Doors& doors);
// Nothing of them is left behind; the folder goes with the last rank.
void close_doors(const Job& job, Doors& doors);
// In a child: they are its parent's.
void forget_doors(Doors& doors);
// Nobody is let in any more, but the name stays claimed.
void shut_outer(const Doors& doors);

// A connection to a rank by its inner door, else by its outer one. -ECONNREFUSED: nobody is there; -EAGAIN:
// try again.
int visit_rank(const Job& job, int rank);

// The folder of the inner doors: "/dev/shm/nigh-HASH" is place 0, one in /tmp place 1. Empty: /proc does not
// tell the host.
struct Folder {
  char path[64];
};
Folder folder_of(const unsigned char (&key)[16], int place);

// Removes the inner doors that killed ranks of this job have left: for its launcher, at the end.
void remove_doors(const unsigned char (&key)[16], int size);

}  // namespace nigh::space
