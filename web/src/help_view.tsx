// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { helps, terms } from './help';

export function HelpView({ id }: { id: string }) {
  const help = helps[id];
  if (!help) return null;
  return (
    <details class="help">
      <summary>How to read this</summary>
      {help.read.map((one) => <p key={one}>{one}</p>)}
      <p>What fills it:</p>
      <pre>{help.commands.join('\n')}</pre>
      <dl>
        {help.terms.map((one) => (
          <div key={one}>
            <dt>{one}</dt>
            <dd>{terms[one]}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
