//! Launch records: which kernel to run on which buffers, and the expected results. One JSON object, or one a line.
//!
//! Nothing here runs a kernel: `execution.rs` gives a [`Launch`] as interpreter and simulator take it.

mod compare;
mod elements;
mod error;
mod execution;
mod hex;
mod record;
#[cfg(test)]
mod schema;
mod texture;

use crate::files::{input, output};
pub use compare::Expectation;
use compare::{Rule, Tolerance};
pub use elements::Element;
pub use error::RecordError;
pub use hex::encode;
use oriole_machine_model::texture::Opaque;
use record::{Argument, Comparison, Contents, Record, Scalar};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
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
        let object = opaque(object).map_err(|error| error.at(format_args!("bind.{name}")))?;
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
        object => Value::Object(opaque(object).map_err(|error| error.at(format_args!("args[{number}]")))?),
    })
}

/// The object of an argument that is neither a buffer nor a number.
fn opaque(argument: Argument) -> Result<Opaque, RecordError> {
    Ok(match argument {
        Argument::Texture(image) => Opaque::Texture(texture::texture(image)?),
        Argument::Surface(image) => Opaque::Surface(texture::texture(image)?),
        Argument::Sampler(sampling) => Opaque::Sampler(texture::sampler(&sampling)?),
        Argument::Buffer(_) | Argument::Scalar(_) | Argument::Alias(_) | Argument::TensorMap(_) => {
            return Err(RecordError::Rule("only textures, samplers and surfaces are bound by name"));
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
