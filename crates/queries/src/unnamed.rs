//! Finished functions as the content store has them: a name of the PTX is its number in the body.
//!
//! A value is stored for one body and read for another that differs in spellings only, and takes the names of that one.
//! Symbols that the compiler makes keep their names. Keys and modes are not known here.

use oriole_hir::BodyNames;
use oriole_ori::SymbolKind;
use oriole_pipeline::{LibraryFunction, LinkedFunction, Routine};
use serde::{Deserialize, Serialize};

/// A name in a stored function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Name {
    /// The name of the body with this number.
    OfBody(u32),
    /// A name that the compiler gives.
    Own(String),
}

/// Whether the compiler gives a spelling a meaning: it is the name of one of its own functions, for which a function of
/// the source with the same name is taken.
pub(crate) fn has_meaning(name: &str) -> bool {
    Routine::named(name).is_some() || LibraryFunction::named(name).is_some()
}

/// Whether symbols of a kind may have names of the source. A frame has slots of the compiler, too, with names that no
/// source can have.
fn is_of_source(kind: &SymbolKind) -> bool {
    match kind {
        SymbolKind::Shared
        | SymbolKind::Global
        | SymbolKind::Constant
        | SymbolKind::Local(_)
        | SymbolKind::Function
        | SymbolKind::Extern
        | SymbolKind::Outside
        | SymbolKind::Opaque
        | SymbolKind::OpaqueParameter(_) => true,
        SymbolKind::Helper
        | SymbolKind::DescriptorSize
        | SymbolKind::ConstantSize
        | SymbolKind::Arguments => false,
    }
}

/// The bytes of a function whose body has these names.
pub(crate) fn write(function: &LinkedFunction, names: &BodyNames<'_>) -> Option<Vec<u8>> {
    let mut function = function.clone();
    let mut taken = Vec::new();
    function.for_each_name_mut(|kind, name| {
        let number = is_of_source(kind).then(|| names.number(name)).flatten();
        let name = std::mem::take(name);
        taken.push(number.map_or(Name::Own(name), Name::OfBody));
    });
    postcard::to_stdvec(&(taken, function)).ok()
}

/// The function for a body with these names; `None` if the bytes are none of such a body.
pub(crate) fn read(bytes: &[u8], names: &BodyNames<'_>) -> Option<LinkedFunction> {
    let (taken, mut function) = postcard::from_bytes::<(Vec<Name>, LinkedFunction)>(bytes).ok()?;
    let mut taken = taken.into_iter();
    let mut whole = true;
    function.for_each_name_mut(|_, name| {
        let found = match taken.next() {
            Some(Name::OfBody(number)) => names.name(number).map(str::to_owned),
            Some(Name::Own(own)) => Some(own),
            None => None,
        };
        whole &= found.is_some();
        *name = found.unwrap_or_default();
    });
    (whole && taken.next().is_none()).then_some(function)
}
