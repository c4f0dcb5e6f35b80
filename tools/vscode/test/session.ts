// A conversation with the real `oriole lsp` over its standard streams, as an editor has it.
import { ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { MessageConnection, createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';

import { Ask, Range, persistent } from '../src/protocol';

export const OWN = path.resolve(__dirname, '..');
export const ROOT = path.resolve(OWN, '../..');

/** The program: what `ORIOLE` names, or the newest that was built here. */
export function program(): string {
  const named = process.env['ORIOLE'];
  if (named) return named;
  const built = ['release', 'fast', 'debug']
    .map((profile) => path.join(ROOT, 'target', profile, 'oriole'))
    .filter((file) => fs.existsSync(file))
    .sort((a, b) => fs.statSync(b).mtimeMs - fs.statSync(a).mtimeMs);
  if (!built[0]) throw new Error('there is no server: build it (`cargo build -p oriole-cli`) or name it in ORIOLE');
  return built[0];
}

export function kernelFile(name: string): string {
  return fs.readFileSync(path.join(ROOT, 'test-data/kernels', name), 'utf8');
}

export class Session {
  /** What the server told with `window/showMessage`. */
  readonly told: string[] = [];
  readonly ask: Ask = persistent((method, parameters) => this.connection.sendRequest(method, parameters));
  /** Of the last text that was sent. */
  version = 1;

  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: MessageConnection,
  ) {}

  /** Starts a server with these settings. */
  static async start(settings: object = {}, env: NodeJS.ProcessEnv = process.env): Promise<Session> {
    const child = spawn(program(), ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'], env });
    const connection = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
    const session = new Session(child, connection);
    connection.onRequest(() => null);
    connection.onNotification('window/showMessage', ({ message }: { message: string }) => {
      session.told.push(message);
    });
    connection.listen();
    await connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: null,
      capabilities: { textDocument: { diagnostic: {} }, workspace: { textDocumentContent: {} } },
      initializationOptions: settings,
    });
    await connection.sendNotification('initialized', {});
    return session;
  }

  async open(uri: string, text: string, languageId = 'ptx'): Promise<void> {
    await this.connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri, languageId, version: this.version, text },
    });
  }

  /** The next notification of a method that is wanted. */
  next<T>(method: string, wanted: (parameters: T) => boolean): Promise<T> {
    return new Promise((resolve) => {
      const listener = this.connection.onNotification(method, (parameters: T) => {
        if (!wanted(parameters)) return;
        listener.dispose();
        resolve(parameters);
      });
    });
  }

  async edit(uri: string, range: Range, text: string): Promise<void> {
    this.version += 1;
    await this.connection.sendNotification('textDocument/didChange', {
      textDocument: { uri, version: this.version },
      contentChanges: [{ range, text }],
    });
  }

  async stop(): Promise<number | null> {
    await this.connection.sendRequest('shutdown');
    const ended = new Promise<number | null>((resolve) => this.child.once('exit', resolve));
    await this.connection.sendNotification('exit');
    const code = await ended;
    this.connection.dispose();
    return code;
  }
}
