#!/usr/bin/env python3
"""Compiles a kernel for each right variant of every form with both compilers, and checks the code of both.

    cargo build --release -p oriole-cli
    tools/ptx-variants/code.py --program target/release/oriole --tools FOLDER [--chips sm_90a,sm_120a] [--levels 0,3]

FOLDER has ptxas and nvdisasm. Each kernel loads all registers of its instruction and stores them behind it, so that nothing of it
is left out. Of what ptxas accepts, it counts

  kernels    that ptxas compiles
  refused    modules that `oriole compile` refuses
  unread     modules of ours that nvdisasm does not read
  hazards    places that `oriole lint` finds in our code
  of ptxas   the same in ptxas's code, which is taken to be right: each is a wrong fact

One row a chip; what is behind each number goes to standard error. The status is 1 if there is any.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import forms
import records
import variants

TABLES = pathlib.Path(__file__).resolve().parents[2] / "crates/ptx/tables"
CHIPS = "sm_75,sm_80,sm_89,sm_90a,sm_100a,sm_103a,sm_120a"
BATCH = 150
CHECKS = ("refused", "unread", "hazards", "of ptxas")
# Registers by prefix: the type they have, and that of the memory they are loaded from and stored to.
TYPES = {
    "vb": "b8", "h": "b16", "r": "b32", "d": "b64", "f": "f32", "e": "f64", "uh": "u16", "sh": "s16", "u": "u32", "s": "s32",
    "ul": "u64", "sl": "s64", "ub": "u8", "sb": "s8", "hh": "f16", "hx": "f16x2", "p": "pred", "q": "b128",
}
MEMORY = {"f16": "b16", "f16x2": "b32"}
REGISTER = re.compile(rf"(?<![\w.%$])({'|'.join(sorted(TYPES, key=len, reverse=True))})(\d+)(?!\w)")
GLOBALS = ".global .texref tx; .global .surfref su; .visible .func fn(.param .b32 x) { ret; }"
SAMPLER = " .global .samplerref sm;"


def moved(prefix, register, at):
    """How a register is loaded, and how it is stored."""
    ty = TYPES[prefix]
    if prefix == "p":
        return (
            f"ld.global.u32 tr, [in+{at}]; setp.ne.u32 {register}, tr, 0;",
            f"selp.u32 tr, 1, 0, {register}; st.global.u32 [out+{at}], tr;",
        )
    if prefix == "q":
        return (
            f"ld.global.v2.b64 {{ta, tb}}, [in+{at}]; mov.b128 {register}, {{ta, tb}};",
            f"mov.b128 {{ta, tb}}, {register}; st.global.v2.b64 [out+{at}], {{ta, tb}};",
        )
    memory = MEMORY.get(ty, ty)
    return f"ld.global.{memory} {register}, [in+{at}];", f"st.global.{memory} [out+{at}], {register};"


def kernel(number, instruction):
    """The text of a kernel around an instruction, whose line is its only one that may be wrong."""
    text = instruction.text()
    if "mma_async" in instruction.words:
        text = f"wgmma.fence.sync.aligned; {text} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    found = dict.fromkeys(REGISTER.findall(text))
    declared = " ".join(f".reg .{TYPES[prefix]} {prefix}{at};" for prefix, at in found)
    moves = [moved(prefix, prefix + at, 16 * place) for place, (prefix, at) in enumerate(found)]
    bounds = " .maxntid 128, 1, 1 .minnctapersm 1" if instruction.row.opcode in ("setmaxnreg", "wgmma") else ""
    loads, stores = (" ".join(each) for each in zip(*moves)) if moves else ("", "")
    return (
        f".visible .entry k{number}(.param .b64 ki, .param .b64 ko, .param .b64 kp){bounds} {{ {declared}"
        f" .reg .b64 in, out, ta, tb; .reg .b32 tr; ld.param.b64 in, [ki]; ld.param.b64 out, [ko]; {loads} {text} {stores} LBL: ret; }}\n"
    )


def ran(*command):
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=300)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "more than 300 s")


class Chip:
    """The count of a chip."""

    def __init__(self, name, program, tools, levels, folder):
        self.name, self.program, self.tools, self.levels, self.folder = name, program, tools, levels, folder
        self.count = collections.Counter()

    def tell(self, what, text):
        self.count[what] += 1
        print(f"{self.name}: {what}: {text}", file=sys.stderr)

    def accepted(self, instructions, mode):
        """The instructions that ptxas compiles, with the module of them in the folder."""
        module = self.folder / "k.ptx"
        while instructions:
            variables = GLOBALS + (SAMPLER if "independent" in mode else "")
            head = f".version 9.0\n.target {self.name}{mode}\n.address_size 64\n{variables}\n"
            module.write_text(head + "".join(kernel(at, each) for at, each in enumerate(instructions)))
            done = ran(self.tools / "ptxas", f"-arch={self.name}", "-O3", module, "-o", self.folder / "ptxas.cubin")
            if done.returncode == 0:
                return instructions
            lines = {int(line) - 1 - head.count("\n") for line in re.findall(r"line (\d+); (?:error|fatal)", done.stderr)}
            lines |= {int(at) for at in re.findall(r"(?:error|fatal).*\bk(\d+)\b", done.stderr)}
            lines = {at for at in lines if 0 <= at < len(instructions)}
            if not lines:
                # It does not say which: halves are asked by themselves.
                if len(instructions) == 1:
                    return []
                half = len(instructions) // 2
                self.batch(instructions[:half], mode)
                instructions = instructions[half:]
                continue
            instructions = [each for at, each in enumerate(instructions) if at not in lines]
        return []

    def batch(self, instructions, mode):
        instructions = self.accepted(instructions, mode)
        self.count["kernels"] += len(instructions)
        if not instructions:
            return
        module, ours = self.folder / "k.ptx", self.folder / "oriole.cubin"
        self.lint("of ptxas", self.folder / "ptxas.cubin", instructions)
        for level in self.levels:
            done = ran(self.program, "compile", f"-O{level}", module, "-o", ours)
            if done.returncode != 0:
                self.tell("refused", f"-O{level}: {done.stderr.strip()[:400]}")
                continue
            self.lint("hazards", ours, instructions)
            read = ran(self.tools / "nvdisasm", ours)
            if read.returncode != 0:
                self.tell("unread", f"-O{level}: {read.stderr.strip()[:400]}")

    def lint(self, what, cubin, instructions):
        done = ran(self.program, "lint", cubin)
        places = re.findall(r"^k(\d+)(\+0x.*)", done.stdout, re.MULTILINE)
        for at, place in places:
            self.tell(what, f"{instructions[int(at)].text()} {place}")
        if done.returncode != 0 and not places:
            self.tell(what, (done.stderr + done.stdout).strip()[:400])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--chips", default=CHIPS)
    parser.add_argument("--levels", default="0,3")
    options = parser.parse_args()
    rows = list(forms.read(TABLES))
    print("| chip | kernels | " + " | ".join(CHECKS) + " |\n|---|---|" + "---|" * len(CHECKS))
    bad = 0
    for name in options.chips.split(","):
        by_mode = collections.defaultdict(list)
        for row in rows:
            if records.has(row.since.split()[0].split("/")[1], name):
                by_mode[variants.mode(row)].extend(variants.right(row))
        with tempfile.TemporaryDirectory() as folder:
            chip = Chip(name, options.program, options.tools, options.levels.split(","), pathlib.Path(folder))
            for mode, instructions in by_mode.items():
                for at in range(0, len(instructions), BATCH):
                    chip.batch(instructions[at : at + BATCH], mode)
        print(f"| {name} | {chip.count['kernels']} | " + " | ".join(str(chip.count[what]) for what in CHECKS) + " |", flush=True)
        bad += sum(chip.count[what] for what in CHECKS)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
