// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// All MPI libraries in one picture: how many times nigh is better than each alone, by operation and size.
import { sizeIn, told } from './benchmarks';
import type { Bench, BenchRecord } from './documents';

export interface MatrixRow {
  library: string;
  cells: Map<number, BenchRecord>; // by size in bytes; 0: without a size
}

export interface MatrixBlock {
  operation: string; // "pingpong cached, cores near"
  rows: MatrixRow[];
}

export interface Matrix {
  sizes: number[];
  libraries: string[];
  blocks: MatrixBlock[];
}

// Puts of `nigh` are OpenSHMEM's, not those of an MPI library.
const isOurs = (record: BenchRecord) => (record.bench === 'mpi-put' ? /^library, nigh run( \(|$)/ : /^nigh( \(|$)/).test(record.subject) && record.bench.startsWith('mpi-') && record.bench !== 'mpi-nodes' && record.ratio_to_unbound !== undefined && record.verified;
// "mpich-5.0.2", and of several files which one: "mpich-5.0.2 (before)".
const libraryOf = (record: BenchRecord) => record.runtime + (/ \(.*\)$/.exec(record.subject)?.[0] ?? '');

// null: fewer than two libraries are there to be compared.
export function matrixOf(files: Bench[]): Matrix | null {
  const records = told(files).flatMap((file) => file.records).filter(isOurs);
  const libraries = [...new Set(records.map(libraryOf))];
  if (libraries.length < 2) return null;
  const states = new Set(records.map((one) => one.core_state)).size > 1;
  const ranks = new Set(records.map((one) => one.teams)).size > 1;
  const blocks = new Map<string, MatrixBlock>();
  const sizes = new Set<number>();
  for (const record of records) {
    const [words, size] = sizeIn(record.result) ?? [record.result, 0];
    const name = [
      [record.bench.slice('mpi-'.length).replace(/^collectives$/, ''), words].filter((one) => one !== '').join(' '),
      ranks ? `${record.teams} ranks` : '',
      states && record.core_state !== 'n/a' ? `cores ${record.core_state}` : '',
    ].filter((one) => one !== '').join(', ');
    let block = blocks.get(name);
    if (!block) blocks.set(name, (block = { operation: name, rows: [] }));
    let row = block.rows.find((one) => one.library === libraryOf(record));
    if (!row) block.rows.push((row = { library: libraryOf(record), cells: new Map() }));
    row.cells.set(size, record);
    sizes.add(size);
  }
  for (const block of blocks.values()) block.rows.sort((a, b) => libraries.indexOf(a.library) - libraries.indexOf(b.library));
  return { sizes: [...sizes].sort((a, b) => a - b), libraries, blocks: [...blocks.values()] };
}

// Strength of a cell's colour: 0 within 3 %, 1 from four times on.
export const strengthOf = (times: number): number => {
  const away = Math.abs(Math.log2(times));
  return away < Math.log2(1.03) ? 0 : Math.min(1, 0.12 + (0.88 * away) / 2);
};

// One sentence for the whole.
export function matrixSentence(matrix: Matrix): string {
  const times = matrix.blocks.flatMap((block) => block.rows.flatMap((row) => [...row.cells.values()].map((one) => one.ratio_to_unbound!.median)));
  const count = (test: (one: number) => boolean) => times.filter(test).length;
  return `${matrix.libraries.length} libraries, ${times.length} cases: nigh is faster than the library alone in ${count((one) => one > 1.03)}, as fast (within 3 %) in ${count((one) => one <= 1.03 && one >= 1 / 1.03)}, slower in ${count((one) => one < 1 / 1.03)}.`;
}
