// What a read-only view holds, and what happens to it when its source cannot be compiled for a while.

import { LineMap } from './lineMap';

export interface View {
  text: string;
  map: LineMap;
  /** One a line. */
  hovers: (string | undefined)[];
  /** It shows the last good state. */
  stale: boolean;
  language: 'oriole-sass' | 'oriole-ori';
}

/**
 * A view that cannot be made now: what was there before with the reason in its first line, without links to a text that has
 * moved on; or the reason alone.
 */
export function outdated(before: View | undefined, reason: string, language: View['language']): View {
  const line = `// stale: ${reason.split('\n')[0]}`;
  const rest = before ? before.text.replace(/^\/\/ stale: [^\n]*\n/, '') : '';
  const hovers = before ? [undefined, ...before.hovers.slice(before.text.startsWith('// stale: ') ? 1 : 0)] : [];
  return { text: `${line}\n${rest}`, map: LineMap.EMPTY, hovers, stale: true, language };
}
