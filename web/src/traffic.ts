// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes that ranks sent each other, as a matrix: of all communicators and ways, or of some.
import type { Traffic } from './documents';

export interface Cells {
  side: number; // rows and columns
  width: number; // ranks of a row
  bytes: Float64Array; // row by row: from, to
  messages: Float64Array;
  carried: Float64Array; // messages of these that nigh carried
}

export type Carrier = 'both' | 'nigh' | 'library';

export interface Choice {
  way: number; // -1: all
  communicator: number;
  function: number;
  carrier: Carrier;
}

export function cellsOf(traffic: Traffic, choice: Choice): Cells {
  const side = Math.ceil(traffic.ranks / traffic.width);
  const out = { side, width: traffic.width, bytes: new Float64Array(side * side), messages: new Float64Array(side * side), carried: new Float64Array(side * side) };
  const part = (all: number, carried: number) => (choice.carrier === 'both' ? all : choice.carrier === 'nigh' ? carried : all - carried);
  for (const [from, to, communicator, way, bytes, messages, fn = -1, carriedBytes = 0, carriedMessages = 0] of traffic.entries) {
    if (choice.way >= 0 && way !== choice.way) continue;
    if (choice.communicator >= 0 && communicator !== choice.communicator) continue;
    if (choice.function >= 0 && fn !== choice.function) continue;
    const at = from * side + to;
    out.bytes[at]! += part(bytes, carriedBytes);
    out.messages[at]! += part(messages, carriedMessages);
    out.carried[at]! += choice.carrier === 'library' ? 0 : carriedMessages;
  }
  return out;
}

export interface FunctionSum {
  index: number;
  name: string;
  bytes: number;
  messages: number;
  carried: number; // bytes
}

// Each function that sends, the one with the most bytes first; none where the record does not say them.
export function functionsOf(traffic: Traffic): FunctionSum[] {
  const out = (traffic.functions ?? []).map((name, index) => ({ index, name, bytes: 0, messages: 0, carried: 0 }));
  for (const [, , , , bytes, messages, fn = -1, carried = 0] of traffic.entries) {
    const sum = out[fn];
    if (!sum) continue;
    sum.bytes += bytes;
    sum.messages += messages;
    sum.carried += carried;
  }
  return out.sort((a, b) => b.bytes - a.bytes || b.messages - a.messages);
}

// "7", or "64 to 127" where a row is several ranks.
export function ranksOf(cells: { width: number }, row: number, ranks: number): string {
  if (cells.width === 1) return `${row}`;
  return `${row * cells.width} to ${Math.min(ranks, (row + 1) * cells.width) - 1}`;
}

export interface Sums {
  all: number;
  betweenHosts: number;
  betweenPackages: number; // of a host
  packages: number; // of the host with the most; 0: not known of all ranks
  hosts: number;
  messages: number;
}

export function sumsOf(traffic: Traffic, cells: Cells): Sums {
  const host = (row: number) => traffic.hosts[row * cells.width] ?? '';
  const known = traffic.packages?.length === traffic.ranks && traffic.packages.every((one) => one >= 0);
  const place = (row: number) => `${host(row)} ${traffic.packages?.[row * cells.width] ?? -1}`;
  const packagesOf = new Map<string, Set<number>>();
  traffic.hosts.forEach((name, rank) => packagesOf.set(name, (packagesOf.get(name) ?? new Set()).add(traffic.packages?.[rank] ?? -1)));
  const packages = known ? Math.max(...[...packagesOf.values()].map((one) => one.size)) : 0;
  const out = { all: 0, betweenHosts: 0, betweenPackages: 0, packages, hosts: new Set(traffic.hosts).size, messages: 0 };
  for (let from = 0; from < cells.side; ++from)
    for (let to = 0; to < cells.side; ++to) {
      const bytes = cells.bytes[from * cells.side + to]!;
      out.all += bytes;
      out.messages += cells.messages[from * cells.side + to]!;
      if (host(from) !== host(to)) out.betweenHosts += bytes;
      else if (known && place(from) !== place(to)) out.betweenPackages += bytes;
    }
  return out;
}

export function heaviest(cells: Cells, count: number): { from: number; to: number; bytes: number; messages: number }[] {
  const at: number[] = [];
  cells.bytes.forEach((bytes, i) => {
    if (bytes > 0 || cells.messages[i]! > 0) at.push(i);
  });
  at.sort((a, b) => cells.bytes[b]! - cells.bytes[a]!);
  return at.slice(0, count).map((i) => ({ from: Math.floor(i / cells.side), to: i % cells.side, bytes: cells.bytes[i]!, messages: cells.messages[i]! }));
}

// The hosts from above to below, each with its rows; none where ranks of a host are not beside each other.
export function hostsOf(traffic: Traffic, cells: { width: number; side: number }): { host: string; row: number; rows: number }[] {
  const out: { host: string; row: number; rows: number }[] = [];
  for (let row = 0; row < cells.side; ++row) {
    const host = traffic.hosts[row * cells.width] ?? '';
    const last = out[out.length - 1];
    if (last?.host === host) ++last.rows;
    else out.push({ host, row, rows: 1 });
  }
  return new Set(out.map((one) => one.host)).size === out.length ? out : [];
}

// "0 to 3, 8": ranks in order.
export function ranges(ranks: number[]): string {
  const out: [number, number][] = [];
  for (const rank of ranks) {
    const last = out[out.length - 1];
    if (last && last[1] + 1 === rank) last[1] = rank;
    else out.push([rank, rank]);
  }
  return out.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`)).join(', ');
}

// Ranks by host and package, as they ran.
export function placesOf(traffic: Traffic): { host: string; package: number; ranks: number[] }[] {
  const out = new Map<string, { host: string; package: number; ranks: number[] }>();
  traffic.hosts.forEach((host, rank) => {
    const number = traffic.packages?.[rank] ?? -1;
    const key = `${number} ${host}`;
    const known = out.get(key);
    if (known) known.ranks.push(rank);
    else out.set(key, { host, package: number, ranks: [rank] });
  });
  return [...out.values()];
}

// The rows before which another host begins, or another package of the same host.
export function bordersOf(traffic: Traffic, cells: { width: number; side: number }): { row: number; host: boolean }[] {
  const out: { row: number; host: boolean }[] = [];
  for (let row = 1; row < cells.side; ++row) {
    const [before, here] = [(row - 1) * cells.width, row * cells.width];
    const host = traffic.hosts[before] !== traffic.hosts[here];
    const [a, b] = [traffic.packages?.[before] ?? -1, traffic.packages?.[here] ?? -1];
    if (host || (a !== b && a >= 0 && b >= 0)) out.push({ row, host });
  }
  return out;
}

// The values whose colours begin and end the scale: what differs little looks alike.
export function scaleOf(values: Float64Array): [number, number] {
  let least = Infinity;
  let most = 0;
  for (const value of values)
    if (value > 0) {
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  return [Math.max(1, Math.min(least, most / 100)), most]; // there is no part of a message
}

// 0 to 1 by the logarithm: few ranks send most, and the others should be seen, too.
export function strengths(values: Float64Array): Float32Array {
  const [least, most] = scaleOf(values);
  const all = Math.log(most / least); // 0: all are alike
  return Float32Array.from(values, (value) => (value <= 0 ? 0 : all > 0 ? 0.12 + (0.88 * Math.log(Math.max(1, value / least))) / all : 1));
}
