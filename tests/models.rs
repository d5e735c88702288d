//! Whole models against PyTorch: names and shapes of their state, their outputs, and that a captured model gives what
//! the eager one gives in every mode. The golden files are written by `tools/torch_ref/models.py`.

use std::collections::BTreeMap;
use std::path::Path;

use fx::interpreter::Interpreter;
use fx::nn::models::resnet::{Bottleneck, ResNet};
use fx::nn::models::{
    Bert, BertConfig, DeepRecommender, DeepRecommenderConfig, Dlrm, DlrmConfig, Gpt2, Gpt2Config, Gpt2LmHead, Mlp,
    MobileNetV2, MobileNetV2Config, PaintActor, Vgg, VggConfig, VisionTransformer, VisionTransformerConfig,
    mobilenet_v2::make_divisible, resnet18, resnet34, resnet50, resnet101,
};
use fx::trace::Leaves;
use fx::value::Tree;
use fx::{Arg, GraphModule, Module, Opcode, Tensor, Traceable};
use fx::prelude::*;
use serde_json::Value as Json;

mod support {
    pub mod fill;
}
use support::fill::{fill, floats, integers};

fn golden(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/models/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn shape(json: &Json) -> Vec<usize> {
    json.as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect()
}

/// Fills the model, and checks the names and shapes of its state.
#[track_caller]
fn check_state(golden: &Json, model: &dyn Module) {
    let wanted: Vec<(String, Vec<usize>)> = golden["state"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry[0].as_str().unwrap().to_owned(), shape(&entry[1])))
        .collect();
    let (mut have, mut sorted) = (fill(model), wanted);
    have.sort();
    sorted.sort();
    let extra: Vec<_> = have.iter().filter(|entry| !sorted.contains(entry)).collect();
    let missing: Vec<_> = sorted.iter().filter(|entry| !have.contains(entry)).collect();
    assert!(extra.is_empty() && missing.is_empty(), "extra: {extra:?}\nmissing: {missing:?}");
    assert_eq!(have.len(), sorted.len(), "an entry is there twice");
    model.set_training(false);
}

/// Checks an output against PyTorch's.
#[track_caller]
fn check_output(golden: &Json, output: &Tensor) {
    assert_eq!(output.shape(), shape(&golden["shape"]));
    let have = output.contiguous().to_vec::<f32>();
    for (i, (have, want)) in have.iter().zip(golden["first"].as_array().unwrap()).enumerate() {
        let (have, want) = (f64::from(*have), want.as_f64().unwrap());
        assert!((have - want).abs() <= 1e-4 + 1e-3 * want.abs(), "element {i} is {have}, PyTorch's is {want}");
    }
    let total = |f: fn(f64) -> f64| have.iter().map(|&x| f(f64::from(x))).sum::<f64>();
    let (sum, squares) = (total(|x| x), total(|x| x * x));
    let (want_sum, want_squares) = (golden["sum"].as_f64().unwrap(), golden["sum_of_squares"].as_f64().unwrap());
    let scale = (want_squares * have.len() as f64).sqrt();
    assert!((sum - want_sum).abs() <= 1e-3 * scale + 1e-4, "the sum is {sum}, PyTorch's is {want_sum}");
    assert!((squares - want_squares).abs() <= 2e-3 * want_squares, "{squares} squares, PyTorch's are {want_squares}");
}

fn tensors(arg: &Arg<Tensor>) -> Vec<Tensor> {
    let mut found = Vec::new();
    arg.for_each(&mut |tensor: &Tensor| found.push(tensor.clone()));
    found
}

/// Checks that the captured model gives in every mode what the eager one gave.
#[track_caller]
fn check_modes(traced: &GraphModule, inputs: &[Tensor], eager: &[Tensor]) {
    let args = || inputs.iter().map(|input| Arg::Value(input.clone())).collect::<Vec<_>>();
    let close = |mode: &str, output: Arg<Tensor>| {
        let output = tensors(&output);
        assert_eq!(output.len(), eager.len(), "{mode}");
        for (output, eager) in output.iter().zip(eager) {
            assert!(output.all_close(eager, 1e-6, 1e-6), "{mode}: off by {}", output.max_abs_diff(eager));
        }
    };
    close("plan", traced.run(args()).unwrap());
    close("interpreter", Interpreter::new(traced).run(args()).unwrap());
    let retraced = fx::interpreter::retrace(traced).unwrap();
    assert_eq!(retraced.graph().to_string(), traced.graph().to_string());
    close("retrace", retraced.run(args()).unwrap());
}

/// Everything there is to check of a model with one output.
#[track_caller]
fn check<M: Traceable<Static = ()>>(name: &str, model: &M, inputs: &[Tensor]) -> GraphModule {
    let golden = golden(name);
    check_state(&golden, model);
    let args = inputs.iter().map(|input| Arg::Value(input.clone())).collect();
    let eager = tensors(&model.call_tensor(args, &fx::Kwargs::new()).unwrap());
    for (golden, output) in golden["outputs"].as_array().unwrap().iter().zip(&eager) {
        check_output(golden, output);
    }
    let traced = fx::trace(model).unwrap();
    check_modes(&traced, inputs, &eager);
    traced
}
