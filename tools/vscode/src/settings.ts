// Settings on their way to the server, and where the server is. The server lays the client's settings over `oriole.toml`:
// only what somebody has set is sent, never a default, and never a setting that is for the extension alone.

/** Gives what somebody has set under `oriole.<key>`, and nothing where only the default rules. */
export type Explicit = (key: string) => unknown;

const PLAIN = ['targets', 'level', 'knobs', 'background'] as const;
export const HINTS = ['live', 'instructions', 'stalls', 'spills'] as const;
export const LENSES = ['figures', 'sass', 'ori', 'compare', 'profile'] as const;
const PROFILE = ['enable', 'budget'] as const;

/** The settings that the server is given. */
export function serverSettings(explicit: Explicit): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const key of PLAIN) {
    const value = explicit(key);
    if (value !== undefined && value !== null) found[key] = value;
  }
  // An empty list of targets means the file's own, as nothing does.
  if (Array.isArray(found['targets']) && found['targets'].length === 0) delete found['targets'];
  const hints: Record<string, unknown> = {};
  for (const key of HINTS) {
    const value = explicit(`hints.${key}`);
    if (typeof value === 'boolean') hints[key] = value;
  }
  if (Object.keys(hints).length > 0) found['hints'] = hints;
  const profile: Record<string, unknown> = {};
  for (const key of PROFILE) {
    const value = explicit(`profile.${key}`);
    if (value !== undefined && value !== null) profile[key] = value;
  }
  if (Object.keys(profile).length > 0) found['profile'] = profile;
  return found;
}

/** Lenses that are shown. `data.what` of the server's lens names its kind. */
export function shownLenses<L>(lenses: readonly L[], shown: (kind: string) => boolean): L[] {
  return lenses.filter((lens) => {
    const what = (lens as { data?: { what?: string } }).data?.what;
    return what === undefined || shown(what);
  });
}

/** The program of the server: what is set, the one beside the extension, the one on the path. */
export function serverProgram(
  configured: string | undefined,
  bundled: string,
  exists: (path: string) => boolean,
  variables: Record<string, string | undefined>,
): string {
  const path = configured?.trim();
  if (path) return path.replace(/\$\{(\w+)\}|^~(?=\/|$)/g, (whole, name?: string) => variables[name ?? 'home'] ?? whole);
  return exists(bundled) ? bundled : 'oriole';
}

/** What is told when the server does not start. */
export function startFailure(program: string, reason: string): string {
  return (
    `Oriole's language server \`${program} lsp\` does not start: ${reason}. ` +
    'Install `oriole`, or say where it is in the setting `oriole.server.path`.'
  );
}
