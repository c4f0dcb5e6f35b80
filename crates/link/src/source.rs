//! Facts about a kernel or function that only the source has: parameters, bounds, prototypes, tensor memory.
//!
//! It is apart from the images because nothing of it depends on code. No address and no size of code may enter.

use oriole_chip::Chip;
use oriole_cubin::{Bound, KernelImage, NO_OFFSET, OpaqueParameter, ParameterSpace, TensorMemory};
use oriole_hir::{Body, Operand, Parameter, Statement, Table, VariableKind};
use oriole_ptx::word::{CtaGroup, TensorOrder};
use oriole_ptx::{Opcode, Space, Type, Word};

/// Adds to an image the facts about a kernel that only the source has.
pub fn describe(body: &Body, chip: Chip, image: &mut KernelImage) {
    describe_parameters(body.placed_for(chip).as_ref().unwrap_or(body), image);
    let directives = &body.directives;
    image.bound = match (directives.reqntid, directives.maxntid) {
        (Some(threads), _) => Bound::Exactly(threads),
        (None, Some(threads)) => Bound::AtMost(threads),
        (None, None) => Bound::None,
    };
    image.cluster_size = directives.reqnctapercluster;
    image.explicit_cluster = directives.explicitcluster;
    image.max_cluster_rank = directives.maxclusterrank;
    image.blocks_are_clusters = directives.blocksareclusters;
    image.reconfigures_registers = body.changes_registers;
    image.tensor_memory = tensor_memory(body);
    if image.reconfigures_registers {
        // The count that the bounds allow, which may be more than a thread starts with.
        let all = u16::from(chip.register_files().general.count);
        image.max_registers = oriole_hir::register_cap(directives, chip).filter(|&cap| cap < all);
    }
}

fn describe_parameters(body: &Body, image: &mut KernelImage) {
    image.parameters.clear();
    image.opaque_parameters.clear();
    image.parameter_size = 0;
    for (number, parameter) in body.parameters.iter().enumerate() {
        if let Some(kind) = parameter.ty.opaque_kind() {
            let variable = body.variable_of(VariableKind::Parameter(number as u32));
            let name = variable.map_or_else(String::new, |id| body.variables[id].name.clone());
            image.opaque_parameters.push(OpaqueParameter { number, name });
            image.parameters.push(oriole_cubin::Parameter {
                offset: NO_OFFSET,
                space: ParameterSpace::Opaque(kind),
                ..oriole_cubin::Parameter::default()
            });
            continue;
        }
        let size = parameter.size() as u32;
        image.parameter_size = parameter.offset + size;
        image.parameters.push(oriole_cubin::Parameter {
            offset: parameter.offset,
            size,
            pointee_alignment: parameter.pointer.map_or(0, |(_, align)| align),
            space: match parameter.pointer {
                None => ParameterSpace::None,
                Some((None, _)) => ParameterSpace::Generic,
                Some((Some(space), _)) => match space {
                    Space::Global => ParameterSpace::Global,
                    Space::Shared => ParameterSpace::Shared,
                    Space::Constant => ParameterSpace::Const,
                    Space::Local => ParameterSpace::Local,
                    _ => ParameterSpace::Generic,
                },
            },
        });
    }
}

/// Use of tensor memory in the source.
fn tensor_memory(body: &Body) -> TensorMemory {
    let mut found = TensorMemory::default();
    for statement in &body.statements {
        let Statement::Instruction(i) = statement else { continue };
        if i.opcode != Opcode::Tcgen05 {
            continue;
        }
        let has = |word| i.modifiers.has(word);
        let group = i.modifiers.at();
        let closes = has(Word::RelinquishAllocPermit);
        found.alone |= group == Some(CtaGroup::CtaGroup1);
        found.in_pairs |= group == Some(CtaGroup::CtaGroup2);
        found.takes_columns |= closes || has(Word::Alloc) || has(Word::Dealloc);
        found.reaches |= !closes && i.modifiers.at::<TensorOrder>().is_none();
    }
    found
}

/// Results and parameters of a function, as linkers compare them.
pub fn prototype(results: &[Parameter], parameters: &[Parameter]) -> String {
    let mut text = String::from(if results.is_empty() { "#v" } else { "#" });
    for parameter in results.iter().chain(parameters) {
        match (parameter.length, parameter.ty) {
            (Some(_), _) => text.push_str(&format!("b{}", parameter.size())),
            (None, Type::F32) => text.push('f'),
            (None, Type::F64) => text.push('d'),
            (None, ty) => text.push(if ty.bits() > 32 { 'l' } else { 'i' }),
        }
    }
    text
}

/// Prototypes of the calls through pointers of a body, one for each call.
pub fn pointed_prototypes(body: &Body) -> Vec<String> {
    let calls = body.statements.iter().filter_map(|statement| match statement {
        Statement::Instruction(i) if i.opcode == Opcode::Call => {
            i.operands.iter().find_map(|operand| match operand {
                Operand::Prototype(id) => Some(&body.prototypes[*id]),
                Operand::Table(id) => match &body.tables[*id] {
                    Table::Functions(list) => list.first().map(|&first| &body.functions[first].signature),
                    _ => None,
                },
                _ => None,
            })
        }
        _ => None,
    });
    calls.map(|signature| prototype(&signature.results, &signature.parameters)).collect()
}
