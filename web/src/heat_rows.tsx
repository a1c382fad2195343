// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Many rows over time, such as PEs or ranks: the higher the %, the darker.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useWidth } from './figure';

// Columns [first, last] of all rows; `say` is the text of one place, `ends` the time at the left and the right edge.
export function HeatRows({ rows, first, last, names, words, say, ends }: { rows: number[][]; first: number; last: number; names: (row: number) => string; words: string; say: (row: number, column: number) => string; ends: [string, string] }) {
  const { ref, width } = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [said, setSaid] = useState('');
  const count = last - first + 1;
  const height = Math.max(60, Math.min(480, rows.length * 18));
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    const draw = () => {
      element.width = count;
      element.height = rows.length;
      const style = getComputedStyle(document.documentElement);
      context.fillStyle = style.getPropertyValue('--wash');
      context.fillRect(0, 0, count, rows.length);
      context.fillStyle = style.getPropertyValue('--nigh');
      rows.forEach((row, y) => {
        for (let i = 0; i < count; ++i) {
          context.globalAlpha = Math.min(1, (row[first + i] ?? 0) / 100);
          context.fillRect(i, y, 1, 1);
        }
      });
      context.globalAlpha = 1;
    };
    draw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => scheme.removeEventListener('change', draw);
  }, [rows, first, last]);
  const look = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const row = Math.max(0, Math.min(rows.length - 1, Math.floor(((event.clientY - box.top) / box.height) * rows.length)));
    const column = first + Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * count)));
    setSaid(say(row, column));
  };
  return (
    <div ref={ref}>
      <canvas ref={canvas} class="busy-map" style={{ width: `${width}px`, height: `${height}px` }} role="img" aria-label={words} onPointerMove={look} />
      <p class="ends"><span>{ends[0]}</span><span>{ends[1]}</span></p>
      <p class="readout">{said || `${names(0)} is the upper row${rows.length > 1 ? `, ${names(rows.length - 1)} the lowest` : ''}.`}</p>
    </div>
  );
}
