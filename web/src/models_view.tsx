// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { scaleLinear, scaleLog } from 'd3-scale';
import { useState } from 'preact/hooks';
import { moreIsBetter } from './benchmarks';
import { PictureFigure } from './benchmarks_view';
import { documentsOf, type Page, type Steps, type Transpose, type TransposeWay } from './documents';
import { Figure, useWidth } from './figure';
import { axesOf, choiceOf, type Mix, mixesOf, type Pairs, pairsOf, stepCurvesOf, stepWords, transposeTitle, wayName } from './models';
import { plural, short } from './numbers';

function difference(ratio: number): string {
  const percent = Math.round(100 * (ratio - 1));
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
}

// A line for each: a square where it was predicted, a cross where it was published.
function PairPicture({ of }: { of: Pairs }) {
  const { ref, width } = useWidth();
  const narrow = width < 560;
  const [left, right, high] = [narrow ? 8 : 190, narrow ? 18 : 120, narrow ? 40 : 24];
  const x = scaleLinear([0, Math.max(...of.pairs.flatMap((one) => [one.predicted, one.published])) || 1], [left, width - right]).nice();
  const bottom = 8 + of.pairs.length * high;
  return (
    <div ref={ref}>
      <svg width={width} height={bottom + 40} role="img" aria-label={`${of.title}, ${of.unit}: predicted and published`}>
        {x.ticks(narrow ? 3 : 6).map((one) => (
          <g key={one}>
            <line class="grid" x1={x(one)} x2={x(one)} y1={4} y2={bottom} />
            <text class="soft" x={x(one)} y={bottom + 15} text-anchor="middle">{short(one)}</text>
          </g>
        ))}
        <text class="soft" x={(left + width - right) / 2} y={bottom + 33} text-anchor="middle">{`${of.unit} (${moreIsBetter(of.unit) ? 'more' : 'less'} is better)`}</text>
        {of.pairs.map((one, i) => {
          const y = 8 + i * high + (narrow ? 28 : high / 2);
          return (
            <g key={one.name} class="series ours">
              <text class="plain" x={narrow ? left : left - 10} y={narrow ? y - 12 : y + 4} text-anchor={narrow ? 'start' : 'end'}>{one.name}</text>
              <line class="spread" x1={x(one.predicted)} x2={x(one.published)} y1={y} y2={y} />
              <rect class="square" x={x(one.predicted) - 4.5} y={y - 4.5} width={9} height={9} />
              <path class="cross" d={`M${x(one.published) - 4},${y - 4}l8,8m0,-8l-8,8`} />
              <text class="soft" x={narrow ? width - right : width - right + 10} y={narrow ? y - 12 : y + 4} text-anchor={narrow ? 'end' : 'start'}>{`${short(one.predicted)}, ${difference(one.predicted / one.published)}`}</text>
              <title>{`${one.name}: predicted ${short(one.predicted)}, published ${short(one.published)} ${of.unit}`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

// Policies about the line of the average placement.
function MixPicture({ mix, low, most }: { mix: Mix; low: number; most: number }) {
  const { ref, width } = useWidth();
  const [left, right, high] = [104, 56, 22];
  const x = scaleLinear([low, most], [left, width - right]);
  const bottom = 6 + mix.records.length * high;
  return (
    <div ref={ref}>
      <svg width={width} height={bottom + 36} role="img" aria-label={`${mix.name}: speed by each policy against the average placement, %`}>
        {x.ticks(width < 480 ? 3 : 5).map((one) => (
          <g key={one}>
            <line class={one === 0 ? 'one' : 'grid'} x1={x(one)} x2={x(one)} y1={2} y2={bottom} />
            <text class="soft" x={x(one)} y={bottom + 14} text-anchor="middle">{`${one > 0 ? '+' : one < 0 ? '−' : ''}${Math.abs(one)}`}</text>
          </g>
        ))}
        <text class="soft" x={(left + width - right) / 2} y={bottom + 30} text-anchor="middle">% of speed above the average placement</text>
        {mix.records.map((one, i) => {
          const y = 6 + i * high + high / 2;
          return (
            <g key={one.subject} class={`series ${one.subject === 'improved' ? 'ours' : 'peer'}`}>
              <text class="name" x={left - 10} y={y + 4} text-anchor="end">{one.subject}</text>
              <line class="spread" x1={x(one.low)} x2={x(one.high)} y1={y} y2={y} />
              <rect class="square" x={x(one.median) - 4.5} y={y - 4.5} width={9} height={9} />
              <text class="value" x={width - right + 8} y={y + 4}>{`${one.median < -0.5 ? '−' : '+'}${Math.abs(one.median).toFixed(0)} %`}</text>
              <title>{`${one.subject}: ${short(one.median)} % (${short(one.low)} to ${short(one.high)})`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

const order: (keyof Steps)[] = ['local_reorder', 'on_node', 'between_nodes', 'local_transpose', 'synchronisation'];

// The steps of each way, one after the other.
function StepBars({ ways }: { ways: TransposeWay[] }) {
  const { ref, width } = useWidth();
  const narrow = width < 560;
  const [left, right, high] = [narrow ? 8 : 190, narrow ? 8 : 90, narrow ? 42 : 24];
  const x = scaleLinear([0, Math.max(...ways.map((one) => one.seconds.total + one.seconds.overlapped)) * 1e3 || 1], [left, width - right]);
  const bottom = 6 + ways.length * high;
  return (
    <div ref={ref}>
      <svg width={width} height={bottom + 38} role="img" aria-label="Predicted time of each way, by step">
        {ways.map((way, i) => {
          const y = 6 + i * high + (narrow ? 18 : 4);
          let at = 0;
          return (
            <g key={wayName(way)} class={`series ${i === 0 ? 'ours' : ''}`}>
              <text class="name" x={narrow ? left : left - 10} y={narrow ? y - 5 : y + 13} text-anchor={narrow ? 'start' : 'end'}>{wayName(way)}</text>
              {order.map((step, k) => {
                const from = at;
                at += way.seconds[step] * 1e3;
                return <rect key={step} class={`step s${k}`} x={x(from)} y={y} width={Math.max(0, x(at) - x(from) - 0.5)} height={15}><title>{`${stepWords(step)}: ${short(way.seconds[step] * 1e3)} ms`}</title></rect>;
              })}
              <text class="value" x={narrow ? width - right : width - right + 8} y={narrow ? y - 5 : y + 13} text-anchor={narrow ? 'end' : 'start'}>{`${short(way.seconds.total * 1e3)} ms`}</text>
            </g>
          );
        })}
        {x.ticks(narrow ? 3 : 6).map((one) => <text key={one} class="soft" x={x(one)} y={bottom + 15} text-anchor="middle">{short(one)}</text>)}
        <text class="soft" x={(left + width - right) / 2} y={bottom + 32} text-anchor="middle">ms, predicted (less is better)</text>
      </svg>
    </div>
  );
}

function Lines({ curves, axis, at }: { curves: Map<string, [number, number][]>; axis: string; at: number }) {
  const { ref, width } = useWidth();
  const [left, right, top, bottom] = [58, 24, 10, 190];
  const points = [...curves.values()].flat();
  const x = scaleLog([Math.min(...points.map((one) => one[0])), Math.max(...points.map((one) => one[0]))], [left, width - right]).base(2);
  const y = scaleLog([Math.min(...points.map((one) => one[1])) * 1e3, Math.max(...points.map((one) => one[1])) * 1e3], [bottom, top]).nice();
  const xs = [...new Set(points.map((one) => one[0]))].sort((a, b) => a - b);
  const every = Math.ceil(xs.length / Math.max(2, Math.floor(width / 70)));
  const best = [...curves].sort((a, b) => (a[1].find((one) => one[0] === at)?.[1] ?? Infinity) - (b[1].find((one) => one[0] === at)?.[1] ?? Infinity))[0]?.[0];
  return (
    <div ref={ref}>
      <svg width={width} height={bottom + 44} role="img" aria-label={`Predicted time of each way over ${axis}`}>
        {y.ticks(4).filter((one) => /^1/.test(one.toExponential())).map((one) => (
          <g key={one}>
            <line class="grid" x1={left} x2={width - right} y1={y(one)} y2={y(one)} />
            <text class="soft" x={left - 8} y={y(one) + 4} text-anchor="end">{Number(one.toPrecision(3))}</text>
          </g>
        ))}
        <line class="one" x1={x(at)} x2={x(at)} y1={top} y2={bottom} />
        {xs.filter((_, i) => i % every === 0).map((one) => <text key={one} class="soft" x={x(one)} y={bottom + 16} text-anchor="middle">{one}</text>)}
        <text class="soft" x={(left + width - right) / 2} y={bottom + 36} text-anchor="middle">{axis}</text>
        <text class="soft" x={14} y={(top + bottom) / 2} transform={`rotate(-90 14 ${(top + bottom) / 2})`} text-anchor="middle">ms (less is better)</text>
        {[...curves].map(([name, line]) => (
          <g key={name} class={`series modelled ${name === best ? 'ours' : ''}`}>
            <polyline class="curve" points={line.map((one) => `${x(one[0])},${y(one[1] * 1e3)}`).join(' ')}><title>{name}</title></polyline>
          </g>
        ))}
      </svg>
    </div>
  );
}

function TransposeFigures({ of }: { of: Transpose }) {
  const grid = of.curves?.grid ?? [];
  const { sides, nodes } = axesOf(grid);
  const nearest = (list: number[], wanted: number) => list.reduce((best, one, i) => (Math.abs(Math.log(one / wanted)) < Math.abs(Math.log((list[best] ?? 1) / wanted)) ? i : best), 0);
  const [side, setSide] = useState(nearest(sides, Math.sqrt(of.rows * of.columns)));
  const [count, setCount] = useState(nearest(nodes, of.nodes));
  const interactive = sides.length > 0 && nodes.length > 0;
  const chosen = interactive ? choiceOf(grid, sides[side]!, nodes[count]!) : null;
  const ways = (chosen?.ways ?? of.ways).slice(0, 12);
  const best = ways[0];
  const where = interactive ? `${sides[side]} x ${sides[side]} on ${plural(nodes[count]!, 'node')}` : `${of.rows} x ${of.columns} on ${plural(of.nodes, 'node')}`;
  return (
    <>
      <h2 class="bench">A transpose between nodes: {transposeTitle(of)}</h2>
      <p>{best ? `Of ${where}, ${best.ranks} x ${best.threads} ranks x threads by ${best.method} is predicted to be the fastest: ${short(best.seconds.total * 1e3)} ms.` : `${where} can't be done.`}</p>
      {interactive && (
        <div class="choices">
          <label>Rows and columns <input type="range" min={0} max={sides.length - 1} value={side} aria-valuetext={String(sides[side])} onInput={(event) => setSide(Number(event.currentTarget.value))} /> <output>{sides[side]}</output></label>
          <label>Nodes <input type="range" min={0} max={nodes.length - 1} value={count} aria-valuetext={String(nodes[count])} onInput={(event) => setCount(Number(event.currentTarget.value))} /> <output>{nodes[count]}</output></label>
        </div>
      )}
      {ways.length > 0 && (
        <Figure
          title={`Ways to transpose ${where}`}
          name="transpose-ways"
          note={`Ranks x threads of a node, and method. From the left: ${order.map(stepWords).join(', ')}. Predicted; it rests on: ${of.rests_on.join('; ')}.`}
          table={{ columns: ['ranks', 'threads', 'method', 'panels', ...order.map((step) => `${stepWords(step)}, ms`), 'all, ms'], rows: ways.map((one) => [one.ranks, one.threads, one.method, one.panels, ...order.map((step) => short(one.seconds[step] * 1e3)), short(one.seconds.total * 1e3)]) }}
        >
          <StepBars ways={ways} />
        </Figure>
      )}
      {chosen && (
        <div class="pictures">
          {([['nodes', chosen.overNodes, nodes[count]!], ['rows and columns', chosen.overSides, sides[side]!]] as const).map(([axis, curves, at]) => (
            <Figure key={axis} title={`The same over ${axis}`} name={`transpose-${axis.split(' ')[0]}`} note="A line is a way, the blue one the fastest where the upright line stands." table={{ columns: ['way', axis, 'ms'], rows: [...curves].flatMap(([name, line]) => line.map((one) => [name, one[0], short(one[1] * 1e3)])) }}>
              <Lines curves={curves} axis={axis} at={at} />
            </Figure>
          ))}
        </div>
      )}
    </>
  );
}

export function ModelsView({ page }: { page: Page }) {
  const files = documentsOf(page, 'nigh-bench');
  const transposes = documentsOf(page, 'nigh-transpose');
  const pairs = pairsOf(files);
  const mixes = mixesOf(files);
  const curves = stepCurvesOf(files);
  const values = mixes.flatMap((mix) => mix.records.flatMap((one) => [one.low, one.high]));
  return (
    <section aria-labelledby="title">
      <h1 id="title">What do the models say?</h1>
      <p class="lead">Predictions, beside what was published or measured where that is known. A square or a broken line is predicted, a cross published, a disc measured.</p>
      {transposes.map((one, i) => <TransposeFigures key={i} of={one} />)}
      {curves.length > 0 && <h2 class="bench">The transpose between hosts, measured and predicted</h2>}
      {curves.map((one) => <PictureFigure key={one.title} bench="transpose-steps" picture={one} />)}
      {mixes.length > 0 && (
        <>
          <h2 class="bench">Placement where links differ: policies in the simulator</h2>
          <p>Speed on 4 x Opteron 6272 (8 nodes), the machine of AsymSched (USENIX ATC 2015), against the average of all static placements; of several programs the geometric mean. The line goes from the lowest to the highest start. “best” is the best of these; “improved” may also part memory from threads and share nodes. Only streamcluster is fitted to published figures, the others stand for a class of demand. Nothing here was timed.</p>
          <div class="pictures">
            {mixes.map((mix) => (
              <Figure key={mix.name} title={mix.name} name={`placement-${mix.name}`} table={{ columns: ['policy', '% above the average', 'low', 'high'], rows: mix.records.map((one) => [one.subject, short(one.median), short(one.low), short(one.high)]) }}>
                <MixPicture mix={mix} low={Math.min(-10, ...values)} most={Math.max(10, ...values)} />
              </Figure>
            ))}
          </div>
        </>
      )}
      {pairs.length > 0 && (
        <>
          <h2 class="bench">Predicted and published</h2>
          <p>The models are fitted to some of these: the bandwidths, with two constants for latencies, and Haan's four transpose speeds. The others follow. “0-3 master 0”: threads on nodes 0 and 3, the thread that starts on 0; “1x4”: 1 rank with 4 threads on each node.</p>
          <div class="pictures">
            {pairs.map((one) => (
              <Figure key={`${one.title} ${one.unit}`} title={`${one.title}${one.title.includes(':') ? '' : `, ${one.unit}`}`} name="predicted-published" table={{ columns: ['case', 'predicted', 'published', one.unit], rows: one.pairs.map((pair) => [pair.name, short(pair.predicted), short(pair.published), '']) }}>
                <PairPicture of={one} />
              </Figure>
            ))}
          </div>
        </>
      )}
    </section>
  );
}
