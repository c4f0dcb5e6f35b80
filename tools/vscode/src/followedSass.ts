// Machine code that the server keeps up to date: an answer at first, and then what differs. Text and map of a view are made of one
// state and so are never out of step.

import { BareRow, Sass, SassMap, SassRow } from './protocol';

export class FollowedSass {
  private kernel = '';
  private chip: string | null = null;
  private stale = false;
  private name: string | null = null;
  private rows: BareRow[] = [];
  private sources: SassRow['source'][] = [];

  /** Begins with an answer, or with nothing. */
  constructor(first?: Sass) {
    if (!first) return;
    this.kernel = first.kernel;
    this.chip = first.chip;
    this.stale = first.stale;
    this.name = first.resultId ?? null;
    this.rows = first.rows.map(({ source: _, ...row }) => row);
    this.sources = first.rows.map((row) => row.source);
  }

  /** Takes the next state. False if it builds on one that is not here: then all of it must be asked for. */
  apply(next: SassMap): boolean {
    if (next.previousResultId !== this.name) return false;
    const rows = [...this.rows];
    for (const edit of next.edits) rows.splice(edit.start, edit.deleteCount, ...edit.rows);
    if (rows.length !== next.count || next.map.length !== next.count) return false;
    this.rows = rows;
    this.sources = next.map.map((place) => {
      if (!place) return null;
      const [line, character, endLine, endCharacter] = place;
      return { start: { line, character }, end: { line: endLine, character: endCharacter } };
    });
    this.kernel = next.kernel;
    this.chip = next.chip;
    this.stale = next.stale;
    this.name = next.resultId;
    return true;
  }

  /** The code; nothing while there is none. */
  sass(): Sass | undefined {
    if (this.chip === null) return undefined;
    const rows = this.rows.map((row, at) => ({ ...row, source: this.sources[at] ?? null }));
    return { kernel: this.kernel, chip: this.chip, stale: this.stale, rows, resultId: this.name };
  }
}
