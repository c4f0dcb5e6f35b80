"""Makes variants of every form: right ones, and ones with one thing wrong.

It is here so that the checker is measured against an outside compiler where programs seldom go. Everything is made in
a fixed order; nothing is drawn at random.
"""

import itertools
import re

import forms

# For each type a register of the very type, or of the bits that hold it.
REGISTER = {
    "pred": "p", "b8": "vb", "b16": "h", "b32": "r", "b64": "d", "b128": "q", "u8": "ub", "u16": "uh", "u32": "u",
    "u64": "ul", "s8": "sb", "s16": "sh", "s32": "s", "s64": "sl", "f16": "hh", "f32": "f", "f64": "e", "bf16": "h",
    "f16x2": "hx", "bf16x2": "r", "f32x2": "d", "tf32": "r", "u16x2": "r", "s16x2": "r", "u8x4": "r", "s8x4": "r",
    "e4m3x2": "h", "e5m2x2": "h", "e2m1x2": "vb", "e2m3x2": "h", "e3m2x2": "h", "ue8m0x2": "h", "e4m3": "vb",
    "e5m2": "vb", "e4m3x4": "r", "e5m2x4": "r", "e2m1x4": "h", "e2m3x4": "r", "e3m2x4": "r", "ue8m0": "vb",
    "ue4m3": "vb", "u4": "r", "s4": "r", "u2": "r", "s2": "r", "b1": "r", "e2m1": "vb", "e2m3": "vb", "e3m2": "vb",
    "b1024": "d",
}
CLASSES = ["p", "vb", "h", "r", "d", "q", "f", "e", "uh", "sh", "u", "s", "ul", "sl", "hh", "hx", "ub", "sb"]
DOUBLE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "u8": "u16", "s8": "s16"}


class Instruction:
    """One spelling of a row: words and operands apart, so that either can be changed."""

    def __init__(self, row, words, optional):
        self.row = row
        self.words = words
        self.types = [word for word in words if word in forms.TYPES]
        self.vector = next((int(word[1:]) for word in words if word in forms.VECTORS), 1)
        self.rows = []
        for operand in row.operands:
            there = operand.presence is None or (operand.presence == "" and optional)
            there = there or (operand.presence and operand.presence in words)
            if there:
                self.rows.append(operand)
        self.next = {}
        self.operands = [self.render(operand) for operand in self.rows]

    def space(self):
        return next((word for word in self.words if word in forms.SPACES), None)

    def register(self, prefix):
        number = self.next.get(prefix, 0)
        self.next[prefix] = number + 1
        return f"{prefix}{number}"

    def type(self, operand):
        ty = operand.type.lstrip("=")
        if ty in ("word", "wword"):
            return "b32"
        if ty == "lf":
            return "f32"
        if ty in ("int", "none"):
            return "b64"
        if ty.startswith("2x"):
            return DOUBLE.get(self.at(int(ty[2:])), "b64")
        if re.fullmatch(r"[wlb]?\d", ty):
            return self.at(int(ty[-1]))
        return ty

    def at(self, index):
        return self.types[index] if index < len(self.types) else "b32"

    def count(self, kind):
        head, _, rest = kind.partition("{")
        return head, int(rest[:-1])

    def render(self, operand):
        kind = operand.kind
        prefix = REGISTER[self.type(operand)]
        one = lambda: self.register(prefix)
        many = lambda count: "{" + ", ".join(self.register(prefix) for _ in range(count)) + "}"
        if isinstance(kind, tuple):
            head, table = kind
            count = next((table[word] for word in self.words if word in table), 1)
            if head == "layer":
                return "{" + ", ".join([self.register("r")] + [one() for _ in range(count - 1)]) + "}"
            return many(count)
        if "{" in kind:
            return many(self.count(kind)[1])
        if kind in ("dstv", "srcv", "dstv_", "texels"):
            return many(self.vector) if self.vector > 1 else one()
        if kind == "[]":
            space = self.space()
            return "[kp]" if space == "param" and self.row.opcode == "ld" else f"[{self.register('d')}]"
        if kind == "parts":
            return "[" + ", ".join(self.render(part) for part in operand.parts) + "]"
        if kind == "[32]":
            return f"[{self.register('r')}]"
        if kind in ("both", "elected"):
            return one() + "|" + self.register("p")
        if kind == "pred" or kind == "predreg":
            return self.register("p")
        if kind.startswith("const("):
            return kind[6:-1].split("..")[0]
        if kind.startswith("oneof("):
            return kind[6:-1].split()[0]
        if kind == "const":
            return "1"
        if kind == "sink":
            return "_"
        if kind == "label":
            return "LBL"
        if kind == "texture":
            return "tx"
        if kind in ("sampler", "textureorsampler"):
            return "sm"
        if kind == "surface":
            return "su"
        if kind == "targets":
            return "tl"
        if kind == "call":
            return "fn, (r1)"
        return one()

    def text(self, words=None, operands=None):
        words = self.words if words is None else words
        operands = self.operands if operands is None else operands
        name = ".".join([self.row.opcode] + list(words))
        text = name + (" " + ", ".join(operands) if operands else "") + ";"
        if any(operand.kind == "targets" for operand in self.row.operands):
            text = "tl: .branchtargets LBL; " + text
        return text


def spellings(words):
    """The words of a slot; `.shared` has a second spelling."""
    more = ["shared::cta"] if "shared" in words and "shared::cta" not in words else []
    return words + more


def choices(row, limit=None):
    """Word lists of a row: the plainest, and each alternative of each slot once."""
    slots = []
    for slot in row.slots:
        if slot.kind == "sequence":
            slots.append([slot.words])
        elif slot.kind == "may":
            words = [[word] for word in spellings(slot.words)]
            # A space that may be left out is written in the plainest form: generic addresses came later.
            usual = ["global"] if "global" in slot.words else words[0]
            if slot.words[0] in forms.SPACES:
                slots.append([usual, []] + [word for word in words if word != usual])
            else:
                slots.append([[]] + words)
        else:
            slots.append([[word] for word in spellings(slot.words)])
    plain = [slot[0] for slot in slots]
    lists = [plain]
    for at, slot in enumerate(slots):
        alternatives = slot[1:] if limit is None else slot[1 : limit + 1]
        lists += [plain[:at] + [word] + plain[at + 1 :] for word in alternatives]
    # Words in full: every optional one written.
    full = [slot[-1] for slot in slots]
    if full not in lists:
        lists.append(full)
    return [list(itertools.chain(*words)) for words in lists]


def right(row):
    """Variants that the table calls right."""
    seen = set()
    for words in choices(row):
        for optional in (False, True):
            instruction = Instruction(row, words, optional)
            text = instruction.text()
            if text not in seen:
                seen.add(text)
                yield instruction


EXTRA = ["ftz", "sat", "rn", "rz", "relu", "cc", "sync", "aligned", "volatile", "approx", "wide", "lo", "satfinite", "noftz",
         "global", "shared", "v2", "relaxed", "gpu", "uni", "L2::cache_hint", "weak", "f32", "u32", "trap", "eq", "NaN", "nosuch"]
OTHER_TYPES = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "b128", "f16", "f32",
               "f64", "bf16", "f16x2", "bf16x2", "pred", "tf32", "e4m3x2", "f32x2", "u16x2"]
NUMBERS = ["-1", "0", "1", "2", "3", "4", "7", "8", "15", "16", "31", "32", "33", "128", "255", "256", "65536", "0x100000000", "1.5", "0f3F800000"]


def wrong_words(row):
    """Variants with one word dropped, doubled, added, replaced, or two of them swapped."""
    base = Instruction(row, choices(row, 1)[0], True)
    words = base.words
    for at in range(len(words)):
        yield base.text(words[:at] + words[at + 1 :])
        yield base.text(words[: at + 1] + words[at:])
        if at + 1 < len(words):
            yield base.text(words[:at] + [words[at + 1], words[at]] + words[at + 2 :])
        if words[at] in forms.TYPES:
            for ty in OTHER_TYPES:
                if ty != words[at]:
                    yield base.text(words[:at] + [ty] + words[at + 1 :])
                    other = Instruction(row, words[:at] + [ty] + words[at + 1 :], True)
                    yield other.text()
        if words[at] in forms.SPACES:
            for space in sorted(forms.SPACES):
                if space != words[at]:
                    yield base.text(words[:at] + [space] + words[at + 1 :])
    for word in EXTRA:
        yield base.text(words + [word])
    for word in sorted(forms.SPACES):
        yield base.text(words + [word])


def wrong_operands(row):
    """Variants with one operand dropped, added or replaced."""
    for optional in (False, True):
        base = Instruction(row, choices(row, 1)[0], optional)
        operands = base.operands
        if operands:
            yield base.text(None, operands[:-1])
            yield base.text(None, operands + [operands[-1]])
        yield base.text(None, operands + ["r9"])
        yield base.text(None, operands + ["p9"])
        for at, text in enumerate(operands):
            replace = lambda new: base.text(None, operands[:at] + [new] + operands[at + 1 :])
            yield replace("_")
            yield replace("nosuch")
            yield replace("!p5")
            yield replace("%tid.x")
            yield replace("gv")
            yield replace("LBL")
            yield replace("[d5]")
            yield replace("[gv+4]")
            yield replace("[r5]")
            yield replace("{r5, r6}")
            yield replace("{r5}")
            yield replace("r5|p5")
            yield replace("-r5")
            yield replace("vf")
            for prefix in CLASSES:
                yield replace(prefix + "5")
            for number in NUMBERS:
                yield replace(number)
            if text.startswith("{"):
                inner = text[1:-1].split(", ")
                yield replace("{" + ", ".join(inner[:-1] or ["r0"]) + "}")
                yield replace("{" + ", ".join(inner + [inner[0]]) + "}")
                yield replace("{" + ", ".join(["_"] + inner[1:]) + "}")
                yield replace("{" + ", ".join(["1"] + inner[1:]) + "}")
                for prefix in CLASSES:
                    new = [re.sub(r"^[a-z]+", prefix, name) for name in inner]
                    if all(int(re.sub(r"\D", "", name) or 0) < 10 for name in new):
                        yield replace("{" + ", ".join(new) + "}")
            if text.startswith("["):
                yield replace(text[:-1] + "+4]")
                yield replace(text[:-1] + "+-8]")
                yield replace("[sv]")
                yield replace("[kp]")
                yield replace("[cv]")
                yield replace("[f5]")
                yield replace("[16]")
                yield replace("[nosuch]")


def mode(row):
    """What the `.target` line must say for the row: textures with a sampler of their own need a mode of their own."""
    kinds = {str(part.kind) for operand in row.operands for part in operand.parts}
    return ", texmode_independent" if kinds & {"sampler", "textureorsampler"} else ""


def unique(texts):
    """Each text once, in order."""
    return list(dict.fromkeys(texts))
