// The page in a panel: its policy, its scripts, and the messages that it may send.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PageState, embedded, fromPage } from '../src/kernelPage';
import { Session, kernelFile } from './session';

const uri = 'file:///w/control.ptx';
const textDocument = { uri };

test('the page of a text runs its own scripts and no others', async () => {
  const session = await Session.start();
  await session.open(uri, kernelFile('control.ptx'));
  const { html } = await session.ask<{ html: string }>('ptx/viewPage', { textDocument, part: 'frame' });
  await session.stop();
  const page = embedded(html, '0123');
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)![1]!;
  assert.equal(policy, "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-0123'");
  const scripts = [...page.matchAll(/<script[^>]*>/g)].map((found) => found[0]);
  assert.deepEqual(scripts, [
    '<script id="data" type="application/json">',
    '<script nonce="0123">',
    '<script nonce="0123">',
  ]);
  assert.ok(page.indexOf('acquireVsCodeApi') < page.lastIndexOf('oriole:ready'));
  // The page has the events that the bridge listens to and sends.
  for (const event of ['oriole:ready', 'oriole:kept', 'oriole:keep']) assert.ok(html.includes(`"${event}"`), event);
});

test('the page has the text that is in the editor', async () => {
  const session = await Session.start();
  const text = kernelFile('control.ptx');
  await session.open(uri, text);
  const part = <T>(asked: object) => session.ask<T>('ptx/viewPage', { textDocument, ...asked });
  type File = { revision: number; file: { kernels: string[][] } };
  const first = await part<File>({ part: 'file' });
  assert.equal(first.file.kernels[0]![0], 'control_collatz');
  const at = { line: 0, character: 0 };
  await session.edit(uri, { start: at, end: at }, 'wrong\n');
  const wrong = await part<PageState>({ part: 'state' });
  assert.equal(wrong.revision, first.revision);
  assert.match(wrong.error!, /^line 1: error\[/);
  await session.edit(uri, { start: at, end: { line: 1, character: 0 } }, '// a line\n');
  const right = await part<PageState>({ part: 'state' });
  assert.deepEqual(right, { revision: first.revision + 1, error: null });
  const code = await part<{ text: { lines: number[] } }>({ part: 'code', number: 0, revision: right.revision });
  assert.ok(code.text);
  await assert.rejects(part({ part: 'code', number: 0, revision: first.revision }), /the text has changed/);
  await session.stop();
});

test('what is no page is refused', () => {
  assert.throws(() => embedded('<html></html>', '0'), /sent no page/);
});

test('messages of the panel', () => {
  assert.deepEqual(fromPage({ type: 'ready', more: 1 }), { type: 'ready' });
  assert.deepEqual(fromPage({ type: 'ask', id: 1, path: 'file' }), { type: 'ask', id: 1, asked: { part: 'file' } });
  assert.deepEqual(fromPage({ type: 'ask', id: 2, path: 'ori?kernel=3&revision=4' }), {
    type: 'ask',
    id: 2,
    asked: { part: 'ori', number: 3, revision: 4 },
  });
  for (const path of ['', 'frame', 'page', 'events', 'file?x', 'code?kernel=-1&revision=1', 'code?kernel=1', 7]) {
    assert.equal(fromPage({ type: 'ask', id: 1, path }), undefined, String(path));
  }
  assert.deepEqual(fromPage({ type: 'kept', kernel: 'k', line: 3 }), { type: 'kept', kernel: 'k', line: 3 });
  for (const wrong of [null, 7, {}, { type: 'kept' }, { type: 'kept', kernel: 'k', line: 0 }, { type: 'kept', kernel: 1, line: 2 }, { type: 'kept', kernel: 'k', line: 1.5 }]) {
    assert.equal(fromPage(wrong), undefined, JSON.stringify(wrong));
  }
});
