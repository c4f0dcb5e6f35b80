//! State spaces of PTX.

/// Where a variable lives or an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// `.reg`
    Register,
    /// `.const`
    Constant,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param` of a kernel.
    KernelParameter,
    /// `.param` of a function, or declared in a body for a call.
    FunctionParameter,
    /// `.shared`, `.shared::cta`
    Shared,
    /// `.shared::cluster`
    SharedCluster,
    /// No space written: a generic address.
    Generic,
}

impl Space {
    /// The space spelled so, without the dot. `.param` alone gives [`Space::KernelParameter`]; which kind of parameter
    /// is meant depends on the address.
    pub fn from_name(name: &str) -> Option<Space> {
        Some(match name {
            "reg" => Space::Register,
            "const" => Space::Constant,
            "global" => Space::Global,
            "local" => Space::Local,
            "param" | "param::entry" => Space::KernelParameter,
            "param::func" => Space::FunctionParameter,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => Space::SharedCluster,
            _ => return None,
        })
    }

    /// The usual spelling without the dot; nothing for a generic address.
    pub fn name(self) -> &'static str {
        match self {
            Space::Register => "reg",
            Space::Constant => "const",
            Space::Global => "global",
            Space::Local => "local",
            Space::KernelParameter | Space::FunctionParameter => "param",
            Space::Shared => "shared",
            Space::SharedCluster => "shared::cluster",
            Space::Generic => "",
        }
    }
}
