// Cubins as text through the server's virtual documents, and addresses of documents.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { Parts, ViewAddress, cubinAddress, cubinOf, parseView, viewAddress } from '../src/address';
import { Cubin } from '../src/protocol';
import { ROOT, Session, program } from './session';

/** As VS Code writes an address: query and path with percent signs all over. */
function written(parts: Parts): string {
  const encodedPath = parts.path.split('/').map(encodeURIComponent).join('/');
  return `${parts.scheme}:${encodedPath}?${encodeURIComponent(parts.query)}`;
}

test('a cubin is text with hovers', async () => {
  // A folder whose name needs percent signs.
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'oriole a&b='));
  try {
    const cubin = path.join(folder, 'control.cubin');
    execFileSync(program(), ['compile', path.join(ROOT, 'test-data/kernels/control.ptx'), '-o', cubin]);
    const uri = pathToFileURL(cubin).toString().replace('&', '%26').replace('=', '%3D');
    const address = cubinAddress(uri);
    assert.equal(address.path, '/cubin/control.cubin.oriole-sass');
    assert.equal(cubinOf(address), uri);
    const session = await Session.start();
    const content = await session.ask<{ text: string }>('workspace/textDocumentContent', { uri: written(address) });
    assert.match(content.text, /control_collatz/);
    assert.match(content.text, /STG\.E/);
    const found = await session.ask<Cubin>('ptx/viewCubin', { textDocument: { uri } });
    assert.equal(found.text, content.text);
    assert.equal(found.hovers.length, content.text.replace(/\n$/, '').split('\n').length);
    assert.ok(found.hovers.some((hover) => hover?.includes('pipe')));
    await session.stop();
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('addresses of views are read back', () => {
  const views: ViewAddress[] = [
    { what: 'sass', uri: 'file:///a%20b/k.ptx?x=1&y', kernel: 'k$1' },
    { what: 'sass', uri: 'file:///k.ptx', kernel: 'k', chip: 'sm_90a' },
    { what: 'ori', uri: 'untitled:Untitled-1', kernel: 'f', phase: 'GvnCse' },
  ];
  for (const view of views) assert.deepEqual(parseView(viewAddress(view)), view);
  assert.notDeepEqual(viewAddress(views[0]!), viewAddress(views[1]!));
  assert.equal(parseView({ scheme: 'file', path: '/x', query: '' }), undefined);
  assert.equal(parseView({ scheme: 'oriole-view', path: '/k.oriole-sass', query: '' }), undefined);
  assert.equal(cubinOf({ scheme: 'oriole', path: '/sass/k', query: 'uri=x' }), undefined);
});
