"""Asks a PTX compiler and the checker about many instructions at a time.

Each instruction stands on a line of its own, in a scope of its own, of one kernel: a diagnostic's line says which one is
meant. What the outside compiler finds only after all else is right is found by asking again without the wrong lines.
"""

import collections
import os
import re
import subprocess
import tempfile

DECLARATIONS = (
    ".reg .b8 vb<20>; .reg .b16 h<40>; .reg .b32 r<300>; .reg .b64 d<40>; .reg .pred p<10>; .reg .f32 f<300>; "
    ".reg .f64 e<40>; .reg .u16 uh<20>; .reg .s16 sh<20>; .reg .u32 u<300>; .reg .s32 s<300>; .reg .u64 ul<20>; "
    ".reg .s64 sl<20>; .reg .u8 ub<20>; .reg .s8 sb<20>; .reg .v4 .f32 vf;"
)
NEWER = " .reg .f16 hh<40>; .reg .f16x2 hx<20>;"
WIDE = " .reg .b128 q<20>;"
VARIABLES = (
    ".global .align 16 .b8 gv[256]; .shared .align 16 .b8 sv[1024]; .const .align 16 .b8 cv[256]; "
    ".global .texref tx; .global .surfref su; .visible .func fn(.param .b32 x) { ret; }"
)
SAMPLER = " .global .samplerref sm;"


def module(lines, version, target, options=""):
    """A module that holds the lines, and the number of its first one."""
    major, minor = (int(part) for part in version.split("."))
    number = int(re.sub(r"\D", "", target))
    declarations = DECLARATIONS
    if (major, minor) >= (4, 2) and number >= 53:
        declarations += NEWER
    if (major, minor) >= (8, 3) and number >= 70:
        declarations += WIDE
    variables = VARIABLES + (SAMPLER if "independent" in options else "")
    head = f".version {version}\n.target {target}{options}\n.address_size 64\n{variables}\n"
    head += ".visible .entry k(.param .b64 kp)\n{\n" + declarations + "\n"
    # The outside compiler names the line of the token behind a statement in some cases: keep them apart.
    body = "".join("{ " + line + " }\n" for line in lines)
    return head + body + "LBL:\nret;\n}\n", head.count("\n") + 1


BROKE = "no verdict"


def chip(target):
    """The chip to ask for: the target's own, or the oldest that the outside compiler knows."""
    return "sm_75" if int(re.sub(r"\D", "", target)) < 75 else target


class Outside:
    """An outside PTX compiler: the path of the program."""

    def __init__(self, program, chip=None):
        self.program = program
        self.chip = chip

    def judge(self, lines, version="9.0", target="sm_90a", options=""):
        """For each line its diagnostics; an empty list where it is accepted."""
        found = [None] * len(lines)
        alive = list(range(len(lines)))
        while alive:
            text, first = module([lines[at] for at in alive], version, target, options)
            code, messages = self.run(text, self.chip or chip(target))
            by_line = collections.defaultdict(list)
            other = []
            for message in messages:
                match = re.match(r"ptxas \S+, line (\d+); (?:error|fatal)\s*: (.*)", message)
                at = int(match.group(1)) - first if match else -1
                if match and 0 <= at < len(alive):
                    by_line[at].append(match.group(2))
                elif re.search(r"error|fatal", message) and "aborted due to errors" not in message:
                    other.append(message)
            if code == 0:
                for at in alive:
                    found[at] = []
                break
            if not by_line:
                if len(alive) == 1:
                    # No message at all: the compiler broke down, and says nothing of the instruction.
                    found[alive[0]] = ["elsewhere: " + " | ".join(other)[:300]] if other else [BROKE]
                    break
                half = len(alive) // 2
                for part in (alive[:half], alive[half:]):
                    for at, answer in zip(part, self.judge([lines[at] for at in part], version, target, options)):
                        found[at] = answer
                break
            for at, answer in by_line.items():
                found[alive[at]] = answer
            alive = [number for at, number in enumerate(alive) if at not in by_line]
        return found

    def run(self, text, chip):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.ptx")
            with open(path, "w") as out:
                out.write(text)
            command = [self.program, "-arch", chip, "-O0", path, "-o", os.path.join(folder, "out")]
            run = subprocess.run(command, capture_output=True, text=True, errors="replace")
            return run.returncode, (run.stdout + run.stderr).splitlines()


class Checker:
    """Our checker: a program that prints `file:line: severity [code] message` for each diagnostic."""

    def __init__(self, program):
        self.program = program

    def judge(self, lines, version="9.0", target="sm_90a", options=""):
        """As for the outside compiler."""
        if not lines:
            return []
        text, first = module(lines, version, target, options)
        found = [[] for _ in lines]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.ptx")
            with open(path, "w") as out:
                out.write(text)
            run = subprocess.run([self.program, path], capture_output=True, text=True)
        for message in run.stdout.splitlines():
            match = re.match(r".*?:(\d+): (\w+) (.*)", message)
            if not match or match.group(2) != "error":
                continue
            at = int(match.group(1)) - first
            if 0 <= at < len(lines):
                found[at].append(match.group(3))
            else:
                raise RuntimeError("a diagnostic outside of the variants: " + message)
        return found
