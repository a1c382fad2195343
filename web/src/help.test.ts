// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { helps, terms } from './help';

test('words are those of the glossary', () => {
  const glossary = readFileSync('../docs/glossary.md', 'utf8').replaceAll('**', '');
  const meaning = Object.fromEntries([...glossary.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)].map(([, term, words]) => [term, words]));
  for (const [term, words] of Object.entries(terms)) expect(meaning[term], term).toContain(words);
});

test('every word of a help is explained, and every explained word is used', () => {
  const used = new Set(Object.values(helps).flatMap((one) => one.terms));
  expect([...used].sort()).toEqual(Object.keys(terms).sort());
});
