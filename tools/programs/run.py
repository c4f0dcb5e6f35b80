#!/usr/bin/env python3
"""Random programs on every machine: the interpreter, the simulator on this compiler's code at each level, in few registers and with late
results, and the simulator on NVIDIA's code where its compiler is given. Prints where bytes differ from the interpreter's, and fails if any do.

    run.py --oriole BINARY [--ptxas BINARY] [--first SEED] [--count N] [--chips 75,90] [--share NAME=N]... [--lint] [--jobs N] --folder DIR
    run.py --write FILE --seeds 1,2,3 --oriole BINARY [--ptxas BINARY] --folder DIR

A seed is for one chip out of the list. A share says how often a kind of statement or of instruction is taken, 0 never; `--shares` lists
them. Many programs go through one process; what differs is kept in DIR/SEED, a PTX file and its record. The second form writes records with
what all machines agree on, one a line."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

from program import CHIPS, SHARES, STATEMENTS, Program

# The most instructions of a lane in the interpreter, and of warps in the simulator: a program that needs more has lost its way.
STEPS = {'interp': '10000000', 'sim': '400000'}
INTERPRETER = ['--on', 'interp', '--step-limit', STEPS['interp']]
SIMULATOR = ['--on', 'sim', '--step-limit', STEPS['sim']]
# What this compiler's code runs on, and how it is compiled.
MACHINES = {f'-O{level}': [f'-O{level}'] for level in range(4)}
FEW = [18, 20, 24, 28, 32, 40]


def machine(text):
    """The options of a machine by its name, such as `-O3`, `-O2 --maxrregcount 24` or `-O3 --late`."""
    return SIMULATOR + text.split()


def machines_of(seeds):
    """What a batch runs on: every level, and few registers and late results at levels that differ from batch to batch. Calls follow the
    calling convention at level 0, and in every second batch in few registers."""
    number = seeds[0]
    few = FEW[number // 7 % len(FEW)]
    calls = ' --debug-switch no-inlining' if number // 40 % 2 else ''
    return list(MACHINES) + [f'-O{3 if number % 3 else 2} --maxrregcount {few}{calls}', f'-O{3 if number % 2 else 2} --late']


def answers(oriole, launches, names, options, seconds=None):
    """What each program leaves behind: its buffers, or why there are none."""
    try:
        run = subprocess.run([oriole, 'run', launches, '--json'] + options, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {name: ('error', 'out of time') for name in names}
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{')]
    found = {line['name']: ('error', line['error']) if line.get('error') else ('ok', [argument and argument.get('bytes_hex') for argument in line['args']])
             for line in lines}
    return {name: found.get(name, ('error', 'no answer: ' + run.stderr[-200:])) for name in names}


def differs(name, expected, got):
    """What is wrong with an answer, None if nothing is."""
    if got[0] == 'error':
        return got[1].replace('\n', ' ')[:200]
    for number, (want, have) in enumerate(zip(expected[1], got[1])):
        if want != have:
            at = next(i for i in range(0, len(want), 2) if want[i:i + 2] != have[i:i + 2]) // 2
            words = sum(want[i:i + 8] != have[i:i + 8] for i in range(0, len(want), 8))
            return f'argument {number}, byte {at} ({at // 192} thread, +{at % 192}), {words} words: {want[2 * at:2 * at + 16]} expected, {have[2 * at:2 * at + 16]} found'
    return None


def linted(oriole, source, level='-O3'):
    """What the hazard checker says of a program's code, empty if nothing."""
    cubin = source[:-4] + '.cubin'
    made = subprocess.run([oriole, 'compile', level, source, '-o', cubin], capture_output=True, text=True)
    if made.returncode:
        return 'not compiled: ' + made.stderr.splitlines()[0][:200]
    found = subprocess.run([oriole, 'lint', cubin], capture_output=True, text=True)
    os.remove(cubin)
    return (found.stdout + found.stderr).strip().splitlines()[0] if found.returncode else ''


def batch(seeds, arguments):
    folder = os.path.join(arguments.folder, f'batch_{seeds[0]}')
    os.makedirs(folder, exist_ok=True)
    launches = os.path.join(folder, 'launches.jsonl')
    records = {}
    for seed in seeds:
        record = Program(seed, arguments.chips[seed % len(arguments.chips)], arguments.shares).record()
        records[record['name']] = record
    names = list(records)
    source = lambda name: os.path.join(folder, name + '.ptx')
    if arguments.ptxas or arguments.lint:
        for name, record in records.items():
            open(source(name), 'w').write(record['ptx_text'])
    open(launches, 'w').write(''.join(json.dumps(record) + '\n' for record in records.values()))
    expected = answers(arguments.oriole, launches, names, INTERPRETER)
    ways = {name: {f'the interpreter: {value[1][:300]}': ['interp']} for name, value in expected.items() if value[0] == 'error'}

    def judge(which, found):
        # Machines that are wrong in one way are told in one line.
        for name in names:
            if expected[name][0] == 'ok' and (wrong := differs(name, expected[name], found[name])):
                ways.setdefault(name, {}).setdefault(wrong, []).append(which)

    for options in arguments.machines or machines_of(seeds):
        judge(options, answers(arguments.oriole, launches, names, machine(options)))
    if arguments.lint:
        for name in names:
            if said := linted(arguments.oriole, source(name)):
                ways.setdefault(name, {}).setdefault(said, []).append('lint -O3')
    for level in ('0', '3') if arguments.ptxas else ():
        cubins = os.path.join(folder, 'ptxas' + level)
        os.makedirs(cubins, exist_ok=True)
        refused = {}
        for name, record in records.items():
            chip = record['ptx_text'].split('.target ')[1].split()[0]
            made = subprocess.run([arguments.ptxas, '-arch=' + chip, '-O' + level, source(name), '-o', os.path.join(cubins, name + '.cubin')],
                                  capture_output=True, text=True)
            if made.returncode:
                refused[name] = ('error', 'ptxas: ' + (made.stdout + made.stderr)[-300:])
        part = os.path.join(folder, f'launches{level}.jsonl')
        open(part, 'w').write(''.join(json.dumps(record) + '\n' for name, record in records.items() if name not in refused))
        judge('ptxas -O' + level, answers(arguments.oriole, part, names, SIMULATOR + ['--cubins', cubins]) | refused)
        for name in os.listdir(cubins):
            os.remove(os.path.join(cubins, name))
        os.rmdir(cubins)
        os.remove(part)
    # What came out alike is not kept.
    report = []
    for name, record in records.items():
        if os.path.exists(source(name)):
            os.remove(source(name))
        if name in ways:
            where = os.path.join(arguments.folder, name)
            open(where + '.ptx', 'w').write(record.pop('ptx_text'))
            record['ptx'] = name + '.ptx'
            open(where + '.json', 'w').write(json.dumps(record) + '\n')
            report += [f'{name} {", ".join(which)}: {wrong}' for wrong, which in ways[name].items()]
    os.remove(launches)
    os.rmdir(folder)
    return report


def write(arguments):
    lines, lacking = [], set(STATEMENTS)
    for seed in arguments.seeds.split(','):
        report = batch([int(seed)], arguments)
        assert not report, report
        program = Program(int(seed), arguments.chips[int(seed) % len(arguments.chips)], arguments.shares)
        record = program.record()
        lacking -= program.kinds
        path = os.path.join(arguments.folder, 'one.json')
        open(path, 'w').write(json.dumps(record))
        state, values = answers(arguments.oriole, path, [record['name']], INTERPRETER)[record['name']]
        assert state == 'ok', values
        record['expect'] = {str(number): {'bytes_hex': value} for number, value in enumerate(values) if value}
        lines.append(json.dumps(record))
    open(arguments.write, 'w').write('\n'.join(lines) + '\n')
    print(f'{len(lines)} programs; kinds of statements that none has: {", ".join(sorted(lacking)) or "none"}')


def share(text):
    name, _, number = text.partition('=')
    if name not in SHARES or not number.isdigit():
        raise argparse.ArgumentTypeError(f'{text}: it is NAME=N, with a name out of {", ".join(SHARES)}')
    return name, int(number)


def main():
    if '--shares' in sys.argv:
        print('\n'.join(f'{name}={number}' for name, number in SHARES.items()))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--oriole', required=True)
    parser.add_argument('--ptxas')
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--count', type=int, default=20)
    parser.add_argument('--batch', type=int, default=40, help='programs of one process')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--folder', default='.')
    parser.add_argument('--chips', type=lambda text: [int(chip) for chip in text.split(',')], default=CHIPS)
    parser.add_argument('--share', type=share, action='append', default=[])
    parser.add_argument('--only', action='append', default=[], help='kinds of statements beside `straight`; all others are off')
    parser.add_argument('--machine', dest='machines', action='append', help='such as `-O3 --late`, instead of all')
    parser.add_argument('--lint', action='store_true', help='also the hazard checker on the code at -O3')
    parser.add_argument('--shares', action='store_true', help='list the shares')
    parser.add_argument('--write')
    parser.add_argument('--seeds')
    arguments = parser.parse_args()
    arguments.shares = {name: 0 for name in STATEMENTS if arguments.only and name not in arguments.only + ['straight']} | dict(arguments.share)
    os.makedirs(arguments.folder, exist_ok=True)
    if arguments.write:
        write(arguments)
        return 0
    seeds = list(range(arguments.first, arguments.first + arguments.count))
    batches = [seeds[i:i + arguments.batch] for i in range(0, len(seeds), arguments.batch)]
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for report in pool.map(lambda part: batch(part, arguments), batches):
            wrong += len(report)
            for line in report:
                print(line, flush=True)
    print(f'{len(seeds)} programs, {wrong} differences')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
