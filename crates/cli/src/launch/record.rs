//! A launch record as written: the names of its fields, and the bytes of its contents.
//!
//! The schema in `docs` is made of these types. No file is read here; the parent resolves a record.

use super::compare::Tolerance;
use super::elements::{Element, Fill, Iota, Random};
use super::error::{LARGEST_BUFFER, RecordError};
use super::hex::decode;
use super::texture;
use crate::tensor_map::TensorMap;
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A launch record as written.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// For reports; the entry and the number of the record if left out.
    pub name: Option<String>,
    /// Path of the PTX file, relative to the record.
    pub ptx: Option<PathBuf>,
    /// The PTX itself.
    pub ptx_text: Option<String>,
    /// Name of the kernel.
    pub entry: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; what the kernel's directives ask for if left out.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub shared_bytes: u32,
    /// One for each parameter, in order.
    pub args: Vec<Argument>,
    /// Textures, samplers and surfaces of the module, by name.
    #[serde(default)]
    pub bind: BTreeMap<String, Argument>,
    /// Expected contents of buffers and surfaces, by number of the argument.
    #[serde(default)]
    pub expect: BTreeMap<String, Contents>,
    /// Type and tolerance of expectations in bytes, by number of the argument.
    #[serde(default)]
    pub compare: BTreeMap<String, Comparison>,
    /// Free text for people; not read.
    #[serde(default, rename = "comment")]
    _comment: Option<String>,
}

#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Argument {
    /// A buffer in global memory, of which the kernel gets the address.
    Buffer(Contents),
    /// A value.
    Scalar(Scalar),
    /// The address of the buffer that is this earlier argument.
    Alias(usize),
    /// A tensor map of 128 bytes.
    TensorMap(TensorMap),
    /// A texture, of which the kernel gets the handle.
    Texture(texture::Image),
    /// A surface, of which the kernel gets the handle.
    Surface(texture::Image),
    /// A sampler, of which the kernel gets the handle.
    Sampler(texture::Sampling),
}

/// The contents of a buffer, before a launch or after it: bytes, or elements of a type, one by one or by a rule.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Contents {
    /// These bytes in the order of memory, two hexadecimal digits each.
    pub bytes_hex: Option<String>,
    /// The count of bytes, each of the value `fill`.
    pub len: Option<u64>,
    /// The type of the elements.
    #[serde(rename = "type")]
    pub element: Option<Element>,
    /// The elements one by one.
    #[cfg_attr(test, schemars(with = "Option<Vec<super::schema::Number>>"))]
    pub values: Option<Vec<Json>>,
    /// A byte with `len`; a value and a count with `type`.
    #[cfg_attr(test, schemars(with = "Option<super::schema::ByteOrFill>"))]
    pub fill: Option<Json>,
    /// Numbers at equal distances.
    pub iota: Option<Iota>,
    /// Numbers that look random and are the same everywhere.
    pub random: Option<Random>,
    /// How far elements may be off, where something is expected.
    pub tolerance: Option<Tolerance>,
}

#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Scalar {
    /// Its type.
    #[serde(rename = "type")]
    pub element: Element,
    /// Its value.
    #[cfg_attr(test, schemars(with = "super::schema::Number"))]
    pub value: Json,
}

/// How a buffer of bytes is compared where bits may differ.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Comparison {
    #[serde(rename = "type")]
    pub element: Element,
    pub ulp: Option<u64>,
    pub abs: Option<f64>,
    pub rel: Option<f64>,
}

impl Contents {
    /// The bytes, or what is wrong, with its place.
    pub(super) fn bytes(&self, place: &str) -> Result<Vec<u8>, RecordError> {
        let Contents { bytes_hex, len, element, values, fill, iota, random, tolerance: _ } = self;
        let at = |field: &str| {
            let place = format!("{place}.{field}");
            move |error: RecordError| error.at(place)
        };
        match (element, bytes_hex, len, values, fill, iota, random) {
            (None, Some(hex), None, None, None, None, None) => decode(hex).map_err(at("bytes_hex")),
            (None, None, &Some(len), None, fill, None, None) => {
                if len > LARGEST_BUFFER {
                    return Err(at("len")(RecordError::LargeBuffer(len)));
                }
                let byte = match fill {
                    None => 0,
                    Some(value) => {
                        value.as_u64().and_then(|value| u8::try_from(value).ok()).ok_or_else(|| {
                            at("fill")(RecordError::Rule(
                                "beside `len` it is a byte; beside `type`, a value and a count",
                            ))
                        })?
                    }
                };
                Ok(vec![byte; len as usize])
            }
            (Some(element), None, None, Some(values), None, None, None) => {
                let mut bytes = Vec::with_capacity(values.len() * element.bytes());
                for (index, value) in values.iter().enumerate() {
                    bytes.extend(element.encode(value).map_err(at(&format!("values[{index}]")))?);
                }
                Ok(bytes)
            }
            (Some(element), None, None, None, Some(fill), None, None) => {
                let fill = Fill::deserialize(fill).map_err(|error| at("fill")(RecordError::Json(error.to_string())))?;
                element.fill(&fill).map_err(at("fill"))
            }
            (Some(element), None, None, None, None, Some(iota), None) => {
                element.iota(iota).map_err(at("iota"))
            }
            (Some(element), None, None, None, None, None, Some(random)) => {
                element.random(random).map_err(at("random"))
            }
            _ => Err(RecordError::Rule(
                "give `bytes_hex`, or `len` with `fill`, or `type` with one of `values`, `fill`, `iota` and `random`",
            )
            .at(place)),
        }
    }
}
