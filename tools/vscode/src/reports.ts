// Reports that open as plain documents: the comparison with ptxas, the syntax tree, the server's memory.

import { Comparison, MemoryUsage, TreeNode } from './protocol';
import { bytes } from './status';

/** The comparison of a kernel: figures in three columns, the reasons for ours, and the two codes side by side. */
export function comparison({ agree, oriole, ptxas }: Comparison): string {
  const own = oriole.statistics;
  const size = (count: number | null | undefined) => (count === null || count === undefined ? '' : bytes(count));
  const spills = (stores?: number | null, loads?: number | null) =>
    stores === null || stores === undefined ? '' : `${bytes(stores)} stored, ${bytes(loads ?? 0)} loaded`;
  const rows: [string, unknown, unknown][] = [
    ['', 'Oriole', 'ptxas'],
    ['verdict', oriole.verdict, ptxas.verdict],
    ['instructions', own?.instructions, ptxas.instructions],
    ['registers', own?.registers, ptxas.registers],
    ['shared memory', size(own?.shared), size(ptxas.shared)],
    ['stack', size(own?.stack), size(ptxas.stack)],
    [
      'spills',
      own && `${own.spills.stores} stores, ${own.spills.loads} loads, ${bytes(own.spills.bytes)}`,
      spills(ptxas.spills?.stores, ptxas.spills?.loads),
    ],
    ['estimated cycles', own?.cycles, ''],
  ];
  return [
    `${oriole.kernel} for ${oriole.chip}`,
    '',
    ...(agree ? [] : ['The two do not agree about this program.', '']),
    ...columns(rows.map((row) => row.map((cell) => String(cell ?? '')))),
    '',
    ...[...oriole.diagnostics, ...(own?.why ?? [])].map((line) => `* ${line.replace(/\n/g, ' ')}`),
    ...(ptxas.verdict === 'refused' ? ['', ptxas.report.trimEnd()] : []),
    '',
    sideBySide(oriole.sass ?? '', ptxas.sass ?? ''),
    '',
  ].join('\n');
}

/** Rows of cells as lines, each column as wide as its widest cell. */
function columns(rows: readonly string[][]): string[] {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(width(column))).join('  ').trimEnd());
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
