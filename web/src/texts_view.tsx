// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Documents that are a table or a text, and stay one.
import { documentsOf, type Page } from './documents';
import { Rows } from './figure';

export function PeersView({ page }: { page: Page }) {
  return (
    <section aria-labelledby="title">
      <h1 id="title">Other ways to bind</h1>
      {documentsOf(page, 'nigh-peers-table').map((peers, i) => {
        const right = (cells: string[]) => cells.filter((one) => one.startsWith('right')).length;
        const tried = (cells: string[]) => cells.filter((one) => one !== '').length;
        return (
          <div key={i} class="hint">
            <p class="note">Each case ran under nigh and under every other setting on {peers.machine || 'one machine'} (emulated: placement is exact, nothing is timed). right*: the same map on other PUs.</p>
            <Rows caption="Which way gives the right map" table={{ columns: ['subject', ...peers.cases, 'right in'], rows: peers.rows.map((row) => [row.subject, ...row.cells.map((one) => one || '–'), `${right(row.cells)} of ${tried(row.cells)}`]) }} />
          </div>
        );
      })}
    </section>
  );
}

export function AccountTextView({ page }: { page: Page }) {
  return (
    <section aria-labelledby="title">
      <h1 id="title">A run's account</h1>
      <p>What <code>nigh run --explain</code> saw.</p>
      {documentsOf(page, 'nigh-account-text').map((one, i) => <pre key={i}>{one.text}</pre>)}
    </section>
  );
}
