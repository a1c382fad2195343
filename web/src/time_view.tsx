// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Over time: ranks in MPI (nigh run --record), and message-driven programs (--chare-trace): all PEs as one line, and each as a row.
import { useMemo, useState } from 'preact/hooks';
import { documentsOf, type Page, type Trace } from './documents';
import { Figure, Rows } from './figure';
import { type Arrow, HeatRows } from './heat_rows';
import { binary, plural, short } from './numbers';
import { duration } from './rank_times';
import { RankTimesFigures } from './rank_times_view';
import { TimeChart } from './time_chart';

const rowName = (trace: Trace, row: number) => (trace.width === 1 ? `PE ${row}` : `PEs ${row * trace.width} to ${Math.min((row + 1) * trace.width, trace.pes) - 1}`);

const microseconds = (us: number) => duration(us / 1e6);

type Messages = NonNullable<Trace['messages']>;
const took = (one: Messages['arrows'][number]) => one[3] - one[2];

// The slowest of those that are under way in a part of the time, in us.
function slowest(messages: Messages, from: number, to: number, most: number) {
  return messages.arrows.filter((one) => one[3] >= from && one[2] <= to).sort((a, b) => took(b) - took(a)).slice(0, most);
}

function TraceFigures({ trace }: { trace: Trace }) {
  const columns = trace.busy[0]?.length ?? 0;
  const [range, setRange] = useState<[number, number]>([0, 1]); // parts of all time
  const [shown, show] = useState(50); // arrows
  const time = Array.from({ length: columns }, (_, i) => (trace.ms * (i + 0.5)) / columns);
  const messages = trace.messages && trace.messages.count > 0 ? trace.messages : null;
  const us = trace.ms * 1000;
  const tell = (one: Messages['arrows'][number]) => `PE ${one[0]} to PE ${one[1]}${trace.methods[one[4]] ? `, ${trace.methods[one[4]]!.name}` : ''}: sent at ${short(one[2] / 1000)} ms, run ${microseconds(took(one))} later`;
  const arrows = useMemo(
    () =>
      messages && slowest(messages, range[0] * us, range[1] * us, shown).map((one): Arrow => ({
        from: Math.floor(one[0] / trace.width), to: Math.floor(one[1] / trace.width), begin: (one[2] / us) * columns, end: (one[3] / us) * columns, say: tell(one),
      })),
    [trace, range[0], range[1], shown],
  );
  const longest = messages && slowest(messages, 0, us, 50);
  const weights = trace.busy.map((_, row) => Math.min(trace.width, trace.pes - row * trace.width));
  const all = time.map((_, i) => trace.busy.reduce((sum, row, k) => sum + (row[i] ?? 0) * weights[k]!, 0) / trace.pes);
  const mean = all.reduce((sum, one) => sum + one, 0) / (columns || 1);
  const least = trace.mean.indexOf(Math.min(...trace.mean));
  const most = trace.mean.indexOf(Math.max(...trace.mean));
  const choose = (low: number, high: number) => setRange([Math.max(0, low / trace.ms), Math.min(1, high / trace.ms)]);
  const ends: [string, string] = [`${short(trace.ms * range[0])} ms`, `${short(trace.ms * range[1])} ms`];
  return (
    <>
      <h2 class="bench">{trace.name}</h2>
      <p>
        {plural(trace.pes, 'PE')} for {short(trace.ms)} ms, {Math.round(mean)} % busy on average
        {trace.mean.length > 1 && Math.round(trace.mean[most]!) > Math.round(trace.mean[least]!) && `; the most ${rowName(trace, most)} with ${Math.round(trace.mean[most]!)} %, the least ${rowName(trace, least)} with ${Math.round(trace.mean[least]!)} %`}.
        {longest?.[0] && ` Half of ${plural(messages!.count, 'message')} between PEs were run within ${microseconds(messages!.median_us)}; the slowest from ${tell(longest[0])}.`}
      </p>
      <Figure title="All PEs" name="utilisation" note="The part of their time in which PEs ran entry methods, by the clock: of PEs that share a PU, one that waits for it counts as busy. Drag to look closer, here and below; double click for all." table={{ columns: ['ms', '% busy'], rows: time.map((at, i) => [short(at), Math.round(all[i]!)]) }}>
        <TimeChart time={time} series={{ 'all PEs': all }} unit="% busy" words="How busy all PEs were over time" axis="ms since the start" least={0} most={100} span={[0, trace.ms]} part={[trace.ms * range[0], trace.ms * range[1]]} onRange={choose} />
      </Figure>
      <Figure
        title="Each PE"
        name="busy-pes"
        note={`A row is ${trace.width === 1 ? 'a PE' : `${trace.width} PEs`}, from ${rowName(trace, 0)} above; the darker, the busier${range[0] > 0 || range[1] < 1 ? `; from ${ends[0]} to ${ends[1]}` : ''}. What is pale on one PE and dark on another, balance() can even out: it moves elements.${messages ? ' An arrow is a message, from when it was sent to when the run that it was for began.' : ''}`}
        table={{ columns: ['PE', '% busy', ...(trace.held.length > 0 ? ['most memory held'] : [])], rows: trace.mean.map((one, row) => [rowName(trace, row), Math.round(one), ...(trace.held.length > 0 ? [binary(Math.max(0, ...trace.held.slice(row * trace.width, (row + 1) * trace.width)))] : [])]) }}
      >
        {(range[0] > 0 || range[1] < 1) && <p><button type="button" onClick={() => setRange([0, 1])}>Show all of the time</button></p>}
        {messages && (
          <div class="choices">
            <label>
              Messages as arrows{' '}
              <select value={shown} onChange={(event) => show(Number(event.currentTarget.value))}>
                <option value={0}>none</option>
                <option value={50}>the 50 slowest here</option>
                <option value={400}>the 400 slowest here</option>
              </select>
            </label>
          </div>
        )}
        <HeatRows
          {...(arrows ? { arrows } : {})}
          ends={ends} rows={trace.busy} from={range[0] * columns} to={range[1] * columns} most={100} scale="100 % busy" names={(row) => rowName(trace, row)} words={`How busy each of ${plural(trace.pes, 'PE')} was over time; the table has the means`}
          say={(row, column) => `${rowName(trace, row)}, ${short((trace.ms * (column + 0.5)) / columns)} ms: ${trace.busy[row]?.[column] ?? 0} % busy`}
        />
      </Figure>
      <div class="tables">
        {longest && <Rows caption="Messages between PEs that took longest until they were run" table={{ columns: ['from', 'to', 'for', 'sent at', 'run after'], rows: longest.map((one) => [`PE ${one[0]}`, `PE ${one[1]}`, trace.methods[one[4]]?.name ?? '–', `${short(one[2] / 1000)} ms`, microseconds(took(one))]) }} />}
        {trace.methods.length > 0 && <Rows caption="Entry methods, by their time" table={{ columns: ['method', 'runs of a microsecond or more', 'ms in all, of all PEs'], rows: trace.methods.map((one) => [one.name, one.runs, short(one.ms)]) }} />}
        {trace.memory.length > 0 && <Rows caption="Memory of messages" table={{ columns: ['for', 'how many', 'in all', 'most at once on one PE', 'on'], rows: trace.memory.map((one) => [one.name, one.messages, binary(one.bytes), binary(one.most), one.most_on]) }} />}
      </div>
    </>
  );
}

export function TimeView({ page }: { page: Page }) {
  return (
    <section aria-labelledby="title">
      <h1 id="title">What happened when?</h1>
      {documentsOf(page, 'nigh-rank-times').map((one, i) => <RankTimesFigures key={i} times={one} />)}
      {documentsOf(page, 'nigh-trace').map((one, i) => <TraceFigures key={i} trace={one} />)}
    </section>
  );
}
