// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Pages of commands that run: what they tell comes, also after a restart; the end is told; who has no token, or is a page
// of somebody else, gets nothing; names of programs are texts.
// Usage: node live.mjs NIGH CHROMIUM [FOLDER for screenshots]
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { says } from './says.mjs';

const require = createRequire(`${process.cwd()}/`);
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [nigh, executablePath, shots] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const started = [];
process.on('exit', () => started.forEach((one) => one.kill('SIGKILL')));

// A command of nigh, once its page is there: its process, and the page's address.
async function serve(...words) {
  const child = spawn(nigh, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  started.push(child);
  let said = '';
  child.stderr.on('data', (text) => { said += text; });
  for (let i = 0; i < 600 && !/the page is (\S+)/.test(said); ++i) await new Promise((done) => setTimeout(done, 50));
  const found = /the page is (\S+)/.exec(said);
  assert.ok(found, `${words.join(' ')}: ${said}`);
  return { child, url: found[1], port: Number(new URL(found[1]).port) };
}

async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const tab = await context.newPage();
  const faults = [];
  tab.on('pageerror', (error) => faults.push(String(error)));
  tab.on('console', (message) => message.type() === 'error' && !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(message.text()) && faults.push(message.text()));
  await tab.goto(url);
  await tab.waitForSelector('#title');
  return { tab, faults, close: () => context.close() };
}

async function looksRight(tab, name) {
  const fits = await tab.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth, undefined, { timeout: 5000 }).catch(() => null);
  assert.ok(fits, `${name}: it is too wide`);
  const found = await tab.evaluate(`(() => { ${axe}; return axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'best-practice'] }); })()`);
  assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes[0].html}`), [], name);
  if (shots) await tab.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
}

function status(port, path, headers = {}) {
  return new Promise((done, failed) => http.get({ host: '127.0.0.1', port, path, headers, agent: false }, (answer) => {
    done(answer.statusCode);
    answer.destroy();
  }).on('error', failed));
}

// nigh watch, whose machine is simulated: this one may have one node.
{
  const { child, url, port } = await serve('watch', '--demo', '--web');
  const token = new URL(url).searchParams.get('token');
  assert.equal(await status(port, '/'), 403);
  assert.equal(await status(port, '/?token=0'), 403);
  assert.equal(await status(port, `/events?token=${token}`, { Origin: 'http://attacker.example' }), 403);
  assert.equal(await status(port, `/?token=${token}`, { Host: 'attacker.example' }), 421);
  assert.equal(await status(port, `/?token=${token}`), 200);

  const { tab, faults, close } = await open(url);
  await says(tab, 'h1', 'What did watch decide?');
  await tab.waitForSelector('.connection.open');
  await tab.waitForSelector('.events li >> text=kept', { timeout: 30000 });
  await says(tab, '.lead', /^1 decision, 1 kept\. .*speed by where accesses go now/);
  assert.equal((await tab.$$('.effect .disc')).length, 1);
  await tab.waitForSelector('.time-chart canvas');
  const before = await tab.evaluate(() => document.querySelector('.lead + p').textContent);
  await tab.waitForFunction((text) => document.querySelector('.lead + p').textContent !== text, before);
  await looksRight(tab, 'decisions-live');
  await tab.focus('.time-chart');
  await tab.keyboard.press('+');
  await tab.setViewportSize({ width: 390, height: 844 });
  await looksRight(tab, 'decisions-live-phone');

  // A second one that comes later knows what was decided before; a foreign page gets nothing.
  const late = await open(url);
  await late.tab.waitForSelector('.events li >> text=kept');
  await late.close();
  const foreign = await (await browser.newContext()).newPage();
  await foreign.route('http://attacker.example/', (route) => route.fulfill({ body: '<p>', contentType: 'text/html' }));
  await foreign.goto('http://attacker.example/');
  assert.equal(await foreign.evaluate((to) => fetch(to).then((answer) => answer.status, () => 'refused'), url), 'refused');
  await foreign.close();

  // Killed and started again at the same place: the page that is open goes on with the new one.
  child.kill('SIGKILL');
  await tab.waitForSelector('.connection.lost');
  const again = await serve('watch', '--demo', `--web=${port}`);
  assert.equal(again.url, url, 'the address opens again');
  await tab.waitForSelector('.connection.open', { timeout: 20000 });
  await tab.waitForFunction(() => document.querySelectorAll('.events li').length < 3, undefined, { timeout: 20000 });
  await tab.waitForSelector('.events li >> text=kept', { timeout: 30000 });

  // Kept as a file it shows the same, and asks nobody.
  const [file] = await Promise.all([tab.waitForEvent('download'), tab.click('text=Keep this page')]);
  const path = join(mkdtempSync(join(tmpdir(), 'nigh-page-')), 'kept.html'); // its name tells the browser what it is
  await file.saveAs(path);
  again.child.kill('SIGTERM');
  await tab.waitForSelector('.connection.ended');
  assert.deepEqual(faults, []);
  const asked = [];
  const kept = await (await browser.newContext()).newPage();
  kept.on('request', (request) => /^https?:/.test(request.url()) && asked.push(request.url()));
  kept.on('pageerror', (error) => asked.push(String(error)));
  kept.on('console', (message) => message.type() === 'error' && asked.push(message.text()));
  await kept.goto(`${pathToFileURL(path)}`);
  await kept.waitForSelector('.events li >> text=kept');
  assert.equal(await kept.$('.connection'), null);
  assert.deepEqual(asked, []);
  rmSync(dirname(path), { recursive: true });
  await close();
}

// nigh run, of a program whose words are hostile, which works on a thread and ends with status 3.
{
  const evil = '<img src=x onerror=hacked=1></script><script>hacked=1</script>';
  const work = 'import sys, time\nend = time.time() + 12\nwhile time.time() < end: pass\nsys.exit(3)';
  const { child, url } = await serve('run', '--web', '--', 'python3', '-c', work, evil);
  const over = once(child, 'exit');
  const { tab, faults, close } = await open(url);
  await says(tab, 'h1', 'What is it doing now?');
  await tab.waitForSelector('.machine .mark', { timeout: 20000 });
  await tab.waitForSelector('.time-chart canvas');
  await says(tab, '.lead', /has run for \d+ s: 1 process, \d+ threads?, of which 1 works/);
  await looksRight(tab, 'now');
  await tab.click('nav a >> text=Machine');
  await says(tab, 'h1', 'Where is everything?');
  await tab.click('nav a >> text=Now');
  await tab.waitForSelector('.connection.ended', { timeout: 20000 });
  await says(tab, '.lead', /ended after \d.* s with status 3/);
  await says(tab, '.lead', /<img src=x onerror=/); // the words are shown
  assert.equal(await tab.evaluate(() => globalThis.hacked), undefined);
  assert.equal((await tab.$$('img, iframe, main script')).length, 0);
  const [file] = await Promise.all([tab.waitForEvent('download'), tab.click('text=Keep this page')]);
  assert.ok(!readFileSync(await file.path(), 'utf8').includes(evil), 'no text of it ends the data');

  // Two pages that were kept, side by side.
  const folder = mkdtempSync(join(tmpdir(), 'nigh-page-'));
  for (const name of ['first.html', 'second.html']) await file.saveAs(join(folder, name));
  writeFileSync(join(folder, 'second.html'), readFileSync(join(folder, 'second.html'), 'utf8').replace('"elapsed":', '"elapsed":1'));
  execFileSync(nigh, ['report', '--out', join(folder, 'both.html'), join(folder, 'first.html'), join(folder, 'second.html')]);
  const both = await open(`${pathToFileURL(join(folder, 'both.html'))}#/now`);
  await says(both.tab, 'h1', 'What did they do?');
  assert.deepEqual(await both.tab.$$eval('main h2.bench', (all) => all.map((one) => one.textContent)), ['first', 'second']);
  await both.tab.waitForSelector('.time-chart canvas');
  assert.deepEqual((await both.tab.$$eval('.pictures figure:first-child .u-legend th', (all) => all.map((one) => one.textContent))).slice(1), ['first', 'second']);
  await looksRight(both.tab, 'now-two-kept');
  assert.deepEqual(both.faults, []);
  await both.close();
  rmSync(folder, { recursive: true });
  assert.deepEqual(faults, []);
  assert.deepEqual(await over, [3, null]);
  await close();
}

await browser.close();
console.log('page: live: right');
