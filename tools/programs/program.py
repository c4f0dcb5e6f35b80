"""One random program: a kernel and a few functions, well typed, free of races and of what PTX leaves open, so that every
right compiler and every right machine gives the same bytes. The same seed gives the same program everywhere.

All threads of a block reach barriers and collectives together; what differs between lanes (branches, loops, exits, calls by
address) lies between them. Each thread owns a slot of global, shared and local memory; what threads share is written by one
commutative operation a word.

Every statement stands between the lines `//{` and `//}`, so that a program can be made smaller by whole statements."""
import random

from calls import Calls
from instructions import EDGES, PAIRS, PAIRS64, TABLES, needs
from shapes import SCRATCH, Shapes
from tiles import Tiles

POOL = {'r': 8, 'd': 4, 'h': 4, 'f': 5, 'e': 4, 'p': 4}
TYPES = {'r': 'b32', 'd': 'b64', 'h': 'b16', 'f': 'f32', 'e': 'f64', 'p': 'pred'}
BYTES = {'r': 4, 'd': 8, 'h': 2, 'f': 4, 'e': 8}
STRIDE = 192  # Of a thread's results: its pool, and 64 bytes to work in at the end.
WORDS = 64  # Of the input and of the table in constant memory.
BEGIN = '// Statements.'
END = '// What is left in the registers; a NaN is stored as one NaN.'
OPEN, CLOSE = '//{', '//}'
SHARED_OPERATIONS = ['add', 'min', 'max', 'and', 'or', 'xor']
CHIPS = [75, 80, 86, 90, 100, 120]

# How often each kind of statement is taken, and each group of instructions in straight code, and how many blocks in a hundred are of odd
# shapes. A share of 0 turns a kind off.
STATEMENTS = {
    'straight': 30, 'memory': 10, 'exchange': 9, 'call': 3, 'branch': 7, 'loop': 6, 'table': 2, 'exit': 1, 'chain': 12, 'carry': 4, 'crowd': 2,
    'arm': 4, 'array': 3, 'generic': 3, 'machine': 2, 'invariant': 5, 'masked': 3, 'meeting': 3, 'guarded': 2, 'matrix': 3, 'tile': 3, 'indirect': 6, 'structure': 3,
}
GROUPS = {
    'words': 16, 'video': 8, 'carries': 4, 'fields': 8, 'division': 4, 'wide': 8, 'short': 6, 'halves': 8, 'floats': 18, 'predicates': 12,
    'conversions': 8,
}
SHARES = STATEMENTS | GROUPS | {'odd_blocks': 35}

BLOCKS = [[32, 1, 1], [32, 1, 1], [64, 1, 1], [32, 2, 1], [96, 1, 1]]
ODD_BLOCKS = [[33, 1, 1], [40, 1, 1], [63, 1, 1], [65, 1, 1], [8, 4, 1], [5, 7, 1], [16, 2, 2], [3, 11, 2], [1, 32, 1], [7, 1, 5], [1, 1, 37], [50, 1, 1], [13, 3, 1]]
GRIDS = [[1, 1, 1], [1, 1, 1], [1, 1, 1], [2, 1, 1], [1, 2, 1], [1, 1, 2]]

# The rows of each group that a chip has.
ROWS = {chip: {name: [row for row in rows if needs(row[0]) <= chip] for name, rows in TABLES.items()} for chip in CHIPS}


class Program(Shapes, Tiles, Calls):
    def __init__(self, seed, chip=None, shares=None):
        self.random = random.Random(seed)
        self.seed = seed
        self.chip = chip or CHIPS[seed % len(CHIPS)]
        self.shares = SHARES | (shares or {})
        self.groups = [name for name in GROUPS if self.shares[name]]
        self.group_weights = [self.shares[name] for name in self.groups]
        self.labels = 0
        self.indent = 1
        self.temps = 0
        self.lines = []
        self.functions = []
        self.small_functions = []
        self.tables = []
        self.kinds = set()  # Of statements in it.
        self.block = self.random.choice(ODD_BLOCKS if self.random.random() * 100 < self.shares['odd_blocks'] else BLOCKS)
        self.grid = self.random.choice(GRIDS)
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.blocks = self.grid[0] * self.grid[1] * self.grid[2]
        self.all_alive = True
        self.in_function = False

    # Parts of statements.

    def emit(self, text):
        self.lines.append('    ' * self.indent + text)

    def label(self):
        self.labels += 1
        return f'L{self.labels}'

    def register(self, kind):
        return f'%{kind}{self.random.randrange(POOL[kind])}'

    def source(self, kind):
        low = kind.lower()
        if kind.isupper() or kind != 'i' and self.random.random() < 0.6:
            return self.register(low)
        if low == 'i':
            low = 'r'
        if low in 'fe':
            return self.random.choice(EDGES[low])
        bits = {'r': 32, 'd': 64, 'h': 16}[low]
        value = self.random.choice(EDGES[low]) if self.random.random() < 0.7 else self.random.getrandbits(bits)
        return str(value) if self.random.random() < 0.8 else hex(value)

    def guard(self):
        return f'@{self.random.choice(["", "!"])}{self.register("p")} ' if self.random.random() < 0.12 else ''

    # Statements.

    def instruction(self):
        if self.random.random() < 0.03:
            wide = self.random.random() < 0.5
            text = self.random.choice(PAIRS64 if wide else PAIRS)
            first, second = self.random.sample(range(POOL['p']), 2)
            kind = 'd' if wide else 'r'
            self.emit(self.guard() + text.format(f'%p{first}', f'%p{second}', self.source(kind.upper()), self.source(kind), self.register('p')) + ';')
            return
        group = self.random.choices(self.groups, self.group_weights)[0]
        text, destination, sources = self.random.choice(ROWS[self.chip][group])
        written = text.format(self.register(destination), *(self.source(kind) for kind in sources))
        if text.startswith('{'):
            self.emit(written)
        elif text.startswith(('testp', 'set.', 'v')):
            # A known compiler loses their guards.
            self.emit(written + ';')
        else:
            self.emit(self.guard() + written + ';')

    def straight(self, count):
        for _ in range(count):
            self.instruction()

    def do_memory(self, depth):
        """An access to what only this thread touches, or to what nobody writes."""
        which = self.random.randrange(11 if not self.in_function else 2)
        if which == 0:
            self.emit(f'and.b32 %at, {self.register("r")}, {WORDS - 4};')
            self.emit('mul.wide.u32 %place, %at, 4;')
            self.emit('mov.u64 %base, table; add.u64 %base, %base, %place;')
            self.emit(self.random.choice([f'ld.const.u32 {self.register("r")}, [%base+{4 * self.random.randrange(4)}];',
                                          f'ld.const.s8 {self.register("r")}, [%base+{self.random.randrange(16)}];',
                                          f'ld.const.u64 {self.register("d")}, [%base+8];']))
        elif which == 1:
            self.emit(f'ld.const.{self.random.choice(["u32", "s16", "u8"])} {self.register("r")}, [table+{4 * self.random.randrange(WORDS)}];')
        elif which == 8:
            # A narrow parameter, in 32 or 16 bits, alone or with a word that all lanes have.
            name, kinds = self.random.choice([('byte', ['s8', 'u8']), ('half', ['s16', 'u16'])])
            to = self.register(self.random.choice('rh'))
            self.emit(f'ld.param.{self.random.choice(kinds)} {to}, [{name}];')
            if to[1] == 'r':
                a = self.register('r')
                self.emit(self.random.choice([f'prmt.b32 {to}, {to}, %given, {self.random.randrange(1 << 16)};', f'setp.{self.random.choice(["ne", "lt", "gt"])}.s32 {self.register("p")}, {to}, 0;',
                                              f'prmt.b32 {a}, {to}, {a}, {self.random.choice([0x7610, 0x3254, 0x8880, 0x9910])};', f'add.s32 {a}, {a}, {to};']))
        elif which in (9, 10):
            # Loads on both sides of a condition or on one, with or without something done with them.
            self.emit(f'and.b32 %at, {self.register("r")}, {WORDS - 4}; mul.wide.u32 %place, %at, 4; add.u64 %place, %place, %in;')
            other, join = self.label(), self.label()
            to = self.register('r')
            load = lambda: f'ld.global.{self.random.choice(["u32", "u32", "s16", "u8"])} {to}, [%place+{4 * self.random.randrange(4)}];'
            then = lambda: self.random.choice(['', '', f'not.b32 {to}, {to};', f'add.u32 {to}, {to}, {self.register("r")};', f'xor.b32 {to}, {to}, %thread;'])
            if which == 9:
                self.emit(f'@{self.maybe_not()}{self.condition()} bra {other};')
                self.emit(f'{load()} {then()} bra {join};')
                self.emit(f'{other}: {load()} {then()}')
            else:
                self.emit(f'{self.random.choice([load(), ""])} {then()}')
                self.emit(f'@{self.maybe_not()}{self.condition()} bra {join};')
                self.emit(f'{load()} {then()}')
            self.emit(f'{join}:')
        elif which in (2, 3):
            self.emit(f'and.b32 %at, {self.register("r")}, 12;')
            self.emit('mov.u32 %place32, frame; shl.b32 %at, %at, 2; add.u32 %place32, %place32, %at;')
            a, b = self.random.sample(range(POOL['r']), 2)
            self.emit(self.random.choice([f'st.local.v2.u32 [%place32+8], {{%r{a}, %r{b}}};', f'ld.local.v2.u32 {{%r{a}, %r{b}}}, [%place32];',
                                          f'st.local.u8 [%place32+{self.random.randrange(16)}], %r{a};', f'ld.local.s16 %r{a}, [%place32+2];',
                                          f'st.local.b64 [%place32], {self.register("d")};', f'ld.local.u32 %r{a}, [%place32+12];']))
        elif which == 4:
            space, base = self.random.choice([('shared', '%own'), ('', '%generic')])
            dot = '.' if space else ''
            a, b = self.random.sample(range(POOL['r']), 2)
            self.emit(self.random.choice([f'st{dot}{space}.u16 [{base}+{2 * self.random.randrange(8)}], {self.register("h")};',
                                          f'ld{dot}{space}.u32 %r{a}, [{base}+{4 * self.random.randrange(4)}];',
                                          f'st{dot}{space}.v4.u32 [{base}], {{%r{a}, %r{b}, %r{a}, 7}};',
                                          f'ld{dot}{space}.v2.u64 {{%d0, %d1}}, [{base}];',
                                          f'atom{dot}{space}.add.u32 %r{a}, [{base}+4], %r{b};',
                                          f'atom{dot}{space}.{self.random.choice(["inc", "dec"])}.u32 %r{a}, [{base}+12], %r{b};',
                                          f'atom{dot}{space}.cas.b64 {self.register("d")}, [{base}], {self.register("d")}, {self.register("d")};',
                                          f'atom{dot}{space}.{self.random.choice(["add.u64", "max.s64", "min.u64", "xor.b64"])} {self.register("d")}, [{base}+8], {self.register("d")};',
                                          f'atom{dot}{space}.exch.b64 {self.register("d")}, [{base}+8], {self.register("d")};']))
        elif which in (5, 6):
            a, b = self.random.sample(range(POOL['r']), 2)
            at = SCRATCH + 4 * self.random.randrange(8)
            self.emit(self.random.choice([f'st.global.u32 [%slot+{at}], %r{a};', f'ld.global.u32 %r{a}, [%slot+{at}];',
                                          f'st.global.u8 [%slot+{at + 1}], %r{a};', f'ld.global.s8 %r{a}, [%slot+{at + 3}];',
                                          f'atom.global.max.s32 %r{a}, [%slot+{at}], %r{b};', f'atom.global.cas.b32 %r{a}, [%slot+{at}], %r{a}, %r{b};',
                                          f'ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%slot+{SCRATCH + 16}];',
                                          f'st.volatile.global.u16 [%slot+{at}], {self.register("h")};',
                                          f'st.global.v2.f64 [%slot+{SCRATCH + 32}], {{0d3FF8000000000000, 0dC008000000000000}};']))
        else:
            slot = self.random.randrange(len(SHARED_OPERATIONS))
            space, base, kind = self.random.choice([(space, base, kind) for space, base in [('global', '%all'), ('shared', '%both')] for kind in ['u32', 'u64']])
            operation = SHARED_OPERATIONS[slot]
            typed = operation if operation in ('add', 'min', 'max') else None
            bits = kind if typed else 'b' + kind[1:]
            value = self.register('r' if kind == 'u32' else 'd')
            # Lanes that add the same are combined in another way.
            value = self.random.choice([value, value, str(self.random.choice([1, 3, 255])), '%given' if kind == 'u32' else '0xfffffffff'])
            at = 4 * slot if kind == 'u32' else 32 + 8 * slot
            self.emit(f'{self.guard()}red.{space}.{operation}.{bits} [{base}+{at}], {value};')

    def whole(self):
        """Whether all warps have all their lanes."""
        return self.threads % 32 == 0 and self.all_alive

    def do_exchange(self, depth):
        self.exchange()

    def exchange(self):
        """Something that all lanes of a warp, or all threads of a block, do together."""
        whole = self.whole()
        which = self.random.randrange(9)
        r, s = self.register('r'), self.register('r')
        if which < 2:
            distance = self.random.randrange(1, self.threads)
            self.emit(f'st.shared.u32 [%own+{4 * self.random.randrange(4)}], {s};')
            self.emit('bar.sync 0;')
            self.emit(f'add.u32 %at, %tid0, {distance}; rem.u32 %at, %at, {self.threads}; shl.b32 %at, %at, 4;')
            self.emit('mov.u32 %place32, tile; add.u32 %place32, %place32, %at;')
            self.emit(f'ld.shared.u32 {r}, [%place32+{4 * self.random.randrange(4)}];')
            self.emit('bar.sync 0;')
        elif which == 2 and whole:
            mode, lane = self.random.choice([('bfly', self.random.randrange(32)), ('up', self.random.randrange(6)), ('down', self.random.randrange(6)),
                                             ('idx', self.random.randrange(32))])
            self.emit(f'shfl.sync.{mode}.b32 {r}|{self.register("p")}, {s}, {lane}, {0 if mode == "up" else 31}, 0xffffffff;')
        elif which == 3 and whole:
            self.emit(f'and.b32 %at, {s}, 31;')
            self.emit(f'shfl.sync.idx.b32 {r}, {self.register("r")}, %at, 31, 0xffffffff;')
        elif which == 4:
            self.emit(f'vote.sync.ballot.b32 {r}, {self.register("p")}, 0xffffffff;')
        elif which == 5:
            self.emit(f'vote.sync.{self.random.choice(["all", "any", "uni"])}.pred {self.register("p")}, {self.register("p")}, 0xffffffff;')
        elif which == 6 and self.chip >= 80:
            self.emit(f'redux.sync.{self.random.choice(["add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"])} {r}, {s}, 0xffffffff;')
        elif which == 7:
            self.emit(f'and.b32 %at, {s}, 3;')
            self.emit(f'match.any.sync.b32 {r}, %at, 0xffffffff;')
        else:
            self.emit(self.random.choice([f'bar.red.popc.u32 {r}, 0, {self.register("p")};', f'bar.red.and.pred {self.register("p")}, 1, {self.register("p")};',
                                          f'bar.red.or.pred {self.register("p")}, 0, !{self.register("p")};', 'bar.warp.sync 0xffffffff;']))

    def do_call(self, depth):
        name, results = self.random.choice(self.functions)
        if results == 'param':
            r, d, s = self.register('r'), self.register('d'), self.register('r')
            self.emit('{')
            self.emit('.param .b32 a; .param .b64 b; .param .b32 c;')
            self.emit(f'st.param.b32 [a], {r}; st.param.b64 [b], {d};')
            self.emit(f'call.uni (c), {name}, (a, b);' if self.uniform else f'call (c), {name}, (a, b);')
            self.emit(f'ld.param.b32 {s}, [c];')
            self.emit('}')
        else:
            self.emit(f'{self.guard()}call ({self.register("f")}), {name}, ({self.register("f")}, {self.register("r")});')

    def do_straight(self, depth):
        self.straight(self.random.randrange(1, 4))

    def possible(self, depth):
        """The kinds of statements that may stand here, with their shares."""
        kinds = {name: share for name, share in self.shares.items() if name in STATEMENTS and share}
        without = []
        if depth >= 3:
            without += ['branch', 'loop', 'table', 'exit', 'crowd', 'machine', 'invariant', 'masked', 'meeting', 'guarded', 'matrix', 'tile']
        if not self.uniform:
            without += ['exchange', 'masked', 'meeting', 'guarded', 'matrix', 'tile']
        if not self.whole():
            without += ['matrix', 'tile']
        if self.in_function:
            without.append('generic')
        if self.in_function or depth:
            without.append('exit')
        if not self.functions:
            without.append('call')
        if not self.tables:
            without.append('indirect')
        if not any(kind != 'warp' for kind, _ in self.small_functions):
            without.append('structure')
        return {name: share for name, share in kinds.items() if name not in without} or {'straight': 1}

    def statements(self, count, depth):
        for _ in range(count):
            if len(self.lines) > self.longest:
                return
            kinds = self.possible(depth)
            kind = self.random.choices(list(kinds), list(kinds.values()))[0]
            self.kinds.add(kind)
            self.emit(OPEN)
            self.indent += 1
            getattr(self, 'do_' + kind)(depth)
            self.indent -= 1
            self.emit(CLOSE)

    def do_branch(self, depth):
        # Lanes part, or all go by a number that the launch gives.
        uniform = self.uniform
        together = uniform and self.random.random() < 0.3
        condition = self.condition()
        if together:
            self.emit(f'and.b32 %at, %given, {1 << self.random.randrange(8)};')
            self.emit('setp.ne.u32 %q0, %at, 0;')
            condition = '%q0'
        self.uniform = together
        other, join = self.label(), self.label()
        two = self.random.random() < 0.6
        self.emit(f'@{self.maybe_not()}{condition} bra {other if two else join};')
        self.inside(depth)
        if two:
            self.emit(f'bra {join};')
            self.emit(f'{other}:')
            self.inside(depth)
        self.emit(f'{join}:')
        self.uniform = uniform

    def do_loop(self, depth):
        # A few rounds, the same for all or not. It counts down or up, by steps, and is tested at its start or its end.
        r, uniform = self.random, self.uniform
        together = uniform and r.random() < 0.5
        top, end, counter, again = self.label(), self.label(), self.temp('r'), self.temp('p')
        if not together:
            self.emit(f'and.b32 {counter}, {self.register("r")}, 3;')
        elif r.random() < 0.5:
            self.emit(f'mov.u32 {counter}, {r.randrange(1, 4)};')
        else:
            self.emit(f'and.b32 {counter}, %given, 3;')
        self.uniform = together
        way = r.randrange(4)
        if way == 0:
            # While.
            self.emit(f'{top}:')
            self.emit(f'setp.eq.u32 {again}, {counter}, 0;')
            self.emit(f'@{again} bra {end};')
        elif way == 1:
            # Up to a bound, by steps.
            bound, step = self.temp('r'), r.choice([1, 3, 7, 0x10000])
            self.emit(f'mul.lo.u32 {bound}, {counter}, {step}; mov.u32 {counter}, 0;')
            if r.random() < 0.6:
                self.emit(f'setp.ge.s32 {again}, {counter}, {bound};')
                self.emit(f'@{again} bra {end};')
            self.emit(f'{top}:')
        else:
            if way == 2:
                self.emit(f'max.u32 {counter}, {counter}, 1;')
            else:
                # Up to zero.
                self.emit(f'not.b32 {counter}, {counter};')
            self.emit(f'{top}:')
        self.inside(depth)
        if not together and r.random() < 0.4:
            self.emit(f'@{self.register("p")} bra {end};')
            self.inside(depth)
        if way == 0:
            self.emit(f'sub.u32 {counter}, {counter}, 1;')
            self.emit(f'bra {top};')
        elif way == 1:
            self.emit(f'add.u32 {counter}, {counter}, {step};')
            self.emit(f'setp.lt.s32 {again}, {counter}, {bound};')
            self.emit(f'@{again} bra {top};')
        elif way == 2:
            self.emit(f'sub.u32 {counter}, {counter}, 1;')
            self.emit(f'setp.ne.u32 {again}, {counter}, 0;')
            self.emit(f'@{again} bra {top};')
        else:
            self.emit(f'add.s32 {counter}, {counter}, 1;')
            self.emit(f'setp.lt.s32 {again}, {counter}, 0;')
            self.emit(f'@{again} bra {top};')
        self.emit(f'{end}:')
        self.uniform = uniform

    def do_table(self, depth):
        # A jump by a table.
        uniform = self.uniform
        cases = [self.label() for _ in range(self.random.randrange(2, 5))]
        join, table = self.label(), self.label()
        self.uniform = False
        self.emit(f'rem.u32 %at, {self.register("r")}, {len(cases)};')
        self.emit(f'{table}: .branchtargets {", ".join(cases)};')
        self.emit(f'brx.idx %at, {table};')
        for case in cases:
            self.emit(f'{case}:')
            self.straight(self.random.randrange(1, 3))
            if self.random.random() < 0.7:
                self.emit(f'bra {join};')
        self.emit(f'{join}:')
        self.uniform = uniform

    def do_exit(self, depth):
        # Some threads end here.
        skip = self.label()
        self.emit(f'@{self.register("p")} bra {skip};')
        self.emit(f'st.global.u32 [%slot+{SCRATCH + 60}], {self.random.getrandbits(31)};')
        self.emit(self.random.choice(['exit;', 'ret;']))
        self.emit(f'{skip}:')
        self.all_alive = False

    def inside(self, depth):
        self.indent += 1
        self.statements(self.random.randrange(1, 4), depth + 1)
        self.indent -= 1

    # The whole.

    def declare_pool(self):
        for kind, count in POOL.items():
            self.emit(f'.reg .{TYPES[kind]} %{kind}<{count}>;')
        self.emit('.reg .pred %q<2>;')
        self.emit('.reg .b32 %at, %place32;')
        self.emit('.reg .b64 %place, %base;')

    def fill_pool(self, word, wide):
        """Gives every register of the pool a value: `word(i)` and `wide(i)` load words of 32 and 64 bits."""
        for i in range(POOL['r']):
            self.emit(word(f'%r{i}', i))
        for i in range(POOL['d']):
            self.emit(wide(f'%d{i}', i))
        for i in range(POOL['h']):
            self.emit(f'cvt.u16.u32 %h{i}, %r{i};')
        for i in range(POOL['f']):
            self.emit(f'cvt.rn.f32.s32 %f{i}, %r{i};' if i % 2 else f'mov.b32 %f{i}, %r{i};')
        for i in range(POOL['e']):
            self.emit(f'cvt.rn.f64.s64 %e{i}, %d{i};' if i % 2 else f'mov.b64 %e{i}, %d{i};')
        for i in range(POOL['p']):
            self.emit(f'setp.{self.random.choice(["lt.s32", "gt.u32", "ne.u32"])} %p{i}, %r{i}, {self.random.choice(EDGES["r"])};')

    def function(self, index):
        self.in_function, self.uniform = True, False
        by_param = index % 2 == 0
        name = f'f{index}'
        if by_param:
            self.lines.append(f'.func (.param .b32 result) {name}(.param .b32 x, .param .b64 y)')
        else:
            self.lines.append(f'.func (.reg .f32 result) {name}(.reg .f32 x, .reg .b32 y)')
        self.lines.append('{')
        self.declare_pool()
        if by_param:
            self.emit('ld.param.b32 %r0, [x]; ld.param.b64 %d0, [y];')
        else:
            self.emit('mov.b32 %r0, y; cvt.rzi.s64.f32 %d0, x;')
        for i in range(1, POOL['r']):
            self.emit(f'mad.lo.u32 %r{i}, %r{i - 1}, 1664525, 1013904223;')
        for i in range(1, POOL['d']):
            self.emit(f'mad.lo.u64 %d{i}, %d{i - 1}, 6364136223846793005, 1442695040888963407;')
        self.fill_pool(lambda d, i: f'mov.u32 {d}, {d};', lambda d, i: f'mov.u64 {d}, {d};')
        if not by_param:
            self.emit('mov.f32 %f1, x;')
        self.emit(BEGIN)
        self.longest = len(self.lines) + 60
        self.statements(self.random.randrange(3, 8), 1)
        self.emit(END)
        if by_param:
            self.emit(f'xor.b32 %r0, {self.register("r")}, {self.register("r")};')
            self.emit('st.param.b32 [result], %r0;')
        else:
            self.emit(f'add.rn.f32 result, {self.register("f")}, {self.register("f")};')
        self.emit('ret;')
        self.lines += ['}', '']
        self.functions.append((name, 'param' if by_param else 'register'))
        self.in_function = False

    def kernel(self):
        self.lines.append('.visible .entry k(.param .u64 input, .param .u64 output, .param .u64 sums, .param .u32 given, .param .u8 byte, .param .u16 half)')
        if self.random.random() < 0.3:
            self.lines.append(f'.{self.random.choice(["maxntid", "reqntid"])} {", ".join(map(str, self.block))}')
        self.lines.append('{')
        self.declare_pool()
        self.emit('.reg .b64 %slot, %all, %in, %generic;')
        self.emit('.reg .b32 %own, %both, %tid0, %thread, %given;')
        self.emit(f'.shared .align 16 .b8 tile[{16 * self.threads}];')
        self.emit('.shared .align 16 .b8 shared_sums[80];')
        self.emit('.local .align 16 .b8 frame[64];')
        self.emit('ld.param.u64 %in, [input]; ld.param.u64 %slot, [output]; ld.param.u64 %all, [sums]; ld.param.u32 %given, [given];')
        self.emit('mov.u32 %tid0, %tid.x;')
        if self.block[1:] != [1, 1]:
            self.emit('mov.u32 %at, %tid.z; mov.u32 %place32, %ntid.y; mov.u32 %thread, %tid.y; mad.lo.u32 %at, %at, %place32, %thread;')
            self.emit('mov.u32 %place32, %ntid.x; mad.lo.u32 %tid0, %at, %place32, %tid0;')
        self.emit(f'mov.u32 %at, %ctaid.{"xyz"[next((i for i in range(3) if self.grid[i] > 1), 0)]}; mad.lo.u32 %thread, %at, {self.threads}, %tid0;')
        self.emit(f'mad.wide.u32 %slot, %thread, {STRIDE}, %slot;')
        self.emit('mov.u32 %own, tile; shl.b32 %at, %tid0, 4; add.u32 %own, %own, %at; mov.u32 %both, shared_sums;')
        self.emit('cvt.u64.u32 %generic, %own; cvta.shared.u64 %generic, %generic;')
        self.emit('st.shared.v4.u32 [%own], {%tid0, %at, %thread, 5};')
        self.emit('setp.lt.u32 %q0, %tid0, 20; shl.b32 %at, %tid0, 2; add.u32 %at, %both, %at; @%q0 st.shared.u32 [%at], 0x0f0f1234;')
        self.emit('bar.sync 0;')
        for i in range(0, 64, 16):
            self.emit(f'st.local.v4.u32 [frame+{i}], {{%tid0, {i}, %given, %thread}};')
        # Each thread has words of its own out of the input.
        self.fill_pool(lambda d, i: f'add.u32 %at, %thread, {7 * i}; and.b32 %at, %at, {WORDS - 1}; mul.wide.u32 %place, %at, 4; '
                                    f'add.u64 %place, %place, %in; ld.global.u32 {d}, [%place];',
                       lambda d, i: f'mad.lo.u32 %at, %thread, 3, {11 * i}; and.b32 %at, %at, {WORDS // 2 - 1}; mul.wide.u32 %place, %at, 8; '
                                    f'add.u64 %place, %place, %in; ld.global.u64 {d}, [%place];')
        self.uniform = True
        self.emit(BEGIN)
        self.longest = len(self.lines) + 240
        self.statements(self.random.randrange(6, 24), 0)
        self.emit(END)
        at = 0
        for kind in 'defr':
            for i in range(POOL[kind]):
                if kind in 'fe':
                    nan = '0f7FC00000' if kind == 'f' else '0d7FF8000000000000'
                    self.emit(f'setp.nan.{TYPES[kind]} %q0, %{kind}{i}, %{kind}{i}; selp.{TYPES[kind]} %{kind}{i}, {nan}, %{kind}{i}, %q0;')
                self.emit(f'st.global.{TYPES[kind]} [%slot+{at}], %{kind}{i};')
                at += BYTES[kind]
        for i in range(POOL['p']):
            self.emit(f'selp.u32 %r0, {1 << i}, 0, %p{i}; {"mov.u32 %r1, 0; " if i == 0 else ""}or.b32 %r1, %r1, %r0;')
        self.emit(f'st.global.u32 [%slot+{at}], %r1;')
        at += 4
        for i in range(POOL['h']):
            self.emit(f'st.global.u16 [%slot+{at}], %h{i};')
            at += 2
        assert at <= SCRATCH
        self.emit('bar.sync 0;')
        self.emit('setp.lt.u32 %q0, %tid0, 20; shl.b32 %at, %tid0, 2; add.u32 %at, %both, %at; ld.shared.u32 %r0, [shared_sums];')
        self.emit('@%q0 ld.shared.u32 %r0, [%at]; @%q0 cvt.u64.u32 %place, %tid0; @!%q0 mov.u64 %place, 19;')
        self.emit('shl.b64 %place, %place, 2; add.u64 %place, %place, %all; @%q0 red.global.xor.b32 [%place+96], %r0;')
        self.emit('ret;')
        self.lines.append('}')

    def text(self):
        self.lines += [f'// Program {self.seed} of tools/programs.', '.version 8.7', f'.target sm_{self.chip}', '.address_size 64', '']
        words = ', '.join(str(self.random.choice(EDGES['r']) if self.random.random() < 0.5 else self.random.getrandbits(32)) for _ in range(WORDS + 8))
        self.lines += [f'.const .align 16 .u32 table[{WORDS + 8}] = {{{words}}};', '']
        if (self.shares['indirect'] or self.shares['structure']) and self.random.random() < 0.7:
            self.declare_tables()
        for index in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            self.function(index)
        self.kernel()
        return '\n'.join(self.lines) + '\n'

    def record(self, text=None):
        """The launch record, with the program in it."""
        text = text or self.text()
        words = b''.join((self.random.choice(EDGES['r']) if self.random.random() < 0.4 else self.random.getrandbits(32)).to_bytes(4, 'little')
                         for _ in range(WORDS))
        sums = b''.join(value.to_bytes(4, 'little') for value in [0, 0xffffffff, 0, 0xffffffff, 0, 0, 0, 0]) + bytes(8) + b'\xff' * 8 + bytes(8) + b'\xff' * 8
        return {
            'name': f'program_{self.seed}', 'ptx_text': text, 'entry': 'k', 'grid': self.grid, 'block': self.block,
            'shared_bytes': 0,
            'args': [{'buffer': {'bytes_hex': words.hex()}}, {'buffer': {'len': STRIDE * self.threads * self.blocks, 'fill': 0}},
                     {'buffer': {'bytes_hex': (sums + bytes(256 - len(sums))).hex()}},
                     *({'scalar': {'type': f'u{bits}', 'value': self.random.getrandbits(bits)}} for bits in (32, 8, 16))],
        }
