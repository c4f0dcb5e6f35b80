// The page in a panel: its policy, its scripts, and the messages that it may send.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';

import { embedded, fromPage, viewArguments } from '../src/kernelPage';
import { runForOutput } from '../src/programRuns';
import { ROOT, program } from './session';

const folder = path.join(ROOT, 'test-data/kernels');

test('the page of a kernel runs its own scripts and no others', async () => {
  const file = path.join(folder, 'control.ptx');
  const ran = await runForOutput(program(), viewArguments(file, 'sm_90a'), folder, () => undefined);
  assert.equal(ran.status, 0, ran.error);
  assert.match(ran.output, /control_collatz/);
  const page = embedded(ran.output, '0123');
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
  for (const event of ['oriole:ready', 'oriole:kept', 'oriole:keep']) assert.ok(ran.output.includes(`"${event}"`), event);
});

test('what is no page is refused', () => {
  assert.throws(() => embedded('<html></html>', '0'), /wrote no page/);
});

test('messages of the panel', () => {
  assert.deepEqual(fromPage({ type: 'ready', more: 1 }), { type: 'ready' });
  assert.deepEqual(fromPage({ type: 'kept', kernel: 'k', line: 3 }), { type: 'kept', kernel: 'k', line: 3 });
  for (const wrong of [null, 7, {}, { type: 'kept' }, { type: 'kept', kernel: 'k', line: 0 }, { type: 'kept', kernel: 1, line: 2 }, { type: 'kept', kernel: 'k', line: 1.5 }]) {
    assert.equal(fromPage(wrong), undefined, JSON.stringify(wrong));
  }
});
