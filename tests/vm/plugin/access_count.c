/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A QEMU plugin that counts, exactly, the loads and stores of a guest's user code by the node of the CPU and
 * the node of the memory: the ground truth for everything that only samples them. It counts between the
 * markers of marker.h, from all CPUs and programs, addresses of one range. Arguments (numavm/counting.py
 * writes them):
 *
 *     out=FILE            at each end marker one line {"unknown": n, "loads": [[...]...], "stores":
 * [[...]...]} is added: row = node of the CPU, column = node of the memory cpus=N:N:...        the node of
 * each vCPU, in QEMU's order; - for one that the guest does not show nodes=N, node_bytes=BYTES    every node
 * has that much memory, one after the other, all of it below 4 GiB from=A, to=B        the virtual addresses
 * that count, A <= address < B
 *
 * With memory above 4 GiB QEMU 7.2 gives offsets into its RAM and later ones physical addresses; below, they
 * are the same. known_accesses.c compares the result with the guest kernel's word for every pair of nodes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marker.h"
#include "qemu_plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 1;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                           char** argv);

enum { most_cpus = 256, most_nodes = 128, no_node = -1 };

struct counts {
  uint64_t of[most_nodes][2];  // by the memory's node; loads, stores
  uint64_t unknown;            // no such node, or not memory
};

// No locks: numavm has all vCPUs take turns on one thread.
static struct {
  FILE* out;
  int node_of_cpu[most_cpus];
  int cpus, nodes;
  uint64_t node_bytes, from, to;
  bool on;
  struct counts* counts;  // of each vCPU
} the;

static void count_access(unsigned cpu, qemu_plugin_meminfo_t access, uint64_t address, void* user) {
  (void)user;
  if (!the.on || address < the.from || address >= the.to) return;
  struct counts* mine = &the.counts[cpu];
  const struct qemu_plugin_hwaddr* where = qemu_plugin_get_hwaddr(access, address);
  uint64_t node = most_nodes;
  if (where != NULL && !qemu_plugin_hwaddr_is_io(where))
    node = qemu_plugin_hwaddr_phys_addr(where) / the.node_bytes;
  if (node < (uint64_t)the.nodes)
    ++mine->of[node][qemu_plugin_mem_is_store(access)];
  else
    ++mine->unknown;
}

static uint64_t sum_of(int from, int to, int store) {
  uint64_t sum = 0;
  for (int cpu = 0; cpu < the.cpus; ++cpu)
    if (the.node_of_cpu[cpu] == from) sum += the.counts[cpu].of[to][store];
  return sum;
}

static void write_matrix(const char* name, int store) {
  fprintf(the.out, ", \"%s\": [", name);
  for (int from = 0; from < the.nodes; ++from) {
    fputs(from == 0 ? "[" : ", [", the.out);
    for (int to = 0; to < the.nodes; ++to)
      fprintf(the.out, "%s%" PRIu64, to == 0 ? "" : ", ", sum_of(from, to, store));
    fputs("]", the.out);
  }
  fputs("]", the.out);
}

static void on_begin(unsigned cpu, void* user) {
  (void)cpu, (void)user;
  memset(the.counts, 0, (size_t)the.cpus * sizeof *the.counts);
  the.on = true;
}

static void on_end(unsigned cpu, void* user) {
  (void)cpu, (void)user;
  the.on = false;
  uint64_t unknown = 0;
  for (int at = 0; at < the.cpus; ++at) unknown += the.counts[at].unknown;
  fprintf(the.out, "{\"unknown\": %" PRIu64, unknown);
  write_matrix("loads", 0);
  write_matrix("stores", 1);
  fputs("}\n", the.out);
  fflush(the.out);  // the program that set the marker may read it next
}

// The command of a marker, 0 for every other instruction.
static unsigned marker_of(const struct qemu_plugin_insn* instruction) {
  static const uint8_t nop[3] = {0x0f, 0x1f, 0x80};
  const uint8_t* bytes = qemu_plugin_insn_data(instruction);
  uint32_t number = 0;
  if (qemu_plugin_insn_size(instruction) != sizeof nop + sizeof number || memcmp(bytes, nop, sizeof nop) != 0)
    return 0;
  memcpy(&number, bytes + sizeof nop, sizeof number);
  return (number & ~0xffu) == MARKER_MAGIC ? number & 0xffu : 0;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  if ((int64_t)qemu_plugin_tb_vaddr(block) < 0) return;  // the kernel's half of the addresses
  for (size_t at = 0; at < qemu_plugin_tb_n_insns(block); ++at) {
    struct qemu_plugin_insn* one = qemu_plugin_tb_get_insn(block, at);
    const unsigned command = marker_of(one);
    if (command == MARKER_BEGIN)
      qemu_plugin_register_vcpu_insn_exec_cb(one, on_begin, QEMU_PLUGIN_CB_NO_REGS, NULL);
    if (command == MARKER_END)
      qemu_plugin_register_vcpu_insn_exec_cb(one, on_end, QEMU_PLUGIN_CB_NO_REGS, NULL);
    qemu_plugin_register_vcpu_mem_cb(one, count_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
  }
}

static void read_cpus(const char* text) {
  for (; *text != '\0' && the.cpus < most_cpus; text += *text == ':') {
    char* end = (char*)text + 1;
    const int node = *text == '-' ? no_node : (int)strtol(text, &end, 10);
    text = end;
    the.node_of_cpu[the.cpus++] = node;
  }
}

static bool read_argument(const char* name, const char* value) {
  if (strcmp(name, "cpus") == 0)
    read_cpus(value);
  else if (strcmp(name, "nodes") == 0)
    the.nodes = atoi(value);
  else if (strcmp(name, "node_bytes") == 0)
    the.node_bytes = strtoull(value, NULL, 0);
  else if (strcmp(name, "from") == 0)
    the.from = strtoull(value, NULL, 0);
  else if (strcmp(name, "to") == 0)
    the.to = strtoull(value, NULL, 0);
  else if (strcmp(name, "out") == 0)
    the.out = fopen(value, "w");
  else
    return false;
  return true;
}

static const char* missing(const qemu_info_t* info) {
  if (!info->system_emulation) return "only for whole machines";
  if (the.out == NULL) return "out: no such file can be written";
  if (the.nodes < 1 || the.nodes > most_nodes || the.node_bytes == 0)
    return "nodes and node_bytes must be given";
  if (the.cpus != info->system.max_vcpus) return "cpus must name the node of every vCPU";
  if (the.from >= the.to) return "from and to must be given";
  the.counts = calloc((size_t)the.cpus, sizeof *the.counts);
  return the.counts == NULL ? "no memory" : NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  const char* problem = NULL;
  for (int at = 0; at < argc && problem == NULL; ++at) {
    char* equals = strchr(argv[at], '=');
    if (equals != NULL) *equals = '\0';
    if (equals == NULL || !read_argument(argv[at], equals + 1)) problem = argv[at];
  }
  if (problem == NULL) problem = missing(info);
  if (problem != NULL) {
    fprintf(stderr, "access_count: %s\n", problem);
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  return 0;
}
