"""Statements that are more than an instruction or two: each a shape that compilers have come to grief over. They declare temporaries of
their own, `%t` and a number, each written before it is read."""
from instructions import CHAIN, border, immediate

SCRATCH = 128  # Where the memory begins in which a thread works, after what is left of its registers.

COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge']
MOVES = {'r': 'mov.b32', 'd': 'mov.b64', 'h': 'mov.b16', 'p': 'mov.pred', 'f': 'mov.b32', 'e': 'mov.b64'}

# Instructions that become a call of a routine, or many instructions; their operands are prepared by the text before.
ROUTINES = [
    'cvt.rn.f32.u32 {f}, {r}; div.rz.f32 {f}, {g}, {f};', 'div.rn.f32 {f}, {f}, {g};', 'div.rp.f32 {f}, {g}, 0f40400000;', 'sqrt.rn.f32 {f}, {g};',
    'sqrt.rz.f32 {f}, {f};', 'sqrt.rm.ftz.f32 {f}, {g};', 'rcp.rn.f32 {f}, {f};', 'rcp.rp.f32 {f}, {g};', 'div.rn.f64 {e}, {e}, {i};', 'sqrt.rn.f64 {e}, {i};',
    'rcp.rn.f64 {e}, {i};', 'cvt.rn.f64.s32 {e}, {r}; div.rz.f64 {e}, {i}, {e};', 'or.b64 {d}, {d}, 1; div.u64 {d}, {c}, {d};',
    'or.b64 {d}, {c}, 3; and.b64 {d}, {d}, 0xffffffff; rem.s64 {d}, {c}, {d};', 'rem.u64 {d}, {d}, 1000003;', 'div.s64 {d}, {c}, 77;',
    'or.b32 {r}, {r}, 1; div.u32 {r}, {s}, {r};', 'or.b32 {r}, {s}, 1; and.b32 {r}, {r}, 65535; rem.s32 {r}, {s}, {r};',
]


class Shapes:
    # Temporaries.

    def temp(self, kind):
        """A new register: its name, declared here."""
        self.temps += 1
        name = f'%t{self.temps}'
        self.emit(f'.reg .{ {"r": "b32", "d": "b64", "h": "b16", "p": "pred", "f": "f32", "e": "f64"}[kind]} {name};')
        return name

    def condition(self):
        """A predicate of the pool, or a new one that compares something with a constant."""
        if self.random.random() < 0.6:
            return self.register('p')
        new = self.temp('p')
        self.emit(f'setp.{self.random.choice(COMPARISONS)}.{self.random.choice(["u32", "s32"])} {new}, {self.register("r")}, {immediate(self.random, "i")};')
        return new

    def maybe_not(self):
        return self.random.choice(['', '!'])

    # Straight code.

    def links(self, count, start):
        """Instructions that each work on what the last one left. `start` has registers to begin with, by kind; what was written last of each
        kind comes back."""
        live = {kind: list(names) for kind, names in start.items()}
        last, written = None, {}
        for _ in range(count):
            for _ in range(4):
                kind, text, reads = self.random.choice(CHAIN)
                tokens = reads.split()
                if last is None or last[0] in tokens:
                    break
            operands, used = [], False
            for token in tokens:
                if token not in 'rdhp':
                    operands.append(immediate(self.random, token))
                elif last and token == last[0] and (not used or self.random.random() < 0.3):
                    operands.append(last[1])
                    used = True
                else:
                    operands.append(self.random.choice(live[token][-4:]))
            if '{0}' not in text:
                text += ' ' + ', '.join('{%d}' % i for i in range(len(tokens) + 1))
            new = self.temp(kind)
            written_text = text.format(new, *operands, o=self.random.choice(COMPARISONS))
            roll = self.random.random()
            if roll < 0.2:
                # One of two values: by a guard, or by a branch.
                self.emit(f'{MOVES[kind]} {new}, {self.random.choice(live[kind][-3:])};')
                guard = self.maybe_not() + self.random.choice(live['p'][-3:])
                if roll < 0.12 and not text.startswith(('set.', 'v')):
                    self.emit(f'@{guard} {written_text};')
                else:
                    skip = self.label()
                    self.emit(f'@{guard} bra {skip};')
                    self.emit(f'{written_text};')
                    if self.random.random() < 0.5:
                        join = self.label()
                        self.emit(f'bra {join};')
                        self.emit(f'{skip}:')
                        self.emit(f'{MOVES[kind]} {new}, {self.random.choice(live[kind][-3:])};')
                        self.emit(f'{join}:')
                    else:
                        self.emit(f'{skip}:')
            else:
                self.emit(f'{written_text};')
            live[kind].append(new)
            last = (kind, new)
            written[kind] = new
        return written

    def pool_start(self):
        return {kind: [self.register(kind) for _ in range(3)] for kind in 'rdhp'}

    def do_chain(self, depth):
        start = self.pool_start()
        if not self.in_function and self.random.random() < 0.25:
            # Of what all threads have alike.
            wide, half, flag = self.temp('d'), self.temp('h'), self.temp('p')
            self.emit(f'mul.wide.u32 {wide}, %given, %given; cvt.u16.u32 {half}, %given; setp.lt.u32 {flag}, %given, 0x40000000;')
            start = {'r': ['%given'], 'd': [wide], 'h': [half], 'p': [flag]}
        written = self.links(self.random.randrange(3, 8), start)
        for kind, name in written.items():
            self.emit(f'{MOVES[kind]} {self.register(kind)}, {name};')

    def do_carry(self, depth):
        """Numbers of several words: sums, differences, products, and a carry as a value."""
        r = self.random
        wide = r.random() < 0.3
        kind, unit = ('d', 'u64') if wide else ('r', 'u32')
        count = r.randrange(2, 6)
        guard = f'@{self.maybe_not()}{self.condition()} ' if r.random() < 0.2 else ''
        results = [self.temp(kind) for _ in range(count)]
        if guard:
            for name in results:
                self.emit(f'{MOVES[kind]} {name}, {self.register(kind)};')
        a = [self.register(kind) for _ in range(count)]
        b = [self.register(kind) if r.random() < 0.7 else str(border(r, 64 if wide else 32)) for _ in range(count)]
        way = r.randrange(4)
        unrelated = lambda: self.emit(f'xor.b32 {self.register("r")}, {self.register("r")}, {self.register("r")};') if r.random() < 0.2 else None
        if way < 2:
            name = ['add', 'sub'][way]
            for i in range(count):
                first, last = i == 0, i == count - 1
                step = name if first else name + 'c'
                # A carry out of the last word becomes a value of its own.
                self.emit(f'{guard}{step}{".cc" if not last else ""}.{unit} {results[i]}, {a[i]}, {b[i] if not last or r.random() < 0.6 else 0};')
                unrelated()
        elif way == 2:
            x, y = self.register(kind), self.register(kind)
            self.emit(f'{guard}mad.lo.cc.{unit} {results[0]}, {x}, {y}, {a[0]};')
            for i in range(1, count):
                last = i == count - 1
                self.emit(f'{guard}madc.{r.choice(["lo", "hi"])}{"" if last else ".cc"}.{unit} {results[i]}, {a[i]}, {y if r.random() < 0.5 else b[i]}, '
                          f'{self.register(kind) if r.random() < 0.6 else 0};')
                unrelated()
        else:
            # A carry goes through a value: set, kept as 0 or -1, and used again.
            self.emit(f'{guard}{r.choice(["add", "sub"])}.cc.{unit} {results[0]}, {a[0]}, {b[0]};')
            self.emit(f'{guard}{r.choice(["addc", "subc"])}.{unit} {results[1]}, 0, 0;' if r.random() < 0.7 else f'{guard}addc.{unit} {results[1]}, {a[1]}, -1;')
            self.emit(f'{guard}{r.choice(["shl.b", "shr.u"])}{unit[1:]} {results[0]}, {results[0]}, {r.choice([1, 31])};')
            if count > 2:
                self.emit(f'{guard}add.cc.{unit} {results[2]}, {results[1]}, {results[1]}; {guard}addc.{unit} {results[1]}, {results[1]}, {results[0]};')
        used = results[:2] if way == 3 else results
        for name in used:
            self.emit(f'xor.b{unit[1:]} {self.register(kind)}, {name}, {self.register(kind)};')

    def do_crowd(self, depth):
        """More predicates than there are registers for, alive over whatever stands between."""
        names = []
        for _ in range(self.random.randrange(8, 20)):
            new = self.temp('p')
            unit = self.random.choice(['u32', 's32'])
            self.emit(f'setp.{self.random.choice(COMPARISONS)}.{unit} {new}, {self.register("r")}, {self.source("r")};')
            names.append(new)
        self.inside(depth)
        total = self.temp('r')
        self.emit(f'mov.u32 {total}, {self.random.getrandbits(20)};')
        for i, name in enumerate(names):
            self.emit(self.random.choice([f'@{name} add.u32 {total}, {total}, {1 << i};', f'@!{name} xor.b32 {total}, {total}, {3 << i};']))
        self.emit(f'mov.b32 {self.register("r")}, {total};')
        if self.random.random() < 0.5:
            both = self.temp('p')
            self.emit(f'and.pred {both}, {names[0]}, {names[-1]}; or.pred {both}, {both}, {names[1]}; mov.pred {self.register("p")}, {both};')

    def do_arm(self, depth):
        """A routine in one arm of a branch, with constants that live across it."""
        r = self.random
        value = border(r, 32)
        constants = [self.temp('r') for _ in range(r.randrange(2, 5))]
        for i, name in enumerate(constants):
            self.emit(f'mov.u32 {name}, {value if i < 2 else border(r, 32)};')
        for which in r.sample(range(5), 2):
            self.emit(f'mov.f32 %f{which}, {r.choice(["0fBF000000", "0f3F800000", "0f40400000", "0f3EAAAAAB"])};')
        condition = self.condition()
        if r.random() < 0.6:
            self.emit(f'setp.{r.choice(COMPARISONS)}.s32 {self.register("p")}, {self.register("r")}, {constants[0]};')
        other, join = self.label(), self.label()
        routine = lambda: self.emit(r.choice(ROUTINES).format(**{k: self.register(kind) for k, kind in
                                                                 {'r': 'r', 's': 'r', 'f': 'f', 'g': 'f', 'e': 'e', 'i': 'e', 'd': 'd', 'c': 'd'}.items()}))

        def plain():
            name = r.choice(constants)
            self.emit(r.choice([f'@{self.maybe_not()}{self.register("p")} not.b32 {name}, {name};', f'sub.sat.s32 {name}, {self.register("r")}, {r.choice(constants)};',
                                f'mov.u32 {name}, {border(r, 32)};', f'add.u32 {name}, {self.register("r")}, {value};', f'mov.b32 {name}, {self.register("r")};']))

        arms = [[plain] * r.randrange(3), [plain] * r.randrange(2) + [routine] + [plain] * r.randrange(3)]
        r.shuffle(arms)
        self.emit(f'@{self.maybe_not()}{condition} bra {other};')
        for step in arms[0]:
            step()
        self.emit(f'bra {join};')
        self.emit(f'{other}:')
        for step in arms[1]:
            step()
        self.emit(f'{join}:')
        if r.random() < 0.5:
            self.emit(f'cvt.rzi.s32.f32 {self.register("r")}, {self.register("f")};')
        for name in constants:
            self.emit(f'{r.choice(["mov.b32 {0}, {1}", "xor.b32 {0}, {0}, {1}", "add.u32 {0}, {1}, {0}"]).format(self.register("r"), name)};')

    # Memory.

    def do_array(self, depth):
        """An array of this function's in local memory, at indices that only a run knows."""
        r = self.random
        self.temps += 1
        name, words = f'array{self.temps}', r.choice([4, 8, 16, 12])
        self.emit(f'.local .align 16 .b8 {name}[{4 * words}];')
        index, address, value, again = self.temp('r'), self.temp('d'), self.temp('r'), self.temp('p')
        generic = r.random() < 0.4
        space = '' if generic else '.local'
        base = self.temp('d')
        self.emit(f'mov.u64 {base}, {name};' + (f' cvta.local.u64 {base}, {base};' if generic else ''))
        top = self.label()
        self.emit(f'mov.u32 {index}, 0;')
        self.emit(f'{top}:')
        self.emit(f'mad.lo.u32 {value}, {index}, {border(r, 32)}, {self.register("r")};')
        self.emit(f'mul.wide.u32 {address}, {index}, 4; add.u64 {address}, {address}, {base}; st{space}.u32 [{address}], {value};')
        self.emit(f'add.u32 {index}, {index}, 1; setp.lt.u32 {again}, {index}, {words}; @{again} bra {top};')
        loop = r.random() < 0.5
        if loop:
            count, top = self.temp('r'), self.label()
            self.emit(f'and.b32 {count}, {self.register("r")}, 3;')
            self.emit(f'{top}:')
        for _ in range(r.randrange(2, 5)):
            self.emit(f'xor.b32 {index}, {self.register("r")}, {r.randrange(64)};' + (f' rem.u32 {index}, {index}, {words // 4};' if words == 12 else f' and.b32 {index}, {index}, {words // 4 - 1};'))
            self.emit(f'mul.wide.u32 {address}, {index}, 16; add.u64 {address}, {address}, {base};')
            a, b = r.sample(range(8), 2)
            self.emit(r.choice([f'st{space}.u32 [{address}+{4 * r.randrange(4)}], %r{a};', f'ld{space}.u32 %r{a}, [{address}+{4 * r.randrange(4)}];',
                                f'st{space}.u8 [{address}+{r.randrange(16)}], %r{a};', f'ld{space}.s8 %r{a}, [{address}+{r.randrange(16)}];',
                                f'ld{space}.u16 %h{a % 4}, [{address}+{2 * r.randrange(8)}];', f'st{space}.v2.u32 [{address}+8], {{%r{a}, %r{b}}};',
                                f'ld{space}.v4.u32 {{%r0, %r1, %r2, %r3}}, [{address}];', f'st{space}.u64 [{address}+8], {self.register("d")};',
                                f'{self.guard()}st{space}.u16 [{address}+6], {self.register("h")};']))
        if loop:
            self.emit(f'setp.ne.u32 {again}, {count}, 0; sub.u32 {count}, {count}, 1; @{again} bra {top};')

    def do_generic(self, depth):
        """One address for lanes that look at different spaces."""
        r = self.random
        pointer, other = self.temp('d'), self.temp('d')
        local = r.random() < 0.5
        places = [('shared', '%generic'), ('global', f'%slot+{SCRATCH}')] + ([('local', 'frame')] if local else [])
        r.shuffle(places)
        for name, (space, place) in zip((pointer, other), places):
            if space == 'local':
                self.emit(f'mov.u64 {name}, frame; cvta.local.u64 {name}, {name};')
            elif '+' in place:
                self.emit(f'add.u64 {name}, %slot, {SCRATCH};' + (f' cvta.global.u64 {name}, {name};' if r.random() < 0.5 else ''))
            else:
                self.emit(f'mov.u64 {name}, {place};')
        self.emit(f'selp.b64 {pointer}, {pointer}, {other}, {self.condition()};')
        if len(places) > 2 and r.random() < 0.5:
            self.emit(f'mov.u64 {other}, {"%generic" if places[2][0] == "shared" else "%slot"};'
                      + (f' add.u64 {other}, {other}, {SCRATCH};' if places[2][0] == 'global' else '')
                      + (f' mov.u64 {other}, frame; cvta.local.u64 {other}, {other};' if places[2][0] == 'local' else ''))
            self.emit(f'@{self.condition()} mov.u64 {pointer}, {other};')
            used = {place[0] for place in places}
        else:
            used = {place[0] for place in places[:2]}
        for _ in range(r.randrange(1, 4)):
            a, b = r.sample(range(8), 2)
            ways = [f'st.u32 [{pointer}+{4 * r.randrange(4)}], %r{a};', f'ld.u32 %r{a}, [{pointer}+{4 * r.randrange(4)}];', f'ld.v2.u32 {{%r{a}, %r{b}}}, [{pointer}+8];',
                    f'st.u8 [{pointer}+{r.randrange(16)}], %r{a};', f'ld.s16 %r{a}, [{pointer}+{2 * r.randrange(8)}];', f'{self.guard()}st.u64 [{pointer}], {self.register("d")};',
                    f'isspacep.{r.choice(["shared", "local", "global"])} {self.register("p")}, {pointer};']
            if 'local' not in used:
                ways += [f'atom.add.u32 %r{a}, [{pointer}+4], %r{b};', f'red.xor.b32 [{pointer}+8], %r{a};', f'atom.cas.b32 %r{a}, [{pointer}], %r{a}, %r{b};']
            self.emit(r.choice(ways))

    # Control flow.

    def do_machine(self, depth):
        """A loop round a jump by a table: the state that a case leaves says which comes next."""
        r = self.random
        uniform = self.uniform
        cases = [self.label() for _ in range(r.randrange(2, 7))]
        table, top, following, end = self.label(), self.label(), self.label(), self.label()
        state, fuel, again = self.temp('r'), self.temp('r'), self.temp('p')
        together = uniform and not self.in_function and r.random() < 0.25
        self.emit(f'rem.u32 {state}, {"%given" if together else self.register("r")}, {len(cases)};')
        self.emit(f'mov.u32 {fuel}, {r.randrange(2, 7)};')
        self.emit(f'{table}: .branchtargets {", ".join(cases)};')
        self.emit(f'{top}:')
        self.emit(f'brx.idx{".uni" if together else ""} {state}, {table};')
        self.uniform = together
        order = list(range(len(cases)))
        r.shuffle(order)
        for place, case in enumerate(order):
            self.emit(f'{cases[case]}:')
            self.straight(r.randrange(0, 3))
            step = str(r.randrange(1, 9)) if together else self.register('r')
            self.emit(f'mad.lo.u32 {state}, {state}, {r.randrange(1, 9)}, {step}; rem.u32 {state}, {state}, {len(cases)};')
            if r.random() < 0.15:
                self.emit(f'bra {end};')
            elif r.random() < 0.6 and place < len(order) - 1:
                self.emit(f'bra {following};')
        self.emit(f'{following}:')
        self.emit(f'sub.u32 {fuel}, {fuel}, 1; setp.ne.u32 {again}, {fuel}, 0; @{again} bra {top};')
        self.emit(f'{end}:')
        self.uniform = uniform

    def do_invariant(self, depth):
        """A loop with what does not change in it, or changes on a way that is never taken."""
        r = self.random
        uniform = self.uniform
        together = uniform and not self.in_function and r.random() < 0.5
        count, top, out = self.temp('r'), self.label(), self.label()
        value, result, never, leaves = self.temp('r'), self.temp('r'), self.temp('p'), self.temp('p')
        known = border(r, 32)
        self.emit(f'and.b32 {count}, {"%given" if together else self.register("r")}, {r.choice([3, 3, 7])};')
        self.emit(f'mov.b32 {value}, {self.register("r") if self.in_function or r.random() < 0.5 else "%given"};')
        self.emit(f'mov.u32 {result}, {r.randrange(9)};')
        constant = self.temp('r')
        self.emit(f'mov.u32 {constant}, {known};')
        self.emit(f'setp.{r.choice(COMPARISONS)}.u32 {never}, {constant}, {r.choice([known, 5, border(r, 32)])};')
        first = r.random() < 0.6
        self.uniform = together
        self.emit(f'{top}:')
        if first:
            self.emit(f'setp.eq.u32 {leaves}, {count}, 0;')
            self.emit(f'@{leaves} bra {out};')
            self.emit(f'sub.u32 {count}, {count}, 1;')
        start = {'r': [value, constant], 'd': [self.register('d')], 'h': [self.register('h')], 'p': [self.register('p')]}
        if r.random() < 0.5:
            self.emit(f'mul.lo.u32 {result}, {value}, {border(r, 32)};')
        else:
            written = self.links(r.randrange(1, 4), start)
            if 'r' in written:
                self.emit(f'mov.b32 {result}, {written["r"]};')
            elif 'd' in written:
                self.emit(f'cvt.u32.u64 {result}, {written["d"]};')
        skip = self.label()
        if r.random() < 0.6:
            self.emit(f'@{self.maybe_not()}{never} bra {skip};')
            self.emit(f'mov.u32 {value}, {border(r, 32)};')
            self.emit(f'{skip}:')
        if r.random() < 0.5:
            self.inside(depth)
        if r.random() < 0.3:
            self.emit(f'@{self.maybe_not()}{self.register("p")} add.u32 {self.register("r")}, {result}, {value};')
        if first:
            self.emit(f'bra {top};')
        else:
            self.emit(f'setp.ne.u32 {leaves}, {count}, 0; sub.u32 {count}, {count}, 1;')
            self.emit(f'@{leaves} bra {top};')
        self.emit(f'{out}:')
        self.emit(f'mov.b32 {self.register("r")}, {result};')
        self.uniform = uniform

    # Together.

    def sync_by(self, mask):
        """Something that the lanes of a mask do together. Lanes read only from one of them."""
        r = self.random
        a, b = self.register('r'), self.register('r')
        ways = [f'vote.sync.ballot.b32 {a}, {self.register("p")}, {mask};', f'vote.sync.{r.choice(["all", "any", "uni"])}.pred {self.register("p")}, {self.register("p")}, {mask};',
                f'and.b32 %at, {b}, 3; match.any.sync.b32 {a}, %at, {mask};', f'bar.warp.sync {mask};',
                f'and.b32 %at, {b}, 1; match.all.sync.b32 {a}|{self.register("p")}, %at, {mask};']
        if self.chip >= 80:
            ways += [f'redux.sync.{r.choice(["add.u32", "min.s32", "max.u32", "xor.b32", "or.b32"])} {a}, {b}, {mask};'] * 2
        if self.chip >= 90:
            # Which lane is elected is open, that it is one is not.
            ways.append(f'elect.sync %at|%q0, {mask}; vote.sync.ballot.b32 {a}, %q0, {mask}; popc.b32 {a}, {a};')
        if self.all_alive:
            # From the lowest or the highest lane of the mask.
            low = f'brev.b32 %at, {mask}; clz.b32 %at, %at;'
            if mask.startswith('%'):
                ways += [f'{low} shfl.sync.idx.b32 {a}, {b}, %at, 31, {mask};', f'clz.b32 %at, {mask}; sub.u32 %at, 31, %at; shfl.sync.idx.b32 {a}, {b}, %at, 31, {mask};']
        self.emit(r.choice(ways))

    def do_masked(self, depth):
        """Lanes part, and those of one arm meet by the mask of it."""
        r = self.random
        mask, rest, uniform = self.temp('r'), self.temp('r'), self.uniform
        condition = self.condition()
        self.emit(f'vote.sync.ballot.b32 {mask}, {condition}, 0xffffffff;')
        self.emit(f'vote.sync.ballot.b32 {rest}, !{condition}, 0xffffffff;')
        other, join = self.label(), self.label()
        self.emit(f'@!{condition} bra {other if r.random() < 0.6 else join};')
        self.uniform = False
        for arm, mask in enumerate((mask, rest)):
            for _ in range(r.randrange(1, 3)):
                if r.random() < 0.5:
                    self.inside(max(depth, 1))
                self.sync_by(mask)
                if self.all_alive and r.random() < 0.2:
                    self.call_warp(mask)
            if arm == 0:
                self.emit(f'bra {join};')
                self.emit(f'{other}:')
        self.emit(f'{join}:')
        self.uniform = uniform

    def meetings(self):
        """Kinds of exchanges that lanes reach at several places, each with what all places have in common."""
        r = self.random
        kinds = ['ballot', 'all', 'any', 'uni', 'match', 'same'] + ['redux'] * 2 * (self.chip >= 80) + ['shuffle'] * 4 * self.all_alive
        chosen = [r.choice(kinds) for _ in range(r.randrange(1, 4))]
        return [(kind, r.randrange(32), r.choice(['up', 'down', 'bfly', 'idx']), r.choice(['add.u32', 'min.s32', 'max.u32', 'xor.b32', 'or.b32'])) for kind in chosen]

    def meeting(self, kind, lane, mode, operation, guard=''):
        """One of its places, with operands of its own."""
        a, b, p = self.register('r'), self.register('r'), self.register('p')
        q = self.register('p')
        prepared = {'match': f'and.b32 %at, {b}, 3;', 'same': f'and.b32 %at, {b}, 1;'}.get(kind)
        if prepared:
            self.emit(prepared)
        self.emit(guard + {'ballot': f'vote.sync.ballot.b32 {a}, {p}, -1;', 'all': f'vote.sync.all.pred {q}, {p}, -1;', 'any': f'vote.sync.any.pred {q}, {p}, -1;',
                           'uni': f'vote.sync.uni.pred {q}, {p}, -1;', 'match': f'match.any.sync.b32 {a}, %at, -1;',
                           'same': f'match.all.sync.b32 {a}|{p}, %at, -1;', 'redux': f'redux.sync.{operation} {a}, {b}, -1;',
                           'shuffle': f'shfl.sync.{mode}.b32 {a}|{p}, {b}, {lane}, {0 if mode == "up" else 31}, -1;'}[kind])

    def do_meeting(self, depth):
        """Lanes of both arms, or of three, exchange with one another: each arm has the same exchanges, with operands of its own."""
        r = self.random
        ends = [self.label() for _ in range(r.choice([1, 1, 2]))]
        uniform, meetings = self.uniform, self.meetings()
        join, self.uniform = self.label(), False
        for end in ends:
            self.emit(f'@{self.condition()} bra {end};')
        for end in [None] + ends:
            if end:
                self.emit(f'bra {join};')
                self.emit(f'{end}:')
            alive = self.all_alive
            for meeting in meetings:
                if r.random() < 0.3 and not alive:
                    self.inside(max(depth, 1))
                self.meeting(*meeting)
        self.emit(f'{join}:')
        self.uniform = uniform

    def do_guarded(self, depth):
        """The same without branches: each exchange is there once for the lanes that a predicate holds for, and once for the others."""
        for meeting in self.meetings():
            kept = self.temp('p')
            self.emit(f'mov.pred {kept}, {self.condition()};')
            self.meeting(*meeting, guard=f'@{kept} ')
            self.straight(self.random.randrange(2))
            self.meeting(*meeting, guard=f'@!{kept} ')
