// Which function a place belongs to.

import { DocumentSymbol, FUNCTION_SYMBOL, KERNEL_SYMBOL, Position, Range } from './protocol';

/** Whether a place is in a range, the ends included. */
export function inside(range: Range, at: Position): boolean {
  const after = (a: Position, b: Position) => a.line > b.line || (a.line === b.line && a.character >= b.character);
  return after(at, range.start) && after(range.end, at);
}

/** Functions with code, kernels before the others where `kernelsOnly` is not set. */
export function functions(symbols: readonly DocumentSymbol[], kernelsOnly: boolean): DocumentSymbol[] {
  const wanted = symbols.filter(
    (symbol) => symbol.kind === KERNEL_SYMBOL || (!kernelsOnly && symbol.kind === FUNCTION_SYMBOL),
  );
  // A prototype is followed by the function of its name.
  const last = new Map(wanted.map((symbol) => [symbol.name, symbol]));
  return [...last.values()];
}

/** The kernel or function at a line. */
export function functionAt(symbols: readonly DocumentSymbol[], line: number): DocumentSymbol | undefined {
  return symbols.find(
    (symbol) =>
      (symbol.kind === KERNEL_SYMBOL || symbol.kind === FUNCTION_SYMBOL) &&
      symbol.range.start.line <= line &&
      line <= symbol.range.end.line,
  );
}
