"""Kernels of video instructions: parts of words, results put into parts, multiplications, averages and comparisons.

What is expected is the pseudocode of the language's manual, over integers without bounds."""
import os

import record
from record import Given, Random, Result, case

FILE = 'video'
HEAD = '// Written by tools/kernels/video.py: video instructions.\n.version 9.0\n.target sm_90\n.address_size 64\n'
LANES = 64
M32 = (1 << 32) - 1
ORDERS = {'eq': int.__eq__, 'ne': int.__ne__, 'lt': int.__lt__, 'le': int.__le__, 'gt': int.__gt__, 'ge': int.__ge__}
BINARY = {'vadd': int.__add__, 'vsub': int.__sub__, 'vabsdiff': lambda x, y: abs(x - y), 'vmin': min, 'vmax': max}


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def read(value, ty, bits=32, number=0):
    part = value >> bits * number & (1 << bits) - 1
    return signed(part, bits) if ty == 's32' else part


def clamp(value, is_signed, bits):
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return max(low, min(high, value))


def part(selector):
    """Bits and number."""
    return (32, 0) if not selector else (16 if selector[0] == 'h' else 8, int(selector[1]))


def scalar(f, a, b, c):
    x, y = read(a, f['a'], *part(f['sa'])), read(b, f['b'], *part(f['sb']))
    if f['op'] in BINARY:
        value = BINARY[f['op']](x, y)
    elif f['op'] == 'vset':
        value = int(ORDERS[f['order']](x, y))
    else:
        amount = y & M32
        amount = min(amount, 32) if f['bounds'] == 'clamp' else amount & 31
        value = x << amount if f['op'] == 'vshl' else x >> amount
        if f['op'] == 'vshl' and f['sat']:
            # Of the shifted value 34 bits are seen.
            value = signed(value, 34)
    bits, number = part(f['sd'])
    is_signed = f['d'] == 's32'
    if f['sat']:
        value = clamp(value, is_signed, bits)
    if f['second']:
        other = read(c, f['d'])
        if not is_signed and f['second'] != 'add':
            # Compared before it is cut to 32 bits, as a number without a sign.
            value &= (1 << 64) - 1
        value = {'add': int.__add__, 'min': min, 'max': max}[f['second']](value, other)
    if f['sd']:
        mask = (1 << bits) - 1 << bits * number
        return c & ~mask & M32 | value << bits * number & mask
    return value & M32


def multiply(f, a, b, c):
    x, y = read(a, f['a'], *part(f['sa'])), read(b, f['b'], *part(f['sb']))
    is_signed = 's32' in (f['a'], f['b']) or f['na'] != f['nb'] or f['nc']
    addend = signed(c, 32) if is_signed else c
    total = (-x * y if f['na'] != f['nb'] else x * y) + (-addend if f['nc'] else addend) + bool(f['po'])
    total >>= int(f['scale'][3:] or 0) if f['scale'] else 0
    return (clamp(total, is_signed, 32) if f['sat'] else total) & M32


def lanes(f, a, b, c):
    count = f['lanes']
    width = 32 // count
    both = a | b << 32
    digits = lambda selector, first: [int(d) for d in reversed(selector[1:])] if selector else [first + n for n in range(count)]
    picks = zip(digits(f['sa'], 0), digits(f['sb'], count))
    written = {int(d) for d in f['sd'][1:]} if f['sd'] else set(range(count))
    word, total = 0, read(c, f['d'])
    for lane, (p, q) in enumerate(picks):
        x, y = read(both, f['a'], width, p), read(both, f['b'], width, q)
        if f['op'] == 'vavrg':
            value = x + y + (x + y >= 0) >> 1
        elif f['op'] == 'vset':
            value = int(ORDERS[f['order']](x, y))
        else:
            value = BINARY[f['op']](x, y)
        if f['sat']:
            value = clamp(value, f['d'] == 's32', width)
        if lane in written:
            total += value
        kept = value if lane in written else c >> width * lane
        word |= (kept & (1 << width) - 1) << width * lane
    return total & M32 if f['second'] else word


def forms(r):
    """Each row with several choices of what its words and selectors may be."""
    types = ('u32', 's32')
    pick = lambda options: options[r.below(len(options))]
    scalars = ('', 'b0', 'b1', 'b2', 'b3', 'h0', 'h1')
    found = []

    def add(**more):
        form = {'order': '', 'bounds': '', 'second': '', 'sat': False, 'sd': '', 'd': 'u32', 'na': False, 'nb': False, 'nc': False, 'po': False, 'scale': '', 'lanes': 1}
        found.append({**form, 'a': pick(types), 'b': pick(types), 'sa': pick(scalars), 'sb': pick(scalars), **more})

    for op in (*BINARY, 'vshl', 'vshr', 'vset'):
        for n in range(10):
            shift, compare = op in ('vshl', 'vshr'), op == 'vset'
            more = {'d': 'u32' if compare else pick(types), 'sat': not compare and n % 2 == 0, 'order': pick(list(ORDERS)) if compare else ''}
            if shift:
                more |= {'bounds': ('clamp', 'wrap')[n // 2 % 2], 'b': 'u32'}
            if n < 5:
                more['sd'] = pick(scalars[1:])
            elif n < 8:
                more['second'] = ('add', 'min', 'max')[n - 5]
            add(op=op, **more)
    for n in range(14):
        signs = {pick(('na', 'nb', 'nc')): True} if n % 3 else {}
        add(op='vmad', sat=n % 2 == 0, scale=('', 'shr7', 'shr15')[n % 5 % 3], po=not signs and n % 2 == 1, **signs, **({'sa': '', 'sb': ''} if n < 4 else {}))
    for op in (*BINARY, 'vavrg', 'vset'):
        for count in (2, 4):
            letter = 'h' if count == 2 else 'b'
            selector = lambda: letter + ''.join(str(r.below(2 * count)) for _ in range(count)) if r.below(2) else ''
            for n in range(4):
                mask = letter + ''.join(str(d) for d in reversed(range(count)) if r.below(2))
                compare = op == 'vset'
                add(op=op, lanes=count, sa=selector(), sb=selector(), sd=mask if len(mask) > 1 else '', d='u32' if compare else pick(types),
                    second='add' if n == 3 else '', sat=not compare and n == 1, order=pick(list(ORDERS)) if compare else '')
    return found


def spelled(f):
    dot = lambda selector: '.' + selector if selector else ''
    name = f['op'] + (str(f['lanes']) if f['lanes'] > 1 else '')
    words = [name] + ([] if f['op'] == 'vset' else [f['d']]) + [f['a'], f['b']]
    words += [f['order']] + ['sat' if f['sat'] else '', f['scale'], 'po' if f['po'] else '', f['bounds'], f['second']]
    sign = lambda flag: '-' if flag else ''
    c = f", {sign(f['nc'])}c" if f['op'] == 'vmad' or f['sd'] or f['second'] or f['lanes'] > 1 else ''
    return f"{'.'.join(word for word in words if word)} d{dot(f['sd'])}, {sign(f['na'])}a{dot(f['sa'])}, {sign(f['nb'])}b{dot(f['sb'])}{c};"


def kernel(name, all_forms):
    text = f'''
.visible .entry {name}(.param .u64 data, .param .u64 out)
{{
    .reg .u32 a, b, c, d, t;
    .reg .b64 from, to;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 12, from;
    mad.wide.u32 to, t, {4 * len(all_forms)}, to;
    ld.global.u32 a, [from];
    ld.global.u32 b, [from+4];
    ld.global.u32 c, [from+8];
'''
    for n, f in enumerate(all_forms):
        text += f'    {spelled(f)}\n    st.global.u32 [to+{4 * n}], d;\n'
    return text + '    ret;\n}\n'


def evaluate(f, a, b, c):
    if f['op'] == 'vmad':
        return multiply(f, a, b, c)
    return (lanes if f['lanes'] > 1 else scalar)(f, a, b, c)


R = Random(81)
FORMS = forms(R)
given, left = [], []
for lane in range(LANES):
    near = lambda: (0, 1, M32, 0x80000000, 0x7fffffff, 0x80ff7f01)[R.below(6)] if R.below(3) == 0 else R.bits(32)
    a, b, c = near(), near() if lane % 2 else R.below(70), near()
    given += [a, b, c]
    left += [evaluate(f, a, b, c) for f in FORMS]
case('video_parts', FILE, [1], [LANES], [Given('u32', given), Result('u32', left)])


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        out.write(HEAD + kernel('video_parts', FORMS))
