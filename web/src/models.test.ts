// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { expect, test } from 'vitest';
import { isModelled } from './benchmarks';
import type { Bench, BenchRecord, TransposeWay } from './documents';
import { axesOf, choiceOf, pairsOf, stepCurvesOf } from './models';

const bench = (records: Partial<BenchRecord>[], machine: Record<string, unknown> = {}): Bench => ({ format: 'nigh-bench', machine, absent: [], records: records.map((one) => ({ bench: 'b', case: 'c', subject: 's', size_bytes: 0, unit: 'ms', median: 1, low: 1, high: 1, samples: 1, core_state: 'n/a', placement: [], verified: true, runtime: '', teams: '', result: '', ...one })) });

test('predictions stand beside what was published', () => {
  const slide = (what: string, subject: string, median: number, unit: string) => ({ bench: 'slide5', case: `0-1 master 1 ${what}`, result: what, subject, median, unit });
  const pairs = pairsOf([bench([slide('time', 'nigh', 150, 's'), slide('time', 'published', 148, 's'), slide('latency', 'nigh', 7, 'cycles')], { computed: true })]);
  expect(pairs).toEqual([{ title: 'streamcluster on two nodes: time', unit: 's', pairs: [{ name: '0-1 master 1', predicted: 150, published: 148 }] }]);
  expect(pairsOf([bench([slide('time', 'nigh', 150, 's'), slide('time', 'published', 148, 's')])])).toEqual([]);
});

test('steps between hosts are curves over sizes, and over hosts where there are several', () => {
  const step = (hosts: number, bytes: number, subject: string, rate = '', teams = '1x2') => ({ bench: 'transpose-steps', case: `${hosts} hosts x 2 slots${rate}`, subject, size_bytes: bytes, runtime: 'three-steps', teams, result: 'total', median: bytes / hosts });
  const both = (hosts: number, bytes: number, rate = '') => [step(hosts, bytes, 'measured', rate), step(hosts, bytes, 'predicted', rate)];
  expect(stepCurvesOf([bench([...both(2, 8e6), ...both(2, 8e6, ' --rate 200mbit')])])).toEqual([]);
  const curves = stepCurvesOf([bench([...both(2, 8e6), ...both(10, 8e6), ...both(4, 8e6), ...both(2, 32e6), ...both(4, 32e6), step(2, 8e6, 'measured', '', '2x3')])]);
  expect(curves.map((one) => one.title)).toEqual(['2 hosts x 2 slots: three-steps, all steps', '4 hosts x 2 slots: three-steps, all steps', '2, 3, ... hosts x 2 slots: three-steps, 8 MB']);
  expect(curves[2]!.axis).toBe('hosts');
  expect(curves[2]!.series.map((one) => [one.form, one.points.map((point) => point.x)])).toEqual([['measured', [2, 4, 10]], ['modelled', [2, 4, 10]]]);
  expect(isModelled(bench([step(2, 1, 'measured')]))).toBe(true);
});

test('the fastest way of a transpose changes with nodes and sizes', () => {
  const at = (ranks: number, side: number, nodes: number, total: number): TransposeWay => ({ ranks, threads: 4 / ranks, method: 'three-steps', panels: 1, side, nodes, seconds: { local_reorder: 0, on_node: 0, between_nodes: total, local_transpose: 0, synchronisation: 0, overlapped: 0, total } });
  const grid = [at(1, 100, 2, 1), at(4, 100, 2, 2), at(1, 100, 8, 5), at(4, 100, 8, 3), at(1, 1000, 2, 9)];
  expect(axesOf(grid)).toEqual({ sides: [100, 1000], nodes: [2, 8] });
  expect(choiceOf(grid, 100, 2).ways.map((one) => one.ranks)).toEqual([1, 4]);
  expect(choiceOf(grid, 100, 8).ways.map((one) => one.ranks)).toEqual([4, 1]);
  expect(choiceOf(grid, 100, 8).overNodes.get('1 x 4, three-steps')).toEqual([[2, 1], [8, 5]]);
  expect(choiceOf(grid, 100, 2).overSides.get('1 x 4, three-steps')).toEqual([[100, 1], [1000, 9]]);
});
