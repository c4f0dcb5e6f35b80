"""Cases of every form that reads a texture at its finest level or at a given one: each geometry, with and without offsets and a
number to compare with (which changes nothing), of every type, with the sampler of the texture and with one apart."""
import os

import record
from gradients import Pyramid
from record import Given, Image, Random, Sampler, case, f32
from textures import HEAD, THREADS, Forms, face, halves, left, words

r = Random(96)
# Size, levels, channels, layers; and the kinds that a texture of signed and of unsigned integers has.
SHAPES = {'1d': ([32], 4, 1, 1, 's32', 'u16'), 'a1d': ([16], 3, 2, 3, 's16', 'u32'), '2d': ([8, 4], 3, 4, 1, 's8', 'u16'),
          'a2d': ([8, 4], 3, 2, 3, 's16', 'u8'), '3d': ([8, 4, 4], 3, 1, 1, 's16', 'u32'), 'cube': ([4, 4], 2, 2, 6, 's8', 'u8'),
          'acube': ([4, 4], 2, 1, 12, 's8', 'u16')}
SAMPLES, WIDTH, HEIGHT, STACKED = 4, 6, 4, 3


def integer(kind):
    return lambda: record.wrap(kind, r.bits(record.BITS[kind]))


class Dots:
    """A texture of several samples."""

    def __init__(self, kind, number, layers):
        self.kind, self.layers = kind, layers
        self.values = [number() for _ in range(layers * HEIGHT * WIDTH * SAMPLES)]

    def argument(self):
        more = {'layers': self.layers} if self.layers > 1 else {}
        return Image('texture', self.kind, [WIDTH, HEIGHT], self.values, samples=SAMPLES, **more)

    def texel(self, x, y, sample, layer):
        if not (0 <= x < WIDTH and 0 <= y < HEIGHT):
            return [0] * 4
        return [self.values[((layer * HEIGHT + y) * WIDTH + x) * SAMPLES + sample], 0, 0, 0]


TEXTURES = {}
for geometry, (size, levels, channels, layers, *kinds) in SHAPES.items():
    layout = 'cube' if 'cube' in geometry else None
    TEXTURES['f32', geometry] = Pyramid(size, levels, channels, layers, number=lambda: r.between(-512, 512) / 8, layout=layout)
    for ty, kind in zip(('s32', 'u32'), kinds):
        TEXTURES[ty, geometry] = Pyramid(size, levels, channels, layers, kind, integer(kind), layout)
for geometry, layers in ('2dms', 1), ('a2dms', STACKED):
    TEXTURES['f32', geometry] = Dots('f32', lambda: r.between(-512, 512) / 8, layers)
    for kind in ('s32', 'u32'):
        TEXTURES[kind, geometry] = Dots(kind, integer(kind), layers)
# Fetches from lines with whole coordinates find texels in plain memory only.
for ty in ('f32', 's32', 'u32'):
    TEXTURES[ty, 'memory'] = TEXTURES[ty, '1d'].levels[0].in_memory()
NAMES = {key: f'of_{key[0][0]}_{key[1]}' for key in TEXTURES}


def direction():
    """A direction whose place on its face is near no border of a texel, nor of the face; the face and the place."""
    while True:
        found = [r.single(-2, 2) for _ in range(3)]
        number, *place = face(*found)
        largest, second = sorted(map(abs, found))[:0:-1]
        clear = all(0.05 < (c * n + half) % 1 < 0.95 for c in place for n in (8, 4, 2) for half in (0, 0.5))
        if largest > 1.05 * second and clear and all(0.15 < c < 0.85 for c in place):
            return found, (number, place)


DIRECTIONS = [direction() for _ in range(THREADS)]
PLACES = [[f32((r.below(n) + 0.3) / n) for n in (32, 16, 8)] for _ in range(THREADS)]
REFERENCES = [r.between(-400, 400) / 8 for _ in range(THREADS)]
LEVELS = [r.below(5) + r.between(-1, 1) / 4 for _ in range(THREADS)]
WHOLE = [[r.between(-1, 7) for _ in range(3)] + [r.below(SAMPLES)] for _ in range(THREADS)]
# The level where coordinates are integers, and the layer of samples.
LOADS = f'    rem.u32 pad, t, {STACKED};\n'
OFFSETS = [1, -2, 1]


class Fetches(Forms):
    """A kernel of fetches; with samplers apart it names one behind each texture, another one where coordinates are integers."""

    def __init__(self, name, apart=False, samples=False):
        self.textures = [key for key in NAMES if key[1].endswith('ms') == samples]
        super().__init__(name, THREADS, [*(NAMES[key] for key in self.textures), *(['smooth', 'plain'] if apart else [])], LOADS)
        self.apart, self.count = apart, 0

    def sampler(self, coordinate):
        return '' if not self.apart else ', plain' if coordinate == 's32' else ', smooth'

    def spell(self, opcode, geometry, ty, coordinate):
        self.count += 1
        vector = 'v2' if ty == 'f16x2' else 'v4'
        return f'{opcode}.{geometry}.{vector}.{ty}.{coordinate}' + ('.uni' if self.count % 3 == 0 else '')

    def fetch_as(self, form, ty, where, rest, texel):
        pairs = lambda t: [a | b << 16 for a, b in [halves(texel(t))[n:n + 2] for n in (0, 2)]]
        if ty == 'f16x2':
            self.add(f'{form} {{w0, w1}}, [{where}]{rest};', pairs)
        elif ty == 'f16':
            self.add(f'{form} {{h0, h1, h2, h3}}, [{where}]{rest};\n    mov.b32 w0, {{h0, h1}};\n    mov.b32 w1, {{h2, h3}};', pairs)
        elif ty == 'f32':
            self.fetch(form, where, lambda t: words(texel(t)), rest)
        else:
            self.fetch(form, where, lambda t: [int(c) & 0xffffffff for c in texel(t)], rest)

    def one(self, mode, geometry, ty, coordinate='f32', offset=False, depth=False):
        key = (ty if ty in ('s32', 'u32') else 'f32'), geometry
        texture, layered, is_cube = TEXTURES[key], geometry[0] == 'a', geometry.endswith('cube')
        dimensions = 3 if is_cube else int(geometry.strip('a')[0])
        in_memory = geometry == '1d' and coordinate == 's32'
        if in_memory:
            key = key[0], 'memory'
        offsets = OFFSETS[:dimensions] if offset else [0] * dimensions

        def level_of(t):
            chosen = 0 if mode != '.level' or in_memory else t % STACKED if coordinate == 's32' else int(LEVELS[t] + 0.5)
            return texture.levels[min(chosen, len(texture.levels) - 1)]

        def texel(t):
            layer = WHOLE[t][3] if layered else 0
            if geometry.endswith('ms'):
                x, y = (at + o for at, o in zip(WHOLE[t], offsets))
                return texture.texel(x, y, WHOLE[t][3], t % STACKED if layered else 0)
            if is_cube:
                number, place = DIRECTIONS[t][1]
                return level_of(t).nearest(*place, layer=6 * min(layer, texture.layers // 6 - 1) + number)
            elif coordinate == 's32' and (not self.apart or geometry == '1d' or mode == '.level'):
                level = level_of(t)
                load = level.load_inside if mode == '.level' else level.load
                return load(*WHOLE[t][:dimensions], layer=layer, offsets=offsets)
            elif coordinate == 's32':
                # A sampler says what lies outside, not the form; it has the texel at the edge there.
                return level_of(t).load_inside(*WHOLE[t][:dimensions], layer=layer, offsets=offsets)
            else:
                return level_of(t).nearest(*PLACES[t][:dimensions], layer=layer, offsets=offsets)

        at = ['layer', 'pad'] if geometry == 'a2dms' else ['layer'] if layered or geometry == '2dms' else []
        at += (['x', 'y', 'z'] if is_cube else ['i', 'j', 'k'] if coordinate == 's32' else ['u', 'v', 's'])[:dimensions]
        at += at[-1:] * (len(at) == 3)
        rest = '' if mode != '.level' else ', 0' if in_memory else ', pad' if coordinate == 's32' else ', half'
        if offset:
            rest += ', {' + ', '.join(map(str, offsets + [0] * (dimensions == 3))) + '}'
        rest += ', depth' if depth else ''
        form = self.spell(f'tex{mode}', geometry, ty, coordinate)
        self.fetch_as(form, ty, f'{NAMES[key]}{self.sampler(coordinate)}, {{{", ".join(at)}}}', rest, texel)

    def gather(self, component, geometry, ty, offset=False, depth=False):
        key = (ty if ty in ('s32', 'u32') else 'f32'), geometry
        texture, layered, is_cube = TEXTURES[key], geometry[0] == 'a', geometry.endswith('cube')
        channel = 'rgba'.index(component)

        def texel(t):
            layer = WHOLE[t][3] if layered else 0
            level, offsets = texture.levels[0], OFFSETS[:2] if offset else (0, 0)
            if is_cube:
                number, place = DIRECTIONS[t][1]
                return level.gathered(*place, channel, layer=6 * min(layer, texture.layers // 6 - 1) + number)
            return level.gathered(*PLACES[t][:2], channel, layer=layer, offsets=offsets)

        at = ['layer'] * layered + (['x', 'y', 'z'] if is_cube else ['u', 'v'])
        at += at[-1:] * (len(at) == 3)
        rest = f', {{{OFFSETS[0]}, {OFFSETS[1]}}}' if offset else ''
        rest += ', depth' if depth else ''
        form = self.spell(f'tld4.{component}', geometry, ty, 'f32')
        self.fetch_as(form, ty, f'{NAMES[key]}{self.sampler("f32")}, {{{", ".join(at)}}}', rest, texel)


TYPES = ['f32', 'u32', 's32', 'f16', 'f16x2']


def every(name, mode, apart=False):
    """All forms at one level."""
    f = Fetches(name, apart)
    for flat in ['1d', '2d'], ['a1d', 'a2d'], ['3d', '3d']:
        for n, ty in enumerate(TYPES):
            one, other = flat[n % 2], flat[(n + 1) % 2]
            f.one(mode, one, ty)
            f.one(mode, other, ty, offset=True)
            f.one(mode, other, ty, 's32', offset=n % 2 == 0)
            f.one(mode, one, ty, 's32', offset=n % 2 == 1)
            if ty[0] == 'f' and flat[0] != '3d':
                f.one(mode, one, ty, depth=True)
                f.one(mode, other, ty, offset=True, depth=True)
    for geometry in ('cube', 'acube'):
        for ty in TYPES:
            f.one(mode, geometry, ty)
            if ty[0] == 'f':
                f.one(mode, geometry, ty, depth=True)
    return f


def samples(name, apart=False):
    """Textures of several samples, in a kernel of their own: the driver makes none for CUDA."""
    f = Fetches(name, apart, samples=True)
    for mode in ('', '.base'):
        for n, ty in enumerate(TYPES):
            f.one(mode, ['2dms', 'a2dms'][n % 2], ty, 's32')
            f.one(mode, ['a2dms', '2dms'][n % 2], ty, 's32', offset=True)
    return f


def gathers(name, apart=False):
    """Four texels at a time, of one component."""
    f = Fetches(name, apart)
    for n, geometry in enumerate(('2d', 'a2d', 'cube', 'acube')):
        for m, ty in enumerate(('f32', 'u32', 's32', 'f32')):
            f.gather('rgba'[(n + m) % 4], geometry, ty)
            if 'cube' not in geometry:
                f.gather('rgba'[(n + m + 1) % 4], geometry, ty, offset=True)
            if ty == 'f32':
                there = SHAPES[geometry][2]
                f.gather('rgba'[(n + m + 2) % there], geometry, ty, depth=True)
                if 'cube' not in geometry:
                    f.gather('rgba'[(n + m + 3) % there], geometry, ty, offset=True, depth=True)
    return f


# Reductions of 64 bits into pairs of words, in each number of directions; the sign bit is never set.
WIDE = '''
.visible .entry surface_extremes(.param .u64 line_, .param .u64 plane_, .param .u64 body_, .param .u64 given_)
{
    .reg .b64 line, plane, body, from, d;
    .reg .b32 t, x, y, z;
    ld.param.u64 line, [line_];
    ld.param.u64 plane, [plane_];
    ld.param.u64 body, [body_];
    ld.param.u64 from, [given_];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 8, from;
    ld.global.b64 d, [from];
    and.b32 x, t, 1;
    shr.u32 y, t, 1;
    and.b32 y, y, 1;
    and.b32 z, t, 2;
    sured.p.max.1d.b64.trap [line, {x}], d;
    sured.p.min.1d.b64.clamp [line, {99}], d;
    sured.p.min.2d.b64.zero [plane, {x, y}], d;
    sured.p.max.2d.b64.zero [plane, {7, y}], d;
    sured.p.max.3d.b64.trap [body, {x, y, 1, z}], d;
    sured.p.min.3d.b64.zero [body, {x, y, 0, z}], d;
    ret;
}
'''


def extremes():
    line, plane, body, given = ([r.bits(63) for _ in range(count)] for count in (4, 4, 8, THREADS))
    after = [list(line), list(plane), list(body)]
    for t, d in enumerate(given):
        after[0][t % 2] = max(after[0][t % 2], d)
        after[0][3] = min(after[0][3], d)
        at = t % 2 + 2 * (t // 2 % 2)
        after[1][at] = min(after[1][at], d)
        after[2][4 + at] = max(after[2][4 + at], d)
        after[2][at] = min(after[2][at], d)
    split = lambda values: [part for v in values for part in (v & 0xffffffff, v >> 32)]
    surfaces = [Image('surface', 'u32', size, split(before), 2, after=split(then))
                for size, before, then in zip(([4], [2, 2], [2, 2, 2]), (line, plane, body), after)]
    case('surface_extremes', 'texture_rows', [1], [THREADS], [*surfaces, Given('u64', given)])


FILES = {False: 'texture_rows', True: 'texture_rows_apart'}
KERNELS = {apart: [every(f'fetch{name}', '', apart), every(f'fetch_base{name}', '.base', apart), every(f'fetch_level{name}', '.level', apart),
                   gathers(f'gather{name}', apart), samples(f'fetch_samples{name}', apart)] for apart, name in ((False, ''), (True, '_apart'))}


def write_ptx():
    head = HEAD.replace('textures.py', 'fetches.py').replace('8.0', '8.1')
    for apart, name in FILES.items():
        target = head.replace('sm_90', 'sm_90, texmode_independent') if apart else head
        with open(os.path.join(record.ROOT, name + '.ptx'), 'w') as file:
            file.write(target + ''.join(kernel.text() for kernel in KERNELS[apart]) + ('' if apart else WIDE))


floats = [[*place, reference, *d[0], level] for place, reference, d, level in zip(PLACES, REFERENCES, DIRECTIONS, LEVELS)]
given = [Given('f32', sum(floats, [])), Given('s32', sum(WHOLE, []))]
for apart, kernels in KERNELS.items():
    for kernel in kernels:
        arguments = [TEXTURES[key].argument() for key in kernel.textures]
        samplers = [Sampler(normalized=True), Sampler()] if apart else []
        case(kernel.name, FILES[apart], [1], [THREADS], [*arguments, *samplers, *given, left(kernel)])
extremes()
