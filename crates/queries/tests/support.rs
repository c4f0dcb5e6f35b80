//! A module of fifty kernels, and a session with it: what the tests of incrementality share.

use std::collections::BTreeMap;

use oriole_chip::Chip;
use oriole_inputs::{Config, Database, Execution, SourceFile};
use oriole_options::Options;
use oriole_queries::{Compiled, compile};

/// Kernels in the module, `k0` and up.
pub const KERNELS: usize = 50;

/// The module. `k1` calls `twice`, which calls `once`; `k2` reads the variable `table`; `k3` uses the shared variable
/// `tile`; `k4` calls through the table `handlers`, which names both functions; `k5` divides 64-bit integers; the others
/// stand alone.
pub fn module() -> String {
    let mut text = "\
.version 8.0
.target sm_90
.address_size 64

.global .align 4 .u32 table[4] = {1, 2, 3, 4};
.shared .align 4 .b8 tile[1024];

.func (.param .b32 r) once(.param .b32 a)
{
\t.reg .b32 %r<4>;
\tld.param.u32 %r1, [a];
\tadd.u32 %r2, %r1, 1000;
\tst.param.b32 [r], %r2;
\tret;
}

.func (.param .b32 r) twice(.param .b32 a)
{
\t.reg .b32 %r<4>;
\tld.param.u32 %r1, [a];
\t.param .b32 p;
\t.param .b32 q;
\tst.param.b32 [p], %r1;
\tcall.uni (q), once, (p);
\tld.param.b32 %r2, [q];
\tst.param.b32 [r], %r2;
\tret;
}

.global .align 8 .u64 handlers[2] = {once, twice};
"
    .to_owned();
    for kernel in 0..KERNELS {
        text += &self::kernel(kernel);
    }
    text
}

/// A division of 64-bit integers, in a kernel of the module.
pub const DIVISION: &str = "\tdiv.u64 %rd3, %rd1, %rd2;\n\tcvt.u32.u64 %r2, %rd3;\n";

/// The text of one kernel, as it is in the module.
pub fn kernel(number: usize) -> String {
    let special = match number {
        1 => {
            "\t{\n\t.param .b32 p;\n\t.param .b32 q;\n\tst.param.b32 [p], %r2;\n\tcall.uni (q), twice, (p);\n\tld.param.b32 %r2, [q];\n\t}\n"
        }
        2 => "\tld.global.u32 %r4, [table+4];\n\tadd.u32 %r2, %r2, %r4;\n",
        4 => {
            "\tld.global.u64 %rd1, [handlers+8];\n\t{\n\t.param .b32 p;\n\t.param .b32 q;\n\tst.param.b32 [p], %r2;\n\tshape: .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (q), %rd1, (p), shape;\n\tld.param.b32 %r2, [q];\n\t}\n"
        }
        5 => DIVISION,
        3 => "\tst.shared.u32 [tile], %r2;\n\tbar.sync 0;\n\tld.shared.u32 %r2, [tile+4];\n",
        _ => "",
    };
    format!(
        "
\t// .globl\tk{number}
.visible .entry k{number}(
\t.param .u64 out
)
{{
\t.reg .b32 %r<6>;
\t.reg .b64 %rd<4>;
\tld.param.u64 %rd1, [out];
\tcvta.to.global.u64 %rd2, %rd1;
\tmov.u32 %r1, %tid.x;
\tadd.u32 %r2, %r1, {number};
\tmul.wide.u32 %rd3, %r1, 4;
\tadd.u64 %rd2, %rd2, %rd3;
{special}\tst.global.u32 [%rd2], %r2;
\tret;
}}
"
    )
}

/// A database with the module open and two configurations.
pub struct Session {
    pub db: Database,
    pub file: SourceFile,
    pub config: Config,
    pub other: Config,
}

impl Session {
    pub fn new(text: &str) -> Session {
        let db = Database::with_log();
        let file = SourceFile::open(&db, text);
        let config = Config::create(&db, Chip::SM_90, &Options::default());
        let other = Config::create(&db, Chip::SM_90A, &Options::default());
        Session { db, file, config, other }
    }

    pub fn edit(&mut self, text: &str) {
        self.file.update(&mut self.db, text);
    }

    pub fn compile(&self) -> Compiled {
        compile(&self.db, self.file, self.config, 1)
    }

    /// The queries that ran since the last call, each with its count.
    pub fn executed(&self) -> BTreeMap<Execution, usize> {
        let mut counts = BTreeMap::new();
        for execution in self.db.log().expect("the session logs").take() {
            *counts.entry(execution).or_default() += 1;
        }
        counts
    }
}

/// The bytes of a text compiled from scratch.
pub fn cold(text: &str) -> Compiled {
    Session::new(text).compile()
}

/// The same, for a chip.
pub fn cold_for(chip: Chip, text: &str) -> Compiled {
    let db = Database::default();
    let file = SourceFile::open(&db, text);
    compile(&db, file, Config::create(&db, chip, &Options::default()), 1)
}
