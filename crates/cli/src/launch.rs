//! Launch records: which kernel to run on which buffers, and what must come out. One JSON object, or one a line.
//!
//! Nothing here runs a kernel; the two machines take the plain [`Launch`].

mod compare;
mod elements;
#[cfg(test)]
mod schema;
mod texture;

use crate::files::{input, output};
use crate::tensor_map::TensorMap;
pub use compare::Expectation;
use compare::{Rule, Tolerance};
pub use elements::Element;
use elements::{Fill, Iota, Random};
use oriole_chip::texture::Opaque;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A launch record as written.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Record {
    /// For reports; the entry and the number of the record if left out.
    name: Option<String>,
    /// Path of the PTX file, relative to the record.
    ptx: Option<PathBuf>,
    /// The PTX itself.
    ptx_text: Option<String>,
    /// Name of the kernel.
    entry: String,
    /// Blocks of the grid.
    grid: [u32; 3],
    /// Threads of a block.
    block: [u32; 3],
    /// Blocks of a cluster; what the kernel's directives ask for if left out.
    cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    shared_bytes: u32,
    /// One for each parameter, in order.
    args: Vec<Argument>,
    /// Textures, samplers and surfaces of the module, by name.
    #[serde(default)]
    bind: BTreeMap<String, Argument>,
    /// What buffers and surfaces must hold afterwards, by number of the argument.
    #[serde(default)]
    expect: BTreeMap<String, Contents>,
    /// Type and tolerance of expectations in bytes, by number of the argument.
    #[serde(default)]
    compare: BTreeMap<String, Comparison>,
    /// Free text for people; not read.
    #[serde(default, rename = "comment")]
    _comment: Option<String>,
}

#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Argument {
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

/// What a buffer holds, before a launch or after it: bytes, or elements of a type, one by one or by a rule.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Contents {
    /// These bytes in the order of memory, two hexadecimal digits each.
    bytes_hex: Option<String>,
    /// So many bytes, each of the value `fill`.
    len: Option<u64>,
    /// The type of the elements.
    #[serde(rename = "type")]
    element: Option<Element>,
    /// The elements one by one.
    #[cfg_attr(test, schemars(with = "Option<Vec<schema::Number>>"))]
    values: Option<Vec<Json>>,
    /// A byte beside `len`; a value and a count beside `type`.
    #[cfg_attr(test, schemars(with = "Option<schema::ByteOrFill>"))]
    fill: Option<Json>,
    /// Numbers at equal distances.
    iota: Option<Iota>,
    /// Numbers that look random and are the same everywhere.
    random: Option<Random>,
    /// How far elements may be off, where something is expected.
    tolerance: Option<Tolerance>,
}

#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Scalar {
    /// Its type.
    #[serde(rename = "type")]
    element: Element,
    /// Its value.
    #[cfg_attr(test, schemars(with = "schema::Number"))]
    value: Json,
}

/// How a buffer of bytes is compared where bits may differ.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Comparison {
    #[serde(rename = "type")]
    element: Element,
    ulp: Option<u64>,
    abs: Option<f64>,
    rel: Option<f64>,
}

/// A launch, resolved: texts read, bytes decoded.
#[derive(Debug)]
pub struct Launch {
    /// Name for reports.
    pub name: String,
    /// PTX, if the record gives any.
    pub ptx: Option<Ptx>,
    /// Kernel.
    pub entry: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster, if the launch says.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Arguments in order.
    pub arguments: Vec<Value>,
    /// Textures, samplers and surfaces of the module, by name.
    pub bindings: Vec<(String, Opaque)>,
    /// What is expected, by argument.
    pub expect: BTreeMap<usize, Expectation>,
    /// The types of buffers, by argument, where the record says them.
    pub elements: BTreeMap<usize, Element>,
}

/// Where the PTX of a launch comes from.
#[derive(Debug)]
pub struct Ptx {
    /// File, if it is one.
    pub path: Option<PathBuf>,
    /// Text.
    pub text: String,
}

/// An argument.
#[derive(Debug, Clone)]
pub enum Value {
    /// A buffer in global memory; the kernel gets its address.
    Buffer(Vec<u8>),
    /// A scalar by its bytes.
    Scalar(Vec<u8>),
    /// The address of the buffer of an earlier argument.
    Alias(usize),
    /// A tensor map of the buffer of an earlier argument.
    Map(usize, Vec<u8>),
    /// A texture, sampler or surface; the kernel gets its handle.
    Object(Opaque),
}

/// Most bytes one buffer may have.
const LARGEST_BUFFER: u64 = 1 << 32;

/// Reads a file of launch records: one JSON object after the other.
///
/// # Errors
/// A message with the file, the line of the record or of the mistake, and the place in the record.
pub fn read(path: &Path) -> Result<Vec<Launch>, String> {
    let text = input::text(path)?;
    let folder = output::folder(path);
    let place = |line: usize, error: String| format!("{}:{line}: {error}", path.display());
    let mut launches = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<IgnoredAny>();
    let (mut before, mut line) = (0, 1);
    while let Some(next) = stream.next() {
        next.map_err(|error| place(error.line(), without_place(&error)))?;
        let whole = &text[before..stream.byte_offset()];
        before = stream.byte_offset();
        let record = whole.trim_start();
        line += newlines(&whole[..whole.len() - record.len()]);
        let read = parse(record).map_err(|(inside, error)| place(line + inside - 1, error))?;
        launches.push(resolve(read, folder, launches.len()).map_err(|error| place(line, error))?);
        line += newlines(record);
    }
    if launches.is_empty() {
        return Err(format!("{}: no launch record", path.display()));
    }
    Ok(launches)
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// A record, or the line in it that is wrong, with the path of the field and why.
fn parse(text: &str) -> Result<Record, (usize, String)> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(|error| {
        let message = without_place(error.inner());
        let message = match error.path().to_string().as_str() {
            "." => message,
            path => format!("{path}: {message}"),
        };
        (error.inner().line(), message)
    })
}

fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).map_or(message.clone(), str::to_owned)
}

impl Contents {
    /// The bytes, or what is wrong, with its place.
    fn bytes(&self, place: &str) -> Result<Vec<u8>, String> {
        let Contents { bytes_hex, len, element, values, fill, iota, random, tolerance: _ } = self;
        let at = |field: &str| {
            let place = format!("{place}.{field}");
            move |error: String| format!("{place}: {error}")
        };
        match (element, bytes_hex, len, values, fill, iota, random) {
            (None, Some(hex), None, None, None, None, None) => decode(hex).map_err(at("bytes_hex")),
            (None, None, &Some(len), None, fill, None, None) => {
                if len > LARGEST_BUFFER {
                    let error = format!("a buffer of {len} bytes is larger than {LARGEST_BUFFER}");
                    return Err(at("len")(error));
                }
                let byte = match fill {
                    None => 0,
                    Some(value) => {
                        value.as_u64().and_then(|value| u8::try_from(value).ok()).ok_or_else(|| {
                            at("fill")(
                                "beside `len` it is a byte; beside `type`, a value and a count".to_owned(),
                            )
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
                let fill = Fill::deserialize(fill).map_err(|error| at("fill")(error.to_string()))?;
                element.fill(&fill).map_err(at("fill"))
            }
            (Some(element), None, None, None, None, Some(iota), None) => {
                element.iota(iota).map_err(at("iota"))
            }
            (Some(element), None, None, None, None, None, Some(random)) => {
                element.random(random).map_err(at("random"))
            }
            _ => Err(format!(
                "{place}: give `bytes_hex`, or `len` with `fill`, or `type` with one of `values`, `fill`, `iota` and `random`"
            )),
        }
    }
}

fn resolve(record: Record, folder: &Path, index: usize) -> Result<Launch, String> {
    let ptx = match (record.ptx, record.ptx_text) {
        (Some(_), Some(_)) => return Err("give `ptx` or `ptx_text`, not both".to_owned()),
        (Some(path), None) => {
            let path = folder.join(path);
            let text = input::text(&path)?;
            Some(Ptx { path: Some(path), text })
        }
        (None, Some(text)) => Some(Ptx { path: None, text }),
        (None, None) => None,
    };
    let mut arguments = Vec::new();
    let mut elements = BTreeMap::new();
    for (number, argument) in record.args.into_iter().enumerate() {
        let place = |field: &str| {
            let place = format!("args[{number}].{field}");
            move |error: String| format!("{place}: {error}")
        };
        let no_buffer = |of: usize| format!("alias {of} names no earlier buffer");
        arguments.push(match argument {
            Argument::Buffer(contents) => {
                let at = format!("args[{number}].buffer");
                if contents.tolerance.is_some() {
                    return Err(format!("{at}.tolerance: only what is expected has one"));
                }
                elements.extend(contents.element.map(|element| (number, element)));
                Value::Buffer(contents.bytes(&at)?)
            }
            Argument::Scalar(Scalar { element, value }) => {
                Value::Scalar(element.encode(&value).map_err(place("scalar.value"))?)
            }
            Argument::Alias(of) => match arguments.get(of) {
                Some(Value::Buffer(_)) => Value::Alias(of),
                _ => return Err(place("alias")(no_buffer(of))),
            },
            Argument::TensorMap(map) => match arguments.get(map.alias) {
                Some(Value::Buffer(_)) => Value::Map(map.alias, map.encode().map_err(place("tensor_map"))?),
                _ => return Err(place("tensor_map.alias")(no_buffer(map.alias))),
            },
            object => {
                Value::Object(texture::object(object).map_err(|error| format!("args[{number}]: {error}"))?)
            }
        });
    }
    let bindings = record.bind.into_iter().map(|(name, object)| {
        let object = texture::object(object).map_err(|error| format!("bind.{name}: {error}"))?;
        Ok((name, object))
    });
    let bindings = bindings.collect::<Result<_, String>>()?;
    let mut expect = BTreeMap::new();
    for (key, contents) in record.expect {
        let place = format!("expect.{key}");
        let number = argument(&key, &arguments).map_err(|error| format!("{place}: {error}"))?;
        let bytes = contents.bytes(&place)?;
        if let Some(Value::Buffer(buffer)) = arguments.get(number)
            && buffer.len() != bytes.len()
        {
            return Err(format!("{place}: {} bytes, and the buffer has {}", bytes.len(), buffer.len()));
        }
        let rule = match (contents.element, contents.tolerance) {
            (None, Some(_)) => return Err(format!("{place}.tolerance: only elements of a type have one")),
            (None, None) => Rule::Bits,
            (Some(_), None) => Rule::Values,
            (Some(_), Some(tolerance)) => Rule::Within(tolerance),
        };
        let element = contents.element.or(elements.get(&number).copied());
        let expectation = Expectation { bytes, element, rule };
        expectation.check().map_err(|error| format!("{place}: {error}"))?;
        elements.extend(element.map(|element| (number, element)));
        expect.insert(number, expectation);
    }
    for (key, Comparison { element, ulp, abs, rel }) in record.compare {
        let at = |error: &str| format!("compare.{key}: {error}");
        let number = argument(&key, &arguments).map_err(|error| at(&error))?;
        let Some(expectation) = expect.get_mut(&number) else {
            return Err(at("nothing is expected of this argument"));
        };
        if expectation.rule != Rule::Bits {
            return Err(at("the expectation has a type; its tolerance stands beside it"));
        }
        expectation.element = Some(element);
        expectation.rule = Rule::Within(Tolerance { ulp, abs, rel });
        expectation.check().map_err(|error| at(&error))?;
        elements.insert(number, element);
    }
    Ok(Launch {
        name: record.name.unwrap_or_else(|| format!("{} {}", record.entry, index + 1)),
        ptx,
        entry: record.entry,
        grid: record.grid,
        block: record.block,
        cluster: record.cluster,
        shared_bytes: record.shared_bytes,
        arguments,
        bindings,
        expect,
        elements,
    })
}

/// The argument that a key names, which must be one that holds bytes.
fn argument(key: &str, arguments: &[Value]) -> Result<usize, String> {
    let holds = |value: &Value| matches!(value, Value::Buffer(_) | Value::Object(Opaque::Surface(_)));
    let number = key.parse::<usize>().ok().filter(|&number| arguments.get(number).is_some_and(holds));
    number.ok_or_else(|| format!("`{key}` names no argument that is a buffer or a surface"))
}

fn decode(hex: &str) -> Result<Vec<u8>, String> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err("odd number of hex digits".to_owned());
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    digits
        .chunks_exact(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| "not a hex digit".to_owned())
}

/// Lower-case hex of bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_refuses_nonsense() {
        assert_eq!(decode(&encode(&[0, 0x7f, 0xff])).unwrap(), [0, 0x7f, 0xff]);
        assert!(decode("abc").is_err());
        assert!(decode("zz").is_err());
    }
}
