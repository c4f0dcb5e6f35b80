// Reports that open as plain documents: the comparison with ptxas, the syntax tree, the server's memory.

import { Comparison, MemoryUsage, TreeNode } from './protocol';
import { bytes } from './status';

/** The comparison of a kernel as Markdown. */
export function comparison(found: Comparison): string {
  const { oriole, ptxas } = found;
  return [
    `# ${oriole.kernel} for ${oriole.chip}`,
    '',
    '| | Oriole | ptxas |',
    '|---|---|---|',
    `| instructions | ${oriole.instructions} | ${ptxas.instructions} |`,
    `| registers | ${oriole.registers} | ${/(\d+) registers|registers[ :]+(\d+)/.exec(ptxas.summary)?.slice(1).find(Boolean) ?? '?'} |`,
    `| shared memory | ${bytes(oriole.shared)} | |`,
    `| stack | ${bytes(oriole.stack)} | |`,
    `| spills | ${oriole.spills.stores} stores, ${oriole.spills.loads} loads | |`,
    `| estimated cycles | ${oriole.cycles} | |`,
    '',
    ...(ptxas.summary ? [`ptxas: ${ptxas.summary}`, ''] : []),
    ...oriole.why.map((why) => `* ${why}`),
    '',
    '## SASS of ptxas',
    '',
    '```',
    ptxas.sass,
    '```',
    '',
  ].join('\n');
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
