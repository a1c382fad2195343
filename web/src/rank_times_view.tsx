// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { useState } from 'preact/hooks';
import type { RankTimes } from './documents';
import { Figure, Rows } from './figure';
import { HeatRows } from './heat_rows';
import { binary, plural, short, whole } from './numbers';
import { busyOf, duration, rowName, rowsThere, summaryOf } from './rank_times';
import { TimeChart } from './time_chart';

export function RankTimesFigures({ times }: { times: RankTimes }) {
  const columns = times.in_mpi[0]?.length ?? 0;
  const [range, setRange] = useState<[number, number]>([0, 1]); // parts of all time
  const [shown, show] = useState<'mpi' | 'cpu'>('mpi');
  const at = (column: number) => (times.seconds * column) / columns;
  const time = Array.from({ length: columns }, (_, i) => at(i + 0.5));
  const lines = Object.fromEntries(times.functions.flatMap((one) => (one.percent ? [[one.name, one.percent]] : [])));
  const choose = (low: number, high: number) => setRange([Math.max(0, low / times.seconds), Math.min(1, high / times.seconds)]);
  const ends: [string, string] = [duration(times.seconds * range[0]), duration(times.seconds * range[1])];
  const isPart = range[0] > 0 || range[1] < 1;
  const part = isPart ? `; from ${ends[0]} to ${ends[1]}` : '';
  const chosen: [number, number] = [times.seconds * range[0], times.seconds * range[1]];
  const busy = busyOf(times);
  const cpu = shown === 'cpu' && times.cpu ? times.cpu : null;
  const most = cpu ? Math.max(100, ...cpu.map((row) => Math.max(...row))) : 100;
  const groups = times.width > 1;
  const missing = times.ranks - times.told;
  return (
    <>
      <h2 class="bench">{times.name.split('/').filter(Boolean).pop() ?? times.name}</h2>
      <p class="lead">{summaryOf(times)}</p>
      {missing > 0 && <p>{plural(missing, 'rank')} left no record: ended early, or without nigh.</p>}
      <Figure
        title="Time in MPI, by function"
        name="mpi-functions-over-time"
        note="The part of their time that all ranks were in a function, waiting or moving messages, from MPI_Init to MPI_Finalize. Drag to look closer, here and below; double click for all."
        table={{ columns: ['s', ...Object.keys(lines).map((one) => `${one} %`)], rows: time.map((one, i) => [short(one), ...Object.values(lines).map((line) => line[i] ?? 0)]) }}
      >
        <TimeChart time={time} series={lines} unit="% of the time" words="The part of their time that ranks were in each MPI function, over time" least={0} most={100} span={[0, times.seconds]} part={chosen} onRange={choose} />
      </Figure>
      {busy && (
        <Figure
          title="CPU time"
          name="cpu-over-time"
          note={`PUs that ${groups ? 'a rank of each group of ranks' : 'a rank'} keeps busy, with all its threads. A rank that waits in MPI may be busy, too: libraries look for messages again and again.`}
          table={{ columns: ['s', ...Object.keys(busy)], rows: time.map((one, i) => [short(one), ...Object.values(busy).map((line) => short(line[i] ?? 0))]) }}
        >
          <TimeChart time={time} series={busy} unit="PUs of a rank" words="PUs that ranks keep busy, over time" least={0} span={[0, times.seconds]} part={chosen} onRange={choose} />
        </Figure>
      )}
      <Figure
        title={groups ? `Each ${times.width} ranks` : 'Each rank'}
        name={cpu ? 'cpu-of-ranks' : 'ranks-in-mpi'}
        note={cpu ? `The darker, the more CPU time${part}; the darkest is ${short(most / 100)} ${most === 100 ? 'PU' : 'PUs'}.` : `The darker, the larger the part of its time in MPI${part}. A rank that is pale where others are dark is the one that they wait for.`}
        table={{
          columns: ['ranks', 'host', 'in MPI, s', 'user, s', 'system, s', 'page faults', 'with reading from disk', 'peak memory', 'memory at the end', 'of it in huge pages'],
          rows: times.rows.map((row) => [rowName(row), row.host, short(row.mpi_seconds), short(row.user_seconds), short(row.system_seconds), whole(row.minor_faults), whole(row.major_faults), binary(row.peak_mib * 2 ** 20), ...[row.resident_mib, row.huge_mib].map((mib) => (mib === undefined ? '–' : binary(mib * 2 ** 20)))]),
        }}
      >
        {isPart && <p><button type="button" onClick={() => setRange([0, 1])}>Show all of the time</button></p>}
        {busy && (
          <div class="choices">
            <label>
              Show{' '}
              <select value={shown} onChange={(event) => show(event.currentTarget.value as 'mpi' | 'cpu')}>
                <option value="mpi">time in MPI</option>
                <option value="cpu">CPU time</option>
              </select>
            </label>
          </div>
        )}
        <HeatRows
          ends={ends} rows={cpu ?? times.in_mpi} from={range[0] * columns} to={range[1] * columns} most={most} scale={cpu ? `${short(most / 100)} ${most === 100 ? 'PU' : 'PUs'} busy` : '100 % in MPI'} names={(row) => rowName(times.rows[row]!)}
          words={`${cpu ? 'The CPU time of' : 'The part of its time that'} each of ${plural(times.ranks, 'rank')}${cpu ? '' : ' was in MPI'}, over time; the table has the sums`}
          say={(row, column) => {
            const whose = `${rowName(times.rows[row]!)}${times.rows[row]!.host ? ` on ${times.rows[row]!.host}` : ''}, ${duration(at(column + 0.5))}`;
            const used = times.cpu ? `, ${short((times.cpu[row]?.[column] ?? 0) / 100)} PUs busy` : '';
            return `${whose}: ${times.in_mpi[row]?.[column] ?? 0} % in MPI${times.most_in_mpi ? `, one of them ${times.most_in_mpi[row]?.[column] ?? 0} %` : ''}${used}`;
          }}
        />
      </Figure>
      <div class="tables">
        <Rows
          caption="MPI functions, by the time of all ranks in them"
          table={{ columns: ['function', 'calls', 'in all', 'per call', 'longest', 'of rank'], rows: times.functions.map((one) => [one.name, whole(one.calls), duration(one.seconds), duration(one.seconds / Math.max(1, one.calls)), duration(one.longest_seconds), one.longest_rank]) }}
        />
        <Rows
          caption={groups ? 'What ranks used on average; of memory, the most' : 'What each rank used'}
          table={{ columns: ['ranks', 'in MPI', 'user', 'system', 'page faults', 'peak memory', 'in huge pages'], rows: rowsThere(times).map((row) => [rowName(row), duration(row.mpi_seconds), duration(row.user_seconds), duration(row.system_seconds), whole(row.minor_faults), binary(row.peak_mib * 2 ** 20), row.huge_mib === undefined ? '–' : binary(row.huge_mib * 2 ** 20)]) }}
        />
      </div>
    </>
  );
}
