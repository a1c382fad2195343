// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A program that runs, or ran while the page was open: `nigh run --web`, `nigh watch --web`. The feed reports it
// (docs/interfaces.md): hello, document, log, state, end.
import type { Document, LiveStart, Page } from './documents';

export interface RunState {
  format: 'nigh-run-state';
  command: string;
  elapsed: number; // s
  cores: number | null; // busy; not known at the first look
  megabytes: number;
  threads: number;
  processes: { pid: number; command: string; megabytes: number; threads: { tid: number; name: string; pus: string; cpu: number; busy: number }[] }[];
}

export interface WatchState {
  format: 'nigh-watch';
  machine: string;
  simulated: boolean;
  elapsed: number; // s
  policy: string;
  mode: string;
  state: string;
  meter: { name: string; level: string; confidence: number };
  own_cost: number; // cores
  moves: number;
  rollbacks: number;
  nodes: { node: number; threads: number; megabytes: number; local: number; mb_per_s_to_others: number }[];
  links: { from: number; to: number; load: number; assumed: boolean }[];
  applications: { name: string; threads: string; megabytes: number; local: number; weight: number; traffic: number[][] }[];
  said: string[];
  events?: WatchEvent[];
}

export interface WatchEvent {
  time?: string;
  elapsed: number; // s
  kind: string;
  sentence: string;
  predicted?: number;
  measured?: number;
  moves?: { application: string; nodes: { from: number; to: number }[]; megabytes: number; seconds_before: number; seconds_after: number }[];
}

// Series have a value for each time; null: not known.
export interface Live extends LiveStart {
  format: 'nigh-live';
  state: RunState | WatchState | null;
  events: WatchEvent[];
  time: number[];
  series: Record<string, (number | null)[]>;
  moved: Record<string, number>; // how often a thread was seen on another PU than before: by process and thread
  since?: number; // when the feed began
  ended?: { status: number | null; elapsed?: number };
}

export const emptyLive = (start: LiveStart): Live => ({ ...start, format: 'nigh-live', state: null, events: [], time: [], series: {}, moved: {} });

const most_times = 8000;
const most_events = 5000;
const most_applications = 7; // with lines of their own

// Too many times are thinned: every second one in the older half goes, of two neighbours the one whose values lie between the
// others', so that extremes stay.
export function thin(live: Live, most = most_times) {
  if (live.time.length <= most) return;
  const half = live.time.length >> 1;
  const keep: number[] = [];
  const first = Object.values(live.series)[0] ?? [];
  for (let i = 0; i + 1 < half; i += 2) {
    const [before, a, b] = [first[i - 1] ?? first[i] ?? 0, first[i] ?? 0, first[i + 1] ?? 0];
    keep.push(Math.abs(a - before) > Math.abs(b - before) ? i : i + 1);
  }
  for (let i = half - (half % 2); i < live.time.length; ++i) keep.push(i);
  live.time = keep.map((i) => live.time[i]!);
  for (const [name, values] of Object.entries(live.series)) live.series[name] = keep.map((i) => values[i] ?? null);
}

function push(live: Live, time: number, values: Record<string, number | null>) {
  for (const name of Object.keys(values)) live.series[name] ??= live.time.map(() => null);
  live.time.push(time);
  for (const [name, list] of Object.entries(live.series)) list.push(values[name] ?? null);
  thin(live);
}

export function take(live: Live, state: RunState | WatchState) {
  const before = live.state;
  live.state = state;
  if (before && before.elapsed >= state.elapsed) return; // the same once more
  if (state.format === 'nigh-run-state') {
    push(live, state.elapsed, { 'busy PUs': state.cores, 'resident MB': state.megabytes });
    if (before?.format !== 'nigh-run-state') return;
    const cpus = new Map(before.processes.flatMap((process) => process.threads.map((thread): [string, number] => [`${process.pid}.${thread.tid}`, thread.cpu])));
    for (const process of state.processes)
      for (const thread of process.threads) {
        const key = `${process.pid}.${thread.tid}`;
        const was = cpus.get(key);
        if (was !== undefined && was !== thread.cpu) live.moved[key] = (live.moved[key] ?? 0) + 1;
      }
  } else {
    const threads = state.nodes.reduce((sum, one) => sum + one.threads, 0);
    const local = state.nodes.reduce((sum, one) => sum + one.local * one.threads, 0);
    const names = new Set(state.applications.map((one) => one.name));
    const shown = [...names].slice(0, most_applications).map((name): [string, number] => [name, 100 * Math.max(...state.applications.filter((one) => one.name === name).map((one) => one.local))]);
    push(live, state.elapsed, { 'all threads': threads > 0 ? (100 * local) / threads : null, ...Object.fromEntries(shown) });
  }
}

// By the file that it was kept as.
export const nameOf = (live: { title: string; file?: string }): string => live.file?.replace(/\.html?$/, '') ?? live.title;

// Curves with times of their own on one axis; a curve has null where only others have a value. Names that are alike get a number.
export function together(curves: { name: string; time: number[]; values: (number | null)[] }[]): { time: number[]; series: Record<string, (number | null)[]> } {
  const time = [...new Set(curves.flatMap((one) => one.time))].sort((a, b) => a - b);
  const series: Record<string, (number | null)[]> = {};
  for (const curve of curves) {
    let name = curve.name;
    for (let i = 2; name in series; ++i) name = `${curve.name} (${i})`;
    const at = new Map(curve.time.map((one, i) => [one, curve.values[i] ?? null]));
    series[name] = time.map((one) => at.get(one) ?? null);
  }
  return { time, series };
}

export type Connection = 'waiting' | 'open' | 'lost' | 'ended';

// Listens to the feed that this page came from until it says that this is the end. `changed` is called after each news.
export function listen(page: Page, live: Live, changed: (connection: Connection) => void): () => void {
  const token = new URLSearchParams(location.search).get('token') ?? '';
  const source = new EventSource(`events?all=1&token=${encodeURIComponent(token)}`);
  const fresh = new Set<Document>();
  const on = (name: string, take: (data: unknown) => void) =>
    source.addEventListener(name, (event) => {
      try {
        take(JSON.parse((event as MessageEvent<string>).data));
      } catch {
        return; // a message that is none costs only itself
      }
      changed(live.ended ? 'ended' : 'open');
    });
  on('hello', (data) => {
    const { since } = data as { since: number };
    // Earlier messages come again; of another feed nothing is known any more.
    live.events = [];
    page.documents = page.documents.filter((one) => !fresh.has(one));
    fresh.clear();
    if (live.since !== undefined && live.since !== since) Object.assign(live, { state: null, time: [], series: {}, moved: {} });
    live.since = since;
  });
  on('state', (data) => take(live, data as RunState | WatchState));
  on('log', (data) => {
    live.events.push(data as WatchEvent);
    if (live.events.length > most_events) live.events.shift();
  });
  on('document', (data) => {
    fresh.add(data as Document);
    page.documents = [...page.documents, data as Document];
  });
  on('end', (data) => {
    live.ended = data as { status: number | null; elapsed?: number };
    source.close();
  });
  source.onerror = () => !live.ended && changed('lost');
  return () => source.close();
}
