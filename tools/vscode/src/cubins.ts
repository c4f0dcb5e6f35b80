// Cubins as text: a file that is opened becomes the server's read-only document of it, with a hover for each line.

import * as vscode from 'vscode';

import { SERVER_SCHEME, cubinAddress, cubinOf } from './address';
import { Ask, Cubin } from './protocol';

class CubinDocument implements vscode.CustomDocument {
  constructor(readonly uri: vscode.Uri) {}
  dispose(): void {}
}

export class Cubins implements vscode.CustomReadonlyEditorProvider<CubinDocument>, vscode.HoverProvider, vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private readonly known = new Map<string, Promise<Cubin>>();

  constructor(private readonly ask: Ask) {
    this.subscriptions = [
      vscode.window.registerCustomEditorProvider('oriole.cubin', this, { supportsMultipleEditorsPerDocument: false }),
      vscode.languages.registerHoverProvider({ scheme: SERVER_SCHEME }, this),
      vscode.workspace.onDidCloseTextDocument((document) => this.known.delete(document.uri.toString())),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => subscription.dispose());
  }

  openCustomDocument(uri: vscode.Uri): CubinDocument {
    return new CubinDocument(uri);
  }

  /** The tab of the binary gives way to the one of its text. */
  async resolveCustomEditor(document: CubinDocument, panel: vscode.WebviewPanel): Promise<void> {
    const column = panel.viewColumn;
    await this.show(document.uri, column);
    panel.dispose();
  }

  async show(uri: vscode.Uri, column?: vscode.ViewColumn): Promise<void> {
    const address = vscode.Uri.from(cubinAddress(uri.toString()));
    const document = await vscode.workspace.openTextDocument(address);
    await vscode.languages.setTextDocumentLanguage(document, 'oriole-sass');
    await vscode.window.showTextDocument(document, { viewColumn: column, preview: false });
  }

  async provideHover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    const { scheme, path, query } = document.uri;
    const cubin = cubinOf({ scheme, path, query });
    if (!cubin) return undefined;
    const key = document.uri.toString();
    const found = this.known.get(key) ?? this.ask<Cubin>('ptx/viewCubin', { textDocument: { uri: cubin } });
    this.known.set(key, found);
    const text = await found.then(
      (answer) => answer.hovers[position.line],
      () => (this.known.delete(key), undefined),
    );
    return text ? new vscode.Hover(new vscode.MarkdownString(text)) : undefined;
  }
}
