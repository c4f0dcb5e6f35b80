// Reports that open as plain documents: the comparison with ptxas, the syntax tree, the server's memory.

import { Comparison, MemoryUsage, TreeNode } from './protocol';
import { bytes } from './status';

/** The comparison of a kernel as Markdown. */
export function comparison({ agree, oriole, ptxas }: Comparison): string {
  const own = oriole.statistics;
  const size = (count: number | null | undefined) => (count === null || count === undefined ? '' : bytes(count));
  const spills = (stores?: number | null, loads?: number | null) =>
    stores === null || stores === undefined ? '' : `${bytes(stores)} stored, ${bytes(loads ?? 0)} loaded`;
  const row = (what: string, left: unknown, right: unknown) => `| ${what} | ${left ?? ''} | ${right ?? ''} |`;
  return [
    `# ${oriole.kernel} for ${oriole.chip}`,
    '',
    ...(agree ? [] : ['**The two do not agree about this program.**', '']),
    '| | Oriole | ptxas |',
    '|---|---|---|',
    row('verdict', oriole.verdict, ptxas.verdict),
    row('instructions', own?.instructions, ptxas.instructions),
    row('registers', own?.registers, ptxas.registers),
    row('shared memory', size(own?.shared), size(ptxas.shared)),
    row('stack', size(own?.stack), size(ptxas.stack)),
    row(
      'spills',
      own && `${own.spills.stores} stores, ${own.spills.loads} loads, ${bytes(own.spills.bytes)}`,
      spills(ptxas.spills?.stores, ptxas.spills?.loads),
    ),
    row('estimated cycles', own?.cycles, ''),
    '',
    ...[...oriole.findings, ...(own?.why ?? [])].map((line) => `* ${line.replace(/\n/g, ' ')}`),
    ...(ptxas.verdict === 'refused' ? ['', '```', ptxas.report.trimEnd(), '```'] : []),
    '',
    '## SASS of Oriole and of ptxas',
    '',
    '```',
    sideBySide(oriole.sass ?? '', ptxas.sass ?? ''),
    '```',
    '',
  ].join('\n');
}

/** Two texts in two columns. */
export function sideBySide(left: string, right: string): string {
  const [ours, theirs] = [left, right].map((text) => text.trimEnd().split('\n')) as [string[], string[]];
  const width = Math.max(...ours.map((line) => line.length));
  const rows = Math.max(ours.length, theirs.length);
  return Array.from({ length: rows }, (_, at) => `${(ours[at] ?? '').padEnd(width)} | ${theirs[at] ?? ''}`.trimEnd()).join('\n');
}

/** A syntax tree, one node a line. */
export function treeText(nodes: readonly TreeNode[]): string {
  const lines: string[] = [];
  const walk = (node: TreeNode, depth: number) => {
    const { start, end } = node.range;
    const place = `${start.line + 1}:${start.character + 1}-${end.line + 1}:${end.character + 1}`;
    const text = node.text === undefined ? '' : ` ${JSON.stringify(node.text)}`;
    lines.push(`${'  '.repeat(depth)}${node.kind}@${place}${text}`);
    node.children?.forEach((child) => walk(child, depth + 1));
  };
  nodes.forEach((node) => walk(node, 0));
  return lines.join('\n') + '\n';
}

/** What the server's database holds, as a table. */
export function memoryText(found: MemoryUsage): string {
  const width = Math.max(...found.rows.map((row) => row.name.length), 4);
  const line = (name: string, count: string, size: string) => `${name.padEnd(width)} ${count.padStart(10)} ${size.padStart(12)}`;
  return [
    `The database holds ${bytes(found.bytes)}.`,
    '',
    line('what', 'count', 'size'),
    ...found.rows.map((row) => line(row.name, String(row.count), bytes(row.bytes))),
    '',
  ].join('\n');
}
