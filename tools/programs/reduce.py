#!/usr/bin/env python3
"""Makes a program smaller that comes out differently on two machines: takes away lines as long as it still does.

    reduce.py RECORD.json --machine=MACHINE --oriole BINARY [--ptxas BINARY] --folder DIR

MACHINE is `-O0` to `-O3`, or `ptxas -O0` to `ptxas -O3`. The record names its PTX file."""
import argparse
import json
import os
import subprocess

from program import BEGIN, END
from run import answers, differs

# A program that takes longer has lost the end of a loop.
SECONDS = 2


# What stays in a line that is never taken away: the generator's own registers, what makes branches and loops those of the whole
# block, and barriers, without which threads race.
KEPT = ('param', 'call', 'bar.', '%base', '%place', '%at', '%q', '%n')


def statements(lines):
    """The lines that may be taken away, by number."""
    inside, found = False, []
    for number, line in enumerate(lines):
        inside = (inside or line.strip() == BEGIN) and line.strip() != END
        kept = line.strip() in ('{', '}') or any(word in line for word in KEPT)
        if inside and line.strip() != BEGIN and not kept:
            found.append(number)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('record')
    parser.add_argument('--machine', required=True)
    parser.add_argument('--oriole', required=True)
    parser.add_argument('--ptxas')
    parser.add_argument('--folder', default='.')
    arguments = parser.parse_args()
    record = json.loads(open(arguments.record).readline())
    source = os.path.join(os.path.dirname(arguments.record), record['ptx'])
    lines = open(source).read().splitlines()
    name = record['name']
    path = os.path.join(arguments.folder, 'smaller.ptx')
    launch = os.path.join(arguments.folder, 'smaller.json')
    record['ptx'] = 'smaller.ptx'
    open(launch, 'w').write(json.dumps(record) + '\n')
    kind = []

    def fails(part):
        open(path, 'w').write('\n'.join(part) + '\n')
        options = ['--on', 'sim']
        if arguments.machine.startswith('ptxas'):
            cubin = os.path.join(arguments.folder, 'smaller.cubin')
            if subprocess.run([arguments.ptxas, '-arch=sm_90', arguments.machine.split()[1], path, '-o', cubin], capture_output=True).returncode:
                return False
            options += ['--cubin', cubin]
        else:
            options.append(arguments.machine)
        expected = answers(arguments.oriole, launch, [name], ['--on', 'interp'], SECONDS)[name]
        if expected[0] == 'error':
            return False
        got = answers(arguments.oriole, launch, [name], options, SECONDS)[name]
        wrong = differs(name, expected, got)
        if wrong is None:
            return False
        # A difference stays a difference, and an error the same kind of error.
        now = wrong.split(':')[0][:40] if got[0] == 'error' else 'bytes'
        if not kind:
            kind.append(now)
        return now == kind[0]

    assert fails(lines), 'the program comes out alike'
    size = max(len(lines) // 2, 1)
    while True:
        at, smaller = 0, False
        while at < len(lines):
            # What gives registers their values stays, so that no program reads what nothing wrote.
            taken = [i for i in statements(lines) if at <= i < at + size]
            if taken and fails(part := [line for i, line in enumerate(lines) if i not in set(taken)]):
                lines, smaller = part, True
            else:
                at += size
        if size == 1 and not smaller:
            break
        size = max(size // 2, 1)
    fails(lines)
    print('\n'.join(lines))


if __name__ == '__main__':
    main()
