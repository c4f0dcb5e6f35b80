//! Launch records: which kernel to run on which buffers, and what must come out. One JSON object, or one a line.
//!
//! Nothing here runs a kernel; the two machines take the plain [`Launch`].

mod texture;

use crate::files::{input, output};
use crate::tensor_map::TensorMap;
use oriole_chip::texture::Opaque;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A launch record as written.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Record {
    name: Option<String>,
    ptx: Option<PathBuf>,
    ptx_text: Option<String>,
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    #[serde(default)]
    shared_bytes: u32,
    args: Vec<Argument>,
    /// Textures, samplers and surfaces of the module, by name.
    #[serde(default)]
    bind: BTreeMap<String, Argument>,
    #[serde(default)]
    expect: BTreeMap<String, Bytes>,
    #[serde(default)]
    compare: BTreeMap<String, Comparison>,
    /// Free text for people; not read.
    #[serde(default, rename = "comment")]
    _comment: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Argument {
    Buffer(Buffer),
    Scalar(Scalar),
    Alias(usize),
    TensorMap(TensorMap),
    Texture(texture::Image),
    Surface(texture::Image),
    Sampler(texture::Sampling),
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Buffer {
    bytes_hex: Option<String>,
    len: Option<u64>,
    fill: Option<u8>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Scalar {
    #[serde(rename = "type")]
    ty: String,
    value: serde_json::Value,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Bytes {
    bytes_hex: String,
}

/// How a buffer is compared where bits may differ.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Element type: `f16`, `bf16`, `f32` or `f64`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Most units in the last place.
    pub ulp: Option<u64>,
    /// Largest absolute difference.
    pub abs: Option<f64>,
    /// Largest difference relative to the expected value.
    pub rel: Option<f64>,
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
    /// Expected bytes by argument.
    pub expect: BTreeMap<usize, Vec<u8>>,
    /// Tolerances by argument.
    pub compare: BTreeMap<usize, Comparison>,
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

/// Reads a file of launch records: one JSON object, or one a line.
///
/// # Errors
/// A message with the file and line of what is wrong.
pub fn read(path: &Path) -> Result<Vec<Launch>, String> {
    let text = input::text(path)?;
    let folder = output::folder(path);
    if let Ok(record) = serde_json::from_str::<Record>(&text) {
        return Ok(vec![resolve(record, folder, 0).map_err(|error| format!("{}: {error}", path.display()))?]);
    }
    let mut launches = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = |error: String| format!("{}:{}: {error}", path.display(), index + 1);
        let record = serde_json::from_str::<Record>(line).map_err(|error| place(error.to_string()))?;
        launches.push(resolve(record, folder, index).map_err(place)?);
    }
    if launches.is_empty() {
        return Err(format!("{}: no launch record", path.display()));
    }
    Ok(launches)
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
    for argument in record.args {
        arguments.push(match argument {
            Argument::Buffer(Buffer { bytes_hex: Some(hex), len: None, fill: None }) => {
                Value::Buffer(decode(&hex)?)
            }
            Argument::Buffer(Buffer { bytes_hex: None, len: Some(len), fill }) => {
                if len > LARGEST_BUFFER {
                    return Err(format!("a buffer of {len} bytes is larger than {LARGEST_BUFFER}"));
                }
                Value::Buffer(vec![fill.unwrap_or(0); len as usize])
            }
            Argument::Buffer(_) => return Err("a buffer takes `bytes_hex`, or `len` and `fill`".to_owned()),
            Argument::Scalar(scalar) => Value::Scalar(scalar_bytes(&scalar)?),
            Argument::Alias(of) => match arguments.get(of) {
                Some(Value::Buffer(_)) => Value::Alias(of),
                _ => return Err(format!("alias {of} names no earlier buffer")),
            },
            Argument::TensorMap(map) => match arguments.get(map.alias) {
                Some(Value::Buffer(_)) => Value::Map(map.alias, map.encode()?),
                _ => return Err(format!("alias {} names no earlier buffer", map.alias)),
            },
            object => Value::Object(texture::object(object)?),
        });
    }
    let number = |key: &str| match key.parse::<usize>() {
        Ok(number)
            if matches!(
                arguments.get(number),
                Some(Value::Buffer(_) | Value::Object(Opaque::Surface(_)))
            ) =>
        {
            Ok(number)
        }
        _ => Err(format!("`{key}` names no argument that is a buffer or a surface")),
    };
    let bindings = record.bind.into_iter().map(|(name, object)| Ok((name, texture::object(object)?)));
    let bindings = bindings.collect::<Result<_, String>>()?;
    let mut expect = BTreeMap::new();
    for (key, bytes) in &record.expect {
        expect.insert(number(key)?, decode(&bytes.bytes_hex)?);
    }
    let mut compare = BTreeMap::new();
    for (key, comparison) in &record.compare {
        if width(&comparison.ty).is_none() {
            return Err(format!("`{}` is no type to compare with a tolerance", comparison.ty));
        }
        compare.insert(number(key)?, comparison.clone());
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
        compare,
    })
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

fn scalar_bytes(scalar: &Scalar) -> Result<Vec<u8>, String> {
    let bad = || format!("`{}` is no value of type {}", scalar.value, scalar.ty);
    let kind = scalar.ty.trim_start_matches('.');
    let (class, bits) = kind.split_at(kind.find(|c: char| c.is_ascii_digit()).ok_or_else(bad)?);
    let bits = bits.parse::<usize>().map_err(|_| bad())?;
    if !matches!(bits, 8 | 16 | 32 | 64) {
        return Err(bad());
    }
    let bytes = bits / 8;
    if class == "f" {
        let value = match &scalar.value {
            serde_json::Value::String(text) => text.parse::<f64>().map_err(|_| bad())?,
            other => other.as_f64().ok_or_else(bad)?,
        };
        return match bytes {
            4 => Ok((value as f32).to_le_bytes().to_vec()),
            8 => Ok(value.to_le_bytes().to_vec()),
            _ => Err(bad()),
        };
    }
    let value: i128 = match &scalar.value {
        serde_json::Value::Number(number) => {
            number.as_i64().map(i128::from).or(number.as_u64().map(i128::from)).ok_or_else(bad)?
        }
        serde_json::Value::String(text) => match text.strip_prefix("0x") {
            // A sign has no place behind the prefix.
            Some(hex) if hex.starts_with(['+', '-']) => return Err(bad()),
            Some(hex) => i128::from_str_radix(hex, 16).map_err(|_| bad())?,
            None => text.parse().map_err(|_| bad())?,
        },
        _ => return Err(bad()),
    };
    if !matches!(bytes, 1 | 2 | 4 | 8) || !matches!(class, "u" | "s" | "b") {
        return Err(bad());
    }
    let range = 1i128 << (8 * bytes);
    let (least, end) = match class {
        "u" => (0, range),
        "s" => (-range / 2, range / 2),
        _ => (-range / 2, range),
    };
    if !(least..end).contains(&value) {
        return Err(bad());
    }
    Ok(value.to_le_bytes()[..bytes].to_vec())
}

fn width(ty: &str) -> Option<usize> {
    match ty {
        "f16" | "bf16" => Some(2),
        "f32" => Some(4),
        "f64" => Some(8),
        _ => None,
    }
}

/// The first difference between what a launch expects of a buffer and what it got, as a message; `None` if it holds.
pub fn difference(launch: &Launch, argument: usize, got: &[u8]) -> Option<String> {
    let want = launch.expect.get(&argument)?;
    if want.len() != got.len() {
        return Some(format!("argument {argument}: {} bytes expected, {} found", want.len(), got.len()));
    }
    let Some(comparison) = launch.compare.get(&argument) else {
        let at = want.iter().zip(got).position(|(a, b)| a != b)?;
        let word = at / 4 * 4;
        let end = (word + 4).min(want.len());
        return Some(format!(
            "argument {argument}: byte {at} differs: expected {} at {word}, found {}",
            encode(&want[word..end]),
            encode(&got[word..end])
        ));
    };
    let width = width(&comparison.ty)?;
    for (index, (a, b)) in want.chunks_exact(width).zip(got.chunks_exact(width)).enumerate() {
        let (x, y) = (float(&comparison.ty, a), float(&comparison.ty, b));
        let close = a == b
            || (x.is_nan() && y.is_nan())
            || comparison.ulp.is_some_and(|most| steps(a, b) <= most)
            || comparison.abs.is_some_and(|most| (x - y).abs() <= most)
            || comparison.rel.is_some_and(|most| (x - y).abs() <= most * x.abs());
        if !close {
            return Some(format!(
                "argument {argument}: element {index} differs: expected {x:e}, found {y:e}"
            ));
        }
    }
    None
}

fn float(ty: &str, bytes: &[u8]) -> f64 {
    match (ty, bytes) {
        ("f64", &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        ("f32", &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
        ("bf16", &[a, b]) => f64::from(f32::from_le_bytes([0, 0, a, b])),
        ("f16", &[a, b]) => half(u16::from_le_bytes([a, b])),
        _ => f64::NAN,
    }
}

fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * f64::powi(2.0, -24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * f64::powi(2.0, exponent - 15),
    }
}

/// How many representable numbers lie between two.
fn steps(a: &[u8], b: &[u8]) -> u64 {
    let ordered = |bytes: &[u8]| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(padded);
        let sign = 1u64 << (8 * bytes.len() - 1);
        if bits & sign != 0 { -((bits & (sign - 1)) as i128) } else { bits as i128 }
    };
    (ordered(a) - ordered(b)).unsigned_abs().min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulp_distance_crosses_zero() {
        assert_eq!(steps(&1.0f32.to_le_bytes(), &(1.0f32 + f32::EPSILON).to_le_bytes()), 1);
        assert_eq!(steps(&0.0f32.to_le_bytes(), &(-0.0f32).to_le_bytes()), 0);
    }

    #[test]
    fn scalars_fit_their_types() {
        let scalar =
            |ty: &str, value: serde_json::Value| scalar_bytes(&Scalar { ty: ty.to_owned(), value }).ok();
        assert_eq!(scalar("u8", 255.into()), Some(vec![0xff]));
        assert_eq!(scalar("s8", (-128).into()), Some(vec![0x80]));
        assert_eq!(scalar("b16", (-1).into()), Some(vec![0xff; 2]));
        assert_eq!(scalar("u64", "0xffffffffffffffff".into()), Some(vec![0xff; 8]));
        for (ty, value) in [("u8", 4096), ("u8", -1), ("s8", 128), ("b16", 65536), ("u12", 1)] {
            assert_eq!(scalar(ty, value.into()), None, "{ty} {value}");
        }
        assert_eq!(scalar("s32", "0x-5".into()), None);
    }

    #[test]
    fn hex_round_trips_and_refuses_nonsense() {
        assert_eq!(decode(&encode(&[0, 0x7f, 0xff])).unwrap(), [0, 0x7f, 0xff]);
        assert!(decode("abc").is_err());
        assert!(decode("zz").is_err());
    }
}
