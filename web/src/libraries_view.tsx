// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import type { Bench } from './documents';
import { Figure, useWidth } from './figure';
import { type Matrix, matrixOf, matrixSentence, strengthOf } from './libraries';
import { binary, plural, ratio, short } from './numbers';

const high = 18;
const gap = 24; // a block's name stands in it
const top = 22;

function Cells({ matrix }: { matrix: Matrix }) {
  const { ref, width } = useWidth();
  const left = Math.min(150, 12 + 6.4 * Math.max(...matrix.libraries.map((one) => one.length)));
  const wide = Math.max(34, (width - left - 8) / matrix.sizes.length);
  const whole = left + wide * matrix.sizes.length + 8;
  let at = top;
  const blocks = matrix.blocks.map((block) => {
    const y = at + gap;
    at = y + block.rows.length * high;
    return { ...block, y };
  });
  return (
    <div ref={ref} class="wide-picture">
      <svg width={whole} height={at + 8} role="img" aria-label={`Times faster with nigh, by operation, library and size. ${matrixSentence(matrix)}`}>
        {matrix.sizes.map((size, i) => (
          <text class="soft" key={size} x={left + (i + 0.5) * wide} y={14} text-anchor="middle">{size === 0 ? '–' : binary(size)}</text>
        ))}
        {blocks.map((block) => (
          <g key={block.operation}>
            <text class="name" x={0} y={block.y - 7}>{block.operation}</text>
            {block.rows.map((row, j) => (
              <g key={row.library}>
                <text class="soft" x={left - 8} y={block.y + j * high + 13} text-anchor="end">{row.library}</text>
                {matrix.sizes.map((size, i) => {
                  const record = row.cells.get(size);
                  if (!record) return null;
                  const times = record.ratio_to_unbound!.median;
                  const strength = strengthOf(times);
                  return (
                    <g key={size}>
                      <rect class={times >= 1 ? 'times better' : 'times worse'} x={left + i * wide + 0.5} y={block.y + j * high + 0.5} width={wide - 1} height={high - 1} fill-opacity={strength} />
                      <text class={strength > 0.6 ? 'times strong' : 'times'} x={left + (i + 0.5) * wide} y={block.y + j * high + 13} text-anchor="middle">{times >= 9.95 ? times.toFixed(0) : times.toFixed(times >= 1.995 ? 1 : 2)}</text>
                      <title>{`${block.operation}${size === 0 ? '' : `, ${binary(size)}`}, ${row.library}: ${ratio(times)} times, ${short(record.median)} ${record.unit.replace(/^us\b/, 'µs')} with nigh, ${plural(record.samples, 'sample')}`}</title>
                    </g>
                  );
                })}
              </g>
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

// Nothing where fewer than two libraries were measured.
export function LibrariesFigure({ files }: { files: Bench[] }) {
  const matrix = matrixOf(files);
  if (!matrix) return null;
  const cells = matrix.blocks.flatMap((block) => block.rows.flatMap((row) => [...row.cells].map(([size, record]) => ({ block, row, size, record }))));
  return (
    <Figure
      title="All libraries: times faster with nigh"
      name="libraries"
      note={`${matrixSentence(matrix)} A figure of 2 says: twice as fast as the same library alone, the median over pairs of runs side by side. Blue is faster, orange slower, no colour within 3 %.`}
      table={{
        columns: ['operation', 'library', 'bytes', 'times faster', 'with nigh', 'unit', 'samples'],
        rows: cells.map(({ block, row, size, record }) => [block.operation, row.library, size, ratio(record.ratio_to_unbound!.median), short(record.median), record.unit, record.samples]),
      }}
    >
      <Cells matrix={matrix} />
    </Figure>
  );
}
