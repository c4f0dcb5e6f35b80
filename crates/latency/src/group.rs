//! The rows and columns of the distance tables: producers (a class and what part of its result) and consumers
//! (a class and the slot that reads). Many classes share one column.

use crate::{Class, ResultPart, Slot};

/// A row: kind of result and of its producer. Only fixed-latency results have rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Producer {
    Alu,
    Fma,
    Dual,
    WideLow,
    WideHigh,
    WideSingle,
    Half,
    HalfToSingle,
    HalfAlu,
    HalfMma,
    Mask,
    Double,
    Dispatch64,
    Long,
    Matrix88,
    MatrixOne,
    MatrixTwo,
    Group,
    OtherGeneral,
    AluPredicate,
    LongPredicate,
    FmaPredicate,
    HalfPredicate,
    DoublePredicate,
    MaskPredicate,
    ToUniformPredicate,
    OtherPredicate,
    Uniform,
    UniformLoad,
    UniformMove,
    UniformVote,
    ToUniform,
    OtherUniform,
    UniformPredicate,
    UniformVotePredicate,
    OtherUniformPredicate,
}

/// A column: the reader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Consumer {
    // General registers.
    Alu,
    Fma,
    Dual,
    Wide,
    WideLow,
    WideHigh,
    Half,
    HalfToSingle,
    HalfAlu,
    HalfMma,
    Double,
    Long,
    Matrix,
    MatrixInteger,
    MatrixTwo,
    MatrixAccumulator,
    MatrixTwoAccumulator,
    MatrixDouble,
    Group,
    GroupAccumulator,
    Special,
    ToUniform,
    Address,
    Data,
    ConstantIndex,
    Control,
    OtherGeneral,
    // Predicates.
    AluPredicate,
    FmaPredicate,
    WidePredicate,
    HalfPredicate,
    DoublePredicate,
    SlowPredicate,
    Guard,
    // Uniform registers.
    Uniform,
    UniformMove,
    VectorUniform,
    SlowUniform,
    TextureHandle,
    MatrixDescriptor,
    UniformIndex,
    SyncData,
    ControlUniform,
    OtherUniform,
    // Uniform predicates.
    UniformPredicate,
    VectorUniformPredicate,
    UniformGuard,
    BulkUniformGuard,
    ControlUniformPredicate,
    OtherUniformPredicate,
}

pub const PRODUCERS: usize = Producer::OtherUniformPredicate as usize + 1;
pub const CONSUMERS: usize = Consumer::OtherUniformPredicate as usize + 1;

/// The register file of a group: pairs of different files are meaningless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    General,
    Predicate,
    Uniform,
    UniformPredicate,
}

pub const ALL_PRODUCERS: [Producer; PRODUCERS] = {
    use Producer::*;
    [
        Alu,
        Fma,
        Dual,
        WideLow,
        WideHigh,
        WideSingle,
        Half,
        HalfToSingle,
        HalfAlu,
        HalfMma,
        Mask,
        Double,
        Dispatch64,
        Long,
        Matrix88,
        MatrixOne,
        MatrixTwo,
        Group,
        OtherGeneral,
        AluPredicate,
        LongPredicate,
        FmaPredicate,
        HalfPredicate,
        DoublePredicate,
        MaskPredicate,
        ToUniformPredicate,
        OtherPredicate,
        Uniform,
        UniformLoad,
        UniformMove,
        UniformVote,
        ToUniform,
        OtherUniform,
        UniformPredicate,
        UniformVotePredicate,
        OtherUniformPredicate,
    ]
};

pub const ALL_CONSUMERS: [Consumer; CONSUMERS] = {
    use Consumer::*;
    [
        Alu,
        Fma,
        Dual,
        Wide,
        WideLow,
        WideHigh,
        Half,
        HalfToSingle,
        HalfAlu,
        HalfMma,
        Double,
        Long,
        Matrix,
        MatrixInteger,
        MatrixTwo,
        MatrixAccumulator,
        MatrixTwoAccumulator,
        MatrixDouble,
        Group,
        GroupAccumulator,
        Special,
        ToUniform,
        Address,
        Data,
        ConstantIndex,
        Control,
        OtherGeneral,
        AluPredicate,
        FmaPredicate,
        WidePredicate,
        HalfPredicate,
        DoublePredicate,
        SlowPredicate,
        Guard,
        Uniform,
        UniformMove,
        VectorUniform,
        SlowUniform,
        TextureHandle,
        MatrixDescriptor,
        UniformIndex,
        SyncData,
        ControlUniform,
        OtherUniform,
        UniformPredicate,
        VectorUniformPredicate,
        UniformGuard,
        BulkUniformGuard,
        ControlUniformPredicate,
        OtherUniformPredicate,
    ]
};

impl Producer {
    /// The row of a result, `None` for one that a scoreboard reports (or a convergence barrier).
    pub fn of(class: Class, part: ResultPart) -> Option<Producer> {
        use Producer as P;
        Some(match (part, class) {
            (_, Class::Special | Class::Memory | Class::Texture | Class::Bulk | Class::Sync) => return None,
            (_, Class::Fence | Class::SpecialRegister | Class::MatrixDouble | Class::Control) => return None,
            (ResultPart::Barrier, _) => return None,
            (ResultPart::General | ResultPart::Low | ResultPart::High, class) => match (class, part) {
                (Class::Alu, _) => P::Alu,
                (Class::Fma, _) => P::Fma,
                (Class::Dual, _) => P::Dual,
                (Class::Wide, ResultPart::Low) => P::WideLow,
                (Class::Wide, ResultPart::High) => P::WideHigh,
                (Class::Wide, _) => P::WideSingle,
                (Class::Half, _) => P::Half,
                (Class::HalfToSingle, _) => P::HalfToSingle,
                (Class::Mask, _) => P::Mask,
                (Class::HalfAlu, _) => P::HalfAlu,
                (Class::HalfMma, _) => P::HalfMma,
                (Class::Double, _) => P::Double,
                (Class::Dispatch64, _) => P::Dispatch64,
                (Class::Long, _) => P::Long,
                (Class::Matrix88, _) => P::Matrix88,
                (Class::MatrixOne | Class::MatrixOneInteger, _) => P::MatrixOne,
                (Class::MatrixTwo, _) => P::MatrixTwo,
                (Class::Group, _) => P::Group,
                _ => P::OtherGeneral,
            },
            (ResultPart::Predicate, class) => match class {
                // `ELECT` is among the uniform votes; its predicate is as fast as one of the integer unit.
                Class::Alu | Class::UniformVote => P::AluPredicate,
                Class::Long => P::LongPredicate,
                Class::Fma | Class::Wide | Class::Dual => P::FmaPredicate,
                Class::HalfAlu => P::HalfPredicate,
                Class::Double => P::DoublePredicate,
                Class::Mask => P::MaskPredicate,
                Class::ToUniform => P::ToUniformPredicate,
                _ => P::OtherPredicate,
            },
            (ResultPart::Uniform, class) => match class {
                Class::Uniform => P::Uniform,
                Class::UniformLoad => P::UniformLoad,
                Class::UniformMove => P::UniformMove,
                Class::UniformVote => P::UniformVote,
                Class::ToUniform => P::ToUniform,
                _ => P::OtherUniform,
            },
            (ResultPart::UniformPredicate, class) => match class {
                Class::Uniform => P::UniformPredicate,
                Class::UniformVote => P::UniformVotePredicate,
                _ => P::OtherUniformPredicate,
            },
        })
    }

    pub const fn kind(self) -> Kind {
        match self as u8 {
            row if row <= Producer::OtherGeneral as u8 => Kind::General,
            row if row <= Producer::OtherPredicate as u8 => Kind::Predicate,
            row if row <= Producer::OtherUniform as u8 => Kind::Uniform,
            _ => Kind::UniformPredicate,
        }
    }
}

impl Consumer {
    /// The column of a reader.
    pub fn of(class: Class, slot: Slot) -> Consumer {
        use Consumer as C;
        match slot {
            Slot::Operand => Consumer::of_general(class),
            Slot::AddendLow => C::WideLow,
            Slot::AddendHigh => C::WideHigh,
            Slot::Accumulator => match class {
                Class::MatrixDouble => C::MatrixDouble,
                Class::Group => C::GroupAccumulator,
                Class::MatrixTwo => C::MatrixTwoAccumulator,
                _ => C::MatrixAccumulator,
            },
            Slot::Address | Slot::Data if matches!(class, Class::Sync | Class::Texture) => C::Special,
            Slot::Address => C::Address,
            Slot::Data => C::Data,
            Slot::ConstantIndex => C::ConstantIndex,
            Slot::Predicate => match class {
                Class::Alu | Class::Mask => C::AluPredicate,
                // Choices of 64 bits were never seen to read theirs earlier.
                Class::Fma | Class::Long => C::FmaPredicate,
                Class::Wide => C::WidePredicate,
                Class::HalfAlu => C::HalfPredicate,
                Class::Double => C::DoublePredicate,
                _ => C::SlowPredicate,
            },
            Slot::SlowPredicate => C::SlowPredicate,
            Slot::Guard => C::Guard,
            Slot::Uniform => Consumer::of_uniform(class),
            Slot::UniformAddress if class == Class::Texture => C::TextureHandle,
            Slot::UniformAddress => C::SlowUniform,
            Slot::MatrixDescriptor => C::MatrixDescriptor,
            Slot::UniformIndex => C::UniformIndex,
            Slot::UniformPredicate => match class {
                Class::Uniform | Class::UniformLoad | Class::UniformMove => C::UniformPredicate,
                Class::Control => C::ControlUniformPredicate,
                Class::Alu | Class::Fma | Class::Wide => C::VectorUniformPredicate,
                _ => C::OtherUniformPredicate,
            },
            Slot::UniformGuard if class == Class::Bulk => C::BulkUniformGuard,
            Slot::UniformGuard => C::UniformGuard,
            // Convergence barriers are ordered by their unit; they have no column and no row needs one.
            Slot::Barrier => C::OtherUniformPredicate,
        }
    }

    /// The column of an instruction that reads a general register as an ordinary operand.
    fn of_general(class: Class) -> Consumer {
        use Consumer as C;
        match class {
            Class::Alu => C::Alu,
            Class::Fma => C::Fma,
            Class::Dual => C::Dual,
            Class::Wide => C::Wide,
            Class::Half => C::Half,
            Class::HalfToSingle => C::HalfToSingle,
            // Other operands of a predicate mask: only the distance of the integer unit is known.
            Class::Mask => C::Alu,
            Class::HalfAlu => C::HalfAlu,
            Class::HalfMma => C::HalfMma,
            Class::Double => C::Double,
            Class::Long => C::Long,
            Class::Matrix88 | Class::MatrixOne => C::Matrix,
            Class::MatrixOneInteger => C::MatrixInteger,
            Class::MatrixTwo => C::MatrixTwo,
            Class::MatrixDouble => C::MatrixDouble,
            Class::Group => C::Group,
            // Barriers in shared memory and textures read their sources as the special unit does, not as stores do.
            Class::Special | Class::Sync | Class::Texture => C::Special,
            Class::ToUniform => C::ToUniform,
            // Barrier index and count in registers: ptxas keeps the distance of an address.
            Class::Fence => C::Address,
            Class::SpecialRegister => C::Special,
            Class::Control => C::Control,
            Class::Memory => C::Data,
            _ => C::OtherGeneral,
        }
    }

    /// The column of an instruction that reads a uniform register as an ordinary operand.
    fn of_uniform(class: Class) -> Consumer {
        use Consumer as C;
        match class {
            Class::Uniform | Class::UniformLoad | Class::UniformVote => C::Uniform,
            Class::UniformMove => C::UniformMove,
            Class::Sync => C::SyncData,
            // The handle of a texture is an address; that of a written surface is not.
            Class::Double | Class::Special | Class::Memory | Class::Bulk | Class::Texture => C::SlowUniform,
            Class::Control => C::ControlUniform,
            Class::Alu
            | Class::Long
            | Class::Fma
            | Class::Dual
            | Class::Wide
            | Class::Half
            | Class::HalfToSingle
            | Class::HalfAlu
            | Class::HalfMma
            | Class::Mask => C::VectorUniform,
            _ => C::OtherUniform,
        }
    }

    pub const fn kind(self) -> Kind {
        match self as u8 {
            column if column <= Consumer::OtherGeneral as u8 => Kind::General,
            column if column <= Consumer::Guard as u8 => Kind::Predicate,
            column if column <= Consumer::OtherUniform as u8 => Kind::Uniform,
            _ => Kind::UniformPredicate,
        }
    }
}
