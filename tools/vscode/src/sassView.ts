// The text of a kernel's machine code with the map to the source and a hover for each line. Text and map come from one answer
// of the server and so are never out of step.

import { FollowedSass } from './followedSass';
import { LineMap, Span } from './lineMap';
import { Ask, Range, Sass, SassRow } from './protocol';
import { View } from './view';

/** The control word in short: waits, read and write scoreboard, yield, stall. */
export function control(row: SassRow): string {
  const { wait, read, write, yield: yields, stall } = row.control;
  const waits = [0, 1, 2, 3, 4, 5].map((bit) => ((wait >> bit) & 1 ? String(bit) : '-')).join('');
  const cycles = String(stall).padStart(2, '0');
  return `[${waits}:R${read ?? '-'}:W${write ?? '-'}:${yields ? 'Y' : '-'}:S${cycles}]`;
}

function hover(row: SassRow): string {
  const parts = ['```oriole-sass', row.text, '```', `word \`0x${row.hex}\``];
  if (row.live) {
    const { general, uniform, predicates } = row.live;
    parts.push('', `live: ${general} general, ${uniform} uniform, ${predicates} predicates`);
  }
  if (row.loopDepth > 0) parts.push('', `in ${row.loopDepth} loop${row.loopDepth > 1 ? 's' : ''}`);
  if (row.spill) parts.push('', 'stores or reloads a spilled register');
  if (row.why.length > 0) parts.push('', ...row.why.map((why) => `* ${why}`));
  return parts.join('\n');
}

/** Lines of a range; one that ends before the first column of a line does not reach it. */
export function spanOf(range: Range): Span {
  const { start, end } = range;
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return { first: start.line, last };
}

/** The view of an answer. */
export function renderSass(sass: Sass): View {
  const lines: string[] = [];
  const spans: (Span | undefined)[] = [];
  const hovers: (string | undefined)[] = [];
  const push = (text: string, span?: Span, about?: string) => {
    lines.push(text);
    spans.push(span);
    hovers.push(about);
  };
  const stale = sass.stale ? ', stale: the text does not compile' : '';
  push(`// ${sass.kernel} for ${sass.chip}, ${sass.rows.length} instructions${stale}`);
  let member = '';
  for (const row of sass.rows) {
    if (row.function !== member) {
      member = row.function;
      push(`${member}:`);
    }
    const address = row.address.toString(16).padStart(4, '0');
    const spill = row.spill ? '  // spill' : '';
    push(
      `/*${address}*/ ${control(row)} ${row.text}${spill}`,
      row.source ? spanOf(row.source) : undefined,
      hover(row),
    );
  }
  return { text: lines.join('\n') + '\n', map: new LineMap(spans), hovers, stale: sass.stale, language: 'oriole-sass' };
}

/** What a view says where there is no code. */
export function noCode(kernel: string): string {
  return `\`${kernel}\` does not compile, and did not since the file was opened`;
}

/** Asks for a kernel's machine code, and to be told of every later state of it. */
export async function followSass(ask: Ask, uri: string, kernel: string, chip?: string): Promise<FollowedSass> {
  const found = await ask<Sass | null>('ptx/viewSass', { textDocument: { uri }, kernel, chip, follow: true });
  return new FollowedSass(found ?? undefined);
}

/** Asks for a kernel's machine code. */
export async function sassView(ask: Ask, uri: string, kernel: string, chip?: string): Promise<View> {
  const found = await ask<Sass | null>('ptx/viewSass', { textDocument: { uri }, kernel, chip });
  if (!found) throw new Error(noCode(kernel));
  return renderSass(found);
}
