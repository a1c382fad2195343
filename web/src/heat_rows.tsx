// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Many rows over time, such as PEs or ranks: the higher the value, the darker. It stands below a TimeChart, on the same axis.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useWidth } from './figure';
import { plotInset } from './time_chart';

// From a place of one row to one of another, in columns and parts of them.
export interface Arrow {
  from: number;
  to: number;
  begin: number;
  end: number;
  say: string;
}

// Rows of equally long columns, of which [from, to], in columns and parts of them, are shown; `most` is the darkest value, which `scale`
// says in words. `say` is the text of one place, `ends` the times at the left and the right edge. `arrows` lie over the rows; the pointer
// reads the one that it is near.
export function HeatRows({ rows, from, to, most, scale, names, words, say, ends, arrows }: { arrows?: Arrow[]; rows: number[][]; from: number; to: number; most: number; scale: string; names: (row: number) => string; words: string; say: (row: number, column: number) => string; ends: [string, string] }) {
  const { ref, width } = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const all = useRef<HTMLCanvasElement | null>(null);
  const [said, setSaid] = useState('');
  const columns = rows[0]?.length ?? 0;
  const height = Math.max(60, Math.min(480, rows.length * (arrows ? 36 : 18)));
  const wide = Math.max(60, width - plotInset.left - plotInset.right);

  const show = () => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || !all.current || columns === 0) return;
    element.width = Math.round(wide * devicePixelRatio);
    element.height = rows.length;
    context.imageSmoothingEnabled = false;
    context.drawImage(all.current, from, 0, Math.max(1e-6, to - from), rows.length, 0, 0, element.width, rows.length);
  };
  const latest = useRef(show);
  latest.current = show;

  // All of it once, a pixel a value; a part of it is enlarged.
  useEffect(() => {
    const draw = () => {
      const picture = document.createElement('canvas');
      picture.width = Math.max(1, columns);
      picture.height = Math.max(1, rows.length);
      const context = picture.getContext('2d');
      if (!context) return;
      const style = getComputedStyle(document.documentElement);
      context.fillStyle = style.getPropertyValue('--wash');
      context.fillRect(0, 0, columns, rows.length);
      context.fillStyle = style.getPropertyValue('--nigh');
      rows.forEach((row, y) => {
        for (let i = 0; i < columns; ++i) {
          context.globalAlpha = Math.min(1, (row[i] ?? 0) / most);
          context.fillRect(i, y, 1, 1);
        }
      });
      all.current = picture;
      latest.current();
    };
    draw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => scheme.removeEventListener('change', draw);
  }, [rows, most]);
  useEffect(show, [from, to, wide]);

  const over = useRef<HTMLCanvasElement>(null);
  const [near, setNear] = useState<Arrow | null>(null);
  const place = (arrow: Arrow) => {
    const x = (column: number) => ((column - from) / Math.max(1e-6, to - from)) * wide;
    const y = (row: number) => ((row + 0.5) / rows.length) * height;
    return [x(arrow.begin), y(arrow.from), x(arrow.end), y(arrow.to)] as const;
  };
  useEffect(() => {
    const draw = () => {
      const element = over.current;
      const context = element?.getContext('2d');
      if (!element || !context) return;
      element.width = Math.round(wide * devicePixelRatio);
      element.height = Math.round(height * devicePixelRatio);
      context.scale(devicePixelRatio, devicePixelRatio);
      const style = getComputedStyle(document.documentElement);
      const line = (arrow: Arrow, width: number, colour: string) => {
        const [x1, y1, x2, y2] = place(arrow);
        context.strokeStyle = context.fillStyle = style.getPropertyValue(colour);
        context.lineWidth = width;
        context.beginPath();
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
        const angle = Math.atan2(y2 - y1, x2 - x1);
        for (const side of [-0.4, 0.4]) {
          context.moveTo(x2, y2);
          context.lineTo(x2 - 7 * Math.cos(angle + side), y2 - 7 * Math.sin(angle + side));
        }
        context.stroke();
      };
      for (const arrow of arrows ?? []) line(arrow, 3, '--card'); // so that they stand out from dark rows
      for (const arrow of arrows ?? []) line(arrow, 1.2, '--slow');
      if (near) line(near, 3, '--ink');
    };
    draw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => scheme.removeEventListener('change', draw);
  }, [arrows, near, from, to, wide, height]);

  // The nearest within 5 pixels.
  const nearest = (x: number, y: number): Arrow | null => {
    let found: Arrow | null = null;
    let least = 5;
    for (const arrow of arrows ?? []) {
      const [x1, y1, x2, y2] = place(arrow);
      const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
      const part = Math.max(0, Math.min(1, length > 0 ? ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length : 0));
      const away = Math.hypot(x - x1 - part * (x2 - x1), y - y1 - part * (y2 - y1));
      if (away < least) [least, found] = [away, arrow];
    }
    return found;
  };

  const look = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const arrow = nearest(event.clientX - box.left, event.clientY - box.top);
    setNear(arrow);
    if (arrow) return setSaid(arrow.say);
    const row = Math.max(0, Math.min(rows.length - 1, Math.floor(((event.clientY - box.top) / box.height) * rows.length)));
    const column = Math.max(0, Math.min(columns - 1, Math.floor(from + ((event.clientX - box.left) / box.width) * (to - from))));
    setSaid(say(row, column));
  };
  const inset = { marginLeft: `${plotInset.left}px`, width: `${wide}px` };
  // Names of rows, as many as there is room for.
  const every = Math.max(1, Math.ceil(16 / (height / rows.length)));
  const labels = rows.map((_, row) => row).filter((row) => row % every === 0);
  return (
    <div ref={ref} class="heat-rows">
      <div class="row-names" aria-hidden="true" style={{ height: `${height}px`, width: `${plotInset.left - 6}px` }}>
        {labels.map((row) => <span key={row} style={{ top: `${((row + 0.5) * height) / rows.length}px` }}>{names(row).replace(/ to .*/, '')}</span>)}
      </div>
      <canvas ref={canvas} class="busy-map" style={{ ...inset, height: `${height}px` }} role="img" aria-label={words} onPointerMove={look} onPointerLeave={() => setNear(null)} />
      {arrows && <canvas ref={over} class="arrows" aria-hidden="true" style={{ left: inset.marginLeft, width: inset.width, height: `${height}px` }} />}
      <p class="ends" style={inset}><span>{ends[0]}</span><span>{ends[1]}</span></p>
      <p class="ramp" style={{ marginLeft: inset.marginLeft }}>0 <i class="row-ramp" /> {scale}</p>
      <p class="readout">{said || 'Point at a place to read it.'}</p>
    </div>
  );
}
