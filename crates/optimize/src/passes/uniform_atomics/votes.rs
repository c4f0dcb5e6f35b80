//! The votes of a block: which lanes take part in an update, and which one leads.

use oriole_ori::{Builder, File, Guard, Instruction, Source, Value, effects};
use oriole_sass::{Mod, Op, Symbol};

/// The votes of a block, by guard: the lanes that execute one of its instructions execute all of them.
#[derive(Default)]
pub(super) struct Votes(Vec<(Option<Guard>, Vote)>);

/// The lanes that take part.
#[derive(Clone, Copy)]
pub(super) struct Vote {
    /// Mask of the lanes.
    pub(super) mask: Value,
    /// The highest of them.
    pub(super) top: Value,
    /// True in that lane.
    pub(super) leads: Value,
}

impl Votes {
    /// Lanes may have left after the instruction, or others may have come.
    pub(super) fn pass(&mut self, instruction: &Instruction) {
        if effects::is_convergent(instruction) && !effects::is_exchange(instruction)
            || effects::is_transfer(instruction)
            || instruction.call.is_some()
        {
            self.0.clear();
        }
    }

    pub(super) fn of(&mut self, b: &mut Builder<'_>, guard: Option<Guard>) -> Vote {
        if let Some((_, known)) = self.0.iter().find(|(of, _)| *of == guard) {
            return *known;
        }
        let [mask, top, lane] = [b.r(), b.r(), b.r()];
        let leads = b.p();
        let takes_part = guard.map_or_else(Source::pt, Source::from);
        b.op(Op::VOTE).m(Mod::ANY).to(mask).drop_result(File::P).from(takes_part).emit();
        b.op(Op::FLO).m(Mod::U32).to(top).from(mask).emit();
        b.s2r(lane, Symbol::SR_LANEID);
        b.isetp(leads, Mod::EQ, true, lane, top);
        let vote = Vote { mask, top, leads };
        self.0.push((guard, vote));
        vote
    }
}
