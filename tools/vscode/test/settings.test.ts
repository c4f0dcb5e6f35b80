// Settings: what the server is sent, that it takes it, where it is found.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sassView } from '../src/sassView';
import { serverProgram, serverSettings, shownLenses, startFailure } from '../src/settings';
import { Session, kernelFile } from './session';

const URI = 'file:///w/control.ptx';

function from(values: Record<string, unknown>): Record<string, unknown> {
  return serverSettings((key) => values[key]);
}

test('only what somebody has set is sent', () => {
  assert.deepEqual(from({}), {});
  assert.deepEqual(from({ targets: [], level: null }), {});
  assert.deepEqual(from({ 'profile.enable': true, 'profile.budget': 900 }), { profile: { enable: true, budget: 900 } });
  assert.deepEqual(from({ level: 0, 'hints.stalls': false, 'server.path': '/x', 'lenses.sass': false }), {
    level: 0,
    hints: { stalls: false },
  });
});

test('the server takes the settings and obeys them', async () => {
  const code = async (values: Record<string, unknown>) => {
    const session = await Session.start(from(values));
    await session.open(URI, kernelFile('control.ptx'));
    const { text } = await sassView(session.ask, URI, 'control_collatz');
    const hints = await session.ask<{ label: string }[]>('textDocument/inlayHint', {
      textDocument: { uri: URI },
      range: { start: { line: 0, character: 0 }, end: { line: 60, character: 0 } },
    });
    assert.deepEqual(session.told, []);
    await session.stop();
    return { text, hints };
  };
  const usual = await code({});
  const all = { targets: ['sm_90a'], level: 0, knobs: { 'serial-deps': true }, background: false };
  const other = await code({ ...all, 'hints.stalls': false, 'hints.live': false, 'hints.instructions': true, 'hints.spills': true });
  assert.match(usual.text, /for sm_90,/);
  assert.match(other.text, /for sm_90a,/);
  assert.ok(other.text.split('\n').length > usual.text.split('\n').length, 'level 0 leaves more instructions');
  assert.ok(usual.hints.some((hint) => hint.label.includes('live')), JSON.stringify(usual.hints[0]));
  assert.ok(other.hints.length > 0 && !other.hints.some((hint) => hint.label.includes('live')));
});

test('a setting that is wrong is told once', async () => {
  const session = await Session.start(from({ level: 9 }));
  await session.open(URI, kernelFile('control.ptx'));
  await sassView(session.ask, URI, 'control_collatz');
  assert.deepEqual(session.told, ['oriole: there is no level 9; levels are 0 to 4']);
  await session.stop();
});

test('lenses that are switched off', async () => {
  const session = await Session.start();
  await session.open(URI, kernelFile('control.ptx'));
  const lenses = await session.ask<object[]>('textDocument/codeLens', { textDocument: { uri: URI } });
  assert.equal(lenses.length % 5, 0);
  assert.equal(shownLenses(lenses, () => true).length, lenses.length);
  assert.equal(shownLenses(lenses, (kind) => kind === 'sass').length, lenses.length / 5);
  // What the lens runs, the extension has a command for.
  const [lens] = shownLenses(lenses, (kind) => kind === 'compare');
  const { command } = await session.ask<{ command: { command: string; arguments: unknown[] } }>('codeLens/resolve', lens!);
  assert.equal(command.command, 'oriole.comparePtxas');
  assert.deepEqual(command.arguments, [{ uri: URI, kernel: 'control_collatz', chip: 'sm_90' }]);
  await session.stop();
});

test('where the server is', () => {
  const variables = { workspaceFolder: '/w', home: '/home/me' };
  const at = (configured: string | undefined, bundled: boolean) =>
    serverProgram(configured, '/ext/server/oriole', () => bundled, variables);
  assert.equal(at(undefined, true), '/ext/server/oriole');
  assert.equal(at('  ', false), 'oriole');
  assert.equal(at('${workspaceFolder}/target/release/oriole', true), '/w/target/release/oriole');
  assert.equal(at('~/bin/oriole', true), '/home/me/bin/oriole');
  assert.equal(at('/a/${unknown}/b', true), '/a/${unknown}/b');
  assert.match(startFailure('oriole', 'it is not there'), /`oriole lsp` does not start: it is not there\./);
});
