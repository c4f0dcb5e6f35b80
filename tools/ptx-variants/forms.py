"""Reads the tables of the PTX language, crates/ptx/tables/*.forms, as plain values.

It is here so that variants of every form can be made without the compiler that is to be judged. How a line is written
stands in docs/how-to/add-a-ptx-instruction.md.
"""

import dataclasses
import pathlib

TYPES = set(
    "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f32 f64 bf16 tf32 e4m3 e5m2 f16x2 bf16x2 f32x2 u16x2 "
    "s16x2 u8x4 s8x4 e4m3x2 e5m2x2 b1 u2 s2 u4 s4 e2m1 e2m3 e3m2 e2m1x2 e2m3x2 e3m2x2 ue8m0 ue8m0x2 ue4m3 e4m3x4 "
    "e5m2x4 e2m1x4 e2m3x4 e3m2x4 b1024 texref samplerref surfref".split()
)
SPACES = set("const global local param param::entry param::func shared shared::cta shared::cluster".split())
VECTORS = {"v2", "v4", "v8"}


@dataclasses.dataclass
class Slot:
    """A position behind the opcode: head, must, may or sequence, and its words."""

    kind: str
    words: list


@dataclasses.dataclass
class Operand:
    """An operand as the table writes it; `presence` is None, '' or a word."""

    name: str
    kind: str
    type: str
    parts: list
    presence: object


@dataclasses.dataclass
class Row:
    """One form."""

    family: str
    opcode: str
    slots: list
    operands: list
    since: str
    text: str
    supported: bool


def split(text):
    """Parts between commas that no bracket holds."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        if c in "[{(":
            depth += 1
        elif c in "]})":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def words_of(text, names):
    inner = text[1:]
    if inner.startswith("{"):
        inner = inner[1:-1]
    found = []
    for part in inner.split(","):
        found += names[part[1:]] if part.startswith("$") else [part]
    return found


def operand(text, counts):
    text, mark, presence = text.partition("?")
    presence = presence if mark else None
    if text.startswith("["):
        parts = split(text[1:-1])
        if len(parts) == 1 and ":" not in parts[0]:
            return Operand(parts[0], "[]", "int", [], presence)
        parts = [operand(part, counts) for part in parts]
        return Operand(parts[0].name, "parts", "none", parts, presence)
    fields = text.split(":", 2)
    name = fields[0]
    usual = "dst" if name == "d" else "src"
    if len(fields) == 1:
        kind, ty = usual, "0"
    elif len(fields) == 2:
        kind, ty = {"pred": ("pred", "pred"), "any": ("any", "none")}.get(fields[1], (usual, fields[1]))
    else:
        kind, ty = fields[1], fields[2]
    if "{by " in kind:
        head, table = kind[:-1].split("{by ")
        kind = (head, counts[table])
    return Operand(name, kind, ty, [], presence)


def row(family, line, names, counts):
    head, operands, since, _doc = (part.strip() for part in line.split(" | "))
    supported = not head.startswith("~")
    head = head.lstrip("~").split()
    opcode, _, rest = head[0].partition(".")
    slots = []
    while rest:
        end = rest.index("}") + 1 if rest.startswith("{") else (rest + ".").index(".")
        slots.append(Slot("head", words_of("." + rest[:end], names)))
        rest = rest[end:].lstrip(".")
    for word in head[1:]:
        if word.startswith("["):
            slots.append(Slot("may", words_of(word[1:-1], names)))
        elif word.startswith("<"):
            slots.append(Slot("sequence", word[2:-1].split(".")))
        else:
            slots.append(Slot("must", words_of(word, names)))
    return Row(family, opcode, slots, [operand(part, counts) for part in split(operands)], since, line, supported)


def read(folder):
    """Every row of every table, in order."""
    rows = []
    for path in sorted(pathlib.Path(folder).glob("*.forms")):
        names, counts = {}, {}
        for line in path.read_text().splitlines():
            line = line.strip()
            key, _, rest = line.partition(" ")
            if key in ("", "#", "title", "intro", "needs"):
                continue
            if key == "words":
                name, *words = rest.split()
                names[name] = words
            elif key == "counts":
                name, *words = rest.split()
                counts[name] = {word.split("=")[0]: int(word.split("=")[1]) for word in words}
            else:
                rows.append(row(path.stem, line, names, counts))
    return rows
