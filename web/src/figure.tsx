// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A picture with what belongs to it: a title, a sentence, the same figures as a table, and the files that a reader may want.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Table {
  columns: string[];
  rows: (string | number)[][];
}

// The width that an element has, in CSS pixels, kept up to date.
export function useWidth(fallback = 720) {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(fallback);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(240, Math.floor(element.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

export function csv(table: Table): string {
  const cell = (value: string | number) => {
    const text = String(value).replaceAll('−', '-');
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [table.columns, ...table.rows].map((row) => row.map(cell).join(',')).join('\n') + '\n';
}

export function save(name: string, content: Blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const kept = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'opacity', 'font-size', 'font-weight',
  'font-family', 'text-anchor', 'dominant-baseline'];

// The picture as it looks now, without the page's style sheet.
function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll<SVGElement>('*')];
  const to = [copy, ...copy.querySelectorAll<SVGElement>('*')];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    to[i]?.setAttribute('style', kept.map((name) => `${name}:${style.getPropertyValue(name)}`).join(';'));
  });
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.style.background = getComputedStyle(document.documentElement).getPropertyValue('--card');
  return new XMLSerializer().serializeToString(copy);
}

function savePng(name: string, picture: SVGSVGElement | HTMLCanvasElement) {
  if (picture instanceof HTMLCanvasElement) {
    const over = picture.parentElement?.querySelector<HTMLCanvasElement>('canvas.arrows');
    const all = over ? document.createElement('canvas') : picture;
    if (over) {
      all.width = over.width;
      all.height = over.height;
      const context = all.getContext('2d');
      if (context) context.imageSmoothingEnabled = false;
      for (const one of [picture, over]) context?.drawImage(one, 0, 0, all.width, all.height);
    }
    all.toBlob((blob) => blob && save(name, blob));
    return;
  }
  const image = new Image();
  const scale = 2;
  image.onload = () => {
    const canvas = document.createElement('canvas');
    canvas.width = picture.clientWidth * scale;
    canvas.height = picture.clientHeight * scale;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && save(name, blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(picture))}`;
}

export function Rows({ table, caption }: { table: Table; caption: string }) {
  const shown = table.rows.slice(0, 500);
  return (
    <div class="rows" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {table.columns.map((name) => (
              <th scope="col" key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, i) => (
            <tr key={i}>
              {row.map((value, j) => (
                <td key={j} class={typeof value === 'number' || /^[−\d]/.test(value) ? 'number' : ''}>{value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < table.rows.length && <p class="note">The first {shown.length} of {table.rows.length} rows; the CSV has all.</p>}
    </div>
  );
}

export function Figure(props: { title: string; name: string; note?: ComponentChildren; table: Table; children: ComponentChildren }) {
  const ref = useRef<HTMLElement>(null);
  const [said, setSaid] = useState('');
  const picture = () => ref.current?.querySelector<SVGSVGElement | HTMLCanvasElement>('.picture svg, .picture canvas') ?? null;
  const copy = async () => {
    const text = csv(props.table);
    try {
      await navigator.clipboard.writeText(text);
      setSaid('copied');
    } catch {
      save(`${props.name}.csv`, new Blob([text], { type: 'text/csv' }));
      setSaid('saved');
    }
  };
  return (
    <figure ref={ref}>
      <figcaption>
        <h2>{props.title}</h2>
        {props.note && <p class="note">{props.note}</p>}
      </figcaption>
      <div class="picture">{props.children}</div>
      <div class="under">
        <details>
          <summary>The figures as a table</summary>
          <Rows table={props.table} caption={props.title} />
        </details>
        <span class="tools">
          <button type="button" onClick={copy}>Copy CSV</button>
          <button
            type="button"
            onClick={() => {
              const found = picture();
              if (found instanceof SVGSVGElement) save(`${props.name}.svg`, new Blob([standalone(found)], { type: 'image/svg+xml' }));
              else if (found) savePng(`${props.name}.png`, found);
            }}
          >
            Save picture
          </button>
          <button
            type="button"
            onClick={() => {
              const found = picture();
              if (found) savePng(`${props.name}.png`, found);
            }}
          >
            Save PNG
          </button>
          <span role="status">{said}</span>
        </span>
      </div>
    </figure>
  );
}
