// Writes what the extension takes from the compiler: the settings that are the server's (from its JSON schema) into
// package.json. Building, testing and packing begin with it, so that the extension never offers what the compiler of the same
// tree does not have.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const own = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const root = path.resolve(own, '../..');
const read = (...parts) => readFileSync(path.join(...parts), 'utf8');

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
  for (const [name, part] of Object.entries(properties.profile.properties)) add(`profile.${name}`, part);
  return found;
}

const files = [];
const manifestPath = path.join(own, 'package.json');
const manifest = JSON.parse(read(manifestPath));
const known = manifest.contributes.configuration.properties;
const foreign = Object.fromEntries(
  Object.entries(known).filter(([key]) => !/^oriole\.(targets|level|knobs|background|hints\..*|profile\..*)$/.test(key)),
);
manifest.contributes.configuration.properties = { ...foreign, ...settings() };
files.push([manifestPath, JSON.stringify(manifest, null, 2) + '\n']);
for (const [file, text] of files) {
  const before = existsSync(file) ? read(file) : undefined;
  if (before === text) continue;
  writeFileSync(file, text);
  console.log(`wrote ${path.relative(root, file)}`);
}
