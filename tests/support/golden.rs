//! Golden files: samples of ops with what PyTorch gives for them. `tools/torch_ref/README.md` describes their form.

use std::path::{Path, PathBuf};

use fx::{Arg, DType, Kwargs, Tensor};
use half::{bf16, f16};
use serde_json::Value as Json;

/// The samples of one op.
pub(crate) struct Golden {
    /// The op's name.
    pub(crate) op: String,
    /// Its samples.
    pub(crate) samples: Vec<Sample>,
}

/// One call and what it must give.
pub(crate) struct Sample {
    /// What it is about.
    pub(crate) name: String,
    /// The operands.
    pub(crate) args: Vec<Arg<Tensor>>,
    /// The attributes.
    pub(crate) kwargs: Kwargs<Tensor>,
    /// What comes out.
    pub(crate) expected: Expected,
}

/// What a call must give.
pub(crate) enum Expected {
    /// This, within the op's tolerance.
    Output(Arg<Tensor>),
    /// A tensor of this element type and shape.
    Like(DType, Vec<usize>),
    /// An error.
    Error,
}

/// The folder of the golden files.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ops")
}

/// All golden files, by name.
pub(crate) fn load_all() -> Vec<Golden> {
    let mut paths: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| load(path)).collect()
}

fn load(path: &Path) -> Golden {
    let text = std::fs::read_to_string(path).unwrap();
    let json: Json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let op = json["op"].as_str().expect("an op's name").to_owned();
    assert_eq!(path.file_stem().and_then(|name| name.to_str()), Some(op.as_str()), "a file has its op's name");
    Golden { op, samples: items(&json["samples"]).iter().map(sample).collect() }
}

fn sample(json: &Json) -> Sample {
    let kwargs = json["kwargs"].as_object().expect("keyword arguments");
    Sample {
        name: json["name"].as_str().expect("a sample's name").to_owned(),
        args: items(&json["args"]).iter().map(arg).collect(),
        kwargs: kwargs.iter().map(|(key, json)| (key.clone(), arg(json))).collect(),
        expected: expected(json),
    }
}

fn expected(json: &Json) -> Expected {
    match (&json["error"], &json["output"]["like"]) {
        (Json::Bool(true), _) => Expected::Error,
        (_, Json::Null) => Expected::Output(arg(&json["output"])),
        (_, like) => Expected::Like(dtype(&like["dtype"]), shape(&like["shape"])),
    }
}

fn items(json: &Json) -> &[Json] {
    json.as_array().expect("a list")
}

fn arg(json: &Json) -> Arg<Tensor> {
    let (kind, value) = json.as_object().and_then(|object| object.iter().next()).expect("an argument");
    let args = || items(value).iter().map(arg).collect::<Vec<_>>();
    match kind.as_str() {
        "tensor" => Arg::Value(tensor(value)),
        "int" => Arg::Int(value.as_i64().expect("an int")),
        "float" => Arg::Float(number(value)),
        "bool" => Arg::Bool(value.as_bool().expect("a bool")),
        "str" => Arg::Str(value.as_str().expect("a string").to_owned().into()),
        "none" => Arg::None,
        "dtype" => Arg::DType(dtype(value)),
        "ellipsis" => Arg::Ellipsis,
        "list" => Arg::List(args()),
        "tuple" => Arg::Tuple(args()),
        "slice" => Arg::Slice(Box::new(args().try_into().expect("three bounds"))),
        other => panic!("there is no argument of kind {other}"),
    }
}

fn tensor(json: &Json) -> Tensor {
    let shape = shape(&json["shape"]);
    let floats = || items(&json["data"]).iter().map(number);
    let ints = || items(&json["data"]).iter().map(|x| x.as_i64().expect("an int"));
    match dtype(&json["dtype"]) {
        DType::Bool => Tensor::from_vec(shape, ints().map(|x| x != 0).collect()),
        DType::U8 => Tensor::from_vec(shape, ints().map(|x| u8::try_from(x).unwrap()).collect()),
        DType::I8 => Tensor::from_vec(shape, ints().map(|x| i8::try_from(x).unwrap()).collect()),
        DType::I32 => Tensor::from_vec(shape, ints().map(|x| i32::try_from(x).unwrap()).collect()),
        DType::I64 => Tensor::from_vec(shape, ints().collect()),
        DType::F16 => Tensor::from_vec(shape, floats().map(f16::from_f64).collect()),
        DType::BF16 => Tensor::from_vec(shape, floats().map(bf16::from_f64).collect()),
        DType::F32 => Tensor::from_vec(shape, floats().map(|x| x as f32).collect()),
        DType::F64 => Tensor::from_vec(shape, floats().collect()),
    }
}

fn number(json: &Json) -> f64 {
    match json.as_str() {
        Some("nan") => f64::NAN,
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        _ => json.as_f64().expect("a number"),
    }
}

fn dtype(json: &Json) -> DType {
    json.as_str().expect("an element type's name").parse().expect("an element type")
}

fn shape(json: &Json) -> Vec<usize> {
    items(json).iter().map(|dim| usize::try_from(dim.as_u64().expect("a size")).unwrap()).collect()
}
