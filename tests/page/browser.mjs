// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The page in a browser: each view with real data, as people with a phone, a keyboard or a screen reader meet it.
// Usage: node browser.mjs PAGE HOSTILE_PAGE LARGE_PAGE GUEST_PAGE HOSTS_PAGE CHROMIUM [FOLDER for screenshots]
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.cwd()}/`);
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [page, hostile, large, guest, hosts, executablePath, shots] = process.argv.slice(2);
const address = (file, view) => `${pathToFileURL(file)}#/${view}`;
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

async function open(file, view, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const tab = await context.newPage();
  const faults = [];
  tab.on('pageerror', (error) => faults.push(String(error)));
  tab.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  tab.on('request', (request) => /^https?:/.test(request.url()) && faults.push(`it fetches ${request.url()}`));
  await tab.goto(address(file, view));
  await tab.waitForSelector('#title');
  return { tab, faults, close: () => context.close() };
}

const views = { coverage: 'What did nigh carry?', gains: 'What did I gain?', machine: 'Where is everything?', messages: 'Who talks to whom?', benchmarks: 'How does it compare?', decisions: 'What did watch decide?', time: 'What happened when?', models: 'What do the models say?' };
const texts = { peers: 'Other ways to bind', account: "A run's account" };
let checks = 0;
for (const [view, title] of Object.entries({ ...views, ...texts }))
  for (const [name, options] of Object.entries({
    desktop: {}, phone: { viewport: { width: 390, height: 844 } }, dark: { colorScheme: 'dark' }, wide: { viewport: { width: 3840, height: 2160 } },
  })) {
    if (name === 'wide' && !['gains', 'machine', 'benchmarks'].includes(view)) continue; // a matter of the whole page
    const { tab, faults, close } = await open(page, view, options);
    assert.equal(await tab.textContent('h1'), title);
    const pictures = await tab.$$eval('.picture svg, .picture canvas', (all) => all.map((one) => one.getBoundingClientRect()).filter((box) => box.width > 50 && box.height > 20).length);
    assert.ok(pictures > 0 || view in texts, `${view}, ${name}: it has no picture`);
    const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${view}, ${name}: it is ${overflow} px too wide`);
    if (shots) await tab.screenshot({ path: `${shots}/${view}-${name}.png`, fullPage: name !== 'wide' });
    if (name !== 'wide') {
      const found = await tab.evaluate(`(() => { ${axe}; return axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'best-practice'] }); })()`);
      assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes[0].html}`), [], `${view}, ${name}`);
    }
    assert.deepEqual(faults, [], `${view}, ${name}`);
    await close();
    ++checks;
  }

// From view to view by the keyboard, and the pairs of the heat map.
{
  const { tab, close } = await open(page, 'messages');
  await tab.focus('canvas');
  await tab.keyboard.press('ArrowRight');
  assert.match(await tab.textContent('.readout'), /^Rank 0 to rank 1: /);
  await tab.selectOption('.choices select >> nth=1', '0');
  assert.match(await tab.textContent('.lead'), /ranks sent/);
  await tab.click('nav a >> text=Machine');
  assert.equal(await tab.textContent('h1'), views.machine);
  await tab.selectOption('.choices select >> nth=-1', '1');
  assert.ok((await tab.$$('.machine .mark')).length > 1, 'a plan marks its PUs');
  assert.match(await tab.title(), /Machine/);
  const [file] = await Promise.all([tab.waitForEvent('download'), tab.click('text=Save picture >> nth=0')]);
  assert.match(readFileSync(await file.path(), 'utf8'), /^<svg [^]*<\/svg>$/);
  await close();
}

// A model that is asked for other nodes may choose another way; a part of the time is chosen by keys, for the picture below, too.
{
  const { tab, close } = await open(page, 'models');
  const before = await tab.textContent('main h2 + p');
  await tab.focus('input[type=range] >> nth=1');
  for (let i = 0; i < 8; ++i) await tab.keyboard.press('ArrowRight');
  await tab.waitForFunction((text) => document.querySelector('main h2 + p').textContent !== text, before);
  assert.match(await tab.textContent('main h2 + p'), /on 128 nodes/);
  await tab.goto(address(page, 'time'));
  assert.match(await tab.textContent('.lead'), /16 ranks for 3601 s, .* the most in MPI_Allreduce .*the least on rank 1 \(\d+ %\)/);
  for (const [nth, most] of [[0, 240], [2, 700]]) { // of ranks, of PEs
    await tab.waitForSelector(`.time-chart canvas >> nth=${nth / 2}`);
    await tab.focus(`.time-chart >> nth=${nth / 2}`);
    await tab.keyboard.press('+');
    await tab.waitForFunction((n) => /; from [\d.]+ (s )?to [\d.]+ m?s/.test(document.querySelectorAll('main figure')[n + 1].textContent), nth);
    assert.ok(await tab.evaluate((n) => document.querySelectorAll('.busy-map')[n].width, nth / 2) < most, 'half of the columns');
  }
  await close();
}

// Names of programs and hosts are texts; a document that is not what it should be leaves the other views.
{
  const { tab, faults, close } = await open(hostile, 'gains');
  for (const view of Object.keys({ ...views, ...texts })) {
    await tab.goto(address(hostile, view));
    await tab.waitForSelector('#title');
    assert.equal(await tab.evaluate(() => globalThis.hacked), undefined);
    assert.equal((await tab.$$('img, iframe, main script')).length, 0, view);
  }
  await tab.goto(address(hostile, 'gains'));
  assert.ok((await tab.textContent('main')).includes('<img src=x onerror='), 'the name is shown');
  await tab.goto(address(hostile, 'benchmarks'));
  assert.deepEqual(faults.filter((one) => /hacked|Refused to (execute|load)/.test(one)), []);
  await close();
}

// A guest of 8 nodes, and a job on 4 hosts: what was seen there.
for (const [file, view, says] of [
  [guest, 'machine', /16 PUs/], [guest, 'messages', /4 ranks sent/], [guest, 'time', /molecules-openmpi: 4 ranks/], [guest, 'decisions', /1 decision, 1 kept\. The last one that was kept: \+139 % speed/],
  [hosts, 'messages', /8 ranks sent/], [hosts, 'coverage', /in one copy/], [hosts, 'time', /molecules-openmpi: 8 ranks/],
]) {
  const { tab, faults, close } = await open(file, view);
  assert.match(await tab.textContent('main'), says, `${file}, ${view}`);
  if (file === guest && view === 'machine') {
    assert.equal((await tab.$$('.machine .box.numa')).length, 8);
    await tab.selectOption('.choices select >> nth=-1', { label: 'the plan 8,scatter,2,compact and running processes' });
    assert.match(await tab.textContent('main'), /on \d+ of the 16 PUs of the plan were threads when nigh ps looked/);
    assert.equal((await tab.$$('.machine .box.missing')).length + (await tab.$$('.machine .box.team:not(.missing)')).length, 16);
  }
  if (shots) await tab.screenshot({ path: `${shots}/${file === guest ? 'guest' : 'hosts'}-${view}.png`, fullPage: true });
  assert.deepEqual(faults, [], `${file}, ${view}`);
  await close();
}

// 4096 ranks, for an hour.
for (const view of ['messages', 'time']) {
  const { tab, close } = await open(large, view);
  const took = await tab.evaluate(() => performance.getEntriesByType('navigation')[0].duration);
  const heap = await tab.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  const frames = await tab.evaluate(async () => {
    const canvas = document.querySelector('.busy-map') ?? document.querySelector('canvas');
    const box = canvas.getBoundingClientRect();
    const start = performance.now();
    let count = 0;
    while (performance.now() - start < 1000) {
      canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + (count % box.width), clientY: box.top + (count % box.height), bubbles: true }));
      await new Promise(requestAnimationFrame);
      ++count;
    }
    return count;
  });
  console.log(`${view} of 4096 ranks: loaded in ${took.toFixed(0)} ms, ${(heap / 2 ** 20).toFixed(0)} MiB, ${frames} frames a second`);
  assert.ok(took < 15000 && heap < 500 * 2 ** 20 && frames >= 5, 'too slow or too large'); // far off what is seen here: machines are busy
  await close();
}

await browser.close();
console.log(`page: right (${checks} views)`);
