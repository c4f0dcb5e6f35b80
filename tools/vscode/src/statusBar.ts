// The entry in the status bar, for the kernel under the cursor of a PTX editor.

import * as vscode from 'vscode';

import { Ask, isNotNow, messageOf } from './protocol';
import { statusAt } from './status';

/** Figures are asked for when cursor and text have been at rest for this long, in milliseconds. */
const REST = 200;

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('oriole.status', vscode.StatusBarAlignment.Right, 90);
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private round = 0;

  constructor(
    private readonly ask: Ask,
    private readonly chipOf: (uri: string) => string | undefined,
  ) {
    this.item.name = 'Oriole';
    this.item.command = 'oriole.setTarget';
    this.subscriptions = [
      this.item,
      vscode.window.onDidChangeActiveTextEditor(() => this.refreshSoon()),
      vscode.window.onDidChangeTextEditorSelection(() => this.refreshSoon()),
      vscode.workspace.onDidChangeTextDocument(() => this.refreshSoon()),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscriptions.forEach((subscription) => subscription.dispose());
  }

  refreshSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), REST);
  }

  async refresh(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return this.item.hide();
    // A view beside the file has no figures of its own: what is there stays.
    if (editor.document.languageId !== 'ptx') {
      if (!editor.document.languageId.startsWith('oriole-')) this.item.hide();
      return;
    }
    const round = ++this.round;
    const uri = editor.document.uri.toString();
    try {
      const status = await statusAt(this.ask, uri, editor.selection.active.line, this.chipOf(uri));
      if (round !== this.round) return;
      this.item.text = status.text;
      this.item.tooltip = new vscode.MarkdownString(`${status.tooltip}\n\nClick to change the target.`);
      this.item.backgroundColor = status.stale ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    } catch (error) {
      if (round !== this.round) return;
      if (isNotNow(error)) return this.refreshSoon();
      this.item.text = '$(chip) Oriole';
      this.item.tooltip = messageOf(error);
      this.item.backgroundColor = undefined;
    }
    this.item.show();
  }
}
