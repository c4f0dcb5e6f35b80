"""Cases of atomics, warps, shared and local memory, control flow, calls and graphs."""
from record import Given, Random, Result, Scalar, case, f32, wrap

r = Random(3)
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
signed = lambda x: wrap('s32', x)

# atomics
threads = 96
values = [t * 2654435761 & M32 for t in range(threads)]
before = [7, 9, 0xffff0000, 5, M32, 0, 0x55555555, 3, 40, 100, M32 - 5]
xor, land, lor = before[6], before[4], before[5]
for v in values:
    xor ^= v
    land &= v | 0xff00ff
    lor |= v & 0x110011
up, down = before[7], before[8]
for _ in range(threads):
    up = 0 if up >= 99 else up + 1
    down = 49 if down == 0 or down > 49 else down - 1
after = [before[0] + sum(values), before[1] - sum(values), min([before[2]] + values), max([before[3]] + values), land, lor, xor, up, down, min([signed(before[9])] + [signed(v) for v in values]), max([signed(before[10])] + [signed(v) for v in values])]
old = [r.bits() for _ in range(threads)]
# The exchange gives what was there, the comparison finds what the exchange put there.
case('atomic_all_u32', 'atomics', [3], [32], [Result('u32', after, before), Result('u32', [o + v for o, v in zip(old, values)], old)])
threads = 64
values = [t * 0x9e3779b97f4a7c15 & M64 for t in range(threads)]
before = [7, M64, 5, M64, 0, 1234567, (1 << 63) - 1, 1 << 63]
land, lor, xor = M64, 0, before[5]
for v in values:
    xor ^= v
    land &= v | 0xff00ff00ff00ff
    lor |= v & 0x1100110011001100
wide = [wrap('s64', v) for v in values]
case('atomic_all_u64', 'atomics', [2], [32], [Result('u64', [7 + sum(values), min(values), max(values + [5]), land, lor, xor, min(wide), max(wide)], before)])
sums = [sum(3 * t for t in range(64) if t % 4 == k) * 2.0 for k in range(4)] + [2.0 * sum(range(64))]
case('atomic_add_floats', 'atomics', [2], [64], [Result('f32', sums, [0.0] * 5), Result('f64', [1.0 + 2 * 0.25 * sum(range(64))], [1.0])])
data = [r.single(-10, 10) for _ in range(128)]
case('atomic_max_f32', 'atomics', [2], [64], [Given('f32', data), Result('f32', [max(data)], [-5.0])])
total = 1
for _ in range(80):
    total = total * 3 % 65521 + 1
case('atomic_lock', 'atomics', [2], [40], [Result('s32', [0], [0]), Result('u32', [total], [1])])
data = [r.between(-1000, 1000) for _ in range(250)]
kept = [v for v in data if v % 3 == 0]
case('atomic_append', 'atomics', [1], [96], [Given('s32', data), Result('s32', [len(kept)]), Result('u32', [sum(v * v for v in kept)], [0]), Scalar('s32', 250)])

# warps
data = [r.bits() - (1 << 31) for _ in range(64 * 8)]
case('warp_transpose', 'warp', [1], [64], [Given('s32', data), Result('s32', [data[(t // 8 * 8 + i) * 8 + t % 8] for t in range(64) for i in range(8)])])
data = [r.between(-99, 99) for _ in range(64)]
packed, counts = [0] * 64, []
for w in range(2):
    row = data[32 * w:32 * w + 32]
    kept = [v for v in row if v > 0]
    packed[32 * w:32 * w + len(kept)] = kept
    counts.append(len(kept) + 100 * (row[0] < -90) + 1000 * (row[0] < 90))
case('warp_compact', 'warp', [1], [64], [Given('s32', data), Result('s32', packed, [0] * 64), Result('s32', counts)])
data = [r.below(5) << 33 for _ in range(32)] + [r.below(6) * 0x30000001 for _ in range(32)]
words = []
for t in range(64):
    row = data[t // 32 * 32:t // 32 * 32 + 32]
    tops = {(v & M32) >> 31 for v in row}
    same = len(tops) == 1
    words.append(sum((v == data[t]) << k for k, v in enumerate(row)) ^ (M32 if same else 0) ^ int(same) << 5)
case('warp_match', 'warp', [1], [64], [Given('u64', data), Result('u32', words)])
data = [r.between(-500, 500) for _ in range(64)]
halves = []
for w in range(2):
    row = data[32 * w:32 * w + 32]
    result = [sum(row[:16])] * 16 + [max(row[16:])] * 16
    halves += [result[k] + result[31 - k] for k in range(32)]
case('warp_halves', 'warp', [1], [64], [Given('s32', data), Result('s32', halves)])
data = [r.between(-8, 8) / 4 or 0.25 for _ in range(32)]
product = 1.0
for k in range(0, 32, 5):
    product *= data[k]
case('warp_broadcast_f64', 'warp', [1], [32], [Given('f64', data), Result('f64', [data[k - 3 if k % 16 >= 3 else k] + product for k in range(32)])])

# shared and local memory
n = 32
data = [r.bits(16) for _ in range(n * n)]
case('shared_transpose_u16', 'shared', [2, 2], [16, 16], [Given('u16', data), Result('u16', [data[x * n + y] for y in range(n) for x in range(n)]), Scalar('s32', n)])
n = 48
data = [r.between(-30000, 30000) for _ in range(n)]
squares = [float(data[n - 1 - t] ** 2) for t in range(n)]
case('shared_dynamic', 'shared', [1], [n], [Given('s32', data), Result('f64', [squares[t * 5 % n] + sum(v < 0 for v in data[:t]) for t in range(n)]), Scalar('s32', n)], shared=13 * n)
n = 20
data = [r.bits(8) for _ in range(32 * n)]
words = []
for t in range(32):
    row = [v & 15 for v in data[t * n:t * n + n]]
    best = max(row.count(k) for k in range(16))
    words.append(min(k for k in range(16) if row.count(k) == best) << 16 | best)
case('local_counts', 'shared', [1], [32], [Given('u8', data), Result('u32', words), Scalar('s32', n)])
data = [r.bits() for _ in range(64)]
words = []
for t in range(64):
    v = [data[(t + i * 7) & 63] * (2 * i + 1) & M32 for i in range(48)]
    for _ in range(3):
        for i in range(48):
            v[i] = v[i] * 5 + (v[(i + 17) % 48] ^ v[(i + 31) % 48] >> 3) & M32
    total = 0
    for value in v:
        total = total * 31 + value & M32
    words.append(total)
case('pressure_mix', 'shared', [1], [64], [Given('u32', data), Result('u32', words)])
data = [r.between(-99, 99) for _ in range(32)]


def total(values):
    result = 0
    for value in values:
        result = result * 3 + value
    return result


back = data[::-1]
case('generic_pointers', 'shared', [1], [32], [Given('s32', data), Result('s32', [total(data[t % 24:t % 24 + 8] if t % 3 == 0 else back[t % 24:t % 24 + 8] if t % 3 == 1 else [data[(t + i * i) & 31] for i in range(8)]) for t in range(32)])])


# control flow
def collatz(n):
    steps = peak = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n >> 1
        peak = max(peak, n & M32)
        steps += 1
    return steps << 20 ^ peak


case('control_collatz', 'control', [2], [96], [Result('u32', [collatz(k + 1) for k in range(192)])])
text = bytes(b'abc'[r.below(3)] for _ in range(230)) + b'abcacb'
found = [k for k in range(len(text) - 3) if text[k:k + 4] == b'bcac']
case('control_search', 'control', [4], [64], [Given('u8', text), Given('u8', b'bcac'), Result('s32', [found[0], len(found)], [1 << 30, 0]), Scalar('s32', len(text)), Scalar('s32', 4)])
# x -> while x > 0: x -= 3; then mix
program = [1, 0, 3, 4, 5, 1, 6, 0, 1, 8, 1, 0, 17, 3, 2, 7, 9, 2, 5, 99]


def interpret(program, x):
    stack, top, pc = [0] * 8, 0, 0
    for _ in range(400):
        op = program[pc]
        pc += 1
        if op == 0:
            stack[top & 7] = program[pc]
            top, pc = top + 1, pc + 1
        elif op == 1:
            stack[top & 7] = x
            top += 1
        elif op in (2, 3, 4):
            top -= 1
            a, b = stack[(top - 1) & 7], stack[top & 7]
            stack[(top - 1) & 7] = signed(a + b if op == 2 else a * b if op == 3 else a - b)
        elif op == 5:
            top -= 1
            x = stack[top & 7]
        elif op == 6:
            top -= 1
            pc = program[pc] if stack[top & 7] > 0 else pc + 1
        elif op == 7:
            stack[top & 7] = stack[(top - 1) & 7]
            top += 1
        elif op == 8:
            stack[(top - 1) & 7] = signed(stack[(top - 1) & 7] ^ stack[(top - 1) & 7] << 5)
        elif op == 9:
            stack[(top - 1) & 7] = bin(stack[(top - 1) & 7] & M32).count('1')
        else:
            break
    return x


case('control_interpreter', 'control', [1], [64], [Given('s32', program), Result('s32', [interpret(program, t) for t in range(64)])])
n = 150
prime = lambda k: int(k >= 2 and all(k % d for d in range(2, k)))
case('control_primes', 'control', [3], [64], [Result('u8', [prime(k) for k in range(n)]), Scalar('s32', n)])


def queens(n, columns, left, right):
    if columns == (1 << n) - 1:
        return 1
    return sum(queens(n, columns | 1 << k, (left | 1 << k) << 1, (right | 1 << k) >> 1) for k in range(n) if not (columns | left | right) >> k & 1)


n = 7
case('control_queens', 'control', [1], [32], [Result('u32', [queens(n, 1 << k, 2 << k, 1 << k >> 1) for k in range(n)]), Scalar('s32', n)])
left, right = (bytes(b'abcd'[r.below(4)] for _ in range(12 * 32)) for _ in range(2))


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        next_row = [i + 1]
        for j, y in enumerate(b):
            next_row.append(min(row[j] + (x != y), row[j + 1] + 1, next_row[j] + 1))
        row = next_row
    return row[-1]


case('control_levenshtein', 'control', [1], [32], [Given('u8', left), Given('u8', right), Result('s32', [distance(left[12 * t:12 * t + 12], right[12 * t:12 * t + 12]) for t in range(32)])])


# calls
def step_a(x, y):
    return x * 17 + (y ^ x >> 3) & M32


def step_b(x):
    return step_a(x, 99) ^ step_a(x + 1 & M32, x)


def chain(x):
    if x & 1:
        x = step_b(x)
    for i in range(3):
        x = step_a(x, i) + (step_b(i) if x & 4 else 0) & M32
    return x


data = [r.bits() for _ in range(64)]
case('call_chain', 'calls', [1], [64], [Result('u32', map(chain, data), data)])
fibonacci = lambda n: n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
case('call_recursion', 'calls', [1], [40], [Result('s32', [v for t in range(40) for v in (fibonacci(t % 13), 2 * (t % 5) + 3)])])
n = 25
data = [r.between(-1000, 1000) for _ in range(32 * n)]
case('call_quicksort', 'calls', [1], [32], [Result('s32', [v for t in range(32) for v in sorted(data[t * n:t * n + n])], data), Scalar('s32', n)])
which = [r.below(3) for _ in range(7)]
data = [r.between(-50, 50) for _ in range(48)]


def pointers(t):
    x = data[t]
    for i in range(7):
        x = signed([2 * x, x * x, -x][which[(t + i) % 7]] + i)
    return x


case('call_pointers', 'calls', [1], [48], [Given('s32', which), Result('s32', map(pointers, range(48)), data), Scalar('s32', 7)])
power, powers = [1, 0, 0, 1], []
base = [3, -1, 2, 5]
for _ in range(32):
    powers += [wrap('s64', v) for v in power]
    power = [power[0] * base[0] + power[1] * base[2], power[0] * base[1] + power[1] * base[3], power[2] * base[0] + power[3] * base[2], power[2] * base[1] + power[3] * base[3]]
case('call_structures', 'calls', [1], [32], [Scalar('s64', v) for v in base] + [Result('s64', powers)])

# graphs
nodes = 40
edges = [sorted({r.below(nodes) for _ in range(r.below(6))}) for _ in range(nodes)]
starts = [sum(len(e) for e in edges[:k]) for k in range(nodes + 1)]
targets = sum(edges, [])
level = [-1] * nodes
level[0] = 0
for target in edges[0]:
    level[target] = 1 if level[target] < 0 else level[target]
frontier = [k for k in range(nodes) if level[k] == 1]
before = list(level)
for node in frontier:
    for target in edges[node]:
        if level[target] < 0:
            level[target] = 2
case('graph_frontier', 'graph', [1], [32], [Given('s32', starts), Given('s32', targets), Result('s32', level, before), Given('s32', frontier), Scalar('s32', len(frontier)), Given('s32', [0] * nodes), Result('s32', [level.count(2)], [0]), Scalar('s32', 2)])
values = [float(r.between(-8, 8)) for _ in targets]
x = [float(r.between(-8, 8)) for _ in range(nodes)]
case('graph_sparse_f32', 'graph', [3], [128], [Given('s32', starts), Given('s32', targets), Given('f32', values), Given('f32', x), Result('f32', [sum(values[e] * x[targets[e]] for e in range(starts[k], starts[k + 1])) for k in range(nodes)]), Scalar('s32', nodes)])
# Which parents stay between a node and its root depends on the order; with stars round their smallest node it does not.
pairs = [(0, k) for k in range(1, 12)] + [(15, k) for k in range(16, 22)]
case('graph_components', 'graph', [1], [32], [Result('s32', [0] * 12 + [12, 13, 14] + [15] * 7, range(22)), Given('s32', [v for pair in pairs for v in pair]), Scalar('s32', len(pairs))])
