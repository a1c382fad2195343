// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { useState } from 'preact/hooks';
import type { RankTimes } from './documents';
import { Figure, Rows } from './figure';
import { HeatRows } from './heat_rows';
import { binary, plural, short, whole } from './numbers';
import { duration, rowName, rowsThere, summaryOf } from './rank_times';
import { TimeChart } from './time_chart';

export function RankTimesFigures({ times }: { times: RankTimes }) {
  const columns = times.in_mpi[0]?.length ?? 0;
  const [range, setRange] = useState<[number, number]>([0, columns - 1]);
  const at = (column: number) => (times.seconds * column) / columns;
  const time = Array.from({ length: columns }, (_, i) => at(i + 0.5));
  const lines = Object.fromEntries(times.functions.flatMap((one) => (one.percent ? [[one.name, one.percent]] : [])));
  const choose = (low: number, high: number) => {
    const column = (seconds: number) => Math.max(0, Math.min(columns - 1, Math.floor((seconds / times.seconds) * columns)));
    setRange([column(low), Math.max(column(low), column(high))]);
  };
  const part = range[1] - range[0] + 1 < columns ? `; from ${duration(at(range[0]))} to ${duration(at(range[1] + 1))}` : '';
  const groups = times.width > 1;
  const missing = times.ranks - times.told;
  return (
    <>
      <h2 class="bench">{times.name}</h2>
      <p class="lead">{summaryOf(times)}</p>
      {missing > 0 && <p>{plural(missing, 'rank')} left no record: ended early, or without nigh.</p>}
      <Figure
        title="Time in MPI, by function"
        name="mpi-functions-over-time"
        note="The part of their time that all ranks were in a function, waiting or moving messages, from MPI_Init to MPI_Finalize. Drag to look closer, here and below; double click for all."
        table={{ columns: ['s', ...Object.keys(lines).map((one) => `${one} %`)], rows: time.map((one, i) => [short(one), ...Object.values(lines).map((line) => line[i] ?? 0)]) }}
      >
        <TimeChart time={time} series={lines} unit="% of the time" words="The part of their time that ranks were in each MPI function, over time" least={0} most={100} onRange={choose} />
      </Figure>
      <Figure
        title={groups ? `Each ${times.width} ranks` : 'Each rank'}
        name="ranks-in-mpi"
        note={`The darker, the larger the part of its time in MPI${part}. A rank that is pale where others are dark is the one that they wait for.`}
        table={{
          columns: ['ranks', 'host', 'in MPI, s', 'user, s', 'system, s', 'page faults', 'with reading from disk', 'peak memory'],
          rows: times.rows.map((row) => [rowName(row), row.host, short(row.mpi_seconds), short(row.user_seconds), short(row.system_seconds), whole(row.minor_faults), whole(row.major_faults), binary(row.peak_mib * 2 ** 20)]),
        }}
      >
        <HeatRows
          ends={[duration(at(range[0])), duration(at(range[1] + 1))]}
          rows={times.in_mpi} first={range[0]} last={range[1]} names={(row) => rowName(times.rows[row]!)} words={`The part of its time that each of ${plural(times.ranks, 'rank')} was in MPI, over time; the table has the sums`}
          say={(row, column) => `${rowName(times.rows[row]!)}${times.rows[row]!.host ? ` on ${times.rows[row]!.host}` : ''}, ${duration(at(column + 0.5))}: ${times.in_mpi[row]?.[column] ?? 0} % in MPI${times.most_in_mpi ? `, one of them ${times.most_in_mpi[row]?.[column] ?? 0} %` : ''}`}
        />
      </Figure>
      <div class="pictures">
        <Rows
          caption="MPI functions, by the time of all ranks in them"
          table={{ columns: ['function', 'calls', 'in all', 'per call', 'longest', 'of rank'], rows: times.functions.map((one) => [one.name, whole(one.calls), duration(one.seconds), duration(one.seconds / Math.max(1, one.calls)), duration(one.longest_seconds), one.longest_rank]) }}
        />
        <Rows
          caption={groups ? 'What ranks used on average; of memory, the most' : 'What each rank used'}
          table={{ columns: ['ranks', 'in MPI', 'user', 'system', 'page faults', 'peak memory'], rows: rowsThere(times).map((row) => [rowName(row), duration(row.mpi_seconds), duration(row.user_seconds), duration(row.system_seconds), whole(row.minor_faults), binary(row.peak_mib * 2 ** 20)]) }}
        />
      </div>
    </>
  );
}
