#!/usr/bin/env python3
"""Writes the launch records of test-data/kernels; run it after adding a case.

The PTX beside them comes from the CUDA sources, but for what is written by hand and for rows_*.ptx, which is written
along with its records: `generate.py ptx` makes it with the nvcc that is in PATH (arguments behind it go to nvcc, such
as -I for headers)."""
import glob
import os
import re
import subprocess
import sys

import record


def ptx(options):
    for source in sorted(glob.glob(os.path.join(record.ROOT, '*.cu'))):
        target = source[:-3] + '.ptx'
        subprocess.run(['nvcc', '-ptx', '-arch=sm_90', *options, source, '-o', target], check=True)
        # The comments name the compiler's build and the demoted variables only.
        text = re.sub(r'^[ \t]*//.*\n', '', open(target).read(), flags=re.M)
        open(target, 'w').write(re.sub(r'\n{3,}', '\n\n', text.lstrip('\n')))


def main(arguments):
    if arguments[:1] == ['ptx']:
        ptx(arguments[1:])
        return
    import accesses, arrays, atomics, barriers, blackwell, borders, bounds, bulk, clusters, counters, deep, exchange, fetches, floats, flow, folds, fragments, gradients, grants, handwritten, heap, hints, loops, matrix, meetings, memory_values, narrow_parameters, newer, newest, odd_forms, pipelines, published, roundings, rows, selection, singles, slow_ways, small_forms, stack, tensor_memory, tensors, textures, trees, video, warp_group, words
    accesses.write_ptx()
    barriers.write_ptx()
    clusters.write_ptx()
    grants.write_ptx()
    heap.write_ptx()
    rows.write_ptx()
    blackwell.write_ptx()
    borders.write_ptx()
    bounds.write_ptx()
    bulk.write_ptx()
    atomics.write_ptx()
    counters.write_ptx()
    deep.write_ptx()
    exchange.write_ptx()
    fetches.write_ptx()
    folds.write_ptx()
    hints.write_ptx()
    loops.write_ptx()
    matrix.write_ptx()
    meetings.write_ptx()
    memory_values.write_ptx()
    fragments.write_ptx()
    newer.write_ptx()
    newest.write_ptx()
    odd_forms.write_ptx()
    pipelines.write_ptx()
    published.write_ptx()
    roundings.write_ptx()
    selection.write_ptx()
    singles.write_ptx()
    slow_ways.write_ptx()
    small_forms.write_ptx()
    stack.write_ptx()
    gradients.write_ptx()
    narrow_parameters.write_ptx()
    tensors.write_ptx()
    tensor_memory.write_ptx()
    textures.write_ptx()
    trees.write_ptx()
    warp_group.write_ptx()
    video.write_ptx()
    record.write()
    print(len(record.CASES), 'records')


main(sys.argv[1:])
