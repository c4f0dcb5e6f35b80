"""Cases of textures.cu and textures_ptx.ptx, and a model of how a texture is read.

The model follows the appendix on texture fetching of the CUDA programming guide. Nearest texels are exact. A filtered value
depends on how a machine rounds the weights to 8 bits: each may be off by half a step in each direction, of which the
largest difference of two texels that are weighed is the effect."""
import math
import os
import struct

import record
from record import Given, Image, Random, Result, Sampler, Scalar, case, f32


class Texture:
    """A texture as the model reads it; `values` are components, texel after texel, row after row."""

    def __init__(self, kind, size, values, channels=1, layers=1, linear=False, normalized=False, address='clamp',
                 fractions=False, layout=None):
        self.kind, self.channels, self.layers = kind, channels, layers
        self.size = list(size) + [1] * (3 - len(size))
        self.values, self.linear, self.normalized = list(values), linear, normalized
        self.address, self.fractions, self.given, self.layout = address, fractions, list(size), layout

    def argument(self, what='texture', **more):
        sampler = {'linear': self.linear, 'normalized': self.normalized, 'address': [self.address]}
        if self.layers > 1:
            more['layers'] = self.layers
        if self.fractions:
            more['fractions'] = True
        if self.layout:
            more['layout'] = self.layout
        return Image(what, self.kind, self.given, self.values, self.channels, sampler=sampler, **more)

    def in_memory(self):
        """The first line in plain memory, where fetches with whole coordinates find it."""
        return Texture(self.kind, self.given, self.values[:self.given[0] * self.channels], self.channels, layout='linear')

    def inside(self, index, axis, address=None):
        count, address = self.size[axis], address or self.address
        if address in ('wrap', 'mirror') and not self.normalized:
            address = 'clamp'
        if address == 'clamp':
            return min(max(index, 0), count - 1)
        if address == 'border':
            return index if 0 <= index < count else None
        if address == 'wrap':
            return index % count
        index %= 2 * count
        return index if index < count else 2 * count - 1 - index

    def texel(self, at, layer=0):
        at = list(at) + [0] * (3 - len(at))
        layer = min(layer, self.layers - 1)
        if None in at:
            return [0] * 4
        number = ((layer * self.size[2] + at[2]) * self.size[1] + at[1]) * self.size[0] + at[0]
        found = self.values[number * self.channels:(number + 1) * self.channels]
        if self.fractions:
            found = [f32(v / (2 ** record.BITS[self.kind] - 1)) for v in found]
        # What it lacks is 0, the fourth component too.
        return found + [0] * (4 - len(found))

    def place(self, coordinate, axis, offset=0):
        return coordinate * (self.size[axis] if self.normalized else 1) + offset

    def nearest(self, *at, layer=0, offsets=(0, 0, 0)):
        index = [self.inside(math.floor(self.place(c, axis, offsets[axis])), axis) for axis, c in enumerate(at)]
        return self.texel(index, layer)

    def load(self, *at, layer=0, offsets=(0, 0, 0)):
        """The texel at whole coordinates of a form that names no level: outside there is nothing, beyond the last layer neither."""
        index = [self.inside(c + offsets[axis], axis, 'border') for axis, c in enumerate(at)]
        return self.texel(index, layer) if layer < self.layers else [0] * 4

    def load_inside(self, *at, layer=0, offsets=(0, 0, 0)):
        """The same where the form names a level: what is outside means the texel at the edge, and the last layer."""
        return self.texel([self.inside(c + offsets[axis], axis, 'clamp') for axis, c in enumerate(at)], layer)

    def around(self, *at, offsets=(0, 0, 0)):
        """The texels around a point: index below and weight of the next in each direction."""
        for axis, c in enumerate(at):
            x = self.place(c, axis, offsets[axis]) - 0.5
            yield math.floor(x), round((x - math.floor(x)) * 256) / 256

    def filtered(self, *at, channel=0, offsets=(0, 0, 0), value=lambda texel: texel):
        total = 0.0
        corner = list(self.around(*at, offsets=offsets))
        for choice in range(1 << len(at)):
            weight, index = 1.0, []
            for axis, (below, part) in enumerate(corner):
                above = choice >> axis & 1
                weight *= part if above else 1 - part
                index.append(self.inside(below + above, axis))
            total += weight * value(self.texel(index)[channel])
        return total

    def gathered(self, x, y, channel, layer=0, offsets=(0, 0, 0)):
        (i, _), (j, _) = self.around(x, y, offsets=offsets)
        corners = [(i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j)]
        return [self.texel([self.inside(a, 0), self.inside(b, 1)], layer)[channel] for a, b in corners]


def bits(value):
    return struct.unpack('<I', struct.pack('<f', value))[0]


def face(x, y, z):
    """Face of a cube and place on it, from 0 to 1."""
    if abs(x) >= abs(y) and abs(x) >= abs(z):
        number, major, s, t = (0, x, -z, -y) if x > 0 else (1, -x, z, -y)
    elif abs(y) >= abs(z):
        number, major, s, t = (2, y, x, z) if y > 0 else (3, -y, x, -z)
    else:
        number, major, s, t = (4, z, x, -y) if z > 0 else (5, -z, -x, -y)
    return number, (s / major + 1) / 2, (t / major + 1) / 2


def safe(random, count, steps):
    """A place well within a texel of `count` and, for gathers, within a quarter of one."""
    return f32((random.below(count * 4) + 0.25 + random.below(steps) / (2 * steps)) / 4)


r = Random(71)
width, height = 12, 9
smooth = [f32(math.sin(x * 0.7) + math.cos(y * 0.9)) for y in range(height) for x in range(width)]
image = Texture('f32', [width, height], smooth, linear=True, normalized=True, address='wrap')
blurred = []
for y in range(height):
    for x in range(width):
        total = 0.0
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                weight = (2 if dx == 0 else 1) * (2 if dy == 0 else 1) / 16
                total += weight * image.filtered(f32((x + 0.25 + dx) / width), f32((y + 0.75 + dy) / height))
        blurred.append(total)
# Neighbours differ by less than 1.6: half of 1/256 of it in two directions, and rounded coordinates.
case('texture_filter', 'textures', [2, 3], [8, 4], [
    image.argument(), Result('f32', blurred, abs=0.008), Scalar('s32', width), Scalar('s32', height)])

line = Texture('s32', [20], [r.between(-1000, 1000) for _ in range(20)])
plane = Texture('u8', [7, 5], [r.bits(8) for _ in range(140)], channels=4, address='border')
volume = Texture('f32', [7, 5, 4], [r.single(-4, 4) for _ in range(560)], channels=4)
layers = Texture('s16', [6, 4], [r.between(-30000, 30000) for _ in range(192)], channels=2, layers=4)
at, expected = [], []
for t in range(32):
    u, v = f32(safe(r, 8, 7) - 0.5), f32(safe(r, 6, 5) - 0.5)
    at += [u, v]
    texel, deep, layer = plane.nearest(u, v), volume.nearest(u, v, f32(u + v)), layers.nearest(u, v, layer=t % 5)
    expected += [line.load(t - 4)[0], *texel, bits(deep[0]), bits(deep[3]), layer[0], layer[1], line.nearest(u)[0],
                 plane.nearest(u, v)[2], texel[0], *plane.gathered(u, v, 1)]
case('texture_nearest', 'textures', [1], [32], [
    line.argument(), plane.argument(), volume.argument(), layers.argument(), Given('f32', at), Result('s32', expected),
    line.in_memory().argument()])

cube = Texture('f32', [4, 4], [r.single(-9, 9) for _ in range(4 * 4 * 6 * 4)], channels=4, layers=6, normalized=True, layout='cube')
at, expected = [], []
while len(at) < 3 * 64:
    direction = [r.single(-2, 2) for _ in range(3)]
    number, s, t = face(*direction)
    largest, second = sorted(map(abs, direction))[:0:-1]
    if largest > 1.05 * second and all(0.05 < c * 4 % 1 < 0.95 for c in (s, t)):
        at += direction
        expected += cube.nearest(s, t, layer=number)[:2]
case('texture_cube', 'textures', [1], [64], [cube.argument(), Given('f32', at), Result('f32', expected)])

a, b, c = [Texture('s32', [8, 8], [r.between(-99, 99) for _ in range(64)]) for _ in range(3)]
expected = []
for t in range(64):
    value = -1
    if t % 4 != 3:
        value = (a, b, c)[t % 4].nearest(t % 8, t // 8)[0]
        if t & 16:
            value += a.load(t & 7, 0)[0]
    expected.append(value)
case('texture_of_each', 'textures', [1], [64], [
    a.argument(), b.argument(), c.argument(), Result('s32', expected), Texture('s32', [8], a.values[:8], layout='linear').argument()])

side = 6
before = [r.bits(8) for _ in range(side * side * 4)]
after = [r.bits(8) for _ in range(side * side * 4)]
target = list(after)
for y in range(side):
    for x in range(side):
        texel = before[(y * side + x) * 4:][:4]
        place = (x * side + side - 1 - y) * 4
        target[place:place + 4] = [texel[0] ^ 0xff, *texel[1:]]
# The clamped store changes half of the last texel of the first column, whose other half is a turned one.
place = (side - 1) * side * 4
target[place:place + 4] = [7, 0, 0xf8, 0xff]
case('surface_turn', 'textures', [1], [side, side], [
    Image('surface', 'u8', [side, side], before, 4),
    Image('surface', 'u8', [side, side], after, 4, after=target), Scalar('s32', side), Scalar('s32', side)])


class Forms:
    """A kernel in the making: each form adds a line of text, and words that each thread leaves."""

    def __init__(self, name, threads, declared, head='', opaque=()):
        """`declared` are handles as values, `opaque` parameters of such types: each follows one of the addresses, the rest the last."""
        self.name, self.declared, self.head, self.opaque = name, declared, head, list(opaque)
        self.lines, self.expected = [], [[] for _ in range(threads)]

    def add(self, line, words):
        """A line that fills the registers w0, w1 ...; `words` gives what they hold in a thread."""
        self.lines.append(f'    {line}')
        for at in range(len(words(0))):
            self.lines.append(f'    st.global.b32 [to+{4 * (len(self.expected[0]) + at)}], w{at};')
        for thread, expected in enumerate(self.expected):
            expected += words(thread)

    def fetch(self, form, where, words, rest=''):
        self.add(f'{form} {{w0, w1, w2, w3}}, [{where}]{rest};', words)

    def text(self):
        addresses = [f'.param .u64 {name}_' for name in self.declared + ['floats', 'integers', 'out']]
        opaque = [f'.param .{kind} {name}' for kind, name in self.opaque]
        mixed = [text for pair in zip(addresses, opaque) for text in pair]
        declared = ', '.join(mixed + addresses[len(opaque):] + opaque[len(addresses):])
        names = ''.join(f'    .reg .b64 {name};\n' for name in self.declared)
        loads = ''.join(f'    ld.param.u64 {name}, [{name}_];\n' for name in self.declared)
        return f'''
.visible .entry {self.name}({declared})
{{
    .reg .b32 w<4>, t, layer, pad;
    .reg .f32 u, v, s, depth, x, y, z, half;
    .reg .s32 i, j, k;
    .reg .b16 h<4>;
    .reg .b32 hx<2>;
    .reg .b64 to, from, d;
    .reg .pred p, few;
{names}{loads}    mov.u32 t, %tid.x;
    ld.param.u64 from, [floats_];
    mad.wide.u32 from, t, 32, from;
    ld.global.v4.f32 {{u, v, s, depth}}, [from];
    ld.global.v4.f32 {{x, y, z, half}}, [from+16];
    ld.param.u64 from, [integers_];
    mad.wide.u32 from, t, 16, from;
    ld.global.v4.u32 {{i, j, k, layer}}, [from];
    ld.param.u64 to, [out_];
    mad.wide.u32 to, t, {4 * len(self.expected[0])}, to;
    setp.lt.u32 few, t, 5;
{self.head}''' + '\n'.join(self.lines) + '\n    ret;\n}\n'


def words(texel):
    """The words of numbers."""
    return [bits(float(c)) for c in texel]


THREADS = 16
HEAD = '''// Written by tools/kernels/textures.py: forms of texture and surface instructions.
.version 8.0
.target sm_90
.address_size 64
'''
ROWS = Texture('s32', [9], [r.between(-99, 99) for _ in range(27)], layers=3)
PHOTO = Texture('f32', [8, 6], [r.single(-4, 4) for _ in range(192)], channels=4)
HALVES = Texture('f32', [8, 6], [r.between(-512, 512) / 8 for _ in range(192)], channels=4)
STACK = Texture('f32', [8, 6], [r.single(-4, 4) for _ in range(288)], channels=2, layers=3, address='mirror')
BODY = Texture('u16', [8, 6, 5], [r.bits(16) for _ in range(240)])
SHADES = Texture('u8', [8, 6], [r.bits(8) for _ in range(48)], fractions=True, linear=True)
CUBES = Texture('u8', [4, 4], [r.bits(8) for _ in range(768)], channels=4, layers=12, normalized=True, layout='cube')
FLOATS, INTEGERS, DIRECTIONS = [], [], []
while len(FLOATS) < THREADS:
    direction = [r.single(-2, 2) for _ in range(3)]
    number, s, t = face(*direction)
    largest, second = sorted(map(abs, direction))[:0:-1]
    if largest > 1.05 * second and all(0.05 < c * 4 % 1 < 0.95 for c in (s, t)):
        DIRECTIONS.append((number, s, t))
        FLOATS.append([safe(r, 7, 7), safe(r, 5, 7), safe(r, 4, 5), r.between(-32, 32) / 8, *direction, 0.5])
        INTEGERS.append([r.between(-2, 9), r.between(-2, 7), r.between(-1, 5), r.below(4)])
U, V, S = [lambda t, at=at: FLOATS[t][at] for at in range(3)]
I, J, K, L = [lambda t, at=at: INTEGERS[t][at] for at in range(4)]


def halves(texel):
    return [struct.unpack('<H', struct.pack('<e', c))[0] for c in texel]


def unified():
    """Fetches of all geometries, with offsets, levels, gradients and numbers to compare with, which change nothing: neither CUDA nor
    PTX has a sampler that compares. A handle that the driver gives does not tell what it names."""
    f = Forms('texture_forms', THREADS, ['rows', 'photo', 'precise', 'stack', 'body', 'cubes'])
    row = lambda t, o=0: ROWS.nearest(U(t), layer=L(t), offsets=[o])
    at = lambda texture, t, *o, **more: texture.nearest(U(t), V(t), offsets=o or (0, 0), **more)
    f.fetch('tex.a1d.v4.s32.f32', 'rows, {layer, u}', row)
    f.fetch('tex.a1d.v4.u32.s32', 'rows, {layer, i}', lambda t: ROWS.load(I(t) + 2, layer=L(t)), ', {2}')
    f.fetch('tex.level.a1d.v4.s32.f32', 'rows, {layer, u}', lambda t: row(t, -3), ', half, {-3}')
    f.fetch('tex.grad.a1d.v4.s32.f32', 'rows, {layer, u}', lambda t: row(t, 1), ', {half}, {half}, {1}')
    f.fetch('tex.base.2d.v4.f32.f32', 'photo, {u, v}', lambda t: words(at(PHOTO, t, 1, -2)), ', {1, -2}')
    f.fetch('tex.2d.v4.f32.f32', 'photo, {u, v}', lambda t: words(at(PHOTO, t)), ', depth')
    f.fetch('tex.level.2d.v4.f32.f32', 'photo, {u, v}',
            lambda t: words(at(PHOTO, t, L(t), 1)), ', half, {layer, 1}, depth')
    f.fetch('tex.grad.2d.v4.f32.f32', 'photo, {u, v}',
            lambda t: words(at(PHOTO, t, 3, -1)), ', {half, half}, {half, half}, {3, -1}')
    f.fetch('tex.2d.v4.f32.s32', 'photo, {i, j}', lambda t: words(PHOTO.load(I(t) - 1, J(t) + 1)), ', {-1, 1}')
    f.fetch('tex.level.2d.v4.f32.s32', 'photo, {i, j}', lambda t: words([0] * 4 if K(t) else PHOTO.load_inside(I(t), J(t))), ', k')
    f.fetch('tex.a2d.v4.f32.f32', 'stack, {layer, u, v, v}',
            lambda t: words(at(STACK, t, 2, 3, layer=L(t))), ', {2, 3}')
    f.fetch('tex.a2d.v4.f32.f32', 'stack, {layer, u, v, v}',
            lambda t: words(at(STACK, t, layer=L(t))), ', depth')
    f.fetch('tex.grad.a2d.v4.f32.f32', 'stack, {layer, u, v, v}',
            lambda t: words(at(STACK, t, -1, -1, layer=L(t))), ', {half, half}, {half, half}, {-1, -1}')
    f.fetch('tex.level.a2d.v4.f32.s32', 'stack, {layer, i, j, j}',
            lambda t: words(STACK.load_inside(I(t), J(t), layer=L(t))), ', 0')
    f.fetch('tex.3d.v4.u32.f32', 'body, {u, v, s, s}',
            lambda t: BODY.nearest(U(t), V(t), S(t), offsets=[-1, 2, 1]), ', {-1, 2, 1, 0}')
    f.fetch('tex.level.3d.v4.u32.s32', 'body, {i, j, k, k}', lambda t: BODY.load_inside(I(t), J(t), K(t)), ', 0')
    cube = lambda t, layer: CUBES.nearest(*DIRECTIONS[t][1:], layer=6 * layer + DIRECTIONS[t][0])
    f.fetch('tex.acube.v4.u32.f32', 'cubes, {0, x, y, z}', lambda t: cube(t, 0))
    f.fetch('tex.level.acube.v4.u32.f32', 'cubes, {1, x, y, z}', lambda t: cube(t, 1), ', half')
    f.fetch('tld4.a.2d.v4.f32.f32', 'photo, {u, v}',
            lambda t: words(PHOTO.gathered(U(t), V(t), 3, offsets=[-3, 5])), ', {-3, 5}')
    f.fetch('tld4.r.a2d.v4.f32.f32', 'stack, {layer, u, v, v}',
            lambda t: words(STACK.gathered(U(t), V(t), 0, L(t))), ', depth')
    f.add('tex.2d.v4.f16.f32 {h0, h1, h2, h3}, [precise, {u, v}];\n    mov.b32 w0, {h0, h1};\n    mov.b32 w1, {h2, h3};',
          lambda t: [a | b << 16 for a, b in [halves(at(HALVES, t))[n:n + 2] for n in (0, 2)]])
    f.add('tex.2d.v2.f16x2.s32 {w0, w1}, [precise, {i, j}];',
          lambda t: [a | b << 16 for a, b in [halves(HALVES.load(I(t), J(t)))[n:n + 2] for n in (0, 2)]])
    f.add('tex.2d.v4.f32.f32 {_, w0, _, w1}, [photo, {u, v}];', lambda t: words(at(PHOTO, t)[1::2]))
    f.add('mov.u32 w0, 77;\n    setp.ge.u32 p, t, 5;\n    @few tex.2d.v4.f32.f32 {w0, w1, w2, w3}|p, [photo, {u, v}];\n    selp.u32 w1, 5, 6, p;',
          lambda t: [bits(at(PHOTO, t)[0]) if t < 5 else 77, 5])
    f.add('txq.width.b32 w0, [body];\n    txq.height.b32 w1, [body];\n    txq.depth.b32 w2, [body];\n'
          '    txq.level.width.b32 w3, [photo], 0;', lambda t: [8, 6, 5, 8])
    f.add('istypep.texref p, photo;\n    selp.u32 w0, 1, 0, p;\n    istypep.surfref p, photo;\n    selp.u32 w1, 1, 0, p;',
          lambda t: [0, 0])
    return f


spare = Random(83)
SPARE = Texture('f32', [5, 4], [spare.single(-4, 4) for _ in range(80)], channels=4)


def named():
    """Variables of the module instead of handles; some only part of the warp reads."""
    f = Forms('texture_variables', THREADS, [])
    f.lines.append('    setp.ne.u32 p, layer, 0;\n    @p bra REST;')
    f.fetch('tex.2d.v4.f32.f32', 'the_photo, {u, v}',
            lambda t: [0xaaaaaaaa] * 4 if L(t) else words(PHOTO.nearest(U(t), V(t))))
    f.lines.append('REST:')
    f.fetch('tex.1d.v4.s32.s32', 'the_rows, {i}', lambda t: ROWS.load(I(t)))
    f.add('shl.b32 pad, i, 4;\n    suld.b.2d.b32.zero w0, [the_surface, {pad, j}];\n'
          '    suq.width.b32 w1, [the_surface];\n    txq.height.b32 w2, [the_photo];',
          lambda t: [bits(float(PHOTO.load(I(t), J(t))[0])), 8, 6])
    # Their handles as values, of which each thread takes one.
    f.lines.append('    mov.u64 from, the_photo;\n    mov.u64 d, the_spare;\n    selp.b64 d, d, from, few;')
    f.fetch('tex.2d.v4.f32.f32', 'd, {u, v}',
            lambda t: words((SPARE if t < 5 else PHOTO).nearest(U(t), V(t))))
    f.add('txq.width.b32 w0, [d];\n    istypep.texref p, d;\n    selp.u32 w1, 1, 0, p;\n    mov.u64 from, the_surface;\n'
          '    istypep.texref p, from;\n    selp.u32 w2, 1, 0, p;\n    istypep.surfref p, from;\n    selp.u32 w3, 1, 0, p;',
          lambda t: [5 if t < 5 else 8, 1, 0, 1])
    return f


def independent():
    """Samplers apart from textures."""
    f = Forms('texture_samplers', THREADS, ['photo', 'rows', 'wrapping'])
    wrapped = Texture('f32', [8, 6], PHOTO.values, 4, normalized=True, address='wrap')
    shifted = lambda t: f32(U(t) / 8 + 3), lambda t: f32(V(t) / 4 - 2)
    f.lines.append('    mul.f32 x, u, 0f3E000000;\n    add.f32 x, x, 0f40400000;\n'
                   '    mul.f32 y, v, 0f3E800000;\n    sub.f32 y, y, 0f40000000;')
    f.fetch('tex.2d.v4.f32.f32', 'photo, wrapping, {x, y}', lambda t: words(wrapped.nearest(*[c(t) for c in shifted])))
    f.fetch('tex.2d.v4.f32.f32', 'photo, plain, {u, v}', lambda t: words(PHOTO.nearest(U(t), V(t))))
    f.fetch('tex.1d.v4.s32.f32', 'rows, plain, {u}', lambda t: ROWS.nearest(U(t)))
    f.fetch('tld4.g.2d.v4.f32.f32', 'photo, plain, {u, v}', lambda t: words(PHOTO.gathered(U(t), V(t), 1)))
    return f


def parameters():
    """Parameters of opaque types, besides a variable of the module."""
    f = Forms('texture_parameters', THREADS, [],
              opaque=[('texref', 'photo'), ('texref', 'rows'), ('surfref', 'canvas'), ('texref', 'spare')])
    f.fetch('tex.2d.v4.f32.f32', 'photo, {u, v}', lambda t: words(PHOTO.nearest(U(t), V(t))))
    f.fetch('tex.1d.v4.s32.s32', 'rows, {i}', lambda t: ROWS.load(I(t)))
    f.fetch('tex.2d.v4.f32.f32', 'the_spare, {u, v}', lambda t: words(SPARE.nearest(U(t), V(t))))
    f.add('shl.b32 pad, i, 4;\n    suld.b.2d.b32.zero w0, [canvas, {pad, j}];\n    suq.width.b32 w1, [canvas];',
          lambda t: [bits(float(PHOTO.load(I(t), J(t))[0])), 8])
    f.lines.append('    mov.u64 from, photo;\n    mov.u64 d, spare;\n    selp.b64 d, d, from, few;')
    f.fetch('tex.2d.v4.f32.f32', 'd, {u, v}', lambda t: words((SPARE if t < 5 else PHOTO).nearest(U(t), V(t))))
    return f


def parameters_again():
    """A second kernel with other parameters of such types."""
    f = Forms('texture_parameters_again', THREADS, [], opaque=[('texref', 'large'), ('texref', 'small'), ('surfref', 'plane')])
    f.fetch('tex.2d.v4.f32.f32', 'small, {u, v}', lambda t: words(SPARE.nearest(U(t), V(t))))
    f.fetch('tex.2d.v4.f32.f32', 'the_spare, {u, v}', lambda t: words(SPARE.nearest(U(t), V(t))))
    f.add('txq.width.b32 w0, [large];\n    suq.height.b32 w1, [plane];', lambda t: [8, 6])
    return f


def sampler_parameters():
    """A sampler as a parameter."""
    f = Forms('texture_sampler_parameters', THREADS, [], opaque=[('texref', 'photo'), ('samplerref', 'wrapping')])
    wrapped = Texture('f32', [8, 6], PHOTO.values, 4, normalized=True, address='wrap')
    f.lines.append('    mul.f32 x, u, 0f3E000000;\n    add.f32 x, x, 0f40400000;\n'
                   '    mul.f32 y, v, 0f3E800000;\n    sub.f32 y, y, 0f40000000;')
    f.fetch('tex.2d.v4.f32.f32', 'photo, wrapping, {x, y}',
            lambda t: words(wrapped.nearest(f32(U(t) / 8 + 3), f32(V(t) / 4 - 2))))
    f.fetch('tex.2d.v4.f32.f32', 'photo, plain, {u, v}', lambda t: words(PHOTO.nearest(U(t), V(t))))
    return f


# Functions that name textures, in sections of their own: what they name lies at one place behind the parameters of both kernels.
LOOK = '''
.func (.param .b32 r) texel(.param .f32 x, .param .f32 y)
{
    .reg .f32 a, b;
    .reg .b32 w<4>;
    ld.param.f32 a, [x];
    ld.param.f32 b, [y];
    tex.2d.v4.f32.f32 {w0, w1, w2, w3}, [the_photo, {a, b}];
    st.param.b32 [r], w1;
    ret;
}

.func (.param .b32 r) look(.param .f32 x, .param .f32 y)
{
    .reg .f32 a, b;
    .reg .b32 w<5>;
    .param .f32 x1, y1;
    .param .b32 r1;
    ld.param.f32 a, [x];
    ld.param.f32 b, [y];
    st.param.f32 [x1], a;
    st.param.f32 [y1], b;
    call.uni (r1), texel, (x1, y1);
    ld.param.b32 w4, [r1];
    tex.2d.v4.f32.f32 {w0, w1, w2, w3}, [the_spare, {a, b}];
    xor.b32 w4, w4, w2;
    st.param.b32 [r], w4;
    ret;
}
'''


def look(form, name):
    form.add('{\n    .param .f32 x1, y1;\n    .param .b32 r1;\n    st.param.f32 [x1], u;\n    st.param.f32 [y1], v;\n'
             f'    call.uni (r1), {name}, (x1, y1);\n    ld.param.b32 w0, [r1];\n    }}',
             lambda t: [bits(float(PHOTO.nearest(U(t), V(t))[1]))
                        ^ (bits(float(SPARE.nearest(U(t), V(t))[2])) if name == 'look' else 0)])


def functions_named():
    """A kernel that names what functions name, and something else before it."""
    f = Forms('debugger_textures_named', THREADS, [])
    f.fetch('tex.1d.v4.s32.s32', 'the_rows, {i}', lambda t: ROWS.load(I(t)))
    look(f, 'look')
    f.fetch('tex.2d.v4.f32.f32', 'the_photo, {u, v}', lambda t: words(PHOTO.nearest(U(t), V(t))))
    return f


def functions_given():
    """A kernel with a parameter and more of them, so that its slots begin behind those of the other."""
    f = Forms('debugger_textures_given', THREADS, ['unused', 'more'], opaque=[('texref', 'photo')])
    look(f, 'texel')
    look(f, 'look')
    f.fetch('tex.2d.v4.f32.f32', 'photo, {u, v}', lambda t: words(SPARE.nearest(U(t), V(t))))
    return f


SURFACES = '''
.visible .entry surface_forms(.param .u64 line_, .param .u64 floats_, .param .u64 layers_, .param .u64 volume_, .param .u64 out_)
{
    .reg .b64 line, floats, layers, volume, to, w;
    .reg .b32 t, a, b, c, at, layer, low;
    .reg .b16 h, g;
    .reg .f32 f, e;
    ld.param.u64 line, [line_];
    ld.param.u64 floats, [floats_];
    ld.param.u64 layers, [layers_];
    ld.param.u64 volume, [volume_];
    ld.param.u64 to, [out_];
    mov.u32 t, %tid.x;
    mad.wide.u32 to, t, 16, to;
    and.b32 low, t, 3;
    shl.b32 at, low, 2;
    suld.b.1d.b32.trap a, [line, {at}];
    st.global.b32 [to], a;
    bar.sync 0;
    sured.b.add.1d.u32.trap [line, {at}], t;
    sured.b.min.1d.s32.clamp [line, {400}], -5;
    sured.p.max.1d.b32.zero [line, {5}], t;
    sured.p.max.1d.b32.zero [line, {55}], t;
    sured.b.or.1d.b32.trap [line, {24}], t;
    sured.b.and.1d.b32.trap [line, {28}], t;
    cvt.u64.u32 w, t;
    sured.b.add.1d.u64.trap [line, {32}], w;
    cvt.rn.f32.u32 f, t;
    mul.f32 e, f, 0f3E800000;
    shr.u32 b, t, 2;
    mov.b32 a, f;
    mov.b32 c, e;
    sust.p.2d.v2.b32.zero [floats, {low, b}], {a, c};
    sust.b.a1d.b16.zero [layers, {b, at}], 17;
    shl.b32 c, low, 1;
    sust.b.a1d.b8.zero [layers, {b, c}], 200;
    bar.sync 0;
    suld.b.a1d.cg.v2.b8.clamp {h, g}, [layers, {b, c}];
    cvt.u32.u16 a, h;
    st.global.b32 [to+4], a;
    cvt.u32.u16 a, g;
    st.global.b32 [to+8], a;
    shl.b32 c, low, 3;
    sust.b.3d.b64.trap [volume, {c, b, 1, 1}], to;
    sust.b.3d.cs.b64.trap [volume, {c, b, 1, 1}], w;
    suld.b.3d.b64.trap w, [volume, {c, b, 1, 1}];
    cvt.u32.u64 a, w;
    st.global.b32 [to+12], a;
    ret;
}
'''


def surfaces():
    """Loads, stores and reductions of surfaces; 16 threads."""
    line = [r.between(-9, 9) for _ in range(10)]
    after = list(line)
    for t in range(THREADS):
        after[t % 4] += t
        # 400 is beyond the end, and the last word is meant.
        after[9] = min(after[9], -5)
        after[5] = max(after[5], t)
        after[6] |= t
        after[7] &= t
    before = list(line)
    whole = (after[8] & 0xffffffff | (after[9] & 0xffffffff) << 32) + sum(range(THREADS))
    after[8], after[9] = record.wrap('s32', whole), record.wrap('s32', whole >> 32)
    floats = [f32(t / part) for t in range(THREADS) for part in (1, 4)]
    layers = bytearray(r.bits(8) for _ in range(4 * 16))
    old = bytes(layers)
    for t in range(THREADS):
        place = t // 4 * 16 + t % 4 * 4
        layers[place:place + 2] = b'\x11\0'
    for t in range(THREADS):
        layers[t // 4 * 16 + t % 4 * 2] = 200
    volume = [r.bits(32) for _ in range(4 * 4 * 2 * 2)]
    filled = list(volume)
    for t in range(THREADS):
        filled[32 + 2 * t:32 + 2 * t + 2] = [t, 0]
    out = []
    for t in range(THREADS):
        pair = layers[t // 4 * 16 + t % 4 * 2:][:2]
        out += [before[t % 4], pair[0], pair[1], t]
    case('surface_forms', 'textures_forms', [1], [THREADS], [
        Image('surface', 's32', [10], line, after=after),
        Image('surface', 'f16', [4, 4], [0.0] * 32, 2, after=floats),
        Image('surface', 'u8', [16], old, layers=4, after=layers),
        Image('surface', 'u32', [4, 4, 2], volume, 2, after=filled), Result('u32', out)])


def write_ptx():
    listed = [('textures_forms', HEAD, [unified()], SURFACES),
              ('textures_variables', HEAD + '\n.global .texref the_photo;\n.global .texref the_rows;\n.global .texref the_spare;\n.global .surfref the_surface;\n', [named()], ''),
              ('textures_parameters', HEAD + '\n.global .texref the_spare;\n', [parameters(), parameters_again()], ''),
              ('textures_sampler_parameters', HEAD.replace('sm_90', 'sm_90, texmode_independent') + '\n.global .samplerref plain;\n', [sampler_parameters()], ''),
              ('debugger_textures', HEAD.replace('sm_90', 'sm_75, debug') + '\n.global .texref the_rows;\n.global .texref the_photo;\n.global .texref the_spare;\n' + LOOK, [functions_named(), functions_given()],
               '\n.section .debug_info\n{\n\t.b8 0\n}\n'),
              ('textures_samplers', HEAD.replace('sm_90', 'sm_90, texmode_independent') + '\n.global .samplerref plain;\n', [independent()], '')]
    for name, head, kernels, rest in listed:
        with open(os.path.join(record.ROOT, name + '.ptx'), 'w') as file:
            file.write(head + ''.join(kernel.text() for kernel in kernels) + rest)


def given():
    return [Given('f32', sum(FLOATS, [])), Given('s32', sum(INTEGERS, []))]


def left(forms):
    return Result('u32', sum(forms.expected, []))


surfaces()
case('texture_forms', 'textures_forms', [1], [THREADS], [
    ROWS.argument(), PHOTO.argument(), HALVES.argument(), STACK.argument(), BODY.argument(), CUBES.argument(),
    *given(), left(unified())])
case('texture_variables', 'textures_variables', [1], [THREADS], [*given(), left(named())],
     bind={'the_photo': PHOTO.argument(), 'the_rows': ROWS.in_memory().argument(), 'the_spare': SPARE.argument(),
           'the_surface': PHOTO.argument('surface')})
case('texture_samplers', 'textures_samplers', [1], [THREADS], [
    PHOTO.argument(), ROWS.argument(), Sampler(normalized=True, address=['wrap']), *given(), left(independent())],
     bind={'plain': Sampler()})
floats, integers = given()
case('texture_parameters', 'textures_parameters', [1], [THREADS], [
    floats, PHOTO.argument(), integers, ROWS.in_memory().argument(), left(parameters()), PHOTO.argument('surface'), SPARE.argument()],
     bind={'the_spare': SPARE.argument()})
case('texture_parameters_again', 'textures_parameters', [1], [THREADS], [
    floats, PHOTO.argument(), integers, SPARE.argument(), left(parameters_again()), PHOTO.argument('surface')],
     bind={'the_spare': SPARE.argument()})
case('texture_sampler_parameters', 'textures_sampler_parameters', [1], [THREADS], [
    floats, PHOTO.argument(), integers, Sampler(normalized=True, address=['wrap']), left(sampler_parameters())],
     bind={'plain': Sampler()})
BOUND = {'the_rows': ROWS.in_memory().argument(), 'the_photo': PHOTO.argument(), 'the_spare': SPARE.argument()}
case('debugger_textures_named', 'debugger_textures', [1], [THREADS], [floats, integers, left(functions_named())], bind=BOUND)
case('debugger_textures_given', 'debugger_textures', [1], [THREADS], [
    Scalar('u64', 1), SPARE.argument(), Scalar('u64', 2), floats, integers, left(functions_given())], bind=BOUND)
