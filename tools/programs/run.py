#!/usr/bin/env python3
"""Random programs on every machine: the interpreter, the simulator on this compiler's code at each level, and the
simulator on NVIDIA's code where its compiler is given. Prints where bytes differ from the interpreter's, and fails if any do.

    run.py --oriole BINARY [--ptxas BINARY] [--first SEED] [--count N] [--jobs N] --folder DIR
    run.py --write FILE --seeds 1,2,3 --oriole BINARY [--ptxas BINARY] --folder DIR

The second form writes records with what all machines agree on, one a line."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

from program import Program

LEVELS = [['--on', 'sim', f'-O{level}'] for level in range(4)]


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


def batch(seeds, arguments):
    lines = []
    folder = os.path.join(arguments.folder, str(seeds[0]))
    os.makedirs(folder, exist_ok=True)
    names = []
    for seed in seeds:
        program = Program(seed)
        record = program.record()
        name = record['name']
        names.append(name)
        open(os.path.join(folder, name + '.ptx'), 'w').write(record.pop('ptx_text'))
        record['ptx'] = name + '.ptx'
        lines.append(json.dumps(record))
    launches = os.path.join(folder, 'launches.jsonl')
    open(launches, 'w').write('\n'.join(lines) + '\n')
    expected = answers(arguments.oriole, launches, names, ['--on', 'interp'])
    report = [f'{name} interp: {value[1][:300]}' for name, value in expected.items() if value[0] == 'error']
    machines = [(options[-1], answers(arguments.oriole, launches, names, options)) for options in LEVELS]
    for level in ('0', '3') if arguments.ptxas else ():
        cubins = os.path.join(folder, 'ptxas' + level)
        os.makedirs(cubins, exist_ok=True)
        refused = {}
        for name in names:
            made = subprocess.run([arguments.ptxas, '-arch=sm_90', '-O' + level, os.path.join(folder, name + '.ptx'), '-o', os.path.join(cubins, name + '.cubin')],
                                  capture_output=True, text=True)
            if made.returncode:
                refused[name] = ('error', 'ptxas: ' + (made.stdout + made.stderr)[-300:])
        kept = [line for line, name in zip(lines, names) if name not in refused]
        part = os.path.join(folder, f'launches{level}.jsonl')
        open(part, 'w').write('\n'.join(kept) + '\n')
        found = answers(arguments.oriole, part, names, ['--on', 'sim', '--cubins', cubins])
        machines.append(('ptxas -O' + level, found | refused))
    for name in names:
        # Machines that are wrong in one way are told in one line.
        ways = {}
        for machine, found in machines:
            if expected[name][0] == 'ok' and (wrong := differs(name, expected[name], found[name])):
                ways.setdefault(wrong, []).append(machine)
        report += [f'{name} {", ".join(which)}: {wrong}' for wrong, which in ways.items()]
    return report


def write(arguments):
    lines = []
    for seed in arguments.seeds.split(','):
        report = batch([int(seed)], arguments)
        assert not report, report
        record = Program(int(seed)).record()
        path = os.path.join(arguments.folder, 'one.json')
        open(path, 'w').write(json.dumps(record))
        state, values = answers(arguments.oriole, path, [record['name']], ['--on', 'interp'])[record['name']]
        assert state == 'ok', values
        record['expect'] = {str(number): {'bytes_hex': value} for number, value in enumerate(values) if value}
        lines.append(json.dumps(record))
    open(arguments.write, 'w').write('\n'.join(lines) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--oriole', required=True)
    parser.add_argument('--ptxas')
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--count', type=int, default=20)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--folder', default='.')
    parser.add_argument('--write')
    parser.add_argument('--seeds')
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments)
        return 0
    seeds = list(range(arguments.first, arguments.first + arguments.count))
    batches = [seeds[i:i + 20] for i in range(0, len(seeds), 20)]
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
