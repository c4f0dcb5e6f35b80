#!/usr/bin/env python3
"""Compiles kernels of Numba and of CuPy with Oriole, without a GPU.

    python_clients.py PATH-OF-ORIOLE --cuda TOOLKIT [--update]

Numba makes PTX, and `ptxas` is given it; CuPy calls nvcc. The packages numba-cuda, cupy-cuda13x and numpy have to be there.
"""

import os
import tempfile
import warnings
from pathlib import Path

import recorded


def of_numba(given, folder):
    from numba import cuda

    from python_kernels import NUMBA

    toolkit = recorded.shadow(given, folder)
    for name, (kernel, signature) in NUMBA.items():
        for chip in [(8, 0), (9, 0), (10, 0), (12, 0)]:
            arch = f"sm_{chip[0]}{chip[1]}"
            text, _ = cuda.compile_ptx(kernel, signature, cc=chip)
            (Path(folder) / "kernel.ptx").write_text(text)
            command = [toolkit / "bin/ptxas", f"-arch={arch}", "-lineinfo", "kernel.ptx", "-o", "kernel.cubin"]
            recorded.run(command, folder)
            recorded.run([given.cuda / "bin/nvdisasm", "kernel.cubin"], folder)
            yield f"numba {name} {arch}: {recorded.maker((Path(folder) / 'kernel.cubin').read_bytes())}\n"


def of_cupy(given, folder):
    os.environ["NVCC"] = str(recorded.shadow(given, folder) / "bin/nvcc")
    from cupy.cuda import compiler

    from python_kernels import CUPY

    for arch, options in [("80", ()), ("90", ("-O3", "--use_fast_math")), ("120", ("-lineinfo",))]:
        cubin = compiler.compile_using_nvcc(CUPY, options, arch=arch)
        yield f"cupy {' '.join(options)} sm_{arch}: {recorded.maker(cubin)}\n"


def main():
    given = recorded.arguments(__doc__)
    warnings.simplefilter("ignore")
    told = ""
    with tempfile.TemporaryDirectory() as folder:
        for client in (of_numba, of_cupy):
            told += "".join(client(given, folder))
    recorded.compare("python_clients", told, given.update)


if __name__ == "__main__":
    main()
