"""Cases of hashes, random numbers, wide integers and bits."""
import base64
import hashlib
import math
import random
import struct
import zlib

from record import Given, Random, Result, Scalar, case, pack, wrap

r = Random(2)
M32, M64 = (1 << 32) - 1, (1 << 64) - 1

# hashes
messages = [bytes(r.bits(8) for _ in range(r.below(56))) for _ in range(8)]
padded = [m + b'\x80' + bytes(55 - len(m)) + struct.pack('>Q', 8 * len(m)) for m in messages]
digests = [word for m in messages for word in struct.unpack('>8I', hashlib.sha256(m).digest())]
case('hash_sha256', 'hash', [1], [8], [Given('u8', b''.join(padded)), Result('u32', digests)])


def rotate(x, n, bits=32):
    return (x << n | x >> (bits - n)) & ((1 << bits) - 1)


def murmur3(data, seed):
    h = seed
    mix = lambda k: rotate(k * 0xcc9e2d51 & M32, 15) * 0x1b873593 & M32
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        h = (rotate(h ^ mix(int.from_bytes(data[i:i + 4], 'little')), 13) * 5 + 0xe6546b64) & M32
    if len(data) % 4:
        h ^= mix(int.from_bytes(data[whole:], 'little'))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85ebca6b & M32
    h = (h ^ h >> 13) * 0xc2b2ae35 & M32
    return h ^ h >> 16


data = bytes(r.bits(8) for _ in range(24 * 32))
lengths = [r.below(25) for _ in range(32)]
case('hash_murmur3', 'hash', [1], [32], [Given('u8', data), Given('s32', lengths), Result('u32', [murmur3(data[24 * t:24 * t + lengths[t]], t) for t in range(32)])])


def fnv1a(data):
    h = 14695981039346656037
    for byte in data:
        h = (h ^ byte) * 1099511628211 & M64
    return h


data = bytes(r.bits(8) for _ in range(20 * 32))
rows = [data[20 * t:20 * t + 20] for t in range(32)]
case('hash_fnv1a_u64', 'hash', [1], [32], [Given('u8', data), Result('u64', map(fnv1a, rows)), Scalar('s32', 20)])
case('hash_crc32', 'hash', [1], [32], [Given('u8', data), Result('u32', map(zlib.crc32, rows)), Scalar('s32', 20)])


def siphash(key, words):
    v = [key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573]

    def mix():
        for a, b, turn, swap in ((0, 1, 13, True), (2, 3, 16, False), (0, 3, 21, False), (2, 1, 17, True)):
            v[a] = (v[a] + v[b]) & M64
            v[b] = rotate(v[b], turn, 64) ^ v[a]
            if swap:
                v[a] = rotate(v[a], 32, 64)

    for word in words + [len(words) * 8 << 56 & M64]:
        v[3] ^= word
        mix()
        mix()
        v[0] ^= word
    v[2] ^= 255
    for _ in range(4):
        mix()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


key = [r.bits(64) for _ in range(2)]
words = [[r.bits(64) for _ in range(3)] for _ in range(16)]
case('hash_siphash', 'hash', [1], [16], [Given('u64', key), Given('u64', sum(words, [])), Result('u64', [siphash(key, row) for row in words]), Scalar('s32', 3)])

# random numbers; Python's own generator is the same Mersenne twister
twister = random.Random(42)
state = list(twister.getstate()[1][:624])
numbers = [twister.getrandbits(32) for _ in range(40)]
after = list(twister.getstate()[1][:624])
case('random_mt19937', 'random', [1], [1], [Result('u32', after, state), Result('u32', numbers), Scalar('s32', 40)])


def philox(counter, seed):
    c, k = [counter, 0, 0, 0], [seed, ~seed & M32]
    for _ in range(10):
        p, q = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & M32, p >> 32 ^ c[3] ^ k[1], p & M32]
        k = [(k[0] + 0x9e3779b9) & M32, (k[1] + 0xbb67ae85) & M32]
    return c


case('random_philox', 'random', [2], [32], [Result('u32', [w for t in range(50) for w in philox(t, 12345)]), Scalar('u32', 12345), Scalar('s32', 50)])
states = [r.bits(64) for _ in range(32)]
before, columns = list(states), []
for _ in range(8):
    for s in states:
        x, turn = (s >> 18 ^ s) >> 27 & M32, s >> 59
        columns.append(x >> turn | x << (-turn & 31))
    states = [(s * 6364136223846793005 + 1442695040888963407) & M64 for s in states]
case('random_pcg32', 'random', [1], [32], [Result('u64', states, before), Result('u32', columns), Scalar('s32', 8)])


def inside(thread, count):
    s, hits = (88172645463325252 + 7919 * thread) & M64, 0
    for _ in range(count):
        point = []
        for _ in range(2):
            s ^= s >> 12
            s = (s ^ s << 25) & M64
            s ^= s >> 27
            point.append((s * 2685821657736338717 & M64) >> 11)
        hits += point[0] ** 2 + point[1] ** 2 <= 1 << 106
    return hits


case('random_circle', 'random', [2], [64], [Result('u64', [sum(inside(t, 20) for t in range(128))], [0]), Scalar('s32', 20)])


# wide integers
def quotient(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


a = [wrap('s64', r.bits(64)) >> r.below(60) for _ in range(32)]
b = [(wrap('s64', r.bits(64)) >> r.below(60)) or 7 for _ in range(32)]
case('wide_divide_i64', 'wide', [1], [32], [Given('s64', a), Given('s64', b), Result('s64', map(quotient, a, b)), Result('s64', [x - y * quotient(x, y) for x, y in zip(a, b)])])
a = [r.bits(64) >> r.below(60) for _ in range(32)]
b = [(r.bits(64) >> r.below(60)) or 7 for _ in range(32)]
case('wide_divide_u64', 'wide', [1], [32], [Given('u64', a), Given('u64', b), Result('u64', [v for x, y in zip(a, b) for v in (x // y, x % y + x // 1000003)])])
m = (1 << 63) + 1234567891
case('wide_mulmod_u64', 'wide', [1], [32], [Given('u64', a), Given('u64', b), Result('u64', [x * y % m for x, y in zip(a, b)]), Scalar('u64', m)])
mix = lambda p: (p * 3 + (p >> 7) - (p << 5)) % (1 << 128)
case('wide_product_u128', 'wide', [1], [32], [Given('u64', a), Given('u64', b), Result('u64', [v for x, y in zip(a, b) for v in (mix(x * y) & M64, mix(x * y) >> 64)])])
case('wide_gcd_isqrt', 'wide', [1], [32], [Given('u64', a), Given('u64', b), Result('u64', [v for x, y in zip(a, b) for v in (math.gcd(x, y), math.isqrt(x))])])
digits = lambda value, count: [value >> (32 * i) & M32 for i in range(count)]
a, b = ([r.bits(64) << 192 | r.bits(64) << 128 | r.bits(64) << 64 | r.bits(64) for _ in range(16)] for _ in range(2))
case('wide_bigmul', 'wide', [1], [16], [Given('u32', [d for x in a for d in digits(x, 8)]), Given('u32', [d for x in b for d in digits(x, 8)]), Result('u32', [d for x, y in zip(a, b) for d in digits(x * y, 16)])])
a = [r.bits(64) << 64 | r.bits(64) for _ in range(16)]
b = [r.bits(64) << 64 | r.bits(64) for _ in range(14)] + [(1 << 128) - 1 - a[14], (1 << 128) - a[15]]
case('wide_add_carry', 'wide', [1], [16], [Given('u32', [d for x in a for d in digits(x, 4)]), Given('u32', [d for x in b for d in digits(x, 4)]), Result('u32', [d for x, y in zip(a, b) for d in digits(x + y, 5)])])

# bits
signed = lambda x: wrap('s32', x)
byte = lambda x, i: x >> (8 * i) & 255
sbyte = lambda x, i: wrap('s8', byte(x, i))


def bit_words(x, y):
    leading = 32 - y.bit_length()
    first = (x & -x).bit_length()
    turn = y & 63
    both = y << 32 | x
    left = both << (turn & 31) >> 32 & M32
    right = both >> min(turn, 32) & M32
    chosen = [byte(y << 32 | x, s) for s in (5, 1, 7, 3)]
    permuted = sum(value << (8 * i) for i, value in enumerate(chosen))
    halves = [wrap('s16', x >> s) + wrap('s16', y >> s) for s in (0, 16)]
    halves = [min(max(v, -32768), 32767) & 0xffff for v in halves]
    return [
        bin(x).count('1') | leading << 8 | first << 16,
        int(f'{x:032b}'[::-1], 2) ^ permuted,
        left + right,
        (x & y) | (~x & (x * y >> 32)),
        5 + sum(sbyte(x, i) * sbyte(y, i) for i in range(4)),
        7 + (x & 0xffff) * byte(y, 0) + (x >> 16) * byte(y, 1),
        sum(abs(byte(x, i) - byte(y, i)) << (8 * i) for i in range(4)) ^ (halves[1] << 16 | halves[0]),
        x + abs(signed(x) - signed(y)) + 3 + abs(x - y),
    ]


data = [r.bits() >> r.below(20) for _ in range(64)]
data[5] = 0
case('bits_mix', 'bits', [1], [64], [Given('u32', data), Result('u32', [w for t in range(64) for w in bit_words(data[t], data[(t + 7) % 64])])])
data = bytes(r.bits(8) for _ in range(96))
case('bits_base64', 'bits', [1], [32], [Given('u8', data), Result('u8', base64.b64encode(data))])
data = [r.bits(5) for _ in range(32)]
low, pages = [1, 2, 3, 4], [[2, 3, 4], [100, 200, 300]]
case('bits_pages', 'bits', [1], [32], [Given('u8', data), Result('s32', [pages[i >> 1 & 1][2 if i & 1 else 0] + (low[i >> 3 & 3] if i & 4 else 0) for i in data])])
