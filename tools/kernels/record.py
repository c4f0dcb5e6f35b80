"""Launch records of the kernels in test-data/kernels: how one is described and written.

Each case says what a kernel gets and what it must leave behind; the expected bytes come from Python alone."""
import json
import os
import struct

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'test-data', 'kernels')
CODES = {'u8': 'B', 's8': 'b', 'u16': 'H', 's16': 'h', 'u32': 'I', 's32': 'i', 'u64': 'Q', 's64': 'q', 'f16': 'e', 'f32': 'f', 'f64': 'd'}
BITS = {'u8': 8, 's8': 8, 'u16': 16, 's16': 16, 'u32': 32, 's32': 32, 'u64': 64, 's64': 64}


def wrap(kind, value):
    """The integer cut to its type."""
    bits = BITS[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == 's' and value >> (bits - 1) else value


def pack(kind, values):
    """Little-endian bytes of the values."""
    values = list(values)
    if kind in BITS:
        values = [wrap(kind, v) for v in values]
    return struct.pack(f'<{len(values)}{CODES[kind]}', *values)


def f32(value):
    """The value rounded to single precision."""
    try:
        return struct.unpack('<f', struct.pack('<f', value))[0]
    except OverflowError:
        return float('inf') if value > 0 else float('-inf')


class Random:
    """Numbers that are the same everywhere."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % (1 << 64) | 1

    def bits(self, count=32):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        value = self.state >> 33
        if count > 31:
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            value = value << 31 | self.state >> 33
        if count > 62:
            value = value << 2 | self.state >> 31 & 3
        return value % (1 << count)

    def below(self, limit):
        return self.bits(62) % limit

    def between(self, low, high):
        """An integer from low to high, both included."""
        return low + self.below(high - low + 1)

    def real(self, low=0.0, high=1.0):
        return low + (high - low) * self.bits(53) / (1 << 53)

    def single(self, low=0.0, high=1.0):
        return f32(self.real(low, high))


class Given:
    """A buffer that the kernel reads, or writes without its being looked at."""

    def __init__(self, kind, values):
        self.before = pack(kind, values)
        self.after = None
        self.compare = None


class Result:
    """A buffer that the kernel writes: what it must hold, and what it holds before (nothing in particular).

    `within` gives tolerances (ulp, abs or rel) where bits may differ."""

    def __init__(self, kind, after, before=None, **within):
        self.after = pack(kind, after)
        self.before = None if before is None else pack(kind, before)
        self.compare = dict(type=kind, **within) if within else None


class Image:
    """A texture, or a surface: `values` are its components. A surface may be expected to hold others afterwards."""

    def __init__(self, what, kind, size, values, channels=1, after=None, sampler=None, **more):
        self.what, self.kind, self.size, self.values, self.channels = what, kind, size, list(values), channels
        self.sampler, self.more = sampler or {}, more
        self.after = None if after is None else pack(kind, after)
        self.compare = None

    def described(self):
        image = {'size': self.size, **self.more, 'element': self.kind, 'channels': self.channels}
        if self.sampler:
            image['sampler'] = self.sampler
        return {self.what: {**image, 'bytes_hex': pack(self.kind, self.values).hex()}}


class Sampler:
    """A sampler apart from textures."""

    after = None

    def __init__(self, **sampler):
        self.sampler = sampler

    def described(self):
        return {'sampler': self.sampler}


class Scalar:
    """A scalar argument."""

    def __init__(self, kind, value):
        self.kind, self.value = kind, value


class Alias:
    """The address of a buffer that is an earlier argument, once more."""

    after = None

    def __init__(self, number):
        self.number = number

    def described(self):
        return {'alias': self.number}


class TensorMap:
    """A tensor map of the buffer that is argument number `alias`, with the fields of launch records."""

    def __init__(self, alias, **fields):
        self.fields = dict(alias=alias, **fields)


CASES = []


def case(entry, source, grid, block, arguments, shared=0, cluster=None, bind=None, folder=ROOT):
    """Notes a case: kernel, source without ending, shape, arguments, what the variables of the module are, and the folder."""
    triple = lambda shape: list(shape) + [1] * (3 - len(shape))
    record = {'name': entry, 'ptx': source + '.ptx', 'entry': entry, 'grid': triple(grid), 'block': triple(block), 'shared_bytes': shared, 'args': [], 'expect': {}}
    if cluster:
        record['cluster'] = triple(cluster)
    if bind:
        record['bind'] = {name: argument.described() for name, argument in bind.items()}
    compare = {}
    for index, argument in enumerate(arguments):
        if isinstance(argument, Scalar):
            record['args'].append({'scalar': {'type': argument.kind, 'value': argument.value}})
        elif isinstance(argument, TensorMap):
            record['args'].append({'tensor_map': argument.fields})
        else:
            if isinstance(argument, (Alias, Image, Sampler)):
                record['args'].append(argument.described())
            elif argument.before is None:
                record['args'].append({'buffer': {'len': len(argument.after), 'fill': 0xaa}})
            else:
                record['args'].append({'buffer': {'bytes_hex': argument.before.hex()}})
            if argument.after is not None:
                record['expect'][str(index)] = {'bytes_hex': argument.after.hex()}
                if argument.compare:
                    compare[str(index)] = argument.compare
    if compare:
        record['compare'] = compare
    CASES.append((folder, record))


def write():
    """Writes one file for each case."""
    for folder, record in CASES:
        with open(os.path.join(folder, record['name'] + '.json'), 'w') as out:
            json.dump(record, out, indent=1)
            out.write('\n')
