// Starts the language server and keeps the client of it: settings on their way, lenses that are switched off.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { DynamicFeature, LanguageClient, LanguageClientOptions, ServerOptions, StaticFeature } from 'vscode-languageclient/node';

import { Ask, SassMap, messageOf, persistent } from './protocol';
import { serverProgram, serverSettings, shownLenses, startFailure } from './settings';

/**
 * The client without commands of the server: the extension registers those of the same names, because it shows what they give
 * in views of its own.
 */
class Client extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = (feature as { registrationType?: { method: string } }).registrationType?.method;
    if (method !== 'workspace/executeCommand') super.registerFeature(feature);
  }
}

function configuration(uri?: vscode.Uri): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('oriole', uri ?? null);
}

/** What somebody has set for a place, the nearest first. */
export function settingsFor(uri?: vscode.Uri): Record<string, unknown> {
  const own = configuration(uri);
  return serverSettings((key) => {
    const found = own.inspect(key);
    return found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue;
  });
}

export class Server implements vscode.Disposable {
  private client: Client | undefined;
  private readonly started = new vscode.EventEmitter<void>();
  /** Fires when the server has been started, or started again. */
  readonly onDidStart = this.started.event;
  private readonly pushed = new vscode.EventEmitter<SassMap>();
  /** Fires with machine code that the server pushes. */
  readonly onSassMap = this.pushed.event;
  /** Asks the server; what it has no time for is asked again. */
  readonly ask: Ask = persistent(async <T>(method: string, parameters: object): Promise<T> => {
    if (!this.client?.isRunning()) throw new Error('the language server is not running');
    return this.client.sendRequest<T>(method, parameters);
  });

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly output: vscode.LogOutputChannel,
  ) {}

  /** The program that is started. */
  program(): string {
    const name = process.platform === 'win32' ? 'oriole.exe' : 'oriole';
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    return serverProgram(
      configuration().get<string>('server.path'),
      path.join(this.context.extensionPath, 'server', name),
      fs.existsSync,
      { workspaceFolder: folder, home: os.homedir() },
    );
  }

  async start(): Promise<void> {
    const program = this.program();
    const options: ServerOptions = { command: program, args: ['lsp', ...(configuration().get<string[]>('server.arguments') ?? [])] };
    const languages = configuration().get<string[]>('languages') ?? ['ptx'];
    const clientOptions: LanguageClientOptions = {
      documentSelector: languages.map((language) => ({ language })),
      outputChannel: this.output,
      initializationOptions: settingsFor(),
      synchronize: { configurationSection: 'oriole' },
      middleware: {
        workspace: {
          configuration: (parameters) =>
            parameters.items.map((item) =>
              item.section === 'oriole' ? settingsFor(item.scopeUri ? vscode.Uri.parse(item.scopeUri) : undefined) : null,
            ),
        },
        provideCodeLenses: async (document, token, next) => {
          const own = configuration(document.uri);
          return shownLenses((await next(document, token)) ?? [], (kind) => own.get<boolean>(`lenses.${kind}`) ?? true);
        },
      },
    };
    const client = new Client('oriole', 'Oriole', options, clientOptions);
    try {
      await client.start();
    } catch (error) {
      await client.dispose().catch(() => undefined);
      void vscode.window.showErrorMessage(startFailure(program, messageOf(error)), 'Open Settings').then((answer) => {
        if (answer) void vscode.commands.executeCommand('workbench.action.openSettings', 'oriole.server.path');
      });
      return;
    }
    client.onNotification('ptx/sassMap', (next: SassMap) => this.pushed.fire(next));
    this.client = client;
    this.started.fire();
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.dispose().catch((error: unknown) => this.output.warn(messageOf(error)));
  }

  dispose(): void {
    this.started.dispose();
    this.pushed.dispose();
    void this.stop();
  }
}
