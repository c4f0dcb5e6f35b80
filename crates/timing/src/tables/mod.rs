//! Rows of parameters, one a product that stands for its chips. Published numbers are from the vendor's white papers and
//! programming guide, and from published microbenchmarks (arXiv 1804.06826 for Volta, 1903.07486 for Turing, 2208.11174
//! for Ampere, 2402.13499 for Ampere, Ada and Hopper, 2503.20481 for the pipeline, 2507.10789 for Blackwell), rounded.
//! No algorithm may enter.

use crate::parameters::{Number, Parameters};
use oriole_chip::Chip;

const fn p(value: f64) -> Number {
    Number::published(value)
}

const fn g(value: f64) -> Number {
    Number::guessed(value)
}

const fn m(value: f64) -> Number {
    Number::measured(value)
}

/// V100.
const VOLTA: Parameters = Parameters {
    chips: &[70],
    product: "V100",
    sms: p(80.0),
    clock: p(1530.0),
    l1: p(128.0),
    l2: p(6.0),
    l2_rate: p(1500.0),
    port: p(64.0),
    dram: p(900.0),
    dram_share: p(0.88),
    shared_latency: p(19.0),
    l1_latency: p(28.0),
    l2_latency: p(193.0),
    dram_latency: p(400.0),
    wavefront: p(1.0),
    double: p(0.0),
    special: p(8.0),
    shared_atomic: p(2.0),
    shared_swap: g(4.0),
    slices: g(64.0),
    global_atomic: g(1.0),
    atomic_latency: g(240.0),
    branch: g(4.0),
    fetch: g(10.0),
    barrier: g(16.0),
    launch: g(100.0),
};

/// Xavier.
const XAVIER: Parameters = Parameters {
    chips: &[72],
    product: "Xavier",
    sms: p(8.0),
    clock: p(1377.0),
    l2: p(0.5),
    l2_rate: g(256.0),
    dram: p(137.0),
    dram_share: g(0.8),
    slices: g(8.0),
    ..VOLTA
};

/// T4. f64 runs in a unit of the SM at two lanes a cycle.
const TURING: Parameters = Parameters {
    chips: &[75],
    product: "T4",
    sms: p(40.0),
    clock: p(1590.0),
    l1: p(96.0),
    l2: p(4.0),
    l2_rate: p(800.0),
    dram: p(320.0),
    dram_share: p(0.75),
    l1_latency: p(32.0),
    l2_latency: p(188.0),
    dram_latency: g(440.0),
    wavefront: p(2.0),
    double: p(16.0),
    slices: g(32.0),
    ..VOLTA
};

/// A100.
const AMPERE: Parameters = Parameters {
    chips: &[80],
    product: "A100",
    sms: p(108.0),
    clock: p(1410.0),
    l1: p(192.0),
    l2: p(40.0),
    l2_rate: g(3500.0),
    dram: p(1555.0),
    dram_share: g(0.88),
    shared_latency: p(23.0),
    l1_latency: p(33.0),
    l2_latency: p(260.0),
    dram_latency: p(466.0),
    atomic_latency: g(300.0),
    slices: g(80.0),
    ..VOLTA
};

/// RTX 3090.
const AMPERE_SMALL: Parameters = Parameters {
    chips: &[86],
    product: "RTX 3090",
    sms: p(82.0),
    clock: p(1695.0),
    l1: p(128.0),
    l2: p(6.0),
    l2_rate: g(1600.0),
    dram: p(936.0),
    dram_latency: g(500.0),
    wavefront: p(2.0),
    double: p(16.0),
    slices: g(48.0),
    ..AMPERE
};

/// Jetson Orin.
const ORIN: Parameters = Parameters {
    chips: &[87, 88],
    product: "Orin",
    sms: p(16.0),
    clock: p(1300.0),
    l1: p(192.0),
    l2: p(4.0),
    l2_rate: g(512.0),
    dram: p(204.0),
    dram_share: g(0.8),
    slices: g(16.0),
    ..AMPERE_SMALL
};

/// RTX 4090.
const ADA: Parameters = Parameters {
    chips: &[89],
    product: "RTX 4090",
    sms: p(128.0),
    clock: p(2520.0),
    l2: p(72.0),
    l2_rate: p(1622.0),
    dram: p(1008.0),
    shared_latency: p(30.0),
    l1_latency: p(43.0),
    l2_latency: p(273.0),
    dram_latency: p(541.0),
    slices: g(96.0),
    ..AMPERE_SMALL
};

/// H100 SXM. The register banks are measured, and what a lane of an atomic operation costs follows from the ratio of one
/// lane to all of a warp.
const HOPPER: Parameters = Parameters {
    chips: &[90],
    product: "H100 SXM",
    sms: p(132.0),
    clock: p(1755.0),
    l1: p(256.0),
    l2: p(50.0),
    l2_rate: g(3800.0),
    dram: p(3352.0),
    dram_share: g(0.9),
    shared_latency: p(29.0),
    l1_latency: p(41.0),
    l2_latency: p(263.0),
    dram_latency: p(479.0),
    global_atomic: m(1.0),
    shared_swap: m(4.0),
    atomic_latency: g(320.0),
    slices: g(96.0),
    ..AMPERE
};

/// B200.
const BLACKWELL: Parameters = Parameters {
    chips: &[100],
    product: "B200",
    sms: p(148.0),
    clock: p(1850.0),
    l2: p(126.0),
    l2_rate: g(5000.0),
    dram: p(8000.0),
    dram_latency: g(600.0),
    global_atomic: g(1.0),
    shared_swap: g(4.0),
    slices: g(192.0),
    ..HOPPER
};

/// B300. f64 is as slow as on small chips.
const BLACKWELL_ULTRA: Parameters =
    Parameters { chips: &[103], product: "B300", clock: p(1920.0), double: p(16.0), ..BLACKWELL };

/// Jetson Thor.
const THOR: Parameters = Parameters {
    chips: &[110],
    product: "Thor",
    sms: p(20.0),
    clock: p(1575.0),
    l2: g(32.0),
    l2_rate: g(700.0),
    dram: p(273.0),
    dram_share: g(0.8),
    double: p(16.0),
    slices: g(32.0),
    ..BLACKWELL
};

/// RTX 5090.
const BLACKWELL_SMALL: Parameters = Parameters {
    chips: &[120],
    product: "RTX 5090",
    sms: p(170.0),
    clock: p(2407.0),
    l1: p(128.0),
    l2: p(96.0),
    l2_rate: g(2800.0),
    dram: p(1792.0),
    shared_latency: p(30.0),
    l1_latency: g(43.0),
    l2_latency: p(358.0),
    dram_latency: p(877.0),
    slices: g(128.0),
    ..ADA
};

/// DGX Spark.
const SPARK: Parameters = Parameters {
    chips: &[121],
    product: "GB10",
    sms: p(48.0),
    clock: p(2418.0),
    l2: p(24.0),
    l2_rate: g(1000.0),
    dram: p(273.0),
    dram_share: g(0.8),
    slices: g(32.0),
    ..BLACKWELL_SMALL
};

/// All rows.
pub(crate) const ALL: &[Parameters] = &[
    VOLTA,
    XAVIER,
    TURING,
    AMPERE,
    AMPERE_SMALL,
    ORIN,
    ADA,
    HOPPER,
    BLACKWELL,
    BLACKWELL_ULTRA,
    THOR,
    BLACKWELL_SMALL,
    SPARK,
];

impl Parameters {
    /// The parameters of a chip; those of a stand-in for one that is not known.
    pub fn of(chip: Chip) -> Option<&'static Parameters> {
        let number = chip.stand_in().unwrap_or(chip).number();
        ALL.iter().find(|row| row.chips.contains(&number))
    }
}
