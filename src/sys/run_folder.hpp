// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A folder for what must outlive us but not a reboot, that nobody else can write to or plant files in. What
// is found in it is read only if it is ours.
#pragma once

#include <string>

#include "base/result.hpp"

namespace nigh::sys {

// A user's folder of the XDG base directory specification: the variable's value, if it is an absolute path,
// else the folder in HOME. Error: io (ENOENT), neither is set; `what` finds no place then.
Result<std::string> user_folder(const char* variable, const char* in_home, const char* what);

// /run/nigh/NAME for root, else $XDG_RUNTIME_DIR/nigh/NAME, else /tmp/nigh-UID/NAME; made where missing, mode
// 0700. Error: permission: it can't be made, or others may enter it.
Result<std::string> run_folder(const std::string& name);
// COMMON/nigh-UID/NAME; if another user has taken that name, COMMON/nigh-UID-RANDOM/NAME, the same each time.
Result<std::string> folder_in_common(const std::string& common, const std::string& name);
// Makes and checks the last two parts of a path in the same way.
Result<std::string> private_folder(const std::string& path);
// A whole file of at most 64 MiB that is regular, ours and not writable by others. Errors: io, permission.
Result<std::string> read_own_file(const std::string& path);
Result<void> remove_file(const std::string& path);

}  // namespace nigh::sys
