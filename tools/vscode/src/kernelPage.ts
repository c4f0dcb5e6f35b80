// The page of `oriole view` as the contents of a panel: its own HTML under a policy that names one script, and a bridge between
// its events and the editor's messages. No word of the editor is here.

/** What the page and the editor tell each other: a line of the PTX, from 1, in a kernel. */
export interface Kept {
  kernel: string;
  line: number;
}

/** What comes from the panel. */
export type FromPage = { type: 'ready' } | ({ type: 'kept' } & Kept);

/** The arguments of `oriole view` for the page of a file on standard output. */
export function viewArguments(file: string, chip: string | undefined): string[] {
  return ['view', file, '-o', '-', ...(chip ? ['--arch', chip] : [])];
}

/** A message of the panel, if it is one. */
export function fromPage(message: unknown): FromPage | undefined {
  const found = message as Partial<Record<'type' | 'kernel' | 'line', unknown>> | null;
  if (found?.type === 'ready') return { type: 'ready' };
  const { kernel, line } = found ?? {};
  const isKept = found?.type === 'kept' && typeof kernel === 'string' && Number.isInteger(line) && (line as number) > 0;
  return isKept ? { type: 'kept', kernel: kernel as string, line: line as number } : undefined;
}

/**
 * The page for a panel. The policy of a page that is written allows any script in it; here it allows those with the number, which
 * nobody can guess, and still nothing from elsewhere.
 */
export function embedded(page: string, nonce: string): string {
  const policy = /(<meta http-equiv="Content-Security-Policy" content="[^"]*)script-src 'unsafe-inline'/;
  const script = page.lastIndexOf('<script>');
  if (!policy.test(page) || script < 0) throw new Error('`oriole view` wrote no page');
  const bridged = `${page.slice(0, script)}<script nonce="${nonce}">${BRIDGE}</script><script nonce="${nonce}">${page.slice(script + '<script>'.length)}`;
  return bridged.replace(policy, (_whole, before: string) => `${before}script-src 'nonce-${nonce}'`);
}

/** Runs in the panel, before the page's own script. */
const BRIDGE = `"use strict";(() => {
const editor = acquireVsCodeApi();
const theme = () => { document.documentElement.dataset.theme = document.body.matches(".vscode-light, .vscode-high-contrast-light") ? "light" : "dark"; };
theme();
new MutationObserver(theme).observe(document.body, { attributes: true, attributeFilter: ["class"] });
document.getElementById("link").hidden = true;
document.getElementById("theme").hidden = true;
document.addEventListener("oriole:ready", () => editor.postMessage({ type: "ready" }));
document.addEventListener("oriole:kept", event => editor.postMessage({ type: "kept", ...event.detail }));
addEventListener("message", event => {
  if (event.data?.type === "keep") document.dispatchEvent(new CustomEvent("oriole:keep", { detail: { kernel: event.data.kernel, line: event.data.line } }));
});
})();`;
