// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { expect, test } from 'vitest';
import type { Document, Page } from './documents';
import { gainsOf, sentenceOf, verdictOf } from './gains';

const page = (...documents: unknown[]): Page => ({ format: 'nigh-page', version: 1, nigh: '', date: '', documents: documents as Document[] });
const compare = (command: string, median: number, low?: number, high?: number) => ({
  format: 'nigh-compare',
  subjects: [{ name: 'without', command, seconds: [1, 1] }, { name: 'with', command, seconds: [1, 1] }],
  time_ratio: { median, low, high },
});

test('a verdict is that of the whole interval', () => {
  expect(verdictOf({ median: 0.9, low: 0.8, high: 0.99 })).toBe('faster');
  expect(verdictOf({ median: 0.9, low: 0.8, high: 1.01 })).toBe('no difference');
  expect(verdictOf({ median: 1.1, low: 1.01, high: 1.2 })).toBe('slower');
  expect(verdictOf({ median: 0.5 })).toBe('not known');
});

test('programs come before benchmarks, the greatest gain first', () => {
  const bench = {
    format: 'nigh-bench', machine: {}, absent: [],
    records: [2, 4, 8].map((median) => ({ bench: 'mpi-pingpong', runtime: 'openmpi', subject: 'nigh', verified: true, ratio_to_unbound: { median, low: 1, high: 9 } })),
  };
  const gains = gainsOf(page(bench, compare('/home/me/slow a', 1.2, 1.1, 1.3), compare('mpirun -n 2 /opt/x/fast', 0.5, 0.4, 0.6)));
  expect(gains.map((one) => one.name)).toEqual(['mpirun -n 2 fast', 'slow a', 'mpi-pingpong, openmpi']);
  expect(gains[2]).toMatchObject({ ratio: 0.25, low: 0.125, high: 0.5, spread: 'range of 3 cases' });
});

test('one sentence says what was gained, and what was lost', () => {
  expect(sentenceOf([])).toBe('No program was compared yet.');
  expect(sentenceOf(gainsOf(page(compare('app', 0.65, 0.6, 0.7))))).toBe('app takes 35 % less time with nigh.');
  expect(sentenceOf(gainsOf(page(compare('app', 1.005, 0.9, 1.1))))).toBe('app: no difference was found.');
  const three = gainsOf(page(compare('a', 0.65, 0.6, 0.7), compare('b', 1, 0.9, 1.1), compare('c', 1.05, 1.01, 1.1)));
  expect(sentenceOf(three)).toBe('1 of 3 programs is faster with nigh (the most: a, 35 % less time), 1 shows no difference, 1 is slower (the most: c, 5 % more time).');
});

test('the command is the name, once', () => {
  const one = compare('app', 0.5, 0.4, 0.6) as { subjects: { command: string | string[] }[] };
  one.subjects[1]!.command = '/usr/bin/nigh run -- app';
  expect(gainsOf(page(one)).map((gain) => gain.name)).toEqual(['app']);
  one.subjects[1]!.command = ['other', 'app'];
  expect(gainsOf(page(one)).map((gain) => gain.name)).toEqual(['other app against app']);
});

test('wrong results are no gains', () => {
  const record = { bench: 'b', runtime: 'r', subject: 'nigh', verified: false, ratio_to_unbound: { median: 9, low: 9, high: 9 } };
  expect(gainsOf(page({ format: 'nigh-bench', machine: {}, absent: [], records: [record] }))).toEqual([]);
});

test('records of real programs are programs', () => {
  const subject = (median: number) => ({ wall_ratio: [median, median - 0.02, median + 0.02], cpu_ratio: [0.9, 0.8, 1], pss_ratio: 1.25 });
  const record = (program: string, ranks: number, ratio: number) => ({ program, library: 'mpich', ranks, rounds: 9, subjects: { alone: subject(1), nigh: subject(ratio) } });
  const gains = gainsOf(page({ format: 'nigh-programs', records: [record('torch', 0, 1.01), record('lammps', 4, 0.9), { ...record('x', 2, 1), subjects: { alone: subject(1) } }] }));
  expect(gains.map((one) => [one.name, one.verdict, one.samples, one.memory?.median])).toEqual([
    ['lammps, mpich, 4 ranks', 'faster', '9 rounds', 1.25], ['torch', 'no difference', '9 rounds', 1.25],
  ]);
});
