// The commands. Those that lenses run get `{ uri, kernel }`; from the palette the function under the cursor is meant, or one
// that is picked.

import * as vscode from 'vscode';

import { Panes } from './panes';
import { LAST, phasePicks } from './phases';
import { Ask, Comparison, DocumentSymbol, LastEdit, MemoryUsage, TreeNode, messageOf } from './protocol';
import { ReportDocuments } from './reportDocuments';
import { comparison, memoryText, treeText } from './reports';
import { functionAt, functions } from './symbols';

interface Asked {
  uri?: string;
  kernel?: string;
  phase?: string;
  chip?: string;
}

export interface Parts {
  ask: Ask;
  panes: Panes;
  restart(): Promise<void>;
  /** Keeps the chip that a file is shown for, and makes everything that depends on it again. */
  targetChanged(uri: string, chip: string | undefined): void;
  chips: readonly string[];
}

/** Registers all commands. */
export function commands(parts: Parts): vscode.Disposable[] {
  let lastPhase: string | undefined;
  const { ask, panes } = parts;
  const reports = new ReportDocuments();

  const table: Record<string, (asked: Asked) => Promise<void>> = {
    'oriole.showSass': async (asked) => {
      const place = await kernelOf(ask, asked, true, 'Machine code of which kernel?');
      if (place) await panes.show({ what: 'sass', ...place });
    },
    'oriole.showOri': async (asked) => {
      const place = await kernelOf(ask, asked, false, 'Ori of which function?');
      if (!place) return;
      const phase = asked.phase ?? (await pickPhase(ask, lastPhase));
      if (!phase) return;
      lastPhase = phase;
      await panes.show({ what: 'ori', ...place, phase });
    },
    'oriole.setTarget': async (asked) => {
      const uri = asked.uri ?? ptxUri();
      if (!uri) return;
      const own = { label: 'The file’s own', description: 'what `.target` or the configuration says', chip: undefined };
      const rows = [own, ...parts.chips.map((chip) => ({ label: chip, description: '', chip }))];
      const picked = asked.chip
        ? { chip: asked.chip }
        : await vscode.window.showQuickPick(rows, { placeHolder: 'Show the file for which chip?' });
      if (!picked) return;
      const argument = picked.chip ? { uri, chip: picked.chip } : { uri };
      await ask('workspace/executeCommand', { command: 'oriole.setTarget', arguments: [argument] });
      parts.targetChanged(uri, picked.chip);
    },
    'oriole.comparePtxas': async (asked) => {
      const place = await kernelOf(ask, asked, true, 'Compare which kernel?');
      if (!place) return;
      const found = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: 'ptxas compiles' },
        () => ask<Comparison>('ptx/compare', { textDocument: { uri: place.uri }, kernel: place.kernel }),
      );
      await reports.show(`${place.kernel} and ptxas`, comparison(found));
    },
    'oriole.restartServer': () => parts.restart(),
    'oriole.showSyntaxTree': async (asked) => {
      const uri = asked.uri ?? ptxUri();
      if (!uri) return;
      const editor = vscode.window.activeTextEditor;
      const selection = editor?.document.uri.toString() === uri && !editor.selection.isEmpty ? editor.selection : undefined;
      const range = selection ? { start: selection.start, end: selection.end } : undefined;
      const nodes = await ask<TreeNode[]>('ptx/viewSyntaxTree', { textDocument: { uri }, range });
      await reports.show('syntax tree', treeText(nodes));
    },
    'oriole.explainEdit': async () => reports.show('last edit', (await ask<LastEdit>('ptx/lastEdit', {})).text + '\n'),
    'oriole.memoryUsage': async () => reports.show('memory', memoryText(await ask<MemoryUsage>('ptx/memoryUsage', {}))),
  };
  const registered = Object.entries(table).map(([name, run]) =>
    vscode.commands.registerCommand(name, async (asked?: Asked) => {
      try {
        await run(asked ?? {});
      } catch (error) {
        void vscode.window.showErrorMessage(`Oriole: ${messageOf(error)}`);
      }
    }),
  );
  return [...reports.subscriptions, ...registered];
}

/** The PTX file that is meant: the active one, or else one that is visible. */
function ptxEditor(): vscode.TextEditor | undefined {
  const isPtx = (editor?: vscode.TextEditor) => editor?.document.languageId === 'ptx';
  const active = vscode.window.activeTextEditor;
  return isPtx(active) ? active : vscode.window.visibleTextEditors.find(isPtx);
}

function ptxUri(): string | undefined {
  const uri = ptxEditor()?.document.uri.toString();
  if (!uri) void vscode.window.showInformationMessage('Oriole: open a PTX file first.');
  return uri;
}

async function kernelOf(
  ask: Ask,
  asked: Asked,
  kernelsOnly: boolean,
  question: string,
): Promise<{ uri: string; kernel: string } | undefined> {
  const uri = asked.uri ?? ptxUri();
  if (!uri) return undefined;
  if (asked.kernel) return { uri, kernel: asked.kernel };
  const symbols = (await ask<DocumentSymbol[] | null>('textDocument/documentSymbol', { textDocument: { uri } })) ?? [];
  const rows = functions(symbols, kernelsOnly);
  const line = ptxEditor()?.selection.active.line;
  const under = line === undefined ? undefined : functionAt(rows, line);
  if (under) return { uri, kernel: under.name };
  if (rows.length === 1) return { uri, kernel: rows[0]!.name };
  const kernel = await vscode.window.showQuickPick(rows.map((row) => row.name), { placeHolder: question });
  return kernel ? { uri, kernel } : undefined;
}

async function pickPhase(ask: Ask, last: string | undefined): Promise<string | undefined> {
  const picked = await vscode.window.showQuickPick(await phasePicks(ask, last ?? LAST), {
    placeHolder: 'Ori after which phase?',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.phase;
}
