//! Launch records in JSON for tests and examples: kernels, buffers, and expected results.

#[path = "../../../cli/src/tensor_map.rs"]
mod tensor_map;

use std::path::Path;

use oriole_interp::{Arg, Launch};
use oriole_machine_model::texture::{AddressMode, Element, Layout, Opaque, Sampler, Texture};
use serde_json::Value;

/// A launch record.
pub struct Record {
    /// Name for reports.
    pub name: String,
    /// Text of the module.
    pub ptx: String,
    /// The launch.
    pub launch: Launch,
    /// Expected bytes by argument.
    pub expect: Vec<(usize, Vec<u8>)>,
    /// Tolerances by argument: type, kind (`ulp`, `abs` or `rel`) and bound.
    pub compare: Vec<(usize, String, String, f64)>,
}

/// Reads a file of one record, or of one record a line.
pub fn read(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let folder = path.parent().unwrap_or(Path::new("."));
    match serde_json::from_str(&text) {
        Ok(value) => vec![record(&value, folder)],
        Err(_) => text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| record(&serde_json::from_str(line).expect("a JSON object a line"), folder))
            .collect(),
    }
}

fn record(value: &Value, folder: &Path) -> Record {
    let text = |key: &str| value[key].as_str().map(str::to_string);
    let shape = |key: &str| [0, 1, 2].map(|index| value[key][index].as_u64().expect("three numbers") as u32);
    let entry = text("entry").expect("an entry");
    let ptx = match text("ptx_text") {
        Some(ptx) => ptx,
        None => {
            let path = folder.join(text("ptx").expect("a PTX file"));
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        }
    };
    let mut launch = Launch::new(entry.clone());
    launch.grid = shape("grid");
    launch.block = shape("block");
    if value["cluster"].is_array() {
        launch.cluster = Some(shape("cluster"));
    }
    launch.shared_bytes = value["shared_bytes"].as_u64().unwrap_or(0) as u32;
    launch.budget = 100_000_000;
    let bindings = value["bind"].as_object().into_iter().flatten();
    launch.bindings = bindings.map(|(name, bound)| (name.clone(), object(bound))).collect();
    launch.args = value["args"].as_array().expect("arguments").iter().map(argument).collect();
    let by_argument = |key: &str| {
        let entries = value[key].as_object().into_iter().flatten();
        entries.map(|(index, entry)| (index.parse::<usize>().expect("an argument"), entry))
    };
    let expect = by_argument("expect").map(|(index, entry)| (index, bytes(&entry["bytes_hex"]))).collect();
    let compare = by_argument("compare")
        .map(|(index, entry)| {
            let kind = ["ulp", "abs", "rel"].into_iter().find(|kind| entry.get(kind).is_some());
            let kind = kind.expect("a tolerance");
            let bound = entry[kind].as_f64().expect("a number");
            (index, entry["type"].as_str().expect("a type").to_string(), kind.to_string(), bound)
        })
        .collect();
    Record { name: text("name").unwrap_or(entry), ptx, launch, expect, compare }
}

fn argument(value: &Value) -> Arg {
    if let Some(buffer) = value.get("buffer") {
        return Arg::Buffer(match buffer.get("bytes_hex") {
            Some(hex) => bytes(hex),
            None => {
                let length = buffer["len"].as_u64().expect("a length") as usize;
                vec![buffer["fill"].as_u64().unwrap_or(0) as u8; length]
            }
        });
    }
    if let Some(scalar) = value.get("scalar") {
        let ty = scalar["type"].as_str().expect("a type");
        let width = ty[1..].parse::<usize>().expect("a width") / 8;
        let value = &scalar["value"];
        let number = || value.as_f64().expect("a number");
        return Arg::Scalar(match ty {
            "f32" => (number() as f32).to_le_bytes().to_vec(),
            "f64" => number().to_le_bytes().to_vec(),
            _ => {
                let bits = value.as_u64().or(value.as_i64().map(|value| value as u64)).expect("an integer");
                bits.to_le_bytes()[..width].to_vec()
            }
        });
    }
    if let Some(map) = value.get("tensor_map") {
        let map: tensor_map::TensorMap = serde_json::from_value(map.clone()).expect("a tensor map");
        return Arg::Map(map.alias, map.encode().expect("a tensor map"));
    }
    match value["alias"].as_u64() {
        Some(of) => Arg::Alias(of as usize),
        None => Arg::Object(object(value)),
    }
}

/// A texture, sampler or surface.
fn object(value: &Value) -> Opaque {
    match (value.get("texture"), value.get("surface")) {
        (Some(image), _) => Opaque::Texture(texture(image)),
        (_, Some(image)) => Opaque::Surface(texture(image)),
        _ => Opaque::Sampler(sampler(&value["sampler"])),
    }
}

fn texture(value: &Value) -> Texture {
    let count = |value: &Value| value.as_u64().unwrap_or(1) as u32;
    let element = Element::ALL.iter().find(|row| Some(row.0) == value["element"].as_str());
    let layout = Layout::ALL.iter().find(|row| Some(row.0) == value["layout"].as_str());
    Texture {
        size: [0, 1, 2].map(|axis| count(&value["size"][axis])),
        layout: layout.map_or_else(Layout::default, |row| row.1),
        layers: count(&value["layers"]),
        samples: count(&value["samples"]),
        levels: count(&value["levels"]),
        channels: count(&value["channels"]) as u8,
        element: element.expect("the type of a component").1,
        fractions: value["fractions"].as_bool().unwrap_or(false),
        sampler: sampler(&value["sampler"]),
        bytes: bytes(&value["bytes_hex"]),
    }
}

fn sampler(value: &Value) -> Sampler {
    let is = |key: &str| value[key].as_bool().unwrap_or(false);
    let mode = |axis: usize| {
        let list = value["address"].as_array().map_or(&[][..], Vec::as_slice);
        let name = list.get(axis).or(list.first().filter(|_| list.len() == 1))?.as_str()?;
        AddressMode::ALL.iter().find(|row| row.0 == name).map(|row| row.1)
    };
    let address = [0, 1, 2].map(|axis| mode(axis).unwrap_or_default());
    Sampler { linear: is("linear"), normalized: is("normalized"), address }
}

fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().expect("hex digits").as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hex digit") as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
