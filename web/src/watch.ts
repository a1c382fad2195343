// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The decisions of nigh watch, and their effects, from its events and its state.
import { documentsOf, type Page } from './documents';
import { type Live, nameOf, type WatchEvent, type WatchState } from './live';

export interface Watched {
  title: string;
  state: WatchState | null;
  events: WatchEvent[];
  live?: Live & { file?: string };
}

export interface Decision {
  at: number; // s
  sentence: string;
  moves: NonNullable<WatchEvent['moves']>;
  predicted: number | null; // gain of speed by the link model: 0.1 is 10 %
  measured: number | null; // the same for where accesses go after it
  outcome: 'kept' | 'taken back' | 'failed' | 'not known yet' | 'advice';
}

export function watchedOf(page: Page): Watched[] {
  return [
    ...documentsOf(page, 'nigh-live').filter((one) => one.of === 'watch').map((live): Watched => ({ title: nameOf(live), state: live.state?.format === 'nigh-watch' ? live.state : null, events: live.events, live })),
    ...documentsOf(page, 'nigh-watch').map((state): Watched => ({ title: state.file ?? state.machine, state, events: state.events ?? [] })),
    ...documentsOf(page, 'nigh-watch-log').map((log): Watched => ({ title: log.file ?? 'a log', state: null, events: log.events })),
  ];
}

// For one and the same piece of work: the programs of a decision run side by side, each has its gain; the geometric mean.
function predictedBy(moves: Decision['moves']): number | null {
  const gains = moves.filter((one) => one.seconds_before > 0 && one.seconds_after > 0).map((one) => Math.log(one.seconds_before / one.seconds_after));
  return gains.length === 0 ? null : Math.exp(gains.reduce((sum, one) => sum + one, 0) / gains.length) - 1;
}

export function decisionsOf(events: WatchEvent[]): Decision[] {
  const out: Decision[] = [];
  for (const event of events) {
    const last = out[out.length - 1];
    const open = last?.outcome === 'not known yet' ? last : undefined;
    if (event.kind === 'decision' || (event.kind === 'advice' && (event.moves ?? []).length > 0)) {
      const moves = event.moves ?? [];
      out.push({ at: event.elapsed, sentence: event.sentence, moves, predicted: predictedBy(moves), measured: null, outcome: event.kind === 'advice' ? 'advice' : 'not known yet' });
    } else if (open && (event.kind === 'verified' || event.kind === 'rollback')) {
      open.outcome = event.kind === 'verified' ? 'kept' : 'taken back';
      open.predicted = event.predicted ?? open.predicted;
      open.measured = event.measured ?? null;
    } else if (open && event.kind === 'failed') open.outcome = 'failed';
  }
  return out;
}

function percent(part: number): string {
  const whole = Math.round(100 * part);
  return `${whole < 0 ? '−' : whole > 0 ? '+' : ''}${Math.abs(whole)} %`;
}

export const gain = (part: number | null) => (part === null ? 'not known' : percent(part));

export function sentenceOf(decisions: Decision[], state: WatchState | null): string {
  const done = decisions.filter((one) => one.outcome !== 'advice');
  const kept = done.filter((one) => one.outcome === 'kept');
  const back = done.filter((one) => one.outcome === 'taken back');
  const last = kept[kept.length - 1];
  if (done.length === 0)
    return decisions.length > 0
      ? `It moved nothing, and advises to: ${decisions[decisions.length - 1]!.sentence}.`
      : `It has moved nothing${state ? ` in ${Math.round(state.elapsed)} s` : ''}: nothing was seen that would pay.`;
  const counts = [`${done.length} decision${done.length === 1 ? '' : 's'}`, kept.length > 0 ? `${kept.length} kept` : '', back.length > 0 ? `${back.length} taken back` : ''].filter((one) => one !== '').join(', ');
  return last && last.measured !== null
    ? `${counts}. The last one that was kept: ${gain(last.measured)} speed by where accesses go now, ${gain(last.predicted)} predicted.`
    : `${counts}.`;
}

export interface Place {
  node: number;
  threads: number;
  share: number; // of its accesses that go to memory of this node
}

// The place of an application: threads and accesses by node, in the order of the state's nodes.
export function placesOf(state: WatchState, application: WatchState['applications'][number]): Place[] {
  const threads = new Map(application.threads.split(' ').filter((one) => one.includes(':')).map((one): [number, number] => {
    const [node, count] = one.split(':').map(Number);
    return [node ?? 0, count ?? 0];
  }));
  return state.nodes.map(({ node }, j) => ({ node, threads: threads.get(node) ?? 0, share: application.traffic.reduce((sum, row) => sum + (row[j] ?? 0), 0) }));
}

// Kinds of events as a reader should take them: what watch verifies and measures is accesses, not time.
const kindNames: Record<string, string> = { verified: 'kept', rollback: 'taken back', measured: 'meter' };
export const kindName = (kind: string) => kindNames[kind] ?? kind;
