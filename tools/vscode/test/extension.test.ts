// The packed extension as it is, with its language client and the real server, in a double of the editor: the door opens, the
// commands show their views, and the light goes both ways. The real window is `npm run test:window`.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import Module from 'node:module';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { Editor, TextDocument, TextEditor, Uri } from './editor';
import { OWN, ROOT, kernelFile, program } from './session';

const manifest = JSON.parse(fs.readFileSync(path.join(OWN, 'package.json'), 'utf8'));
const properties: Record<string, { default: unknown }> = manifest.contributes.configuration.properties;
const defaults = Object.fromEntries(Object.entries(properties).map(([key, { default: value }]) => [key, value]));
const editor = new Editor({ 'oriole.server.path': program(), 'oriole.lenses.compare': false }, defaults);
const FILE = path.join(ROOT, 'test-data/kernels/control.ptx');
const TEXT = kernelFile('control.ptx');
const line = (text: string) => TEXT.split('\n').findIndex((each) => each.includes(text));

async function until(what: string, condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    assert.ok(tries < 400, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe('extension', () => {
  let extension: { activate(context: unknown): Promise<void>; deactivate(): Promise<void> };
  let source: TextEditor;
  const beside = (name: string) => editor.visible.find((each) => each.document.uri.path.endsWith(name))!;
  const last = (): TextDocument => editor.documents[editor.documents.length - 1]!;

  before(async () => {
    const load = (Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown })._load;
    const double = editor.module();
    (Module as unknown as { _load: unknown })._load = function (name: string, ...rest: unknown[]) {
      return name === 'vscode' ? double : load.call(this, name, ...rest);
    };
    extension = require(path.join(OWN, 'dist/extension.js'));
    await extension.activate({ subscriptions: [], extensionPath: OWN, extension: { packageJSON: manifest } });
    source = await editor.open(Uri.file(FILE), 'ptx', TEXT);
  });
  after(() => extension.deactivate());

  test('every command of the manifest is there, and the server runs', () => {
    const declared = manifest.contributes.commands.map((each: { command: string }) => each.command);
    for (const command of declared) assert.ok(editor.commands.has(command), command);
    assert.deepEqual(editor.errors, []);
  });

  test('lenses without those that are switched off', async () => {
    const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
    // As an editor does it: an answer that the settings on their way have outdated is asked for again.
    let lenses: { data: { what: string } }[] = [];
    for (let tries = 0; lenses.length === 0; tries++) {
      assert.ok(tries < 400, 'no lenses');
      lenses = await editor.lenses[0].provideCodeLenses(source.document, token);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    const kinds = new Set(lenses.map((lens) => lens.data.what));
    assert.deepEqual([...kinds], ['figures', 'sass', 'ori', 'profile']);
  });

  test('the status bar follows the cursor', async () => {
    editor.select(source, line('max.u32'));
    await until('the status', () => /sm_90 control_collatz: \d+ registers/.test(editor.status.text));
  });

  test('SASS is lit from PTX, and PTX from SASS', async () => {
    await editor.run('oriole.showSass');
    const view = beside('.oriole-sass');
    assert.equal(view.document.languageId, 'oriole-sass');
    const rows = view.document.text.split('\n');
    editor.select(source, line('st.global'));
    assert.ok(view.lit.length > 0 && view.lit.some((at) => rows[at]!.includes('STG')), `${view.lit}`);
    assert.deepEqual(source.lit, [line('st.global')]);
    editor.select(view, rows.findIndex((row) => row.includes('VIMNMX')));
    assert.deepEqual(source.lit, [line('max.u32')]);
    const { provider } = editor.hovers.find((each) => each.selector.scheme === 'oriole-view')!;
    const hover = provider.provideHover(view.document, { line: 2, character: 0 });
    assert.match(hover.contents.value, /word `0x/);
  });

  test('SASS follows the text by itself', async () => {
    const view = beside('.oriole-sass');
    const at = line('max.u32');
    const column = TEXT.split('\n')[at]!.indexOf('max.u32');
    const good = view.document.text;
    editor.type(source.document, at, column, column + 7, 'nothing');
    await until('code that is stale', () => view.document.text.includes('stale: the text does not compile'));
    editor.type(source.document, at, column, column + 7, 'max.u32');
    await until('code that is good again', () => view.document.text === good);
    // Above it a line more: the map moves with the text.
    editor.type(source.document, 0, 0, 0, '// a line\n');
    const row = view.document.text.split('\n').findIndex((each) => each.includes('VIMNMX'));
    await until('the map', () => {
      editor.select(view, row);
      return source.lit[0] === at + 1;
    });
    editor.undo(source.document, '// a line\n');
    assert.deepEqual(editor.errors, []);
  });

  test('Ori after a phase that is picked, beside SASS', async () => {
    editor.select(source, line('max.u32'));
    editor.pick = (rows) => rows.find((row: { phase: string }) => row.phase === 'EarlyOriSimpleLiveDead');
    await editor.run('oriole.showOri', { uri: source.document.uri.toString(), kernel: 'control_collatz' });
    const ori = beside('.oriole-ori');
    assert.match(ori.document.text, /after 10 EarlyOriSimpleLiveDead/);
    const row = ori.document.text.split('\n').findIndex((each) => each.includes('Shr64'));
    editor.select(ori, row);
    assert.deepEqual(source.lit, [line('shr.u64')]);
    assert.ok(beside('.oriole-sass').lit.length > 0, 'SASS is lit with Ori');
  });

  test('the views follow another target', async () => {
    editor.select(source, line('max.u32'));
    editor.pick = (rows) => rows.find((row: { chip?: string }) => row.chip === 'sm_90a');
    await editor.run('oriole.setTarget');
    await until('the view', () => beside('.oriole-sass').document.text.includes('for sm_90a,'));
    await until('the status', () => editor.status.text.includes('sm_90a'));
    await editor.run('oriole.restartServer');
    assert.deepEqual(editor.errors, []);
  });

  test('a kernel is verified by the program and profiled by the server', async () => {
    const uri = source.document.uri.toString();
    await editor.run('oriole.verify', { uri, kernel: 'control_collatz' });
    assert.match(last().text, /control_collatz/);
    await editor.run('oriole.profile', { uri, kernel: 'control_collatz' });
    assert.match(last().text, /control_collatz: \d+ cycles/);
    assert.match(last().text, /the launch of control_collatz\.json/);
    assert.deepEqual(editor.errors, []);
  });

  test('the page of the file, linked with the cursor', async () => {
    const uri = source.document.uri.toString();
    await editor.run('oriole.showPage', { uri });
    const [panel] = editor.panels;
    await until('the page', () => panel!.webview.html.includes('acquireVsCodeApi'));
    const answers = () => panel!.told.filter((each) => each.type === 'answer');
    const kept = () => panel!.told.filter((each) => each.type === 'keep');
    panel!.hears.fire({ type: 'ask', id: 1, path: 'file' });
    await until('the data', () => answers().length > 0);
    const { revision, file } = answers()[0].value;
    assert.equal(file.kernels[0][0], 'control_collatz');
    editor.select(source, line('shr.u64'));
    await until('the row of the cursor', () => kept().length > 0);
    const { kernel } = kept()[0];
    assert.deepEqual(kept(), [{ type: 'keep', kernel, line: line('shr.u64') + 1 }]);
    assert.match(TEXT, new RegExp(`\\.entry ${kernel}\\b`));
    // A row of the page is the line of the cursor, and what is no message of the page is not heard.
    panel!.hears.fire({ type: 'kept', kernel, line: 'x' });
    panel!.hears.fire({ type: 'kept', kernel, line: line('max.u32') + 1 });
    await until('the line of the row', () => source.selection.active.line === line('max.u32'));
    // A text that is not saved is followed, also while it is wrong.
    const states = () => panel!.told.filter((each) => each.type === 'state');
    editor.type(source.document, 0, 0, 0, 'wrong\n');
    await until('the error', () => states().length > 0);
    assert.equal(states()[0].revision, revision);
    assert.match(states()[0].error, /^line 1: error/);
    editor.undo(source.document, 'wrong\n');
    editor.type(source.document, 0, 0, 0, '// a line\n');
    await until('another state', () => states().length > 1);
    assert.deepEqual(states()[1], { type: 'state', revision: revision + 1, error: null });
    editor.undo(source.document, '// a line\n');
    // A page that is drawn again lights the same row.
    panel!.hears.fire({ type: 'ready' });
    await until('the same row', () => kept().length > 1);
    assert.deepEqual(kept()[1], { type: 'keep', kernel, line: line('max.u32') + 1 });
    await editor.run('oriole.showPage', { uri });
    assert.equal(editor.panels.length, 1);
    panel!.dispose();
    editor.save(source.document);
    assert.deepEqual(editor.errors, []);
  });

  test('reports, and an error that is told', async () => {
    await editor.run('oriole.memoryUsage');
    assert.match(last().text, /^The database holds /);
    await editor.run('oriole.explainEdit');
    assert.match(last().text, /^From the next edit on/);
    editor.active = source;
    await editor.run('oriole.showSyntaxTree');
    assert.match(last().text, /^UNIT@1:1/);
    editor.pick = () => undefined;
    const before = editor.documents.length;
    await editor.run('oriole.showOri', { uri: source.document.uri.toString(), kernel: 'control_collatz' });
    assert.equal(editor.documents.length, before, 'nothing was picked, nothing is shown');
    await editor.run('oriole.comparePtxas', { uri: 'file:///nowhere.ptx', kernel: 'k' });
    assert.equal(editor.errors.length, 1);
    assert.match(editor.errors[0]!, /^Oriole: .*is not open/);
  });
});
