// The page of `oriole view` as the contents of a panel: its own HTML under a policy that names one script, and a bridge between
// its events and questions and the editor's messages. No word of the editor is here.

/** What the page and the editor tell each other: a line of the PTX, from 1, in a kernel. */
export interface Kept {
  kernel: string;
  line: number;
}

/** A part of the page, as the server knows it. */
export interface PagePart {
  part: 'file' | 'code' | 'ori';
  /** Of a kernel by its number, in a state that the page shows. */
  number?: number;
  revision?: number;
}

/** The state of the text that the page is about. */
export interface PageState {
  revision: number;
  /** Why the text as it is now cannot be shown. */
  error: string | null;
}

/** What comes from the panel. */
export type FromPage = { type: 'ready' } | ({ type: 'kept' } & Kept) | { type: 'ask'; id: number; asked: PagePart };

/** What goes to the panel. */
export type ToPage =
  | ({ type: 'keep' } & Kept)
  | ({ type: 'state' } & PageState)
  | { type: 'answer'; id: number; value?: unknown; error?: string };

/** The part that the page names by an address, as it would ask a program that serves it. */
function partOf(address: unknown): PagePart | undefined {
  if (address === 'file') return { part: 'file' };
  const found = typeof address === 'string' ? /^(code|ori)\?kernel=(\d{1,9})&revision=(\d{1,15})$/.exec(address) : null;
  return found ? { part: found[1] as 'code' | 'ori', number: Number(found[2]), revision: Number(found[3]) } : undefined;
}

/** A message of the panel, if it is one. */
export function fromPage(message: unknown): FromPage | undefined {
  const found = message as Partial<Record<'type' | 'kernel' | 'line' | 'id' | 'path', unknown>> | null;
  if (found?.type === 'ready') return { type: 'ready' };
  if (found?.type === 'ask') {
    const asked = partOf(found.path);
    return asked && Number.isInteger(found.id) ? { type: 'ask', id: found.id as number, asked } : undefined;
  }
  const { kernel, line } = found ?? {};
  const isKept = found?.type === 'kept' && typeof kernel === 'string' && Number.isInteger(line) && (line as number) > 0;
  return isKept ? { type: 'kept', kernel: kernel as string, line: line as number } : undefined;
}

/**
 * The page for a panel. The policy of a page that is served allows any script in it and questions to its program; here it allows the
 * scripts with the number, which nobody can guess, and nothing from elsewhere: the page asks the editor.
 */
export function embedded(page: string, nonce: string): string {
  const policy = /(<meta http-equiv="Content-Security-Policy" content="[^"]*)script-src 'unsafe-inline'; connect-src 'self'/;
  const script = page.lastIndexOf('<script>');
  if (!policy.test(page) || script < 0) throw new Error('the server sent no page');
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
const open = new Map();
let last = 0, listener = null, state = null;
globalThis.orioleProgram = {
  ask: path => new Promise((resolve, reject) => {
    open.set(++last, { resolve, reject });
    editor.postMessage({ type: "ask", id: last, path });
  }),
  listen: changed => {
    listener = changed;
    if (state) changed(state);
  },
};
addEventListener("message", ({ data }) => {
  if (data?.type === "keep") document.dispatchEvent(new CustomEvent("oriole:keep", { detail: { kernel: data.kernel, line: data.line } }));
  else if (data?.type === "state") {
    state = { revision: data.revision, error: data.error };
    listener?.(state);
  }
  else if (data?.type === "answer") {
    const asked = open.get(data.id);
    open.delete(data.id);
    if (data.error === undefined) asked?.resolve(data.value); else asked?.reject(new Error(data.error));
  }
});
})();`;
