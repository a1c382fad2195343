// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Side effects of a library's HTTP server on the whole process or machine that ours must not have: SIGPIPE
// ignored for good (a program that we start would inherit that over exec, and never notice that nobody reads
// it), and a port shared with any other listener.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace nigh::sys {

// The action of SIGPIPE when this was made is put back at its end.
class KeepPipeSignal {
 public:
  KeepPipeSignal();
  ~KeepPipeSignal();
  KeepPipeSignal(const KeepPipeSignal&) = delete;
  KeepPipeSignal& operator=(const KeepPipeSignal&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

// For the calling thread and those that it starts: writing to a closed connection is an error (EPIPE) and no
// signal.
void block_pipe_signal();

// A port that was in use a moment ago may be bound again (SO_REUSEADDR), one that is in use may not: without
// SO_REUSEPORT, see socket(7).
void own_port(int socket);

// A connection that this process has accepted.
struct Connection {
  int fd = -1;
  int peer_port = 0;
  std::string peer;  // its address
};
// Those to this port, as they are now: a server that does not tell of its connections can be watched so.
std::vector<Connection> connections_to(int port);
// Nothing more is read from it or written to it; whoever serves it closes it. Not if it is another one by
// now.
void end_connection(const Connection& connection);

std::string host_name();

}  // namespace nigh::sys
