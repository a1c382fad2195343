// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See account.hpp. Part of the loaded code: no allocation, no C++ library.
#include "space/account.hpp"

#include <unistd.h>

#include <cstring>

#include "nigh/space.h"
#include "space/job.hpp"
#include "space/join.hpp"
#include "space/slot.hpp"
#include "sys/process_here.hpp"

namespace nigh::space {

namespace {

bool is_wanted() {
  const char* wish = start_environment("NIGH_EXPLAIN");
  return wish != nullptr && *wish != '\0' && std::strcmp(wish, "off") != 0 && std::strcmp(wish, "0") != 0;
}

bool has_joined() {
  const SlotHeader* header = own_header();
  return header != nullptr &&
         header->joined.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Joined::published);
}

}  // namespace

void hand_over_account() {
  Job job;
  const char* source = "";
  if (!is_wanted() || g_slot.private_now || start_environment("NIGH_JOB") == nullptr) return;
  if (!find_seat(look_up_at_start, nullptr, job) || !find_key(look_up_at_start, nullptr, job, &source) ||
      std::strcmp(source, "nigh") != 0)
    return;
  const int desk = sys::connect_to(desk_name(job.key));
  if (desk < 0) return;
  ucred peer{};
  if (sys::peer_credentials(desk, peer) && peer.uid == geteuid()) {
    AccountRecord record;
    record.card = make_card(job, CardKind::account, -1);
    record.pid = sys::own_pid();
    record.joined = has_joined() ? 1 : 0;
    nigh_space_explain(record.text, sizeof record.text);
    sys::send_record(desk, &record, offsetof(AccountRecord, text) + std::strlen(record.text) + 1);
  }
  sys::close_fd(desk);
}

}  // namespace nigh::space
