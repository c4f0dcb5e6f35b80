// A double of the editor's programming interface: as much of it as the extension and its language client use. Documents,
// visible editors, commands, providers, status bar and decorations are kept so that a test can play the person; whatever else
// is asked for is an object that does nothing.
import { EventEmitter as Emitter } from 'node:events';
import * as fs from 'node:fs';

type Any = any; // eslint-disable-line @typescript-eslint/no-explicit-any

/** An object that can be called, constructed and asked for anything, and does nothing. */
function nothing(): Any {
  const target = function () {};
  return new Proxy(target, {
    get: (own: Any, key) => {
      if (key === 'then' || key === Symbol.toPrimitive || key === Symbol.iterator) return undefined;
      if (key === 'prototype') return own.prototype;
      if (key === 'dispose') return () => undefined;
      return nothing();
    },
    apply: () => nothing(),
    construct: () => ({ dispose() {} }),
  });
}

/** Every other class as an empty one, every enumeration with its values, every namespace as one that does nothing. */
function rest(): Any {
  const found: Any = {};
  const text = fs.readFileSync(require.resolve('@types/vscode/index.d.ts'), 'utf8');
  for (const [, kind, name] of text.matchAll(/^\texport (?:abstract )?(class|enum|namespace|const) (\w+)/gm)) {
    if (kind === 'class') found[name!] = class {};
    else if (kind === 'enum') found[name!] = {};
    else found[name!] = nothing();
  }
  for (const [, name, body] of text.matchAll(/^\texport enum (\w+) \{([^}]*)\}/gm)) {
    for (const [, member, value] of body!.matchAll(/^\s*(\w+) = (-?\d+)/gm)) found[name!][member!] = Number(value);
  }
  return found;
}

export class Disposable {
  constructor(private readonly call: () => void = () => undefined) {}
  static from(...list: { dispose(): void }[]) {
    return new Disposable(() => list.forEach((each) => each.dispose()));
  }
  dispose() {
    this.call();
  }
}

export class EventEmitter<T> {
  private readonly emitter = new Emitter();
  readonly event = (listener: (value: T) => void, self?: unknown) => {
    const bound = self ? listener.bind(self) : listener;
    this.emitter.on('fire', bound);
    return new Disposable(() => this.emitter.off('fire', bound));
  };
  constructor() {
    this.emitter.setMaxListeners(0);
  }
  fire(value: T) {
    this.emitter.emit('fire', value);
  }
  dispose() {
    this.emitter.removeAllListeners();
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(a: number, b: number, c: number, d: number) {
    this.start = new Position(a, b);
    this.end = new Position(c, d);
  }
  get isEmpty() {
    return this.start.line === this.end.line && this.start.character === this.end.character;
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query: string,
  ) {}
  static from({ scheme, path, query = '' }: { scheme: string; path: string; query?: string }) {
    return new Uri(scheme, path, query);
  }
  static file(path: string) {
    return new Uri('file', path, '');
  }
  static parse(text: string) {
    const [, scheme, path, query] = /^([\w-]+):(?:\/\/)?([^?]*)(?:\?(.*))?$/.exec(text)!;
    return new Uri(scheme!, decodeURIComponent(path!), decodeURIComponent(query ?? ''));
  }
  get fsPath() {
    return this.path;
  }
  toString() {
    const path = this.path.split('/').map(encodeURIComponent).join('/');
    return `${this.scheme}:${this.scheme === 'file' ? '//' : ''}${path}${this.query ? `?${encodeURIComponent(this.query)}` : ''}`;
  }
}

export class Selection extends Range {
  constructor(
    readonly anchor: Position,
    readonly active: Position,
  ) {
    super(anchor.line, anchor.character, active.line, active.character);
  }
}

export class TextDocument {
  version = 1;
  isClosed = false;
  constructor(
    readonly uri: Uri,
    public languageId: string,
    public text: string,
  ) {}
  get fileName() {
    return this.uri.path;
  }
  getText() {
    return this.text;
  }
  get lineCount() {
    return this.text.split('\n').length;
  }
}

export class TextEditor {
  selection: Any = { start: new Position(0, 0), end: new Position(0, 0), active: new Position(0, 0), isEmpty: true };
  /** The lines that are lit. */
  lit: number[] = [];
  constructor(readonly document: TextDocument) {}
  setDecorations(_type: unknown, ranges: Range[]) {
    this.lit = ranges.flatMap(({ start, end }) => Array.from({ length: end.line - start.line + 1 }, (_, at) => start.line + at));
  }
  revealRange() {}
}

/** A panel with a page. */
export class Panel {
  readonly webview: Any;
  /** The messages that the page got. */
  readonly told: Any[] = [];
  /** The messages of the page. */
  readonly hears = new EventEmitter<Any>();
  private readonly ended = new EventEmitter<void>();
  readonly onDidDispose = this.ended.event;
  constructor() {
    const { told, hears } = this;
    this.webview = { html: '', postMessage: async (message: Any) => told.push(message), onDidReceiveMessage: hears.event };
  }
  reveal() {}
  dispose() {
    this.ended.fire();
  }
}

/** The editor that a test plays with. */
export class Editor {
  readonly commands = new Map<string, (...args: Any[]) => Any>();
  readonly contents = new Map<string, Any>();
  readonly lenses: Any[] = [];
  readonly hovers: { selector: Any; provider: Any }[] = [];
  readonly errors: string[] = [];
  readonly panels: Panel[] = [];
  readonly documents: TextDocument[] = [];
  readonly visible: TextEditor[] = [];
  active: TextEditor | undefined;
  readonly status: Any = { text: '', show() {}, hide() {}, dispose() {} };
  /** What is picked of the next quick pick. */
  pick: (rows: Any[]) => Any = () => undefined;
  private readonly events = new Map<string, EventEmitter<Any>>();

  constructor(
    private readonly settings: Record<string, unknown>,
    private readonly defaults: Record<string, unknown>,
  ) {}

  private on(name: string): EventEmitter<Any> {
    let found = this.events.get(name);
    if (!found) this.events.set(name, (found = new EventEmitter()));
    return found;
  }

  /** Opens a document, as a person does. */
  async open(uri: Uri, languageId: string, text: string): Promise<TextEditor> {
    const document = new TextDocument(uri, languageId, text);
    this.documents.push(document);
    this.on('onDidOpenTextDocument').fire(document);
    return this.show(document);
  }

  private show(document: TextDocument, focus = true): TextEditor {
    let editor = this.visible.find((each) => each.document === document);
    if (!editor) this.visible.push((editor = new TextEditor(document)));
    if (focus || !this.active) {
      this.active = editor;
      this.on('onDidChangeActiveTextEditor').fire(editor);
    }
    this.on('onDidChangeVisibleTextEditors').fire(this.visible);
    return editor;
  }

  /** Writes over a part of a line. */
  type(document: TextDocument, line: number, from: number, to: number, text: string) {
    const lines = document.text.split('\n');
    const before = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0) + from;
    document.text = document.text.slice(0, before) + text + document.text.slice(before + to - from);
    document.version += 1;
    const change = { range: new Range(line, from, line, to), rangeOffset: before, rangeLength: to - from, text };
    this.on('onDidChangeTextDocument').fire({ document, contentChanges: [change], reason: undefined });
  }

  /** Takes back what was written at the start, which ends a line. */
  undo(document: TextDocument, text: string) {
    document.text = document.text.slice(text.length);
    document.version += 1;
    const change = { range: new Range(0, 0, 1, 0), rangeOffset: 0, rangeLength: text.length, text: '' };
    this.on('onDidChangeTextDocument').fire({ document, contentChanges: [change], reason: undefined });
  }

  /** Puts the cursor on a line. */
  select(editor: TextEditor, line: number) {
    const at = new Position(line, 1);
    editor.selection = { start: at, end: at, active: at, isEmpty: true };
    this.active = editor;
    this.on('onDidChangeTextEditorSelection').fire({ textEditor: editor, selections: [editor.selection] });
  }

  /** Saves a document, whose text is that of the file. */
  save(document: TextDocument) {
    this.on('onDidSaveTextDocument').fire(document);
  }

  run(command: string, ...args: unknown[]): Promise<unknown> {
    return Promise.resolve(this.commands.get(command)!(...args));
  }

  /** The module `vscode`. */
  module(): Any {
    const own = this;
    const events = (known: Any) =>
      new Proxy(known, {
        get: (target, key: string) =>
          key in target ? target[key] : key.startsWith('on') ? own.on(key).event : nothing(),
      });
    const workspace = events({
      textDocuments: this.documents,
      notebookDocuments: [],
      workspaceFolders: undefined,
      getConfiguration: (section?: string) => {
        const full = (key: string) => (section ? `${section}.${key}` : key);
        return {
          get: (key: string, fallback?: unknown) => own.settings[full(key)] ?? own.defaults[full(key)] ?? fallback,
          inspect: (key: string) => ({ key, globalValue: own.settings[full(key)] }),
          has: () => false,
        };
      },
      registerTextDocumentContentProvider: (scheme: string, provider: Any) => {
        own.contents.set(scheme, provider);
        provider.onDidChange?.(async (uri: Uri) => {
          const document = own.documents.find((each) => each.uri.toString() === uri.toString());
          if (document) document.text = await provider.provideTextDocumentContent(uri);
        });
        return new Disposable();
      },
      openTextDocument: async (what: Any) => {
        if (!(what instanceof Uri)) {
          const document = new TextDocument(Uri.from({ scheme: 'untitled', path: 'report' }), what.language, what.content);
          own.documents.push(document);
          return document;
        }
        const known = own.documents.find((each) => each.uri.toString() === what.toString());
        if (known) return known;
        const token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() };
        const text = await own.contents.get(what.scheme).provideTextDocumentContent(what, token);
        const document = new TextDocument(what, 'plaintext', text);
        own.documents.push(document);
        return document;
      },
      createFileSystemWatcher: () => nothing(),
    });
    const window = events({
      get activeTextEditor() {
        return own.active;
      },
      visibleTextEditors: this.visible,
      tabGroups: events({ all: [] }),
      visibleNotebookEditors: [],
      createWebviewPanel: () => {
        const panel = new Panel();
        own.panels.push(panel);
        return panel;
      },
      createOutputChannel: () => nothing(),
      createStatusBarItem: () => own.status,
      createTextEditorDecorationType: () => ({ dispose() {} }),
      showTextDocument: async (document: TextDocument, options?: Any) => own.show(document, !options?.preserveFocus),
      showErrorMessage: async (message: string) => void own.errors.push(message),
      showQuickPick: async (rows: Any[]) => own.pick(rows),
      // The server shows progress too, when the machine is slow.
      withProgress: (_options: Any, task: (...args: Any[]) => Any) =>
        task({ report() {} }, { isCancellationRequested: false, onCancellationRequested: () => new Disposable() }),
    });
    const languages = events({
      match: (selector: Any, document: TextDocument) =>
        [selector].flat().some((each: Any) => (each.language ? each.language === document.languageId : each === document.languageId)) ? 10 : 0,
      registerHoverProvider: (selector: Any, provider: Any) => (own.hovers.push({ selector, provider }), new Disposable()),
      registerCodeLensProvider: (_selector: Any, provider: Any) => (own.lenses.push(provider), new Disposable()),
      setTextDocumentLanguage: async (document: TextDocument, languageId: string) => ((document.languageId = languageId), document),
    });
    const commands = events({
      registerCommand: (name: string, call: (...args: Any[]) => Any) => {
        if (own.commands.has(name)) throw new Error(`command '${name}' already exists`);
        own.commands.set(name, call);
        return new Disposable();
      },
      executeCommand: async () => undefined,
    });
    const known: Any = {
      workspace, window, languages, commands, Disposable, EventEmitter, Position, Range, Selection, Uri,
      version: '1.91.0',
      env: { ...{ appName: 'a double', language: 'en' }, onDidChangeTelemetryEnabled: own.on('telemetry').event },
      CodeLens: class { constructor(readonly range: Range, readonly command?: Any) {} },
      Hover: class { constructor(readonly contents: Any) {} },
      MarkdownString: class { constructor(readonly value = '') {} },
      ThemeColor: class { constructor(readonly id: string) {} },
      CancellationTokenSource: class { token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() }; cancel() {} dispose() {} },
      CancellationError: class extends Error {},
      CodeActionKind: new Proxy({}, { get: (_own, key) => ({ value: String(key).toLowerCase() }) }),
    };
    return { ...rest(), ...known };
  }
}
