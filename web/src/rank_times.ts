// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The time of MPI ranks, by function (nigh run --record).
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

// The rows of ranks that left a record.
export const rowsThere = (times: RankTimes): Row[] => times.rows.filter((row) => row.mpi_seconds > 0 || row.user_seconds > 0);

export function summaryOf(times: RankTimes): string {
  const rows = rowsThere(times);
  const percent = (seconds: number) => Math.min(100, Math.round((100 * seconds) / times.seconds));
  const all = times.functions.reduce((sum, one) => sum + one.seconds, 0) / Math.max(1, times.told);
  const [first] = times.functions;
  const columns = times.in_mpi[0]?.length ?? 0;
  const last = endOfMpi(times);
  const quiet = last > 0 && last < 0.9 * columns ? ` No rank is in MPI after ${duration((times.seconds * last) / columns)}.` : '';
  const head = `${times.program ? `${times.program}: ` : ''}${plural(times.told, 'rank')} for ${duration(times.seconds)}, ${percent(all)} % of it in MPI`;
  if (!first || rows.length === 0) return `${head}.${quiet}`;
  const most = rows.reduce((a, b) => (b.mpi_seconds > a.mpi_seconds ? b : a));
  const least = rows.reduce((a, b) => (b.mpi_seconds < a.mpi_seconds ? b : a));
  const function_ = `the most in ${first.name} (${percent(first.seconds / Math.max(1, times.told))} %)`;
  if (rows.length === 1 || percent(most.mpi_seconds) - percent(least.mpi_seconds) < 5) return `${head}, ${function_}; about the same on every rank.${quiet}`;
  const late = lateOf(times);
  if (late) {
    const several = late.rows.length > 1;
    const names = several ? late.rows.map(rowName).join(', ').replace(/, ([^,]*)$/, ' and $1') : rowName(late.rows[0]!);
    const [is, it, keeps, waits, shares, works, has, runs] = several
      ? ['are', 'them', 'they keep', 'they wait', 'share their PUs', 'work', 'they have', 'run']
      : ['is', 'it', 'it keeps', 'it waits', 'shares its PU', 'works', 'it has', 'runs'];
    const busy = late.busy === null ? '' : late.busy < 0.9 ? `, while ${keeps} ${Number(late.busy.toFixed(2))} PUs busy${several ? ' each' : ''}: ${waits} for something else than MPI, or ${shares}` : `, and ${works}: ${has} more to do, or ${runs} more slowly`;
    return `${head}, ${function_}. From ${duration(late.from)} on, ${names} ${is} in MPI for ${Math.round(late.its)} % of the time${quiet ? ' until that ends' : ''}, others for ${Math.round(late.others)} %: ${several ? 'these' : 'they'} wait for ${it}${busy}.${quiet}`;
  }
  return `${head}, ${function_}; the least on ${rowName(least)} (${percent(least.mpi_seconds)} %), for which others may wait, the most on ${rowName(most)} (${percent(most.mpi_seconds)} %).${quiet}`;
}

// The end of the last column in which somebody is in MPI.
function endOfMpi(times: RankTimes): number {
  let last = times.in_mpi[0]?.length ?? 0;
  while (last > 0 && times.in_mpi.every((row) => !row[last - 1])) --last;
  return last;
}

// When the rows that are least in MPI begin to be far less in it than the others, until nobody is in it any more, and what their CPU time
// does then.
export function lateOf(times: RankTimes): { rows: Row[]; from: number; its: number; others: number; busy: number | null } | null {
  const there = times.rows.flatMap((row, i) => (row.mpi_seconds > 0 || row.user_seconds > 0 ? [i] : []));
  const columns = endOfMpi(times);
  if (there.length < 2 || columns < 8) return null;
  const late = there.reduce((a, b) => (times.rows[b]!.mpi_seconds < times.rows[a]!.mpi_seconds ? b : a));
  const mean = (rows: number[], from: number, values: number[][]) => {
    let sum = 0;
    for (const row of rows) for (let i = from; i < columns; ++i) sum += values[row]?.[i] ?? 0;
    return sum / (rows.length * (columns - from));
  };
  const others = there.filter((one) => one !== late);
  // The beginning of the part, to the end, in which the difference is the largest sum beyond its mean.
  const less = Array.from({ length: columns }, (_, i) => others.reduce((sum, row) => sum + (times.in_mpi[row]?.[i] ?? 0), 0) / others.length - (times.in_mpi[late]?.[i] ?? 0));
  const usual = less.reduce((sum, one) => sum + one, 0) / columns;
  let from = 0;
  let best = 0;
  let sum = 0;
  for (let i = columns - 1; i >= 0; --i) {
    sum += less[i]! - usual;
    if (sum > best) [best, from] = [sum, i];
  }
  // The companions of the latest row, if they are few: those below the largest step between rows in order.
  const order = [...there].map((row) => ({ row, part: mean([row], from, times.in_mpi) })).sort((a, b) => a.part - b.part);
  const few = Math.max(1, Math.min(4, Math.floor(there.length / 2)));
  const step = (count: number) => order[count]!.part - order[count - 1]!.part;
  const count = Array.from({ length: few }, (_, i) => i + 1).reduce((a, b) => (step(b) > step(a) ? b : a));
  const group = order.slice(0, count).map((one) => one.row).sort((a, b) => a - b);
  const rest = there.filter((one) => !group.includes(one));
  const [its, all] = [mean(group, from, times.in_mpi), mean(rest, from, times.in_mpi)];
  if (all - its < 10) return null;
  return { rows: group.map((one) => times.rows[one]!), from: (times.seconds * from) / (times.in_mpi[0]?.length ?? 1), its, others: all, busy: times.cpu ? mean(group, from, times.cpu) / 100 : null };
}

// The PUs that a rank keeps busy at each time: the mean of all, and the rows with the least and the most CPU time.
export function busyOf(times: RankTimes): Record<string, number[]> | null {
  const { cpu } = times;
  if (!cpu) return null;
  const there = times.rows.flatMap((row, i) => (row.mpi_seconds > 0 || row.user_seconds > 0 ? [{ row, values: cpu[i] ?? [], ranks: row.last - row.first + 1, sum: (cpu[i] ?? []).reduce((sum, one) => sum + one, 0) }] : []));
  if (there.length === 0) return null;
  const ranks = there.reduce((sum, one) => sum + one.ranks, 0);
  const mean = Array.from({ length: cpu[0]?.length ?? 0 }, (_, at) => there.reduce((sum, one) => sum + (one.values[at] ?? 0) * one.ranks, 0) / ranks / 100);
  const least = there.reduce((a, b) => (b.sum < a.sum ? b : a));
  const most = there.reduce((a, b) => (b.sum > a.sum ? b : a));
  const of = (one: (typeof there)[number]) => one.values.map((value) => value / 100);
  if (least === most) return { [rowName(least.row)]: of(least) };
  return { 'mean of all': mean, [`the least: ${rowName(least.row)}`]: of(least), [`the most: ${rowName(most.row)}`]: of(most) };
}
