// The extension's door: puts server, views, status bar and commands together when the first PTX file opens.

import * as vscode from 'vscode';

import { commands } from './commands';
import { Cubins } from './cubins';
import { KernelPages } from './kernelPages';
import { Panes } from './panes';
import { Server } from './server';
import { StatusBar } from './statusBar';

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel('Oriole', { log: true });
  const own = new Server(context, output);
  server = own;
  const targets = new Map<string, string>();
  const panes = new Panes(own.ask);
  const pages = new KernelPages(own.ask);
  const status = new StatusBar(own.ask, (uri) => targets.get(uri));
  const refresh = () => {
    panes.refresh();
    status.refreshSoon();
  };
  const restart = async () => {
    await own.stop();
    // A new server knows nothing of chips that were chosen.
    targets.clear();
    await own.start();
  };
  context.subscriptions.push(
    output,
    own,
    panes,
    pages,
    status,
    new Cubins(own.ask),
    own.onDidStart(() => {
      refresh();
      pages.restarted();
    }),
    own.onSassMap((next) => panes.push(next)),
    vscode.workspace.onDidCloseTextDocument((document) => targets.delete(document.uri.toString())),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const ofServer = ['server', 'languages'].some((key) => event.affectsConfiguration(`oriole.${key}`));
      if (ofServer) void restart();
      else if (event.affectsConfiguration('oriole')) panes.refreshSoon();
    }),
    ...commands({
      ask: own.ask,
      panes,
      pages,
      restart,
      program: () => own.program(),
      target: (uri) => targets.get(uri),
      chips: chips(context),
      targetChanged: (uri, chip) => {
        if (chip) targets.set(uri, chip);
        else targets.delete(uri);
        refresh();
        pages.again(uri);
      },
    }),
  );
  await own.start();
}

/** The chips that the setting for targets allows, which is made from the compiler's own list. */
function chips(context: vscode.ExtensionContext): string[] {
  type Manifest = { contributes: { configuration: { properties: Record<string, { items?: { enum?: string[] } }> } } };
  const { contributes } = context.extension.packageJSON as Manifest;
  return contributes.configuration.properties['oriole.targets']?.items?.enum ?? [];
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
