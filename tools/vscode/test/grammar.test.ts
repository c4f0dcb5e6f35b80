// The grammars, on real PTX and on views of it: snapshots of what each piece of a line is, and that nothing of any kernel is
// left without a name. `UPDATE=1 npm test` writes the snapshots.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { createOnigScanner, createOnigString, loadWASM } from 'vscode-oniguruma';
import { INITIAL, IGrammar, Registry, parseRawGrammar } from 'vscode-textmate';

import { oriView } from '../src/oriView';
import { sassView } from '../src/sassView';
import { OWN, ROOT, Session, kernelFile } from './session';

const FILES: Record<string, string> = {
  'source.ptx': 'ptx.tmLanguage.json',
  'source.oriole-sass': 'sass.tmLanguage.json',
  'source.oriole-ori': 'ori.tmLanguage.json',
};

const registry = new Registry({
  onigLib: (async () => {
    const wasm = fs.readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
    await loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength) as ArrayBuffer);
    return { createOnigScanner, createOnigString };
  })(),
  loadGrammar: async (scope) => {
    const name = FILES[scope];
    if (!name) return null;
    const file = path.join(OWN, 'syntaxes', name);
    return parseRawGrammar(fs.readFileSync(file, 'utf8'), file);
  },
});

interface Piece {
  text: string;
  /** The innermost scope, without the language. */
  scope: string;
}

async function pieces(scope: string, text: string): Promise<Piece[][]> {
  const grammar = (await registry.loadGrammar(scope)) as IGrammar;
  let state = INITIAL;
  return text.split('\n').map((line) => {
    const found = grammar.tokenizeLine(line, state);
    state = found.ruleStack;
    return found.tokens.map((token) => {
      const inner = token.scopes[token.scopes.length - 1]!;
      const name = inner === scope ? '' : inner.slice(0, inner.lastIndexOf('.'));
      return { text: line.slice(token.startIndex, token.endIndex), scope: name };
    });
  });
}

/** One line of text, then what its pieces are. */
function shown(lines: Piece[][]): string {
  const row = (line: Piece[]) => {
    const named = line.filter((piece) => piece.text.trim() !== '' && !piece.scope.startsWith('punctuation'));
    const list = named.map((piece) => `${piece.text.trim()} ${piece.scope || 'NOTHING'}`);
    return [`> ${line.map((piece) => piece.text).join('')}`.trimEnd(), ...list.map((each) => `    ${each}`)].join('\n');
  };
  return lines.map(row).join('\n') + '\n';
}

function nameless(lines: Piece[][]): string[] {
  return lines.flatMap((line) => {
    const bare = line.filter((piece) => piece.scope === '' && piece.text.trim() !== '');
    return bare.map((piece) => `\`${piece.text}\` in \`${line.map((each) => each.text).join('')}\``);
  });
}

function snapshot(name: string, text: string): void {
  const file = path.join(OWN, 'test/snapshots', `${name}.txt`);
  if (process.env['UPDATE']) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  assert.equal(text, fs.readFileSync(file, 'utf8'));
}

const MADE = `/* a comment
   of two lines */ .version 8.0
.target sm_90a, debug // why
.extern .func (.param .b32 r) twice(.param .b32 x, .param .b64 y);
.global .align 4 .f32 table[2] = { 0f3F800000, 1.5e-3 };
.func (.reg .b32 sum) add_up (.reg .b32 x) .noreturn
{
  { .reg .pred p, %p<3>; }
  @!p st.shared::cluster.v4.f32 [%rd1+-0x10], {a, b, %f3, %f4};
Next: @%p1 bra.uni $L__BB0_4; add.u32 %r1, %r1, 7U;
  mov.u32 %r1, %tid.x; mov.u64 %rd2, %globaltimer; mov.f64 d, 0d3FF0000000000000;
  setp.lt.and.s32 %p1|%p2, %r1, -1, !%p3;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b], 16, [c];
  call.uni (r), twice, (x, y);
  .loc 1 20 3, function_name $L__info, inlined_at 1 10 2
  .pragma "nounroll";
  ret;
}
.section .debug_info { .b32 .debug_abbrev }
`;

describe('grammar', () => {
  test('a made file, piece by piece', async () => {
    const found = await pieces('source.ptx', MADE);
    snapshot('made', shown(found));
    assert.deepEqual(nameless(found), []);
  });

  test('real kernels', async () => {
    const cut = (name: string, from: number, to: number) => kernelFile(name).split('\n').slice(from, to).join('\n');
    snapshot('control', shown(await pieces('source.ptx', cut('control.ptx', 0, 46))));
    snapshot('handwritten', shown(await pieces('source.ptx', cut('handwritten.ptx', 0, 62))));
    snapshot('calls', shown(await pieces('source.ptx', cut('calls.ptx', 4, 60))));
  });

  test('nothing of any kernel is without a name', async () => {
    for (const name of fs.readdirSync(path.join(ROOT, 'test-data/kernels')).filter((each) => each.endsWith('.ptx'))) {
      const found = await pieces('source.ptx', kernelFile(name));
      assert.deepEqual(nameless(found).slice(0, 5), [], name);
      // Every statement has an opcode.
      const opcodes = found.flat().filter((piece) => piece.scope === 'support.function.opcode').length;
      const statements = found.filter((line) => /^\s*(@!?[%\w$]+\s+)?[a-z][\w.:]*\s.*;|^\s*(@.*\s)?(ret|exit|trap);/.test(line.map((piece) => piece.text).join(''))).length;
      assert.ok(opcodes >= statements, `${name}: ${opcodes} opcodes in ${statements} statements`);
    }
  });

  test('SASS and Ori of views', async () => {
    const session = await Session.start();
    const uri = 'file:///w/control.ptx';
    await session.open(uri, kernelFile('control.ptx'));
    const scopes = async (scope: string, text: string) =>
      (await pieces(scope, text)).flat().filter((piece) => piece.text.trim() !== '');
    const { text } = await sassView(session.ask, uri, 'control_collatz');
    const sass = await scopes('source.oriole-sass', text);
    const rows = text.split('\n').filter((line) => line.startsWith('/*'));
    const opcodes = sass.filter((piece) => piece.scope === 'support.function.opcode');
    assert.equal(opcodes.length, rows.length, 'one opcode a row');
    assert.equal(sass.filter((piece) => piece.scope === 'comment.block.control').length, rows.length);
    for (const phase of ['EarlyOriSimpleLiveDead', 'FinalInspectionPass']) {
      const view = await oriView(session.ask, uri, 'control_collatz', phase);
      const ori = await scopes('source.oriole-ori', view.text);
      const instructions = view.text.split('\n').filter((line) => / ; \d+$/.test(line));
      assert.equal(ori.filter((piece) => piece.scope === 'support.function.opcode').length, instructions.length, phase);
    }
    await session.stop();
  });
});
