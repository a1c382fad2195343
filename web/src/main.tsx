// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { render } from 'preact';
import { App, withLive } from './app';
import type { Page } from './documents';
import './style.css';

const text = document.getElementById('nigh-data')?.textContent ?? 'null';
const page = (JSON.parse(text) as Page | null) ?? { format: 'nigh-page', version: 1, nigh: '', date: '', documents: [] };
const root = document.getElementById('page')!;
root.textContent = '';
render(<App page={withLive(page)} />, root);
