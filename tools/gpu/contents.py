"""What a launch record says of bytes, as docs/launch-records.md has it: the bytes of buffers and scalars, and how results
are compared. Nothing here knows a driver."""
import functools
import json
import math
import struct

SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "s8": 1, "s16": 2, "s32": 4, "s64": 8, "b8": 1, "b16": 2, "b32": 4,
         "b64": 8, "b128": 16, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


def rounded(kind, value):
    """The bytes of the nearest number; a finite one that would become infinite is an OverflowError."""
    if kind != "bf16":
        return struct.pack(FLOATS[kind], value)
    if math.isnan(value) or math.isinf(value):
        return struct.pack("<f", value)[2:]
    # To odd as a single, so that the second rounding is the only one.
    bits, = struct.unpack("<I", struct.pack("<f", value))
    near, = struct.unpack("<f", struct.pack("<I", bits))
    if near != value:
        bits = bits - (abs(near) > abs(value)) | 1
    bits = bits + 0x7FFF + (bits >> 16 & 1) >> 16
    if bits & 0x7FFF == 0x7F80:
        raise OverflowError(f"{value} is no bf16")
    return bits.to_bytes(2, "little")


def encode(kind, value):
    """The bytes of a value as a record writes it."""
    kind = kind.lstrip(".")
    size = SIZES[kind]
    if isinstance(value, str) and value.startswith("0x"):
        return int(value, 16).to_bytes(size, "little")
    if kind[0] == "f" or kind == "bf16":
        return rounded(kind, float(value))
    number, bits = int(value), 8 * size
    least, end = {"u": (0, 1 << bits), "s": (-1 << bits - 1, 1 << bits - 1)}.get(kind[0], (-1 << bits - 1, 1 << bits))
    if not least <= number < end:
        raise OverflowError(f"{value} is no {kind}")
    return (number & (1 << bits) - 1).to_bytes(size, "little")


def generator(seed):
    """SplitMix64."""
    mask = (1 << 64) - 1
    while True:
        seed = seed + 0x9E3779B97F4A7C15 & mask
        mixed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & mask
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & mask
        yield mixed ^ mixed >> 31


def values(fields):
    """The values of elements, one after the other."""
    kind = fields["type"].lstrip(".")
    if "values" in fields:
        return fields["values"]
    if "fill" in fields:
        return [fields["fill"]["value"]] * fields["fill"]["count"]
    floating = kind[0] == "f" or kind == "bf16"
    number = float if floating else int
    if "iota" in fields:
        rule = fields["iota"]
        start, step = number(rule.get("start", 0)), number(rule.get("step", 1))
        return [start + step * index for index in range(rule["count"])]
    rule = fields["random"]
    low, high, source = number(rule["low"]), number(rule["high"]), generator(rule["seed"])
    if floating:
        return [low + (high - low) * ((next(source) >> 11) * 2.0**-53) for _ in range(rule["count"])]
    return [low + (next(source) * (high - low + 1) >> 64) for _ in range(rule["count"])]


# Many launches have the same numbers, and Python takes its time to make them.
@functools.lru_cache(64)
def elements(text):
    """The bytes of elements of a type, from the fields as JSON."""
    fields = json.loads(text)
    return b"".join(encode(fields["type"], value) for value in values(fields))


def contents(fields):
    """The bytes of a buffer, before a launch or after it."""
    if "bytes_hex" in fields:
        return bytes.fromhex(fields["bytes_hex"])
    if "type" in fields:
        return elements(json.dumps(fields, sort_keys=True))
    return bytes([fields.get("fill", 0)]) * fields["len"]


def number(kind, raw):
    if kind == "bf16":
        return struct.unpack("<f", b"\0\0" + raw)[0]
    return struct.unpack(FLOATS[kind], raw)[0]


def steps(a, b):
    def order(raw):
        bits, sign = int.from_bytes(raw, "little"), 1 << (8 * len(raw) - 1)
        return -(bits & (sign - 1)) if bits & sign else bits
    return abs(order(a) - order(b))


def close(kind, rule, a, b):
    x, y = number(kind, a), number(kind, b)
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    distance = abs(x - y) if math.isfinite(x) and math.isfinite(y) else math.inf
    return (steps(a, b) <= rule.get("ulp", -1) or distance <= rule.get("abs", -1)
            or (math.isfinite(distance) and distance <= rule.get("rel", -1) * abs(x)))


def difference(launch, results):
    """The first difference between what a launch expects and the bytes of its arguments, as text; None if there is none."""
    for key, expected in launch.get("expect", {}).items():
        want, got = contents(expected), results[int(key)]
        if len(want) != len(got):
            return f"argument {key}: {len(want)} bytes expected, {len(got)} found"
        rule = launch.get("compare", {}).get(key)
        if rule is None and "type" in expected:
            rule = {"type": expected["type"], **expected.get("tolerance", {})}
        if rule is None:
            if want != got:
                at = next(i for i in range(len(want)) if want[i] != got[i])
                return f"argument {key} byte {at}"
            continue
        kind = rule["type"].lstrip(".")
        size, floating = SIZES[kind], kind in FLOATS or kind == "bf16"
        for i in range(0, len(want), size):
            a, b = want[i:i + size], got[i:i + size]
            if a != b and not (floating and close(kind, rule, a, b)):
                x, y = (number(kind, raw) if floating else "0x" + raw[::-1].hex() for raw in (a, b))
                return f"argument {key} element {i // size}: {x} expected, {y} found"
    return None
