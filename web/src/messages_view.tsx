// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { documentsOf, type Page, type RankMap, type Traffic } from './documents';
import { Figure, Rows, useWidth } from './figure';
import { bytes, plural, scaled, whole } from './numbers';
import { bordersOf, type Carrier, type Cells, cellsOf, functionsOf, heaviest, hostsOf, ranksOf, scaleOf, strengths, sumsOf } from './traffic';

const ramps = {
  light: ['#eef2f7', '#c3d7f0', '#84aee3', '#3f7ecb', '#14519b', '#062a5c'],
  dark: ['#1d232d', '#1f3a63', '#2f66ad', '#5b95e6', '#a5c8ff', '#f2f7ff'],
};

const channels = (colour: string) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];

function colours(dark: boolean): Uint8ClampedArray {
  const stops = ramps[dark ? 'dark' : 'light'].map(channels);
  const out = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; ++i) {
    const at = (i / 255) * (stops.length - 1);
    const low = stops[Math.floor(at)]!;
    const high = stops[Math.min(stops.length - 1, Math.floor(at) + 1)]!;
    for (let c = 0; c < 3; ++c) out[3 * i + c] = low[c]! + (high[c]! - low[c]!) * (at % 1);
  }
  return out;
}

const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;

// One pixel for each pair, enlarged without smoothing.
function paint(canvas: HTMLCanvasElement, cells: Cells, values: Float64Array) {
  canvas.width = cells.side;
  canvas.height = cells.side;
  const context = canvas.getContext('2d');
  if (!context) return;
  const image = context.createImageData(cells.side, cells.side);
  const table = colours(isDark());
  strengths(values).forEach((strength, i) => {
    const at = Math.round(strength * 255) * 3;
    image.data[4 * i] = table[at]!;
    image.data[4 * i + 1] = table[at + 1]!;
    image.data[4 * i + 2] = table[at + 2]!;
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

// The colours of the scale, and where it begins and ends.
function Ramp({ values, words }: { values: Float64Array; words: (value: number) => string }) {
  const [least, most] = scaleOf(values);
  if (most === 0) return null;
  const stops = ramps[isDark() ? 'dark' : 'light'].slice(1);
  return (
    <p class="ramp">
      {words(least)} <i style={{ background: `linear-gradient(90deg, ${stops.join(', ')})` }} /> {words(most)}
    </p>
  );
}

function HeatMap({ traffic, cells, by }: { traffic: Traffic; cells: Cells; by: 'bytes' | 'messages' }) {
  const { ref, width } = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, move] = useState<{ from: number; to: number } | null>(null);
  const hosts = hostsOf(traffic, cells);
  const beside = hosts.length > 1 && width > 560 ? 150 : 0; // for names of hosts
  const side = Math.min(width - 54 - beside, 680);
  const cell = side / cells.side;
  useEffect(() => {
    const draw = () => canvas.current && paint(canvas.current, cells, cells[by]);
    draw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => scheme.removeEventListener('change', draw);
  }, [cells, by]);
  const point = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const clamp = (value: number) => Math.max(0, Math.min(cells.side - 1, Math.floor(value)));
    move({ from: clamp(((event.clientY - box.top) / box.height) * cells.side), to: clamp(((event.clientX - box.left) / box.width) * cells.side) });
  };
  const keys: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const key = (event: KeyboardEvent) => {
    const step = keys[event.key];
    if (!step) return;
    event.preventDefault();
    const clamp = (value: number) => Math.max(0, Math.min(cells.side - 1, value));
    move((now) => ({ from: clamp((now?.from ?? 0) + step[0]), to: clamp((now?.to ?? 0) + step[1]) }));
  };
  const every = Math.max(1, Math.ceil((30 * cells.side) / side));
  const ticks = Array.from({ length: Math.ceil(cells.side / every) }, (_, i) => i * every);
  const borders = bordersOf(traffic, cells);
  const index = at ? at.from * cells.side + at.to : 0;
  const where = (row: number) => {
    const [first, last] = [traffic.hosts[row * cells.width], traffic.hosts[Math.min(traffic.ranks, (row + 1) * cells.width) - 1]];
    return first && traffic.hosts.some((one) => one !== first) && first === last ? ` (${first})` : '';
  };
  const who = () => {
    const [all, ours] = [cells.messages[index]!, cells.carried[index]!];
    if (all === 0 || (traffic.functions ?? []).length === 0) return '';
    return ours === 0 ? ', carried by the library' : ours >= all ? ', carried by nigh' : `, of which nigh carried ${whole(ours)}`;
  };
  return (
    <div ref={ref} class="heat">
      <div class="heat-grid" style={{ width: `${side + 54}px` }}>
        <svg class="heat-axes" width={side + 54 + beside} height={side + 44} aria-hidden="true">
          {beside > 0 && hosts.filter((one) => one.rows * cell >= 12).map((one) => (
            <text key={one.row} class="soft" x={side + 58} y={44 + (one.row + one.rows / 2) * cell}>{one.host.length > 20 ? `${one.host.slice(0, 19)}…` : one.host}</text>
          ))}
          {ticks.map((one) => (
            <g key={one}>
              <text class="soft" x={48 + (one + 0.5) * cell} y={32} text-anchor="middle">{one * cells.width}</text>
              <text class="soft" x={42} y={44 + (one + 0.5) * cell} text-anchor="end">{one * cells.width}</text>
            </g>
          ))}
          <text class="soft" x={48} y={14}>to rank</text>
          <text class="soft" x={12} y={44} transform="rotate(-90 12 44)" text-anchor="end">from rank</text>
        </svg>
        <canvas
          ref={canvas}
          class="heat-map"
          style={{ left: '48px', top: '40px', width: `${side}px`, height: `${side}px` }}
          tabIndex={0}
          role="img"
          aria-label={`${by} that each rank sent to each other one; the arrow keys move over the pairs`}
          onPointerMove={point}
          onPointerLeave={() => move(null)}
          onKeyDown={key}
        />
        <svg class="heat-over" style={{ left: '48px', top: '40px' }} width={side} height={side} aria-hidden="true">
          {borders.map((one) => (
            <g key={one.row} class={one.host ? 'host' : 'package-line'}>
              <line x1={one.row * cell} x2={one.row * cell} y1={0} y2={side} />
              <line y1={one.row * cell} y2={one.row * cell} x1={0} x2={side} />
            </g>
          ))}
          {cell >= 46 && [...strengths(cells[by])].map((strength, i) => strength > 0 && (
            <text key={i} class={(strength > 0.55) !== isDark() ? 'on-strong' : 'on-weak'} x={((i % cells.side) + 0.5) * cell} y={(Math.floor(i / cells.side) + 0.5) * cell + 4} text-anchor="middle">{by === 'bytes' ? bytes(cells.bytes[i]!) : whole(cells.messages[i]!)}</text>
          ))}
          {at && <rect class="cursor" x={at.to * cell} y={at.from * cell} width={Math.max(3, cell)} height={Math.max(3, cell)} />}
        </svg>
      </div>
      <Ramp values={cells[by]} words={by === 'bytes' ? bytes : whole} />
      <p class="readout" role="status">
        {at
          ? `Rank ${ranksOf(cells, at.from, traffic.ranks)}${where(at.from)} to rank ${ranksOf(cells, at.to, traffic.ranks)}${where(at.to)}: ${bytes(cells.bytes[index]!)} in ${whole(cells.messages[index]!)} ${cells.messages[index] === 1 ? 'message' : 'messages'}${who()}.`
          : 'Point at a pair, or use the arrow keys.'}
      </p>
    </div>
  );
}

function MapTable({ map }: { map: RankMap }) {
  return (
    <div class="hint">
      <h2>Other places for the ranks</h2>
      <p>{map.verdict}</p>
      <p class="note">Computed from the record; nothing was run so.</p>
      <Rows
        caption={`Bytes that cross each level on ${map.machine}, ${plural(map.nodes, 'host')}`}
        table={{
          columns: ['map', ...map.levels.map((one) => `between ${one.name.replace(/([^s])$/, '$1s')}`), 'bytes, each times what its level costs'],
          rows: map.maps.map((one) => [one.name, ...one.crossed.map((value) => bytes(value)), scaled(one.cost).trim()]),
        }}
      />
    </div>
  );
}

function TrafficFigure({ traffic, explained }: { traffic: Traffic; explained: boolean }) {
  const [way, setWay] = useState(-1);
  const [communicator, setCommunicator] = useState(-1);
  const [fn, setFn] = useState(-1);
  const [carrier, setCarrier] = useState<Carrier>('both');
  const [by, setBy] = useState<'bytes' | 'messages'>('bytes');
  const cells = useMemo(() => cellsOf(traffic, { way, communicator, function: fn, carrier }), [traffic, way, communicator, fn, carrier]);
  const functions = useMemo(() => functionsOf(traffic), [traffic]);
  const carried = functions.reduce((sum, one) => sum + one.carried, 0);
  const sent = functions.reduce((sum, one) => sum + one.bytes, 0);
  const sums = useMemo(() => sumsOf(traffic, cells), [traffic, cells]);
  const pairs = useMemo(() => heaviest(cells, 5000), [cells]);
  const number = (event: { currentTarget: HTMLSelectElement }) => Number(event.currentTarget.value);
  const isAll = way < 0 && communicator < 0 && fn < 0 && carrier === 'both';
  const used = useMemo(() => new Set(traffic.entries.map((one) => one[3])), [traffic]);
  const between = sums.all > 0 ? (100 * sums.betweenHosts) / sums.all : 0;
  return (
    <>
      <p class="lead">
        {isAll ? plural(traffic.ranks, 'rank') : 'So chosen, they'} sent {bytes(sums.all)} in {whole(sums.messages)} messages
        {sums.hosts > 1 ? `; ${between.toFixed(0)} % of the bytes (${bytes(sums.betweenHosts)}) went from one of the ${sums.hosts} hosts to another.` : ', all on one host.'}
        {sums.packages > 1 && ` ${((100 * sums.betweenPackages) / (sums.all || 1)).toFixed(0)} % went between packages of a host.`}
        {sent > 0 && isAll && ` Of all bytes nigh carried ${((100 * carried) / sent).toFixed(0)} %, the MPI library the rest; most are sent by ${functions[0]!.name}.`}
      </p>
      <div class="choices">
        <label>
          By{' '}
          <select value={by} onChange={(event) => setBy(event.currentTarget.value as 'bytes' | 'messages')}>
            <option value="bytes">bytes</option>
            <option value="messages">messages</option>
          </select>
        </label>
        <label>
          Sent as{' '}
          <select value={way} onChange={(event) => setWay(number(event))}>
            <option value={-1}>all</option>
            {traffic.ways.map((one, i) => used.has(i) && (
              <option key={one} value={i}>{one.replaceAll('_', '-')}</option>
            ))}
          </select>
        </label>
        {functions.length > 1 && (
          <label>
            Function{' '}
            <select value={fn} onChange={(event) => setFn(number(event))}>
              <option value={-1}>all</option>
              {functions.map((one) => (
                <option key={one.index} value={one.index}>{`${one.name} (${bytes(one.bytes)})`}</option>
              ))}
            </select>
          </label>
        )}
        {functions.length > 0 && (
          <label>
            Carried by{' '}
            <select value={carrier} onChange={(event) => setCarrier(event.currentTarget.value as Carrier)}>
              <option value="both">nigh or the library</option>
              <option value="nigh">nigh</option>
              <option value="library">the library</option>
            </select>
          </label>
        )}
        {traffic.communicators.length > 1 && (
          <label>
            Communicator{' '}
            <select value={communicator} onChange={(event) => setCommunicator(number(event))}>
              <option value={-1}>all</option>
              {traffic.communicators.map((one, i) => (
                <option key={i} value={i}>{`${one.name || 'without a name'} (${plural(one.size, 'rank')})`}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Figure
        title={`${by === 'bytes' ? 'Bytes' : 'Messages'} from rank to rank`}
        name="who-talks-to-whom"
        note={`From ${traffic.name.split('/').filter(Boolean).pop() ?? 'a record'}; the scale is logarithmic.${traffic.width > 1 ? ` A row is ${traffic.width} ranks.` : ''}${sums.hosts > 1 ? ' Lines part the hosts.' : ''}${sums.packages > 1 ? ' Dashed lines part the packages of a host.' : ''}${traffic.missing.length > 0 ? ` ${plural(traffic.missing.length, 'rank')} left no record.` : ''}`}
        table={{
          columns: ['from rank', 'to rank', 'bytes', 'messages'],
          rows: pairs.map((one) => [ranksOf(cells, one.from, traffic.ranks), ranksOf(cells, one.to, traffic.ranks), one.bytes, one.messages]),
        }}
      >
        <HeatMap traffic={traffic} cells={cells} by={by} />
      </Figure>
      {sent > carried && (
        <p class="note">
          {explained ? <>Why the library carried messages: <a href="#/coverage">Coverage</a>.</> : <>Why the library carried messages, <code>nigh run --explain --json --explain-file account.json</code> tells: its files make the view Coverage.</>}
        </p>
      )}
      {functions.length > 0 && (
        <Rows
          caption="By function"
          table={{
            columns: ['function', 'bytes', 'messages', 'of the bytes, carried by nigh'],
            rows: functions.map((one) => [one.name, bytes(one.bytes), whole(one.messages), one.bytes > 0 ? `${((100 * one.carried) / one.bytes).toFixed(0)} %` : '–']),
          }}
        />
      )}
    </>
  );
}

export function MessagesView({ page }: { page: Page }) {
  const records = documentsOf(page, 'nigh-traffic');
  const maps = documentsOf(page, 'nigh-rank-map');
  const explained = documentsOf(page, 'nigh-mpi-account').length > 0;
  return (
    <section aria-labelledby="title">
      <h1 id="title">Who talks to whom?</h1>
      {records.map((one, i) => (
        <TrafficFigure key={i} traffic={one} explained={explained} />
      ))}
      {maps.map((one, i) => (
        <MapTable key={i} map={one} />
      ))}
      <div class="hint">
        <h2>{records.length === 0 ? 'A record of your program' : maps.length === 0 ? 'Would another map of the ranks help?' : 'A map for other hosts'}</h2>
        <p>{records.length === 0 ? 'Two commands put it here:' : 'Computed from the record, for as many hosts as you say; the program is not run:'}</p>
        <pre>
          {records.length > 0
            ? 'nigh plan --ranks record --nodes 4 --json > map.json\nnigh report record map.json'
            : 'nigh run --record record -- mpirun -n 4 ./app\nnigh report record'}
        </pre>
      </div>
    </section>
  );
}
