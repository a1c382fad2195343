// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Writing the account, as text for people or as one JSON document (format nigh-account). It is put together
// in memory and written by one system call, so that the accounts of several processes do not mix.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openmp/account.hpp"
#include "openmp/automatic.hpp"
#include "openmp/capacity.hpp"
#include "openmp/cures.hpp"
#include "openmp/ompt.hpp"
#include "openmp/planner.hpp"
#include "openmp/say.hpp"
#include "openmp/session.hpp"
#include "sys/append.h"

namespace nigh::preload {

bool has_static_libgomp();

struct Out {
  char* text = nullptr;
  size_t size = 0, room = 0;

  void put(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void put_string(const char* s);  // in JSON's quotes
};

void Out::put(const char* format, ...) {
  for (int attempt = 0; attempt < 2; attempt++) {
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text ? text + size : nullptr, room - size, format, args);
    va_end(args);
    if (n < 0) return;
    if (size + static_cast<size_t>(n) < room) {
      size += static_cast<size_t>(n);
      return;
    }
    const size_t wanted = 2 * (room + static_cast<size_t>(n)) + 256;
    auto* grown = static_cast<char*>(realloc(text, wanted));
    if (!grown) return;
    text = grown;
    room = wanted;
  }
}

void Out::put_string(const char* s) {
  put("\"");
  for (; *s; s++) {
    const auto c = static_cast<unsigned char>(*s);
    if (c == '"' || c == '\\')
      put("\\%c", c);
    else if (c < 0x20)
      put("\\u%04x", c);
    else
      put("%c", c);
  }
  put("\"");
}

// ---- parts that both forms share ----------------------------------------------------------------
static void put_mask(Out& out, const Mask& mask) {
  char text[6 * kMaskCpus];
  mask.list(text, sizeof text);
  out.put("%s", text);
}

static void put_path(Out& out, const Node* node, const char* between) {
  if (node->parent->parent) {
    put_path(out, node->parent, between);
    out.put("%s", between);
  }
  out.put("%u", node->index);
}

static unsigned os_threads(const Visits& visits) {
  unsigned n = 0;
  for (const auto& slot : visits.thread) n += slot.load() != 0;
  return n + (visits.more_threads.load() ? 1 : 0);
}

static unsigned entered(const Node& node) {
  Visits* visits = node.visits.load(std::memory_order_acquire);
  return visits ? visits->count.load() : 0;
}

// Each node that was entered, parents before their teams.
template <class F>
static void walk(Node* node, F&& visit) {
  if (node->parent && entered(*node)) visit(*node);
  for (Kids* kids = node->kids.load(std::memory_order_acquire); kids; kids = kids->next)
    for (unsigned i = 0; i < kids->size; i++) walk(&kids->node[i], visit);
}

template <class F>
static void walk_all(F&& visit) {
  for (const Plan* plan = all_plans(); plan; plan = plan->next)
    for (Root* root = plan->roots; root; root = root->next)
      walk(&root->node, [&](Node& node) { visit(*plan, *root, node); });
}

// Teams of another size than the spec says, once per path and size.
template <class F>
static void walk_odd_sizes(F&& visit) {
  walk_all([&](const Plan& plan, const Root&, Node& node) {
    if (node.index != 0 || node.depth > plan.levels || plan.automatic) return;
    const int planned = planner_size(plan.planner, node.depth);
    if (planned != static_cast<int>(node.size)) visit(node.depth, planned, node);
  });
}

static const char* no_regions_because() {
  const Runtime* runtimes;
  const char* spec = wished_spec();
  const char* tool = getenv("OMP_TOOL");
  if (automatic_needless()) return "all PUs share one memory and one cache, so nothing was bound";
  if (automatic_reason()) return automatic_reason();
  if (!spec && !automatic_wanted())
    return "OMP_NESTING_TEAM_SIZE is not set and the program did not call omp_set_nesting_info";
  if (ompt_declined()) return ompt_declined();
  if (tool && !strcmp(tool, "disabled")) return "OMP_TOOL=disabled forbids libomp to tell us of its regions";
  if (has_static_libgomp())
    return "libgomp is linked into the program, where its regions can't be seen; link it with the shared "
           "libgomp";
  if (account_runtimes(&runtimes) > 0)
    return "an OpenMP runtime was loaded, but no team of more than one thread was opened";
  return "the program did not open a parallel region through libgomp or libomp: it may not use OpenMP, or "
         "its children do";
}

// In one sentence: was every thread where the plan has it, and alone there?
static void put_verdict(Out& out) {
  const Tally tally = account_tally();
  unsigned entries = 0, elsewhere = 0;
  walk_all([&](const Plan&, const Root&, Node& node) {
    entries += entered(node);
    elsewhere += node.visits.load()->elsewhere.load();
  });
  const int pus = home().count();
  if (most_threads() > static_cast<unsigned long>(pus)) {
    char todo[160];
    advice(most_threads(), todo, sizeof todo);
    out.put("%lu threads shared %d PU%s: %s", most_threads(), pus, pus == 1 ? "" : "s", todo);
  } else if (tally.refused) {
    out.put("%u bindings were refused: those threads ran where the system had them", tally.refused);
  } else if (elsewhere) {
    out.put("%u of %u times a thread was on another PU than planned: somebody else moves threads, too",
            elsewhere, entries);
  } else if (automatic_waits()) {
    out.put("no team was bound: regions were opened for less than 0.25 s");
  } else {
    out.put(automatic_reason() ? "the teams were not bound to the end"
                               : "every thread was on its planned PU");
  }
}

// ---- text ---------------------------------------------------------------------------------------
static void text_stripped(Out& out) {
  const char* const* entries;
  const int n = account_stripped_entries(&entries);
  const char* launcher = getenv("NIGH_STRIPPED");
  if (!n && !(launcher && *launcher)) return;
  out.put("  taken away  %s", launcher ? launcher : "");
  for (int i = 0; i < n; i++) out.put("%s%s", i || (launcher && *launcher) ? ";" : "", entries[i]);
  out.put("\n");
}

static void text_map(Out& out) {
  int root_shown = -1;
  const Plan* plan_shown = nullptr;
  walk_all([&](const Plan& plan, const Root& root, Node& node) {
    if (plan_shown != &plan || root_shown != root.number) {
      plan_shown = &plan;
      root_shown = root.number;
      out.put("  plan %s, opened by thread %d of those that open regions:\n", plan.spec, root.number);
      out.put("    %-14s %8s %8s %10s %11s %10s\n", "thread", "planned", "seen", "entered", "elsewhere",
              "OS threads");
    }
    Out path, planned;
    put_path(path, &node, ".");
    if (node.place > kKeep) planned.put("PU %d", pu_of_place(node.place));
    Visits& visits = *node.visits.load();
    char seen[24];
    snprintf(seen, sizeof seen, "PU %d", visits.seen.load() - 1);
    char served[24];
    const bool many = visits.more_threads.load();
    snprintf(served, sizeof served, "%s%u", many ? ">" : "", os_threads(visits) - many);
    out.put("    %-14s %8s %8s %10u %11u %10s\n", path.text ? path.text : "",
            planned.text ? planned.text : "any", seen, visits.count.load(), visits.elsewhere.load(), served);
    free(path.text);
    free(planned.text);
  });
}

static void text_cures(Out& out) {
  bool any = false;
  for (unsigned i = 0; i < static_cast<unsigned>(Cure::kCount); i++)
    if (const unsigned n = g_cures_used[i].load()) {
      out.put("%s%s %u", any ? ", " : "  cures       ", cure_name(static_cast<Cure>(i)), n);
      any = true;
    }
  if (any) out.put("\n");
}

static void print_text(Out& out) {
  const Runtime* runtimes;
  const int n = account_runtimes(&runtimes);
  const Tally tally = account_tally();
  out.put("nigh: account of %s (process %d)\n", program_invocation_name, getpid());
  for (int i = 0; i < n; i++)
    out.put("  runtime     %s (%s), %s\n", runtimes[i].name, runtimes[i].version, runtimes[i].path);
  if (const char* spec = current_spec()) {
    const char* reason = automatic_reason();
    out.put("  teams       %s%s%s\n", spec, reason ? ", off: " : "", reason ? reason : "");
  }
  out.put("  mask        ");
  put_mask(out, home());
  out.put("\n");
  text_stripped(out);
  if (!tally.outer && automatic_needless()) {
    out.put("  verdict     nothing was bound: all PUs share one memory and one cache\n");
    return;
  }
  if (!tally.outer) {
    out.put("  no OpenMP region was seen: %s\n", no_regions_because());
    return;
  }
  out.put("  regions     %u outer, %u inner\n", tally.outer, tally.inner);
  out.put("  bindings    %u changed by a system call, %u refused; %u threads bound, %u of them moved\n",
          tally.bindings, tally.refused, tally.threads, tally.moved);
  text_map(out);
  walk_odd_sizes([&](int level, int planned, const Node& node) {
    Out path;
    put_path(path, &node, ".");
    out.put("  level %d      %u threads instead of %d, %u times (team of %s)\n", level, node.size, planned,
            entered(node), path.text);
    free(path.text);
  });
  text_cures(out);
  out.put("  verdict     ");
  put_verdict(out);
  out.put("\n");
}

// ---- JSON ---------------------------------------------------------------------------------------
static void json_stripped(Out& out) {
  const char* const* entries;
  const int n = account_stripped_entries(&entries);
  const char* launcher = getenv("NIGH_STRIPPED");
  bool any = false;
  auto put = [&](const char* entry, size_t length) {
    char text[1024];
    snprintf(text, sizeof text, "%.*s", static_cast<int>(length), entry);
    out.put(any ? ", " : "");
    out.put_string(text);
    any = true;
  };
  out.put("  \"stripped\": [");
  while (launcher && *launcher) {
    const size_t length = strcspn(launcher, ";");
    put(launcher, length);
    launcher += length + (launcher[length] == ';');
  }
  for (int i = 0; i < n; i++) put(entries[i], strlen(entries[i]));
  out.put("],\n");
}

static void json_runtimes(Out& out) {
  const Runtime* runtimes;
  const int n = account_runtimes(&runtimes);
  out.put("  \"runtimes\": [");
  for (int i = 0; i < n; i++) {
    out.put("%s{\"name\": \"%s\", \"version\": ", i ? ", " : "", runtimes[i].name);
    out.put_string(runtimes[i].version);
    out.put(", \"path\": ");
    out.put_string(runtimes[i].path);
    out.put("}");
  }
  out.put("],\n");
}

static void json_map(Out& out) {
  bool any = false;
  out.put("  \"map\": [");
  walk_all([&](const Plan& plan, const Root& root, Node& node) {
    Visits& visits = *node.visits.load();
    out.put("%s\n    {\"plan\": ", any ? "," : "");
    out.put_string(plan.spec);
    out.put(", \"root\": %d, \"path\": [", root.number);
    put_path(out, &node, ", ");
    out.put(
        "], \"team\": %u, \"pu\": %d, \"pu_seen\": %d, \"entered\": %u, \"elsewhere\": %u, \"os_threads\": "
        "%u}",
        node.size, node.place > kKeep ? pu_of_place(node.place) : -1, visits.seen.load() - 1,
        visits.count.load(), visits.elsewhere.load(), os_threads(visits));
    any = true;
  });
  out.put("%s],\n", any ? "\n  " : "");
}

static void json_sizes_and_cures(Out& out) {
  bool any = false;
  out.put("  \"odd_sizes\": [");
  walk_odd_sizes([&](int level, int planned, const Node& node) {
    out.put("%s{\"level\": %d, \"planned\": %d, \"size\": %u, \"times\": %u}", any ? ", " : "", level,
            planned, node.size, entered(node));
    any = true;
  });
  out.put("],\n  \"cures\": {");
  any = false;
  for (unsigned i = 0; i < static_cast<unsigned>(Cure::kCount); i++)
    if (const unsigned n = g_cures_used[i].load()) {
      out.put("%s\"%s\": %u", any ? ", " : "", cure_name(static_cast<Cure>(i)), n);
      any = true;
    }
  out.put("},\n");
}

static void print_json(Out& out) {
  const Tally tally = account_tally();
  out.put("{\n  \"format\": \"nigh-account\",\n  \"version\": 1,\n  \"program\": ");
  out.put_string(program_invocation_name);
  out.put(",\n  \"pid\": %d,\n", getpid());
  json_runtimes(out);
  out.put("  \"spec\": ");
  if (const char* spec = current_spec())
    out.put_string(spec);
  else
    out.put("null");
  if (automatic_reason()) {
    out.put(",\n  \"off\": ");
    out.put_string(automatic_reason());
  }
  out.put(",\n  \"mask\": \"");
  put_mask(out, home());
  out.put("\",\n");
  json_stripped(out);
  out.put("  \"regions\": {\"outer\": %u, \"inner\": %u},\n", tally.outer, tally.inner);
  out.put("  \"bindings\": {\"changed\": %u, \"refused\": %u},\n", tally.bindings, tally.refused);
  out.put("  \"threads\": {\"bound\": %u, \"moved\": %u},\n", tally.threads, tally.moved);
  json_map(out);
  json_sizes_and_cures(out);
  Out verdict;
  if (tally.outer) put_verdict(verdict);
  out.put("  \"verdict\": ");
  if (verdict.text)
    out.put_string(verdict.text);
  else
    out.put("null");
  free(verdict.text);
  out.put(",\n  \"remark\": ");
  if (tally.outer)
    out.put("null");
  else
    out.put_string(no_regions_because());
  out.put("\n}\n");
}

// ---- where to -----------------------------------------------------------------------------------
static int open_file() {
  const char* pattern = getenv("NIGH_EXPLAIN_FILE");
  if (!pattern || !*pattern) return 2;
  char path[4096];
  size_t n = 0;
  for (; *pattern && n + 16 < sizeof path; pattern++) {
    if (pattern[0] == '%' && pattern[1] == 'p') {
      n += static_cast<size_t>(snprintf(path + n, sizeof path - n, "%d", getpid()));
      pattern++;
    } else {
      path[n++] = *pattern;
    }
  }
  path[n] = '\0';
  const int fd = nigh_open_append(path);
  if (fd < 0)
    say("NIGH_EXPLAIN_FILE: %s can't be opened (%s): the account follows here", path, strerror(errno));
  return fd < 0 ? 2 : fd;
}

void print_account(bool json) {
  Out out;
  if (json)
    print_json(out);
  else
    print_text(out);
  const int fd = open_file();
  nigh_raw_say(fd, out.text, out.size);
  if (fd != 2) close(fd);
  free(out.text);
}

}  // namespace nigh::preload
