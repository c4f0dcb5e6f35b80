// Views, their maps to the source and the status bar, with the real server.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { FollowedSass } from '../src/followedSass';
import { LineMap, litFromSource, litFromView, runs } from '../src/lineMap';
import { oriView, statements } from '../src/oriView';
import { phasePicks } from '../src/phases';
import { Comparison, DocumentSymbol, MemoryUsage, Phase, Sass, SassMap, TreeNode } from '../src/protocol';
import { comparison, memoryText, sideBySide, treeText } from '../src/reports';
import { followSass, renderSass, sassView } from '../src/sassView';
import { statusAt } from '../src/status';
import { functionAt, functions } from '../src/symbols';
import { outdated } from '../src/view';
import { Session, kernelFile } from './session';

const URI = 'file:///w/control.ptx';
const CALLS = 'file:///w/calls.ptx';
const TEXT = kernelFile('control.ptx');
const LINES = TEXT.split('\n');
const KERNEL = 'control_collatz';

const EMPTY: SassMap = {
  textDocument: { uri: '', version: 0 },
  kernel: '',
  asked: null,
  chip: null,
  stale: true,
  resultId: '1',
  previousResultId: null,
  edits: [],
  count: 0,
  map: [],
};
const lineOf = (text: string) => LINES.findIndex((line) => line.includes(text));

describe('views', () => {
  let session: Session;
  before(async () => {
    session = await Session.start();
    await session.open(URI, TEXT);
    await session.open(CALLS, kernelFile('calls.ptx'));
  });
  after(async () => {
    assert.equal(await session.stop(), 0);
  });

  test('SASS is beside its statements, both ways', async () => {
    const view = await sassView(session.ask, URI, KERNEL);
    const rows = view.text.split('\n');
    assert.match(rows[0]!, /^\/\/ control_collatz for sm_90, \d+ instructions$/);
    assert.equal(rows[1], 'control_collatz:');
    assert.match(rows[2]!, /^\/\*0000\*\/ \[[-0-5]{6}:R.:W.:[-Y]:S\d\d\] \S/);
    assert.ok(view.map.size > 20, `${view.map.size} rows have a source`);

    const store = lineOf('st.global');
    const fromSource = litFromSource(view.map, store, store);
    assert.equal(fromSource.view.length > 0, true);
    assert.ok(fromSource.view.some((line) => rows[line]!.includes('STG')), 'the store lights an STG');
    assert.deepEqual(fromSource.source, [{ first: store, last: store }]);

    const stg = rows.findIndex((row) => row.includes('STG'));
    const fromView = litFromView(view.map, stg, stg);
    assert.deepEqual(fromView.source, [{ first: store, last: store }]);
    assert.deepEqual(fromView.view, fromSource.view);

    assert.match(view.hovers[stg]!, /word `0x[0-9a-f]{32}`/);
    assert.equal(view.hovers[0], undefined);
    // A line without code lights nothing.
    assert.deepEqual(litFromSource(view.map, 0, 3), { view: [], source: [] });
  });

  test('every row of every kernel leads to a statement of its kind', async () => {
    const symbols = await session.ask<DocumentSymbol[]>('textDocument/documentSymbol', { textDocument: { uri: CALLS } });
    const text = kernelFile('calls.ptx').split('\n');
    let seen = 0;
    for (const { name } of functions(symbols, true)) {
      const view = await sassView(session.ask, CALLS, name);
      view.text.split('\n').forEach((row, line) => {
        const span = view.map.sourceOf(line);
        if (!span || !/\] (@!?U?P\d )?(EXIT|STG|LDG)\b/.test(row)) return;
        const statement = text.slice(span.first, span.last + 1).join(' ');
        // The result of an atomic or a library call may become a load or store too: the machine's exits and accesses alone are sure.
        if (/ EXIT/.test(row)) assert.match(statement, /\b(ret|exit|bra)\b/, row);
        if (/ STG/.test(row)) assert.match(statement, /\bst\./, row);
        if (/ LDG/.test(row)) assert.match(statement, /\bld\./, row);
        seen += 1;
      });
    }
    assert.ok(seen > 20, `${seen} rows were looked at`);
  });

  test('SASS that is followed keeps in step', async () => {
    const uri = 'file:///w/followed.ptx';
    await session.open(uri, TEXT);
    const followed = await followSass(session.ask, uri, KERNEL);
    const line = lineOf('max.u32');
    const column = LINES[line]!.indexOf('max.u32');
    const at = (row: number, from: number, to: number) => ({ start: { line: row, character: from }, end: { line: row, character: to } });
    // A line above, another instruction, one that does not compile, and the first again.
    const edits: [ReturnType<typeof at>, string, boolean][] = [
      [at(0, 0, 0), '// a line\n', false],
      [at(line + 1, column, column + 7), 'min.u32', false],
      [at(line + 1, column, column + 7), 'minimum', true],
      [at(line + 1, column, column + 7), 'max.u32', false],
    ];
    for (const [range, text, stale] of edits) {
      const next = session.next<SassMap>('ptx/sassMap', (told) => told.textDocument.version === session.version);
      await session.edit(uri, range, text);
      assert.ok(followed.apply(await next), text);
      const whole = await sassView(session.ask, uri, KERNEL);
      const own = renderSass(followed.sass()!);
      assert.equal(own.text, whole.text);
      assert.deepEqual(own.map, whole.map);
      assert.equal(own.stale, stale);
    }
    assert.equal(new FollowedSass().sass(), undefined);
    assert.equal(followed.apply({ ...EMPTY, previousResultId: 'another' }), false);
    await session.ask('ptx/viewSass', { textDocument: { uri }, kernel: KERNEL, follow: false });
  });

  test('Ori is beside its statements', async () => {
    const view = await oriView(session.ask, URI, KERNEL, 'OriCheckInitialProgram');
    const rows = view.text.split('\n');
    assert.equal(rows[0], '// control_collatz for sm_90 after 0 OriCheckInitialProgram');
    const pairs: [RegExp, string][] = [
      [/ = VIMNMX\.U32 /, 'max.u32'],
      [/ STG\.E /, 'st.global'],
      [/ EXIT /, 'ret;'],
      [/ = Shr64\.U64 /, 'shr.u64'],
    ];
    for (const [machine, source] of pairs) {
      const line = rows.findIndex((row) => machine.test(row));
      const place = lineOf(source);
      assert.deepEqual(view.map.sourceOf(line), { first: place, last: place }, `${machine}`);
      assert.ok(litFromSource(view.map, place, place).view.includes(line));
    }
  });

  test('Ori of functions that have prototypes', async () => {
    const text = kernelFile('calls.ptx').split('\n');
    const view = await oriView(session.ask, CALLS, '_Z6squarei', 'OriCheckInitialProgram');
    const line = view.text.split('\n').findIndex((row) => / = IMAD /.test(row));
    assert.match(text[view.map.sourceOf(line)!.first]!, /mul\.lo/);
  });

  test('statements of the tree are those of the machine code', async () => {
    const textDocument = { uri: URI };
    const nodes = await session.ask<TreeNode[]>('ptx/viewSyntaxTree', { textDocument });
    const known = new Set(statements(nodes).map((span) => `${span.first}-${span.last}`));
    const sass = await session.ask<Sass>('ptx/viewSass', { textDocument, kernel: KERNEL });
    for (const row of sass.rows) {
      if (row.source) assert.ok(known.has(`${row.source.start.line}-${row.source.end.line}`), row.text);
    }
  });

  test('each phase that is offered gives Ori', async () => {
    const picks = await phasePicks(session.ask);
    assert.ok(picks.length > 40);
    for (const { phase } of picks) {
      const view = await oriView(session.ask, URI, KERNEL, phase);
      assert.ok(view.map.size > 10, phase);
    }
    assert.equal((await phasePicks(session.ask, 'GeneralOptimize'))[0]!.phase, 'GeneralOptimize');
    // One that is not offered is refused with the reason that the list gives.
    const other = (await session.ask<Phase[]>('ptx/phases', {})).find((phase) => phase.state === 'done' && !phase.ori)!;
    await assert.rejects(oriView(session.ask, URI, KERNEL, other.name), new RegExp(`phase ${other.number} ${other.name} leaves`));
    await assert.rejects(oriView(session.ask, URI, KERNEL, 'NoSuchPhase'), /there is no phase/);
    await assert.rejects(oriView(session.ask, URI, 'nobody', 'EarlyOriSimpleLiveDead'), /there is no function `nobody`/);
  });

  test('reports', async () => {
    const range = { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } };
    const tree = treeText(await session.ask('ptx/viewSyntaxTree', { textDocument: { uri: URI }, range }));
    assert.match(tree, /^UNIT@1:1-\d+:\d+\n  VERSION_DIRECTIVE@1:1-1:\d+\n    DOTTED@1:1-1:9 "\.version"\n/);
    const memory = await session.ask<MemoryUsage>('ptx/memoryUsage', {});
    assert.match(memoryText(memory), /^The database holds [\d.]+ [KM]iB\.\n\nwhat +count +size\n/);
  });

  test('the comparison with ptxas', async (context) => {
    const oracle = process.env['ORIOLE_ORACLE'];
    const places = [oracle, ...(process.env['PATH'] ?? '').split(path.delimiter)].filter((place) => place !== undefined);
    const place = places.find((folder) => fs.existsSync(path.join(folder, 'ptxas')));
    if (place === undefined) return context.skip('no ptxas');
    const own = await Session.start({}, { ...process.env, PATH: `${place}${path.delimiter}${process.env['PATH']}` });
    await own.open(URI, TEXT);
    const text = comparison(await own.ask<Comparison>('ptx/compare', { textDocument: { uri: URI }, kernel: KERNEL }));
    await own.stop();
    assert.match(text, /^control_collatz for sm_90\n/);
    assert.match(text, /\n +Oriole +ptxas\nverdict +accepted +accepted\n/);
    assert.match(text, /\ninstructions +\d+ +\d+\nregisters +\d+ +\d+\n/);
    assert.match(text, /\nspills +0 stores, 0 loads, 0 B +0 B stored, 0 B loaded\n/);
    assert.match(text, /EXIT *\| /);
    assert.match(text, /STG\.E/);
  });

  test('the status bar tells the kernel under the cursor', async () => {
    const inKernel = await statusAt(session.ask, URI, lineOf('max.u32'));
    assert.match(inKernel.text, /^\$\(chip\) sm_90 control_collatz: \d+ registers$/);
    assert.match(inKernel.tooltip, /\d+ registers, because \d+ are live/);
    assert.equal(inKernel.stale, false);
    const outside = await statusAt(session.ask, URI, 0, 'sm_90a');
    assert.equal(outside.text, '$(chip) sm_90a');
    const calls = kernelFile('calls.ptx').split('\n');
    const body = calls.findLastIndex((line) => line.includes('_Z6squarei('));
    assert.equal((await statusAt(session.ask, CALLS, body)).text, '$(chip) PTX _Z6squarei');
    const symbols = await session.ask<DocumentSymbol[]>('textDocument/documentSymbol', { textDocument: { uri: CALLS } });
    assert.equal(functionAt(symbols, body)?.name, '_Z6squarei');
  });

  test('another target, and the own one again', async () => {
    const setTarget = (argument: object) =>
      session.ask('workspace/executeCommand', { command: 'oriole.setTarget', arguments: [argument] });
    await setTarget({ uri: URI, chip: 'sm_90a' });
    assert.match((await sassView(session.ask, URI, KERNEL)).text, /^\/\/ control_collatz for sm_90a,/);
    assert.match((await statusAt(session.ask, URI, lineOf('max.u32'), 'sm_90a')).text, /sm_90a control_collatz: \d+ registers/);
    await setTarget({ uri: URI });
    assert.match((await sassView(session.ask, URI, KERNEL)).text, /^\/\/ control_collatz for sm_90,/);
  });

  test('while the text does not compile, figures and code are marked', async () => {
    const good = await sassView(session.ask, URI, KERNEL);
    const ori = await oriView(session.ask, URI, KERNEL, 'EarlyOriSimpleLiveDead');
    const line = lineOf('max.u32');
    const column = LINES[line]!.indexOf('max.u32');
    const word = (length: number) => ({ start: { line, character: column }, end: { line, character: column + length } });
    await session.edit(URI, word(7), 'maximum.u32');
    const stale = await sassView(session.ask, URI, KERNEL);
    assert.equal(stale.stale, true);
    assert.match(stale.text, /stale: the text does not compile/);
    const status = await statusAt(session.ask, URI, line);
    assert.match(status.text, /registers \$\(history\) stale$/);
    assert.equal(status.stale, true);
    await assert.rejects(oriView(session.ask, URI, KERNEL, 'EarlyOriSimpleLiveDead'), /`control_collatz` has errors/);
    await session.edit(URI, word(11), 'max.u32');
    const again = await sassView(session.ask, URI, KERNEL);
    assert.equal(again.text, good.text);

    const kept = outdated(ori, '`control_collatz` has errors', 'oriole-ori');
    assert.equal(kept.text, `// stale: \`control_collatz\` has errors\n${ori.text}`);
    assert.equal(kept.map, LineMap.EMPTY);
    const twice = outdated(kept, 'still', 'oriole-ori');
    assert.equal(twice.text, `// stale: still\n${ori.text}`);
    assert.equal(twice.hovers.length, kept.hovers.length);
    assert.equal(outdated(undefined, 'no code', 'oriole-sass').text, '// stale: no code\n');
  });
});

test('two texts side by side, and a verdict that differs', () => {
  assert.equal(sideBySide('a\nlong\n', 'x\n'), 'a    | x\nlong |');
  const text = comparison({
    agree: false,
    oriole: { kernel: 'k', chip: 'sm_90', verdict: 'accepted', diagnostics: [] },
    ptxas: { verdict: 'refused', report: 'ptxas: no\n' },
  });
  assert.match(text, /do not agree[^]*verdict +accepted +refused\n[^]*ptxas: no/);
});

test('maps and runs of lines', () => {
  const at = (first: number, last = first) => ({ first, last });
  const map = new LineMap([undefined, at(4), at(2, 3), at(4), undefined, at(3)]);
  assert.deepEqual(map.viewOf(4, 4), [1, 3]);
  assert.deepEqual(map.viewOf(2, 3), [2, 5]);
  assert.deepEqual(litFromView(map, 1, 1), { view: [1, 3], source: [at(4)] });
  assert.deepEqual(litFromView(map, 0, 0), { view: [], source: [] });
  assert.deepEqual(litFromSource(map, 3, 3), { view: [2, 5], source: [at(2, 3), at(3)] });
  assert.deepEqual(runs([1, 2, 3, 7, 9, 10]), [at(1, 3), at(7), at(9, 10)]);
});
