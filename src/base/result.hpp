// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Errors in nigh. A function that can fail on input or on the machine returns Result<T>; its Error carries
// one complete sentence (what, where, what to do) written where the cause was detected, so that callers pass
// it up unchanged and the command prints it exactly once. A broken invariant is not an Error: NIGH_CHECK
// stops at once, in every build type, since going on would place threads on wrong data. (Code loaded into a
// user's process never uses NIGH_CHECK.)
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace nigh {

enum class Errc {
  invalid,      // the input is wrong: a spec, a file, an option
  io,           // a file, a device or a process could not be used; Error::sys_errno says why
  unsupported,  // this machine, kernel or runtime lacks what was asked for
  permission,   // a right is missing; the message says which and how to get it
  internal,     // a limit of ours
};

struct Error {
  Errc code = Errc::internal;
  std::string message;  // one sentence, no trailing newline
  int sys_errno = 0;    // errno at the point of failure, 0 when there was none
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Errc code, std::string message, int sys_errno = 0) {
  return tl::unexpected<Error>(Error{code, std::move(message), sys_errno});
}

// The same failure, told from one level further out: "CONTEXT: message".
inline tl::unexpected<Error> fail_in(const std::string& context, Error error) {
  error.message = context + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace nigh

#define NIGH_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::nigh::check_failed(#expression, __FILE__, __LINE__))
