// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The gain, program by program: the time with nigh over that without, so that less is better everywhere.
import { told } from './benchmarks';
import { type Bench, type BenchRecord, documentsOf, type Page, type Ratio } from './documents';
import { change, median, plural } from './numbers';

export type Verdict = 'faster' | 'slower' | 'no difference' | 'mixed' | 'not known';

export interface Gain {
  memory?: Ratio; // peak with nigh over that without
  cpu?: Ratio;

  name: string;
  kind: 'program' | 'benchmark';
  ratio: number;
  low?: number;
  high?: number;
  spread: string; // of what low and high are the ends
  verdict: Verdict;
  samples: string;
}

export function verdictOf(ratio: Ratio): Verdict {
  if (ratio.low === undefined || ratio.high === undefined) return 'not known';
  if (ratio.high < 1) return 'faster';
  if (ratio.low > 1) return 'slower';
  return 'no difference';
}

const words = (command: string | string[]): string => (Array.isArray(command) ? command.join(' ') : command);

// "mpirun -n 4 /home/me/bin/app in.dat" -> "mpirun -n 4 app in.dat"
const brief = (command: string): string => command.replace(/(^|\s)\/\S*\//g, '$1').slice(0, 80);

function ofRatio(name: string, ratio: Ratio, samples: string): Gain {
  return {
    name, kind: 'program', ratio: ratio.median, low: ratio.low, high: ratio.high, spread: '95 % interval', verdict: verdictOf(ratio), samples,
  };
}

// The median over the cases of a benchmark, and the cases from the best to the worst.
function ofBench(file: Bench): Gain[] {
  const groups = new Map<string, BenchRecord[]>();
  for (const record of file.records)
    if (/^nigh( \(|$)/.test(record.subject) && record.ratio_to_unbound && record.verified) {
      const key = `${[record.bench, record.runtime].filter((one) => one !== '').join(', ')}${record.subject.slice('nigh'.length)}`;
      groups.set(key, [...(groups.get(key) ?? []), record]);
    }
  return [...groups].map(([name, records]) => {
    const ratios = records.map((one) => 1 / one.ratio_to_unbound!.median).sort((a, b) => a - b);
    const low = ratios[0]!;
    const high = ratios[ratios.length - 1]!;
    return {
      name, kind: 'benchmark' as const, ratio: median(ratios), low, high, spread: `range of ${plural(ratios.length, 'case')}`,
      // The range goes over cases, not over the runs of one.
      verdict: low > 0.98 && high < 1.02 ? ('no difference' as const) : high < 1 ? ('faster' as const) : low > 1 ? ('slower' as const) : ('mixed' as const), samples: plural(ratios.length, 'case'),
    };
  });
}

export function gainsOf(page: Page): Gain[] {
  const out: Gain[] = [];
  for (const one of documentsOf(page, 'nigh-compare')) {
    const [first, second] = one.subjects.map((subject) => brief(words(subject.command)));
    const name = second?.endsWith(`-- ${first}`) || second === first ? first : `${second} against ${first}`;
    out.push({ ...ofRatio(name ?? '', one.time_ratio, plural(one.subjects[0]?.seconds.length ?? 0, 'pair')), memory: one.memory_ratio, cpu: one.cpu_ratio });
  }
  for (const one of documentsOf(page, 'nigh-tune'))
    if (one.time_ratio) out.push(ofRatio(`${brief(words(one.command))} (tuned)`, one.time_ratio, plural(one.runs, 'run')));
  for (const one of documentsOf(page, 'nigh-programs'))
    for (const record of one.records) {
      const nigh = record.subjects.nigh;
      if (!nigh) continue;
      const of = ([median, low, high]: [number, number, number]): Ratio => ({ median, low, high });
      const name = [record.program, ...(record.ranks > 0 ? [record.library, plural(record.ranks, 'rank')] : [])].join(', ');
      out.push({ ...ofRatio(name, of(nigh.wall_ratio), plural(record.rounds, 'round')), memory: { median: nigh.pss_ratio }, cpu: of(nigh.cpu_ratio) });
    }
  out.sort((a, b) => a.ratio - b.ratio);
  const benches = told(documentsOf(page, 'nigh-bench')).flatMap(ofBench); // models' figures are no gains
  benches.sort((a, b) => a.ratio - b.ratio);
  return [...out, ...benches];
}

// The other costs of the time: of the program, or the range over programs.
export function costsOf(gains: Gain[]): string {
  const words = (name: string, ratios: (Ratio | undefined)[]) => {
    const known = ratios.map((one) => one?.median).filter((one): one is number => one !== undefined && one > 0);
    if (known.length === 0) return '';
    const [low, high] = [change(Math.min(...known)), change(Math.max(...known))];
    return low === high ? `${low} ${name}` : `${low} to ${high} ${name}`;
  };
  const programs = gains.filter((one) => one.kind === 'program');
  const parts = [words('memory at its peak', programs.map((one) => one.memory)), words('CPU time', programs.map((one) => one.cpu))].filter((one) => one !== '');
  return parts.length === 0 ? '' : `For that ${programs.length === 1 ? 'it takes' : 'they take'} ${parts.join(', and ')}.`;
}

// One sentence for all programs, or for the benchmarks where there is no program.
export function sentenceOf(gains: Gain[]): string {
  const programs = gains.filter((one) => one.kind === 'program');
  const of = programs.length > 0 ? programs : gains;
  const kind = programs.length > 0 ? 'program' : 'benchmark';
  if (of.length === 0) return 'No program was compared yet.';
  const count = (verdict: Verdict) => of.filter((one) => one.verdict === verdict).length;
  const best = of.find((one) => one.verdict === 'faster');
  const worst = [...of].reverse().find((one) => one.verdict === 'slower');
  if (of.length === 1) {
    const only = of[0]!;
    if (only.verdict === 'faster') return `${only.name} takes ${change(only.ratio)} time with nigh.`;
    if (only.verdict === 'slower') return `${only.name} takes ${change(only.ratio)} time with nigh: it is slower.`;
    if (only.verdict === 'no difference') return `${only.name}: no difference was found.`;
    if (only.verdict === 'mixed') return `${only.name}: faster in some cases, slower in others.`;
    return `${only.name}: too few runs to say.`;
  }
  const verb = (number: number, one: string, many: string) => `${number} ${number === 1 ? one : many}`;
  const parts = [`${count('faster')} of ${plural(of.length, kind)} ${count('faster') === 1 ? 'is' : 'are'} faster with nigh`];
  if (best) parts[0] += ` (the most: ${best.name}, ${change(best.ratio)} time)`;
  if (count('no difference') > 0) parts.push(`${verb(count('no difference'), 'shows', 'show')} no difference`);
  if (count('mixed') > 0) parts.push(`${verb(count('mixed'), 'is', 'are')} faster in some cases and slower in others`);
  parts.push(worst ? `${verb(count('slower'), 'is', 'are')} slower (the most: ${worst.name}, ${change(worst.ratio)} time)` : 'none is slower');
  if (count('not known') > 0) parts.push(`of ${count('not known')} there are too few runs to say`);
  return `${parts.join(', ')}.`;
}
