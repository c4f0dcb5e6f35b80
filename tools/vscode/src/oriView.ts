// The text of the intermediate representation after a phase, with the map to the source. Each instruction of Ori ends in
// `; N`, the number of the statement of its function, counted from zero in the order of the text; the places of these are read
// from the syntax tree.

import { LineMap, Span } from './lineMap';
import { Ask, DocumentSymbol, Ori, TreeNode } from './protocol';
import { spanOf } from './sassView';
import { inside } from './symbols';
import { View } from './view';

/** Where the statements of the function in a tree stand, in order. */
export function statements(nodes: readonly TreeNode[]): Span[] {
  const found: Span[] = [];
  const walk = (node: TreeNode) => {
    if (node.kind === 'INSTRUCTION') {
      found.push(spanOf(trimmed(node)));
      return;
    }
    node.children?.forEach(walk);
  };
  nodes.forEach(walk);
  return found;
}

/** A node's range without the white space and the comments that hang on it. */
function trimmed(node: TreeNode): { start: { line: number; character: number }; end: { line: number; character: number } } {
  const solid = (each: TreeNode) => each.children !== undefined || !/^\s*$|^\/[/*]/.test(each.text ?? '');
  const children = (node.children ?? []).filter(solid);
  if (children.length === 0) return node.range;
  return { start: children[0]!.range.start, end: children[children.length - 1]!.range.end };
}

/** The view of an answer. */
export function renderOri(ori: Ori, places: readonly Span[]): View {
  const lines = ori.text.replace(/\n+$/, '').split('\n');
  const spans = lines.map((line) => {
    const found = / ; (\d+)$/.exec(line);
    return found ? places[Number(found[1])] : undefined;
  });
  return {
    text: lines.join('\n') + '\n',
    map: new LineMap(spans),
    hovers: lines.map(() => undefined),
    stale: false,
    language: 'oriole-ori',
  };
}

/** Asks for a function's Ori after a phase. */
export async function oriView(
  ask: Ask,
  uri: string,
  kernel: string,
  phase: string,
  chip?: string,
): Promise<View> {
  const textDocument = { uri };
  const symbols = await ask<DocumentSymbol[] | null>('textDocument/documentSymbol', { textDocument });
  // A prototype has the name too; the body is the last one of the name.
  const symbol = (symbols ?? []).filter((each) => each.name === kernel).pop();
  if (!symbol) throw new Error(`there is no function \`${kernel}\``);
  const nodes = await ask<TreeNode[]>('ptx/viewSyntaxTree', { textDocument, range: symbol.range });
  const ori = await ask<Ori>('ptx/viewIr', { textDocument, kernel, phase, chip });
  const own = functionNodes(nodes).filter((node) => inside(symbol.range, node.range.start));
  return renderOri(ori, statements(own));
}

function functionNodes(nodes: readonly TreeNode[]): TreeNode[] {
  return nodes.flatMap((node) => (node.kind === 'FUNCTION' ? [node] : functionNodes(node.children ?? [])));
}
