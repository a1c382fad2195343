// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { scaleLog } from 'd3-scale';
import type { Page } from './documents';
import { Figure, useWidth } from './figure';
import { costsOf, type Gain, gainsOf, sentenceOf } from './gains';
import { ratio } from './numbers';

const ticks = [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 10];
const marks = { faster: '▼', slower: '▲', 'no difference': '=', mixed: '◆', 'not known': '?' };

// A line for each: the interval, its middle, and the words, on one axis whose centre is "as fast".
function Intervals({ gains }: { gains: Gain[] }) {
  const { ref, width } = useWidth();
  const narrow = width < 620;
  const left = narrow ? 12 : Math.min(320, width * 0.4);
  const right = narrow ? 12 : 116;
  const high = narrow ? 58 : 32;
  const room = Math.floor((narrow ? width - 110 : left - 12) / 7.1); // characters of a name
  const top = 22;
  const ends = gains.flatMap((one) => [one.ratio, one.low ?? one.ratio, one.high ?? one.ratio]).filter((one) => one > 0);
  const x = scaleLog([Math.max(0.02, Math.min(0.9, ...ends.map((one) => one / 1.06))), Math.min(50, Math.max(1.1, ...ends.map((one) => one * 1.06)))], [left, width - right]).clamp(true);
  const [least, most] = x.domain() as [number, number];
  const height = top + gains.length * high + 40;
  let last = -100;
  const shown = [1, ...ticks.filter((one) => one !== 1)]
    .filter((one) => one >= least && one <= most)
    .sort((a, b) => a - b)
    .filter((one) => {
      const at = x(one);
      if (one !== 1 && (at - last < 34 || Math.abs(at - x(1)) < 34)) return false;
      last = at;
      return true;
    });
  return (
    <div ref={ref}>
      <svg width={width} height={height} role="img" aria-label={`Time with nigh by time without it: ${sentenceOf(gains)}`}>
        <rect class="good-side" x={left} y={top - 8} width={Math.max(0, x(1) - left)} height={gains.length * high + 8} />
        {!narrow && <text class="soft" x={left + 4} y={12}>faster with nigh</text>}
        {!narrow && <text class="soft" x={width - right} y={12} text-anchor="end">slower</text>}
        {shown.map((one) => (
          <g key={one}>
            <line class={one === 1 ? 'one' : 'grid'} x1={x(one)} x2={x(one)} y1={top - 8} y2={top + gains.length * high} />
            <text class="soft" x={x(one)} y={top + gains.length * high + 15} text-anchor="middle">{one}</text>
          </g>
        ))}
        <text class="soft" x={(left + width - right) / 2} y={height - 6} text-anchor="middle">time with nigh / time without it, logarithmic (less is better)</text>
        {gains.map((one, i) => {
          const y = top + i * high + (narrow ? 38 : high / 2);
          const kind = `${one.verdict.replace(' ', '-')} ${one.kind}`;
          return (
            <g class={kind} key={one.name}>
              <text class="name" x={narrow ? left : left - 12} y={narrow ? y - 18 : y + 4} text-anchor={narrow ? 'start' : 'end'}>
                {one.name.length > room ? `${one.name.slice(0, room - 1)}…` : one.name}
              </text>
              {one.low !== undefined && one.high !== undefined && (
                <line class="range" x1={x(Math.max(least, one.low))} x2={x(Math.min(most, one.high))} y1={y} y2={y} />
              )}
              {one.kind === 'program' ? <circle class="mid" cx={x(one.ratio)} cy={y} r={5.5} /> : <rect class="mid" x={x(one.ratio) - 5} y={y - 5} width={10} height={10} />}
              <text class="value" x={narrow ? width - right : width - right + 12} y={narrow ? y - 18 : y + 4} text-anchor={narrow ? 'end' : 'start'}>
                {marks[one.verdict]} {ratio(one.ratio)}
              </text>
              <title>{`${one.name}: ${ratio(one.ratio)}, ${one.spread} ${ratio(one.low ?? one.ratio)} to ${ratio(one.high ?? one.ratio)}: ${one.verdict}`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

export function GainsView({ page }: { page: Page }) {
  const gains = gainsOf(page);
  const programs = gains.filter((one) => one.kind === 'program');
  const table = (of: Gain[]) => ({
    columns: ['what', 'time with / without', 'low', 'high', 'low and high are', 'verdict', 'measured'],
    rows: of.map((one) => [one.name, ratio(one.ratio), one.low === undefined ? '–' : ratio(one.low), one.high === undefined ? '–' : ratio(one.high), one.spread, one.verdict, one.samples]),
  });
  return (
    <section aria-labelledby="title">
      <h1 id="title">What did I gain?</h1>
      <p class="lead">{sentenceOf(gains)} {costsOf(gains)}</p>
      {programs.length > 0 && (
        <Figure
          title="Programs"
          name="gains-of-programs"
          note="Each program ran with and without nigh by turns, as often as the table says. The line is the 95 % interval of the ratio, the dot its median; where the line crosses 1, there is no difference to be seen."
          table={{
            columns: [...table(programs).columns, 'memory with / without', 'CPU time with / without'],
            rows: table(programs).rows.map((row, i) => [...row, ...[programs[i]!.memory, programs[i]!.cpu].map((one) => (one ? ratio(one.median) : '–'))]),
          }}
        >
          <Intervals gains={programs} />
        </Figure>
      )}
      {gains.length > programs.length && (
        <Figure
          title="Benchmarks"
          name="gains-of-benchmarks"
          note="One line for each benchmark, over all its cases: the square is their median, the line goes from the best case to the worst. The cases are among the benchmarks."
          table={table(gains.filter((one) => one.kind === 'benchmark'))}
        >
          <Intervals gains={gains.filter((one) => one.kind === 'benchmark')} />
        </Figure>
      )}
      <div class="hint">
        <h2>{programs.length > 0 ? 'Another program' : 'Your program'}</h2>
        <p>Two commands put it here:</p>
        <pre>{'nigh compare --json -- mpirun -n 4 ./app > app.json\nnigh report app.json'}</pre>
      </div>
    </section>
  );
}
