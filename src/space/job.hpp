// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A process's knowledge of its job, from its launcher: its rank among the ranks on this node, their number,
// and a key that all ranks of the job work out alike and no other job does. Every launcher leaves it in the
// environment in its own words; the first that speaks of a local rank is believed. Rank and number are asked
// for before the first malloc, when `environ` may not be set up, so the caller says how to look a name up.
#pragma once

#include <cstddef>

#include "space/process_space.hpp"
#include "sys/launchers.hpp"

namespace nigh::space {

using sys::Lookup;

// Fills rank and size. False: no launcher that we know, or numbers that make no sense.
bool find_seat(Lookup lookup, void* context, Job& job);

// Fills the key: the secret of `nigh run`, else what names the job (a PMIx namespace and its server, a Slurm
// step, the process manager behind PMI_FD, the parent process), hashed together with our user number.
// `source` (for the account): one of "nigh", "pmix", "slurm", "pmi", "parent".
bool find_key(Lookup lookup, void* context, Job& job, const char** source);

// Looks names up in the C library's environment.
const char* lookup_environ(const char* name, void* context);

// 32 hexadecimal digits into 16 bytes; false if it is anything else.
bool parse_key(const char* text, unsigned char (&key)[16]);

// A keyed hash (SipHash-2-4 with a result of 128 bits): who lacks the key can't tell its results from chance.
void keyed_hash(const unsigned char (&key)[16], const void* data, std::size_t bytes,
                unsigned char (&out)[16]);

}  // namespace nigh::space
