"""What the scripts of clients share: a toolkit with Oriole in ptxas's place, cubins and who made them, and texts that are
compared with recorded ones in `test-data/clients`. What one client alone does stays in its own script."""

import argparse
import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

RECORDS = Path(__file__).resolve().parents[2] / "test-data/clients"


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oriole", type=lambda name: Path(name).resolve())
    parser.add_argument("--cuda", type=lambda name: Path(name).resolve(), required=True, help="NVIDIA's toolkit")
    parser.add_argument("--update", action="store_true", help="write the record anew")
    return parser.parse_args()


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(0)


def needed(program):
    return shutil.which(program) or skip(f"{program} is missing")


def shadow(given, folder):
    """A toolkit in which Oriole is ptxas; its folder."""
    place = Path(folder) / "shadow"
    run([given.oriole, "init-shadow", place, "--cuda", given.cuda], folder)
    return place


def run(command, folder, **environment):
    """Runs a command that has to end well; what it says."""
    ended = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True,
                           env=os.environ | {name: str(value) for name, value in environment.items()})
    if ended.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout + ended.stderr


def maker(cubin):
    """Who made this cubin, by the notes in it."""
    return "by Oriole" if b"Oriole" in cubin else "NOT BY ORIOLE"


def cubins(given, file, folder):
    """The cubins of a file with a fat binary, by NVIDIA's reader: name and bytes."""
    place = Path(folder) / "extracted"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    run([given.cuda / "bin/cuobjdump", "-xelf", "all", Path(file).resolve()], place)
    return [(path.name, path.read_bytes()) for path in sorted(place.iterdir())]


def compare(name, text, update):
    """Compares a text with the record of this name and ends the script."""
    path = RECORDS / f"{name}.txt"
    if update:
        path.write_text(text)
    record = path.read_text() if path.exists() else ""
    print(text, end="")
    difference = list(difflib.unified_diff(record.splitlines(True), text.splitlines(True), str(path), "now"))
    if difference:
        sys.exit("not as recorded:\n" + "".join(difference))
