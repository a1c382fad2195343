// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A page that was live as a file of its own, with all that it knows: what `nigh report` would write.
import type { Page } from './documents';

export function fileOf(page: Page, root: Document): string {
  const copy = root.documentElement.cloneNode(true) as HTMLElement;
  copy.querySelector('#page')!.textContent = '';
  const { live: _, ...kept } = page;
  copy.querySelector('#nigh-data')!.textContent = JSON.stringify(kept).replaceAll('<', '\\u003c');
  return `<!doctype html>\n${copy.outerHTML}`;
}
