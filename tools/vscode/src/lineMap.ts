// The map between lines of a source file and lines of a view of its code. A line of the view belongs to at most one statement,
// which may span several lines; a line of the source may have many lines of the view, and not side by side, because
// instructions move.

/** Lines from `first` to `last`, both included, counted from zero. */
export interface Span {
  first: number;
  last: number;
}

export class LineMap {
  private readonly lines = new Map<number, number[]>();

  /** `spans[n]` is what line n of the view stems from. */
  constructor(private readonly spans: readonly (Span | undefined)[]) {
    spans.forEach((span, line) => {
      if (!span) return;
      for (let source = span.first; source <= span.last; source++) {
        const known = this.lines.get(source);
        if (known) known.push(line);
        else this.lines.set(source, [line]);
      }
    });
  }

  static readonly EMPTY = new LineMap([]);

  /** The statement that a line of the view stems from. */
  sourceOf(line: number): Span | undefined {
    return this.spans[line];
  }

  /** The lines of the view that stem from these lines of the source, in order. */
  viewOf(first: number, last: number): number[] {
    const found = new Set<number>();
    for (let source = first; source <= last; source++) {
      for (const line of this.lines.get(source) ?? []) found.add(line);
    }
    return [...found].sort((a, b) => a - b);
  }

  /** How many lines of the view have a source. */
  get size(): number {
    return this.spans.filter((span) => span !== undefined).length;
  }
}

/** What is lit in both panes. */
export interface Lit {
  view: number[];
  source: Span[];
}

/** What a cursor or a selection in the source lights. */
export function litFromSource(map: LineMap, first: number, last: number): Lit {
  const view = map.viewOf(first, last);
  return { view, source: distinct(view.map((line) => map.sourceOf(line))) };
}

/** What a cursor or a selection in the view lights: the statements, and everything else that they became. */
export function litFromView(map: LineMap, first: number, last: number): Lit {
  const source: (Span | undefined)[] = [];
  for (let line = first; line <= last; line++) source.push(map.sourceOf(line));
  const spans = distinct(source);
  const view = new Set(spans.flatMap((span) => map.viewOf(span.first, span.last)));
  return { view: [...view].sort((a, b) => a - b), source: spans };
}

function distinct(spans: (Span | undefined)[]): Span[] {
  const found = new Map<string, Span>();
  for (const span of spans) if (span) found.set(`${span.first}-${span.last}`, span);
  return [...found.values()].sort((a, b) => a.first - b.first);
}

/** Lines that stand side by side as spans, so that a hundred lines are few decorations. */
export function runs(lines: readonly number[]): Span[] {
  const found: Span[] = [];
  for (const line of lines) {
    const last = found[found.length - 1];
    if (last && line <= last.last + 1) last.last = line;
    else found.push({ first: line, last: line });
  }
  return found;
}
