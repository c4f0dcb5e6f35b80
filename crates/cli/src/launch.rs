//! Launch records: which kernel to run on which buffers, and the expected results. One JSON object, or one a line.
//!
//! Nothing here runs a kernel; interpreter and simulator take the plain [`Launch`].

mod compare;
mod elements;
mod error;
#[cfg(test)]
mod schema;
mod texture;

use crate::files::{input, output};
use crate::tensor_map::TensorMap;
pub use compare::Expectation;
use compare::{Rule, Tolerance};
pub use elements::Element;
use elements::{Fill, Iota, Random};
pub use error::RecordError;
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
    /// Expected contents of buffers and surfaces, by number of the argument.
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

/// The contents of a buffer, before a launch or after it: bytes, or elements of a type, one by one or by a rule.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Contents {
    /// These bytes in the order of memory, two hexadecimal digits each.
    bytes_hex: Option<String>,
    /// The count of bytes, each of the value `fill`.
    len: Option<u64>,
    /// The type of the elements.
    #[serde(rename = "type")]
    element: Option<Element>,
    /// The elements one by one.
    #[cfg_attr(test, schemars(with = "Option<Vec<schema::Number>>"))]
    values: Option<Vec<Json>>,
    /// A byte with `len`; a value and a count with `type`.
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
    /// Expectations, by argument.
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
/// The file cannot be read, or a record is wrong: with the file, the line of the record or of the mistake, and the place in the
/// record.
pub fn read(path: &Path) -> Result<Vec<Launch>, RecordError> {
    let text = input::text(path)?;
    let folder = output::folder(path);
    let mut launches = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<IgnoredAny>();
    let (mut before, mut line) = (0, 1);
    while let Some(next) = stream.next() {
        next.map_err(|error| without_place(&error).in_line(path, error.line()))?;
        let whole = &text[before..stream.byte_offset()];
        before = stream.byte_offset();
        let record = whole.trim_start();
        line += newlines(&whole[..whole.len() - record.len()]);
        let read = parse(record).map_err(|(inside, error)| error.in_line(path, line + inside - 1))?;
        let launch = resolve(read, folder, launches.len()).map_err(|error| error.in_line(path, line))?;
        launches.push(launch);
        line += newlines(record);
    }
    if launches.is_empty() {
        return Err(RecordError::Rule("no launch record").at(path.display()));
    }
    Ok(launches)
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// A record, or the line in it that is wrong, with the path of the field and why.
fn parse(text: &str) -> Result<Record, (usize, RecordError)> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(|error| {
        let message = without_place(error.inner());
        let message = match error.path().to_string().as_str() {
            "." => message,
            path => message.at(path),
        };
        (error.inner().line(), message)
    })
}

fn without_place(error: &serde_json::Error) -> RecordError {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    RecordError::Json(message.strip_suffix(&place).map_or(message.clone(), str::to_owned))
}

impl Contents {
    /// The bytes, or what is wrong, with its place.
    fn bytes(&self, place: &str) -> Result<Vec<u8>, RecordError> {
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

fn resolve(record: Record, folder: &Path, index: usize) -> Result<Launch, RecordError> {
    let ptx = match (record.ptx, record.ptx_text) {
        (Some(_), Some(_)) => return Err(RecordError::Rule("give `ptx` or `ptx_text`, not both")),
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
        if let Argument::Buffer(Contents { element: Some(element), .. }) = &argument {
            elements.insert(number, *element);
        }
        arguments.push(value(number, argument, &arguments)?);
    }
    let bindings = record.bind.into_iter().map(|(name, object)| {
        let object = texture::object(object).map_err(|error| error.at(format_args!("bind.{name}")))?;
        Ok((name, object))
    });
    let bindings = bindings.collect::<Result<_, RecordError>>()?;
    let mut expect = BTreeMap::new();
    for (key, contents) in record.expect {
        let number = argument(&key, &arguments).map_err(|error| error.at(format_args!("expect.{key}")))?;
        let expectation = expectation(&key, contents, &arguments[number], elements.get(&number).copied())?;
        elements.extend(expectation.element.map(|element| (number, element)));
        expect.insert(number, expectation);
    }
    for (key, comparison) in record.compare {
        let element = comparison.element;
        let number = argument(&key, &arguments)
            .and_then(|number| loosen(expect.get_mut(&number), comparison).map(|()| number))
            .map_err(|error| error.at(format_args!("compare.{key}")))?;
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

/// The value of an argument; `before` are those before it.
fn value(number: usize, argument: Argument, before: &[Value]) -> Result<Value, RecordError> {
    let place = |field: &str| {
        let place = format!("args[{number}].{field}");
        move |error: RecordError| error.at(place)
    };
    Ok(match argument {
        Argument::Buffer(contents) => {
            if contents.tolerance.is_some() {
                return Err(place("buffer.tolerance")(RecordError::Rule("only what is expected has one")));
            }
            Value::Buffer(contents.bytes(&format!("args[{number}].buffer"))?)
        }
        Argument::Scalar(Scalar { element, value }) => {
            Value::Scalar(element.encode(&value).map_err(place("scalar.value"))?)
        }
        Argument::Alias(of) => match before.get(of) {
            Some(Value::Buffer(_)) => Value::Alias(of),
            _ => return Err(place("alias")(RecordError::NoBuffer(of))),
        },
        Argument::TensorMap(map) => match before.get(map.alias) {
            Some(Value::Buffer(_)) => {
                let bytes = map.encode().map_err(RecordError::from).map_err(place("tensor_map"))?;
                Value::Map(map.alias, bytes)
            }
            _ => return Err(place("tensor_map.alias")(RecordError::NoBuffer(map.alias))),
        },
        object => {
            Value::Object(texture::object(object).map_err(|error| error.at(format_args!("args[{number}]")))?)
        }
    })
}

/// The expectation of an argument; `known` is its type, if the argument says it.
fn expectation(
    key: &str,
    contents: Contents,
    argument: &Value,
    known: Option<Element>,
) -> Result<Expectation, RecordError> {
    let place = format!("expect.{key}");
    let bytes = contents.bytes(&place)?;
    if let Value::Buffer(buffer) = argument
        && buffer.len() != bytes.len()
    {
        return Err(RecordError::Size { expected: bytes.len(), held: buffer.len() }.at(place));
    }
    let rule = match (contents.element, contents.tolerance) {
        (None, Some(_)) => {
            let rule = RecordError::Rule("only elements of a type have one");
            return Err(rule.at(format_args!("{place}.tolerance")));
        }
        (None, None) => Rule::Bits,
        (Some(_), None) => Rule::Values,
        (Some(_), Some(tolerance)) => Rule::Within(tolerance),
    };
    let expectation = Expectation { bytes, element: contents.element.or(known), rule };
    expectation.check().map_err(|error| error.at(place))?;
    Ok(expectation)
}

/// Gives an expectation in bytes a type and a tolerance.
fn loosen(expectation: Option<&mut Expectation>, comparison: Comparison) -> Result<(), RecordError> {
    let expectation = expectation.ok_or(RecordError::Rule("nothing is expected of this argument"))?;
    if expectation.rule != Rule::Bits {
        return Err(RecordError::Rule("the expectation has a type; its tolerance stands beside it"));
    }
    let Comparison { element, ulp, abs, rel } = comparison;
    expectation.element = Some(element);
    expectation.rule = Rule::Within(Tolerance { ulp, abs, rel });
    expectation.check()
}

/// The argument that a key names, which must be one that holds bytes.
fn argument(key: &str, arguments: &[Value]) -> Result<usize, RecordError> {
    let holds = |value: &Value| matches!(value, Value::Buffer(_) | Value::Object(Opaque::Surface(_)));
    let number = key.parse::<usize>().ok().filter(|&number| arguments.get(number).is_some_and(holds));
    number.ok_or_else(|| RecordError::NoArgument(key.to_owned()))
}

fn decode(hex: &str) -> Result<Vec<u8>, RecordError> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(RecordError::Rule("odd number of hex digits"));
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    digits
        .chunks_exact(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<Vec<u8>>>()
        .ok_or(RecordError::Rule("not a hex digit"))
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
