#!/usr/bin/env python3
"""Compiles the PTX files of a folder on a cluster of Dask or Ray, a batch of files a task.

    sweep.py FOLDER --out FOLDER [--arch CHIP] [--on dask|ray|here] [--cluster ADDRESS] [--batch N] [--oriole PROGRAM]
             [--cache-url URL]

Files that do not compile are named in the end, with the first line that the compiler said. Folders are those of all workers:
a file system that they share, or this machine alone.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path


def compiled(files, out, options):
    """Compiles files with one process. The lines that say which of them failed, and why."""
    ended = subprocess.run([*options, "-o", f"{out}/", "--message-format", "short", *files], capture_output=True, text=True)
    if ended.returncode not in (0, 1):
        return [f"{files[0]} and {len(files) - 1} more: exit status {ended.returncode}: {ended.stderr.strip()[:200]}"]
    missing = [file for file in files if not Path(out, Path(file).with_suffix(".cubin").name).exists()]
    said = ended.stderr.splitlines()
    return [next((line for line in said if line.startswith((f"{file}:", f"error: {file}:"))), f"{file}: no cubin") for file in missing]


def on_dask(batches, out, options, cluster):
    from distributed import Client, as_completed

    with Client(cluster) if cluster else Client(processes=True, dashboard_address=None) as client:
        futures = [client.submit(compiled, batch, out, options, pure=False) for batch in batches]
        yield from (future.result() for future in as_completed(futures))


def on_ray(batches, out, options, cluster):
    import ray

    ray.init(address=cluster, include_dashboard=False, log_to_driver=False)
    try:
        task = ray.remote(compiled)
        open_tasks = [task.remote(batch, out, options) for batch in batches]
        while open_tasks:
            done, open_tasks = ray.wait(open_tasks)
            yield from ray.get(done)
    finally:
        ray.shutdown()


def here(batches, out, options, _):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as pool:
        yield from pool.map(lambda batch: compiled(batch, out, options), batches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--arch")
    parser.add_argument("--on", choices=["dask", "ray", "here"], default="here")
    parser.add_argument("--cluster", help="address of the scheduler")
    parser.add_argument("--batch", type=int, default=50, help="files of a task")
    parser.add_argument("--oriole", default="oriole")
    parser.add_argument("--cache-url")
    given = parser.parse_args()
    files = [str(path.resolve()) for path in sorted(given.folder.rglob("*.ptx"))]
    if not files:
        parser.error(f"{given.folder}: there is no `.ptx` file below this folder")
    given.out.mkdir(parents=True, exist_ok=True)
    options = [given.oriole, "compile", "--jobs", "1"]
    options += ["--arch", given.arch] if given.arch else []
    options += ["--cache", "write", "--cache-url", given.cache_url] if given.cache_url else []
    batches = [files[at:at + given.batch] for at in range(0, len(files), given.batch)]
    run = {"dask": on_dask, "ray": on_ray, "here": here}[given.on]
    start = time.monotonic()
    failed = [line for lines in run(batches, str(given.out.resolve()), options, given.cluster) for line in lines]
    print(f"{len(files) - len(failed)} of {len(files)} files in {time.monotonic() - start:.1f} s, {len(batches)} tasks")
    for line in failed:
        print(f"  {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
