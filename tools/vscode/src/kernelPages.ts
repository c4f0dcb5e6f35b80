// Panels with the page of a text beside it: the server makes it of what is in the editor, saved or not. It follows each edit and
// another chip, and is linked with the cursor in both directions.

import { randomBytes } from 'node:crypto';
import * as path from 'node:path';

import * as vscode from 'vscode';

import { Kept, PageState, ToPage, embedded, fromPage } from './kernelPage';
import { Ask, DocumentSymbol, isNotNow, messageOf } from './protocol';
import { functionAt, functions } from './symbols';

/** The text rests so many milliseconds before the page follows it. */
const REST = 300;

interface Panel {
  uri: vscode.Uri;
  panel: vscode.WebviewPanel;
  /** Counts the states that were asked for: an older one that comes later is dropped. */
  turn: number;
  /** The end of the rest after an edit. */
  rest: NodeJS.Timeout | undefined;
  /** The line that is lit, for a page that is made again. */
  kept: Kept | undefined;
}

export class KernelPages implements vscode.Disposable {
  private readonly panels = new Map<string, Panel>();
  private readonly subscriptions: vscode.Disposable[] = [
    vscode.workspace.onDidChangeTextDocument((event) => this.edited(event.document.uri.toString())),
    vscode.window.onDidChangeTextEditorSelection((event) => void this.follow(event.textEditor)),
  ];

  constructor(private readonly ask: Ask) {}

  /** Shows the page of a text to the side. */
  async show(uri: vscode.Uri): Promise<void> {
    const key = uri.toString();
    const known = this.panels.get(key);
    if (known) return known.panel.reveal(undefined, true);
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel('oriole.page', `${path.basename(uri.fsPath)} (page)`, beside, {
      enableScripts: true,
      localResourceRoots: [],
      retainContextWhenHidden: true,
    });
    const own: Panel = { uri, panel, turn: 0, rest: undefined, kept: undefined };
    this.panels.set(key, own);
    panel.onDidDispose(() => {
      own.turn = Number.POSITIVE_INFINITY;
      clearTimeout(own.rest);
      this.panels.delete(key);
    });
    panel.webview.onDidReceiveMessage((message: unknown) => void this.heard(own, message));
    await this.make(own);
  }

  /** Makes all pages anew: another server knows nothing of what they show. */
  restarted(): void {
    for (const own of this.panels.values()) void this.make(own);
  }

  /** The page of a text is told its state anew, if there is one. */
  again(key: string): void {
    const known = this.panels.get(key);
    if (known) void this.tell(known);
  }

  private edited(key: string): void {
    const known = this.panels.get(key);
    if (!known) return;
    clearTimeout(known.rest);
    known.rest = setTimeout(() => void this.tell(known), REST);
  }

  /** Asks the server for a part of the page; the text is opened again if its own editor was closed. */
  private async part<T>(own: Panel, asked: object): Promise<T> {
    await vscode.workspace.openTextDocument(own.uri);
    return this.ask<T>('ptx/viewPage', { textDocument: { uri: own.uri.toString() }, ...asked });
  }

  private async make(own: Panel): Promise<void> {
    const turn = ++own.turn;
    try {
      const { html } = await this.part<{ html: string }>(own, { part: 'frame' });
      if (turn === own.turn) own.panel.webview.html = embedded(html, randomBytes(16).toString('hex'));
    } catch (error) {
      if (turn === own.turn) void vscode.window.showErrorMessage(`Oriole: ${path.basename(own.uri.fsPath)}: ${messageOf(error)}`);
    }
  }

  /** Tells a page the state of its text. The page asks for what it then shows. */
  private async tell(own: Panel): Promise<void> {
    const turn = ++own.turn;
    try {
      const { revision, error } = await this.part<PageState>(own, { part: 'state' });
      if (turn === own.turn) this.post(own, { type: 'state', revision, error });
    } catch (error) {
      // A text that never compiled has no state; the page says why.
      if (turn === own.turn && !isNotNow(error)) this.post(own, { type: 'state', revision: 0, error: messageOf(error) });
    }
  }

  private post(own: Panel, message: ToPage): void {
    void own.panel.webview.postMessage(message);
  }

  private async heard(own: Panel, message: unknown): Promise<void> {
    const found = fromPage(message);
    if (found?.type === 'ready') {
      const editor = vscode.window.visibleTextEditors.find((each) => each.document.uri.toString() === own.uri.toString());
      if (own.kept) this.keep(own, own.kept);
      else if (editor) await this.follow(editor);
    } else if (found?.type === 'ask') {
      const { id, asked } = found;
      const answer = await this.part<unknown>(own, asked).then(
        (value) => ({ value }),
        (error: unknown) => ({ error: messageOf(error) }),
      );
      this.post(own, { type: 'answer', id, ...answer });
    } else if (found) {
      own.kept = { kernel: found.kernel, line: found.line };
      const document = await vscode.workspace.openTextDocument(own.uri);
      const line = Math.min(found.line, document.lineCount) - 1;
      const range = new vscode.Range(line, 0, line, 0);
      const shown = vscode.window.visibleTextEditors.find((each) => each.document.uri.toString() === own.uri.toString());
      const place = { viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One, preserveFocus: true };
      const editor = await vscode.window.showTextDocument(document, place);
      editor.selection = new vscode.Selection(range.start, range.start);
      editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }

  /** Lights the line of the cursor in the page. */
  private async follow(editor: vscode.TextEditor): Promise<void> {
    const key = editor.document.uri.toString();
    const own = this.panels.get(key);
    const line = editor.selection.active.line;
    if (!own || own.kept?.line === line + 1) return;
    const symbols = await this.ask<DocumentSymbol[] | null>('textDocument/documentSymbol', { textDocument: { uri: key } }).catch(() => null);
    const kernel = functionAt(functions(symbols ?? [], true), line);
    if (kernel && editor.selection.active.line === line) this.keep(own, { kernel: kernel.name, line: line + 1 });
  }

  private keep(own: Panel, kept: Kept): void {
    own.kept = kept;
    this.post(own, { type: 'keep', ...kept });
  }

  dispose(): void {
    for (const own of [...this.panels.values()]) own.panel.dispose();
    this.subscriptions.forEach((each) => each.dispose());
  }
}
