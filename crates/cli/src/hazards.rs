//! `--check`: the static check of the code that was just made, by tables and rules that the compiler has no part in.

use crate::messages::{Message, Place, Related};
use crate::names;
use oriole::program::Opened;
use oriole_cubin::Cubin;
use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_simulate::Hazard;

/// The errors of the code of a compiled text: one for each hazard, at the name of the kernel or the function.
pub fn diagnostics(session: &Opened, text: &str, cubin: &[u8]) -> Vec<Diagnostic> {
    let cubin = match oriole_cubin::read(cubin) {
        Ok(cubin) => cubin,
        Err(error) => {
            let message = format!("the file that was made cannot be read back: {error}");
            return vec![Diagnostic::new(Code::InternalError, Span::default(), message)];
        }
    };
    let place = |name: &str| {
        let start = session.start_of(name)? as usize;
        let at = start + word(text.get(start..)?, name)?;
        Some(Span::new(at as u32, name.len() as u32))
    };
    let hazards = oriole_simulate::lint(&cubin);
    hazards
        .iter()
        .map(|hazard| {
            let message = names::explained(&hazard.to_string()).into_owned();
            Diagnostic::new(Code::Hazard, place(&hazard.kernel).unwrap_or_default(), message)
        })
        .collect()
}

/// A hazard of machine code as a message; `image` is the number of its image in the file.
pub fn message(file: &str, hazard: &Hazard, image: Option<usize>) -> Message {
    let code = |offset| Place::Code { function: hazard.kernel.clone(), offset };
    let other = Related {
        file: file.to_owned(),
        place: code(hazard.other),
        text: "the instruction that it conflicts with".to_owned(),
    };
    let mut message = Message {
        file: file.to_owned(),
        place: code(hazard.pc),
        code: Code::Hazard,
        severity: Code::Hazard.severity(),
        text: names::explained(&hazard.to_string()).into_owned(),
        help: Vec::new(),
        related: vec![other],
        fixes: Vec::new(),
        fields: serde_json::Map::new(),
    };
    message.put("other", hazard.other);
    if let Some(image) = image {
        message.put("image", image);
    }
    message
}

/// Where a name stands in a text for the first time and is not a part of another one.
fn word(text: &str, name: &str) -> Option<usize> {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%".contains(byte);
    let bytes = text.as_bytes();
    let alone = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !before.is_some_and(in_name) && !bytes.get(at + name.len()).is_some_and(in_name)
    };
    text.match_indices(name).map(|(at, _)| at).find(alone)
}

/// The hazards of a cubin.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("error[{}]: {count} hazards, the first: {first}", Code::Hazard)]
pub struct HazardError {
    /// How many there are.
    count: usize,
    /// The first one.
    first: String,
}

/// Checks that there is no hazard, for a command that needs no list.
///
/// # Errors
/// The first hazard, if there is one.
pub fn none(cubin: &Cubin) -> Result<(), HazardError> {
    let hazards = oriole_simulate::lint(cubin);
    match hazards.first() {
        None => Ok(()),
        Some(first) => Err(HazardError { count: hazards.len(), first: first.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Opened, diagnostics, none};
    use oriole_diagnostics::Code;
    use oriole_options::Options;

    const TEXT: &str = ".version 8.0
.target sm_90
.address_size 64

.visible .entry scale(.param .u64 a)
{
    .reg .b64 %a;
    .reg .b32 %x;
    ld.param.u64 %a, [a];
    ld.global.u32 %x, [%a];
    mad.lo.u32 %x, %x, %x, 3;
    st.global.u32 [%a], %x;
    ret;
}
";

    /// Code of which every instruction stalls one cycle: that of the compiler otherwise.
    fn hasty(bytes: &[u8]) -> Vec<u8> {
        let code = oriole_cubin::read(bytes).expect("a cubin").kernels[0].code.clone();
        let raw = |code: &[u128]| code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let (old, new) =
            (raw(&code), raw(&code.iter().map(|w| w & !(0xf << 105) | 1 << 105).collect::<Vec<_>>()));
        let start = bytes.windows(old.len()).position(|window| window == old).expect("the code");
        let mut bytes = bytes.to_vec();
        bytes[start..start + new.len()].copy_from_slice(&new);
        bytes
    }

    #[test]
    fn hazards_are_errors_at_the_name_of_the_kernel() {
        let session = Opened::stored(TEXT, None, &Options::default(), true, None);
        let compiled = session.compile(1);
        let right = compiled.cubin.expect("it compiles");
        assert_eq!(diagnostics(&session, TEXT, &right), []);
        assert_eq!(none(&oriole_cubin::read(&right).expect("a cubin")), Ok(()));
        let wrong = hasty(&right);
        let found = diagnostics(&session, TEXT, &wrong);
        assert!(!found.is_empty());
        for hazard in found {
            let at = hazard.span.start as usize;
            assert_eq!(&TEXT[at..at + hazard.span.len as usize], "scale");
            assert!(hazard.is_error() && hazard.code == Code::Hazard, "{hazard}");
        }
        let told = none(&oriole_cubin::read(&wrong).expect("a cubin")).expect_err("a hazard").to_string();
        assert!(told.starts_with("error[oriole::hazard]: "), "{told}");
    }
}
