// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { useState } from 'preact/hooks';
import type { Page } from './documents';
import { Figure, useWidth } from './figure';
import { nameOf, together, type WatchState } from './live';
import { bytes, plural, short } from './numbers';
import { endOf } from './run_view';
import { TimeChart } from './time_chart';
import { type Decision, decisionsOf, gain, kindName, placesOf, sentenceOf, type Watched, watchedOf } from './watch';

// "a: threads of nodes 0,1 to 2,3, 5 MB of pages; b: ..." has "threads of nodes 0,1 to 2,3" of a.
function wordsOf(decision: Decision, application: string): string {
  const part = decision.sentence.split('; ').find((one) => one.startsWith(`${application}: `));
  return part?.slice(application.length + 2).replace(/, [^,]* of pages.*$/, '') ?? '';
}

// A line for each decision: a square where it was predicted, a disc where accesses went afterwards, and the words.
function Effects({ decisions }: { decisions: Decision[] }) {
  const { ref, width } = useWidth();
  const narrow = width < 620;
  const left = narrow ? 12 : 210;
  const right = narrow ? 12 : 150;
  const high = narrow ? 54 : 30;
  const values = decisions.flatMap((one) => [one.predicted ?? 0, one.measured ?? 0]);
  const low = Math.min(0, ...values);
  const most = 1.06 * Math.max(0.1, ...values);
  const x = (value: number) => left + ((value - low) / (most - low)) * (width - left - right);
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10].find((one) => ((most - low) / one) * 60 < width - left - right) ?? 20;
  const ticks: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= most; ++at) ticks.push(at * step);
  const bottom = 16 + decisions.length * high;
  return (
    <div ref={ref}>
      <svg width={width} height={bottom + 38} role="img" aria-label={`Gain of speed of ${plural(decisions.length, 'decision')}, predicted and by accesses afterwards`}>
        {ticks.map((one) => (
          <g key={one}>
            <line class={one === 0 ? 'one' : 'grid'} x1={x(one)} x2={x(one)} y1={8} y2={bottom} />
            <text class="soft" x={x(one)} y={bottom + 15} text-anchor="middle">{gain(one)}</text>
          </g>
        ))}
        <text class="soft" x={(left + width - right) / 2} y={bottom + 33} text-anchor="middle">gain of speed, by the link model (more is better)</text>
        {decisions.map((one, i) => {
          const y = 16 + high * (i + (narrow ? 0.72 : 0.5));
          const words = one.outcome === 'kept' ? `${gain(one.measured)}, kept` : one.outcome;
          return (
            <g key={i} class={`effect series ${one.outcome === 'kept' ? 'ours' : ''}`}>
              <text class="name" x={narrow ? left : left - 12} y={narrow ? y - 16 : y + 4} text-anchor={narrow ? 'start' : 'end'}>{`${Math.round(one.at)} s: ${plural(one.moves.length, 'application')}`}</text>
              {one.predicted !== null && one.measured !== null && <line class="spread" x1={x(one.predicted)} x2={x(one.measured)} y1={y} y2={y} />}
              {one.predicted !== null && <rect class="square" x={x(one.predicted) - 5} y={y - 5} width={10} height={10}><title>{`predicted ${gain(one.predicted)}`}</title></rect>}
              {one.measured !== null && <circle class="disc" cx={x(one.measured)} cy={y} r={5}><title>{`by accesses afterwards ${gain(one.measured)}`}</title></circle>}
              <text class="value" x={width - (narrow ? 12 : right - 12)} y={narrow ? y - 16 : y + 4} text-anchor={narrow ? 'end' : 'start'}>{words}</text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

// Applications by nodes: the number of threads, and the shade by how much of the accesses goes there.
function Places({ state }: { state: WatchState }) {
  const { ref, width } = useWidth();
  const names = Math.min(180, width * 0.32);
  const cell = Math.max(14, Math.min(64, (width - names - 8) / Math.max(1, state.nodes.length)));
  const high = 30;
  return (
    <div ref={ref} class="wide-picture" tabIndex={0}>
      <svg width={names + cell * state.nodes.length + 8} height={28 + high * state.applications.length} role="img" aria-label="Threads and accesses of each application by node">
        <text class="soft" x={0} y={14}>node</text>
        {state.nodes.map((one, j) => <text key={j} class="soft" x={names + cell * (j + 0.5)} y={14} text-anchor="middle">{one.node}</text>)}
        {state.applications.map((one, i) => (
          <g key={i} transform={`translate(0,${22 + high * i})`}>
            <text x={0} y={high / 2 + 3}>{one.name.length * 7.2 > names ? `${one.name.slice(0, Math.floor(names / 7.2) - 1)}…` : one.name}<title>{one.name}</title></text>
            {placesOf(state, one).map((place, j) => (
              <g key={j} transform={`translate(${names + cell * j},0)`}>
                <rect class="cell" width={cell - 1} height={high - 2} />
                <rect class="link" width={cell - 1} height={high - 2} fill-opacity={0.85 * place.share} />
                {place.threads > 0 && cell >= 20 && <text class={place.share > 0.6 ? 'on-strong' : 'on-weak'} x={cell / 2} y={high / 2 + 3} text-anchor="middle">{short(place.threads)}</text>}
                <title>{`${one.name}, node ${place.node}: ${plural(place.threads, 'thread')}, ${Math.round(100 * place.share)} % of its accesses`}</title>
              </g>
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

function Loads({ state }: { state: WatchState }) {
  const { ref, width } = useWidth();
  const nodes = state.nodes.map((one) => one.node);
  const cell = Math.max(6, Math.min(52, Math.floor((width - 60) / Math.max(1, nodes.length))));
  return (
    <div ref={ref} class="wide-picture" tabIndex={0}>
      <svg width={60 + cell * nodes.length} height={52 + cell * nodes.length} role="img" aria-label="Predicted load of the links from the memory of each node (columns) to the CPUs of each node (rows)">
        <defs>
          <pattern id="assumed" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" x2="0" y1="0" y2="6" /></pattern>
        </defs>
        <text class="soft" x={56} y={14}>memory of node</text>
        <text class="soft" x={12} y={46} transform="rotate(-90 12 46)" text-anchor="end">CPUs of node</text>
        {nodes.map((node, i) => (
          <g key={node}>
            {cell > 10 && <text class="soft" x={56 + cell * (i + 0.5)} y={32} text-anchor="middle">{node}</text>}
            {cell > 10 && <text class="soft" x={48} y={42 + cell * (i + 0.5)} text-anchor="end">{node}</text>}
            {nodes.map((_, j) => <rect key={j} class="cell" x={56 + cell * j} y={38 + cell * i} width={cell - 1} height={cell - 1} />)}
          </g>
        ))}
        {state.links.map((one, i) => {
          const [x, y] = [56 + cell * nodes.indexOf(one.from), 38 + cell * nodes.indexOf(one.to)];
          return (
            <g key={i} transform={`translate(${x},${y})`}>
              <rect class="link" width={cell - 1} height={cell - 1} fill-opacity={Math.min(1, 0.06 + one.load)} />
              {one.assumed && <rect width={cell - 1} height={cell - 1} fill="url(#assumed)" />}
              {cell >= 34 && <text class={one.load > 0.55 ? 'on-strong' : 'on-weak'} x={cell / 2} y={cell / 2 + 4} text-anchor="middle">{Math.round(100 * one.load)}</text>}
              <title>{`memory of node ${one.from} to CPUs of node ${one.to}: ${Math.round(100 * one.load)} % busy${one.assumed ? ' (its bandwidth is a guess)' : ''}`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function Applications({ state }: { state: WatchState }) {
  return (
    <div class="pictures">
      <Figure
        title="Where applications are, and where their accesses go"
        name="places"
        note="Numbers are threads; the darker a node, the larger the part of the application's accesses that goes to its memory."
        table={{ columns: ['application', 'node', 'threads', 'accesses, %', 'memory of it, MB'], rows: state.applications.flatMap((one) => placesOf(state, one).filter((place) => place.threads > 0 || place.share > 0).map((place) => [one.name, place.node, place.threads, Math.round(100 * place.share), short(one.megabytes)])) }}
      >
        <Places state={state} />
      </Figure>
      <Figure
        title="Load of the links"
        name="links"
        note="In per cent, predicted by the link model for where accesses go now. Hatched: the link's bandwidth is a guess."
        table={{ columns: ['memory of node', 'CPUs of node', 'load, %', 'bandwidth'], rows: state.links.map((one) => [one.from, one.to, Math.round(100 * one.load), one.assumed ? 'guessed' : 'known']) }}
      >
        <Loads state={state} />
      </Figure>
    </div>
  );
}

function OverTime({ live }: { live: NonNullable<Watched['live']> }) {
  const marks = live.events.filter((one) => one.kind === 'decision' || one.kind === 'rollback').map((one) => ({ at: one.elapsed, text: one.kind === 'rollback' ? 'taken back' : 'decision' }));
  return (
    <Figure
      title="Local accesses over time"
      name="local"
      note="The part of an application's accesses that goes to memory of the node where its thread is. Drag to look closer, double click for all."
      table={{ columns: ['s', ...Object.keys(live.series)], rows: live.time.map((at, i) => [Number(at.toFixed(2)), ...Object.values(live.series).map((one) => one[i] ?? '–')]) }}
    >
      <TimeChart time={live.time} series={live.series} unit="% local" words="Local accesses over time" marks={marks} least={0} most={100} />
    </Figure>
  );
}

// Several runs that were watched and kept: all threads of each.
function SideBySide({ all }: { all: Watched[] }) {
  const lives = all.flatMap((one) => (one.live && one.live.time.length > 1 ? [one.live] : []));
  if (lives.length < 2) return null;
  const { time, series } = together(lives.map((one) => ({ name: nameOf(one), time: one.time, values: one.series['all threads'] ?? [] })));
  return (
    <Figure
      title="Local accesses of all threads, run by run"
      name="local-of-runs"
      note="The part of accesses that goes to memory of the node where the thread is; each run from its own beginning."
      table={{ columns: ['s', ...Object.keys(series)], rows: time.map((at, i) => [Number(at.toFixed(2)), ...Object.values(series).map((one) => one[i] ?? '–')]) }}
    >
      <TimeChart time={time} series={series} unit="% local" words="Local accesses of each run over time" least={0} most={100} joined />
    </Figure>
  );
}

export function WatchView({ page }: { page: Page }) {
  const all = watchedOf(page);
  const [chosen, choose] = useState(0);
  const [kind, pick] = useState('');
  const one = all[Math.min(chosen, all.length - 1)];
  if (!one) return null;
  const { state, events, live } = one;
  const decisions = decisionsOf(events);
  const kinds = [...new Set(events.map((event) => event.kind))];
  const shown = [...events].reverse().filter((event) => kind === '' || event.kind === kind);
  return (
    <section aria-labelledby="title">
      <h1 id="title">What did watch decide?</h1>
      <p class="lead">{sentenceOf(decisions, state)}</p>
      {state && (
        <p>
          {state.simulated ? 'A simulated machine: nothing of it is real. ' : ''}
          {live?.ended ? `Watching has ${endOf(live)}.` : `It has watched for ${Math.round(state.elapsed)} s and ${state.mode === 'advising' ? 'only advises' : 'moves threads and pages'}, by the policy “${state.policy}”; now it is ${state.state}.`}{' '}
          {state.simulated ? 'The simulator tells it all accesses.' : `Accesses are seen by ${state.meter.name} (level ${state.meter.level}), which can be believed to ${Math.round(100 * state.meter.confidence)} %. It costs ${short(Number((100 * state.own_cost).toPrecision(2)))} % of a core.`}
        </p>
      )}
      <SideBySide all={all} />
      {all.length > 1 && (
        <div class="choices">
          <label>
            Of{' '}
            <select value={chosen} onChange={(event) => choose(Number(event.currentTarget.value))}>
              {all.map((each, i) => <option key={i} value={i}>{each.title}</option>)}
            </select>
          </label>
        </div>
      )}
      {decisions.length > 0 && (
        <Figure
          title="Decisions and their effect"
          name="decisions"
          note="A square is what was predicted, a disc what the same model says of where accesses went after the move: it is no time that was taken. Only the application itself can tell its real speed."
          table={{
            columns: ['at, s', 'application', 'what moved', 'pages', 'predicted', 'by accesses afterwards', 'then'],
            rows: decisions.flatMap((each) => each.moves.map((move) => [Math.round(each.at), move.application, wordsOf(each, move.application), bytes(move.megabytes * 1e6), gain(each.predicted), gain(each.measured), each.outcome])),
          }}
        >
          <Effects decisions={decisions.slice(-30)} />
        </Figure>
      )}
      {live && live.time.length > 1 && <OverTime live={live} />}
      {state && <Applications state={state} />}
      <h2>What it said</h2>
      {kinds.length > 1 && (
        <div class="choices">
          <label>
            Only{' '}
            <select value={kind} onChange={(event) => pick(event.currentTarget.value)}>
              <option value="">everything</option>
              {kinds.map((each) => <option key={each} value={each}>{kindName(each)}</option>)}
            </select>
          </label>
        </div>
      )}
      {shown.length === 0 && <p class="note">Nothing yet.</p>}
      <ol class="events" tabIndex={0} aria-label="Events, the newest first">
        {shown.slice(0, 200).map((event, i) => (
          <li key={shown.length - i}>
            <span class="at">{short(Number(event.elapsed.toFixed(1)))} s</span> <b>{kindName(event.kind)}</b> {event.sentence}
          </li>
        ))}
      </ol>
      {shown.length > 200 && <p class="note">The newest 200 of {shown.length}.</p>}
    </section>
  );
}
