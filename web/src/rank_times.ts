// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Where the time of MPI ranks goes (nigh run --record).
import type { RankTimes } from './documents';
import { plural, short } from './numbers';

type Row = RankTimes['rows'][number];

export const rowName = (row: Row): string => (row.first === row.last ? `rank ${row.first}` : `ranks ${row.first} to ${row.last}`);

// 0.0123 s is "12.3 ms".
export function duration(seconds: number): string {
  if (!(seconds > 0)) return '0 s';
  const [factor, unit] = seconds >= 1 ? [1, 's'] : seconds >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
  return `${short(seconds * factor)} ${unit}`;
}

// Of the ranks that told.
export const rowsThere = (times: RankTimes): Row[] => times.rows.filter((row) => row.mpi_seconds > 0 || row.user_seconds > 0);

export function summaryOf(times: RankTimes): string {
  const rows = rowsThere(times);
  const percent = (seconds: number) => Math.min(100, Math.round((100 * seconds) / times.seconds));
  const all = times.functions.reduce((sum, one) => sum + one.seconds, 0) / Math.max(1, times.told);
  const [first] = times.functions;
  const columns = times.in_mpi[0]?.length ?? 0;
  let last = columns; // the end of the last column in which somebody is in MPI
  while (last > 0 && times.in_mpi.every((row) => !row[last - 1])) --last;
  const quiet = last > 0 && last < 0.9 * columns ? ` No rank is in MPI after ${duration((times.seconds * last) / columns)}.` : '';
  const head = `${times.program ? `${times.program}: ` : ''}${plural(times.told, 'rank')} for ${duration(times.seconds)}, ${percent(all)} % of it in MPI`;
  if (!first || rows.length === 0) return `${head}.${quiet}`;
  const most = rows.reduce((a, b) => (b.mpi_seconds > a.mpi_seconds ? b : a));
  const least = rows.reduce((a, b) => (b.mpi_seconds < a.mpi_seconds ? b : a));
  const function_ = `the most in ${first.name} (${percent(first.seconds / Math.max(1, times.told))} %)`;
  if (rows.length === 1 || percent(most.mpi_seconds) - percent(least.mpi_seconds) < 5) return `${head}, ${function_}; about the same on every rank.${quiet}`;
  return `${head}, ${function_}; the least on ${rowName(least)} (${percent(least.mpi_seconds)} %), for which others may wait, the most on ${rowName(most)} (${percent(most.mpi_seconds)} %).${quiet}`;
}

// The PUs that a rank keeps busy at each time: the mean of all ranks, and the rows with the least and the most.
export function busyOf(times: RankTimes): Record<'mean' | 'least' | 'most', number[]> | null {
  const { cpu } = times;
  if (!cpu) return null;
  const there = times.rows.flatMap((row, i) => (row.mpi_seconds > 0 || row.user_seconds > 0 ? [{ values: cpu[i] ?? [], ranks: row.last - row.first + 1 }] : []));
  if (there.length === 0) return null;
  const ranks = there.reduce((sum, one) => sum + one.ranks, 0);
  const of = (value: (at: number) => number) => Array.from({ length: cpu[0]?.length ?? 0 }, (_, at) => value(at) / 100);
  return {
    mean: of((at) => there.reduce((sum, one) => sum + (one.values[at] ?? 0) * one.ranks, 0) / ranks),
    least: of((at) => there.reduce((least, one) => Math.min(least, one.values[at] ?? 0), Infinity)),
    most: of((at) => there.reduce((most, one) => Math.max(most, one.values[at] ?? 0), 0)),
  };
}
