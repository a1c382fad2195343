// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of a program that nigh carried, and the reasons why it did not carry the others (nigh run --explain
// --json of MPI ranks).
import type { Account } from './documents';

export interface Row {
  name: string;
  ours: number; // bytes
  left: number;
  calls: { ours: number; left: number };
  reasons: { name: string; calls: number; bytes: number }[]; // the most bytes first
}

// Reasons as a reader knows them (docs/mpi.md).
export const reasonTexts: Record<string, string> = {
  small: 'small: the library is as fast', unshared: 'the buffer is private memory', distant: 'the peer is on another host, or out of reach', alone: 'a communicator of one rank',
  self: 'a message to itself', foreign: 'a communicator that nigh has not seen made', inter: 'an inter-communicator', type: 'the datatype', operation: 'the reduction operation',
  memory: 'there was no memory for it', order: "the library's order of operations was asked for", uncovered: 'nigh has no version of this function', other: 'other reasons',
};

const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

export function rowsOf(account: Account): Row[] {
  const rows = Object.entries(account.functions ?? {}).map(([name, counts]): Row => {
    const leftBytes = (counts.left_bytes ?? {}) as Record<string, unknown>;
    const reasons = Object.keys(reasonTexts)
      .map((reason) => ({ name: reason, calls: number(counts[reason]), bytes: number(leftBytes[reason]) }))
      .filter((one) => one.calls > 0 || one.bytes > 0)
      .sort((a, b) => b.bytes - a.bytes || b.calls - a.calls);
    const sum = (of: 'calls' | 'bytes') => reasons.reduce((all, one) => all + one[of], 0);
    return { name, ours: number(counts.bytes), left: sum('bytes'), calls: { ours: number(counts.ours), left: sum('calls') }, reasons };
  });
  return rows.sort((a, b) => b.ours + b.left - a.ours - a.left || b.calls.ours + b.calls.left - a.calls.ours - a.calls.left);
}

// All accounts of a page: bytes carried, bytes left, and the reason that left the most.
export function totalOf(accounts: Account[]): { ours: number; left: number; first: string } {
  const reasons = new Map<string, number>();
  let ours = 0;
  let left = 0;
  for (const row of accounts.flatMap(rowsOf)) {
    ours += row.ours;
    left += row.left;
    for (const reason of row.reasons) reasons.set(reason.name, (reasons.get(reason.name) ?? 0) + reason.bytes);
  }
  const [first] = [...reasons].sort((a, b) => b[1] - a[1]);
  return { ours, left, first: first && first[1] > 0 ? first[0] : '' };
}
