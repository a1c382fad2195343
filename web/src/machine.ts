// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The place of a machine's objects in the drawing: boxes hold the objects inside them, side by side until the line is
// full.
import { type Device, type Machine, type MachineNode, numbersOf, type Plan, type Processes } from './documents';
import { binary } from './numbers';

export interface Box {
  kind: string; // of the object, or "device"
  label: string;
  pu?: number;
  device?: Device;
  x: number; // from the box around it
  y: number;
  width: number;
  height: number;
  inside: Box[];
  shares?: (Share & { x: number; width: number })[];
}

// The memory of a process on a NUMA node; `team` is the colour of the process.
export interface Share {
  team: number;
  mib: number;
  title: string;
}

export interface Cell {
  width: number;
  height: number;
  text: boolean;
}

export function pusOf(node: MachineNode): number[] {
  if (node.type === 'pu') return [node.os_index ?? 0];
  return (node.children ?? []).flatMap(pusOf);
}

// The operating system's numbers of the NUMA nodes.
export function nodesOf(node: MachineNode): number[] {
  return [...(node.type === 'numa' ? [node.os_index ?? 0] : []), ...(node.children ?? []).flatMap(nodesOf)];
}

export function cellFor(pus: number): Cell {
  if (pus <= 160) return { width: 34, height: 22, text: true };
  if (pus <= 2048) return { width: 13, height: 13, text: false };
  return { width: 5, height: 5, text: false };
}

const names: Record<string, string> = { machine: 'Machine', group: 'Group', board: 'Board', package: 'Package', die: 'Die', numa: 'NUMA node', l3: 'L3', l2: 'L2', core: 'Core' };

function labelOf(node: MachineNode, pus: number): string {
  const name = names[node.type] ?? node.type;
  const number = node.os_index !== undefined && node.os_index >= 0 && node.type !== 'machine' && !node.type.startsWith('l') ? ` ${node.os_index}` : '';
  const size = node.bytes ? ` ${binary(node.bytes)}` : '';
  return `${name}${number}${size}${node.type === 'numa' && pus === 0 ? ', memory only' : ''}`;
}

const pad = 6;
const gap = 5;
const line = 17;
export const thick = 7; // a bar of memory

// Left to right, the next row where `most` is reached.
function flow(boxes: Box[], most: number, top: number, pad: number, gap: number): { width: number; height: number } {
  let x = pad;
  let y = top;
  let row = 0;
  let width = 0;
  for (const box of boxes) {
    if (x > pad && x + box.width + pad > most) {
      x = pad;
      y += row + gap;
      row = 0;
    }
    box.x = x;
    box.y = y;
    x += box.width + gap;
    row = Math.max(row, box.height);
    width = Math.max(width, x - gap + pad);
  }
  return { width, height: y + row + pad };
}

// A device lies in the innermost object whose PUs are all among its nearest, and which holds all of these.
function place(node: MachineNode, devices: Map<Device, Set<number>>): Device[] {
  const own = pusOf(node);
  const out: Device[] = [];
  for (const [device, pus] of devices) {
    const inside = (node.children ?? []).some((child) => {
      const of = new Set(pusOf(child));
      return child.type !== 'core' && child.type !== 'pu' && [...pus].every((pu) => of.has(pu));
    });
    if (!inside && own.length >= pus.size && [...pus].every((pu) => own.includes(pu))) out.push(device);
  }
  out.forEach((one) => devices.delete(one));
  return out;
}

// `memory`: of processes, by NUMA node, as bars in the nodes' boxes.
export function layout(machine: Machine, most: number, memory: Map<number, Share[]> = new Map()): { root: Box; pus: number[] } {
  const pus = pusOf(machine.tree);
  const cell = cellFor(pus.length);
  const devices = new Map((machine.devices ?? []).map((one) => [one, new Set(numbersOf(one.pus))]));
  let gpus = 0;
  const numbers = new Map((machine.devices ?? []).filter((one) => one.type === 'gpu').map((one) => [one, gpus++]));
  const largest = Math.max(...[...memory.values()].map((shares) => shares.reduce((sum, one) => sum + one.mib, 0)));
  // The node with the most memory in use has a bar as wide as its box.
  const bar = (shares: Share[], width: number) => {
    let x = pad;
    return shares.map((one) => {
      const at = { ...one, x, width: ((width - 2 * pad) * one.mib) / largest };
      x += at.width;
      return at;
    });
  };
  const build = (node: MachineNode, most: number): Box => {
    const children = node.children ?? [];
    if (node.type === 'pu') return { kind: 'pu', label: `${node.os_index ?? ''}`, pu: node.os_index ?? 0, x: 0, y: 0, width: cell.width, height: cell.height, inside: [] };
    // A cache of one core is told by the core's own box.
    if (node.type === 'l2' && children.length === 1 && children[0]?.type === 'core') return build(children[0], most);
    const small = node.type === 'core' || (node.type === 'l2' && !cell.text);
    const edge = small ? (cell.text ? 3 : 1) : pad;
    const mine = small ? [] : place(node, devices);
    const inside = children.map((child) => build(child, most - 2 * edge));
    const tags = mine.map((device): Box => {
      const label = device.type === 'gpu' ? `GPU ${numbers.get(device)}` : device.names?.[0] ?? 'network';
      return { kind: 'device', label, device, x: 0, y: 0, width: 16 + 6.6 * label.length, height: 20, inside: [] };
    });
    const wide = small ? Infinity : most;
    const used = node.type === 'numa' && memory.size > 0;
    const top = small ? edge : line + 4 + (used ? thick + 3 : 0);
    const size = flow(inside, wide, top, edge, small ? edge : gap);
    if (tags.length > 0) {
      const under = flow(tags, wide, inside.length > 0 ? size.height - edge + gap : top, edge, gap);
      size.width = Math.max(size.width, under.width);
      size.height = under.height;
    }
    const label = small ? '' : labelOf(node, pusOf(node).length);
    const width = Math.max(size.width, label ? 14 + 6.4 * label.length : 0);
    return {
      kind: node.type, label, x: 0, y: 0, width, height: Math.max(size.height, small ? 0 : top + 4), inside: [...inside, ...tags],
      ...(used ? { shares: bar(memory.get(node.os_index ?? 0) ?? [], width) } : {}),
    };
  };
  return { root: build(machine.tree, most), pus };
}

export interface Mark {
  text: string;
  team: number;
  more: number; // further ones on the same PU
  title: string;
  missing?: boolean; // planned, but not seen
}

export function marksOfPlan(plan: Plan): Map<number, Mark> {
  const out = new Map<number, Mark>();
  for (const thread of plan.threads) {
    const text = thread.path.join('.');
    const known = out.get(thread.pu);
    if (known) {
      ++known.more;
      known.title += `; thread ${text}`;
    } else out.set(thread.pu, { text, team: thread.path.length > 1 ? thread.path[0]! : 0, more: 0, title: `thread ${text}: ${thread.reason}` });
  }
  return out;
}

// The PUs where threads ran when nigh ps looked; a team is a process.
export function marksOfProcesses(of: Processes): Map<number, Mark> {
  const out = new Map<number, Mark>();
  const alone = of.processes.length === 1; // then its threads are numbered
  of.processes.forEach((process, team) => {
    for (const [number, thread] of process.threads.entries()) {
      const known = out.get(thread.cpu);
      if (known) {
        ++known.more;
        known.title += `; ${thread.name} (${thread.tid})`;
      } else out.set(thread.cpu, { text: alone && process.threads.length > 1 ? `t${number}` : process.command.split(' ')[0]!.split('/').pop()!.slice(0, 5), team, more: 0, title: `${process.command}: ${thread.name} (${thread.tid})` });
    }
  });
  return out;
}

// The memory of processes (nigh ps --memory), by NUMA node.
export function memoryOf(of: Processes): Map<number, Share[]> {
  const out = new Map<number, Share[]>();
  of.processes.forEach((process, team) => {
    for (const { node, mib } of process.memory?.nodes ?? [])
      if (mib > 0) out.set(node, [...(out.get(node) ?? []), { team, mib, title: `${process.command}: ${binary(mib * 2 ** 20)} on node ${node}` }]);
  });
  return out;
}

// In one sentence; nothing where nigh ps was not asked for it.
export function memoryWords(of: Processes, machine: Machine): string {
  const known = of.processes.filter((one) => one.memory !== undefined);
  if (known.length === 0) return '';
  const sum = (which: 'resident_mib' | 'huge_mib') => known.reduce((all, one) => all + one.memory![which], 0);
  const huge = sum('huge_mib');
  return ` Bars in NUMA nodes are their memory there: together ${binary(sum('resident_mib') * 2 ** 20)}, ${huge > 0 ? `${binary(huge * 2 ** 20)} of it` : 'nothing of it'} in huge pages.${localWords(known, machine)}`;
}

// The part of it that is near, if all threads of a process use all of its memory alike.
function localWords(processes: Processes['processes'], machine: Machine): string {
  const nodeOf = new Map<number, number>();
  const visit = (node: MachineNode) => {
    if (node.type === 'numa') for (const pu of pusOf(node)) nodeOf.set(pu, node.os_index ?? 0);
    (node.children ?? []).forEach(visit);
  };
  visit(machine.tree);
  let all = 0;
  let near = 0;
  for (const one of processes)
    for (const { node, mib } of one.memory!.nodes) {
      all += mib;
      near += (mib * one.threads.filter((thread) => nodeOf.get(thread.cpu) === node).length) / Math.max(1, one.threads.length);
    }
  if (all === 0 || new Set(nodeOf.values()).size < 2) return '';
  return ` If all threads use all memory of their process alike, ${Math.round((100 * near) / all)} % of what they use is on their own node.`;
}

// A plan beside what nigh ps saw: team 0 is as planned, or missing, team 1 is not of the plan.
export function planAgainst(plan: Plan, of: Processes): { marks: Map<number, Mark>; words: string } {
  const planned = marksOfPlan(plan);
  const seen = marksOfProcesses(of);
  const marks = new Map<number, Mark>();
  let kept = 0;
  for (const [pu, mark] of planned) {
    const there = seen.get(pu);
    kept += there ? 1 : 0;
    marks.set(pu, { ...mark, team: 0, missing: !there, title: there ? `${mark.title}; seen there: ${there.title}` : `${mark.title}; nobody was seen there` });
  }
  const others = [...seen].filter(([pu]) => !planned.has(pu));
  for (const [pu, mark] of others) marks.set(pu, { ...mark, team: 1, title: `not of the plan: ${mark.title}` });
  const words = `on ${kept} of the ${planned.size} PUs of the plan were threads when nigh ps looked (filled; dashed: nobody was there)${others.length > 0 ? `, and on ${others.length} that are not of the plan (the other colour)` : ', and nowhere else'}`;
  return { marks, words };
}

// The origin of links' bandwidths and latencies, in the words of `sources`.
export function linkSources(machine: Machine): string[] {
  return (['bandwidth', 'latency'] as const).flatMap((what) => {
    const source = machine.links?.[what]?.source;
    const all = [...new Set((typeof source === 'string' ? [source] : (source ?? []).flat()).filter((one) => one !== null))];
    return all.length > 0 ? [`${what} of links: ${all.map((one) => sources[one]).join(', ')}`] : [];
  });
}

// Plain words for how a figure is known.
export const sources: Record<string, string> = {
  measured: 'measured', hmat: "firmware's table (HMAT)", slit: "firmware's distances (SLIT)", datasheet: 'data sheet', guessed: 'guessed', fitted: 'fitted to published figures',
};
