// The commands. Those that lenses run get `{ uri, kernel }`; from the palette the function under the cursor is meant, or one
// that is picked.

import * as path from 'node:path';

import * as vscode from 'vscode';

import { KernelPages } from './kernelPages';
import { Panes } from './panes';
import { LAST, phasePicks } from './phases';
import { profileArguments, run, verifyArguments } from './programRuns';
import { Ask, Comparison, DocumentSymbol, LastEdit, MemoryUsage, TreeNode, messageOf } from './protocol';
import { ReportDocuments } from './reportDocuments';
import { comparison, memoryText, treeText } from './reports';
import { functionAt, functions } from './symbols';

interface Asked {
  uri?: string;
  kernel?: string;
  phase?: string;
  /** A file with launch records. */
  launches?: string;
  chip?: string;
}

export interface Parts {
  ask: Ask;
  panes: Panes;
  pages: KernelPages;
  restart(): Promise<void>;
  /** The program that serves, which has commands of its own too. */
  program(): string;
  /** The chip that was chosen for a file. */
  target(uri: string): string | undefined;
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
    'oriole.showPage': async (asked) => {
      const uri = asked.uri ?? ptxUri();
      if (uri) await parts.pages.show(vscode.Uri.parse(uri));
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
    'oriole.verify': async (asked) => {
      const place = await kernelOf(ask, asked, true, 'Verify which kernel?');
      const file = place && (await savedFile(place.uri));
      if (!file) return;
      const { kernel, uri } = place;
      const text = await output(parts.program(), verifyArguments(file, kernel, parts.target(uri)), file, `Verifying ${kernel}`);
      if (text !== undefined) await reports.show(`${kernel} verified`, text);
    },
    'oriole.profile': async (asked) => {
      const place = await kernelOf(ask, asked, true, 'Profile which kernel?');
      if (!place) return;
      const { kernel, uri } = place;
      let launches = asked.launches;
      if (!launches) {
        try {
          // The server finds a launch record, or makes a launch; what it finds it also shows in the text.
          const options = { location: vscode.ProgressLocation.Window, title: `Profiling ${kernel}` };
          const command = { command: 'oriole.profile', arguments: [{ uri, kernel }] };
          const found = await vscode.window.withProgress(options, () => ask<{ text: string }>('workspace/executeCommand', command));
          return await reports.show(`${kernel} profile`, found.text);
        } catch (error) {
          const choose = 'Choose Launch Records';
          if ((await vscode.window.showErrorMessage(`Oriole: ${kernel}: ${messageOf(error)}`, choose)) !== choose) return;
        }
      }
      const file = await savedFile(uri);
      launches ??= file && (await pickLaunches(file));
      if (!file || !launches) return;
      const text = await output(parts.program(), profileArguments(file, launches, parts.target(uri)), file, `Profiling ${kernel}`);
      if (text !== undefined) await reports.show(`${kernel} profile`, text);
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

/** The file of a document, with the text that is in the editor. */
async function savedFile(uri: string): Promise<string | undefined> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  if (document.uri.scheme !== 'file' || (document.isDirty && !(await document.save()))) {
    void vscode.window.showInformationMessage('Oriole: save the file first; the program reads it.');
    return undefined;
  }
  return document.uri.fsPath;
}

/** The launch records of a file that no name tells. */
async function pickLaunches(file: string): Promise<string | undefined> {
  const picked = await vscode.window.showOpenDialog({
    title: 'Launch records',
    defaultUri: vscode.Uri.file(path.dirname(file)),
    filters: { 'Launch records': ['json', 'jsonl'] },
  });
  return picked?.[0]?.fsPath;
}

/** What the program writes about a file; `undefined` if the person ended it. */
function output(program: string, parameters: string[], file: string, title: string): Promise<string | undefined> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return Promise.resolve(
    vscode.window.withProgress(options, async (_progress, token) => {
      const ran = await run(program, parameters, path.dirname(file), (end) => token.onCancellationRequested(end));
      return ran.status === null ? undefined : ran.text;
    }),
  );
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
