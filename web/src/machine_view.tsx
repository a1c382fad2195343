// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { useMemo, useState } from 'preact/hooks';
import { documentsOf, type Links, type Machine, type Page, type Processes } from './documents';
import { Figure, Rows, useWidth } from './figure';
import { placesOf, ranges } from './traffic';
import { type Box, layout, linkSources, type Mark, marksOfPlan, marksOfProcesses, memoryOf, memoryWords, nodesOf, planAgainst, pusOf, type Share, sources, thick } from './machine';
import { binary, plural, short } from './numbers';

// In the width of a PU; a long name leaves room for how many more there are.
function markText(mark: Mark): string {
  if (mark.more === 0) return mark.text;
  const more = `+${mark.more}`;
  return (/^[\d.]+$/.test(mark.text) ? mark.text : mark.text.slice(0, Math.max(1, 5 - more.length))) + more;
}

function Boxes({ box, marks, path }: { box: Box; marks: Map<number, Mark>; path: string }) {
  const mark = box.pu === undefined ? undefined : marks.get(box.pu);
  const text = box.height >= 16;
  return (
    <g transform={`translate(${box.x},${box.y})`}>
      <rect class={`box ${box.kind} ${mark ? `team t${mark.team % 8}${mark.missing ? ' missing' : ''}` : ''}`} width={box.width} height={box.height} rx={text ? 3 : 0.5} />
      {box.pu !== undefined && text && (
        <text class={mark && !mark.missing ? `mark${markText(mark).length > 4 ? ' long' : ''}` : 'pu-number'} x={box.width / 2} y={box.height / 2 + 4} text-anchor="middle">
          {mark ? markText(mark) : box.label}
        </text>
      )}
      {box.pu === undefined && box.label && <text class="label" x={box.kind === 'device' ? 8 : 6} y={14}>{box.label}</text>}
      {(mark || box.device || box.pu !== undefined) && (
        <title>{box.device ? `${box.device.title ?? box.device.type}, ${box.device.bus}, near PUs ${box.device.pus}` : `PU ${box.pu}${mark ? `: ${mark.title}` : ''}`}</title>
      )}
      {box.shares?.map((one, i) => (
        <rect key={i} class={`box memory team t${one.team % 8}`} x={one.x} y={18} width={one.width} height={thick}>
          <title>{one.title}</title>
        </rect>
      ))}
      {box.inside.map((one, i) => (
        <Boxes key={i} box={one} marks={marks} path={`${path}.${i}`} />
      ))}
    </g>
  );
}

export function Tree({ machine, marks, words, memory }: { machine: Machine; marks: Map<number, Mark>; words: string; memory?: Map<number, Share[]> | undefined }) {
  const { ref, width } = useWidth();
  const { root } = useMemo(() => layout(machine, width, memory), [machine, width, memory]);
  return (
    <div ref={ref} class="wide-picture" tabIndex={0}>
      <svg class="machine" width={root.width + 2} height={root.height + 2} viewBox={`-1 -1 ${root.width + 2} ${root.height + 2}`} role="img" aria-label={words}>
        <Boxes box={root} marks={marks} path="0" />
      </svg>
    </div>
  );
}

interface Matrix {
  key: string;
  title: string;
  unit: string;
  more: boolean; // is better
  values: (number | null)[][];
  source: (row: number, column: number) => string;
}

function matricesOf(machine: Machine): Matrix[] {
  const out: Matrix[] = [];
  const add = (key: string, title: string, more: boolean, links?: Links) => {
    if (!links) return;
    const { source } = links;
    out.push({ key, title, unit: links.unit, more, values: links.values, source: (row, column) => (Array.isArray(source) ? source[row]?.[column] : source) ?? 'guessed' });
  };
  add('bandwidth', 'Bandwidth', true, machine.links?.bandwidth);
  add('latency', 'Latency', false, machine.links?.latency);
  if (machine.links?.slit) out.push({ key: 'distance', title: 'Distance by the firmware', unit: 'relative to a local access, which is 10', more: false, values: machine.links.slit, source: () => 'slit' });
  return out.filter((one) => one.values.length > 1);
}

// The unit, the weakest link, and what is not measured.
function noteOf(matrix: Matrix, nodes: number[]): string {
  const cells = matrix.values.flatMap((row, i) => row.map((value, j) => ({ i, j, value, source: matrix.source(i, j) }))).filter((one): one is { i: number; j: number; value: number; source: string } => one.value !== null && one.i !== one.j);
  const last = (one: { source: string }) => (one.source === 'measured' ? 0 : 1); // of several that are as weak
  const weakest = matrix.key === 'distance' ? undefined : [...cells].sort((a, b) => (matrix.more ? a.value - b.value : b.value - a.value) || last(a) - last(b))[0];
  const alike = weakest ? cells.filter((one) => one.value === weakest.value).length : 0;
  const unsure = [...new Set(matrix.values.flatMap((row, i) => row.map((_, j) => matrix.source(i, j))).filter((one) => one !== 'measured'))].map((one) => sources[one] ?? one);
  return [
    `${matrix.key === 'distance' ? 'Relative to a local access, which is 10' : `In ${matrix.unit}`}; ${matrix.more ? 'more' : 'less'} is better, and the stronger colour.`,
    weakest ? `${alike > 1 ? `${alike} are the weakest, one of them` : 'The weakest:'} from the memory of node ${nodes[weakest.j] ?? weakest.j} to the CPUs of node ${nodes[weakest.i] ?? weakest.i}, ${short(weakest.value)}, ${sources[weakest.source] ?? weakest.source}.` : '',
    unsure.length > 0 ? `Hatched is not measured, but ${unsure.join(' or ')}.` : matrix.values.some((row) => row.includes(null)) ? 'Those that are known are measured.' : 'All are measured.',
  ].join(' ');
}

function LinkMatrix({ matrix, nodes }: { matrix: Matrix; nodes: number[] }) {
  const node = (index: number) => nodes[index] ?? index;
  const { ref, width } = useWidth();
  const count = matrix.values.length;
  const cell = Math.max(4, Math.min(58, Math.floor((width - 60) / count)));
  const known = matrix.values.flat().filter((one): one is number => one !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const strength = (value: number) => 0.08 + (0.82 * (most === least ? 0.5 : matrix.more ? value - least : most - value)) / (most - least || 1);
  return (
    <div ref={ref} class="wide-picture" tabIndex={0}>
      <svg width={60 + cell * count} height={52 + cell * count} role="img" aria-label={`${matrix.title} from the CPUs of each node (rows) to the memory of each node (columns)`}>
        <defs>
          <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <line class="hatch" x1="0" x2="0" y1="0" y2="6" />
          </pattern>
        </defs>
        <text class="soft" x={56} y={14}>memory of node</text>
        <text class="soft" x={12} y={46} transform="rotate(-90 12 46)" text-anchor="end">CPUs of node</text>
        {matrix.values.map((row, i) => (
          <g key={i}>
            {cell > 10 && <text class="soft" x={56 + cell * (i + 0.5)} y={32} text-anchor="middle">{node(i)}</text>}
            {cell > 10 && <text class="soft" x={48} y={42 + cell * (i + 0.5)} text-anchor="end">{node(i)}</text>}
            {row.map((value, j) => (
              <g key={j} transform={`translate(${56 + cell * j},${38 + cell * i})`}>
                <rect class="link" width={cell - 1} height={cell - 1} fill-opacity={value === null ? 0 : strength(value)} />
                {value !== null && matrix.source(i, j) !== 'measured' && <rect class="unsure" width={cell - 1} height={cell - 1} fill="url(#hatch)" />}
                {cell >= 34 && <text class={value !== null && strength(value) > 0.55 ? 'on-strong' : 'on-weak'} x={cell / 2} y={cell / 2 + 4} text-anchor="middle">{value === null ? '?' : short(value)}</text>}
                <title>{`CPUs of node ${node(i)}, memory of node ${node(j)}: ${value === null ? 'unknown' : `${short(value)} ${matrix.unit}, ${sources[matrix.source(i, j)] ?? matrix.source(i, j)}`}`}</title>
              </g>
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

function MachinePart({ page, first }: { page: Page; first: number }) {
  const machines = documentsOf(page, 'nigh-machine');
  const [chosen, choose] = useState(first);
  const [shown, show] = useState(0);
  const machine = machines[chosen];
  if (!machine) return null;
  const plans = documentsOf(page, 'nigh-plan').filter((one) => one.machine === machine.name);
  const looks = chosen === 0 ? documentsOf(page, 'nigh-ps') : [];
  const layers: { name: string; marks: Map<number, Mark>; words: string; look?: Processes }[] = [
    { name: 'nothing', marks: new Map<number, Mark>(), words: 'the numbers are those of the operating system' },
    ...plans.map((one) => ({ name: `the plan ${one.spec}`, marks: marksOfPlan(one), words: `${plural(one.threads.length, 'thread')}: 2.3 is thread 3 of the team that thread 2 opened; a colour is a team; +1: one more thread on the same PU` })),
    ...looks.map((one) => ({ name: 'running processes (nigh ps)', marks: marksOfProcesses(one), words: `${plural(one.processes.length, 'process', 'processes')}: where their threads ran last; a colour is a process`, look: one })),
    ...plans.flatMap((plan) => looks.map((look) => ({ name: `the plan ${plan.spec} and running processes`, ...planAgainst(plan, look) }))),
  ];
  const layer = layers[Math.min(shown, layers.length - 1)]!;
  const memory = useMemo(() => layer.look && memoryOf(layer.look), [layer.look]);
  const matrices = matricesOf(machine);
  const nodes = nodesOf(machine.tree).sort((a, b) => a - b);
  const pus = pusOf(machine.tree).length;
  const plan = plans[Math.min(shown, layers.length - 1) - 1];
  return (
    <div>
      <p class="lead">{machine.title || machine.name}: {plural(pus, 'PU')}{machine.devices?.length ? `, ${plural(machine.devices.filter((one) => one.type === 'gpu').length, 'GPU')}, ${plural(machine.devices.filter((one) => one.type === 'nic').length, 'network adapter')}` : ''}.</p>
      <div class="choices">
        {machines.length > 1 && (
          <label>
            Machine{' '}
            <select value={chosen} onChange={(event) => { choose(Number(event.currentTarget.value)); show(0); }}>
              {machines.map((one, i) => (
                <option key={i} value={i}>{`${one.name}${one.origin?.includes('on this computer') ? ' (this computer)' : ''}`}</option>
              ))}
            </select>
          </label>
        )}
        {layers.length > 1 && (
          <label>
            Show on it{' '}
            <select value={Math.min(shown, layers.length - 1)} onChange={(event) => show(Number(event.currentTarget.value))}>
              {layers.map((one, i) => (
                <option key={i} value={i}>{one.name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Figure
        title={machine.name}
        name={`machine-${machine.name}`}
        note={`Boxes hold what is inside them; ${layer.words}.${layer.look ? memoryWords(layer.look, machine) : ''}`}
        table={plan
          ? { columns: ['thread', 'PU', 'core', 'NUMA node', 'why'], rows: plan.threads.map((one) => [one.path.join('.'), one.pu, one.core, one.numa_node, one.reason]) }
          : { columns: ['PU', 'on it'], rows: pusOf(machine.tree).map((pu) => [pu, layer.marks.get(pu)?.title ?? '']) }}
      >
        <Tree machine={machine} marks={layer.marks} memory={memory} words={`${machine.title || machine.name}, ${plural(pus, 'PU')}, with ${layer.name}`} />
      </Figure>
      {memory && memory.size > 0 && (
        <Rows
          caption="Memory of processes"
          table={{
            columns: ['process', 'command', 'memory', 'in huge pages', ...nodes.map((one) => `on node ${one}`)],
            rows: layer.look!.processes.filter((one) => one.memory).map((one) => [
              one.pid, one.command, ...[one.memory!.resident_mib, one.memory!.huge_mib, ...nodes.map((node) => one.memory!.nodes.find((there) => there.node === node)?.mib ?? 0)].map((mib) => binary(mib * 2 ** 20)),
            ]),
          }}
        />
      )}
      {matrices.map((matrix) => (
        <Figure
          key={matrix.key}
          title={`${matrix.title} from node to node`}
          name={`${matrix.key}-${machine.name}`}
          note={noteOf(matrix, nodes)}
          table={{
            columns: ['CPUs of node', 'memory of node', matrix.unit, 'known by'],
            rows: matrix.values.flatMap((row, i) => row.map((value, j) => [nodes[i] ?? i, nodes[j] ?? j, value === null ? '–' : short(value), sources[matrix.source(i, j)] ?? ''])),
          }}
        >
          <LinkMatrix matrix={matrix} nodes={nodes} />
        </Figure>
      ))}
      {matrices.length === 0 && (
        <p class="note">
          {nodes.length > 1
            ? 'How its nodes are linked is not known.'
            : 'It has one NUMA node: all memory is equally near, so the choice of a node cannot matter here. What binding changes is whether threads share a core and whether they move.'}
        </p>
      )}
      {machine.devices && machine.devices.length > 0 && (
        <Rows
          caption="GPUs and network adapters"
          table={{ columns: ['what', 'PCI address', 'name', 'drivers call it', 'nearest PUs'], rows: machine.devices.map((one) => [one.type === 'gpu' ? 'GPU' : 'network', one.bus, one.title ?? one.vendor ?? '', (one.names ?? []).join(', '), one.pus]) }}
        />
      )}
      {[...(machine.origin ? [`Known from: ${[machine.origin, ...linkSources(machine)].join('; ')}.`] : []), ...(machine.notes ?? [])].map((note) => (
        <p class="note" key={note}>{note}</p>
      ))}
    </div>
  );
}

export function MachineView({ page }: { page: Page }) {
  const machines = documentsOf(page, 'nigh-machine');
  const [beside, setBeside] = useState(false);
  return (
    <section aria-labelledby="title">
      <h1 id="title">Where is everything?</h1>
      {machines.length === 0 && <p>There is no machine in this page.</p>}
      <div class={beside ? 'pictures' : ''}>
        <MachinePart page={page} first={0} />
        {beside && <MachinePart page={page} first={1} />}
      </div>
      {documentsOf(page, 'nigh-traffic').filter((one) => one.hosts.length > 0).map((one, i) => (
        <div key={i}>
          <h2 class="bench">Where the ranks of {one.name.split('/').filter(Boolean).pop() ?? 'the record'} ran</h2>
          <Rows
            caption={`${plural(one.ranks, 'rank')} on ${plural(new Set(one.hosts).size, 'host')}`}
            table={{ columns: ['host', 'package', 'ranks', 'how many'], rows: placesOf(one).map((place) => [place.host, place.package < 0 ? 'several, or not known' : place.package, ranges(place.ranks), place.ranks.length]) }}
          />
        </div>
      ))}
      {machines.length > 1 && <p><button type="button" onClick={() => setBeside(!beside)}>{beside ? 'One machine only' : 'Show another machine beside it'}</button></p>}
    </section>
  );
}
