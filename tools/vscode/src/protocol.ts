// Shapes of the server's own requests, as docs/lsp.md describes them, and the one way to ask for them. No word of the editor
// is here, so that everything that only asks and shows can be tested against the real server without a window.

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

/** Sends a request and waits for its answer. */
export type Ask = <T>(method: string, parameters: object) => Promise<T>;

export interface SassRow {
  /** Byte from the start of the kernel's code. */
  address: number;
  text: string;
  hex: string;
  control: { stall: number; yield: boolean; write: number | null; read: number | null; wait: number };
  function: string;
  /** The statement that the row stems from. */
  source: Range | null;
  live: { general: number; uniform: number; predicates: number } | null;
  loopDepth: number;
  spill: boolean;
  why: string[];
}

export interface Sass {
  kernel: string;
  chip: string;
  stale: boolean;
  rows: SassRow[];
  /** Names this state for the notifications that follow, if they were asked for. */
  resultId?: string | null;
}

/** A row without its place in the text. */
export type BareRow = Omit<SassRow, 'source'>;

/** `ptx/sassMap`: another state of machine code that is followed. */
export interface SassMap {
  textDocument: { uri: string; version: number };
  kernel: string;
  /** The chip of the request, if it named one. */
  asked: string | null;
  /** The chip that it is for; nothing if there is no code. */
  chip: string | null;
  stale: boolean;
  resultId: string;
  previousResultId: string | null;
  edits: { start: number; deleteCount: number; rows: BareRow[] }[];
  count: number;
  /** For each row the place of its statement: line, character, end line, end character. */
  map: ([number, number, number, number] | null)[];
}

/** A phase of the compiler. */
export interface Phase {
  number: number;
  name: string;
  group: string;
  /** The lowest optimization level at which it acts. */
  level: number;
  state: string;
  doc: string;
  /** Whether there is Ori to show after it. */
  ori: boolean;
  /** Why there is none. */
  reason: string | null;
}

export interface Ori {
  text: string;
  chip: string;
  phase: string;
}

export interface TreeNode {
  kind: string;
  range: Range;
  text?: string;
  children?: TreeNode[];
}

export interface KernelStatistics {
  kernel: string;
  chip: string;
  stale: boolean;
  instructions: number;
  registers: number;
  shared: number;
  stack: number;
  barriers: number;
  spills: { stores: number; loads: number; bytes: number };
  cycles: number;
  occupancy: { threads: number; stated: boolean; blocks: number; warps: number; most: number; limiter: string };
  why: string[];
}

export type Verdict = 'accepted' | 'refused' | 'not supported';

export interface Comparison {
  /** Both take the program, or both call it wrong. */
  agree: boolean;
  oriole: {
    kernel: string;
    chip: string;
    verdict: Verdict;
    diagnostics: string[];
    statistics?: KernelStatistics | null;
    sass?: string | null;
  };
  ptxas: {
    verdict: Verdict;
    report: string;
    instructions?: number;
    registers?: number | null;
    stack?: number | null;
    shared?: number;
    /** In bytes. */
    spills?: { stores: number | null; loads: number | null };
    sass?: string;
  };
}

export interface LastEdit {
  recording: boolean;
  /** The report in words. */
  text: string;
}

export interface MemoryUsage {
  bytes: number;
  rows: { name: string; count: number; bytes: number }[];
}

export interface Cubin {
  chip: string;
  text: string;
  /** One a line of the text; nothing where there is nothing to say. */
  hovers: (string | null)[];
}

export interface DocumentSymbol {
  name: string;
  kind: number;
  range: Range;
  selectionRange: Range;
  children?: DocumentSymbol[];
}

/** The symbol kinds that the server gives to what has code. */
export const FUNCTION_SYMBOL = 12;
export const KERNEL_SYMBOL = 24;

/** Codes of answers that say "not now": the text changed under the request, or somebody cancelled it. */
const NOT_NOW = new Set([-32800, -32801, -32802]);

/** Whether an error only says that the same request should be sent again. */
export function isNotNow(error: unknown): boolean {
  return NOT_NOW.has((error as { code?: number } | undefined)?.code ?? 0);
}

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Asks again while the answer is "not now", at most so often. */
export function persistent(ask: Ask, attempts = 8, pause = 60): Ask {
  return async <T>(method: string, parameters: object): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await ask<T>(method, parameters);
      } catch (error) {
        if (!isNotNow(error) || attempt === attempts) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause * attempt));
      }
    }
  };
}
