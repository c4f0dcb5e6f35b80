// The manifest and what it names, and the configuration of the language.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';

import { HINTS, LENSES } from '../src/settings';
import { OWN } from './session';

const json = (name: string) => JSON.parse(fs.readFileSync(path.join(OWN, name), 'utf8'));
const manifest = json('package.json');
const schema = json('../../docs/oriole.schema.json');
const source = fs
  .readdirSync(path.join(OWN, 'src'))
  .map((name) => fs.readFileSync(path.join(OWN, 'src', name), 'utf8'))
  .join('\n');

test('commands and settings of the manifest are those of the code', () => {
  const declared = manifest.contributes.commands.map((each: { command: string }) => each.command);
  const registered = [...source.matchAll(/^    '(oriole\.\w+)': /gm)].map((found) => found[1]);
  assert.deepEqual([...declared].sort(), [...registered].sort());
  const keys = Object.keys(manifest.contributes.configuration.properties);
  for (const hint of HINTS) assert.ok(keys.includes(`oriole.hints.${hint}`));
  for (const lens of LENSES) assert.ok(keys.includes(`oriole.lenses.${lens}`));
  for (const menu of Object.values(manifest.contributes.menus).flat()) {
    assert.ok(declared.includes((menu as { command: string }).command));
  }
  const bindings = manifest.contributes.keybindings as { command: string; key: string; mac: string }[];
  for (const binding of bindings) assert.ok(declared.includes(binding.command), binding.command);
  assert.equal(new Set(bindings.map((binding) => binding.key)).size, bindings.length, 'a key has one command');
  for (const { steps } of manifest.contributes.walkthroughs as { steps: { description: string; completionEvents: string[] }[] }[]) {
    for (const [, command] of steps.flatMap((step) => [...step.description.matchAll(/command:(oriole\.\w+)/g)])) {
      assert.ok(declared.includes(command), command);
    }
    for (const event of steps.flatMap((step) => step.completionEvents)) {
      assert.ok(event === 'onLanguage:ptx' || declared.includes(event.replace('onCommand:', '')), event);
    }
  }
  // One list of chips: that of the settings' schema, which the server's tests hold to the chips that compile.
  assert.deepEqual(manifest.contributes.configuration.properties['oriole.targets'].items.enum, schema.properties.targets.items.enum);
  // The same of knobs and switches.
  const knobs = manifest.contributes.configuration.properties['oriole.knobs'].properties;
  assert.deepEqual(knobs, schema.properties.knobs.properties);
});

test('files that the manifest names are there and packed', () => {
  const { languages, grammars, walkthroughs } = manifest.contributes;
  const media = walkthroughs.flatMap((each: { steps: { media: { markdown: string } }[] }) => each.steps.map((step) => `./${step.media.markdown}`));
  const named = [`./${manifest.icon}`, ...media, ...languages.map((each: { configuration: string }) => each.configuration), ...grammars.map((each: { path: string }) => each.path)];
  const packed = fs.readFileSync(path.join(OWN, '.vscodeignore'), 'utf8');
  for (const name of named) {
    assert.ok(fs.existsSync(path.join(OWN, name)), name);
    assert.ok(packed.includes(`!${name.slice(2)}`) || packed.includes(`!${path.dirname(name).slice(2)}/*`), name);
  }
});

test('the lock file names no host', () => {
  const lock = fs.readFileSync(path.join(OWN, 'package-lock.json'), 'utf8');
  assert.doesNotMatch(lock, /"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/);
});

test('words of PTX', () => {
  const { wordPattern } = json('language-configuration.json');
  const words = (text: string) => text.match(new RegExp(wordPattern, 'g'));
  assert.deepEqual(words('@%p1 bra $L__BB0_2;'), ['%p1', 'bra', '$L__BB0_2']);
  assert.deepEqual(words('ld.global.f32 %f1, [%rd4+16];'), ['ld', 'global', 'f32', '%f1', '%rd4', '16']);
  assert.deepEqual(words('mov.f32 %f2, 0f3F800000;'), ['mov', 'f32', '%f2', '0f3F800000']);
});
