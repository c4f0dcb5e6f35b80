"""Cases of textures that are read at a level that derivatives give, of what may be asked of textures, samplers and surfaces,
and of samplers that only some lanes name.

The level is the logarithm of the larger distance, in texels of the finest level, between neighbouring points; the nearest
level is read. Inputs are drawn so that no form is near a border between levels or texels."""
import math
import os

import record
from record import Given, Image, Random, Sampler, case, f32
from textures import HEAD, THREADS, Forms, Texture, bits, face, halves, left, words

r = Random(91)


class Pyramid:
    """A texture with levels, each half as large as the one before; numbers that halves hold exactly."""

    def __init__(self, size, levels, channels=1, layers=1, kind='f32', number=lambda: r.between(-512, 512) / 8, layout=None):
        self.sizes = [[max(n >> level, 1) for n in size] for level in range(levels)]
        count = channels * layers
        self.levels = [Texture(kind, s, [number() for _ in range(math.prod(s) * count)], channels, layers, normalized=True)
                       for s in self.sizes]
        self.kind, self.channels, self.layers, self.layout = kind, channels, layers, layout

    def argument(self):
        first = self.levels[0]
        whole = Texture(self.kind, first.given, sum((level.values for level in self.levels), []), self.channels, self.layers, normalized=True,
                        layout=self.layout)
        return whole.argument(levels=len(self.levels))

    def near(self, squares):
        """The level for the larger of two squared distances; `None` near a border."""
        level = math.log2(max(squares)) / 2 + 0.5
        if abs(level - round(level)) < 0.05 and 0 < round(level) < len(self.levels):
            return None
        return self.levels[min(max(math.floor(level), 0), len(self.levels) - 1)]

    def at(self, gradients, scaled=True):
        size = self.sizes[0]
        return self.near([sum((g * (n if scaled else 1)) ** 2 for g, n in zip(gradient, size)) for gradient in gradients])

    def on_cube(self, direction, gradients):
        major = max(range(3), key=lambda axis: abs(direction[axis]))
        largest = direction[major]
        half = self.sizes[0][0] / 2
        places = [[(g[axis] * largest - direction[axis] * g[major]) / largest ** 2 for axis in range(3) if axis != major] for g in gradients]
        return self.near([sum((part * half) ** 2 for part in place) for place in places])


LINE = Pyramid([32], 4)
LINES = Pyramid([16], 3, channels=2, layers=3)
PLANE = Pyramid([16, 8], 4, channels=4)
PLANES = Pyramid([8, 8], 3, layers=3)
BODY = Pyramid([8, 8, 4], 3, channels=2)
CUBE = Pyramid([8, 8], 3, layers=6, layout='cube')
CUBES = Pyramid([4, 4], 2, channels=2, layers=12, layout='cube')
# Fetches from lines with whole coordinates find texels in plain memory only.
TEXTURES = {'memory': LINE.levels[0].in_memory(), 'line': LINE, 'lines': LINES, 'plane': PLANE, 'planes': PLANES, 'body': BODY, 'cube': CUBE, 'cubes': CUBES}


def drawn():
    """Coordinates, a number to compare with, a direction, derivatives; nothing where a form would be near a border."""
    places = [(r.below(n) + 0.3) / n for n in (32, 16, 8)]
    direction = [r.single(-2, 2) for _ in range(3)]
    steps = [[f32(2.0 ** r.single(-7, 0) * (1 - 2 * r.below(2))) for _ in range(3)] for _ in 'xy']
    largest, second = sorted(map(abs, direction))[:0:-1]
    number, *on_face = face(*direction)
    if largest < 1.05 * second or any(not 0.05 < c * n % 1 < 0.95 for c in on_face for n in (8, 4, 2)):
        return None
    flat = [LINE, LINES, PLANE, PLANES, BODY]
    found = [p.at(steps) for p in flat] + [p.at([[32 * g for g in step] for step in steps], False) for p in flat]
    found += [p.on_cube(direction, steps) for p in (CUBE, CUBES)]
    if None in found:
        return None
    return [f32(p) for p in places], r.between(-400, 400) / 8, direction, steps, (number, on_face)


POINTS = []
while len(POINTS) < THREADS:
    point = drawn()
    if point:
        POINTS.append(point)
WHOLE = [[r.between(-1, 7) for _ in range(3)] + [r.below(4)] for _ in range(THREADS)]

LOADS = '''    .reg .f32 gx<3>, gy<3>, ix<3>, iy<3>, none;
    mad.wide.u32 from, t, 32, steps;
    ld.global.v4.f32 {gx0, gx1, gx2, none}, [from];
    ld.global.v4.f32 {gy0, gy1, gy2, none}, [from+16];
''' + ''.join(f'    mul.f32 i{d}{n}, g{d}{n}, 0f42000000;\n' for d in 'xy' for n in range(3))
FLAT = {'1d': '{gx0}, {gy0}', '2d': '{gx0, gx1}, {gy0, gy1}', '3d': '{gx0, gx1, gx2, none}, {gy0, gy1, gy2, none}'}


class Gradients(Forms):
    """A kernel of such fetches; with samplers apart it names one behind each texture."""

    def __init__(self, name, sampler=''):
        super().__init__(name, THREADS, [*TEXTURES, *(['smooth'] if sampler else []), 'steps'], LOADS)
        self.sampler = sampler

    def flat(self, ty, name, geometry, integers=False, offset=None, depth=False):
        texture, dimensions = TEXTURES[name], int(geometry[-2])
        if integers and geometry == '1d':
            name = 'memory'
        layered, out = geometry[0] == 'a', ty.split('.')[-1]

        def texel(t):
            places, _, _, steps, _ = POINTS[t]
            layer, scale = (WHOLE[t][3] if layered else 0), (32 if integers else 1)
            level = texture.at([[scale * g for g in step[:dimensions]] for step in steps], not integers)
            offsets = (offset or []) + [0] * 3
            if name == 'memory':
                return texture.levels[0].load_inside(*WHOLE[t][:dimensions], offsets=offsets)
            if integers:
                return level.load_inside(*WHOLE[t][:dimensions], layer=layer, offsets=offsets)
            return level.nearest(*places[:dimensions], layer=layer, offsets=offsets)

        at = ['layer'] * layered + (['i', 'j', 'k'] if integers else ['u', 'v', 's'])[:dimensions]
        at += ['none' if not integers else 'i'] * ((4 if len(at) == 3 else len(at)) - len(at))
        steps = FLAT[geometry[-2:]]
        if integers:
            steps = steps.replace('gx', 'ix').replace('gy', 'iy')
        rest = f', {steps}'
        if offset:
            offset = offset + [0] * (dimensions - len(offset))
            rest += ', {' + ', '.join(map(str, offset + [0] * (dimensions == 3))) + '}'
        rest += ', depth' if depth else ''
        self.fetch_as(f'tex.grad.{geometry}', ty, 's32' if integers else 'f32', f'{name}{self.sampler}, {{{", ".join(at)}}}', rest, texel)

    def round(self, ty, name, layered=False, depth=False):
        texture = TEXTURES[name]

        def texel(t):
            _, _, direction, steps, (number, place) = POINTS[t]
            layer = min(WHOLE[t][3], texture.layers // 6 - 1) if layered else 0
            return texture.on_cube(direction, steps).nearest(*place, layer=6 * layer + number)

        at = ('layer, x, y, z' if layered else 'x, y, z, none')
        rest = ', ' + FLAT['3d'] + (', depth' if depth else '')
        self.fetch_as('tex.grad.acube' if layered else 'tex.grad.cube', ty, 'f32', f'{name}{self.sampler}, {{{at}}}', rest, texel)

    def fetch_as(self, form, ty, coordinate, where, rest, texel):
        pairs = lambda t: [a | b << 16 for a, b in [halves(texel(t))[n:n + 2] for n in (0, 2)]]
        if ty == 'v4.f32':
            self.fetch(f'{form}.v4.f32.{coordinate}', where, lambda t: words(texel(t)), rest)
        elif ty == 'v4.f16':
            self.add(f'{form}.v4.f16.{coordinate} {{h0, h1, h2, h3}}, [{where}]{rest};\n    mov.b32 w0, {{h0, h1}};\n    mov.b32 w1, {{h2, h3}};', pairs)
        else:
            self.add(f'{form}.v2.f16x2.{coordinate} {{w0, w1}}, [{where}]{rest};', pairs)


def every(name, sampler=''):
    """All kinds: those of the machine, and those whose level is computed."""
    f = Gradients(name, sampler)
    types = ['v4.f32', 'v4.f16', 'v2.f16x2']
    for n, (texture, geometry) in enumerate([('line', '1d'), ('plane', '2d'), ('lines', 'a1d'), ('planes', 'a2d')]):
        f.flat('v4.f32', texture, geometry)
        f.flat(types[n % 3], texture, geometry, depth=True)
        f.flat(types[(n + 1) % 3], texture, geometry, offset=[1, -1][:int(geometry[-2])], depth=True)
        f.flat(types[(n + 2) % 3], texture, geometry, integers=True)
        f.flat(types[n % 3], texture, geometry, integers=True, offset=[-1, 1][:int(geometry[-2])])
    for ty in types:
        f.flat(ty, 'body', '3d', offset=[1, -1, 1] if ty == 'v4.f16' else None)
        f.flat(ty, 'body', '3d', integers=True, offset=[-1, 0, 1] if ty == 'v4.f32' else None)
        f.round(ty, 'cube', depth=ty == 'v4.f16')
        f.round(ty, 'cubes', layered=True, depth=ty == 'v2.f16x2')
    f.round('v4.f32', 'cube', depth=True)
    for texture, geometry in [('line', '1d'), ('plane', '2d'), ('lines', 'a1d'), ('planes', 'a2d')]:
        f.flat('v2.f16x2', texture, geometry, depth=True)
        f.flat('v2.f16x2', texture, geometry, offset=[1, -1][:int(geometry[-2])])
        f.flat('v2.f16x2', texture, geometry, offset=[-1, 1][:int(geometry[-2])], depth=True)
    return f


SHADES = Texture('u8', [6, 5], [r.bits(8) for _ in range(90)], layers=3, linear=True, normalized=True, address='mirror', fractions=True)
SIGNED = Texture('s16', [6, 5], [r.between(-99, 99) for _ in range(120)], channels=4, address='border')
TEXTURE_PROPERTIES = ['channel_data_type', 'channel_order', 'normalized_coords', 'array_size', 'num_mipmap_levels', 'num_samples',
                      'filter_mode', 'addr_mode_0', 'addr_mode_1', 'addr_mode_2']
SURFACE_PROPERTIES = ['channel_data_type', 'channel_order', 'array_size', 'memory_layout']
SAMPLER_PROPERTIES = ['force_unnormalized_coords', 'filter_mode', 'addr_mode_0', 'addr_mode_1', 'addr_mode_2']


def asked(form, name, properties, values):
    """Lines that ask for properties of one thing."""
    return [(f'{form}.{p}.b32 w0, [{name}];', v) for p, v in zip(properties, values)]


def properties(name, declared, questions, head=''):
    f = Forms(name, THREADS, declared, head)
    for line, value in questions:
        f.add(line, lambda t, value=value: [value])
    return f


def of_textures():
    # Numbers of OpenCL: unsigned bytes from 0 to 1 and single components, signed 16 bits and four, singles and two.
    return properties('texture_properties', ['shades', 'signed', 'lines', 'drawn'], [
        *asked('txq', 'shades', TEXTURE_PROPERTIES, [0x10d2, 0x10b0, 1, 3, 1, 1, 1, 1, 1, 1]),
        *asked('txq', 'the_signed', TEXTURE_PROPERTIES, [0x10d8, 0x10b5, 0, 1, 1, 1, 0, 4, 4, 4]),
        *asked('txq', 'lines', TEXTURE_PROPERTIES, [0x10de, 0x10b2, 1, 3, 3, 1, 0, 3, 3, 3]),
        *asked('suq', 'drawn', SURFACE_PROPERTIES, [0x10da, 0x10b0, 3, 0]),
        *asked('suq', 'the_surface', SURFACE_PROPERTIES, [0x10d8, 0x10b5, 1, 0])])


def of_samplers():
    return properties('sampler_properties', ['mixed', 'shades'], [
        *asked('txq', 'mixed', SAMPLER_PROPERTIES, [0, 1, 0, 1, 4]),
        *asked('txq', 'plain', SAMPLER_PROPERTIES, [1, 0, 3, 3, 3]),
        *asked('txq', 'shades', TEXTURE_PROPERTIES[:6], [0x10d2, 0x10b0, 1, 3, 1, 1])],
        # What handles of samplers hold on older chips is not known: this keeps them out.
        '    elect.sync _|p, -1;\n')


def of_lanes():
    """Each lane names a sampler and a texture of its own, in part of the warp and in a function."""
    first, second = TEXELS
    f = Forms('samplers_of_lanes', THREADS, ['first', 'second', 'clamped', 'bordered', 'wrapped'], '''    .reg .b64 texture, sampler;
    rem.u32 w0, t, 3;
    setp.eq.u32 p, w0, 0;
    selp.b64 sampler, clamped, bordered, p;
    setp.eq.u32 p, w0, 1;
    selp.b64 sampler, wrapped, sampler, p;
    setp.lt.u32 p, t, 9;
    selp.b64 texture, first, second, p;
    mul.f32 u, u, 0f40800000;
    sub.f32 u, u, 0f3FC00000;
''')

    def texel(t, modes):
        mode = modes[t % 3]
        texture = Texture('f32', [8, 8], (first if t < 9 else second).values, normalized=True, address=mode)
        return texture.nearest(f32(POINTS[t][0][0] * 4 - 1.5), POINTS[t][0][1])[0]

    modes = ['clamp', 'wrap', 'border']
    f.fetch('tex.2d.v4.f32.f32', 'texture, sampler, {u, v}', lambda t: words([texel(t, modes), 0, 0, 0]))
    f.lines.append('    setp.ge.u32 p, t, 11;\n    @p bra REST;')
    f.add('tex.2d.v4.f32.f32 {w0, _, _, _}, [texture, bordered, {u, v}];',
          lambda t: [0xaaaaaaaa] if t >= 11 else [bits(float(texel(t, ['border'] * 3)))])
    f.lines.append('REST:')
    f.add('''{
    .param .b32 found;
    .param .b64 texture_;
    .param .b64 sampler_;
    .param .f32 at;
    st.param.b64 [texture_], texture;
    st.param.b64 [sampler_], sampler;
    st.param.f32 [at], v;
    call (found), along_diagonal, (texture_, sampler_, at);
    ld.param.b32 w0, [found];
    }''', lambda t: [bits(float(diagonal(t, modes)))])
    return f


def diagonal(t, modes):
    texture = Texture('f32', [8, 8], (TEXELS[0] if t < 9 else TEXELS[1]).values, normalized=True, address=modes[t % 3])
    return texture.nearest(POINTS[t][0][1], POINTS[t][0][1])[0]


DIAGONAL = '''
.func (.param .b32 found) along_diagonal(.param .b64 texture_, .param .b64 sampler_, .param .f32 at)
{
    .reg .b64 texture, sampler;
    .reg .f32 v;
    .reg .b32 w;
    ld.param.b64 texture, [texture_];
    ld.param.b64 sampler, [sampler_];
    ld.param.f32 v, [at];
    tex.2d.v4.f32.f32 {w, _, _, _}, [texture, sampler, {v, v}];
    st.param.b32 [found], w;
    ret;
}
'''
TEXELS = [Texture('f32', [8, 8], [r.single(-4, 4) for _ in range(64)]) for _ in range(2)]
VARIABLES = '\n.global .texref the_signed;\n.global .surfref the_surface;\n'


def write_ptx():
    apart = HEAD.replace('sm_90', 'sm_90, texmode_independent').replace('textures.py', 'gradients.py') + '\n.global .samplerref plain;\n'
    listed = [('textures_gradients', HEAD.replace('textures.py', 'gradients.py') + VARIABLES, [every('texture_gradients'), of_textures()]),
              ('textures_lanes', apart.replace('8.0', '8.0') + DIAGONAL, [of_lanes()]),
              ('textures_apart', apart, [every('texture_gradients_apart', ', smooth')]),
              ('textures_asked', apart, [of_samplers()])]
    for name, head, kernels in listed:
        with open(os.path.join(record.ROOT, name + '.ptx'), 'w') as file:
            file.write(head + ''.join(kernel.text() for kernel in kernels))


def given():
    floats = [[*places, reference, *direction, 0.5] for places, reference, direction, _, _ in POINTS]
    return [Given('f32', sum(floats, [])), Given('s32', sum(WHOLE, []))]


steps = Given('f32', [value for point in POINTS for step in point[3] for value in [*step, 0.0]])
pyramids = [p.argument() for p in TEXTURES.values()]
case('texture_gradients', 'textures_gradients', [1], [THREADS], [*pyramids, steps, *given(), left(every('texture_gradients'))])
case('texture_gradients_apart', 'textures_apart', [1], [THREADS],
     [*pyramids, Sampler(normalized=True), steps, *given(), left(every('texture_gradients_apart', ', smooth'))])
drawn_on = Image('surface', 'u8', [6, 5], SHADES.values, layers=3)
case('texture_properties', 'textures_gradients', [1], [THREADS],
     [SHADES.argument(), SIGNED.argument(), LINES.argument(), drawn_on, *given(), left(of_textures())],
     bind={'the_signed': SIGNED.argument(), 'the_surface': SIGNED.argument('surface')})
case('sampler_properties', 'textures_asked', [1], [THREADS],
     [Sampler(linear=True, normalized=True, address=['wrap', 'mirror', 'border']), SHADES.argument(), *given(), left(of_samplers())],
     bind={'plain': Sampler()})
case('samplers_of_lanes', 'textures_lanes', [1], [THREADS],
     [TEXELS[0].argument(), TEXELS[1].argument(), Sampler(normalized=True), Sampler(normalized=True, address=['border']),
      Sampler(normalized=True, address=['wrap']), *given(), left(of_lanes())], bind={'plain': Sampler()})
