// The views beside a PTX file: read-only documents with SASS or Ori that follow the text, and the light that goes with the
// cursor in both ways.

import * as vscode from 'vscode';

import { Parts, VIEW_SCHEME, ViewAddress, parseView, viewAddress } from './address';
import { FollowedSass } from './followedSass';
import { Lit, Span, litFromSource, litFromView, runs } from './lineMap';
import { oriView } from './oriView';
import { Ask, SassMap, isNotNow, messageOf } from './protocol';
import { followSass, noCode, renderSass } from './sassView';
import { View, outdated } from './view';

/** Views are made again when the text has been at rest for this long, in milliseconds. */
const REST = 250;

interface Pane {
  address: ViewAddress;
  view?: View;
  /** Machine code that the server keeps up to date. */
  sass?: FollowedSass;
  /** A view that was pushed and waits for the editor to take it. */
  pushed?: View;
  /** Counts requests, so that a late answer never overwrites a newer one. */
  round: number;
}

function partsOf(uri: vscode.Uri): Parts {
  return { scheme: uri.scheme, path: uri.path, query: uri.query };
}

function lines(span: Span): vscode.Range {
  return new vscode.Range(span.first, 0, span.last, Number.MAX_SAFE_INTEGER);
}

export class Panes implements vscode.TextDocumentContentProvider, vscode.HoverProvider, vscode.Disposable {
  private readonly panes = new Map<string, Pane>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly light = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.rangeHighlightForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
  });
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly ask: Ask) {
    this.subscriptions = [
      this.changed,
      this.light,
      vscode.workspace.registerTextDocumentContentProvider(VIEW_SCHEME, this),
      vscode.languages.registerHoverProvider({ scheme: VIEW_SCHEME }, this),
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document.languageId === 'ptx') this.refreshSoon();
      }),
      vscode.workspace.onDidOpenTextDocument((document) => this.opened(document.uri.toString())),
      vscode.workspace.onDidCloseTextDocument((document) => this.closed(document.uri.toString())),
      vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor)),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        const active = vscode.window.activeTextEditor;
        if (active) this.follow(active);
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscriptions.forEach((subscription) => subscription.dispose());
  }

  /** Opens a view beside the source. */
  async show(address: ViewAddress): Promise<void> {
    const uri = vscode.Uri.from(viewAddress(address));
    let document = await vscode.workspace.openTextDocument(uri);
    const language = address.what === 'sass' ? 'oriole-sass' : 'oriole-ori';
    if (document.languageId !== language) document = await vscode.languages.setTextDocumentLanguage(document, language);
    const source = vscode.window.activeTextEditor;
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: false,
    });
    if (source) this.follow(source);
  }

  /** Makes all views again that are open. */
  refresh(): void {
    for (const uri of this.panes.keys()) this.changed.fire(vscode.Uri.parse(uri));
  }

  /** Makes those views again that the server does not push. */
  refreshSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      for (const [uri, pane] of this.panes) if (!pane.sass) this.changed.fire(vscode.Uri.parse(uri));
    }, REST);
  }

  /** Takes machine code that the server pushes. */
  push(next: SassMap): void {
    for (const [uri, pane] of this.panes) {
      const { address } = pane;
      if (address.what !== 'sass' || address.uri !== next.textDocument.uri || address.kernel !== next.kernel) continue;
      if ((address.chip ?? null) !== next.asked) continue;
      if (next.previousResultId === null) pane.sass = new FollowedSass();
      const sass = pane.sass?.apply(next) ? pane.sass.sass() : undefined;
      // Without the state that it builds on, all of it is asked for.
      pane.pushed = sass ? renderSass(sass) : undefined;
      this.changed.fire(vscode.Uri.parse(uri));
    }
  }

  /** A file that was closed is not followed any more; its views are made anew when it is open again. */
  private opened(uri: string): void {
    for (const [key, pane] of this.panes) if (pane.address.uri === uri) this.changed.fire(vscode.Uri.parse(key));
  }

  private closed(uri: string): void {
    const pane = this.panes.get(uri);
    if (!pane) return;
    this.panes.delete(uri);
    if (pane.address.what !== 'sass' || !pane.sass) return;
    const { uri: source, kernel, chip } = pane.address;
    this.ask('ptx/viewSass', { textDocument: { uri: source }, kernel, chip, follow: false }).catch(() => undefined);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const key = uri.toString();
    const address = parseView(partsOf(uri));
    if (!address) return `// ${key} is no view of Oriole\n`;
    const pane: Pane = this.panes.get(key) ?? { address, round: 0 };
    this.panes.set(key, pane);
    const round = ++pane.round;
    const before = pane.view;
    const pushed = pane.pushed;
    pane.pushed = undefined;
    const language = address.what === 'sass' ? 'oriole-sass' : 'oriole-ori';
    let view: View;
    try {
      view = pushed ?? (await this.make(pane));
    } catch (error) {
      if (isNotNow(error)) {
        this.refreshSoon();
        return before?.text ?? '';
      }
      view = outdated(before, messageOf(error), language);
    }
    if (pane.round !== round) return pane.view?.text ?? view.text;
    pane.view = view;
    // The document takes the text after this returns; the light follows it.
    setTimeout(() => {
      const active = vscode.window.activeTextEditor;
      if (active) this.follow(active);
    }, 50);
    return view.text;
  }

  private async make(pane: Pane): Promise<View> {
    const { address } = pane;
    const { uri, kernel, chip } = address;
    if (address.what === 'ori') return oriView(this.ask, uri, kernel, address.phase, chip);
    pane.sass = await followSass(this.ask, uri, kernel, chip);
    const sass = pane.sass.sass();
    if (!sass) throw new Error(noCode(kernel));
    return renderSass(sass);
  }

  provideHover(document: vscode.TextDocument, position: vscode.Position): vscode.Hover | undefined {
    const text = this.panes.get(document.uri.toString())?.view?.hovers[position.line];
    return text ? new vscode.Hover(new vscode.MarkdownString(text)) : undefined;
  }

  /** Lights what belongs to the selection of an editor, in it and in the editors of the other side. */
  private follow(editor: vscode.TextEditor): void {
    const { start, end } = editor.selection;
    const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
    const own = editor.document.uri.toString();
    const pane = this.panes.get(own);
    if (pane) {
      if (!pane.view) return;
      const lit = litFromView(pane.view.map, start.line, last);
      this.paint(editor, runs(lit.view), false);
      for (const other of vscode.window.visibleTextEditors) {
        if (other.document.uri.toString() === pane.address.uri) this.paint(other, lit.source, true);
        else this.paintSibling(other, own, pane.address.uri, lit);
      }
      return;
    }
    const sources: Span[] = [];
    let any = false;
    for (const other of vscode.window.visibleTextEditors) {
      const view = this.paneOf(other, own)?.view;
      if (!view) continue;
      any = true;
      const lit = litFromSource(view.map, start.line, last);
      this.paint(other, runs(lit.view), true);
      sources.push(...lit.source);
    }
    if (any) this.paint(editor, sources, false);
  }

  private paneOf(editor: vscode.TextEditor, source: string): Pane | undefined {
    const pane = this.panes.get(editor.document.uri.toString());
    return pane?.address.uri === source ? pane : undefined;
  }

  /** The other views of the same file, as SASS beside Ori. */
  private paintSibling(editor: vscode.TextEditor, own: string, source: string, lit: Lit): void {
    if (editor.document.uri.toString() === own) return;
    const view = this.paneOf(editor, source)?.view;
    if (!view) return;
    const rows = lit.source.flatMap((span) => view.map.viewOf(span.first, span.last));
    this.paint(editor, runs([...new Set(rows)].sort((a, b) => a - b)), true);
  }

  private paint(editor: vscode.TextEditor, spans: readonly Span[], reveal: boolean): void {
    editor.setDecorations(this.light, spans.map(lines));
    const first = spans[0];
    if (reveal && first) editor.revealRange(lines(first), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}
