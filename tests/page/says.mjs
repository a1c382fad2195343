// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The text of an element, soon: the page draws after an event has ended, so a look right after it may see the
// old one.
import assert from 'node:assert/strict';

// Waits at most 20 s until the text of the first element of `selector` is `expected` (a string), or matches it (a pattern).
export async function says(tab, selector, expected, where = selector) {
  const isIt = (text) => text !== null && (typeof expected === 'string' ? text === expected : expected.test(text));
  const text = () => tab.evaluate((wanted) => document.querySelector(wanted)?.textContent ?? null, selector);
  let last = await text();
  for (const end = Date.now() + 20000; !isIt(last) && Date.now() < end; last = await text())
    await new Promise((done) => setTimeout(done, 20));
  assert.ok(isIt(last), `${where} says "${last}", not ${expected}`);
}

// The same for how many elements of `selector` there are.
export async function counts(tab, selector, isRight) {
  const count = () => tab.evaluate((wanted) => document.querySelectorAll(wanted).length, selector);
  let last = await count();
  for (const end = Date.now() + 20000; !isRight(last) && Date.now() < end; last = await count())
    await new Promise((done) => setTimeout(done, 20));
  assert.ok(isRight(last), `there are ${last} of ${selector}`);
}
