// The icon is what its script draws of the picture.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';

import { OWN } from './session';

test('icon.png is icon.svg', async () => {
  const { pixels } = (await import(path.join(OWN, 'scripts/icon.mjs'))) as { pixels(svg: string): Buffer };
  const png = fs.readFileSync(path.join(OWN, 'images/icon.png'));
  const at = png.indexOf('IDAT');
  const drawn = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
  assert.ok(drawn.equals(pixels(fs.readFileSync(path.join(OWN, 'images/icon.svg'), 'utf8'))), 'run npm run icon');
});
