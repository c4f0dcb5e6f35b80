#!/usr/bin/env python3
"""Compiles kernels with Triton and Oriole in ptxas's place, without a GPU.

    triton_compile.py PATH-OF-ORIOLE [--arch 80 90 100] [--with-line-info]

Triton looks for the two assemblers by variables of the environment and falls back to its own ones in silence if what it
finds does not answer as it expects. So it is checked that every cubin was written by Oriole.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oriole", type=Path)
    parser.add_argument("--arch", type=int, nargs="+", default=[80, 89, 90, 100, 120])
    parser.add_argument("--with-line-info", action="store_true", help="do not set TRITON_DISABLE_LINE_INFO")
    return parser.parse_args()


def prepare(given, folder):
    """Makes the two names and tells Triton of them; it reads the variables when it is imported."""
    for variable, name in [("TRITON_PTXAS_PATH", "ptxas"), ("TRITON_PTXAS_BLACKWELL_PATH", "ptxas-blackwell")]:
        link = Path(folder) / name
        link.symlink_to(given.oriole.resolve())
        os.environ[variable] = str(link)
    os.environ["TRITON_CACHE_DIR"] = str(Path(folder) / "cache")
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    os.environ["TRITON_DISABLE_LINE_INFO"] = "0" if given.with_line_info else "1"


def main():
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        prepare(given, folder)
        sys.path.insert(0, str(Path(__file__).parent))
        import triton_kernels

        failed = 0
        for arch in given.arch:
            for name, compile_it in triton_kernels.KERNELS.items():
                try:
                    cubin = compile_it(arch)
                    said = "compiled" if b"Oriole" in cubin else "NOT BY ORIOLE"
                except Exception as error:  # What Triton raises is of many kinds, and each is a failure here.
                    said = f"FAILED: {' '.join(str(error).split())[:300]}"
                failed += said != "compiled"
                print(f"sm_{arch} {name}: {said}", flush=True)
        print(f"{failed} of {len(given.arch) * len(triton_kernels.KERNELS)} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
