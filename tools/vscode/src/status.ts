// The words of the status bar: the chip, the kernel under the cursor with its registers, a mark if the figures are old.

import { Ask, DocumentSymbol, KERNEL_SYMBOL, KernelStatistics } from './protocol';
import { functionAt } from './symbols';

export interface Status {
  text: string;
  tooltip: string;
  stale: boolean;
}

/** Bytes as people read them. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let [value, unit] = [count, 0];
  while (value >= 1024 && unit + 1 < units.length) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** The status of a kernel's figures, for the chip that is shown first and with a line for each other one. */
export function statusOf(kernel: string | undefined, rows: readonly KernelStatistics[], chip?: string): Status {
  const own = rows.find((row) => chip === undefined || row.chip === chip) ?? rows[0];
  if (!own) {
    const text = `$(chip) ${chip ?? 'PTX'}` + (kernel ? ` ${kernel}: no code` : '');
    return { text, tooltip: kernel ? `${kernel} does not compile` : 'No kernel is under the cursor', stale: false };
  }
  const mark = own.stale ? ' $(history) stale' : '';
  const spills = own.spills.stores + own.spills.loads > 0 ? `, ${own.spills.bytes} B spilled` : '';
  const table = rows.map(
    (row) =>
      `* **${row.chip}**: ${row.registers} registers, ${row.instructions} instructions, ${bytes(row.shared)} shared, ` +
      `${bytes(row.stack)} stack, ${row.spills.stores}+${row.spills.loads} spills, ` +
      `${row.occupancy.warps} of ${row.occupancy.most} warps, about ${row.cycles} cycles` +
      (row.stale ? ' (stale)' : ''),
  );
  return {
    text: `$(chip) ${own.chip} ${own.kernel}: ${own.registers} registers${spills}${mark}`,
    tooltip: [...table, '', ...own.why.map((why) => `* ${why}`)].join('\n'),
    stale: own.stale,
  };
}

/** Asks for what the status bar shows at a line. */
export async function statusAt(
  ask: Ask,
  uri: string,
  line: number,
  chip?: string,
): Promise<Status & { kernel?: string }> {
  const textDocument = { uri };
  const symbols = (await ask<DocumentSymbol[] | null>('textDocument/documentSymbol', { textDocument })) ?? [];
  const found = functionAt(symbols, line);
  if (!found) return statusOf(undefined, [], chip);
  if (found.kind !== KERNEL_SYMBOL) {
    return { text: `$(chip) ${chip ?? 'PTX'} ${found.name}`, tooltip: 'A function that kernels call', stale: false };
  }
  const rows = await ask<KernelStatistics[]>('ptx/kernelStats', { textDocument, kernel: found.name });
  return { ...statusOf(found.name, rows, chip), kernel: found.name };
}
