//! The calling convention: which registers, or which places in memory, pass the parameters and results of a signature. No
//! instruction is emitted here.

use oriole_hir::Parameter;

/// First register of parameters and results.
pub(super) const FIRST: u8 = 4;

/// Registers for parameters and results.
pub(super) const COUNT: u8 = 12;

/// Location of a parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// In registers: the first, and how many.
    Registers(u8, u8),
    /// In the block of memory that the caller provides, at this offset in bytes.
    Block(u32),
    /// At the bottom of the caller's frame, at this offset in bytes.
    Stack(u32),
}

/// How a signature passes its words.
///
/// Words that do not fit into the registers of the convention are passed in memory. In whole-program output that is a
/// block of the caller's frame, whose local address is then the first word passed. Between separately linked
/// functions, arguments are at the bottom of the caller's frame, and a block, whose address is the first word as
/// well, holds results only. An array without a size, the last parameter, is always at the bottom of the caller's
/// frame, after everything else there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Convention {
    /// For each parameter.
    pub parameters: Vec<Home>,
    /// For each result.
    pub results: Vec<Home>,
    /// Bytes of the block; `None` if there is none.
    pub block: Option<u32>,
    /// Bytes of arguments at the bottom of the caller's frame, without an array that has no size.
    pub stack: u32,
}

/// Bytes of a parameter, in whole words.
fn whole_bytes(parameter: &Parameter) -> u64 {
    parameter.size().div_ceil(4).max(1) * 4
}

/// First register and word count of each parameter.
///
/// Each takes the lowest free aligned group of registers; later ones fill the holes. `None` if one does not fit.
fn assign(parameters: &[Parameter], reserved: usize) -> Vec<Option<Home>> {
    let mut free = [true; COUNT as usize];
    free[..reserved].fill(false);
    let mut places = Vec::new();
    for parameter in parameters {
        let words = (whole_bytes(parameter) / 4).min(u64::from(COUNT) + 1) as usize;
        let step = parameter.align.max(parameter.ty.bytes()).div_ceil(4).clamp(1, 4) as usize;
        let start = (0..=free.len().saturating_sub(words))
            .step_by(step)
            .find(|&start| free.get(start..start + words).is_some_and(|group| group.iter().all(|&f| f)));
        places.push(start.map(|start| {
            free[start..start + words].fill(false);
            Home::Registers(FIRST + start as u8, words as u8)
        }));
    }
    places
}

/// The next memory slot for a parameter, after `size` bytes of others.
fn in_memory(size: &mut u32, parameter: &Parameter) -> u32 {
    let at = size.next_multiple_of(parameter.align.clamp(4, 16));
    *size = at.saturating_add(u32::try_from(whole_bytes(parameter)).unwrap_or(u32::MAX));
    at
}

/// The convention of a signature; `separate` for a separately linked function.
pub(super) fn convention(parameters: &[Parameter], results: &[Parameter], separate: bool) -> Convention {
    if let Some((open, sized)) = parameters.split_last().filter(|(last, _)| last.is_open()) {
        let mut whole = convention(sized, results, separate);
        whole.stack = whole.stack.next_multiple_of(open.align.clamp(4, 16));
        whole.parameters.push(Home::Stack(whole.stack));
        return whole;
    }
    let all = |places: &[Option<Home>]| places.iter().copied().collect::<Option<Vec<Home>>>();
    let result_places = all(&assign(results, 0));
    if let (Some(parameters), Some(results)) = (all(&assign(parameters, 0)), &result_places) {
        return Convention { parameters, results: results.clone(), block: None, stack: 0 };
    }
    if separate {
        return linked_convention(parameters, results, result_places);
    }
    let mut size = 0u32;
    let mut in_block = |parameter: &Parameter| Home::Block(in_memory(&mut size, parameter));
    let parameters = parameters
        .iter()
        .zip(assign(parameters, 1))
        .map(|(parameter, place)| place.unwrap_or_else(|| in_block(parameter)))
        .collect();
    let results = match result_places {
        Some(places) => places,
        None => results.iter().map(&mut in_block).collect(),
    };
    Convention { parameters, results, block: Some(size), stack: 0 }
}

/// The convention of a signature with more than the registers hold, between functions that a linker joins.
fn linked_convention(
    parameters: &[Parameter],
    results: &[Parameter],
    result_places: Option<Vec<Home>>,
) -> Convention {
    let (mut stack, mut block) = (0, 0);
    let places = assign(parameters, usize::from(result_places.is_none()));
    let parameters = parameters
        .iter()
        .zip(places)
        .map(|(parameter, place)| place.unwrap_or_else(|| Home::Stack(in_memory(&mut stack, parameter))))
        .collect();
    let in_block = |parameter: &Parameter| Home::Block(in_memory(&mut block, parameter));
    match result_places {
        Some(results) => Convention { parameters, results, block: None, stack },
        None => {
            let results = results.iter().map(in_block).collect();
            Convention { parameters, results, block: Some(block), stack }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ptx::Type;

    fn parameter(ty: Type, length: Option<u64>) -> Parameter {
        Parameter { ty, length, align: ty.bytes(), offset: 0, pointer: None, in_register: false }
    }

    #[test]
    fn holes_are_filled() {
        let list = [
            parameter(Type::U32, None),
            parameter(Type::U64, None),
            parameter(Type::U32, None),
            parameter(Type::F64, None),
            parameter(Type::U32, None),
            parameter(Type::B8, Some(2)),
            parameter(Type::F32, None),
        ];
        let places = convention(&list, &[], false);
        let registers = [(4, 1), (6, 2), (5, 1), (8, 2), (10, 1), (11, 1), (12, 1)];
        let expected: Vec<Home> =
            registers.iter().map(|&(first, words)| Home::Registers(first, words)).collect();
        assert_eq!(places, Convention { parameters: expected, results: vec![], block: None, stack: 0 });
    }

    #[test]
    fn what_does_not_fit_goes_into_a_block() {
        let list = [parameter(Type::U32, None), parameter(Type::B8, Some(50)), parameter(Type::U64, None)];
        let places = convention(&list, &[parameter(Type::B8, Some(64))], false);
        assert_eq!(
            places,
            Convention {
                parameters: vec![Home::Registers(5, 1), Home::Block(0), Home::Registers(6, 2)],
                results: vec![Home::Block(52)],
                block: Some(116),
                stack: 0,
            }
        );
    }

    #[test]
    fn what_does_not_fit_between_linked_functions_goes_on_the_stack() {
        let aligned = |length, align| Parameter { align, ..parameter(Type::B8, Some(length)) };
        let list = [aligned(40, 8), parameter(Type::U64, None), aligned(24, 16), parameter(Type::U32, None)];
        let places = convention(&list, &[aligned(64, 8)], true);
        assert_eq!(
            places,
            Convention {
                parameters: vec![
                    Home::Registers(6, 10),
                    Home::Stack(0),
                    Home::Stack(16),
                    Home::Registers(5, 1),
                ],
                results: vec![Home::Block(0)],
                block: Some(64),
                stack: 40,
            }
        );
    }
}
