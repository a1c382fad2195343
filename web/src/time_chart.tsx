// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Lines over time, of many points (uPlot): a part is chosen by dragging, or by + and -, arrows and Home.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useWidth } from './figure';
import { short } from './numbers';

export interface Mark {
  at: number;
  text: string;
}

// Between the edges of a chart and of its lines, in CSS pixels.
export const plotInset = { left: 74, right: 16 };
const labelSize = 18;

const colours = ['--nigh', '--slow', '--good', '--other', '--bad', '--ink'];
const dashes = [[], [6, 3], [2, 2], [9, 3, 2, 3]];
const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// `part`: what is shown of `span`, also when another chart of the same axis has chosen it.
export function TimeChart(props: { time: number[]; series: Record<string, (number | null)[]>; unit: string; words: string; marks?: Mark[]; least?: number; most?: number; axis?: string; span?: [number, number]; part?: [number, number]; joined?: boolean; onRange?: (low: number, high: number) => void }) {
  const { ref, width } = useWidth();
  const plot = useRef<uPlot | null>(null);
  const zoomed = useRef(false);
  const followed = useRef(false); // the change of scale that comes next is another chart's: two that answer each other would never end
  const marks = useRef<Mark[]>([]);
  marks.current = props.marks ?? [];
  const onRange = useRef(props.onRange);
  onRange.current = props.onRange;
  const names = Object.keys(props.series);
  const { least, most } = props;
  const data = [props.time, ...Object.values(props.series)] as uPlot.AlignedData;

  const follow = () => {
    const { x } = plot.current?.scales ?? {};
    if (!props.part || !props.span || !x) return;
    const same = (a: number | null | undefined, b: number) => Math.abs((a ?? NaN) - b) <= 1e-6 * (props.span![1] - props.span![0]);
    if (same(x.min, props.part[0]) && same(x.max, props.part[1])) return; // also where it was this chart that chose it
    zoomed.current = props.part[0] > props.span[0] || props.part[1] < props.span[1];
    followed.current = true;
    plot.current!.setScale('x', { min: props.part[0], max: props.part[1] });
  };
  const latest = useRef(follow);
  latest.current = follow;
  useEffect(() => latest.current(), [props.part?.[0], props.part?.[1]]);

  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const make = () => {
      plot.current?.destroy();
      const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line') }, font: '11.5px ui-sans-serif,system-ui,sans-serif', labelFont: '11.5px ui-sans-serif,system-ui,sans-serif', labelSize };
      plot.current = new uPlot(
        {
          width,
          height: 220,
          padding: [10, plotInset.right, 0, 0],
          scales: { x: { time: false, ...(props.span && { range: (_, low, high) => (zoomed.current ? [low, high] : props.span!) }) }, y: { range: (_, low, high) => [least ?? Math.min(0, low ?? 0), most ?? Math.max(high ?? 1, 1e-9) * 1.08] } },
          axes: [{ ...axis, label: props.axis ?? 'seconds since the start' }, { ...axis, label: props.unit, size: plotInset.left - labelSize, values: (_, ticks) => ticks.map((one) => `${Number(one.toPrecision(6))}`) }],
          series: [
            { label: 'at', value: (_, value) => (value === null ? '' : `${short(value)} ${props.axis?.split(' ')[0] ?? 's'}`) },
            ...names.map((label, i) => ({
              label, stroke: colour(colours[i % colours.length]!), width: 1.8, dash: dashes[(props.joined ? i : Math.floor(i / colours.length)) % dashes.length]!, spanGaps: props.joined ?? false,
              points: { show: false }, value: (_: uPlot, value: number | null) => (value === null ? '' : short(value)),
            })),
          ],
          legend: { show: true, live: true },
          cursor: { drag: { x: true, y: false } },
          hooks: {
            setSelect: [(self) => { zoomed.current = self.select.width > 0; }],
            setScale: [(self, key) => {
              const { min, max } = self.scales.x ?? {};
              if (key !== 'x') return;
              if (followed.current) {
                followed.current = false;
                return;
              }
              if (typeof min === 'number' && typeof max === 'number') onRange.current?.(min, max);
            }],
            draw: [(self) => drawMarks(self, marks.current)],
          },
        },
        data,
        element,
      );
      plot.current.over.addEventListener('dblclick', () => { zoomed.current = false; }, true); // before uPlot shows all again
      latest.current();
    };
    make();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', make);
    return () => {
      scheme.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width, names.join('\n'), props.unit]);

  useEffect(() => plot.current?.setData(data, !zoomed.current), [props.time.length, props.time[props.time.length - 1], marks.current.length]);

  const keys = (event: KeyboardEvent) => {
    const self = plot.current;
    const [first, last] = props.span ?? [props.time[0] ?? 0, props.time[props.time.length - 1] ?? 1];
    const low = self?.scales.x?.min ?? first;
    const high = self?.scales.x?.max ?? last;
    const part = (high - low) / 4;
    const to: Record<string, [number, number]> = {
      '+': [low + part, high - part], '-': [low - part, high + part], ArrowLeft: [low - part, high - part], ArrowRight: [low + part, high + part], Home: [first, last],
    };
    const wanted = to[event.key];
    if (!self || !wanted) return;
    event.preventDefault();
    const span = Math.min(wanted[1] - wanted[0], last - first);
    const min = Math.max(first, Math.min(wanted[0], last - span));
    zoomed.current = span < last - first;
    self.setScale('x', { min, max: min + span });
  };
  return <div ref={ref} class="time-chart" role="img" aria-label={`${props.words}. Plus and minus change the part of time that is shown, arrows move it.`} tabIndex={0} onKeyDown={keys} />;
}

function drawMarks(self: uPlot, marks: Mark[]) {
  const { ctx } = self;
  const { left, top, width, height } = self.bbox;
  ctx.save();
  ctx.strokeStyle = colour('--slow');
  ctx.fillStyle = colour('--slow');
  ctx.font = `${11 * devicePixelRatio}px ui-sans-serif,system-ui,sans-serif`;
  for (const mark of marks) {
    const x = self.valToPos(mark.at, 'x', true);
    if (x < left || x > left + width) continue;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.fillText(mark.text, x + 3 * devicePixelRatio, top + 11 * devicePixelRatio);
  }
  ctx.restore();
}
