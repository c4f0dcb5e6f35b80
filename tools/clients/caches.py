#!/usr/bin/env python3
"""Builds three files with nvcc twice, with Oriole in ptxas's place, behind each cache of compilers that is there.

    caches.py PATH-OF-ORIOLE --cuda TOOLKIT [--update]

The second build has to take everything from the cache and to give the same bytes.
"""

import json
import shutil
import socket
import tempfile
from pathlib import Path

import recorded

SOURCES = {
    "entry.cu": "__device__ int half(int);\n__global__ void entry(int *a) { a[threadIdx.x] = half(a[threadIdx.x]); }\n",
    "half.cu": "__device__ int half(int x) { return x / 2; }\n",
    "main.cu": "__global__ void entry(int *);\nint main() { entry<<<1, 32>>>(nullptr); return 0; }\n",
}


def build(given, cache, folder, objects, environment):
    """Builds into a folder of its own; the bytes of each object file."""
    place = Path(folder) / objects
    place.mkdir()
    nvcc = Path(folder) / "shadow/bin/nvcc"
    for source in SOURCES:
        made = (place / source).with_suffix(".o")
        recorded.run([cache, nvcc, "-arch=sm_90", "-rdc=true", "-O3", "-c", source, "-o", made], folder, **environment)
        for _, cubin in recorded.cubins(given, made, folder):
            if recorded.maker(cubin) != "by Oriole":
                raise SystemExit(f"{source} was not compiled by Oriole")
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def of_ccache(cache, folder, environment):
    """Hits and misses since the last time that they were asked for."""
    told = recorded.run([cache, "--print-stats"], folder, **environment)
    figures = dict(line.split("\t") for line in told.splitlines())
    recorded.run([cache, "--zero-stats"], folder, **environment)
    hits = int(figures["direct_cache_hit"]) + int(figures["preprocessed_cache_hit"])
    return hits, int(figures["cache_miss"])


def of_sccache(cache, folder, environment):
    """The same. It takes nvcc apart, and counts the parts."""
    stats = json.loads(recorded.run([cache, "--show-stats", "--stats-format=json"], folder, **environment))["stats"]
    recorded.run([cache, "--zero-stats"], folder, **environment)
    return [sum(stats[what]["counts"].values()) for what in ("cache_hits", "cache_misses")]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    given = recorded.arguments(__doc__)
    told = []
    for name, figures in [("ccache", of_ccache), ("sccache", of_sccache)]:
        cache = shutil.which(name)
        if cache is None:
            recorded.skip(f"{name} is missing")
        with tempfile.TemporaryDirectory() as folder:
            recorded.shadow(given, folder)
            for source, text in SOURCES.items():
                (Path(folder) / source).write_text(text)
            # A server of one's own: another one would have other settings.
            environment = {f"{name.upper()}_DIR": Path(folder) / "cache", "SCCACHE_SERVER_PORT": free_port()}
            try:
                first = build(given, cache, folder, "first", environment)
                cold = figures(cache, folder, environment)
                second = build(given, cache, folder, "second", environment)
                hits, misses = figures(cache, folder, environment)
            finally:
                if name == "sccache":
                    recorded.run([cache, "--stop-server"], folder, **environment)
        told.append(f"{name}\n  first build: {cold[0]} hits\n")
        told.append(f"  second build: {100 * hits // max(hits + misses, 1)} % hits, ")
        told.append("bytes equal\n" if first == second else "OTHER BYTES\n")
    recorded.compare("caches", "".join(told), given.update)


if __name__ == "__main__":
    main()
