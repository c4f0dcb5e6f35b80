//! Documentation of directives and special registers, which have no row in the instruction table, and the chips and
//! versions of a form, which has one.

use oriole_ptx::table::{Chips, Row};

/// A directive: its word, its syntax, its description.
pub(crate) type Directive = (&'static str, &'static str, &'static str);

/// Directives that are at module level or in heads of functions.
pub(crate) const MODULE_DIRECTIVES: &[Directive] = &[
    (".version", ".version major.minor", "The version of the PTX language that the module is written in."),
    (".target", ".target sm_90", "The oldest chip that the module may run on, or with `a` the only one."),
    (".address_size", ".address_size 64", "Bits of an address."),
    (".visible", ".visible", "The name that follows can be seen from other modules."),
    (".extern", ".extern", "The name that follows is defined in another module."),
    (".weak", ".weak", "The name that follows may be defined in several modules; one definition is taken."),
    (".common", ".common", "A global variable that several modules may declare; it exists once."),
    (".entry", ".entry name(parameters) { }", "A kernel: the host starts it with a grid of threads."),
    (".func", ".func (results) name(parameters) { }", "A function that kernels and functions call."),
    (".alias", ".alias name, function;", "Another name for a function."),
    (".global", ".global .b32 name;", "A variable that all threads of the device see."),
    (".const", ".const .b32 name;", "A variable in constant memory, which kernels only read."),
    (".shared", ".shared .b32 name[n];", "A variable that the threads of a block share."),
    (".file", ".file number \"path\"", "A source file that `.loc` lines name by its number."),
    (".section", ".section name { }", "Debug data that is copied to the container."),
    (".pragma", ".pragma \"text\";", "A hint to the compiler."),
];

/// Directives between the head of a kernel and its body.
pub(crate) const HEAD_DIRECTIVES: &[Directive] = &[
    (".maxntid", ".maxntid x, y, z", "The most threads that a block may have."),
    (".reqntid", ".reqntid x, y, z", "The threads that a block must have."),
    (".minnctapersm", ".minnctapersm n", "So many blocks shall fit on a multiprocessor at a time."),
    (".maxnreg", ".maxnreg n", "The most registers that a thread may use."),
    (".reqnctapercluster", ".reqnctapercluster x, y, z", "The blocks of a cluster."),
    (".maxclusterrank", ".maxclusterrank n", "The most blocks that a cluster may have."),
    (".explicitcluster", ".explicitcluster", "The host must state the size of clusters at launch."),
    (".noreturn", ".noreturn", "The function does not return."),
];

/// Directives that are in bodies.
pub(crate) const BODY_DIRECTIVES: &[Directive] = &[
    (".reg", ".reg .b32 %r<n>;", "Declares registers: one name, several, or a range of numbered ones."),
    (".shared", ".shared .align 4 .b8 name[n];", "A variable that the threads of a block share."),
    (".local", ".local .align 4 .b8 name[n];", "A variable of one thread, in local memory."),
    (".param", ".param .b32 name;", "A parameter of a call."),
    (".loc", ".loc file line column", "Source location of the code that follows."),
    (".pragma", ".pragma \"nounroll\";", "A hint to the compiler."),
    (".branchtargets", "list: .branchtargets a, b;", "The labels that `brx.idx` may go to."),
    (".calltargets", "list: .calltargets f, g;", "The functions that a call through a pointer may reach."),
    (".callprototype", "name: .callprototype (r) _ (p);", "The signature of a call through a pointer."),
    (".align", ".align n", "The alignment of a variable in bytes."),
    (".ptr", ".ptr .global .align n", "The parameter points into this space, to data of this alignment."),
];

/// The documentation of a directive.
pub(crate) fn directive(word: &str) -> Option<&'static Directive> {
    [MODULE_DIRECTIVES, HEAD_DIRECTIVES, BODY_DIRECTIVES]
        .into_iter()
        .flatten()
        .find(|directive| directive.0 == word)
}

/// Special registers by prefix of their names: type and description.
const SPECIAL: &[(&str, &str, &str)] = &[
    ("%tid.", ".u32", "The index of the thread in its block."),
    ("%ntid.", ".u32", "The threads of a block."),
    ("%ctaid.", ".u32", "The index of the block in the grid."),
    ("%nctaid.", ".u32", "The blocks of the grid."),
    ("%clusterid.", ".u32", "The index of the cluster in the grid."),
    ("%nclusterid.", ".u32", "The clusters of the grid."),
    ("%cluster_ctaid.", ".u32", "The index of the block in its cluster."),
    ("%cluster_nctaid.", ".u32", "The blocks of a cluster."),
    ("%cluster_ctarank", ".u32", "The number of the block in its cluster."),
    ("%cluster_nctarank", ".u32", "How many blocks the cluster has."),
    ("%is_explicit_cluster", ".pred", "Whether the kernel was started with a stated size of clusters."),
    ("%laneid", ".u32", "The lane of the thread in its warp, 0 to 31."),
    ("%warpid", ".u32", "The number of the warp; it may change while the thread runs."),
    ("%nwarpid", ".u32", "The most warps that a multiprocessor holds."),
    ("%smid", ".u32", "The multiprocessor that the thread runs on; it may change."),
    ("%nsmid", ".u32", "One more than the highest number of a multiprocessor."),
    ("%gridid", ".u64", "The number of the launch."),
    ("%lanemask_eq", ".u32", "A mask with the bit of this lane."),
    ("%lanemask_le", ".u32", "A mask with the bits of this lane and those before."),
    ("%lanemask_lt", ".u32", "A mask with the bits of the lanes before."),
    ("%lanemask_ge", ".u32", "A mask with the bits of this lane and all higher lanes."),
    ("%lanemask_gt", ".u32", "A mask with the bits of all higher lanes."),
    ("%clock64", ".u64", "A counter of cycles."),
    ("%clock_hi", ".u32", "The upper half of the counter of cycles."),
    ("%clock", ".u32", "The lower half of the counter of cycles."),
    ("%globaltimer", ".u64", "A counter of nanoseconds, or a half of it."),
    ("%total_smem_size", ".u32", "Bytes of shared memory of the block, dynamic and reserved included."),
    ("%aggr_smem_size", ".u32", "Bytes of shared memory, the part that the system reserves included."),
    ("%dynamic_smem_size", ".u32", "Bytes of dynamic shared memory that the launch asked for."),
    ("%current_graph_exec", ".u64", "The graph that the launch belongs to; 0 for none."),
    ("%reserved_smem_offset", ".b32", "Offset of the reserved part of shared memory."),
    ("%envreg", ".b32", "A register that the driver fills in."),
    ("%pm", ".u32", "A performance counter."),
    ("WARP_SZ", ".u32", "The threads of a warp: 32."),
];

/// Type and meaning of a special register.
pub(crate) fn special(name: &str) -> Option<(&'static str, &'static str)> {
    SPECIAL.iter().find(|row| name.starts_with(row.0)).map(|row| (row.1, row.2))
}

/// The version and chips from which on a form exists.
pub(crate) fn needs(row: &Row) -> String {
    let chips = match row.chips {
        Chips::From(0..=10) => "all chips".to_owned(),
        chips => chips.describe(),
    };
    let mut text = format!("PTX {}.{}, {chips}", row.ptx.0, row.ptx.1);
    for need in row.needs {
        text.push_str(&format!(
            "; `.{}` needs PTX {}.{} and {}",
            need.token,
            need.ptx.0,
            need.ptx.1,
            need.chips.describe()
        ));
    }
    if !row.supported {
        text.push_str("; Oriole cannot compile it yet");
    }
    text
}

#[cfg(test)]
mod tests {
    use oriole_ptx::SpecialRegister;

    #[test]
    fn special_registers_have_words() {
        for name in
            ["%tid.x", "%cluster_ctarank", "%clock64", "%envreg3", "%globaltimer_lo", "%pm2", "%laneid"]
        {
            assert!(SpecialRegister::from_name(name).is_some());
            assert!(super::special(name).is_some(), "{name}");
        }
    }
}
