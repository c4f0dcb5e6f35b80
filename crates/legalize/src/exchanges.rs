//! Phase 5, ConvertUnsupportedOps: exchanges that lanes of a warp may reach at several places.
//!
//! PTX lets divergent lanes execute `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync` or `elect.sync` with one mask at
//! two places: all lanes of the mask exchange. The hardware exchanges among lanes at one instruction. So the lanes of such
//! a place ([`crate::exchange_places`]) ask whether all lanes of the mask are with them. Then they exchange in place;
//! otherwise they call a routine ([`crate::exchange_routine`]), which is the same for all places. Exchanges of one mask in a
//! row ask once.
//!
//! It runs before any phase that removes an exchange whose result has no reader: lanes at another place may read the
//! word that it gives.

use crate::emit::Emit;
use crate::exchange_places::{self, Place};
use crate::exchange_routine::Shape;
use crate::routine::{Routine, Routines};
use oriole_chip::Chip;
use oriole_ori::{
    BlockId, Builder, File, FormChange, Function, Guard, Instruction, Origin, Outcome, Pass, Source,
    SourceKind, Value, effects,
};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashSet;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.chip)))
};

/// Makes lanes at several places exchange with one another. True if there were such places.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let all = exchange_places::all(function);
    let mut shared = exchange_places::shared(function, &all);
    if drop_waits(function, &all, &shared) {
        shared = exchange_places::shared(function, &exchange_places::all(function));
    }
    // They are called always: only so lanes of several places meet.
    let mut routines = Routines::new(chip, true, false);
    // Later rows first, so that indices of earlier ones stay.
    for row in rows(function, &shared).into_iter().rev() {
        ask(function, &mut routines, row);
    }
    !shared.is_empty()
}

/// Lanes that no others exchange with wait once for a statement that exchanges several times: drops the other waits. True
/// if there were some.
fn drop_waits(function: &mut Function, all: &[Place], shared: &[Place]) -> bool {
    let statement = |place: &Place| function.block(place.block).instructions[place.at].origin;
    let among: FxHashSet<Origin> = shared.iter().map(statement).collect();
    let mut waited = FxHashSet::default();
    let mut again = |place: &&Place| {
        let statement = statement(place);
        !among.contains(&statement) && !waited.insert(statement)
    };
    let waits: Vec<(BlockId, usize)> =
        all.iter().filter(|it| again(it)).map(|it| (it.block, it.wait)).collect();
    for of_block in waits.chunk_by(|one, other| one.0 == other.0) {
        let mut dropped = of_block.iter().map(|&(_, wait)| wait).peekable();
        let mut at = 0..;
        function
            .block_mut(of_block[0].0)
            .instructions
            .retain(|_| at.next().is_none_or(|at| dropped.next_if_eq(&at).is_none()));
    }
    !waits.is_empty()
}

/// Divides places into rows: exchanges of a block that ask once.
fn rows<'a>(function: &Function, places: &'a [Place]) -> Vec<&'a [Place]> {
    let mut rows = Vec::new();
    let mut rest = places;
    while let Some(first) = rest.first() {
        let mut count = 1;
        while let Some(next) = rest.get(count)
            && next.block == first.block
            && next.mask == first.mask
            && joins(function, &rest[count - 1], next)
        {
            count += 1;
        }
        let (row, others) = rest.split_at(count);
        rows.push(row);
        rest = others;
    }
    rows
}

/// Whether an exchange may ask with the one before it, whose mask it has: the mask stays, and lanes stay together between
/// them.
fn joins(function: &Function, last: &Place, next: &Place) -> bool {
    let instructions = &function.block(next.block).instructions;
    let mask = next.mask.as_plain_value();
    let writes = |instruction: &Instruction| {
        let mut writes = false;
        instruction.for_each_definition(|value| writes |= Some(value) == mask);
        writes
    };
    let plain = |(at, instruction): (usize, &Instruction)| {
        at == next.wait || !effects::is_convergent(instruction) || effects::is_exchange(instruction)
    };
    (last.at + 1..next.at).all(|at| plain((at, &instructions[at])))
        && !instructions[last.wait..next.at].iter().any(|it| writes(it) || effects::is_transfer(it))
}

/// Splits the block of a row: lanes exchange in place, or call routines.
fn ask(function: &mut Function, routines: &mut Routines, row: &[Place]) {
    let [first, ..] = row else { return };
    let end = row.last().map_or(first.at, |last| last.at) + 1;
    let mut head = std::mem::take(&mut function.block_mut(first.block).instructions);
    let successors = std::mem::take(&mut function.block_mut(first.block).successors);
    let rest = head.split_off(end);
    let code = head.split_off(first.wait);
    let origin = code.first().map_or(Origin(0), |wait| wait.origin);
    function.block_mut(first.block).instructions = head;
    let mut builder = Builder::new(function, first.block, origin);
    let whole = is_whole(&mut builder, &first.mask);
    let [here, away, join] = [(); 3].map(|()| builder.new_block());
    builder.branch(Guard { value: whole, negated: true }, away, here);
    builder.set_block(here);
    let mut waits = row.iter().map(|place| place.wait).peekable();
    let code: Vec<(usize, Instruction)> =
        (first.wait..).zip(code).filter(|&(at, _)| waits.next_if_eq(&at).is_none()).collect();
    code.iter().for_each(|(_, instruction)| builder.push(instruction.clone()));
    builder.fall_through(join);
    builder.function_mut().block_mut(away).cold = true;
    builder.set_block(away);
    let mut places = row.iter().peekable();
    for (at, instruction) in code {
        match places.next_if(|place| place.at == at) {
            Some(place) => exchange(&mut builder, routines, place, &instruction),
            None => builder.push(instruction),
        }
    }
    builder.jump(join);
    builder.function_mut().block_mut(join).instructions = rest;
    builder.function_mut().block_mut(join).successors = successors;
}

/// Whether all lanes of the mask execute this together.
fn is_whole(builder: &mut Builder<'_>, mask: &Source) -> Value {
    let [here, whole] = [builder.r(), builder.p()];
    builder.op(Op::VOTE).m(Mod::ANY).to(here).drop_result(File::P).from(Source::pt()).emit();
    let all = matches!(mask.kind, SourceKind::Imm(u32::MAX) | SourceKind::Literal(-1 | 0xffff_ffff));
    if all {
        builder.isetp(whole, Mod::EQ, true, here, u32::MAX);
        return whole;
    }
    let missing = builder.r();
    let mask = in_register(builder, mask.clone());
    // Those of the mask that are not here: ~a & b.
    builder.lop3(missing, here, mask, Source::rz(), 0x0c);
    builder.isetp(whole, Mod::EQ, true, missing, Source::rz());
    whole
}

fn in_register(builder: &mut Builder<'_>, source: Source) -> Value {
    let source = match source.kind {
        SourceKind::Literal(bits) => Source::imm(bits as u32),
        _ => source,
    };
    Emit { b: builder }.register(source)
}

/// The exchange by its routine, in place of an instruction.
fn exchange(builder: &mut Builder<'_>, routines: &mut Routines, place: &Place, instruction: &Instruction) {
    builder.set_origin(instruction.origin);
    let skipped = instruction.guard.map(|guard| {
        let [call, after] = [(); 2].map(|()| builder.new_block());
        builder.branch(Guard { value: guard.value, negated: !guard.negated }, after, call);
        builder.function_mut().block_mut(call).cold = true;
        builder.function_mut().block_mut(after).cold = true;
        builder.set_block(call);
        after
    });
    let shape = place.exchange.shape();
    let mut words = arguments(builder, shape, instruction);
    words.push(in_register(builder, place.mask.clone()));
    let arguments: Vec<&[Value]> = words.chunks(1).collect();
    let which = Routine::Exchange(place.exchange);
    let results = routines.results(&mut Emit { b: builder }, which, &arguments);
    for (value, result) in given(builder, shape, instruction).into_iter().zip(results) {
        let Some(value) = value else { continue };
        match builder.function().file(value) {
            File::P => builder.isetp(value, Mod::NE, true, result, Source::rz()),
            _ => builder.mov(value, result),
        }
    }
    if let Some(after) = skipped {
        builder.fall_through(after);
        builder.set_block(after);
    }
}

/// The words that an exchange takes, without the mask.
fn arguments(builder: &mut Builder<'_>, shape: Shape, instruction: &Instruction) -> Vec<Value> {
    let source = |at: usize| instruction.sources[at].clone();
    match shape {
        Shape::Shuffle => (0..3).map(|at| in_register(builder, source(at))).collect(),
        Shape::Ballot | Shape::Vote => {
            let [word, one] = [builder.r(), builder.r()];
            builder.mov(one, 1u32);
            builder.sel(word, one, Source::rz(), source(0));
            vec![word]
        }
        Shape::MatchAny(2) | Shape::MatchAll(2) => {
            let SourceKind::Values(words) = source(0).kind else {
                let zero = in_register(builder, Source::rz());
                return vec![zero; 2];
            };
            words.into_iter().collect()
        }
        Shape::MatchAny(_) | Shape::MatchAll(_) => vec![in_register(builder, source(0))],
        Shape::Elect => Vec::new(),
    }
}

/// The values that the results of a routine go to, in their order.
fn given(builder: &Builder<'_>, shape: Shape, instruction: &Instruction) -> Vec<Option<Value>> {
    let mut word = None;
    let mut truth = None;
    instruction.for_each_definition(|value| match builder.function().file(value) {
        File::P => truth = Some(value),
        _ => word = Some(value),
    });
    match shape {
        Shape::Shuffle | Shape::Ballot | Shape::MatchAll(_) => vec![word, truth],
        Shape::Vote | Shape::Elect => vec![truth],
        Shape::MatchAny(_) => vec![word],
    }
}
