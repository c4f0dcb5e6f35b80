#!/usr/bin/env python3
"""Makes a program smaller that comes out differently on two machines: takes away functions, statements and lines as long as it still does.

    reduce.py RECORD.json --machine=MACHINE --oriole BINARY [--ptxas BINARY] --folder DIR

MACHINE is what stands in the report of a run: `-O0` to `-O3`, with options behind it, as in `-O2 --maxrregcount 24`; `lint -O3`; or `ptxas -O0`
to `ptxas -O3`. The record names its PTX file."""
import argparse
import json
import os
import re
import subprocess

from program import BEGIN, CLOSE, END, OPEN
from run import INTERPRETER, SIMULATOR, answers, differs, linted, machine

# A program that takes longer has lost the end of a loop.
SECONDS = 5

# What may be taken away alone: an instruction that writes registers of the pool, which hold something anyway, and a store.
ALONE = re.compile(r'(@!?%\w+ )?([a-z0-9_.:]+ (%[rdhfep]\d+(\|%p\d+)?|\{%[rdhfep]\d+(, %[rdhfep]\d+)*\}),|(st|red)\.(?!param))[^;]*;$|\{ \.reg [^}]*\}$')
SHARED = ('call', 'bar.', '.param')


def groups(lines):
    """The first and the last line of every statement, outer ones first."""
    found, stack = [], []
    for number, line in enumerate(lines):
        if line.strip() == OPEN:
            stack.append(number)
        elif line.strip() == CLOSE:
            found.append((stack.pop(), number))
    return sorted(found, key=lambda pair: pair[0] - pair[1])


def functions(lines):
    """The lines of every function, and of every variable outside of them."""
    found, start = [], None
    for number, line in enumerate(lines):
        if line.startswith('.func'):
            start = number
        elif line == '}' and start is not None:
            found.append((start, number))
            start = None
        elif line.startswith(('.global', '.const')):
            found.append((number, number))
    return found[::-1]


def bodies(lines):
    """The numbers of lines that statements are made of."""
    inside = False
    for number, line in enumerate(lines):
        inside = (inside or line.strip() == BEGIN) and line.strip() != END
        if inside and line.strip() != BEGIN:
            yield number


def without(lines, first, last):
    return lines[:first] + lines[last + 1:]


def unwrapped(lines, first, last):
    """A statement replaced by the statements in it; the same if there are none."""
    depth, kept = 0, []
    for line in lines[first + 1:last]:
        depth += line.strip() == OPEN
        if depth:
            kept.append(line[8:])
        depth -= line.strip() == CLOSE
    return lines[:first] + kept + lines[last + 1:]


def smaller(lines, fails):
    """One round: what is left, and whether anything went."""
    before = len(lines)
    # Many statements of the kernel at once, then each, then what is around others.
    size = 16
    while size:
        at = 0
        while True:
            outer = [pair for pair in groups(lines) if not any(a < pair[0] and pair[1] < b for a, b in groups(lines))]
            outer.sort()
            taken = outer[at:at + size]
            if not taken:
                break
            part = lines
            for first, last in reversed(taken):
                part = without(part, first, last)
            if fails(part):
                lines = part
            else:
                at += size
        size //= 2
    for change in (without, unwrapped):
        at = 0
        while at < len(found := groups(lines)):
            part = change(lines, *found[at])
            if len(part) < len(lines) and fails(part):
                lines = part
            else:
                at += 1
    at = 0
    while at < len(found := functions(lines)):
        part = without(lines, *found[at])
        if fails(part):
            lines = part
        else:
            at += 1
    for number in reversed(list(bodies(lines))):
        line = lines[number].strip()
        if ALONE.match(line) and not any(word in line for word in SHARED) and fails(part := without(lines, number, number)):
            lines = part
    return lines, len(lines) < before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('record')
    parser.add_argument('--machine', required=True)
    parser.add_argument('--oriole', required=True)
    parser.add_argument('--ptxas')
    parser.add_argument('--folder', default='.')
    parser.add_argument('--name', default='smaller')
    arguments = parser.parse_args()
    record = json.loads(open(arguments.record).readline())
    lines = open(os.path.join(os.path.dirname(arguments.record), record['ptx'])).read().splitlines()
    name = record['name']
    path = os.path.join(arguments.folder, arguments.name + '.ptx')
    launch = os.path.join(arguments.folder, arguments.name + '.json')
    record['ptx'] = arguments.name + '.ptx'
    os.makedirs(arguments.folder, exist_ok=True)
    open(launch, 'w').write(json.dumps(record) + '\n')
    chip = next(line.split()[1] for line in lines if line.startswith('.target'))
    kind = []

    def fails(part):
        open(path, 'w').write('\n'.join(part) + '\n')
        expected = answers(arguments.oriole, launch, [name], INTERPRETER, SECONDS)[name]
        if expected[0] == 'error':
            return False
        if arguments.machine.startswith('lint'):
            wrong = linted(arguments.oriole, path, arguments.machine.split()[1])
            now = re.sub(r'0x[0-9a-f]+|[0-9]+', '', wrong.split(':')[-1]) if wrong else None
        else:
            options = machine(arguments.machine)
            if arguments.machine.startswith('ptxas'):
                cubin = os.path.join(arguments.folder, arguments.name + '.cubin')
                if subprocess.run([arguments.ptxas, '-arch=' + chip, arguments.machine.split()[1], path, '-o', cubin], capture_output=True).returncode:
                    return False
                options = SIMULATOR + ['--cubin', cubin]
            got = answers(arguments.oriole, launch, [name], options, SECONDS)[name]
            wrong = differs(name, expected, got)
            # A difference stays a difference, and an error the same kind of error.
            now = re.sub(r'0x[0-9a-f]+|[0-9]+', '', wrong.split(':')[0][:40]) if wrong and got[0] == 'error' else wrong and 'bytes'
        if not now:
            return False
        if not kind:
            kind.append(now)
        return now == kind[0]

    assert fails(lines), 'the program comes out alike'
    more = True
    while more:
        lines, more = smaller(lines, fails)
    fails(lines)
    print('\n'.join(lines))


if __name__ == '__main__':
    main()
