//! The edited text: generated, or read from a file. Places are lines and columns; everything is ASCII.

/// A part of the text that is replaced.
#[derive(Clone, Debug)]
pub struct Change {
    pub start: (usize, usize),
    pub end: (usize, usize),
    pub text: String,
}

/// Changes that are sent together, each relative to the text after the ones before it.
#[derive(Clone, Debug)]
pub struct Edit {
    pub changes: Vec<Change>,
}

/// A module as lines.
pub struct Module {
    pub name: String,
    pub lines: Vec<String>,
}

impl Module {
    /// A module of `kernels` kernels that differ in their constants, of `lines` lines each.
    pub fn generated(kernels: usize, lines: usize) -> Module {
        let mut text = vec![
            ".version 8.0",
            ".target sm_90",
            ".address_size 64",
            ".global .align 4 .b32 table[2] = {1, 2};",
        ]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
        for number in 0..kernels {
            text.extend(kernel(&format!("k{number}"), number, lines));
        }
        Module { name: format!("{kernels} generated kernels"), lines: text }
    }

    pub fn read(path: &str) -> Module {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Module { name: path.to_owned(), lines: text.split('\n').map(str::to_owned).collect() }
    }

    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The name of each kernel and the lines of its statements: those that end in a semicolon and are not a directive.
    pub fn kernels(&self) -> Vec<(String, Vec<usize>)> {
        let mut kernels: Vec<(String, Vec<usize>)> = Vec::new();
        let mut inside = false;
        for (at, line) in self.lines.iter().enumerate() {
            if let Some((_, rest)) = line.split_once(".entry") {
                let name = rest.trim().split(['(', ' ']).next().unwrap_or("").to_owned();
                kernels.push((name, Vec::new()));
                inside = false;
            } else if line.starts_with('{') {
                inside = true;
            } else if line.starts_with('}') {
                inside = false;
            } else if let Some((_, lines)) = kernels.last_mut()
                && inside
                && line.trim_end().ends_with(';')
                && !line.trim_start().starts_with('.')
            {
                lines.push(at);
            }
        }
        kernels.retain(|kernel| kernel.1.len() > 4);
        kernels
    }
}

/// A kernel of about `lines` lines whose values are all used: loads, arithmetic, selects, stores and some loops.
pub fn kernel(name: &str, seed: usize, lines: usize) -> Vec<String> {
    let mut text = vec![
        String::new(),
        format!(".visible .entry {name}(.param .u64 from, .param .u64 to, .param .u32 count)"),
        "{".to_owned(),
        "    .reg .pred %p<9>;".to_owned(),
        "    .reg .b32 %r<40>;".to_owned(),
        "    .reg .f32 %f<40>;".to_owned(),
        "    .reg .b64 %d<6>;".to_owned(),
        "    ld.param.u64 %d1, [from];".to_owned(),
        "    ld.param.u64 %d2, [to];".to_owned(),
        "    ld.param.u32 %r1, [count];".to_owned(),
        "    cvta.to.global.u64 %d3, %d1;".to_owned(),
        "    cvta.to.global.u64 %d4, %d2;".to_owned(),
        "    mov.u32 %r2, %tid.x;".to_owned(),
        "    mul.wide.u32 %d5, %r2, 4;".to_owned(),
        "    add.u64 %d3, %d3, %d5;".to_owned(),
        "    mov.u32 %r3, 0;".to_owned(),
    ];
    let mut group = 0;
    while text.len() + 12 < lines {
        let (a, b) = (4 + group % 30, 5 + (group * 7 + seed) % 30);
        let offset = 4 * ((group * 5 + seed) % 900);
        let constant = 1 + (seed * 31 + group * 17) % 1000;
        text.push(format!("$L{group}:"));
        text.push(format!("    ld.global.f32 %f{a}, [%d3+{offset}];"));
        text.push(format!("    ld.global.u32 %r{a}, [%d3+{}];", offset + 4096));
        text.push(format!("    mad.lo.u32 %r{b}, %r{a}, {constant}, %r2;"));
        text.push(format!("    xor.b32 %r{a}, %r{b}, {};", constant * 3));
        text.push(format!("    cvt.rn.f32.u32 %f{b}, %r{a};"));
        text.push(format!("    fma.rn.f32 %f{b}, %f{a}, 0f3F800{:03}, %f{b};", group % 1000));
        text.push(format!("    setp.gt.f32 %p{}, %f{b}, %f{a};", 1 + group % 4));
        text.push(format!("    selp.f32 %f{a}, %f{b}, %f{a}, %p{};", 1 + group % 4));
        text.push(format!("    st.global.f32 [%d4+{offset}], %f{a};"));
        if group % 6 == 5 {
            text.push("    add.u32 %r3, %r3, 1;".to_owned());
            text.push("    setp.lt.u32 %p5, %r3, %r1;".to_owned());
            text.push(format!("    @%p5 bra $L{group};"));
        }
        group += 1;
    }
    while text.len() + 2 < lines {
        text.push("    st.global.u32 [%d4], %r3;".to_owned());
    }
    text.extend(["    ret;".to_owned(), "}".to_owned()]);
    text
}
