// Commands of the program `oriole` that the server does not have, run on a file: arguments and output.

import { spawn } from 'node:child_process';

export interface Ran {
  /** What it wrote, to either stream, in order. */
  text: string;
  /** Its exit status; `null` if it was ended. */
  status: number | null;
}

/** Runs a program in the folder of a file. `ended` is called with a function that ends it. */
export function run(program: string, parameters: readonly string[], folder: string, ended: (end: () => void) => void): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, parameters, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1' } });
    let text = '';
    const add = (part: string) => (text += part);
    child.stdout.setEncoding('utf8').on('data', add);
    child.stderr.setEncoding('utf8').on('data', add);
    child.once('error', reject);
    child.once('close', (status) => resolve({ text, status }));
    ended(() => child.kill());
  });
}

/** The arguments of `oriole verify` for one kernel of a file. */
export function verifyArguments(file: string, kernel: string, chip: string | undefined): string[] {
  return ['verify', file, '--entry', kernel, ...(chip ? ['--arch', chip] : [])];
}

/** The arguments of `oriole profile` for launch records of a file. */
export function profileArguments(file: string, launches: string, chip: string | undefined): string[] {
  return ['profile', file, launches, ...(chip ? ['--arch', chip] : [])];
}
