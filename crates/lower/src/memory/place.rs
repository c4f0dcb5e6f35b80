//! Places: an address operand of PTX as base registers, symbol and offset in one space, and as the memory operand of an
//! instruction. No access is emitted here.

use crate::context::Lower;
use crate::source::imm;
use crate::{LowerError, functions, names};
use oriole_hir::{Address, AddressBase, Operand};
use oriole_ori::{Address as OriAddress, MemoryInfo, Pseudo, Source, SourceKind, Values};
use oriole_ptx::Space;
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

/// Offsets that fit into a memory operand.
const OFFSET: std::ops::RangeInclusive<i64> = -0x80_0000..=0x7f_ffff;

/// An address with its space.
pub(crate) struct Place {
    /// Space of the access.
    pub space: Space,
    /// Base registers: one in 32-bit spaces, two in 64-bit ones, none for an absolute address.
    pub base: Values,
    /// Shared variable that the offset counts from.
    pub symbol: Option<oriole_ori::SymbolId>,
    /// Offset in bytes.
    pub offset: i32,
}

/// Resolves an address operand.
pub(crate) fn place_of(cx: &mut Lower<'_>, operand: &Operand, space: Space) -> Result<Place, LowerError> {
    let Operand::Address(address) = operand else {
        return Err(cx.unsupported("a memory operand without brackets"));
    };
    let mut extra = 0;
    let (space, mut base, symbol): (Space, SmallVec<[Source; 4]>, _) = match &address.base {
        AddressBase::Register(id) => {
            let words = cx.register(*id);
            (space, words.iter().map(|&v| Source::value(v)).collect(), None)
        }
        AddressBase::Variable(variable) => {
            let own = cx.body.variables[*variable].space;
            match own {
                Space::Shared | Space::SharedCluster => {
                    let symbol = names::variable_symbol(cx, *variable)?;
                    let base = cx.cluster_base();
                    (Space::Shared, base.into_iter().map(Source::value).collect(), Some(symbol))
                }
                _ if functions::in_registers(cx, *variable) => {
                    let memory = functions::parameter_memory(cx, *variable)
                        .ok_or_else(|| cx.unsupported("an address of a parameter in registers"))?;
                    let (base, start) = functions::parameter_base(cx, memory);
                    extra = i64::from(start);
                    (Space::Local, SmallVec::from_iter([Source::value(base)]), None)
                }
                _ => {
                    let pair = names::variable_address(cx, *variable, 0)?;
                    (own, pair.iter().map(|&v| Source::value(v)).collect(), None)
                }
            }
        }
        AddressBase::Absolute => (space, SmallVec::new(), None),
    };
    let mut offset = address.offset + extra;
    let wide = matches!(space, Space::Global | Space::Generic);
    if base.is_empty() && (wide || !OFFSET.contains(&offset)) {
        // An absolute address: in registers if the address has 64 bits.
        base = SmallVec::from_iter([imm(offset as u32), imm((offset >> 32) as u32)]);
        offset = 0;
    }
    if !OFFSET.contains(&offset) {
        if wide {
            let words = base.clone();
            let base_pair = tuple_of(cx, words);
            let add = cx.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
            let sum = cx.b.pair();
            cx.pseudo(Pseudo::Add64, &[], sum, [base_pair, add]);
            base = sum.iter().map(|&v| Source::value(v)).collect();
        } else {
            let sum = cx.b.r();
            cx.add(sum, base[0].clone(), imm(offset as u32));
            base = SmallVec::from_iter([Source::value(sum)]);
        }
        offset = 0;
    }
    let count = if base.is_empty() {
        0
    } else if wide {
        2
    } else {
        1
    };
    base.truncate(count);
    while base.len() < count {
        base.push(Source::rz());
    }
    let base: Values = base.into_iter().map(|s| cx.value_of(s)).collect();
    Ok(Place { space, base, symbol, offset: offset as i32 })
}

fn tuple_of(cx: &mut Lower<'_>, mut words: SmallVec<[Source; 4]>) -> Source {
    while words.len() < 2 {
        words.push(Source::rz());
    }
    cx.tuple(words)
}

/// A shared address as one word, with the rank of the block in its cluster.
pub(crate) fn shared_address(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, LowerError> {
    let Operand::Address(Address { base, offset }) = operand else {
        return Err(cx.unsupported("a memory operand without brackets"));
    };
    match base {
        AddressBase::Variable(variable) => Ok(names::variable_address(cx, *variable, *offset)?[0].into()),
        AddressBase::Absolute => Ok(imm(*offset as u32)),
        AddressBase::Register(id) => {
            let base = Source::value(cx.register(*id)[0]);
            if *offset == 0 {
                return Ok(base);
            }
            let sum = cx.b.r();
            cx.add(sum, base, imm(*offset as u32));
            Ok(sum.into())
        }
    }
}

/// A 64-bit location whose base is the address itself.
pub(crate) fn whole_address(cx: &mut Lower<'_>, place: Place) -> Place {
    if place.offset == 0 {
        return place;
    }
    let base = Source::values(place.base.clone());
    let offset = i64::from(place.offset);
    let add = cx.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
    let sum = cx.b.pair();
    cx.pseudo(Pseudo::Add64, &[], sum, [base, add]);
    Place { base: Values::from_slice(&sum), offset: 0, ..place }
}

/// The memory operand of a place. With `descriptor`, global and generic accesses name the descriptor.
pub(crate) fn memory_operand(cx: &mut Lower<'_>, place: &Place, descriptor: bool) -> Source {
    let wide = matches!(place.space, Space::Global | Space::Generic);
    let descriptor = if wide && descriptor { cx.descriptor() } else { None };
    let mut source = Source::plain(SourceKind::Address(Box::new(OriAddress {
        descriptor: descriptor.map(|pair| pair.into_iter().collect()),
        base: place.base.clone(),
        uniform: Values::new(),
        symbol: place.symbol,
        offset: place.offset,
    })));
    if descriptor.is_some() {
        source.suffixes.insert(Mod::_64);
    }
    source
}

/// Memory facts of an access.
pub(crate) fn memory_info(space: Space, reads: bool, writes: bool, ordered: bool) -> MemoryInfo {
    MemoryInfo { space: alias_space(space), reads, writes, ordered, object: None }
}

/// The space as the alias classes name it.
fn alias_space(space: Space) -> oriole_ori::Space {
    match space {
        Space::Global => oriole_ori::Space::Global,
        Space::Shared => oriole_ori::Space::Shared,
        Space::Local | Space::FunctionParameter => oriole_ori::Space::Local,
        Space::Constant | Space::KernelParameter => oriole_ori::Space::Constant,
        Space::Generic | Space::SharedCluster | Space::Register => oriole_ori::Space::Generic,
    }
}

/// The instructions that access the space: for loads, for stores, and whether they take `.E`.
pub(crate) fn access_ops(cx: &Lower<'_>, space: Space) -> Result<(Op, Op, bool), LowerError> {
    Ok(match space {
        Space::Global => (Op::LDG, Op::STG, true),
        Space::Generic => (Op::LD, Op::ST, true),
        Space::Shared => (Op::LDS, Op::STS, false),
        Space::Local | Space::FunctionParameter => (Op::LDL, Op::STL, false),
        other => return Err(cx.unsupported(format!("an access of `.{}` memory", other.name()))),
    })
}

/// A shared variable of the cluster is accessed by its generic address.
pub(crate) fn cluster_to_generic(cx: &mut Lower<'_>, place: Place) -> Place {
    if place.space != Space::SharedCluster {
        return place;
    }
    let low = match place.base.first() {
        Some(&value) => Source::value(value),
        None => Source::rz(),
    };
    let high = cx.b.r();
    cx.b.s2r(high, oriole_sass::Symbol::SR_SWINHI);
    let low = cx.value_of(low);
    Place {
        space: Space::Generic,
        base: Values::from_slice(&[low, high]),
        symbol: None,
        offset: place.offset,
    }
}
