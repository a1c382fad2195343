// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The documents in the page: those that the commands write with --json (docs/interfaces.md), as they are. Here are
// the fields that the page reads.
import type { Live, WatchEvent, WatchState } from './live';

export interface Ratio {
  median: number;
  low?: number;
  high?: number;
}

export interface Compare {
  format: 'nigh-compare';
  subjects: { name: string; command: string | string[]; seconds: number[]; cpu_seconds: number[]; peak_mib: number[] }[];
  time_ratio: Ratio;
  cpu_ratio: Ratio;
  memory_ratio: Ratio;
  output: string;
  verdict: string;
}

// Real programs of distributions (bench/programs): ratios to the program alone, as [median, low, high].
export interface Programs {
  format: 'nigh-programs';
  records: {
    program: string;
    library: string;
    ranks: number;
    rounds: number;
    subjects: Record<string, { wall_ratio: [number, number, number]; cpu_ratio: [number, number, number]; pss_ratio: number }>;
  }[];
}

export interface Tune {
  format: 'nigh-tune';
  command: string[];
  runs: number;
  stages: {
    name: string;
    best: number | string;
    choices: { options: string[]; ranks: number; threads: number; seconds: number[] | number; ratio: Ratio | number | null; failed?: string | boolean }[];
  }[];
  time_ratio: Ratio | null;
  verdict: string;
}

export interface BenchRecord {
  bench: string;
  case: string;
  subject: string;
  size_bytes: number;
  unit: string;
  median: number;
  low: number;
  high: number;
  samples: number;
  core_state: string;
  placement: number[];
  verified: boolean;
  runtime: string;
  teams: string;
  result: string;
  shape?: string;
  errors?: string[];
  ratio_to_unbound?: Ratio;
}

export interface Bench {
  format: 'nigh-bench';
  machine: Record<string, unknown>;
  records: BenchRecord[];
  absent: { bench: string; case: string; subject: string; reason: string }[];
}

export interface MachineNode {
  type: string;
  os_index?: number;
  bytes?: number;
  count?: number;
  children?: MachineNode[];
}

export type Source = 'measured' | 'hmat' | 'slit' | 'datasheet' | 'guessed' | 'fitted';

export interface Links {
  unit: string;
  values: (number | null)[][];
  source?: Source | (Source | null)[][];
}

export interface Device {
  type: 'gpu' | 'nic';
  bus: string;
  vendor?: string;
  title?: string;
  names?: string[];
  pus: string;
}

export interface Machine {
  format: 'nigh-machine';
  name: string;
  title?: string;
  origin?: string;
  notes?: string[];
  tree: MachineNode;
  links?: { slit?: number[][]; bandwidth?: Links; latency?: Links };
  devices?: Device[];
}

export interface Plan {
  format: 'nigh-plan';
  machine: string;
  spec: string;
  mask: string;
  threads: { path: number[]; pu: number; core: number; numa_node: number; reason: string }[];
}

export interface Processes {
  format: 'nigh-ps';
  processes: {
    pid: number;
    command: string;
    pus: string;
    threads: { tid: number; name: string; pus: string; cpu: number }[];
    memory?: { resident_mib: number; huge_mib: number; nodes: { node: number; mib: number }[] };
  }[];
}

// The bytes that ranks sent each other, of all files of a record (nigh run --record): entries are [from, to,
// communicator, way, bytes, messages, function, bytes and messages that nigh carried], where communicator, way and
// function are indices; older records do not have the last three. Where `width` is above 1, from and to are groups of
// so many ranks.
export interface Traffic {
  format: 'nigh-traffic';
  name: string;
  ranks: number;
  width: number;
  hosts: string[];
  packages?: number[]; // of each rank; -1: not bound to one
  communicators: { name: string; size: number }[];
  ways: string[];
  functions?: string[];
  entries: [number, number, number, number, number, number, number?, number?, number?][];
  missing: number[];
}

export interface RankMap {
  format: 'nigh-rank-map';
  machine: string;
  nodes: number;
  bytes: number;
  verdict: string;
  levels: { name: string; cost: number }[];
  maps: { name: string; crossed: number[]; cost: number }[];
  ranks: { rank: number; node: number; pus: string; host?: string }[];
}

// The account of the ranks of a node: bytes and calls by function; a function has the calls left to the library by
// reason, too.
export interface Account {
  format: 'nigh-mpi-account';
  host: string;
  program?: string;
  library: string;
  verdict: string;
  ranks: number;
  sharing: number;
  functions?: Record<string, Record<string, unknown>>;
  space?: string[];
}

// Events of nigh watch --log.
export interface WatchLog {
  format: 'nigh-watch-log';
  events: WatchEvent[];
}

export interface Steps {
  local_reorder: number; // s, as all of these
  on_node: number;
  between_nodes: number;
  local_transpose: number;
  synchronisation: number;
  overlapped: number;
  total: number;
}

export interface TransposeWay {
  ranks: number; // on each node
  threads: number; // of each rank
  method: string;
  panels: number;
  seconds: Steps;
  side?: number; // rows and columns of the matrix, where it is of a curve
  nodes?: number;
}

// Predictions of nigh plan --transpose.
export interface Transpose {
  format: 'nigh-transpose';
  machine: string;
  rows: number;
  columns: number;
  type: string;
  nodes: number;
  cores: number;
  rests_on: string[];
  why: string;
  ways: TransposeWay[];
  curves?: { grid?: TransposeWay[] };
}

// The PEs of a message-driven program: rows of `width` PEs, columns of equal time, in % of it.
export interface Trace {
  format: 'nigh-trace';
  name: string;
  ms: number;
  pes: number;
  width: number;
  busy: number[][];
  mean: number[];
  held: number[]; // bytes, the most of each PE; none: not known
  methods: { name: string; runs: number; ms: number }[];
  memory: { name: string; messages: number; bytes: number; most: number; most_on: string }[];
  // To another PE, each from when it was sent to when its run of a microsecond or more began; of many the slowest, and others evenly.
  messages?: { count: number; median_us: number; arrows: [from: number, to: number, sent_us: number, begun_us: number, method: number][] };
}

// Ranks (or groups of `width`) by columns of equal time, in % of it in MPI; `told`: ranks that left a record. Rows have means of
// their ranks, but of memory the most.
export interface RankTimes {
  format: 'nigh-rank-times';
  name: string;
  program: string;
  ranks: number;
  told: number;
  width: number;
  seconds: number;
  in_mpi: number[][];
  most_in_mpi?: number[][]; // of the ranks of a group
  cpu?: number[][]; // in % of a PU: 200 is two threads that work
  functions: { name: string; calls: number; seconds: number; longest_seconds: number; longest_rank: number; percent?: number[] }[]; // the longest first
  rows: { first: number; last: number; host: string; mpi_seconds: number; user_seconds: number; system_seconds: number; minor_faults: number; major_faults: number; peak_mib: number; resident_mib?: number; huge_mib?: number }[];
}

// Other ways to bind, in NUMA guests: a cell begins with "right" where the threads were placed right.
export interface Peers {
  format: 'nigh-peers-table';
  machine: string;
  cases: string[];
  rows: { subject: string; cells: string[] }[];
}

export interface AccountText {
  format: 'nigh-account-text';
  text: string;
}

export type Document = (AccountText | Programs | Peers | Trace | RankTimes | Transpose | Account | Compare | Tune | Bench | Machine | Plan | Processes | Traffic | RankMap | WatchState | WatchLog | Live) & { file?: string };

// The start of a page that a running command serves.
export interface LiveStart {
  of: 'run' | 'watch';
  title: string;
}

export interface Page {
  format: 'nigh-page';
  version: number;
  nigh: string;
  date: string;
  documents: Document[];
  live?: LiveStart;
}

export function documentsOf<F extends Document['format']>(page: Page, format: F): Extract<Document, { format: F }>[] {
  return page.documents.filter((one): one is Extract<Document, { format: F }> => one.format === format);
}

// The programs of the page's records, accounts and time lines, and the views in which these stand.
export function programsOf(page: Page): { name: string; views: string[] }[] {
  const found = new Map<string, Set<string>>();
  const add = (name: string, ...views: string[]) => {
    if (name !== '') found.set(name, new Set([...(found.get(name) ?? []), ...views]));
  };
  for (const one of documentsOf(page, 'nigh-rank-times')) add(one.program, 'Messages', 'Over time');
  for (const one of documentsOf(page, 'nigh-mpi-account')) add(one.program ?? '', 'Coverage');
  for (const one of documentsOf(page, 'nigh-trace')) add(one.name, 'Over time');
  return [...found].map(([name, views]) => ({ name, views: [...views] }));
}

// The machine of a page that was kept, for what was kept with it.
export function machineOf(page: Page, of: { file?: string }): Machine | undefined {
  const machines = documentsOf(page, 'nigh-machine');
  return machines.find((one) => of.file !== undefined && one.file === of.file) ?? machines[0];
}

// "0-3,8" -> [0, 1, 2, 3, 8]
export function numbersOf(list: string): number[] {
  const out: number[] = [];
  for (const part of list.split(',')) {
    const [first, last] = part.split('-').map(Number);
    if (part === '' || first === undefined || Number.isNaN(first)) continue;
    for (let i = first; i <= (last ?? first); ++i) out.push(i);
  }
  return out;
}
