// Bundles the extension into dist/, with `--tests` the tests into out/ as well.
import { build } from 'esbuild';
import { readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const own = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(own);
const common = { bundle: true, platform: 'node', target: 'node20', format: 'cjs', logLevel: 'warning' };

rmSync('dist', { recursive: true, force: true });
await build({ ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', external: ['vscode'], minify: true });
if (process.argv.includes('--tests')) {
  rmSync('out', { recursive: true, force: true });
  const tests = readdirSync('test').filter((name) => name.endsWith('.test.ts'));
  await build({
    ...common,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: 'out',
    packages: 'external',
    sourcemap: 'inline',
  });
}
