// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from 'vitest';
import { emptyLive, nameOf, type RunState, take, thin, together, type WatchEvent, type WatchState } from './live';
import { marksOfRun } from './run_view';
import { decisionsOf, placesOf, sentenceOf } from './watch';

const run = (elapsed: number, cores: number | null, cpu: number, busy = 1): RunState => ({
  format: 'nigh-run-state', command: 'app', elapsed, cores, megabytes: 10 * elapsed, threads: 2,
  processes: [{ pid: 7, command: 'app', megabytes: 10, threads: [{ tid: 7, name: 'app', pus: '0-3', cpu, busy }, { tid: 8, name: 'idle', pus: '0-3', cpu: 1, busy: 0 }] }],
});

describe('what a run tells', () => {
  it('becomes series, and threads that were seen elsewhere are counted', () => {
    const live = emptyLive({ of: 'run', title: 'app' });
    take(live, run(1, null, 0));
    take(live, run(2, 1.5, 2));
    take(live, run(2, 1.5, 3)); // the same look once more
    take(live, run(3, 1, 3));
    expect(live.time).toEqual([1, 2, 3]);
    expect(live.series['busy PUs']).toEqual([null, 1.5, 1]);
    expect(live.series['resident MB']).toEqual([10, 20, 30]);
    expect(live.moved).toEqual({ '7.7': 1 });
    expect([...marksOfRun(run(3, 1, 3)).keys()]).toEqual([3]);
    expect(marksOfRun(run(3, 1, 3, 0.01)).size).toBe(0);
  });

  it('stays small, and keeps its extremes', () => {
    const live = emptyLive({ of: 'run', title: 'app' });
    for (let i = 0; i < 5000; ++i) take(live, run(i + 1, i === 777 ? 99 : 1, 0));
    thin(live, 1000);
    expect(live.time.length).toBeLessThan(3800);
    expect(live.series['busy PUs']!.length).toBe(live.time.length);
    expect(Math.max(...live.series['busy PUs']!.map(Number))).toBe(99);
    expect(live.time).toEqual([...live.time].sort((a, b) => a - b));
    expect(live.time[live.time.length - 1]).toBe(5000);
  });
});

describe('runs that were kept', () => {
  it('stand on one axis', () => {
    expect(together([{ name: 'a', time: [1, 3], values: [10, 30] }, { name: 'a', time: [2, 3], values: [null, 5] }])).toEqual({
      time: [1, 2, 3], series: { a: [10, null, 30], 'a (2)': [null, null, 5] },
    });
    expect([nameOf({ title: 'app', file: 'first.html' }), nameOf({ title: 'app' })]).toEqual(['first', 'app']);
  });
});

const event = (elapsed: number, kind: string, more: Partial<WatchEvent> = {}): WatchEvent => ({ elapsed, kind, sentence: kind, ...more });
const moves = [{ application: 'a', nodes: [{ from: 0, to: 1 }], megabytes: 5, seconds_before: 4, seconds_after: 2 }, { application: 'b', nodes: [], megabytes: 0, seconds_before: 1, seconds_after: 2 }];

describe('what watch decided', () => {
  it('goes with what came of it', () => {
    const all = decisionsOf([
      event(1, 'start'), event(5, 'decision', { moves }), event(6, 'moved'), event(9, 'verified', { predicted: 0.5, measured: 0.4 }), event(20, 'advice', { moves: [] }),
      event(30, 'decision', { moves }), event(33, 'rollback', { predicted: 0.2, measured: -0.1 }), event(40, 'decision', { moves }), event(41, 'failed'), event(60, 'decision', { moves }),
    ]);
    expect(all.map((one) => one.outcome)).toEqual(['kept', 'taken back', 'failed', 'not known yet']);
    expect(all[0]).toMatchObject({ at: 5, predicted: 0.5, measured: 0.4 });
    expect(all[1]).toMatchObject({ measured: -0.1 });
    expect(all[3]!.predicted).toBeCloseTo(0, 9); // twice as fast and half as fast
    expect(sentenceOf(all, null)).toBe('4 decisions, 1 kept, 1 taken back. The last one that was kept: +40 % speed by where accesses go now, +50 % predicted.');
  });

  it('may be nothing', () => {
    expect(sentenceOf(decisionsOf([event(1, 'start')]), null)).toBe('It has moved nothing: nothing was seen that would pay.');
    expect(sentenceOf(decisionsOf([event(5, 'advice', { moves, sentence: 'a to node 1' })]), null)).toBe('It moved nothing, and advises to: a to node 1.');
  });

  it('knows places by the nodes of the state', () => {
    const state = { nodes: [{ node: 0 }, { node: 4 }] } as unknown as WatchState;
    const application = { name: 'a', threads: '4:8', megabytes: 1, local: 0.25, weight: 0, traffic: [[0, 0], [0.75, 0.25]] };
    expect(placesOf(state, application)).toEqual([{ node: 0, threads: 0, share: 0.75 }, { node: 4, threads: 8, share: 0.25 }]);
  });
});
