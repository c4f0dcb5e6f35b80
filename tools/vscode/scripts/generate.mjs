// Writes what the extension takes from the compiler: the settings that are the server's (from its JSON schema) into
// package.json, the phases that leave Ori into src/phases.json, which is not kept. Building, testing and packing begin with it, so
// that the extension never offers what the compiler of the same tree does not have.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const own = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const root = path.resolve(own, '../..');
const read = (...parts) => readFileSync(path.join(...parts), 'utf8');

/** Groups whose phases leave Ori, by the words of the compiler's own table. */
function phases() {
  const run = read(root, 'crates/pipeline/src/run.rs');
  const groups = [.../ORI_GROUPS[^=]*=\s*\[([^\]]*)\]/.exec(run)[1].matchAll(/Group::(\w+)/g)].map((found) => found[1]);
  const names = new Map(
    [...read(root, 'crates/pipeline/src/phases.rs').matchAll(/Group::(\w+) => "(\w+)"/g)].map((found) => [found[1], found[2]]),
  );
  const rows = read(root, 'crates/pipeline/src/phases.rs').matchAll(
    /row\((\d+), "(\w+)", (\w+), (\d), (\w+), "[^"]*", "((?:[^"\\]|\\.)*)"\)/g,
  );
  return [...rows]
    .filter(([, , , group, , state]) => state === 'Done' && groups.includes(group))
    .map(([, number, name, group, level, , doc]) => ({
      number: Number(number),
      name,
      group: names.get(group),
      level: Number(level),
      doc: JSON.parse(`"${doc}"`),
    }));
}

/** The settings that the server reads, in the editor's words. The client's settings have no folders of their own. */
function settings() {
  const { properties } = JSON.parse(read(root, 'docs/oriole.schema.json'));
  const found = {};
  const add = (key, value) => {
    found[`oriole.${key}`] = { scope: 'resource', ...value };
  };
  add('targets', { ...properties.targets, default: [] });
  add('level', properties.level);
  add('knobs', { ...properties.knobs, default: {}, description: 'Knobs of the compiler by name.' });
  add('background', properties.background);
  for (const [name, hint] of Object.entries(properties.hints.properties)) add(`hints.${name}`, hint);
  return found;
}

const files = [];
const manifestPath = path.join(own, 'package.json');
const manifest = JSON.parse(read(manifestPath));
const known = manifest.contributes.configuration.properties;
const foreign = Object.fromEntries(
  Object.entries(known).filter(([key]) => !/^oriole\.(targets|level|knobs|background|hints\..*)$/.test(key)),
);
manifest.contributes.configuration.properties = { ...foreign, ...settings() };
files.push([manifestPath, JSON.stringify(manifest, null, 2) + '\n']);
const rows = phases().map((row) => '  ' + JSON.stringify(row));
files.push([path.join(own, 'src/phases.json'), `[\n${rows.join(',\n')}\n]\n`]);

for (const [file, text] of files) {
  const before = existsSync(file) ? read(file) : undefined;
  if (before === text) continue;
  writeFileSync(file, text);
  console.log(`wrote ${path.relative(root, file)}`);
}
