// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Records of benchmarks, sorted into pictures: curves over sizes where there are some, else a line for each subject.
import type { Bench, BenchRecord } from './documents';
import { binary } from './numbers';

export type Form = 'measured' | 'modelled' | 'published';

export interface Point {
  x: number; // bytes
  record: BenchRecord;
}

export interface Series {
  subject: string;
  state: string; // near, far, n/a
  form: Form;
  points: Point[];
}

export interface Curves {
  kind: 'curves';
  title: string;
  unit: string;
  series: Series[];
  axis?: string; // what is on it, where that is no size in bytes
}

export interface Strip {
  kind: 'strip';
  title: string;
  unit: string;
  records: BenchRecord[];
}

export type Picture = Curves | Strip;

export interface Group {
  bench: string;
  pictures: Picture[];
  absent: { case: string; subject: string; reason: string }[];
  wrong: BenchRecord[];
}

export const moreIsBetter = (unit: string): boolean => unit.endsWith('/s') || unit === 'times';

const factors: Record<string, number> = { B: 1, byte: 1, bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

// "Bcast 64 KiB" -> ["Bcast", 65536], "8 B cached" -> ["cached", 8]; null: it ends with no size.
export function sizeIn(result: string): [string, number] | null {
  const found = /^(.*?)\s*(\d+(?:\.\d+)?)\s?(B|bytes?|KiB|MiB|GiB)( cached)?$/.exec(result);
  return found ? [`${found[1]!}${found[4] ?? ''}`.trim(), Number(found[2]) * factors[found[3]!]!] : null;
}

export function formOf(record: BenchRecord): Form {
  if (record.subject.startsWith('published')) return 'published';
  return record.subject.startsWith('predicted') ? 'modelled' : 'measured';
}

const key = (...words: string[]) => words.filter((one) => one !== '').join(', ');
const isHeadline = (record: BenchRecord) => record.bench === 'nested-overhead' || !record.result.endsWith(' min');

// A result has a curve from this number of sizes on.
const leastSizes = 3;

const sizesOf = (records: BenchRecord[]) => new Set(records.map((one) => sizeIn(one.result)![1])).size;

function curvesOf(records: BenchRecord[], title: string): Curves {
  const series = new Map<string, Series>();
  for (const record of records) {
    const form = formOf(record);
    const name = key(record.subject, record.core_state, form);
    let one = series.get(name);
    if (!one) series.set(name, (one = { subject: record.subject, state: record.core_state, form, points: [] }));
    one.points.push({ x: sizeIn(record.result)![1], record });
  }
  for (const one of series.values()) one.points.sort((a, b) => a.x - b.x);
  return { kind: 'curves', title, unit: records[0]!.unit, series: [...series.values()] };
}

// Predictions, alone or beside what was measured: the view of models has them.
export const isModelled = (file: Bench): boolean => Boolean(file.machine.computed) || file.records[0]?.bench === 'transpose-steps';

// Measured files; where several hold the same benchmark, each subject says of which file it is.
export function told(files: Bench[]): (Bench & { file?: string })[] {
  const measured = files.filter((file) => !isModelled(file));
  const holders = new Map<string, number>();
  for (const file of measured) for (const bench of new Set(file.records.map((one) => one.bench))) holders.set(bench, (holders.get(bench) ?? 0) + 1);
  return measured.map((file, i) => ({
    ...file,
    records: file.records.map((one) => ((holders.get(one.bench) ?? 0) > 1 ? { ...one, subject: `${one.subject} (${fileName(file, i)})` } : one)),
  }));
}

// "here.json" is "here"; without a file the CPU that it was measured on.
export function fileName(file: Bench & { file?: string }, i: number): string {
  return file.file?.replace(/\.json$/, '') ?? (typeof file.machine.cpu === 'string' ? file.machine.cpu : `file ${i + 1}`);
}

export function groupsOf(files: Bench[]): Group[] {
  const groups = new Map<string, Group>();
  const group = (bench: string) => {
    let one = groups.get(bench);
    if (!one) groups.set(bench, (one = { bench, pictures: [], absent: [], wrong: [] }));
    return one;
  };
  const families = new Map<string, BenchRecord[]>();
  const cases = new Map<string, BenchRecord[]>();
  const add = (to: Map<string, BenchRecord[]>, name: string, record: BenchRecord) => {
    const list = to.get(name);
    if (list) list.push(record);
    else to.set(name, [record]);
  };
  for (const file of told(files)) {
    for (const record of file.records) {
      if (!record.verified) group(record.bench).wrong.push(record);
      const size = sizeIn(record.result);
      if (size) add(families, `${record.bench}\n${key(size[0], teamsOf(record), record.runtime)}`, record);
      else if (isHeadline(record)) add(cases, `${record.bench}\n${key(record.result, teamsOf(record), record.runtime, record.shape ?? '')}`, record);
    }
    for (const one of file.absent) group(one.bench).absent.push(one);
  }
  for (const [name, records] of families) {
    const [bench, title] = name.split('\n') as [string, string];
    const states = [...new Set(records.map((one) => one.core_state))].sort().reverse(); // near before far
    if (states.length > 1 && new Set(records.map((one) => one.subject)).size > 2) {
      for (const state of states) {
        const part = records.filter((one) => one.core_state === state);
        if (sizesOf(part) >= leastSizes) group(bench).pictures.push(curvesOf(part, `${title}, cores ${state}`));
      }
    } else if (sizesOf(records) >= leastSizes) group(bench).pictures.push(curvesOf(records, title));
    else for (const record of records) add(cases, `${bench}\n${key(record.result, teamsOf(record), record.runtime)}`, record);
  }
  for (const [name, records] of cases) {
    const [bench, title] = name.split('\n') as [string, string];
    group(bench).pictures.push({ kind: 'strip', title, unit: records[0]!.unit, records });
  }
  return [...groups.values()];
}

function teamsOf(record: BenchRecord): string {
  if (!record.teams) return '';
  return record.bench.startsWith('mpi-') ? `${record.teams} ranks` : `teams ${record.teams}`;
}

// ours, what it is compared with, and the bound that nobody passes.
export function roleOf(record: { subject: string; ratio?: boolean }): 'ours' | 'limit' | 'peer' {
  if (record.subject.startsWith('nigh')) return 'ours';
  return record.subject.startsWith('limit') ? 'limit' : 'peer';
}

// nigh beside the first that is compared with it, in a sentence; "" where there are no two such curves.
export function summaryOf(curves: Curves): string {
  const ours = curves.series.find((one) => /^nigh( \(|$)/.test(one.subject) && one.form === 'measured');
  const peers = curves.series.filter((one) => one !== ours && one.form === 'measured' && roleOf(one) === 'peer' && one.state === ours?.state);
  const theirs = peers.find((one) => one.subject.startsWith('library')) ?? peers[0];
  if (!ours || !theirs) return '';
  const base = new Map(theirs.points.map((one) => [one.x, one.record.median]));
  const more = moreIsBetter(curves.unit);
  const gains = ours.points.filter((one) => (base.get(one.x) ?? 0) > 0 && one.record.median > 0).map((one) => ({ x: one.x, times: more ? one.record.median / base.get(one.x)! : base.get(one.x)! / one.record.median }));
  const last = gains[gains.length - 1];
  if (!last) return '';
  const slower = gains.filter((one) => one.times < 0.97).length;
  let from = gains.length;
  while (from > 0 && gains[from - 1]!.times > 1.03) --from;
  const at = curves.axis ? `${last.x} ${curves.axis}` : binary(last.x);
  const times = `${last.times.toPrecision(2)} times as fast at ${at}`;
  if (from === gains.length) return slower === 0 ? `nigh is as fast as ${theirs.subject}, or faster.` : `nigh is slower than ${theirs.subject} at ${slower} of ${gains.length} sizes.`;
  const small = gains.slice(0, from);
  const rest = small.some((one) => one.times < 0.97) ? `; below, slower at ${small.filter((one) => one.times < 0.97).length} of ${small.length}` : '; below, as fast or faster';
  return `nigh is faster than ${theirs.subject} ${from === 0 ? 'at every size' : `from ${binary(gains[from]!.x)} on`}, ${times}${from === 0 ? '' : rest}.`;
}

// The meaning of subjects, as far as their names do not say it.
export const subjects: Record<string, string> = {
  library: 'the MPI library alone',
  'library, nigh run': "the library's own call, with nigh loaded",
  limit: 'one plain pass over the memory, which no message can do without',
  CMA: 'the kernel copies (process_vm_readv)',
  'copy in, copy out': 'through chunks of memory that both have mapped',
  'nigh messages': "nigh's own messages, without MPI",
  UCX: "UCX's tag matching",
  unbound: 'threads where the OpenMP runtime leaves them',
};

// Labels that want these places, from top to bottom, moved apart so that each has `room`.
export function spread(wanted: number[], room: number, top: number, bottom: number): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!);
  const out = [...wanted];
  let last = top - room;
  for (const i of order) last = out[i] = Math.max(wanted[i]!, last + room);
  let next = bottom + room;
  for (const i of order.reverse()) next = out[i] = Math.min(out[i]!, next - room);
  return out;
}
