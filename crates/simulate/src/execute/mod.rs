//! The semantics of instructions. The files of this folder divide the instructions by kind; this file gives each
//! instruction to its own. [`context`] has the view that they share. Nothing in this folder but this file may name the
//! files of all kinds.

mod atomic;
pub(crate) mod bulk;
mod context;
pub(crate) mod control;
mod convert;
mod double;
pub(crate) mod driver;
mod fetch;
mod float;
mod half;
mod inert;
mod integer;
mod load_store;
mod matrix;
mod matrix_steps;
mod narrow;
pub(crate) mod observe;
mod special;
mod surface;
mod synchronize;
mod tensor;
pub(crate) mod tensor_memory;
mod transcendental;
mod video;
mod warp_group;
mod warp_wide;

pub(crate) use context::{Context, LaunchContext, Next, guarded};

use crate::launch::Fault;
use crate::program::name;
use oriole_sass::{Mod, Op};

/// Executes one instruction in the current group of the warp. A modifier that the execution has not queried is a fault.
pub(crate) fn execute(context: &mut Context) -> Result<Next, Fault> {
    let next = act(context)?;
    if context.active != 0 {
        refuse_unasked(context)?;
    }
    Ok(next)
}

/// The error for a modifier that the execution has not queried, if there is one.
fn refuse_unasked(context: &Context) -> Result<(), Fault> {
    let asked = context.asked.get();
    let op = context.instruction.op;
    let mut left = (0..).zip(context.instruction.mods.iter()).filter(|&(place, _)| asked >> place & 1 == 0);
    match left.find(|&(_, modifier)| !inert::changes_nothing(op, modifier)) {
        Some((_, modifier)) => {
            let form = name(context.instruction);
            Err(Fault::NotSimulated(format!("{form}, of which `.{}` is not known,", modifier.spelling())))
        }
        None => Ok(()),
    }
}

fn act(context: &mut Context) -> Result<Next, Fault> {
    use Op::*;
    let op = context.instruction.op;
    match op {
        NOP | MEMBAR | ERRBAR | CGAERRBAR | FENCE | CCTL | CCTLL | CCTLT | DEPBAR | LDGDEPBAR | PMTRIG
        | ACQBULK | PREEXIT => Ok(()),
        USETMAXREG => control::change_registers(context),
        IADD | IADD3 | UIADD3 | IMAD | UIMAD | LEA | ULEA | LOP3 | ULOP3 | PLOP3 | UPLOP3 | SHF | USHF
        | PRMT | UPRMT | IABS | ISETP | UISETP | SEL | USEL | SGXT | USGXT | BMSK | UBMSK | FLO | UFLO
        | POPC | UPOPC | BREV | UBREV | MOV | UMOV | P2R | UP2UR | R2P | UR2UP | R2UR | CLMAD => {
            integer::execute(context)
        }
        VIADD | VIADDMNMX | VIMNMX | UVIMNMX | VIMNMX3 | IMNMX | UIMNMX | VABSDIFF | VABSDIFF4 | IDP
        | I2I | I2IP => video::execute(context),
        FADD | FMUL | FFMA | FADD2 | FMUL2 | FFMA2 | FHADD | FHFMA | FMNMX | FMNMX3 | FSEL | FSET | FSETP
        | FCHK | FSWZADD | UFADD | UFMUL | UFFMA | UFMNMX | UFSEL | UFSET | UFSETP => float::execute(context),
        DADD | DMUL | DFMA | DSETP => double::execute(context),
        HADD2 | HMUL2 | HFMA2 | HMNMX2 | VHMNMX | HSET2 | HSETP2 => half::execute(context),
        QADD4 | QMUL4 | QFMA4 => narrow::execute(context),
        F2F | F2FP | F2I | F2IP | I2F | I2FP | FRND | UF2I | UI2F | UI2FP => convert::execute(context),
        MUFU => transcendental::execute(context),
        LD | LDG | LDS | LDL | LDC | ULDC | LDCU | ST | STG | STS | STL | LDSM | STSM | LDGSTS | QSPC => {
            load_store::execute(context)
        }
        ATOM | ATOMG | ATOMS | REDG | RED | REDAS => atomic::execute(context),
        SYNCS | ARRIVES | STAS => synchronize::execute(context),
        UBLKCP | UBLKPF | UBLKRED | UTMALDG | UTMASTG | UTMAREDG | UTMAPF | UTMACCTL | UTMACMDFLUSH
        | UMEMSETS | UGETNEXTWORKID => bulk::execute(context),
        LDGMC => atomic::reduce_copies(context),
        VOTE | VOTEU | MATCH | SHFL | REDUX | CREDUX | ELECT => warp_wide::execute(context),
        HMMA if context.has(Mod::_884) => matrix_steps::execute(context),
        HMMA | IMMA | DMMA | BMMA | QMMA | OMMA | MOVM => matrix::execute(context),
        HGMMA | IGMMA | BGMMA | QGMMA | WARPGROUP => warp_group::execute(context),
        LDTM | STTM | UTCHMMA | UTCQMMA | UTCIMMA | UTCOMMA | UTCCP | UTCSHIFT | UTCBAR | UTCATOMSWS => {
            tensor_memory::execute(context)
        }
        // Signals to other blocks of the chip that this one takes no more columns.
        UVIRTCOUNT => Ok(()),
        TEX | TLD | TLD4 | TXD | TXQ => fetch::execute(context),
        SULD | SUST | SURED => surface::execute(context),
        S2R | S2UR | CS2R | B2R | LEPC | ULEPC => special::execute(context),
        BRA | BRX | BRXU | CALL | RET | EXIT | KILL | BSSY | BSYNC | BREAK | WARPSYNC | ENDCOLLECTIVE
        | YIELD | NANOSLEEP | BMOV | BAR | UCGABAR_ARV | UCGABAR_WAIT | BPT | RPCMOV => {
            return control::execute(context);
        }
        _ => Err(context.refuse()),
    }?;
    Ok(Next::Fall)
}
