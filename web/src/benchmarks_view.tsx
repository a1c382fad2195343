// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { scaleLinear, scaleLog } from 'd3-scale';
import { useState } from 'preact/hooks';
import { type Curves, type Group, groupsOf, isModelled, moreIsBetter, type Picture, roleOf, type Series, type Strip, spread, subjects, summaryOf } from './benchmarks';
import { documentsOf, type Page } from './documents';
import { Figure, Rows, useWidth } from './figure';
import { LibrariesFigure } from './libraries_view';
import { binary, plural, ratio, short } from './numbers';

// The unit as people write it.
const shown = (unit: string) => unit.replace(/^us\b/, 'µs');
const better = (unit: string) => (moreIsBetter(unit) ? 'more is better' : 'less is better');
const name = (series: Series, states: boolean) => `${series.subject}${states && series.state !== 'n/a' ? `, cores ${series.state}` : ''}${series.form === 'measured' ? '' : ` (${series.form})`}`;

// The form says how a figure is known: a disc is measured, a ring measured with distant cores, a line without marks is a model's,
// a cross is published.
function Mark({ series, x, y, title }: { series: Series; x: number; y: number; title: string }) {
  if (series.form === 'modelled') return <circle class="ghost" cx={x} cy={y} r={6}><title>{title}</title></circle>;
  if (series.form === 'published') return <path class="cross" d={`M${x - 4},${y - 4}l8,8m0,-8l-8,8`}><title>{title}</title></path>;
  return <circle class={series.state === 'far' ? 'ring' : 'disc'} cx={x} cy={y} r={3.4}><title>{title}</title></circle>;
}

function CurvePicture({ curves }: { curves: Curves }) {
  const { ref, width } = useWidth();
  const narrow = width < 560;
  const [left, right, top, height] = [58, narrow ? 30 : 190, 12, 300];
  const points = curves.series.flatMap((one) => one.points);
  const values = points.flatMap((one) => [one.record.low, one.record.high, one.record.median]).filter((one) => one > 0);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const logarithmic = most / least > 8;
  const xs = points.map((one) => one.x);
  const x = scaleLog([Math.min(...xs), Math.max(...xs)], [left, width - right]).base(2);
  const y = (logarithmic ? scaleLog([least, most], [height, top]) : scaleLinear([0, most], [height, top])).nice();
  const at = curves.axis ? (value: number) => `${value}` : binary;
  const states = new Set(curves.series.map((one) => one.state)).size > 1;
  const labels = curves.series.map((one) => y(one.points[one.points.length - 1]!.record.median));
  const places = spread(labels, 14, top + 4, height);
  const sizes = [...new Set(xs)].sort((a, b) => a - b);
  const every = Math.ceil(sizes.length / Math.max(2, Math.floor((width - left - right) / 64)));
  const legend = narrow ? curves.series.length * 17 : 0;
  return (
    <div ref={ref}>
      <svg width={width} height={height + 46 + legend} role="img" aria-label={`${curves.title}: ${shown(curves.unit)} over the ${curves.axis ?? 'size'}; ${better(curves.unit)}`}>
        {y.ticks(5).filter((one) => !logarithmic || /^1/.test(one.toExponential()) || y.ticks(5).length < 9).map((one) => (
          <g key={one}>
            <line class="grid" x1={left} x2={width - right} y1={y(one)} y2={y(one)} />
            <text class="soft" x={left - 8} y={y(one) + 4} text-anchor="end">{Number(one.toPrecision(3))}</text>
          </g>
        ))}
        {sizes.filter((_, i) => i % every === 0).map((one) => (
          <text class="soft" key={one} x={x(one)} y={height + 18} text-anchor="middle">{at(one)}</text>
        ))}
        <text class="soft" x={(left + width - right) / 2} y={height + 38} text-anchor="middle">{curves.axis ?? 'size'}</text>
        <text class="soft" x={14} y={(top + height) / 2} transform={`rotate(-90 14 ${(top + height) / 2})`} text-anchor="middle">{`${shown(curves.unit)} (${better(curves.unit)})`}</text>
        {curves.series.map((series, i) => {
          const role = roleOf(series);
          const last = series.points[series.points.length - 1]!;
          return (
            <g class={`series ${role} ${series.form}`} key={name(series, true)}>
              {series.points.map((one) => one.record.low > 0 && (
                <line class="spread" key={one.x} x1={x(one.x)} x2={x(one.x)} y1={y(one.record.low)} y2={y(one.record.high)} />
              ))}
              {series.form !== 'published' && <polyline class="curve" points={series.points.map((one) => `${x(one.x)},${y(one.record.median)}`).join(' ')} />}
              {series.points.map((one) => (
                <Mark
                  key={one.x}
                  series={series}
                  x={x(one.x)}
                  y={y(one.record.median)}
                  title={`${name(series, states)}, ${at(one.x)}: ${short(one.record.median)} ${shown(curves.unit)} (${short(one.record.low)} to ${short(one.record.high)})`}
                />
              ))}
              {narrow ? (
                <text class="direct" x={left} y={height + 58 + i * 17}>{`${series.state === 'far' ? '○' : '●'} ${name(series, states)}`}</text>
              ) : (
                <>
                  <path class="lead" d={`M${x(last.x) + 5},${labels[i]}L${width - right + 12},${places[i]}`} />
                  <text class="direct" x={width - right + 16} y={places[i]! + 4}>{name(series, states)}</text>
                </>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function StripPicture({ strip }: { strip: Strip }) {
  const { ref, width } = useWidth();
  const narrow = width < 560;
  const left = narrow ? 8 : Math.min(250, width * 0.34);
  const right = narrow ? 8 : 130;
  const high = narrow ? 40 : 26;
  const usual = strip.records.map((one) => one.median);
  const most = Math.min(Math.max(...strip.records.map((one) => one.high)), 3 * Math.max(...usual)) || 1;
  const x = scaleLinear([0, most], [left, width - right]).clamp(true).nice();
  const states = new Set(strip.records.map((one) => one.core_state)).size > 1;
  const bottom = 8 + strip.records.length * high;
  return (
    <div ref={ref}>
      <svg width={width} height={bottom + 40} role="img" aria-label={`${strip.title}: ${shown(strip.unit)}, ${better(strip.unit)}`}>
        {x.ticks(narrow ? 3 : 6).map((one) => (
          <g key={one}>
            <line class="grid" x1={x(one)} x2={x(one)} y1={4} y2={bottom} />
            <text class="soft" x={x(one)} y={bottom + 15} text-anchor="middle">{short(one)}</text>
          </g>
        ))}
        <text class="soft" x={(left + width - right) / 2} y={bottom + 33} text-anchor="middle">{`${shown(strip.unit)} (${better(strip.unit)})`}</text>
        {strip.records.map((one, i) => {
          const y = 8 + i * high + (narrow ? 28 : high / 2);
          const far = one.core_state === 'far';
          return (
            <g class={`series ${roleOf(one)}`} key={`${one.subject} ${one.core_state}`}>
              <text class="name" x={narrow ? left : left - 10} y={narrow ? y - 12 : y + 4} text-anchor={narrow ? 'start' : 'end'}>
                {`${one.subject}${states && one.core_state !== 'n/a' ? `, ${one.core_state}` : ''}`.slice(0, 40)}
              </text>
              <line class="spread" x1={x(one.low)} x2={x(one.high)} y1={y} y2={y} />
              {roleOf(one) === 'limit' ? <line class="bound" x1={x(one.median)} x2={x(one.median)} y1={y - 8} y2={y + 8} /> : <circle class={far ? 'ring' : 'disc'} cx={x(one.median)} cy={y} r={5} />}
              <text class={one.verified ? 'value' : 'value bad'} x={narrow ? width - right : width - right + 10} y={narrow ? y - 12 : y + 4} text-anchor={narrow ? 'end' : 'start'}>
                {`${short(one.median)}${one.ratio_to_unbound ? `  ×${ratio(one.ratio_to_unbound.median)}` : ''}${one.verified ? '' : '  WRONG'}`}
              </text>
              <title>{`${one.subject}: median ${short(one.median)}, ${short(one.low)} to ${short(one.high)} ${shown(one.unit)}, ${plural(one.samples, 'sample')}${one.placement.length > 0 ? `, PUs ${one.placement.join(' ')}` : ''}`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function recordsOf(picture: Picture) {
  return picture.kind === 'strip' ? picture.records : picture.series.flatMap((one) => one.points.map((point) => point.record));
}

export function PictureFigure({ bench, picture }: { bench: string; picture: Picture }) {
  return (
    <Figure
      title={picture.title}
      name={`${bench} ${picture.title}`.replace(/[^a-z0-9]+/gi, '-')}
      note={picture.kind === 'curves' ? summaryOf(picture) || undefined : undefined}
      table={{
        columns: ['subject', 'result', shown(picture.unit), 'low', 'high', 'samples', 'times better than the baseline', 'cores', 'right', 'PUs'],
        rows: recordsOf(picture).map((one) => [
          one.subject, one.result, short(one.median), short(one.low), short(one.high), one.samples,
          one.ratio_to_unbound ? ratio(one.ratio_to_unbound.median) : '–', one.core_state, one.verified ? 'yes' : 'NO', one.placement.join(' '),
        ]),
      }}
    >
      {picture.kind === 'curves' ? <CurvePicture curves={picture} /> : <StripPicture strip={picture} />}
    </Figure>
  );
}

const shownFirst = 12;

// Words of cases that a reader can't guess (docs/bench.md).
const cases: Record<string, string> = {
  bounced: 'nobody looks at what is sent: to hand on a pointer is enough, at any size',
  touched: 'what is sent is written before, and read when it has come',
  cached: 'buffers stay in the cache; else they are written before and read after each message, as programs do',
};

function GroupSection({ group }: { group: Group }) {
  const [all, setAll] = useState(false);
  const pictures = all ? group.pictures : group.pictures.slice(0, shownFirst);
  return (
    <>
      <h2 class="bench" id={`bench-${group.bench}`}>{group.bench}</h2>
      {group.wrong.length > 0 && <p class="bad">{plural(group.wrong.length, 'record')} had a wrong result: {[...new Set(group.wrong.map((one) => `${one.case}, ${one.subject}`))].slice(0, 5).join('; ')}.</p>}
      {Object.entries(cases).filter(([word]) => group.pictures.some((one) => one.title.includes(word) || recordsOf(one).some((record) => record.result.includes(word)))).map(([word, is]) => <p class="note" key={word}>{`“${word}”: ${is}.`}</p>)}
      <div class={pictures.some((one) => one.kind === 'curves') ? '' : 'pictures'}>
        {pictures.map((picture) => (
          <PictureFigure key={picture.title + picture.kind} bench={group.bench} picture={picture} />
        ))}
      </div>
      {group.pictures.length > pictures.length && (
        <p><button type="button" onClick={() => setAll(true)}>Show {group.pictures.length - pictures.length} more</button></p>
      )}
      {group.absent.length > 0 && (
        <details>
          <summary>{plural(group.absent.length, 'subject')} could not be measured</summary>
          <Rows caption={`Not measured in ${group.bench}`} table={{ columns: ['case', 'subject', 'why'], rows: group.absent.map((one) => [one.case, one.subject, one.reason]) }} />
        </details>
      )}
    </>
  );
}

export function BenchmarksView({ page }: { page: Page }) {
  const files = documentsOf(page, 'nigh-bench');
  const groups = groupsOf(files);
  const explained = [...new Set(files.filter((file) => !isModelled(file)).flatMap((file) => file.records.map((one) => one.subject)))].filter((one) => one in subjects);
  const facts = Object.entries(files[0]?.machine ?? {}).filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  return (
    <section aria-labelledby="title">
      <h1 id="title">How does it compare?</h1>
      <p class="lead">
        {groups.length > 0
          ? `${plural(groups.length, 'benchmark')}, each subject by turns with the others. A line goes from the smallest sample to the largest, the mark is the median; a disc: cores near each other, a ring: cores far apart. × is how many times nigh is better: the median over runs side by side, which is not the ratio of two medians.`
          : 'No benchmark is in this page.'}
      </p>
      {groups.length > 1 && (
        <p class="choices">
          {groups.map((group) => <button key={group.bench} type="button" onClick={() => document.getElementById(`bench-${group.bench}`)?.scrollIntoView()}>{group.bench}</button>)}
        </p>
      )}
      {explained.length > 0 && (
        <details>
          <summary>Who is compared</summary>
          <Rows caption="Subjects" table={{ columns: ['subject', 'is'], rows: explained.map((one) => [one, subjects[one]!]) }} />
        </details>
      )}
      <LibrariesFigure files={files} />
      {groups.map((group) => (
        <GroupSection key={group.bench} group={group} />
      ))}
      {facts.length > 0 && (
        <details>
          <summary>Where this was measured</summary>
          <Rows caption="The machine of the first file" table={{ columns: ['what', 'value'], rows: facts.map(([what, value]) => [what, String(value)]) }} />
        </details>
      )}
      {groups.length === 0 && <pre>{'nigh bench mpi-pingpong --save pingpong.json\nnigh report pingpong.json'}</pre>}
    </section>
  );
}
