// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { scaleLinear } from 'd3-scale';
import { reasonTexts, type Row, rowsOf, totalOf } from './coverage';
import { type Account, documentsOf, type Page } from './documents';
import { Figure, useWidth } from './figure';
import { bytes, plural, scaled } from './numbers';

// Directions of hatching, by reason.
const patterns = [45, 135, 90, 0];

// A bar for each function: what nigh carried is filled, what it left to the library is hatched, each reason in its own way. `most`: the bytes of the longest bar of all accounts.
function Bars({ rows, most }: { rows: Row[]; most: number }) {
  const { ref, width } = useWidth();
  const narrow = width < 620;
  const kinds = Object.keys(reasonTexts);
  const left = narrow ? 8 : 210;
  const right = narrow ? 8 : 330;
  const high = narrow ? 46 : 30;
  const x = scaleLinear([0, Math.max(1, most)], [0, width - left - right]);
  return (
    <div ref={ref}>
      <svg width={width} height={rows.length * high + 8} role="img" aria-label="Bytes of each MPI function that nigh carried, and that it left to the library">
        <defs>
          {patterns.map((turn, i) => (
            <pattern key={turn} id={`left-${i}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform={`rotate(${turn})`}>
              <line class="left-hatch" x1="0" x2="0" y1="0" y2="6" />
            </pattern>
          ))}
        </defs>
        {rows.map((one, i) => {
          const y = i * high + (narrow ? 22 : 6);
          const [first] = one.reasons;
          const heavy = one.reasons.filter((reason) => reason.bytes > 0).map((reason) => `${bytes(reason.bytes)} ${reason.name}`);
          const rest = heavy.length > 0 ? `left: ${heavy.slice(0, 2).join(', ')}${heavy.length > 2 ? ', ...' : ''}` : first ? `${scaled(one.calls.left)} calls left: ${first.name}` : '';
          const words = `${bytes(one.ours)}${rest ? `; ${rest}` : ''}`;
          return (
            <g key={one.name}>
              <text class="name" x={narrow ? left : left - 10} y={narrow ? y - 6 : y + 14} text-anchor={narrow ? 'start' : 'end'}>{one.name}</text>
              <rect class="carried" x={left} y={y} width={x(one.ours)} height={18} />
              {one.reasons.map((reason, j) => {
                const start = left + x(one.ours) + one.reasons.slice(0, j).reduce((sum, before) => sum + x(before.bytes), 0);
                const wide = Math.max(0, x(reason.bytes) - (j + 1 < one.reasons.length ? 1 : 0));
                return (
                  <g key={reason.name}>
                    <rect class="left-rect" x={start} y={y} width={wide} height={18} />
                    <rect x={start} y={y} width={wide} height={18} fill={`url(#left-${kinds.indexOf(reason.name) % patterns.length})`} />
                  </g>
                );
              })}
              <text class="soft" x={narrow ? width - right : left + x(one.ours + one.left) + 8} y={narrow ? y - 6 : y + 13} text-anchor={narrow ? 'end' : 'start'}>{words}</text>
              <title>{[`${one.name}: ${bytes(one.ours)} in ${scaled(one.calls.ours)} calls carried by nigh`, ...one.reasons.map((reason) => `${bytes(reason.bytes)} in ${scaled(reason.calls)} calls left: ${reasonTexts[reason.name]}`)].join('; ')}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function AccountFigure({ account, several, most }: { account: Account & { file?: string }; several: boolean; most: number }) {
  const rows = rowsOf(account);
  const reasons = new Set(rows.flatMap((one) => one.reasons.map((reason) => reason.name)));
  return (
    <>
      <p class="lead">{several && (account.program ? `${account.program} on ${account.host}: ` : `${account.host}: `)}{account.verdict || 'No message was sent.'}</p>
      <Figure
        title={`${account.program || account.file ? `${account.program || account.file}: ` : ''}${account.sharing} of ${plural(account.ranks, 'rank')} on ${account.host}, ${account.library}`}
        name={`coverage-${account.host}`}
        note={`Filled: carried by nigh; hatched: left to the library, with lines in another direction for each reason. Of a collective the bytes are those that a rank receives.${[...reasons].length > 0 ? ` Left is what is ${[...reasons].map((one) => `“${one}” (${reasonTexts[one]})`).join(', ')}.` : ''}`}
        table={{
          columns: ['function', 'bytes by nigh', 'calls by nigh', 'bytes left', 'calls left', 'why'],
          rows: rows.map((one) => [one.name, one.ours, one.calls.ours, one.left, one.calls.left, one.reasons.map((reason) => `${reason.name} ${reason.calls}`).join(', ')]),
        }}
      >
        <Bars rows={rows.slice(0, 40)} most={most} />
      </Figure>
      {(account.space ?? []).length > 0 && (
        <details>
          <summary>The memory of the ranks</summary>
          <pre>{(account.space ?? []).join('\n')}</pre>
        </details>
      )}
    </>
  );
}

function totalWords(accounts: Account[]): string {
  const { ours, left, first } = totalOf(accounts);
  if (ours + left === 0) return `${plural(accounts.length, 'account')}; nothing was sent.`;
  const hosts = new Set(accounts.map((one) => one.host)).size;
  return `All together, ${hosts > 1 ? `on ${plural(hosts, 'host')}` : plural(accounts.length, 'account')}: ${bytes(ours)} of ${bytes(ours + left)} carried by nigh (${Math.round((100 * ours) / (ours + left))} %)${first ? `; of the rest most is “${first}” (${reasonTexts[first]})` : ''}.`;
}

export function CoverageView({ page }: { page: Page }) {
  const accounts = documentsOf(page, 'nigh-mpi-account');
  const most = Math.max(1, ...accounts.flatMap(rowsOf).map((one) => one.ours + one.left));
  return (
    <section aria-labelledby="title">
      <h1 id="title">What did nigh carry?</h1>
      {accounts.length > 1 && <p class="lead">{totalWords(accounts)}</p>}
      {accounts.map((one, i) => (
        <AccountFigure key={i} account={one} several={accounts.length > 1} most={most} />
      ))}
    </section>
  );
}
