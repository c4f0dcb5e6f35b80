"""Functions and calls of them: by name, and by addresses out of tables, objects and selections, the same for all lanes or not."""
from instructions import border

# What functions of a kind look like: results and parameters.
SIGNATURES = {
    'word': ('.param .b32 z', ['.param .b32 x', '.param .b64 y']),
    'mixed': ('.param .b64 z', ['.param .b16 x', '.param .b64 y', '.param .f32 w']),
    'structure': ('.param .align 8 .b8 z[16]', ['.param .align 8 .b8 x[24]', '.param .b32 y']),
    'pointer': ('', ['.param .b64 x', '.param .b32 y']),
    'warp': ('.param .b32 z', ['.param .b32 x', '.param .b32 y']),
}


class Calls:
    # Small functions and tables of them.

    def start(self, name):
        """Registers of every kind that small functions begin with, made of one word."""
        self.emit('.reg .b32 %at, %w0, %w1; .reg .b64 %l0; .reg .b16 %s0; .reg .pred %q0;')
        self.emit(f'mov.b32 %w0, {name}; mad.lo.u32 %w1, {name}, 1664525, 1013904223; mov.b64 %l0, {{%w1, %w0}}; cvt.u16.u32 %s0, %w1; setp.lt.s32 %q0, %w1, 77;')
        return {'r': ['%w0', '%w1'], 'd': ['%l0'], 'h': ['%s0'], 'p': ['%q0']}

    def ends_on(self, written, start):
        """A word made of what the instructions left."""
        result = self.temp('r')
        self.emit(f'mov.b32 {result}, {written.get("r") or start["r"][-1]};')
        if 'd' in written:
            low, high = self.temp('r'), self.temp('r')
            self.emit(f'mov.b64 {{{low}, {high}}}, {written["d"]}; xor.b32 {result}, {result}, {low}; add.u32 {result}, {result}, {high};')
        if 'h' in written:
            wide = self.temp('r')
            self.emit(f'cvt.u32.u16 {wide}, {written["h"]}; xor.b32 {result}, {result}, {wide};')
        if 'p' in written:
            self.emit(f'@{written["p"]} not.b32 {result}, {result};')
        return result

    def small(self, kind):
        """A function of one kind; it may leave early, loop, or call what was declared before it."""
        r = self.random
        self.in_function, self.uniform = True, False
        name = f'{kind}{len(self.small_functions)}'
        result, parameters = SIGNATURES[kind]
        result = f'({result}) ' if result else ''
        self.lines.append(f'.func {result}{name}({", ".join(parameters)})')
        self.lines.append('{')
        self.emit('.reg .b32 %x; .reg .b64 %y;')
        if kind == 'word':
            self.emit('ld.param.b32 %x, [x]; ld.param.b64 %y, [y];')
        elif kind == 'mixed':
            self.emit('.reg .b16 %xh; .reg .f32 %xf; ld.param.b16 %xh, [x]; ld.param.b64 %y, [y]; ld.param.f32 %xf, [w]; cvt.rzi.s32.f32 %x, %xf; mad.wide.u16 %x, %xh, 3, %x;')
        elif kind == 'structure':
            self.emit(r.choice(['ld.param.b32 %x, [x+8]; ld.param.b64 %y, [x];', 'ld.param.b64 %y, [x+16]; ld.param.b32 %x, [y];', 'ld.param.u8 %x, [x+5]; ld.param.b64 %y, [x+8];',
                                '.reg .b32 %xx; ld.param.v2.b32 {%x, %xx}, [x+8]; ld.param.b64 %y, [x]; xor.b32 %x, %x, %xx;']))
        elif kind == 'pointer':
            self.emit('ld.param.b64 %y, [x]; ld.param.b32 %x, [y];')
        else:
            self.emit('ld.param.b32 %x, [y]; .reg .b32 %mask; ld.param.b32 %mask, [x];')
        start = self.start('%x')
        if kind in ('word', 'mixed'):
            start['d'].append('%y')
        if r.random() < 0.1:
            written = {}
        else:
            written = self.links(r.randrange(1, 5), start)
        word = self.ends_on(written, start)
        if kind == 'word' and r.random() < 0.3:
            self.emit(f'st.param.b32 [z], {word};')
            self.emit(f'@{self.maybe_not()}%q0 ret;')
            self.emit(f'mad.lo.u32 {word}, {word}, {border(r, 32)}, %w1;')
        if r.random() < 0.25:
            count, top, again = self.temp('r'), self.label(), self.temp('p')
            self.emit(f'and.b32 {count}, %w1, 3;')
            self.emit(f'{top}:')
            self.emit(f'mad.lo.u32 {word}, {word}, {border(r, 32)}, {count};')
            self.emit(f'setp.ne.u32 {again}, {count}, 0; sub.u32 {count}, {count}, 1;')
            self.emit(f'@{again} bra {top};')
        if self.tables and self.shares['indirect'] and r.random() < 0.3:
            table = r.choice([table for table in self.tables if table[0] == 'word'] or [None])
            if table:
                self.call_by_address(table, word, '%l0', word)
        if kind == 'word':
            self.emit(f'st.param.b32 [z], {word};')
        elif kind == 'mixed':
            self.emit(f'mad.wide.u32 %y, {word}, 5, %y; st.param.b64 [z], %y;')
        elif kind == 'structure':
            self.emit(r.choice([f'st.param.b64 [z], %y; st.param.b32 [z+8], {word}; st.param.b32 [z+12], %w1;',
                                f'st.param.v2.b32 [z+8], {{{word}, %w0}}; st.param.b64 [z], %l0;',
                                f'st.param.b32 [z], %w0; st.param.b32 [z+4], {word}; st.param.b64 [z+8], %y;']))
        elif kind == 'pointer':
            old = self.temp('r')
            self.emit(r.choice([f'ld.u32 {old}, [%y+4]; add.u32 {old}, {old}, {word}; st.u32 [%y+4], {old};', f'st.v2.u32 [%y+8], {{{word}, %w0}};',
                                f'ld.u8 {old}, [%y+3]; xor.b32 {word}, {word}, {old}; st.u16 [%y+6], {word};', f'@%q0 st.u64 [%y], %l0;']))
        else:
            # All lanes of the mask stand here again.
            value = self.temp('r')
            self.emit(r.choice([f'vote.sync.ballot.b32 {value}, %q0, %mask; xor.b32 {word}, {word}, {value};',
                                f'brev.b32 %at, %mask; clz.b32 %at, %at; shfl.sync.idx.b32 {value}, {word}, %at, 31, %mask; add.u32 {word}, {word}, {value};',
                                f'and.b32 %at, {word}, 3; match.any.sync.b32 {value}, %at, %mask; xor.b32 {word}, {word}, {value};',
                                f'bar.warp.sync %mask; vote.sync.all.pred %q0, %q0, %mask; selp.b32 {word}, {word}, %w0, %q0;']))
            self.emit(f'st.param.b32 [z], {word};')
        self.emit('ret;')
        self.lines += ['}', '']
        self.in_function = False
        self.small_functions.append((kind, name))
        return name

    def declare_tables(self):
        """A few tables of small functions; functions of later ones may call through earlier ones."""
        r = self.random
        for _ in range(r.choice([1, 1, 2])):
            kind = r.choice(['word', 'word', 'word', 'mixed', 'structure', 'pointer'])
            names = [self.small(kind) for _ in range(r.choice([2, 2, 3, 4]))]
            number = len(self.tables)
            entries = names + [r.choice(names) for _ in range(4 - len(names))]
            r.shuffle(entries)
            space = r.choice(['global', 'global', 'const'])
            self.lines.append(f'.{space} .align 8 .u64 functions{number}[4] = {{{", ".join(entries)}}};')
            # Objects, of which each points to a table of functions, as those of C++ do.
            for i in range(2):
                self.lines.append(f'.global .align 8 .u64 methods{number}_{i}[3] = {{0, {", ".join(r.choice(names) for _ in range(2))}}};')
            self.lines.append(f'.global .align 8 .u64 objects{number}[4] = {{{", ".join(f"methods{number}_{r.randrange(2)}" for _ in range(4))}}};')
            self.lines.append('')
            self.tables.append((kind, number, names, space))
        if r.random() < 0.5:
            self.small('warp')

    # Calls.

    def address(self, table, index):
        """The address of a function, as one of the ways finds it for an index from 0 to 3 in a register."""
        r = self.random
        kind, number, names, space = table
        at = self.temp('d')
        way = r.randrange(4)
        if way < 2:
            self.emit(f'mov.u64 {at}, functions{number}; mad.wide.u32 {at}, {index}, 8, {at}; ld.{space}.u64 {at}, [{at}];')
        elif way == 2:
            self.emit(f'mov.u64 {at}, objects{number}; mad.wide.u32 {at}, {index}, 8, {at}; ld.global.u64 {at}, [{at}]; ld.global.u64 {at}, [{at}+{r.choice([8, 16])}];')
        else:
            other, which = self.temp('d'), self.temp('p')
            a, b = r.choice(names), r.choice(names)
            self.emit(f'mov.u64 {at}, {a}; mov.u64 {other}, {b}; setp.gt.u32 {which}, {index}, {r.randrange(3)}; selp.b64 {at}, {at}, {other}, {which};')
        return at

    def call_text(self, kind, target, names, uniform):
        """The call with its block of parameters; `target` is a name or a register. What comes back is where `result` says."""
        r = self.random
        by_register = target.startswith('%')
        listed = ''
        result, parameters = SIGNATURES[kind]
        if by_register:
            listed = self.label()
            if r.random() < 0.3:
                self.emit(f'{listed}: .calltargets {", ".join(sorted(set(names)))};')
            else:
                plain = lambda text: text.rsplit(' ', 1)[0] + ' _' + (text[text.index('['):] if '[' in text else '')
                back = f'({plain(result)}) ' if result else ''
                self.emit(f'{listed}: .callprototype {back}_ ({", ".join(plain(one) for one in parameters)});')
            listed = ', ' + listed
        return f'call{".uni" if uniform else ""} {"(c), " if result else ""}{target}, (a{", b" if len(parameters) > 1 else ""}{", w" if len(parameters) > 2 else ""}){listed};'

    def call_kind(self, kind, target, names, uniform, word, wide, back):
        """A call of a function of a kind with a word and a wide value; a word of the result goes to `back`."""
        r = self.random
        self.emit('{')
        result, parameters = SIGNATURES[kind]
        if kind == 'word':
            self.emit('.param .b32 a; .param .b64 b; .param .b32 c;')
            self.emit(f'st.param.b32 [a], {word}; st.param.b64 [b], {wide};')
            self.emit(self.call_text(kind, target, names, uniform))
            self.emit(f'ld.param.b32 {back}, [c];')
        elif kind == 'warp':
            self.emit('.param .b32 a; .param .b32 b; .param .b32 c;')
            self.emit(f'st.param.b32 [a], {wide}; st.param.b32 [b], {word};')
            self.emit(self.call_text(kind, target, names, uniform))
            self.emit(f'ld.param.b32 {back}, [c];')
        elif kind == 'mixed':
            half, single, long, high = self.temp('h'), self.temp('f'), self.temp('d'), self.temp('r')
            self.emit('.param .b16 a; .param .b64 b; .param .f32 w; .param .b64 c;')
            self.emit(f'cvt.u16.u32 {half}, {word}; cvt.rn.f32.s32 {single}, {word};')
            self.emit(f'st.param.b16 [a], {half}; st.param.b64 [b], {wide}; st.param.f32 [w], {single};')
            self.emit(self.call_text(kind, target, names, uniform))
            self.emit(f'ld.param.b64 {long}, [c];')
            self.emit(f'mov.b64 {{{back}, {high}}}, {long}; xor.b32 {back}, {back}, {high};')
        elif kind == 'structure':
            long, high = self.temp('d'), self.temp('r')
            self.emit('.param .align 8 .b8 a[24]; .param .b32 b; .param .align 8 .b8 c[16];')
            self.emit(r.choice([f'st.param.b64 [a], {wide}; st.param.b64 [a+8], {wide}; st.param.b64 [a+16], {wide};',
                                f'st.param.v2.b32 [a], {{{word}, {word}}}; st.param.b64 [a+8], {wide}; st.param.b32 [a+16], {word}; st.param.b32 [a+20], 77;',
                                ' '.join(f'st.param.b8 [a+{i}], {word};' for i in range(8)) + f' st.param.b64 [a+8], {wide}; st.param.b64 [a+16], {wide};']))
            self.emit(f'st.param.b32 [b], {word};')
            self.emit(self.call_text(kind, target, names, uniform))
            self.emit(f'ld.param.b64 {long}, [c]; ld.param.b32 {back}, [c+8];' if r.random() < 0.5 else f'ld.param.b64 {long}, [c+8]; ld.param.u8 {back}, [c+3];')
            self.emit(f'cvt.u32.u64 {high}, {long}; xor.b32 {back}, {back}, {high};')
        else:
            self.emit('.param .b64 a; .param .b32 b;')
            self.emit(f'st.param.b64 [a], {wide}; st.param.b32 [b], {word};')
            self.emit(self.call_text(kind, target, names, uniform))
        self.emit('}')

    def pointer(self):
        """An address of 16 bytes that only this thread touches, generic; lanes may differ in the space."""
        pointer = self.temp('d')
        if self.in_function:
            self.temps += 1
            name = f'array{self.temps}'
            self.emit(f'.local .align 16 .b8 {name}[16]; st.local.v4.u32 [{name}], {{1, 2, 3, 4}};')
            self.emit(f'mov.u64 {pointer}, {name}; cvta.local.u64 {pointer}, {pointer};')
        else:
            self.emit(f'mov.u64 {pointer}, frame; cvta.local.u64 {pointer}, {pointer};')
            if self.random.random() < 0.6:
                self.emit(f'@{self.maybe_not()}{self.register("p")} mov.u64 {pointer}, %generic;')
        return pointer

    def call_by_address(self, table, word, wide, back, uniform=False, index=None):
        kind, number, names, space = table
        which = self.temp('r')
        self.emit(f'and.b32 {which}, {index or word}, 3;')
        at = self.address(table, which)
        self.call_kind(kind, at, names, uniform, word, wide, back)

    def call_warp(self, mask):
        functions = [name for kind, name in self.small_functions if kind == 'warp']
        if functions:
            self.call_kind('warp', self.random.choice(functions), [], False, self.register('r'), mask, self.register('r'))

    def do_indirect(self, depth):
        """A call by an address. Lanes that called different functions come back at different times, and what they do together
        afterwards waits for all."""
        r = self.random
        table = r.choice(self.tables)
        kind = table[0]
        together = self.uniform and not self.in_function and r.random() < 0.2
        loop = r.random() < 0.35
        if loop:
            # The counter is the same in all lanes.
            counter, top, again = self.temp('r'), self.label(), self.temp('p')
            if self.in_function or r.random() < 0.5:
                self.emit(f'mov.u32 {counter}, {r.randrange(1, 4)};')
            else:
                self.emit(f'and.b32 {counter}, %given, 3; add.u32 {counter}, {counter}, 1;')
            self.emit(f'{top}:')
        wide = self.pointer() if kind == 'pointer' else self.register('d')
        self.call_by_address(table, self.register('r'), wide, self.register('r'), together and r.random() < 0.5, '%given' if together else None)
        if self.uniform and r.random() < 0.6:
            self.exchange()
        elif r.random() < 0.4:
            self.instruction()
        if self.uniform and self.whole() and self.shares.get('matrix') and r.random() < 0.1:
            self.do_matrix(depth)
        if loop:
            self.emit(f'sub.u32 {counter}, {counter}, 1;')
            self.emit(f'setp.ne.u32 {again}, {counter}, 0;')
            self.emit(f'@{again} bra {top};')

    def do_structure(self, depth):
        """Structures by value, and pointers, to a function by name."""
        functions = [(kind, name) for kind, name in self.small_functions if kind != 'warp']
        kind, name = self.random.choice(functions)
        wide = self.pointer() if kind == 'pointer' else self.register('d')
        self.call_kind(kind, name, [], False, self.register('r'), wide, self.register('r'))
        if self.uniform and self.all_alive and self.random.random() < 0.3:
            self.call_warp('0xffffffff')
