// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The predictions of models, beside published or measured values: records of computed benchmarks and of
// transpose-steps, and the predictions of nigh plan --transpose.
import type { Curves, Form, Series } from './benchmarks';
import type { Bench, BenchRecord, Transpose, TransposeWay } from './documents';

export interface Pair {
  name: string;
  predicted: number;
  published: number;
}

export interface Pairs {
  title: string;
  unit: string;
  pairs: Pair[];
}

// Records that come in two, "nigh" (predicted) and "published": a picture for each unit.
export function pairsOf(files: Bench[]): Pairs[] {
  const out = new Map<string, Pairs>();
  for (const file of files) {
    if (!file.machine.computed) continue;
    const published = new Map(file.records.filter((one) => one.subject === 'published').map((one) => [one.case, one.median]));
    for (const record of file.records) {
      const theirs = published.get(record.case);
      if (record.subject !== 'nigh' || theirs === undefined) continue;
      const what = record.result && record.case.endsWith(record.result) ? record.result : '';
      const title = record.bench === 'slide5' ? `streamcluster on two nodes: ${what}` : record.bench === 'transpose-model' ? 'Transposes of Haan (SCICOMP 2000)' : record.bench;
      const key = `${title}\n${record.unit}`;
      let one = out.get(key);
      if (!one) out.set(key, (one = { title, unit: record.unit, pairs: [] }));
      one.pairs.push({ name: what ? record.case.slice(0, -what.length).trim() : record.case, predicted: record.median, published: theirs });
    }
  }
  return [...out.values()];
}

export interface Mix {
  name: string;
  records: BenchRecord[];
}

// Policies of asymmetric placement by mix of programs.
export function mixesOf(files: Bench[]): Mix[] {
  const out = new Map<string, BenchRecord[]>();
  for (const file of files) for (const record of file.records) if (record.bench === 'placement') out.set(record.case, [...(out.get(record.case) ?? []), record]);
  return [...out].map(([name, records]) => ({ name, records }));
}

const steps = ['total', 'between_nodes'];
const words: Record<string, string> = { total: 'all steps', between_nodes: 'between nodes', local_reorder: 'local reorder', on_node: 'on node', local_transpose: 'local transpose', synchronisation: 'synchronisation' };
export const stepWords = (step: string): string => words[step] ?? step;

// One rank a node, or one thread a rank: what the pictures compare.
const isExtreme = (teams: string) => teams.startsWith('1x') || teams.endsWith('x1');

function seriesOf(records: BenchRecord[], x: (record: BenchRecord) => number): Series[] {
  const out = new Map<string, Series>();
  for (const record of records) {
    const form: Form = record.subject === 'measured' ? 'measured' : 'modelled';
    const key = `${record.teams} ${form}`;
    let one = out.get(key);
    if (!one) out.set(key, (one = { subject: `${record.teams} ranks x threads`, state: 'n/a', form, points: [] }));
    one.points.push({ x: x(record), record });
  }
  for (const one of out.values()) one.points.sort((a, b) => a.x - b.x);
  return [...out.values()].filter((one) => one.points.length > 1);
}

// Beds that differ in the number of hosts only, which is their first word.
const withoutHosts = (bed: string) => bed.replace(/^\d+/, '');

export function stepCurvesOf(files: Bench[]): Curves[] {
  const out: Curves[] = [];
  const all = files.flatMap((file) => file.records).filter((one) => one.bench === 'transpose-steps' && one.median > 0 && isExtreme(one.teams));
  const add = (title: string, records: BenchRecord[], x: (record: BenchRecord) => number, axis?: string) => {
    const series = seriesOf(records, x);
    if (series.length > 0) out.push({ kind: 'curves', title, unit: 'ms', series, ...(axis ? { axis } : {}) });
  };
  for (const bed of new Set(all.map((one) => one.case)))
    for (const method of new Set(all.map((one) => one.runtime)))
      for (const step of steps) add(`${bed}: ${method}, ${stepWords(step)}`, all.filter((one) => one.case === bed && one.runtime === method && one.result === step), (one) => one.size_bytes);
  // Over hosts: of each method the largest matrix of those that most numbers of hosts were measured with.
  for (const kind of new Set(all.map((one) => withoutHosts(one.case))))
    for (const method of new Set(all.map((one) => one.runtime))) {
      const own = all.filter((one) => withoutHosts(one.case) === kind && one.runtime === method && one.result === 'total');
      const hosts = (bytes: number) => new Set(own.filter((one) => one.size_bytes === bytes).map((one) => one.case)).size;
      const sizes = [...new Set(own.map((one) => one.size_bytes))].sort((a, b) => hosts(b) - hosts(a) || b - a);
      const bytes = sizes[0];
      if (bytes === undefined || hosts(bytes) < 2) continue;
      add(`2, 3, ...${kind}: ${method}, ${Number((bytes / 1e6).toPrecision(3))} MB`, own.filter((one) => one.size_bytes === bytes), (one) => parseFloat(one.case), 'hosts');
    }
  return out;
}

export const wayName = (way: TransposeWay): string => `${way.ranks} x ${way.threads}, ${way.method}`;

export interface Choice {
  ways: TransposeWay[]; // at this point, the fastest first
  overNodes: Map<string, [number, number][]>; // seconds by way
  overSides: Map<string, [number, number][]>;
}

export function axesOf(grid: TransposeWay[]): { sides: number[]; nodes: number[] } {
  const sorted = (values: (number | undefined)[]) => [...new Set(values.filter((one) => one !== undefined))].sort((a, b) => a - b);
  return { sides: sorted(grid.map((one) => one.side)), nodes: sorted(grid.map((one) => one.nodes)) };
}

export function choiceOf(grid: TransposeWay[], side: number, nodes: number): Choice {
  const over = (points: TransposeWay[], key: 'nodes' | 'side') => {
    const out = new Map<string, [number, number][]>();
    for (const one of points) out.set(wayName(one), [...(out.get(wayName(one)) ?? []), [one[key] ?? 0, one.seconds.total]]);
    return out;
  };
  return {
    ways: grid.filter((one) => one.side === side && one.nodes === nodes).sort((a, b) => a.seconds.total - b.seconds.total),
    overNodes: over(grid.filter((one) => one.side === side), 'nodes'),
    overSides: over(grid.filter((one) => one.nodes === nodes), 'side'),
  };
}

export const transposeTitle = (of: Transpose): string => `${of.machine}, ${of.cores} cores a node`;
