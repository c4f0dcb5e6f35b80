//! Files of all kinds, made here, and what is found in them; then the same files damaged in every way that a seed gives.
//!
//! Nothing of another compiler is in the files: the images are short texts and headers.

mod writer;

use expect_test::{Expect, expect};
use oriole_fatbin::{Compression, Contents, ExtractError, Extractor, FaultKind, Source, scan};
use std::fmt::Write as _;
use writer::{Entry, Packing, archive, cubin, elf, fatbin, together};

const PTX: &[u8] = b"// \n.version 8.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }\n";

struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, buffer)
    }
}

fn scanned(bytes: &[u8]) -> Contents {
    scan(&Bytes(bytes)).expect("bytes in memory can be read")
}

/// The images that are found, a line each, with the first bytes of each image.
fn found(bytes: &[u8]) -> String {
    let contents = scanned(bytes);
    let mut text = format!("{}\n", contents.format.described());
    let source = Bytes(bytes);
    let mut extractor = Extractor::new(&source);
    for image in &contents.images {
        let _ = write!(text, "{} {}", image.kind, image.chip_name().unwrap_or("?".to_owned()));
        let origin = [&image.name, &image.options, &image.origin.member, &image.origin.section];
        for word in origin.into_iter().flatten() {
            let _ = write!(text, " {word:?}");
        }
        if image.compression != Compression::None {
            let _ = write!(text, " {}", image.compression);
        }
        let _ = match extractor.bytes(image) {
            Ok(bytes) => writeln!(
                text,
                ": {} bytes {:?}",
                bytes.len(),
                &bytes[..bytes.len().min(4)].escape_ascii().to_string()
            ),
            Err(error) => writeln!(text, ": {error}"),
        };
    }
    for fault in &contents.faults {
        let _ = writeln!(text, "{fault}");
    }
    text
}

fn check(bytes: &[u8], expected: Expect) {
    expected.assert_eq(&found(bytes));
}

fn entries() -> Vec<u8> {
    fatbin(&[
        Entry::cubin(80, &cubin(80, 100)).named("first.cu"),
        Entry::ptx(80, PTX).named("first.cu").with_options("-lineinfo -O3").packed(Packing::Lz4),
        Entry::cubin(90, &cubin(90, 1000)).letter('a').packed(Packing::Zstd),
        Entry::cubin(100, &cubin(100, 9)).letter('f'),
        Entry::of_kind(8, 80, b"BC"),
        Entry::of_kind(0x777, 80, b"??"),
    ])
}

#[test]
fn entries_of_all_kinds() {
    check(
        &entries(),
        expect![[r#"
        a fatbin
        cubin sm_80 "first.cu": 164 bytes "\\x7fELF"
        ptx sm_80 "first.cu" "-lineinfo -O3" lz4: 68 bytes "// \\n"
        cubin sm_90a zstd: 1064 bytes "\\x7fELF"
        cubin sm_100f: 73 bytes "\\x7fELF"
        nvvm sm_80: 8 bytes "BC\\x00\\x00"
        kind-0x777 sm_80: 8 bytes "??\\x00\\x00"
    "#]],
    );
}

#[test]
fn images_that_are_packed_together() {
    let images = [
        Entry::cubin(80, &cubin(80, 40)).named("one.cu"),
        Entry::cubin(90, &cubin(90, 50)).letter('a'),
        Entry::ptx(80, PTX).named("two.cu"),
    ];
    for packing in [Packing::None, Packing::Lz4, Packing::Zstd] {
        let bytes = fatbin(&[together(&images, packing)]);
        assert_eq!(scanned(&bytes).images.len(), 3);
    }
    check(
        &fatbin(&[together(&images, Packing::Zstd)]),
        expect![[r#"
        a fatbin
        cubin sm_80 "one.cu" zstd: 104 bytes "\\x7fELF"
        cubin sm_90a zstd: 114 bytes "\\x7fELF"
        ptx sm_80 "two.cu" zstd: 68 bytes "// \\n"
    "#]],
    );
}

#[test]
fn host_files() {
    let two = [entries(), vec![0; 24], fatbin(&[Entry::ptx(90, PTX)])].concat();
    let object = elf(1, &[(".text", b"host"), ("__nv_relfatbin", &two), (".data", b"x")]);
    check(
        &object,
        expect![[r#"
        an ELF host object
        cubin sm_80 "first.cu" "__nv_relfatbin": 164 bytes "\\x7fELF"
        ptx sm_80 "first.cu" "-lineinfo -O3" "__nv_relfatbin" lz4: 68 bytes "// \\n"
        cubin sm_90a "__nv_relfatbin" zstd: 1064 bytes "\\x7fELF"
        cubin sm_100f "__nv_relfatbin": 73 bytes "\\x7fELF"
        nvvm sm_80 "__nv_relfatbin": 8 bytes "BC\\x00\\x00"
        kind-0x777 sm_80 "__nv_relfatbin": 8 bytes "??\\x00\\x00"
        ptx sm_90 "__nv_relfatbin": 68 bytes "// \\n"
    "#]],
    );
    let library = elf(3, &[(".text", b"host"), (".nv_fatbin", &fatbin(&[Entry::ptx(90, PTX)]))]);
    check(
        &library,
        expect![[r#"
        an ELF shared library
        ptx sm_90 ".nv_fatbin": 68 bytes "// \\n"
    "#]],
    );
    let program = elf(3, &[(".interp", b"ld.so\0"), ("__nv_relfatbin", &[]), (".nv_fatbin", &[0; 8])]);
    check(
        &program,
        expect![[r#"
        an ELF program
    "#]],
    );
    check(
        &elf(2, &[(".text", b"host")]),
        expect![[r#"
        an ELF program
    "#]],
    );
    let members: [(&str, &[u8]); 4] = [
        ("a.o", &library),
        ("a_rather_long_name_of_an_object.o", &object[..]),
        ("k.cubin", &cubin(75, 3)),
        ("k.ptx", PTX),
    ];
    check(
        &archive(&members),
        expect![[r#"
        an archive
        ptx sm_90 "a.o" ".nv_fatbin": 68 bytes "// \\n"
        cubin sm_80 "first.cu" "a_rather_long_name_of_an_object.o" "__nv_relfatbin": 164 bytes "\\x7fELF"
        ptx sm_80 "first.cu" "-lineinfo -O3" "a_rather_long_name_of_an_object.o" "__nv_relfatbin" lz4: 68 bytes "// \\n"
        cubin sm_90a "a_rather_long_name_of_an_object.o" "__nv_relfatbin" zstd: 1064 bytes "\\x7fELF"
        cubin sm_100f "a_rather_long_name_of_an_object.o" "__nv_relfatbin": 73 bytes "\\x7fELF"
        nvvm sm_80 "a_rather_long_name_of_an_object.o" "__nv_relfatbin": 8 bytes "BC\\x00\\x00"
        kind-0x777 sm_80 "a_rather_long_name_of_an_object.o" "__nv_relfatbin": 8 bytes "??\\x00\\x00"
        ptx sm_90 "a_rather_long_name_of_an_object.o" "__nv_relfatbin": 68 bytes "// \\n"
        cubin ? "k.cubin": 67 bytes "\\x7fELF"
        ptx ? "k.ptx": 68 bytes "// \\n"
    "#]],
    );
}

#[test]
fn images_where_no_section_is_for_them() {
    let blob = [&b"MZ host"[..], &[7; 100], &entries(), b"host", &cubin(86, 5), b"host"].concat();
    check(
        &blob,
        expect![[r#"
        a program or library of another system
        cubin sm_80 "first.cu": 164 bytes "\\x7fELF"
        ptx sm_80 "first.cu" "-lineinfo -O3" lz4: 68 bytes "// \\n"
        cubin sm_90a zstd: 1064 bytes "\\x7fELF"
        cubin sm_100f: 73 bytes "\\x7fELF"
        nvvm sm_80: 8 bytes "BC\\x00\\x00"
        kind-0x777 sm_80: 8 bytes "??\\x00\\x00"
        cubin ?: 69 bytes "\\x7fELF"
    "#]],
    );
    check(
        &elf(3, &[(".rodata", &blob)]),
        expect![[r#"
        an ELF shared library
        cubin sm_80 "first.cu": 164 bytes "\\x7fELF"
        ptx sm_80 "first.cu" "-lineinfo -O3" lz4: 68 bytes "// \\n"
        cubin sm_90a zstd: 1064 bytes "\\x7fELF"
        cubin sm_100f: 73 bytes "\\x7fELF"
        nvvm sm_80: 8 bytes "BC\\x00\\x00"
        kind-0x777 sm_80: 8 bytes "??\\x00\\x00"
        cubin ?: 69 bytes "\\x7fELF"
    "#]],
    );
    // Bytes that look like the start of a fatbin are none.
    check(
        &[&b"MZ"[..], &entries()[..100]].concat(),
        expect![[r#"
        a program or library of another system
    "#]],
    );
}

#[test]
fn texts_and_other_files() {
    check(
        PTX,
        expect![[r#"
        PTX
        ptx ?: 68 bytes "// \\n"
    "#]],
    );
    check(
        &cubin(90, 1),
        expect![[r#"
        a cubin
        cubin ?: 65 bytes "\\x7fELF"
    "#]],
    );
    check(
        b"",
        expect![[r#"
        a file of unknown format
    "#]],
    );
    check(
        b"{\"ptx\": \".version 8.0\"}",
        expect![[r#"
        a file of unknown format
    "#]],
    );
    check(
        b"\x7fELF",
        expect![[r#"
        a file of unknown format
    "#]],
    );
    check(
        b"!<thin>\nanything",
        expect![[r#"
        an archive
        at 0x0: the archive is thin: its members are files of their own
    "#]],
    );
}

#[test]
fn sizes_that_are_wrong() {
    let whole = entries();
    check(
        &whole[..whole.len() - 100],
        expect![[r#"
        a fatbin
        cubin sm_80 "first.cu": 164 bytes "\\x7fELF"
        ptx sm_80 "first.cu" "-lineinfo -O3" lz4: 68 bytes "// \\n"
        cubin sm_90a zstd: 1064 bytes "\\x7fELF"
        cubin sm_100f: 73 bytes "\\x7fELF"
        at 0x0: a fatbin states 872 bytes, and 772 are there
        at 0x2e8: the header of an image is broken
    "#]],
    );
    check(
        &whole[..70],
        expect![[r#"
        a fatbin
        at 0x0: a fatbin states 872 bytes, and 54 are there
        at 0x10: the header of an image is broken
    "#]],
    );
    // The second entry claims more than there is.
    let mut longer = fatbin(&[Entry::ptx(80, PTX), Entry::ptx(90, PTX)]);
    let second = 16 + (longer.len() - 16) / 2;
    longer[second + 8] = 0xff;
    check(
        &longer,
        expect![[r#"
        a fatbin
        ptx sm_80: 68 bytes "// \\n"
        at 0x98: an image states 255 bytes, and 72 are there
    "#]],
    );
    // The header of the first entry has no size.
    let mut none = whole.clone();
    none[20] = 0;
    check(
        &none,
        expect![[r#"
        a fatbin
        at 0x10: the header of an image is broken
    "#]],
    );
    // The second of two images that are packed together begins in the first one.
    let images = [Entry::cubin(80, &cubin(80, 40)).named("one.cu"), Entry::cubin(90, &cubin(90, 50))];
    let mut packed = fatbin(&[together(&images, Packing::Zstd)]);
    let second = 16 + 64 + 8 + 72;
    assert_eq!(packed[second + 4], 104);
    packed[second + 4] = 96;
    check(
        &packed,
        expect![[r#"
        a fatbin
        cubin sm_80 "one.cu" zstd: 104 bytes "\\x7fELF"
        at 0x10: the list of images that are packed together is broken
    "#]],
    );
    let gap = [whole.clone(), b"anything".to_vec(), whole].concat();
    let library = elf(3, &[(".nv_fatbin", &gap)]);
    assert_eq!(scanned(&library).images.len(), 12);
    assert_eq!(scanned(&library).faults[0].kind, FaultKind::NotFatbin(8));
}

#[test]
fn what_unpacks_to_more_than_is_there() {
    let zeros = vec![0; 80 << 20];
    let bomb = fatbin(&[Entry::cubin(80, &zeros).packed(Packing::Zstd)]);
    assert!(bomb.len() < 80 << 10, "{}", bomb.len());
    check(
        &bomb,
        expect![[r#"
        a fatbin
        cubin sm_80 zstd: the image has 83886080 bytes, more than are unpacked
    "#]],
    );
    // Sizes that are too small and too large.
    for (stated, packing) in [
        (5_u64, Packing::Zstd),
        (5, Packing::Lz4),
        (1 << 40, Packing::Zstd),
        (1 << 20, Packing::Lz4),
        (1 << 20, Packing::Zstd),
    ] {
        let mut bytes = fatbin(&[Entry::ptx(80, PTX).packed(packing)]);
        bytes[16 + 56..16 + 64].copy_from_slice(&stated.to_le_bytes());
        let contents = scanned(&bytes);
        let source = Bytes(&bytes);
        let error = Extractor::new(&source).bytes(&contents.images[0]).unwrap_err();
        let fits =
            matches!(error, ExtractError::Size { .. } | ExtractError::Corrupt | ExtractError::TooLarge(_));
        assert!(fits, "{error}");
    }
}

#[test]
fn many_images() {
    let entries: Vec<Entry> = (0..5000).map(|_| Entry::ptx(80, PTX).packed(Packing::Lz4)).collect();
    let one = fatbin(&[Entry::ptx(80, PTX)]);
    let all = [fatbin(&entries), one.repeat(5000)].concat();
    let library = elf(3, &[(".nv_fatbin", &all)]);
    let contents = scanned(&library);
    assert_eq!((contents.images.len(), contents.faults.len()), (10_000, 0));
    // A list with more rows than are read.
    let header = fatbin(&[Entry::of_kind(2, 80, b"")])[16..].to_vec();
    let endless = header.repeat(300_000);
    let mut bytes = fatbin(&[]);
    bytes[8..16].copy_from_slice(&(endless.len() as u64).to_le_bytes());
    bytes.extend(endless);
    let contents = scanned(&bytes);
    assert_eq!(contents.images.len(), 1 << 18);
    assert_eq!(contents.faults[0].kind, FaultKind::TooMany(1 << 18));
}

/// A source that counts what is read of it.
struct Counted<'a>(&'a [u8], std::cell::Cell<u64>);

impl Source for Counted<'_> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.1.set(self.1.get() + buffer.len() as u64);
        self.0.read_at(offset, buffer)
    }
}

#[test]
fn only_what_matters_is_read() {
    let host = vec![1; 32 << 20];
    let large = fatbin(&[Entry::cubin(80, &cubin(80, 8 << 20)), Entry::ptx(80, PTX)]);
    let library = elf(3, &[(".text", &host), (".nv_fatbin", &large), (".data", &host)]);
    let source = Counted(&library, std::cell::Cell::new(0));
    assert_eq!(scan(&source).expect("bytes in memory can be read").images.len(), 2);
    assert!(source.1.get() < 1 << 20, "{} bytes were read", source.1.get());
}

/// A generator of numbers, the same on each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

/// Damaged files give errors: no panic, and no more images than bytes can hold.
#[test]
fn damage_is_an_error_and_never_a_panic() {
    let images = [Entry::cubin(80, &cubin(80, 40)).named("one.cu"), Entry::ptx(80, PTX).with_options("-g")];
    let packed = fatbin(&[together(&images, Packing::Zstd), together(&images, Packing::Lz4)]);
    let object =
        elf(1, &[("__nv_relfatbin", &[entries(), packed.clone()].concat()), (".nv_fatbin", &packed)]);
    let library = archive(&[("a.o", &object), ("b_with_a_name_that_is_long.o", &object)]);
    let odd = [0, 1, 7, 8, 63, 64, 0x7f, 0x80, 0xff];
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for whole in [entries(), packed, object, library] {
        for _ in 0..3000 {
            let mut bytes = whole.clone();
            for _ in 0..=numbers.next(4) {
                let at = numbers.next(bytes.len());
                match numbers.next(5) {
                    0 => bytes[at] = numbers.next(256) as u8,
                    1 => bytes[at] ^= 1 << numbers.next(8),
                    2 => bytes[at] = odd[numbers.next(odd.len())],
                    3 => {
                        let end = bytes.len().min(at + 8);
                        bytes[at..end].fill(odd[numbers.next(odd.len())]);
                    }
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let contents = scanned(&bytes);
            assert!(contents.images.len() <= bytes.len() / 64 + 1);
            let source = Bytes(&bytes);
            let mut extractor = Extractor::new(&source);
            for image in &contents.images {
                let _ = extractor.bytes(image);
            }
        }
    }
}
