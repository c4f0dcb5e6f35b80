//! What a compiled file needs, from the queries that compiled it and from its container.

use crate::session::Session;
use oriole_cubin::read::Cubin;
use oriole_ptx::Type;
use oriole_ptxas::{FunctionNeeds, KernelNeeds, Resources};
use oriole_queries::{graph, view};
use std::sync::Arc;
use std::time::Duration;

/// Constant banks of a kernel, and those of the module as a whole.
const KERNEL_BANKS: [u8; 2] = [0, 2];
const MODULE_BANKS: [u8; 2] = [3, 4];

/// What a file needs that was compiled to these bytes in this time.
pub fn gather(session: &Session, cubin: &[u8], took: Duration) -> Resources {
    let db = &session.db;
    let chip = graph::chip_info(db, session.config);
    let Ok(cubin) = oriole_cubin::read(cubin) else { return Resources::default() };
    // ptxas tells of constant banks for the chips without clusters only.
    let tells_banks = chip.constant_bank().is_some_and(|bank| bank.cluster_blocks.is_none());
    let banks = |numbers: [u8; 2], owner: &str| -> Vec<(u8, u64)> {
        let size = |number: u8| (number, section(&cubin, &format!(".nv.constant{number}{owner}")));
        if tells_banks { numbers.map(size).to_vec() } else { Vec::new() }
    };
    let mut resources = Resources {
        chip: chip.to_string(),
        global_bytes: section(&cubin, ".nv.global") + section(&cubin, ".nv.global.init"),
        constant_bytes: banks(MODULE_BANKS, ""),
        microseconds: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        ..Resources::default()
    };
    for needs in view::resources(db, session.file, session.config) {
        let function = FunctionNeeds {
            name: needs.name.clone(),
            frame_bytes: needs.frame_bytes.into(),
            spill_store_bytes: needs.spill_stores.into(),
            spill_load_bytes: needs.spill_loads.into(),
        };
        if needs.is_kernel {
            let constant_bytes = banks(KERNEL_BANKS, &format!(".{}", needs.name));
            let [textures, samplers, surfaces] = count_headers(session, &needs.name);
            resources.kernels.push(KernelNeeds {
                function,
                registers: needs.registers,
                barriers: needs.barriers.into(),
                stack_bytes: needs.stack_bytes.unwrap_or(0).into(),
                shared_bytes: needs.shared_bytes.into(),
                constant_bytes,
                textures,
                samplers,
                surfaces,
            });
        } else {
            resources.functions.push(function);
        }
    }
    resources
}

fn section(cubin: &Cubin, name: &str) -> u64 {
    cubin.section(name).map_or(0, |section| section.size)
}

/// How many textures, samplers and surfaces the driver gives the kernel.
fn count_headers(session: &Session, kernel: &str) -> [usize; 3] {
    let db = &session.db;
    let unit = graph::definition(db, session.file, Arc::from(kernel));
    let image = unit.map(|unit| graph::kernel_image(db, unit, session.config));
    let Some(Ok(image)) = image else { return [0; 3] };
    let types = graph::module_data(db, session.file).iter().map(|variable| variable.info.ty);
    let opaque: Vec<Type> =
        types.filter(|ty| matches!(ty, Type::Texref | Type::Samplerref | Type::Surfref)).collect();
    let count = |ty: Type| image.headers.iter().filter(|&&at| opaque.get(at) == Some(&ty)).count();
    [Type::Texref, Type::Samplerref, Type::Surfref].map(count)
}
