"""Statements of matrices: products in a loop round their sums, and tiles of halves under masks, as in attention: what one product gives is masked,
packed, and an operand of the next. All numbers are small and whole, so that every order of sums gives the same.

They are apart from `shapes` because a whole warp executes each, and its lanes share the elements."""
from shapes import COMPARISONS

# Products of matrices: the first chip, the instruction, registers of d, a and b, and of what kind. Elements are small whole numbers.
MATRICES = [
    (75, 'm8n8k16.row.col.s32.s8.s8.s32', 2, 1, 1, 'word'), (75, 'm8n8k16.row.col.satfinite.s32.u8.s8.s32', 2, 1, 1, 'word'),
    (75, 'm16n8k8.row.col.f32.f16.f16.f32', 4, 2, 1, 'f16'), (75, 'm16n8k8.row.col.f16.f16.f16.f16', 2, 2, 1, 'f16'),
    (80, 'm16n8k16.row.col.s32.u8.u8.s32', 4, 2, 1, 'word'), (80, 'm16n8k32.row.col.s32.s8.u8.s32', 4, 4, 2, 'word'),
    (80, 'm16n8k16.row.col.f32.f16.f16.f32', 4, 4, 2, 'f16'), (80, 'm16n8k16.row.col.f16.f16.f16.f16', 2, 4, 2, 'f16'),
    (80, 'm16n8k16.row.col.f32.bf16.bf16.f32', 4, 4, 2, 'bf16'), (80, 'm16n8k8.row.col.f32.bf16.bf16.f32', 4, 2, 1, 'bf16'),
    (80, 'm16n8k8.row.col.f32.tf32.tf32.f32', 4, 4, 2, 'f32'), (80, 'm16n8k4.row.col.f32.tf32.tf32.f32', 4, 2, 1, 'f32'),
    (80, 'm8n8k4.row.col.f64.f64.f64.f64', 2, 1, 1, 'f64'),
]

# The halves of a word that a mask keeps.
KEPT = ['0xffff', '0xffff0000', '0xffffffff', '0']


class Tiles:
    def do_matrix(self, depth):
        """Products of matrices in a loop round their sums; the loop may have no round."""
        r = self.random
        _, form, ds, count_a, count_b, kind = r.choice([row for row in MATRICES if row[0] <= self.chip])
        wide = kind == 'f64'
        sums = r.randrange(1, 4)
        halves = kind == 'f16' and form.split('.')[3] == 'f16'
        accumulator = 'e' if wide else 'f' if kind != 'word' and not halves else 'r'

        def element():
            if kind == 'word':
                return self.register('r')
            small = self.temp('r')
            self.emit(f'and.b32 {small}, {self.register("r")}, 3; sub.u32 {small}, {small}, {r.randrange(1, 3)};')
            if wide:
                new = self.temp('e')
                self.emit(f'cvt.rn.f64.s32 {new}, {small};')
                return new
            new = self.temp('r')
            single = self.temp('f')
            self.emit(f'cvt.rn.f32.s32 {single}, {small};')
            if kind == 'f32':
                self.emit(f'mov.b32 {new}, {single};')
            elif kind == 'bf16':
                self.emit(f'mov.b32 {new}, {single}; prmt.b32 {new}, {new}, {new}, {r.choice(["0x3232", "0x7632"])};')
            else:
                half = self.temp('h')
                self.emit(f'cvt.rn.f16.f32 {half}, {single}; mov.b32 {new}, {{{half}, {half}}};')
            return new

        a = [[element() for _ in range(count_a)] for _ in range(sums)]
        b = [[element() for _ in range(count_b)] for _ in range(r.randrange(1, sums + 1))]
        c = []
        for _ in range(sums):
            group = []
            for _ in range(ds):
                new = self.temp(accumulator)
                if accumulator == 'r':
                    self.emit(f'mov.b32 {new}, {0 if halves or r.random() < 0.5 else self.register("r")};')
                else:
                    zero = '0d0000000000000000' if wide else '0f00000000'
                    self.emit(f'mov.{"f64" if wide else "f32"} {new}, {zero};')
                group.append(new)
            c.append(group)
        count, again = self.temp('r'), self.temp('p')
        loop = r.random() < 0.8
        top, end = self.label(), self.label()
        if loop:
            self.emit(f'and.b32 {count}, %given, {r.choice([1, 3, 3])};')
            if r.random() < 0.8:
                self.emit(f'setp.eq.u32 {again}, {count}, 0;')
                self.emit(f'@{again} bra {end};')
            else:
                self.emit(f'add.u32 {count}, {count}, 1;')
            self.emit(f'{top}:')
        text = lambda names: '{' + ', '.join(names) + '}'
        for i in range(sums):
            # Into its own sum, or that of the product before.
            origin = c[i] if r.random() < 0.6 else c[r.randrange(sums)]
            operands = [a[i], b[i % len(b)]]
            self.emit(f'mma.sync.aligned.{form} {text(c[i])}, {text(operands[0])}, {text(operands[1])}, {text(origin)};')
        if loop and r.random() < 0.3:
            self.straight(1)
        if loop:
            self.emit(f'sub.u32 {count}, {count}, 1;')
            self.emit(f'setp.ne.u32 {again}, {count}, 0;')
            self.emit(f'@{again} bra {top};')
        self.emit(f'{end}:')
        total = self.temp('r')
        for group in c:
            for name in group:
                if halves:
                    half, other = self.temp('h'), self.temp('h')
                    self.emit(f'mov.b32 {{{half}, {other}}}, {name}; cvt.rzi.s32.f16 {total}, {half}; xor.b32 %r0, %r0, {total}; cvt.rzi.s32.f16 {total}, {other};')
                elif accumulator == 'r':
                    self.emit(f'mov.b32 {total}, {name};')
                else:
                    self.emit(f'cvt.rzi.s32.{"f64" if wide else "f32"} {total}, {name};')
                which = self.register('r')
                self.emit(f'mad.lo.u32 {which}, {which}, 31, {total};')

    def do_tile(self, depth):
        """Two products with a mask between: the elements that a lane keeps depend on their place, on bits of a word, or on their value."""
        r = self.random
        inner = 16 if self.chip >= 80 else 8
        halves = r.random() < 0.5
        shape = f'm16n8k{inner}.row.col'
        single = f'{shape}.f16.f16.f16.f16' if halves else f'{shape}.f32.f16.f16.f32'
        # A second product takes the sums of as many tiles of eight columns as it has halves of sixteen.
        columns = inner // 8
        a, b = self.fragment(2 * columns, r.random() < 0.5), self.fragment(columns, False)
        row, column = self.temp('r'), self.temp('r')
        self.emit(f'mov.u32 {row}, %laneid; and.b32 {column}, {row}, 3; shl.b32 {column}, {column}, 1; shr.u32 {row}, {row}, 2;')
        total = [self.zero(halves) for _ in range(2 if halves else 4)]
        count, again = self.temp('r'), self.temp('p')
        top, end = self.label(), self.label()
        self.emit(f'and.b32 {count}, %given, {r.choice([1, 3])};')
        self.emit(f'setp.eq.u32 {again}, {count}, 0;')
        self.emit(f'@{again} bra {end};')
        self.emit(f'{top}:')
        text = lambda names: '{' + ', '.join(names) + '}'
        packed = []
        for tile in range(columns):
            sums = [self.zero(halves) for _ in range(2 if halves else 4)]
            self.emit(f'mma.sync.aligned.{single} {text(sums)}, {text(a)}, {text(b)}, {text(sums)};')
            kept = self.mask(sums, row, column, 8 * tile, count)
            packed += kept if halves else self.pack(kept)
        for word in packed:
            self.limit(word)
        self.emit(f'mma.sync.aligned.{single} {text(total)}, {text(packed)}, {text(b)}, {text(total)};')
        if r.random() < 0.3:
            self.straight(1)
        self.emit(f'sub.u32 {count}, {count}, 1;')
        self.emit(f'setp.ne.u32 {again}, {count}, 0;')
        self.emit(f'@{again} bra {top};')
        self.emit(f'{end}:')
        self.fold(total, halves)

    def zero(self, halves):
        """A sum of halves or of singles, at its start."""
        new = self.temp('r' if halves else 'f')
        self.emit(f'mov.b32 {new}, 0;' if halves else f'mov.f32 {new}, 0f00000000;')
        return new

    def halves(self):
        """A word of two small whole halves."""
        r = self.random
        small, single, found, new = self.temp('r'), self.temp('f'), [], self.temp('r')
        for _ in range(2):
            half = self.temp('h')
            self.emit(f'and.b32 {small}, {self.register("r")}, 3; sub.u32 {small}, {small}, {r.randrange(1, 3)}; cvt.rn.f32.s32 {single}, {small}; cvt.rn.f16.f32 {half}, {single};')
            found.append(half)
        self.emit(f'mov.b32 {new}, {{{found[0]}, {found[1]}}};')
        return new

    def fragment(self, count, loaded):
        """An operand of a product: words of the lane, or rows of the warp, one from each lane's part of shared memory."""
        words = [self.halves() for _ in range(count)]
        if not loaded:
            return words
        stored = (words * 4)[:4]
        self.emit(f'st.shared.v4.u32 [%own], {{{", ".join(stored)}}};')
        self.emit('bar.warp.sync 0xffffffff;')
        new = [self.temp('r') for _ in range(count)]
        across = self.random.choice(['', '.trans'])
        self.emit(f'ldmatrix.sync.aligned.m8n8.x{count}{across}.shared.b16 {{{", ".join(new)}}}, [%own];')
        self.emit('bar.warp.sync 0xffffffff;')
        return new

    def kept(self, row, column, at, count):
        """A predicate: whether the element of the lane at a place is kept."""
        r = self.random
        new, moved = self.temp('p'), self.temp('r')
        if r.random() < 0.5:
            # Not above the diagonal, which moves from round to round.
            base = r.choice(['', f' add.u32 {moved}, {moved}, {count};', f' sub.u32 {moved}, {moved}, {count};'])
            self.emit(f'add.u32 {moved}, {column}, {at % 8 % 2 + at // 8 * 8};{base} setp.{r.choice(COMPARISONS)}.s32 {new}, {moved}, {row};')
        else:
            self.emit(f'shr.u32 {moved}, {self.register("r")}, {count}; and.b32 {moved}, {moved}, {1 << r.randrange(8)}; setp.{r.choice(["eq", "ne"])}.u32 {new}, {moved}, 0;')
        return new

    def mask(self, sums, row, column, at, count):
        """The sums of a tile, those that the mask leaves out replaced."""
        r = self.random
        if len(sums) == 4:
            found = []
            for number, name in enumerate(sums):
                new = self.temp('f')
                predicate = self.kept(row, column, at + number % 2, count)
                other = r.choice(['0f00000000', '0fC0400000', '0f3F800000'])
                if r.random() < 0.7:
                    self.emit(f'selp.f32 {new}, {name}, {other}, {predicate};')
                else:
                    self.emit(f'mov.f32 {new}, {name}; @!{predicate} mov.f32 {new}, {other};')
                found.append(new)
            return found
        return [self.masked_halves(name, row, column, at, count) for name in sums]

    def masked_halves(self, name, row, column, at, count):
        """Two halves, each kept or replaced by one of the ways that halves have."""
        r = self.random
        new, word, limit = self.temp('r'), self.temp('r'), self.temp('r')
        way = r.randrange(5)
        if way == 0:
            low, high = [self.kept(row, column, at + side, count) for side in range(2)]
            self.emit(f'selp.b32 {word}, 0xffff, 0, {low}; selp.b32 {limit}, 0xffff0000, 0, {high}; or.b32 {word}, {word}, {limit}; and.b32 {new}, {name}, {word};')
        elif way == 1:
            half = [self.temp('h') for _ in range(4)]
            low, high = [self.kept(row, column, at + side, count) for side in range(2)]
            self.emit(f'mov.b32 {{{half[0]}, {half[1]}}}, {name}; mov.b16 {half[2]}, 0x3c00; selp.b16 {half[0]}, {half[0]}, {half[2]}, {low}; selp.b16 {half[1]}, {half[2]}, {half[1]}, {high};')
            self.emit(f'mov.b32 {new}, {{{half[0]}, {half[1]}}};')
        elif way == 2:
            predicates = [self.temp('p') for _ in range(2)]
            self.emit(f'mov.b32 {limit}, 0x40004000; setp.{r.choice(COMPARISONS)}.f16x2 {predicates[0]}|{predicates[1]}, {name}, {limit};')
            self.emit(f'mov.b32 {new}, {name}; @{predicates[0]} and.b32 {new}, {new}, {r.choice(KEPT)}; @{self.maybe_not()}{predicates[1]} and.b32 {new}, {new}, {r.choice(KEPT)};')
        elif way == 3:
            self.emit(f'mov.b32 {limit}, 0xbc003c00; set.{r.choice(COMPARISONS)}.f16x2.f16x2 {word}, {name}, {limit}; mul.rn.f16x2 {new}, {name}, {word};')
        else:
            self.emit(f'prmt.b32 {new}, {name}, 0, {r.choice(["0x4410", "0x3244", "0x1032", "0x3210"])};')
        return new

    def pack(self, sums):
        """Four sums of singles as two words of halves."""
        found = []
        for low, high in (sums[:2], sums[2:]):
            new = self.temp('r')
            if self.chip >= 80 and self.random.random() < 0.6:
                self.emit(f'cvt.rn.f16x2.f32 {new}, {high}, {low};')
            else:
                half = [self.temp('h') for _ in range(2)]
                self.emit(f'cvt.rn.f16.f32 {half[0]}, {low}; cvt.rn.f16.f32 {half[1]}, {high}; mov.b32 {new}, {{{half[0]}, {half[1]}}};')
            found.append(new)
        return found

    def limit(self, word):
        """Halves between -7 and 7, so that products of some rounds stay whole."""
        most, least, predicates = self.temp('r'), self.temp('r'), [self.temp('p') for _ in range(2)]
        if self.chip >= 80 and self.random.random() < 0.7:
            self.emit(f'mov.b32 {most}, 0x47004700; mov.b32 {least}, 0xc700c700; min.f16x2 {word}, {word}, {most}; max.f16x2 {word}, {word}, {least};')
            return
        self.emit(f'and.b32 {least}, {word}, 0x7fff7fff; mov.b32 {most}, 0x47004700; setp.gt.f16x2 {predicates[0]}|{predicates[1]}, {least}, {most};')
        self.emit(f'@{predicates[0]} and.b32 {word}, {word}, 0xffff0000; @{predicates[1]} and.b32 {word}, {word}, 0xffff;')

    def fold(self, total, halves):
        """Makes the sums part of what the lane leaves."""
        whole = self.temp('r')
        for name in total:
            which = self.register('r')
            if not halves:
                self.emit(f'cvt.rzi.s32.f32 {whole}, {name}; mad.lo.u32 {which}, {which}, 31, {whole};')
                continue
            half = [self.temp('h') for _ in range(2)]
            self.emit(f'mov.b32 {{{half[0]}, {half[1]}}}, {name};')
            for one in half:
                self.emit(f'cvt.rzi.s32.f16 {whole}, {one}; mad.lo.u32 {which}, {which}, 31, {whole};')
