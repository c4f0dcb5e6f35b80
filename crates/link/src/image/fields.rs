//! Which relocation patches the field of a word that the encoder would fill.
//!
//! It is apart from the resolver because it looks at words alone: relocations patch fields in one way each, so that the field says which
//! of several it must be. Nothing here knows what is named.

use oriole_chip::Chip;
use oriole_cubin::RelocationKind;
use oriole_emit::Relocation;
use oriole_sass::InstructionWord;

use crate::error::ImageError;

/// Multiples of four that fit each field that a relocation patches, and an odd number.
const PROBES: [u32; 2] = [0x1234, 0x0edc];
const ODD_PROBE: u32 = 0x1235;

/// The word with an empty field, and which of the kinds patches just that field.
pub fn emptied(
    chip: Chip,
    relocation: &Relocation,
    kinds: &[RelocationKind],
) -> Result<Option<(InstructionWord, RelocationKind)>, ImageError> {
    let filled = |value: u32| {
        oriole_emit::patch(chip, relocation, i64::from(value))
            .map_err(|failure| ImageError::Internal(failure.to_string()))
    };
    let empty = filled(0)?;
    let probes = PROBES.map(|probe| filled(probe).map(|word| (probe, word)));
    let probes = probes.into_iter().collect::<Result<Vec<_>, ImageError>>()?;
    // An offset in constant memory that is not a multiple of four fits into the field of a load only.
    let fine = oriole_emit::patch(chip, relocation, ODD_PROBE.into()).ok();
    let takes_bytes = |kind: RelocationKind| {
        !matches!(kind, RelocationKind::ConstField | RelocationKind::ConstUniform)
            || fine == Some(kind.patch(empty, ODD_PROBE.into()))
    };
    let patches = |kind: &&RelocationKind| {
        // The high half of an address is patched as the low one is.
        let shift = if kind.is_high_half() { 32 } else { 0 };
        takes_bytes(**kind)
            && probes.iter().all(|&(probe, word)| kind.patch(empty, u64::from(probe) << shift) == word)
    };
    Ok(kinds.iter().find(patches).map(|&kind| (empty, kind)))
}
