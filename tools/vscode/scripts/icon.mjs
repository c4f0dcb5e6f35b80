// Draws images/icon.svg as images/icon.png, which the marketplace wants. It draws what the icon is made of (rectangles, circles and
// polygons of one colour) with 4 x 4 samples a pixel, so that no program for pictures is needed.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { crc32, deflateSync } from 'node:zlib';

const images = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../images');
const SIZE = 256;
const SAMPLES = 4;

/** The shapes of a picture, from back to front, and its width in their units. */
function shapes(svg) {
  const width = Number(/viewBox="0 0 (\d+) \d+"/.exec(svg)[1]);
  const found = [];
  for (const [, kind, text] of svg.matchAll(/<(\w+) ([^>]*)\/>/g)) {
    const own = Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
    const number = (key) => Number(own[key]);
    const colour = [1, 3, 5].map((at) => parseInt(own.fill.slice(at, at + 2), 16));
    const corners = (own.points ?? '').split(' ').map((point) => point.split(',').map(Number));
    const holds = {
      rect: (x, y) => x >= number('x') && y >= number('y') && x < number('x') + number('width') && y < number('y') + number('height'),
      circle: (x, y) => (x - number('cx')) ** 2 + (y - number('cy')) ** 2 < number('r') ** 2,
      polygon: (x, y) => {
        let inside = false;
        corners.forEach(([x1, y1], at) => {
          const [x2, y2] = corners[(at + 1) % corners.length];
          if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
        });
        return inside;
      },
    }[kind];
    if (!holds) throw new Error(`icon.svg has a <${kind}>, which this script does not draw`);
    found.push({ colour, holds });
  }
  return { width, found };
}

/** The rows of a picture, as PNG has them: a filter byte, then red, green and blue of each pixel. */
export function pixels(svg) {
  const { width, found } = shapes(svg);
  const rows = Buffer.alloc(SIZE * (1 + 3 * SIZE));
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      const sum = [0, 0, 0];
      for (let sample = 0; sample < SAMPLES * SAMPLES; sample++) {
        const at = (pixel, step) => ((pixel + (step + 0.5) / SAMPLES) * width) / SIZE;
        const [px, py] = [at(x, sample % SAMPLES), at(y, Math.floor(sample / SAMPLES))];
        const top = found.findLast((shape) => shape.holds(px, py));
        top?.colour.forEach((value, channel) => (sum[channel] += value));
      }
      sum.forEach((value, channel) => (rows[y * (1 + 3 * SIZE) + 1 + 3 * x + channel] = Math.round(value / SAMPLES ** 2)));
    }
  }
  return rows;
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

/** A picture as PNG. */
function png(svg) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(pixels(svg))), chunk('IEND', Buffer.alloc(0))]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(path.join(images, 'icon.png'), png(readFileSync(path.join(images, 'icon.svg'), 'utf8')));
}
