//! Special registers of PTX.

use crate::table::Chips;

/// A special register, its component included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SpecialRegister {
    TidX,
    TidY,
    TidZ,
    NtidX,
    NtidY,
    NtidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    ClusterIdX,
    ClusterIdY,
    ClusterIdZ,
    NclusterIdX,
    NclusterIdY,
    NclusterIdZ,
    ClusterCtaidX,
    ClusterCtaidY,
    ClusterCtaidZ,
    ClusterNctaidX,
    ClusterNctaidY,
    ClusterNctaidZ,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    CurrentGraphExec,
    /// `%envreg0` to `%envreg31`.
    EnvReg(u8),
    /// `%pm0` to `%pm7`.
    Pm(u8),
    /// `%pm0_64` to `%pm7_64`.
    Pm64(u8),
    /// The fourth component of the registers that have three, which is zero: index into a list of their names.
    Fourth(u8),
    /// `%reserved_smem_offset_begin`, `_end`, `_cap`, `_0`, `_1` as 0 to 4.
    ReservedSmemOffset(u8),
}

const NAMES: [(&str, SpecialRegister); 48] = [
    ("%aggr_smem_size", SpecialRegister::AggrSmemSize),
    ("%clock", SpecialRegister::Clock),
    ("%clock64", SpecialRegister::Clock64),
    ("%clock_hi", SpecialRegister::ClockHi),
    ("%cluster_ctaid.x", SpecialRegister::ClusterCtaidX),
    ("%cluster_ctaid.y", SpecialRegister::ClusterCtaidY),
    ("%cluster_ctaid.z", SpecialRegister::ClusterCtaidZ),
    ("%cluster_ctarank", SpecialRegister::ClusterCtarank),
    ("%cluster_nctaid.x", SpecialRegister::ClusterNctaidX),
    ("%cluster_nctaid.y", SpecialRegister::ClusterNctaidY),
    ("%cluster_nctaid.z", SpecialRegister::ClusterNctaidZ),
    ("%cluster_nctarank", SpecialRegister::ClusterNctarank),
    ("%clusterid.x", SpecialRegister::ClusterIdX),
    ("%clusterid.y", SpecialRegister::ClusterIdY),
    ("%clusterid.z", SpecialRegister::ClusterIdZ),
    ("%ctaid.x", SpecialRegister::CtaidX),
    ("%ctaid.y", SpecialRegister::CtaidY),
    ("%ctaid.z", SpecialRegister::CtaidZ),
    ("%current_graph_exec", SpecialRegister::CurrentGraphExec),
    ("%dynamic_smem_size", SpecialRegister::DynamicSmemSize),
    ("%globaltimer", SpecialRegister::Globaltimer),
    ("%globaltimer_hi", SpecialRegister::GlobaltimerHi),
    ("%globaltimer_lo", SpecialRegister::GlobaltimerLo),
    ("%gridid", SpecialRegister::Gridid),
    ("%is_explicit_cluster", SpecialRegister::IsExplicitCluster),
    ("%laneid", SpecialRegister::Laneid),
    ("%lanemask_eq", SpecialRegister::LanemaskEq),
    ("%lanemask_ge", SpecialRegister::LanemaskGe),
    ("%lanemask_gt", SpecialRegister::LanemaskGt),
    ("%lanemask_le", SpecialRegister::LanemaskLe),
    ("%lanemask_lt", SpecialRegister::LanemaskLt),
    ("%nclusterid.x", SpecialRegister::NclusterIdX),
    ("%nclusterid.y", SpecialRegister::NclusterIdY),
    ("%nclusterid.z", SpecialRegister::NclusterIdZ),
    ("%nctaid.x", SpecialRegister::NctaidX),
    ("%nctaid.y", SpecialRegister::NctaidY),
    ("%nctaid.z", SpecialRegister::NctaidZ),
    ("%nsmid", SpecialRegister::Nsmid),
    ("%ntid.x", SpecialRegister::NtidX),
    ("%ntid.y", SpecialRegister::NtidY),
    ("%ntid.z", SpecialRegister::NtidZ),
    ("%nwarpid", SpecialRegister::Nwarpid),
    ("%smid", SpecialRegister::Smid),
    ("%tid.x", SpecialRegister::TidX),
    ("%tid.y", SpecialRegister::TidY),
    ("%tid.z", SpecialRegister::TidZ),
    ("%total_smem_size", SpecialRegister::TotalSmemSize),
    ("%warpid", SpecialRegister::Warpid),
];

/// Fourth components, in the order of their numbers; 16 bits of the first four can be read, too.
const FOURTH: [&str; 8] = [
    "%tid.w",
    "%ntid.w",
    "%ctaid.w",
    "%nctaid.w",
    "%clusterid.w",
    "%nclusterid.w",
    "%cluster_ctaid.w",
    "%cluster_nctaid.w",
];

impl SpecialRegister {
    /// The spellings of those that are not members of a numbered row, in alphabetical order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|row| row.0)
    }

    /// First PTX version that has it, and the chips.
    pub fn since(self) -> ((u8, u8), Chips) {
        use SpecialRegister::*;
        let (version, chip) = match self {
            Laneid | Warpid | Smid => ((1, 3), 10),
            Pm(0..=3) => ((1, 3), 10),
            Nwarpid | Nsmid | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt | Clock64 => {
                ((2, 0), 20)
            }
            Pm(_) => ((3, 0), 20),
            Globaltimer | GlobaltimerLo | GlobaltimerHi => ((3, 1), 30),
            Pm64(_) => ((4, 0), 50),
            TotalSmemSize | DynamicSmemSize => ((4, 1), 20),
            ClockHi => ((5, 0), 20),
            ReservedSmemOffset(_) => ((7, 6), 80),
            ClusterIdX | ClusterIdY | ClusterIdZ | NclusterIdX | NclusterIdY | NclusterIdZ
            | ClusterCtaidX | ClusterCtaidY | ClusterCtaidZ | ClusterNctaidX | ClusterNctaidY
            | ClusterNctaidZ | ClusterCtarank | ClusterNctarank | IsExplicitCluster | Fourth(4..) => {
                ((7, 8), 90)
            }
            CurrentGraphExec => ((8, 0), 50),
            AggrSmemSize => ((8, 1), 90),
            _ => ((1, 0), 10),
        };
        (version, Chips::From(chip))
    }

    /// Its spelling, with percent sign and component.
    pub fn name(self) -> String {
        match self {
            SpecialRegister::EnvReg(number) => format!("%envreg{number}"),
            SpecialRegister::Pm(number) => format!("%pm{number}"),
            SpecialRegister::Pm64(number) => format!("%pm{number}_64"),
            SpecialRegister::Fourth(index) => {
                FOURTH.get(usize::from(index)).copied().unwrap_or("?").to_string()
            }
            SpecialRegister::ReservedSmemOffset(index) => {
                let tail = ["begin", "end", "cap", "0", "1"].get(usize::from(index)).copied().unwrap_or("?");
                format!("%reserved_smem_offset_{tail}")
            }
            // A short list: this is for messages and tests.
            _ => NAMES.iter().find(|row| row.1 == self).map_or_else(String::new, |row| row.0.to_string()),
        }
    }

    /// The register spelled so, with its percent sign and component (`%tid.x`).
    pub fn from_name(name: &str) -> Option<SpecialRegister> {
        if let Ok(index) = NAMES.binary_search_by_key(&name, |row| row.0) {
            return Some(NAMES[index].1);
        }
        if let Some(index) = FOURTH.iter().position(|&own| own == name) {
            return Some(SpecialRegister::Fourth(index as u8));
        }
        let wide = name.strip_suffix("_64").and_then(|name| match SpecialRegister::from_name(name) {
            Some(SpecialRegister::Pm(number)) => Some(SpecialRegister::Pm64(number)),
            _ => None,
        });
        if wide.is_some() {
            return wide;
        }
        let number = |prefix: &str, limit: u8| {
            let digits = name.strip_prefix(prefix)?;
            let value: u8 = digits.parse().ok()?;
            (value < limit && digits == value.to_string()).then_some(value)
        };
        if let Some(n) = number("%envreg", 32) {
            return Some(SpecialRegister::EnvReg(n));
        }
        if let Some(n) = number("%pm", 8) {
            return Some(SpecialRegister::Pm(n));
        }
        let tail = name.strip_prefix("%reserved_smem_offset_")?;
        let index = ["begin", "end", "cap", "0", "1"].iter().position(|&t| t == tail)?;
        Some(SpecialRegister::ReservedSmemOffset(index as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, SpecialRegister};

    #[test]
    fn names_print_and_parse() {
        let numbered =
            [SpecialRegister::EnvReg(31), SpecialRegister::Pm(0), SpecialRegister::ReservedSmemOffset(2)];
        for register in NAMES.iter().map(|row| row.1).chain(numbered) {
            assert_eq!(SpecialRegister::from_name(&register.name()), Some(register));
        }
        assert!(NAMES.is_sorted_by_key(|row| row.0));
        assert_eq!(SpecialRegister::from_name("%envreg32"), None);
        assert_eq!(SpecialRegister::from_name("%pm08"), None);
    }
}
