// The phases of the compiler that leave Ori, for the quick pick. The server has the list.

import { Ask, Phase } from './protocol';

/** The phase after which Ori is final. */
export const LAST = 'FinalInspectionPass';

export interface PhasePick {
  label: string;
  description: string;
  detail: string;
  phase: string;
}

/** The rows of the quick pick, the phase that was shown last first. */
export async function phasePicks(ask: Ask, last?: string): Promise<PhasePick[]> {
  const phases = await ask<Phase[]>('ptx/phases', {});
  const rows = phases
    .filter((phase) => phase.ori)
    .map((phase) => ({
      label: `${phase.number} ${phase.name}`,
      description: phase.level > 0 ? `${phase.group}, from -O${phase.level} on` : phase.group,
      detail: phase.doc,
      phase: phase.name,
    }));
  const at = rows.findIndex((row) => row.phase === last);
  return at > 0 ? [rows[at]!, ...rows.slice(0, at), ...rows.slice(at + 1)] : rows;
}
