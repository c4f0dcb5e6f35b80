#!/usr/bin/env python3
"""Which forms of the tables occur in kernels whose results are known from elsewhere, and which do not.

usage: records.py [--chip sm_90a] [--words] [--of OPCODE] [FILE or FOLDER ...]

Launch records (one in a `.json`, one a line in a `.jsonl` or `.jsonl.zst`) count with the kernel that they launch and the functions
of its module that it names, vectors with their bodies. Without arguments these are the folders of `test-data` whose expected bytes
come from outside of the project's machines. Lists the forms of the chip without a record, then how many there are. `--words`
also lists, for each form with records, the words and optional operands that none of them has; `--of` lists, for each form of an
opcode, the records that have it.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess

import forms

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "crates/ptx/tables"
FOLDERS = [ROOT / "test-data" / name for name in ("conformance", "kernels", "blackwell", "newest", "tensor-memory")]
REPEATABLE = {"sync", "approx", "sat", "satfinite", "relu", "cc", "uni"}
FUNCTION = re.compile(r"(?:\.entry|\.func)\s*(?:\([^)]*\)\s*)?([\w$%]+)[^;{]*\{")


def has(chips, chip):
    """Whether `chips`, as the tables write them, have the chip."""
    number, features = int(re.sub(r"\D", "", chip)), chip.lstrip("sm_").lstrip("0123456789")
    for one in chips.split("+"):
        known = int(re.sub(r"\D", "", one))
        if one.startswith("<"):
            fits = number < known
        elif one.endswith("a"):
            fits = number == known and features == "a"
        elif one.endswith("f"):
            fits = number // 10 == known // 10 and number >= known and features in ("a", "f")
        else:
            fits = number >= known
        if fits:
            return True
    return False


def needs(path):
    """The lines of a table that say what single words ask for."""
    lines = (line.split() for line in path.read_text().splitlines() if line.startswith("needs "))
    return {line[1]: line[2:] for line in lines}


class Gates:
    """What the words of each row ask for beyond the row."""

    def __init__(self, folder):
        self.named = {path.stem: needs(path) for path in pathlib.Path(folder).glob("*.forms")}

    def lacking(self, row, chip):
        """The words of the row that the chip does not have."""
        found = set()
        for part in row.since.split()[1:]:
            for need in self.named[row.family][part[1:]] if part.startswith("@") else [part]:
                word, _, gate = need.partition("=")
                if "/" in gate and "&" not in word and not has(gate.split("/")[1], chip):
                    found.add(word[1:])
        return found


def shape(text):
    """What an operand looks like."""
    if text == "_":
        return ("sink",)
    if text.startswith("{"):
        return ("vector", len(forms.split(text[1:-1])))
    if text.startswith("["):
        return ("address", len(forms.split(text[1:-1])))
    return ("pair",) if "|" in text else ("value",)


# What an operand of a kind may look like; others are a value.
LOOKS = {
    "[]": ("value", "address"), "dst_": ("value", "sink"), "sink": ("value", "sink"), "elected": ("pair",), "pair": ("value", "pair"),
    "both": ("value", "pair"), "pair_": ("value", "pair", "sink"), "texels": ("value", "pair", "vector"),
    "dstv_": ("value", "sink", "vector"), "dstv": ("value", "vector"), "srcv": ("value", "vector"), "addr": ("value", "vector"),
    "movedst": ("value", "vector"), "movesrc": ("value", "vector"),
}


def fits(operand, found):
    """Whether something of this shape may be this operand."""
    kind = operand.kind
    if isinstance(kind, tuple):
        return found[0] in ("value", "vector")
    if kind in ("[32]", "[]", "parts") and found[0] == "address":
        return found[1] == max(len(operand.parts), 1)
    if kind in ("[32]", "parts"):
        return False
    if count := re.fullmatch(r"(?:dst|src)\{(\d+)\}", kind):
        return found in (("value",), ("vector", int(count.group(1))))
    return kind in ("call", "any") or found[0] in LOOKS.get(kind, ("value",))


def place(row, words):
    """For each slot of the row the words in it, or None where they do not fit."""
    filled = [[] for _ in row.slots]
    heads = sum(slot.kind == "head" for slot in row.slots)
    types = spaces = 0
    for at, word in enumerate(words):
        kind = "type" if word in forms.TYPES else "space" if word in forms.SPACES else "word"
        if at >= heads and word in REPEATABLE and any(word in slot for slot in filled):
            continue
        for number, slot in enumerate(row.slots):
            if (number == at) != (slot.kind == "head") and (at < heads or slot.kind == "head"):
                continue
            if kind == "type" and number < types or kind == "space" and number < spaces:
                continue
            done = filled[number]
            if slot.kind == "sequence":
                if len(done) < len(slot.words) and slot.words[len(done)] == word:
                    break
            elif not done and (word in slot.words or word == "shared::cta" and "shared" in slot.words):
                break
            elif kind == "type" and slot.kind == "must" and slot.words[0] in forms.TYPES and not done:
                return None
        else:
            return None
        filled[number].append(word)
        types, spaces = (number + 1 if kind == "type" else types), (number + 1 if kind == "space" else spaces)
    for slot, done in zip(row.slots, filled):
        if slot.kind != "may" and len(done) < (len(slot.words) if slot.kind == "sequence" else 1):
            return None
    return filled


class Use:
    """An instruction that has a form: the words of each slot, and which optional operands are there."""

    def __init__(self, filled, optional):
        self.filled, self.optional = filled, optional


def use(row, words, shapes):
    """How an instruction has this form, or None."""
    filled = place(row, words)
    if filled is None:
        return None
    if any(operand.kind == "call" for operand in row.operands):
        return Use(filled, 0)
    fixed = [operand for operand in row.operands if operand.presence is None or operand.presence and operand.presence in words]
    left = [operand for operand in row.operands if operand.presence == ""]
    extra = len(shapes) - len(fixed)
    if not 0 <= extra <= len(left):
        return None
    there = fixed + left[:extra]
    listed = [operand for operand in row.operands if any(operand is other for other in there)]
    return Use(filled, extra) if all(fits(*pair) for pair in zip(listed, shapes)) else None


def statements(body):
    """The instructions of a body: words and shapes of operands."""
    for text in body.split(";"):
        text = re.sub(r"^(?:[\s{}]|[\w$%]+\s*:(?!:))+", "", text)
        text = re.sub(r"^@!?[\w$%]+\s+", "", text)
        head, _, rest = text.partition(" ") if not re.search(r"\s", text) else re.split(r"(\s)", text, maxsplit=1)
        if re.match(r"[a-z]", head):
            opcode, *words = head.replace("xorsign.abs", "xorsign_abs").split(".")
            words = [word.replace("xorsign_abs", "xorsign.abs").replace("param::entry", "param") for word in words]
            yield opcode, words, [shape(part) for part in forms.split(rest.strip())]


def functions(text):
    """The bodies of a module's functions by name."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    bodies, start = {}, 0
    while match := FUNCTION.search(text, start):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        bodies[match.group(1)] = text[match.end() : end - 1]
        start = end
    return bodies


def reached(bodies, entry):
    """The bodies that a kernel may run: its own, and those of functions that these name."""
    found, open_ = [], [entry]
    while open_:
        name = open_.pop()
        if name not in found:
            found.append(name)
            open_ += [word for word in set(re.findall(r"[\w$%]+", bodies[name])) if word in bodies]
    return [bodies[name] for name in found]


class Count:
    """The uses of each row, by its number."""

    def __init__(self, rows):
        self.rows = rows
        self.by_opcode = collections.defaultdict(list)
        for number, row in enumerate(rows):
            self.by_opcode[row.opcode].append(number)
        self.uses = collections.defaultdict(list)
        self.modules = {}
        self.unknown = set()

    def note(self, name, chip, bodies):
        for body in bodies:
            for opcode, words, shapes in statements(body):
                found = [(number, use(self.rows[number], words, shapes)) for number in self.by_opcode[opcode]]
                found = [pair for pair in found if pair[1]]
                found = [pair for pair in found if has(self.rows[pair[0]].since.split()[0].split("/")[1], chip)] or found
                if found:
                    self.uses[found[0][0]].append((name, found[0][1]))
                else:
                    self.unknown.add(f"{name}: {'.'.join([opcode] + words)} {shapes}")

    def record(self, record, folder):
        if "body" in record:
            self.note(record["name"], "sm_90a", record["body"])
            return
        text = record.get("ptx_text") or (folder / record["ptx"]).read_text()
        if text not in self.modules:
            # Function pointers in variables: all functions of such a module count.
            self.modules[text] = functions(text), re.search(r"\.target\s+(\w+)", text).group(1)
        bodies, chip = self.modules[text]
        if record.get("expect"):
            self.note(record["name"], chip, reached(bodies, record["entry"]))


def lines(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout.splitlines()
    return path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]


def untold(row, uses, lacking):
    """Words of a row, and numbers of optional operands, that no use has."""
    missing = []
    for at, slot in enumerate(row.slots):
        used = {word for one in uses for word in one[1].filled[at]}
        if slot.kind != "sequence":
            missing += ["." + word for word in slot.words if word not in used and word not in lacking]
    left = sum(operand.presence == "" for operand in row.operands)
    counts = {one[1].optional for one in uses}
    return missing + [f"{count} of the optional operands" for count in range(left + 1) if count not in counts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--of")
    parser.add_argument("records", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    count = Count(forms.read(TABLES))
    for given in arguments.records or FOLDERS:
        paths = sorted(path for path in given.iterdir() if path.suffix in (".json", ".jsonl", ".zst")) if given.is_dir() else [given]
        for path in paths:
            for line in lines(path):
                count.record(json.loads(line), path.parent)
    gates = Gates(TABLES)
    rows = [(number, row) for number, row in enumerate(count.rows) if has(row.since.split()[0].split("/")[1], arguments.chip)]
    spelled = lambda row: row.text.split(" | ")[0] + "  " + row.text.split(" | ")[1]
    for number, row in rows:
        uses = count.uses[number]
        if arguments.of:
            if row.opcode == arguments.of:
                print(f"{row.family}: {spelled(row)}: {' '.join(sorted({one[0] for one in uses}))}")
        elif not uses:
            print(f"{row.family}: {spelled(row)}")
        elif arguments.words and (missing := untold(row, uses, gates.lacking(row, arguments.chip))):
            print(f"{row.family}: {spelled(row)}: without {' '.join(missing)}")
    for unknown in sorted(count.unknown):
        print("no form:", unknown)
    there = sum(bool(count.uses[number]) for number, _ in rows)
    print(f"{there} of {len(rows)} forms of {arguments.chip} have a record")


if __name__ == "__main__":
    main()
