// Commands of the program on real files.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';

import { profileArguments, run, verifyArguments } from '../src/programRuns';
import { ROOT, program } from './session';

const folder = path.join(ROOT, 'test-data/profile');

test('a profile of launch records', async () => {
  const faults = path.join(folder, 'faults.ptx');
  const ran = await run(program(), profileArguments(faults, path.join(folder, 'faults.json'), undefined), folder, () => undefined);
  assert.equal(ran.status, 0, ran.text);
  assert.match(ran.text, /bank/);
});

test('a kernel is verified, for another chip too', async () => {
  const control = path.join(ROOT, 'test-data/kernels/control.ptx');
  for (const chip of [undefined, 'sm_90a']) {
    const ran = await run(program(), verifyArguments(control, 'control_collatz', chip), folder, () => undefined);
    assert.equal(ran.status, 0, ran.text);
    assert.match(ran.text, /control_collatz/);
  }
});

test('a program that is ended, and one that is not there', async () => {
  const ran = await run(process.execPath, ['-e', 'setTimeout(() => 0, 60000)'], folder, (end) => end());
  assert.equal(ran.status, null);
  await assert.rejects(run('/nowhere/oriole', [], folder, () => undefined));
});
