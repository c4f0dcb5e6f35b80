// Panels with the page of a file beside it: made by the program, made again when the file is saved or shown for another chip, and
// linked with the cursor in both directions.

import { randomBytes } from 'node:crypto';
import * as path from 'node:path';

import * as vscode from 'vscode';

import { Kept, embedded, fromPage, viewArguments } from './kernelPage';
import { runForOutput } from './programRuns';
import { Ask, DocumentSymbol, messageOf } from './protocol';
import { functionAt, functions } from './symbols';

interface Panel {
  uri: vscode.Uri;
  panel: vscode.WebviewPanel;
  /** Ends the program that runs for it. */
  end: (() => void) | undefined;
  /** Counts the pages that were asked for: an older one that comes later is dropped. */
  turn: number;
  /** The line that is lit, for a page that is made again. */
  kept: Kept | undefined;
}

export class KernelPages implements vscode.Disposable {
  private readonly panels = new Map<string, Panel>();
  private readonly subscriptions: vscode.Disposable[] = [
    vscode.workspace.onDidSaveTextDocument((document) => this.again(document.uri.toString())),
    vscode.window.onDidChangeTextEditorSelection((event) => void this.follow(event.textEditor)),
  ];

  constructor(
    private readonly ask: Ask,
    private readonly program: () => string,
    private readonly target: (uri: string) => string | undefined,
  ) {}

  /** Shows the page of a file to the side. */
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
    const own: Panel = { uri, panel, end: undefined, turn: 0, kept: undefined };
    this.panels.set(key, own);
    panel.onDidDispose(() => {
      own.turn = Number.POSITIVE_INFINITY;
      own.end?.();
      this.panels.delete(key);
    });
    panel.webview.onDidReceiveMessage((message: unknown) => void this.heard(own, message));
    await this.make(own);
  }

  /** Makes the page of a file again, if there is one. */
  again(key: string): void {
    const known = this.panels.get(key);
    if (known) void this.make(known);
  }

  private async make(own: Panel): Promise<void> {
    const turn = ++own.turn;
    own.end?.();
    const parameters = viewArguments(own.uri.fsPath, this.target(own.uri.toString()));
    try {
      const ran = await runForOutput(this.program(), parameters, path.dirname(own.uri.fsPath), (end) => (own.end = end));
      if (turn !== own.turn || ran.status === null) return;
      own.end = undefined;
      if (ran.status !== 0) throw new Error(ran.error.trim().split('\n')[0] || `\`oriole view\` ended with ${ran.status}`);
      own.panel.webview.html = embedded(ran.output, randomBytes(16).toString('hex'));
    } catch (error) {
      // The page before stays.
      if (turn === own.turn) void vscode.window.showErrorMessage(`Oriole: ${path.basename(own.uri.fsPath)}: ${messageOf(error)}`);
    }
  }

  private async heard(own: Panel, message: unknown): Promise<void> {
    const found = fromPage(message);
    if (found?.type === 'ready') {
      const editor = vscode.window.visibleTextEditors.find((each) => each.document.uri.toString() === own.uri.toString());
      if (own.kept) this.keep(own, own.kept);
      else if (editor) await this.follow(editor);
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
    void own.panel.webview.postMessage({ type: 'keep', ...kept });
  }

  dispose(): void {
    for (const own of [...this.panels.values()]) own.panel.dispose();
    this.subscriptions.forEach((each) => each.dispose());
  }
}
