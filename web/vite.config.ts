// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One HTML file: script and style are put into it, and a policy that lets this script run and no other, and nothing be
// fetched. The commands write their data in place of the `null` in #nigh-data. The licences of the packages that are part
// of it stand at its end.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function licencesOf(modules: string[]): string {
  const packages = new Set(modules.map((one) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(one.replace('\0', ''))?.[0]).filter((one) => one !== undefined));
  const names = new Map<string, string[]>(); // by text
  for (const folder of [...packages].sort()) {
    const name = folder.replace(/^.*\/node_modules\//, '');
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no file with its licence`);
    const text = readFileSync(`${folder}/${file}`, 'utf8').trim().replaceAll('--', '- -');
    names.set(text, [...(names.get(text) ?? []), name]);
  }
  return [...names].map(([text, of]) => `${of.join(', ')}\n${text}`).join('\n\n');
}

function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      let script = '';
      let style = '';
      const modules: string[] = [];
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === 'chunk') {
          script += file.code;
          modules.push(...file.moduleIds);
        } else if (name.endsWith('.css')) style += file.source;
        if (!name.endsWith('.html')) delete bundle[name];
      }
      script = `\n${script.trim().replaceAll('</script', '<\\/script')}\n`;
      const page = bundle['index.html'];
      if (page?.type !== 'asset') throw new Error('there is no index.html');
      const policy =
        `default-src 'none'; script-src ${digest(script)}; style-src 'unsafe-inline'; img-src data: blob:; ` +
        `connect-src 'self'; base-uri 'none'; form-action 'none'`;
      page.source = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, '')
        .replace(/\s*<link rel="stylesheet"[^>]*>/, '')
        .replace('<head>', () => `<head>\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace('</head>', () => `<style>\n${style.trim()}\n</style>\n</head>`)
        .replace('</body>', () => `<script>${script}</script>\n</body>`)
        .replace(/\s*$/, () => `\n<!--\n${licencesOf(modules)}\n-->\n`);
      page.fileName = 'page.html';
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: { outDir: '.', emptyOutDir: false, target: 'es2022', modulePreload: { polyfill: false }, cssCodeSplit: false },
});
