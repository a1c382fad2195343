// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { documentsOf, machineOf, type Page } from './documents';
import { Figure, Rows } from './figure';
import { type Live, nameOf, type RunState, together } from './live';
import type { Mark } from './machine';
import { pusOf } from './machine';
import { Tree } from './machine_view';
import { bytes, plural, short } from './numbers';
import { TimeChart } from './time_chart';

// Those that work, on the PU where they ran last; a colour is a process.
export function marksOfRun(state: RunState): Map<number, Mark> {
  const out = new Map<number, Mark>();
  state.processes.forEach((process, team) => {
    for (const thread of process.threads) {
      if (thread.busy < 0.05) continue;
      const words = `${thread.name} (${thread.tid}), ${Math.round(100 * thread.busy)} % busy`;
      const known = out.get(thread.cpu);
      if (known) {
        ++known.more;
        known.title += `; ${words}`;
      } else out.set(thread.cpu, { text: `${team + 1}`, team, more: 0, title: `process ${team + 1}: ${words}` });
    }
  });
  return out;
}

export function endOf(live: Live): string {
  if (!live.ended) return '';
  const { status, elapsed } = live.ended;
  return `ended${elapsed !== undefined ? ` after ${short(elapsed)} s` : ''}${status === null ? '' : status > 128 ? `, by signal ${status - 128}` : ` with status ${status}`}`;
}

function seconds(value: number): string {
  const whole = Math.round(value);
  return whole < 100 ? `${whole} s` : whole < 6000 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

// A run: what it does, where its threads are, its processes.
function OneRun({ page, live, several }: { page: Page; live: Live & { file?: string }; several: boolean }) {
  const machine = machineOf(page, live);
  const state = live.state?.format === 'nigh-run-state' ? live.state : null;
  const pus = machine ? pusOf(machine.tree).length : 0;
  const threads = (state?.processes ?? []).flatMap((process, i) => process.threads.map((thread) => ({ ...thread, pid: process.pid, number: i + 1 }))).sort((a, b) => b.busy - a.busy);
  const working = threads.filter((one) => one.busy >= 0.05).length;
  const moved = Object.values(live.moved).reduce((sum, one) => sum + one, 0);
  return (
    <div>
      {several && <h2 class="bench">{nameOf(live)}</h2>}
      <p class="lead">
        <code>{live.title}</code>{' '}
        {live.ended
          ? `${endOf(live)}.`
          : state
            ? `has run for ${seconds(state.elapsed)}: ${plural(state.processes.length, 'process', 'processes')}, ${plural(state.threads, 'thread')}, of which ${working} work${working === 1 ? 's' : ''}${state.cores === null ? '' : `; ${Number(state.cores.toFixed(2))} of ${pus} PUs busy`}; ${bytes(state.megabytes * 1e6)} resident.`
            : 'has started; the first look is a second away.'}
        {moved > 0 && ` Threads were seen on another PU than before ${moved === 1 ? 'once' : `${moved} times`}.`}
      </p>
      {machine && state && (
        <Figure
          title={live.ended ? 'Where its threads ran last' : 'Where its threads run'}
          name="threads"
          note="In a coloured PU stands the number of the process; +1: one more thread on the same PU. Shown are threads that were busy for 5 % of the time since the last look or more."
          table={{
            columns: ['process', 'thread', 'name', 'may use PUs', 'ran last on', 'busy, %', 'seen on another PU'],
            rows: threads.map((one) => [one.pid, one.tid, one.name, one.pus, one.cpu, Math.round(100 * one.busy), live.moved[`${one.pid}.${one.tid}`] ?? 0]),
          }}
        >
          <Tree machine={machine} marks={marksOfRun(state)} words={`${machine.title || machine.name}: ${plural(working, 'thread')} at work`} />
        </Figure>
      )}
      {state && (
        <details>
          <summary>{plural(state.processes.length, 'process', 'processes')}</summary>
          <ol class="processes">
            {state.processes.map((one) => (
              <li key={one.pid}>
                <code>{one.command}</code> ({one.pid}), {plural(one.threads.length, 'thread')}, {bytes(one.megabytes * 1e6)}
              </li>
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

export function RunView({ page }: { page: Page }) {
  const lives = documentsOf(page, 'nigh-live').filter((one) => one.of === 'run');
  const several = lives.length > 1;
  return (
    <section aria-labelledby="title">
      <h1 id="title">{several ? 'What did they do?' : 'What is it doing now?'}</h1>
      {several && <p class="lead">{plural(lives.length, 'run')} that were kept. Times are since each run began; a curve begins when its page was opened.</p>}
      {several && (
        <Rows
          caption="Each run, while its page was open"
          table={{ columns: ['run', 'ended', 'PUs busy on average', 'most memory'], rows: lives.map((one) => [nameOf(one), endOf(one).replace(/^ended /, '') || 'not yet', short(meanOf(one.series['busy PUs'])), bytes(1e6 * Math.max(0, ...(one.series['resident MB'] ?? []).map(Number)))]) }}
        />
      )}
      {several && <RunCurves lives={lives} />}
      <div class={several ? 'pictures' : ''}>
        {lives.map((one, i) => <OneRun key={i} page={page} live={one} several={several} />)}
      </div>
      {!several && <RunCurves lives={lives} />}
      {!several && <p class="note">Nothing is read from a program while no page is open; so curves begin when one was opened.</p>}
    </section>
  );
}

function meanOf(values: (number | null)[] = []): number {
  const known = values.filter((one): one is number => one !== null);
  return known.length === 0 ? 0 : known.reduce((sum, one) => sum + one, 0) / known.length;
}

function RunCurves({ lives }: { lives: (Live & { file?: string })[] }) {
  const shown = lives.filter((one) => one.time.length > 1);
  if (shown.length === 0) return null;
  return (
    <div class="pictures">
      {Object.entries({ 'busy PUs': 'PUs that threads kept busy', 'resident MB': 'Memory' }).map(([name, title]) => {
        const { time, series } = together(shown.map((one) => ({ name: shown.length === 1 ? name : nameOf(one), time: one.time, values: one.series[name] ?? [] })));
        return (
          <Figure
            key={name}
            title={title}
            name={name.replace(' ', '-')}
            note={name === 'busy PUs' ? 'CPU time since the last look, by that time.' : 'Resident memory of all processes in MB; what several share counts for each.'}
            table={{ columns: ['s', ...Object.keys(series)], rows: time.map((at, i) => [Number(at.toFixed(2)), ...Object.values(series).map((one) => one[i] ?? '–')]) }}
          >
            <TimeChart time={time} series={series} unit={name === 'busy PUs' ? 'PUs' : 'MB'} words={`${title} over time`} joined={shown.length > 1} />
          </Figure>
        );
      })}
    </div>
  );
}
