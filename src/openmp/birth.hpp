// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The first place of the threads that libgomp makes for a team.
#pragma once

#include <pthread.h>

namespace nigh::preload {

// Makes a thread for the region that this thread is opening, bound from the start to the PU that its number
// will have. False: nothing was made, the caller goes on as without us. `rc` is pthread_create's answer.
bool create_team_thread(pthread_t* thread, const pthread_attr_t* attr, void* (*run)(void*), void* arg,
                        int* rc);

}  // namespace nigh::preload
