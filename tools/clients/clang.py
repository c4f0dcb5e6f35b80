#!/usr/bin/env python3
"""Compiles CUDA with clang and Oriole in ptxas's place, without NVIDIA's headers.

    clang.py PATH-OF-ORIOLE --cuda TOOLKIT [--update]

The record has the words with which clang calls ptxas, and what became of them.
"""

import re
import shlex
import tempfile
from pathlib import Path

import recorded

# The one that the record was made with: others put other words behind other options.
CLANG = "clang-22"
SOURCE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
typedef struct { unsigned x, y, z; } dim3;
extern "C" int __cudaPushCallConfiguration(dim3, dim3, unsigned long, void *);
extern "C" int cudaLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
__device__ float tile_sum(const float *tile) {
    float sum = 0;
    for (int at = 0; at < 32; at++) sum += tile[at];
    return sum;
}
__global__ void sums(float *out, const float *in) {
    __shared__ float tile[32];
    int thread = __nvvm_read_ptx_sreg_tid_x();
    tile[thread] = in[thread];
    __syncthreads();
    if (thread == 0) *out = tile_sum(tile);
}
"""
COMMON = ["--cuda-gpu-arch=sm_90", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version"]
# The last of each line tells what is made.
CALLS = [
    ["-O0", "-c"],
    ["-O3", "-c"],
    ["-O2", "-gline-tables-only", "-c"],
    ["-O2", "-g", "-c"],
    ["-O2", "--cuda-gpu-arch=sm_80", "--cuda-gpu-arch=sm_120a", "-c"],
    ["-O2", "-Xcuda-ptxas", "-v", "-Xcuda-ptxas", "--maxrregcount=32", "-c"],
    ["-O2", "-fgpu-rdc", "--cuda-device-only", "-c"],
]


def words(line):
    """A call of ptxas without the names of files that are there for a moment."""
    called = [re.sub(r"^/.*\.(o|s|cubin)$", r"FILE.\1", word) for word in shlex.split(line)]
    return " ".join(["ptxas"] + called[1:])


def main():
    given = recorded.arguments(__doc__)
    clang = recorded.needed(CLANG)
    told = []
    with tempfile.TemporaryDirectory() as folder:
        toolkit = recorded.shadow(given, folder)
        (Path(folder) / "sums.cu").write_text(SOURCE)
        for options in CALLS:
            command = [clang, f"--cuda-path={toolkit}", *COMMON, *options, "sums.cu", "-o", "sums.o"]
            told.append(f"{CLANG} {' '.join(options)}\n")
            plan = recorded.run(command + ["-###"], folder).splitlines()
            told += [f"  {words(line)}\n" for line in plan if re.match(r'^ "[^"]*/ptxas" ', line)]
            recorded.run(command, folder)
            if "--cuda-device-only" in options:
                found = [("sums.o", (Path(folder) / "sums.o").read_bytes())]
            else:
                found = recorded.cubins(given, Path(folder) / "sums.o", folder)
            told += [f"  {name} {recorded.maker(cubin)}\n" for name, cubin in found]
    recorded.compare("clang", "".join(told), given.update)


if __name__ == "__main__":
    main()
