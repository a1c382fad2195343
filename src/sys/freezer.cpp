// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Our side of the freezer: what to stop and by which means, and waiting until all threads stand. If the
// supervisor itself was killed, we do its work: whatever it may have stopped is told to go on.
#include "sys/freezer.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/cgroup.hpp"
#include "sys/socket.hpp"
#include "sys/supervisor.hpp"
#include "sys/threads.hpp"

namespace nigh::sys {

using supervisor::Order;
using supervisor::Reply;
using supervisor::Request;

struct Freezer::State {
  int pid = -1;
  int socket = -1;
  bool frozen = false;
  double since = 0;
  Request request;
};

namespace {
constexpr double settle_limit = 0.1;

// In the place of a supervisor that is gone or hangs; it must not act later on an old order.
void thaw_ourselves(int supervisor_pid, const Request& request) {
  ::kill(supervisor_pid, SIGKILL);
  if (request.cgroup_file[0] != '\0') supervisor::set_frozen(request.cgroup_file.data(), false);
  for (int i = 0; i < request.count && request.cgroup_file[0] == '\0'; ++i)
    supervisor::go_on(request.targets[static_cast<std::size_t>(i)]);
}

// False: the supervisor is gone, or does not answer (it was stopped).
bool ask(int socket, const Request& request, Reply& reply) {
  long sent = -EAGAIN;
  double give_up = now_seconds() + 2;
  while (sent == -EAGAIN && now_seconds() < give_up) {
    sent = send_record(socket, &request, sizeof request);
    if (sent == -EAGAIN) ::usleep(1000);
  }
  if (sent != static_cast<long>(sizeof request)) return false;
  while (now_seconds() < give_up) {
    pollfd look = {.fd = socket, .events = POLLIN, .revents = 0};
    if (wait_for(&look, 1, 100) <= 0) continue;
    int passed = -1;
    long got = receive_record(socket, &reply, sizeof reply, passed);
    if (got != -EAGAIN) return got == static_cast<long>(sizeof reply);
  }
  return false;
}

bool stands(const Os& os, int pid) {
  for (int tid : threads_of(os, pid)) {
    auto facts = task_facts(os, pid, tid);
    if (facts && std::strchr("TtZX", facts->state) == nullptr) return false;
  }
  return true;
}

bool settle(const Os& os, const std::vector<ProcessId>& who, const Cgroup* group) {
  double give_up = now_seconds() + settle_limit;
  while (true) {
    bool all =
        group != nullptr
            ? os.read(group->folder + "/cgroup.events").value_or("").find("frozen 1") != std::string::npos
            : std::all_of(who.begin(), who.end(), [&](const auto& one) { return stands(os, one.pid); });
    if (all || now_seconds() > give_up) return all;
    ::usleep(500);
  }
}

// The cgroup that freezes just these; none: there is no such thing, or it is frozen already.
Result<Cgroup> own_cgroup(const Os& os, const std::vector<ProcessId>& who) {
  auto group = cgroup_of(os, who.front().pid);
  if (!group) return group;
  std::vector<int> pids;
  for (const ProcessId& one : who) pids.push_back(one.pid);
  std::string file = os.path(group->folder + "/cgroup.freeze");
  if (!group->holds_only(os, pids) || !group->writable(os, "cgroup.freeze") || file.size() > 511 ||
      group->get(os, "cgroup.freeze") != "0")
    return fail(Errc::unsupported, "no cgroup freezer for just these processes");
  return group;
}
}  // namespace

const char* freeze_name(FreezeBy by) { return by == FreezeBy::cgroup ? "cgroup freezer" : "SIGSTOP"; }

Freezer::Freezer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Freezer::Freezer(Freezer&&) noexcept = default;

Result<Freezer> Freezer::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Errc::internal, std::string("no socket for the thaw supervisor: ") + std::strerror(errno),
                errno);
  // A record must fit whole.
  int bytes = 4 * static_cast<int>(sizeof(Request));
  for (int end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  int pid = ::fork();
  if (pid == 0) supervisor::serve(ends[1]);  // the other end is closed there: our death is its end of file
  int error = errno;
  ::close(ends[1]);
  if (pid < 0) ::close(ends[0]);
  if (pid < 0)
    return fail(Errc::internal, std::string("the thaw supervisor can't be started: ") + std::strerror(error),
                error);
  auto state = std::make_unique<State>();
  state->pid = pid;
  state->socket = ends[0];
  return Freezer(std::move(state));
}

Freezer::~Freezer() {
  if (!state_) return;
  if (state_->frozen) thaw();
  ::close(state_->socket);
  // It ends by itself at end of file; one that was stopped or hangs is not waited for.
  for (int i = 0; i < 200; ++i) {
    if (::waitpid(state_->pid, nullptr, WNOHANG) != 0) return;
    ::usleep(1000);
  }
  ::kill(state_->pid, SIGKILL);
  ::waitpid(state_->pid, nullptr, 0);
}

std::string Freezer::group_file(const Os& os, const std::vector<ProcessId>& who) {
  auto group = who.empty() ? Result<Cgroup>(fail(Errc::invalid, "nobody")) : own_cgroup(os, who);
  return group ? group->folder + "/cgroup.freeze" : "";
}

bool Freezer::frozen() const { return state_->frozen; }
int Freezer::supervisor() const { return state_->pid; }

Result<Frozen> Freezer::freeze(const Os& os, const std::vector<ProcessId>& who, double limit) {
  if (state_->frozen) return fail(Errc::invalid, "these processes are frozen already");
  if (who.empty() || who.size() > supervisor::most_processes)
    return fail(Errc::invalid,
                "1 to 1024 processes can be frozen at once, not " + std::to_string(who.size()));
  auto group = own_cgroup(os, who);
  Request& request = state_->request;
  request = {};
  request.order = Order::freeze;
  request.limit_ms = std::clamp(static_cast<int>(limit * 1000), 1, 60000);
  Frozen out;
  for (const ProcessId& one : who) {
    auto facts = task_facts(os, one.pid);
    // Left out here, too, so that nobody in the supervisor's place lets it go on.
    bool skip = !facts || facts->start != one.start || facts->state == 'T' || facts->state == 't';
    if (skip) ++out.skipped;
    if (!skip) request.targets[static_cast<std::size_t>(request.count++)] = {one.pid, one.start};
  }
  if (request.count == 0)
    return fail(Errc::io, "process " + std::to_string(who.front().pid) + " is gone or stopped already",
                EALREADY);
  if (group) {
    std::string file = os.path(group->folder + "/cgroup.freeze");
    std::copy(file.begin(), file.end(), request.cgroup_file.begin());
  }
  out.by = group ? FreezeBy::cgroup : FreezeBy::signal;
  Reply reply;
  state_->since = now_seconds();
  if (!ask(state_->socket, request, reply)) {
    thaw_ourselves(state_->pid, request);
    return fail(Errc::io, "the thaw supervisor is gone, so nothing is frozen", ECHILD);
  }
  if (reply.stopped == 0)
    return fail(reply.error == EPERM || reply.error == EACCES ? Errc::permission : Errc::io,
                "can't freeze process " + std::to_string(who.front().pid) + ": " + std::strerror(reply.error),
                reply.error);
  state_->frozen = true;
  out.stopped = reply.stopped;
  out.skipped += reply.skipped;
  out.settled = settle(os, who, group ? &*group : nullptr);
  out.seconds = now_seconds() - state_->since;
  return out;
}

Result<Thawed> Freezer::thaw() {
  if (!state_->frozen) return Thawed{};
  state_->frozen = false;
  static const Request thaw_order{};
  Reply reply;
  if (ask(state_->socket, thaw_order, reply))
    return Thawed{static_cast<double>(reply.frozen_ms) / 1e3, reply.expired != 0};
  thaw_ourselves(state_->pid, state_->request);
  return fail(Errc::io, "the thaw supervisor was killed; the processes have been thawed without it", ECHILD);
}

}  // namespace nigh::sys
