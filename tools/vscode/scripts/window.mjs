// Runs the packed extension in a real window: code-server (Visual Studio Code behind a browser) driven with Chromium. It is no
// part of `npm test`, because neither can be had everywhere:
//
//   npm run package && CODE_SERVER=…/code-server/out/node/entry.js PLAYWRIGHT=…/playwright-core npm run test:window
//
// `code-server.sh` fetches the two and says what to write there. CHROMIUM names the browser (default: chromium), VSIX the
// package. One with the server in it is tried with that server alone; for another one ORIOLE names the server. Pictures are left
// in out/window. What is missing is named with SKIPPED.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const own = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const root = path.resolve(own, '../..');
const pictures = path.join(own, 'out/window');

function skip(why) {
  console.log(`SKIPPED: ${why}`);
  process.exit(0);
}

function find(name, places) {
  const found = places.filter(Boolean).find((place) => fs.existsSync(place));
  return found ?? skip(`no ${name}`);
}

const onPath = (name) => (process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, name));
const codeServer = find('code-server (name its entry.js in CODE_SERVER)', [process.env.CODE_SERVER]);
const browserPath = find('Chromium (name it in CHROMIUM)', [process.env.CHROMIUM, ...onPath('chromium')]);
const vsix = find('oriole-ptx.vsix (npm run package, or name one in VSIX)', [process.env.VSIX, path.join(own, 'oriole-ptx.vsix')]);
let chromium;
try {
  ({ chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT ?? 'playwright-core'));
} catch {
  skip('no playwright-core (name its folder in PLAYWRIGHT)');
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'oriole-window-'));
const at = (...parts) => path.join(folder, ...parts);
for (const name of ['data/User', 'extensions', 'files']) fs.mkdirSync(at(name), { recursive: true });
fs.mkdirSync(pictures, { recursive: true });
fs.copyFileSync(path.join(root, 'test-data/kernels/control.ptx'), at('files/control.ptx'));
const places = ['--extensions-dir', at('extensions'), '--user-data-dir', at('data'), '--config', at('config.yaml')];
fs.writeFileSync(at('config.yaml'), 'auth: none\n');
execFileSync(process.execPath, [codeServer, ...places, '--install-extension', vsix], { stdio: 'ignore' });

const settings = {
  'security.workspace.trust.enabled': false,
  'workbench.startupEditor': 'none',
  'editor.minimap.enabled': false,
  'files.autoSave': 'off',
};
/** The server that came with the package. */
const packed = fs
  .readdirSync(at('extensions'))
  .map((name) => at('extensions', name, 'server/oriole'))
  .find((place) => fs.existsSync(place));
const oriole = packed ?? find('oriole (name it in ORIOLE)', [
  process.env.ORIOLE,
  ...['release', 'debug'].map((profile) => path.join(root, 'target', profile, 'oriole')),
]);
if (packed) {
  console.log('the server is the one of the package');
} else {
  // The editor gives its extensions the path of a login shell; the server shall find what we find.
  const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  const launch = `#!/bin/sh\nPATH=${quoted(process.env.PATH ?? '')} exec ${quoted(path.resolve(oriole))} "$@"\n`;
  fs.writeFileSync(at('oriole'), launch, { mode: 0o755 });
  settings['oriole.server.path'] = at('oriole');
}
execFileSync(oriole, ['compile', at('files/control.ptx'), '-o', at('files/control.cubin')]);
fs.writeFileSync(at('data/User/settings.json'), JSON.stringify(settings));

const port = await new Promise((resolve) => {
  const probe = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});
const flags = ['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check'];
const server = spawn(process.execPath, [codeServer, ...places, ...flags], { stdio: 'ignore' });
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });

const LONG = 120_000;
let passed = 0;
const ok = (what) => {
  passed += 1;
  console.log(`ok ${what}`);
};

try {
  const page = await browser.newPage({ viewport: { width: 1800, height: 1000 } });
  page.setDefaultTimeout(LONG);
  const picture = (name) => page.screenshot({ path: path.join(pictures, `${name}.png`) });
  const until = async (what, condition) => {
    const end = Date.now() + LONG;
    for (let last; ; ) {
      last = await condition();
      if (last === true) return ok(what);
      const told = await page.locator('.notification-toast:has-text("Oriole")').allInnerTexts();
      if (told.length > 0) throw new Error(`${what}: ${told.join(' ')}`);
      if (Date.now() > end) {
        await picture('failure');
        throw new Error(`${what}: ${JSON.stringify(last)}`);
      }
      await page.waitForTimeout(250);
    }
  };
  for (let attempt = 0; ; attempt++) {
    try {
      await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(at('files'))}`);
      break;
    } catch (error) {
      if (attempt > 60) throw error;
      await page.waitForTimeout(500);
    }
  }
  const explorer = (name) => page.locator(`.explorer-folders-view .monaco-list-row:has-text("${name}")`);
  const editor = (tab) => page.locator(`.editor-instance[aria-label*="${tab}"], .editor-group-container:has(.tab[aria-label*="${tab}"]) .editor-instance`).first();
  const text = async (tab) => (await editor(tab).locator('.view-line').allInnerTexts()).join('\n').replace(/\u00a0/g, ' ');
  /** Lines that are lit in an editor. */
  const lit = (tab) => editor(tab).locator('.view-overlays .cdr[class*="ced-"]').count();
  const status = async () => ((await page.locator('[id*="oriole.status"]').allInnerTexts())[0] ?? '').trim();
  const run = async (command) => {
    await page.keyboard.press('F1');
    await page.waitForSelector('.quick-input-widget:visible');
    await page.keyboard.type(`Oriole: ${command}`);
    await page.locator(`.quick-input-list .monaco-list-row:has-text("${command}")`).first().waitFor();
    await page.keyboard.press('Enter');
  };
  const click = (tab, line) => editor(tab).locator(`.view-line:has-text("${line}")`).first().click();

  await explorer('control.ptx').dblclick();
  await until('lenses stand above the kernel', async () => {
    const lenses = (await page.locator('.codelens-decoration').allInnerTexts()).join(' ');
    return (/sm_90: \d+ registers/.test(lenses) && /Show SASS/.test(lenses) && /Compare with ptxas/.test(lenses)) || lenses;
  });
  await until('hints stand behind instructions', async () => /\d+ live · \d+ SASS/.test(await text('control.ptx')));
  await click('control.ptx', 'max.u32');
  await until('the status bar tells the kernel', async () => {
    const found = await status();
    return /sm_90 control_collatz: \d+ registers/.test(found) || found;
  });

  await page.locator('.codelens-decoration a:has-text("Show SASS")').first().click();
  const SASS = 'control_collatz.oriole-sass';
  await until('SASS is beside', async () => {
    const found = await text(SASS);
    return (/control_collatz for sm_90, \d+ instructions/.test(found) && /\[[-0-5]{6}:R.:W.:.:S\d\d\]/.test(found)) || found;
  });
  await click('control.ptx', 'max.u32');
  await until('the cursor in PTX lights rows of SASS', async () => (await lit(SASS)) > 0 && (await lit('control.ptx')) > 0);
  await picture('sass');
  await click(SASS, 'S2R');
  await until('the cursor in SASS lights the statement', async () => (await lit('control.ptx')) === 1 || (await lit('control.ptx')));
  await editor(SASS).locator('.view-line:has-text("S2R")').first().hover({ position: { x: 250, y: 8 } });
  await until('a row has a hover', async () => {
    const found = (await page.locator('.monaco-hover:visible').allInnerTexts()).join(' ');
    return /word\s+0x[0-9a-f]{32}/.test(found) || found;
  });
  await picture('sass-hover');
  await editor('control.ptx').locator('.view-line:has-text("max.u32")').first().hover({ position: { x: 60, y: 8 } });
  await until('an instruction has a hover', async () => {
    const found = (await page.locator('.monaco-hover:visible').allInnerTexts()).join(' ');
    return /max/.test(found) && /PTX/.test(found) ? true : found;
  });
  // It fades in.
  await page.waitForTimeout(500);
  await picture('hover');

  await click('control.ptx', 'max.u32');
  await run('Show Ori after a Phase');
  await page.waitForSelector('.quick-input-list .monaco-list-row');
  await page.keyboard.type('EarlyOriSimpleLiveDead');
  await page.locator('.quick-input-list .monaco-list-row:has-text("10 EarlyOriSimpleLiveDead")').first().waitFor();
  await page.keyboard.press('Enter');
  const ORI = 'control_collatz.EarlyOriSimpleLiveDead.oriole-ori';
  await until('Ori is beside', async () => / = Copy r\d+ ; \d+/.test(await text(ORI)));
  await click('control.ptx', 'shr.u64');
  await until('the cursor in PTX lights Ori', async () => (await lit(ORI)) > 0);
  await picture('ori');

  if (!packed && onPath('ptxas').some((place) => fs.existsSync(place))) {
    await click('control.ptx', 'max.u32');
    await run('Compare with ptxas');
    const REPORT = 'control_collatz and ptxas';
    await until('the comparison with ptxas is beside', async () => {
      const found = await text(REPORT);
      return (/verdict +accepted +accepted/.test(found) && /instructions +\d+ +\d+/.test(found)) || found;
    });
    await picture('compare');
  } else {
    console.log('SKIPPED: the comparison, no ptxas on the path of the server');
  }

  await click('control.ptx', 'max.u32');
  await run('Change Target');
  await page.locator('.quick-input-list .monaco-list-row:has-text("sm_90a")').first().click();
  await until('another target', async () => {
    const found = await status();
    return /sm_90a control_collatz/.test(found) || found;
  });

  await click('control.ptx', 'max.u32');
  await page.keyboard.press('End');
  await page.keyboard.type(' slip');
  await until('figures of an earlier text are marked', async () => {
    const found = await status();
    return /stale/.test(found) || found;
  });
  await picture('stale');
  for (let back = 0; back < 5; back++) await page.keyboard.press('Backspace');
  await until('and are not when it compiles again', async () => {
    const found = await status();
    return (/registers/.test(found) && !/stale/.test(found)) || found;
  });
  await run('Restart Server');
  await until('a new server shows the own target again', async () => {
    const found = await status();
    return /sm_90 control_collatz: \d+ registers/.test(found) || found;
  });

  await explorer('control.cubin').dblclick();
  await until('a cubin is text', async () => /cubin for sm_90/.test(await text('control.cubin.oriole-sass')));
  await picture('cubin');
  assert.equal(await page.locator('.notification-toast:has-text("Oriole")').count(), 0);
  ok('no error was told');
  console.log(`${passed} checks passed`);
} finally {
  await browser.close();
  server.kill();
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
