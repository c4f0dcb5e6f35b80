//! The header of a module: version, targets, address size.
//!
//! Every check of a target or version reads it. The order of header lines and other items is checked elsewhere, with
//! the module.

use oriole_chip::{Chip, NameError, PtxTarget};
use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::table::Chips;
use oriole_syntax::TokenRef;
use oriole_syntax::ast::{AddressSizeDirective, AstNode, Item, Unit, VersionDirective};

/// The header directives.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Header {
    /// PTX version; 0.0 where it is missing.
    pub version: (u8, u8),
    /// The last chip that `.target` names. Modules are judged by it alone, whatever is named before it.
    pub target: Option<PtxTarget>,
    /// `debug` among the options of `.target`.
    pub debug: bool,
    /// Other options of `.target`, such as `texmode_independent`.
    pub options: Vec<String>,
    /// Bits of an address; `None` without a directive.
    pub address_size: Option<u8>,
    /// `.pragma "nounroll"`: the loops of no function are unrolled.
    pub nounroll: bool,
}

/// The pragma that keeps loops from being unrolled: one, those of a function, or those of a module.
pub const NOUNROLL: &str = "nounroll";

/// Newest PTX version that is understood.
pub const NEWEST_VERSION: (u8, u8) = (9, 5);

/// The last minor version of each major one, from 1.
const LAST: [u8; 9] = [5, 3, 2, 3, 1, 5, 8, 8, 5];

/// All PTX versions, the oldest first.
pub fn versions() -> impl DoubleEndedIterator<Item = (u8, u8)> + ExactSizeIterator {
    let all: Vec<(u8, u8)> =
        (1..).zip(LAST).flat_map(|(major, last)| (0..=last).map(move |minor| (major, minor))).collect();
    all.into_iter()
}

/// Whether there is such a PTX version, up to the newest.
fn exists((major, minor): (u8, u8)) -> bool {
    usize::from(major).checked_sub(1).and_then(|index| LAST.get(index)).is_some_and(|&last| minor <= last)
}

/// Whether a version may come after the newest known one: versions of one major number follow each other, and the next
/// major number follows them. Later versions keep the features of older ones.
fn may_come((major, minor): (u8, u8)) -> bool {
    (major, minor) > NEWEST_VERSION && major <= NEWEST_VERSION.0 + 1
}

impl Header {
    /// Bits of an address: as written, else 64.
    pub fn address_bits(&self) -> u8 {
        self.address_size.unwrap_or(64)
    }

    /// Whether the version is at least this one. For a module without a version only that is reported, and true is
    /// returned.
    pub fn has_version(&self, version: (u8, u8)) -> bool {
        self.version == (0, 0) || self.version >= version
    }

    /// Whether the target of the module has the feature. For a module without a target only that is reported, and true
    /// is returned.
    pub fn has_chips(&self, chips: Chips) -> bool {
        self.target.is_none_or(|target| chips.has(target))
    }

    /// The target as a chip with tables.
    pub fn chip(&self) -> Option<Chip> {
        self.target.and_then(PtxTarget::as_chip)
    }

    /// The target for messages.
    pub fn target_name(&self) -> String {
        self.target.map(|target| target.to_string()).unwrap_or_default()
    }
}

/// Reads the header directives of one unit, adding to those of earlier header units.
pub fn read_header(unit: &Unit, header: &mut Header, diagnostics: &mut Vec<Diagnostic>) {
    for item in unit.items() {
        match item {
            Item::VersionDirective(directive) => read_version(&directive, header, diagnostics),
            Item::TargetDirective(directive) => {
                for (at, name) in directive.names().enumerate() {
                    match name.text() {
                        _ if at == 0 && header.target.is_none() && !is_target(name.text()) => {
                            diagnostics.push(undefined_target(name));
                            break;
                        }
                        "debug" => header.debug = true,
                        "texmode_unified" | "texmode_independent" | "map_f64_to_f32" => {
                            read_option(name, header, diagnostics);
                        }
                        _ => read_target(name, header, diagnostics),
                    }
                }
            }
            Item::AddressSizeDirective(directive) => read_address_size(&directive, header, diagnostics),
            Item::Pragma(pragma) => header.nounroll |= pragma.strings().iter().any(|text| text == NOUNROLL),
            _ => {}
        }
    }
}

fn read_version(directive: &VersionDirective, header: &mut Header, diagnostics: &mut Vec<Diagnostic>) {
    let Some((major, minor)) = directive.version() else {
        diagnostics.push(Diagnostic::new(
            Code::MissingVersion,
            directive.span(),
            "`.version` needs a major and a minor number, as in `8.0`",
        ));
        return;
    };
    let version = (major.min(255) as u8, minor.min(255) as u8);
    if may_come(version) {
        diagnostics.push(Diagnostic::new(
            Code::NewerVersion,
            directive.span(),
            format!(
                "PTX version {major}.{minor} is newer than {}.{}, the newest that is known; what is known of it is compiled",
                NEWEST_VERSION.0, NEWEST_VERSION.1
            ),
        ));
    } else if !exists(version) {
        diagnostics.push(Diagnostic::new(
            Code::UnsupportedVersion,
            directive.span(),
            format!(
                "PTX version {major}.{minor} is not known; the newest is {}.{}",
                NEWEST_VERSION.0, NEWEST_VERSION.1
            ),
        ));
    }
    header.version = version;
}

/// A word of `.target` that names no chip.
fn read_option(name: TokenRef<'_>, header: &mut Header, diagnostics: &mut Vec<Diagnostic>) {
    let excluded = match name.text() {
        "texmode_unified" => Some("texmode_independent"),
        "texmode_independent" => Some("texmode_unified"),
        _ => None,
    };
    match excluded {
        Some(other) if header.options.iter().any(|option| option == other) => {
            diagnostics.push(Diagnostic::new(
                Code::InvalidHeader,
                name.span(),
                format!("`{}` and `{other}` exclude each other", name.text()),
            ));
        }
        None if header.target.is_some_and(|target| target.number() >= 13) => {
            let message = "`map_f64_to_f32` is for targets before `sm_13` only";
            diagnostics.push(Diagnostic::new(Code::InvalidHeader, name.span(), message));
        }
        _ => {}
    }
    header.options.push(name.text().to_string());
}

fn read_target(name: TokenRef<'_>, header: &mut Header, diagnostics: &mut Vec<Diagnostic>) {
    let (text, span) = (name.text(), name.span());
    let Ok(target) = text.parse::<PtxTarget>() else {
        let message = format!("no target is called `{text}`");
        diagnostics.push(Diagnostic::new(Code::UnknownTarget, span, message));
        return;
    };
    match target.as_chip().and_then(|chip| stand_in(chip, span)) {
        Some(warning) => diagnostics.push(warning),
        None => diagnostics.extend(needed_version(target, text, span, header)),
    }
    header.target = Some(target);
}

/// Whether a word has the shape of a target name, whatever its number.
fn is_target(word: &str) -> bool {
    !matches!(word.parse::<PtxTarget>(), Err(NameError::Shape(_)))
}

/// The first `.target` of a module begins with a word that is not a target.
fn undefined_target(name: TokenRef<'_>) -> Diagnostic {
    let message =
        format!("the first `.target` of a module begins with a chip, and `{}` is none", name.text());
    Diagnostic::new(Code::UndefinedTarget, name.span(), message)
}

/// A target that came with a later version than the module's.
fn needed_version(target: PtxTarget, text: &str, span: Span, header: &Header) -> Option<Diagnostic> {
    let (first, own) = (target.first_version(), header.version);
    let message = || {
        format!(
            "`{text}` needs `.version` {}.{} or later, the module has {}.{}",
            first.0, first.1, own.0, own.1
        )
    };
    (own < first && own != (0, 0)).then(|| Diagnostic::new(Code::NeedsVersion, span, message()))
}

/// The chip whose tables stand in for an unknown chip.
pub fn stand_in(chip: Chip, span: Span) -> Option<Diagnostic> {
    let known = chip.stand_in()?;
    let message = format!(
        "there is no table for `{chip}`; the table of `{known}` is used instead: every latency is a guess, and no code can be generated"
    );
    Some(Diagnostic::new(Code::StandIn, span, message))
}

fn read_address_size(
    directive: &AddressSizeDirective,
    header: &mut Header,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let number = directive.number();
    let span = number.map_or_else(|| directive.span(), TokenRef::span);
    if !header.has_version((2, 3)) {
        diagnostics.push(Diagnostic::new(
            Code::NeedsVersion,
            directive.span(),
            "`.address_size` needs `.version` 2.3 or later",
        ));
    }
    match number.map(|token| token.text()) {
        Some("64") => header.address_size = Some(64),
        Some("32") => {
            header.address_size = Some(32);
            if header.chip().is_some_and(|chip| !chip.has_32_bit_addresses()) {
                diagnostics.push(Diagnostic::new(
                    Code::InvalidHeader,
                    span,
                    "addresses of 32 bits do not exist from `sm_90` on",
                ));
            }
        }
        _ => diagnostics.push(invalid_address_size(span)),
    }
}

fn invalid_address_size(span: Span) -> Diagnostic {
    Diagnostic::new(Code::InvalidHeader, span, "`.address_size` is 32 or 64")
}
