// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it, test } from 'vitest';
import { firstOf, viewsOf } from './app';
import { type Curves, groupsOf, sizeIn, spread, summaryOf } from './benchmarks';
import { rowsOf } from './coverage';
import { type Account, type Bench, type BenchRecord, type Machine, numbersOf, type Page, type Plan, type Processes, programsOf, type RankTimes, type Traffic } from './documents';
import { csv } from './figure';
import { gainsOf } from './gains';
import { matrixOf, matrixSentence, strengthOf } from './libraries';
import { type Box, layout, linkSources, marksOfPlan, memoryOf, memoryWords, planAgainst, pusOf } from './machine';
import { binary, bytes, change, median, short } from './numbers';
import { busyOf, duration, summaryOf as summaryTimes } from './rank_times';
import { bordersOf, cellsOf, functionsOf, heaviest, hostsOf, placesOf, ranges, ranksOf, strengths, sumsOf } from './traffic';

test('numbers are short', () => {
  expect([0, 0.01234, 1.234, 123.4, 12340].map(short)).toEqual(['0', '0.0123', '1.23', '123', '12340']);
  expect(short(-1.5)).toBe('−1.50');
  expect(short(NaN)).toBe('–');
  expect(bytes(999_499)).toBe('999 kB');
  expect(bytes(999_600)).toBe('1.00 MB');
  expect(binary(65536)).toBe('64 KiB');
  expect(change(0.65)).toBe('35 % less');
  expect(change(1.004)).toBe('the same');
  expect(median([3, 1, 2, 10])).toBe(2.5);
  expect(numbersOf('0-2,8')).toEqual([0, 1, 2, 8]);
  expect(numbersOf('')).toEqual([]);
});

test('tables become CSV', () => {
  expect(csv({ columns: ['a', 'b'], rows: [['x, "y"', 1], ['−1', 2]] })).toBe('a,b\n"x, ""y""",1\n-1,2\n');
});

test('sizes end the names of results', () => {
  expect(sizeIn('64 KiB')).toEqual(['', 65536]);
  expect(sizeIn('copy 2 MiB')).toEqual(['copy', 2 * 1024 ** 2]);
  expect(sizeIn('8 bytes')).toEqual(['', 8]);
  expect(sizeIn('alltoall 4 KiB cached')).toEqual(['alltoall cached', 4096]);
  expect(sizeIn('triad')).toBeNull();
});

const record = (bench: string, result: string, subject: string, more: Partial<BenchRecord> = {}): BenchRecord => ({
  bench, case: '', subject, size_bytes: 0, unit: 'us', median: 2, low: 1, high: 3, samples: 5, core_state: 'near', placement: [], verified: true,
  runtime: 'openmpi', teams: '2', result, ...more,
});
const bench = (...records: BenchRecord[]): Bench => ({ format: 'nigh-bench', machine: {}, records, absent: [] });

test('a curve says from what size on nigh is faster', () => {
  const curves = (nigh: number[], library: number[], unit = 'us'): Curves => ({ kind: 'curves', title: '', unit, series: [['nigh', nigh], ['library', library]].map(([subject, values]) => ({
    subject: subject as string, state: 'near', form: 'measured' as const, points: (values as number[]).map((median, i) => ({ x: 1024 * 4 ** i, record: { median, low: median, high: median } as BenchRecord })) })) });
  expect(summaryOf(curves([1, 2, 3], [2, 4, 6]))).toBe('nigh is faster than library at every size, 2.0 times as fast at 16 KiB.');
  expect(summaryOf(curves([2, 1, 1], [1, 2, 3]))).toBe('nigh is faster than library from 4 KiB on, 3.0 times as fast at 16 KiB; below, slower at 1 of 1.');
  expect(summaryOf(curves([1, 2, 2], [1, 4, 4], 'MB/s'))).toBe('nigh is slower than library at 2 of 3 sizes.');
  expect(summaryOf(curves([1, 1, 1], [1, 1, 1.01]))).toBe('nigh is as fast as library, or faster.');
  expect(summaryOf({ ...curves([1], [1]), series: [] })).toBe('');
});

test('the same benchmark of two machines stands side by side', () => {
  const file = (name: string, median: number): Bench & { file: string } => ({ file: `${name}.json`, format: 'nigh-bench', machine: {}, absent: [], records: ['1 KiB', '2 KiB', '4 KiB'].map((size): BenchRecord => ({
    bench: 'b', case: size, subject: 'nigh', size_bytes: 0, unit: 'us', median, low: 1, high: 9, samples: 3, core_state: 'near', placement: [], verified: true, runtime: '', teams: '', result: size, ratio_to_unbound: { median } })) });
  const [group] = groupsOf([file('here', 2), file('there', 4)]);
  const curves = group!.pictures[0] as Curves;
  expect(curves.series.map((one) => [one.subject, one.points.map((point) => point.record.median)])).toEqual([['nigh (here)', [2, 2, 2]], ['nigh (there)', [4, 4, 4]]]);
  expect(groupsOf([file('here', 2)])[0]!.pictures[0]).toMatchObject({ series: [{ subject: 'nigh' }] });
  const page = { format: 'nigh-page' as const, version: 1, nigh: '', date: '', documents: [file('here', 2), file('there', 4)] };
  expect(gainsOf(page).map((one) => [one.name, one.ratio])).toEqual([['b (there)', 0.25], ['b (here)', 0.5]]);
});

test('libraries stand below each other, operation by operation', () => {
  const of = (runtime: string, result: string, median: number, more: Partial<BenchRecord> = {}) => record('mpi-pingpong', result, 'nigh', { runtime, ratio_to_unbound: { median }, ...more });
  const one = [of('openmpi-4.1.4', '64 KiB', 2), of('openmpi-4.1.4', '8 B', 1.01), of('openmpi-4.1.4', '8 B cached', 0.5)];
  expect(matrixOf([bench(...one)])).toBeNull();
  const matrix = matrixOf([bench(...one, of('mpich-5.0.2', '8 B', 3), of('mpich-5.0.2', 'Barrier', 4, { bench: 'mpi-collectives' }), of('mpich-5.0.2', '64 KiB', 9, { verified: false }),
    record('mpi-put', '8 B', 'nigh', { runtime: 'mpich-5.0.2', ratio_to_unbound: { median: 9 } }), record('mpi-pingpong', '8 B', 'library', { runtime: 'mpich-5.0.2', ratio_to_unbound: { median: 1 } }), of('libgomp', 'region', 2, { bench: 'nested-overhead' }))])!;
  expect(matrix.libraries).toEqual(['openmpi-4.1.4', 'mpich-5.0.2']);
  expect(matrix.sizes).toEqual([0, 8, 65536]);
  expect(matrix.blocks.map((block) => [block.operation, ...block.rows.map((row) => [row.library, ...[...row.cells].map(([size, it]) => [size, it.ratio_to_unbound!.median])])])).toEqual([
    ['pingpong', ['openmpi-4.1.4', [65536, 2], [8, 1.01]], ['mpich-5.0.2', [8, 3]]],
    ['pingpong cached', ['openmpi-4.1.4', [8, 0.5]]],
    ['Barrier', ['mpich-5.0.2', [0, 4]]],
  ]);
  expect(matrixSentence(matrix)).toBe('2 libraries, 5 cases: nigh is faster than the library alone in 3, as fast (within 3 %) in 1, slower in 1.');
  const before = { ...bench(...one), file: 'before.json' };
  expect(matrixOf([bench(...one), before])!.libraries).toEqual(['openmpi-4.1.4 (file 1)', 'openmpi-4.1.4 (before)']);
  expect(matrixOf([bench(...one, of('openmpi', '8 B', 2, { bench: 'mpi-nodes' }))])).toBeNull();
  expect([1, 1.02, 4, 100, 0.25].map(strengthOf)).toEqual([0, 0, 1, 1, 1]);
  expect(strengthOf(2)).toBeCloseTo(strengthOf(0.5));
});

test('a page of several programs says so', () => {
  const page = { documents: [{ format: 'nigh-rank-times', program: 'lmp' }, { format: 'nigh-mpi-account', program: 'lmp' }, { format: 'nigh-mpi-account' }, { format: 'nigh-trace', name: 'stencil.json' }] } as Page;
  expect(programsOf(page)).toEqual([{ name: 'lmp', views: ['Messages', 'Over time', 'Coverage'] }, { name: 'stencil.json', views: ['Over time'] }]);
});

test('three sizes are a curve, fewer are cases', () => {
  const three = groupsOf([bench(...['1 KiB', '64 B', '2 MiB'].flatMap((size) => [record('mpi-pingpong', size, 'nigh'), record('mpi-pingpong', size, 'library')]))]);
  expect(three[0]!.pictures).toHaveLength(1);
  const curves = three[0]!.pictures[0] as Curves;
  expect(curves.kind).toBe('curves');
  expect(curves.title).toBe('2 ranks, openmpi');
  expect(curves.series.map((one) => [one.subject, one.points.map((point) => point.x)])).toEqual([['nigh', [64, 1024, 2 * 1024 ** 2]], ['library', [64, 1024, 2 * 1024 ** 2]]]);
  const two = groupsOf([bench(record('mpi-pingpong', '64 B', 'nigh'), record('mpi-pingpong', '1 KiB', 'nigh'))]);
  expect(two[0]!.pictures.map((one) => one.kind)).toEqual(['strip', 'strip']);
});

test('near and far, measured and modelled are series of their own', () => {
  const sizes = ['1 KiB', '2 KiB', '4 KiB'];
  const far = sizes.map((one) => record('mpi-rate', one, 'nigh', { core_state: 'far' }));
  const near = sizes.map((one) => record('mpi-rate', one, 'nigh'));
  const predicted = sizes.map((one) => record('mpi-rate', one, 'predicted'));
  const curves = groupsOf([bench(...far, ...near, ...predicted)])[0]!.pictures[0] as Curves;
  expect(curves.series.map((one) => [one.state, one.form])).toEqual([['far', 'measured'], ['near', 'measured'], ['near', 'modelled']]);
});

test('wrong results are named', () => {
  expect(groupsOf([bench(record('a', 'x', 'nigh', { verified: false }))])[0]!.wrong).toHaveLength(1);
});

test('labels keep apart and inside', () => {
  const places = spread([100, 101, 99, 300], 14, 0, 300);
  const sorted = [...places].sort((a, b) => a - b);
  for (let i = 1; i < sorted.length; ++i) expect(sorted[i]! - sorted[i - 1]!).toBeGreaterThanOrEqual(13.9);
  expect(Math.max(...places)).toBeLessThanOrEqual(300);
});

test('what was left to the library is told by its reasons', () => {
  const account: Account = {
    format: 'nigh-mpi-account', host: 'h', library: 'l', verdict: 'v', ranks: 2, sharing: 2,
    functions: { MPI_Send: { bytes: 10, ours: 1 }, MPI_Isend: { bytes: 0, ours: 0, unshared: 8, small: 3, left_bytes: { unshared: 900, small: 5 } } },
  };
  const rows = rowsOf(account);
  expect(rows.map((one) => one.name)).toEqual(['MPI_Isend', 'MPI_Send']);
  expect(rows[0]).toMatchObject({ ours: 0, left: 905, calls: { ours: 0, left: 11 }, reasons: [{ name: 'unshared', calls: 8, bytes: 900 }, { name: 'small', calls: 3, bytes: 5 }] });
});

const machine: Machine = {
  format: 'nigh-machine', name: 'm',
  tree: {
    type: 'machine',
    children: [0, 1].map((package_) => ({
      type: 'package', os_index: package_,
      children: [{ type: 'numa', os_index: package_, bytes: 2 ** 33, children: [0, 1].map((core) => ({ type: 'core', os_index: core, children: [{ type: 'pu', os_index: 2 * package_ + core }] })) }],
    })),
  },
  devices: [{ type: 'gpu', bus: '0000:01:00.0', pus: '2-3' }, { type: 'nic', bus: '0000:02:00.0', names: ['ib0'], pus: '0-3' }],
};

function boxes(box: Box, x = 0, y = 0): (Box & { left: number; top: number })[] {
  return [{ ...box, left: x + box.x, top: y + box.y }, ...box.inside.flatMap((one) => boxes(one, x + box.x, y + box.y))];
}

test('boxes hold what is inside them, and overlap nothing else', () => {
  for (const width of [300, 1200]) {
    const { root, pus } = layout(machine, width);
    expect(pus).toEqual([0, 1, 2, 3]);
    const check = (box: Box) => {
      box.inside.forEach((one, i) => {
        expect(one.x + one.width).toBeLessThanOrEqual(box.width + 0.01);
        expect(one.y + one.height).toBeLessThanOrEqual(box.height + 0.01);
        for (const other of box.inside.slice(i + 1))
          expect(one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y).toBe(true);
        check(one);
      });
    };
    check(root);
    expect(root.width).toBeLessThanOrEqual(width);
  }
});

test('a device lies in the innermost object that has all its PUs', () => {
  const { root } = layout(machine, 1200);
  const parent = (label: string) => boxes(root).find((one) => one.inside.some((inside) => inside.label === label))!.label;
  expect(parent('GPU 0')).toBe('NUMA node 1 8 GiB');
  expect(parent('ib0')).toBe('Machine');
  expect(pusOf(machine.tree)).toHaveLength(4);
});

test('threads mark their PUs', () => {
  const thread = (path: number[], pu: number) => ({ path, pu, core: 0, numa_node: 0, reason: 'r' });
  const plan: Plan = { format: 'nigh-plan', machine: 'm', spec: '', mask: '', threads: [thread([0, 0], 0), thread([1, 0], 2), thread([1, 1], 2)] };
  const marks = marksOfPlan(plan);
  expect(marks.get(0)).toMatchObject({ text: '0.0', team: 0, more: 0 });
  expect(marks.get(2)).toMatchObject({ text: '1.0', team: 1, more: 1 });
});

const traffic: Traffic = {
  format: 'nigh-traffic', name: '', ranks: 4, width: 1, hosts: ['a', 'a', 'b', 'b'], communicators: [{ name: 'x', size: 4 }, { name: 'y', size: 2 }],
  ways: ['point_to_point', 'collective'], entries: [[0, 1, 0, 0, 100, 2], [0, 3, 0, 1, 50, 1], [2, 3, 1, 0, 7, 1]], missing: [],
};

test('the matrix is that of what was chosen', () => {
  const every = { way: -1, communicator: -1, function: -1, carrier: 'both' } as const;
  const all = cellsOf(traffic, every);
  expect(sumsOf(traffic, all)).toEqual({ all: 157, betweenHosts: 50, betweenPackages: 0, packages: 0, hosts: 2, messages: 4 });
  expect(bordersOf(traffic, all)).toEqual([{ row: 2, host: true }]);
  const bound: Traffic = { ...traffic, packages: [0, 8, 0, 0] };
  expect(sumsOf(bound, all)).toMatchObject({ betweenPackages: 100, packages: 2 });
  expect(bordersOf(bound, all)).toEqual([{ row: 1, host: false }, { row: 2, host: true }]);
  expect(sumsOf({ ...traffic, packages: [0, -1, 0, 0] }, all)).toMatchObject({ betweenPackages: 0, packages: 0 });
  expect(heaviest(all, 2).map((one) => [one.from, one.to, one.bytes])).toEqual([[0, 1, 100], [0, 3, 50]]);
  expect(sumsOf(traffic, cellsOf(traffic, { ...every, way: 0 })).all).toBe(107);
  expect(sumsOf(traffic, cellsOf(traffic, { ...every, communicator: 1 })).all).toBe(7);
  expect(ranksOf({ width: 64 }, 1, 100)).toBe('64 to 99');
  expect(functionsOf(traffic)).toEqual([]);
  const told: Traffic = { ...traffic, functions: ['MPI_Isend', 'MPI_Send'], entries: [[0, 1, 0, 0, 100, 2, 1, 60, 1], [0, 1, 0, 0, 10, 1, 0, 10, 1], [2, 3, 1, 0, 7, 1, 1, 0, 0]] };
  expect(functionsOf(told).map((one) => [one.name, one.bytes, one.messages, one.carried])).toEqual([['MPI_Send', 107, 3, 60], ['MPI_Isend', 10, 1, 10]]);
  expect(sumsOf(told, cellsOf(told, { ...every, function: 1 })).all).toBe(107);
  expect(sumsOf(told, cellsOf(told, { ...every, carrier: 'nigh' })).all).toBe(70);
  expect(heaviest(cellsOf(told, { ...every, carrier: 'library' }), 2).map((one) => [one.from, one.bytes, one.messages])).toEqual([[0, 40, 1], [2, 7, 1]]);
});

test('the memory of processes stands in the boxes of their nodes', () => {
  const core = { type: 'core', children: [{ type: 'pu', count: 2 }] };
  const machine = { format: 'nigh-machine', name: 'm', tree: { type: 'machine', children: [0, 1].map((node) => ({ type: 'numa', os_index: node, bytes: 2 ** 30, children: [core] })) } } as unknown as Machine;
  const process = (pid: number, mib: number[]) => ({ pid, command: `app ${pid}`, pus: '0', threads: [], memory: { resident_mib: mib[0]! + mib[1]!, huge_mib: pid, nodes: mib.map((one, node) => ({ node, mib: one })) } });
  const seen: Processes = { format: 'nigh-ps', processes: [process(2, [100, 0]), process(4, [100, 50]), { pid: 9, command: 'x', pus: '', threads: [] }] };
  const [first, second] = layout(machine, 800, memoryOf(seen)).root.inside;
  expect(first!.shares!.map((one) => one.team)).toEqual([0, 1]);
  expect(first!.shares![0]!.width).toBeCloseTo((first!.width - 12) / 2);
  expect(second!.shares!.map((one) => [one.team, one.title])).toEqual([[1, 'app 4: 50 MiB on node 1']]);
  expect(second!.shares![0]!.width).toBeCloseTo((second!.width - 12) / 4);
  expect(second!.height).toBeGreaterThan(layout(machine, 800).root.inside[1]!.height);
  expect(memoryWords(seen, machine)).toMatch(/together 250 MiB, 6 MiB of it in huge pages\.$/);
  // Two nodes of a PU each: two of three threads on node 0, where a third of the memory is.
  const two = { ...machine, tree: { type: 'machine', children: [0, 1].map((node) => ({ type: 'numa', os_index: node, children: [{ type: 'pu', os_index: node }] })) } } as Machine;
  const one = { ...process(2, [100, 200]), threads: [0, 0, 1].map((cpu, tid) => ({ tid, name: 't', pus: '', cpu })) };
  expect(memoryWords({ format: 'nigh-ps', processes: [one] }, two)).toMatch(/ If all threads use all memory of their process alike, 44 % of what they use is on their own node\.$/);
  expect(memoryWords({ format: 'nigh-ps', processes: [] }, { format: 'nigh-machine', name: 'm', tree: { type: 'machine' } })).toBe('');
});

test('little is still seen beside much', () => {
  const [nothing, little, much] = strengths(Float64Array.from([0, 1, 1e9]));
  expect(nothing).toBe(0);
  expect(little).toBeGreaterThan(0.1);
  expect(much).toBe(1);
  expect(strengths(Float64Array.from([5, 0]))[0]).toBe(1);
  expect([...strengths(Float64Array.from([1, 0, 1]))]).toEqual([1, 0, 1]); // a message each
});

describe('times of ranks', () => {
  const row = (rank: number, seconds: number) => ({ first: rank, last: rank, host: 'a', mpi_seconds: seconds, user_seconds: 1, system_seconds: 0, minor_faults: 1, major_faults: 0, peak_mib: 1 });
  const times = (...seconds: number[]): RankTimes => ({
    format: 'nigh-rank-times', name: 'r', program: 'lmp', ranks: seconds.length, told: seconds.length, width: 1, seconds: 10, in_mpi: [],
    functions: [{ name: 'MPI_Wait', calls: 3, seconds: seconds.reduce((a, b) => a + b, 0), longest_seconds: 1, longest_rank: 0 }], rows: seconds.map((one, i) => row(i, one)),
  });
  it('names who waits', () => {
    expect(summaryTimes(times(1, 6))).toBe('lmp: 2 ranks for 10 s, 35 % of it in MPI, the most in MPI_Wait (35 %); the least on rank 0 (10 %), for which others may wait, the most on rank 1 (60 %).');
    expect(summaryTimes(times(2, 2.2))).toBe('lmp: 2 ranks for 10 s, 21 % of it in MPI, the most in MPI_Wait (21 %); about the same on every rank.');
    expect(summaryTimes({ ...times(2, 2.2), in_mpi: [[3, 0, 0, 0], [0, 1, 0, 0]] })).toMatch(/ No rank is in MPI after 5 s\.$/);
    expect(summaryTimes({ ...times(), functions: [] })).toBe('lmp: 0 ranks for 10 s, 0 % of it in MPI.');
  });
  it('says from when on a rank is late, and whether it works then', () => {
    const late = { ...times(1, 6, 5), in_mpi: [[20, 20, 20, 20, 0, 0, 0, 0], [20, 20, 20, 20, 90, 90, 90, 90], [20, 20, 20, 20, 70, 70, 70, 70]] };
    const cpu = (busy: number) => ({ ...late, cpu: [[100, 100, 100, 100, busy, busy, busy, busy], Array(8).fill(100), Array(8).fill(100)] });
    expect(summaryTimes(late)).toMatch(/From 5 s on, rank 0 is in MPI for 0 % of the time, others for 80 %: they wait for it\.$/);
    expect(summaryTimes(cpu(50))).toMatch(/wait for it, while it keeps 0.5 PUs busy: it waits for something else than MPI, or shares its PU\.$/);
    expect(summaryTimes(cpu(100))).toMatch(/wait for it, and works: it has more to do, or runs more slowly\.$/);
    expect(busyOf(late)).toBeNull();
    expect(busyOf(cpu(50))).toEqual({ 'mean of all': [1, 1, 1, 1, 250 / 3 / 100, 250 / 3 / 100, 250 / 3 / 100, 250 / 3 / 100], 'the least: rank 0': [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5], 'the most: rank 1': Array(8).fill(1) });
  });
  it('names all that are late, and looks no further than the last call', () => {
    const some = { ...times(1, 1.2, 6, 6, 5), in_mpi: [0, 5, 90, 90, 80].map((part) => [...Array(8).fill(part), ...Array(8).fill(0)]), cpu: [30, 50, 100, 100, 100].map((busy) => [...Array(8).fill(busy), ...Array(8).fill(100)]) };
    expect(summaryTimes(some)).toMatch(/From 0 s on, rank 0 and rank 1 are in MPI for 3 % of the time until that ends, others for 87 %: these wait for them, while they keep 0\.4 PUs busy each: they wait for something else than MPI, or share their PUs\. No rank is in MPI after 5 s\.$/);
  });
  it('has units that are read', () => {
    expect([duration(0), duration(2e-6), duration(0.0123), duration(75)]).toEqual(['0 s', '2 µs', '12.3 ms', '75 s']);
  });
});

test('ranks stand by host and package', () => {
  const ran: Traffic = { ...traffic, hosts: ['a', 'a', 'b', 'a'], packages: [0, 1, 0, 0] };
  expect(placesOf(ran)).toEqual([{ host: 'a', package: 0, ranks: [0, 3] }, { host: 'a', package: 1, ranks: [1] }, { host: 'b', package: 0, ranks: [2] }]);
  expect(hostsOf(traffic, { width: 1, side: 4 })).toEqual([{ host: 'a', row: 0, rows: 2 }, { host: 'b', row: 2, rows: 2 }]);
  expect(hostsOf(ran, { width: 1, side: 4 })).toEqual([]); // a is in two places
  expect([ranges([]), ranges([3]), ranges([0, 1, 2, 5, 7, 8])]).toEqual(['', '3', '0 to 2, 5, 7 to 8']);
});

test('a page begins with what was put into it', () => {
  const machine: Machine = { format: 'nigh-machine', name: 'm', tree: { type: 'machine' } };
  const begin = (...documents: Page['documents']) => {
    const page = { format: 'nigh-page', nigh: '0', date: '', documents } as unknown as Page;
    return firstOf(viewsOf(page), page).id;
  };
  expect(begin(machine)).toBe('gains');
  expect(begin(machine, traffic)).toBe('messages');
  expect(begin(machine, { format: 'nigh-trace', name: 't', ms: 1, pes: 1, width: 1, busy: [[1]], mean: [1], held: [], methods: [], memory: [] })).toBe('time');
});

test('a plan beside what was seen', () => {
  const thread = (pu: number) => ({ path: [pu], pu, core: pu, numa_node: 0, reason: 'r' });
  const plan: Plan = { format: 'nigh-plan', machine: 'm', spec: '3', mask: '', threads: [thread(0), thread(1), thread(2)] };
  const seen = (...cpus: number[]) => planAgainst(plan, { format: 'nigh-ps', processes: [{ pid: 1, command: '/x/app', pus: '', threads: cpus.map((cpu) => ({ tid: cpu, name: 't', pus: '', cpu })) }] });
  const { marks, words } = seen(0, 2, 7);
  expect([...marks].map(([pu, mark]) => [pu, mark.team, mark.missing ?? false])).toEqual([[0, 0, false], [1, 0, true], [2, 0, false], [7, 1, false]]);
  expect(words).toBe('on 2 of the 3 PUs of the plan were threads when nigh ps looked (filled; dashed: nobody was there), and on 1 that are not of the plan (the other colour)');
  expect(seen(0, 1, 2).words).toMatch(/^on 3 of the 3 .* and nowhere else$/);
});

test('a machine tells where the figures of its links come from', () => {
  const machine: Machine = {
    format: 'nigh-machine', name: 'two nodes', tree: { type: 'machine' },
    links: { bandwidth: { unit: 'MB/s', values: [[9, 5], [5, null]], source: [['hmat', 'slit'], ['slit', null]] }, latency: { unit: 'ns', values: [[90]], source: 'measured' } },
  };
  expect(linkSources(machine)).toEqual(["bandwidth of links: firmware's table (HMAT), firmware's distances (SLIT)", 'latency of links: measured']);
  expect(linkSources({ ...machine, links: { slit: [[10]] } })).toEqual([]);
});
