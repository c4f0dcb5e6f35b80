// The phases of the compiler that leave Ori, for the quick pick. The list is generated from the compiler's own.

import table from './phases.json';

export interface Phase {
  number: number;
  name: string;
  group: string;
  /** The lowest optimization level at which it acts. */
  level: number;
  doc: string;
}

export const PHASES: readonly Phase[] = table;

/** The phase after which Ori is final. */
export const LAST = 'FinalInspectionPass';

export interface PhasePick {
  label: string;
  description: string;
  detail: string;
  phase: string;
}

/** The rows of the quick pick, the phase that was shown last first. */
export function phasePicks(last?: string): PhasePick[] {
  const rows = PHASES.map((phase) => ({
    label: `${phase.number} ${phase.name}`,
    description: phase.level > 0 ? `${phase.group}, from -O${phase.level} on` : phase.group,
    detail: phase.doc,
    phase: phase.name,
  }));
  const at = rows.findIndex((row) => row.phase === last);
  return at > 0 ? [rows[at]!, ...rows.slice(0, at), ...rows.slice(at + 1)] : rows;
}
