//! The value of a handle, whatever names it.

use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::step::Handle;

impl Handle {
    /// The handle of the object.
    pub(super) fn read(&self, at: &LaneContext) -> Result<u64, Fault> {
        match self {
            Handle::Value(source) => Ok(at.read(*source)),
            Handle::Parameter(number) => {
                at.machine.objects.parameters.get(number).copied().ok_or_else(|| {
                    Fault::new(
                        FaultKind::BadLaunch,
                        format!("the launch binds nothing to parameter {number}"),
                    )
                })
            }
            Handle::Variable(name) => at.machine.objects.named.get(name).copied().ok_or_else(|| {
                Fault::new(FaultKind::BadLaunch, format!("the launch binds nothing to `{name}`"))
            }),
        }
    }
}
