//! Whole models against PyTorch: names and shapes of their state, their outputs, and that a captured model gives what
//! the eager one gives in every mode. The golden files are written by `tools/torch_ref/models.py`.

use std::collections::BTreeMap;
use std::path::Path;

use fx::interpreter::{Interpreter, NoHooks};
use fx::nn::models::resnet::{Bottleneck, ResNet};
use fx::nn::models::{
    Bert, BertConfig, DeepRecommender, DeepRecommenderConfig, Dlrm, DlrmConfig, Gpt2, Gpt2Config, Gpt2LmHead, Gpt2Step,
    Mlp, MobileNetV2, MobileNetV2Config, PaintActor, Vgg, VggConfig, VisionTransformer, VisionTransformerConfig,
    mobilenet_v2::make_divisible, resnet18, resnet34, resnet50, resnet101,
};
use fx::ops::ArangeOptions;
use fx::prelude::*;
use fx::trace::{InputForms, Leaves, trace_by, transform};
use fx::{Arg, GraphModule, Module, Opcode, Tensor, Traceable};
use serde_json::Value as Json;

mod support {
    pub(crate) mod fill;
    pub(crate) mod small;
}
use support::fill::{fill, floats, integers};
use support::small;

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
    // A plan adds in another order, and folds batch norms into weights.
    let close = |mode: &str, output: Arg<Tensor>| {
        let (rtol, atol) = if mode == "interpreter" { (1e-6, 1e-6) } else { (1e-3, 1e-4) };
        let output = tensors(&output);
        assert_eq!(output.len(), eager.len(), "{mode}");
        for (output, eager) in output.iter().zip(eager) {
            assert!(output.all_close(eager, rtol, atol), "{mode}: off by {}", output.max_abs_diff(eager));
        }
    };
    close("plan", traced.run(args()).unwrap());
    close("interpreter", Interpreter::new(traced).run(args()).unwrap());
    let retraced = transform(traced, NoHooks).unwrap();
    assert_eq!(retraced.graph().to_string(), traced.graph().to_string());
    close("retrace", retraced.run(args()).unwrap());
    // Weights that are rounded: as shares of the largest element.
    for (precision, tolerance) in [(DType::BF16, 2e-2), (DType::F16, 2e-3)] {
        let mut rounded = traced.clone();
        rounded.set_inference_precision(precision).unwrap();
        for (output, eager) in tensors(&rounded.run(args()).unwrap()).iter().zip(eager) {
            let largest = eager.max_abs_diff(&eager.zeros_like());
            let share = output.max_abs_diff(eager) / largest;
            assert!(share <= tolerance, "with weights in {precision} off by {share} of the largest element");
        }
    }
}

/// Everything there is to check of a model with one output.
#[track_caller]
fn check<M: Traceable<Static = ()>>(name: &str, model: &M, inputs: &[Tensor]) -> GraphModule {
    let golden = golden(name);
    check_state(&golden, model);
    let args = inputs.iter().map(|input| Arg::Value(input.clone())).collect();
    let eager = tensors(&model.call_tensor(args, &fx::Kwargs::new()).unwrap());
    assert!(!eager.is_empty(), "the model gives no tensor");
    for (golden, output) in golden["outputs"].as_array().unwrap().iter().zip(&eager) {
        check_output(golden, output);
    }
    let traced = fx::trace(model).unwrap();
    check_modes(&traced, inputs, &eager);
    traced
}

#[test]
fn mlp() {
    let traced = check("mlp", &Mlp::new(&[8, 16, 4]), &[floats("x", &[3, 8])]);
    assert_eq!(traced.graph().find_nodes(Opcode::CallModule, "layers.1").len(), 1);
}

#[test]
fn deep_recommender() {
    let config = DeepRecommenderConfig { layer_sizes: vec![40, 16, 16, 24], ..Default::default() };
    check("deep_recommender", &DeepRecommender::new(&config), &[floats("x", &[4, 40])]);
    let config = DeepRecommenderConfig {
        layer_sizes: vec![40, 16, 24],
        is_constrained: true,
        last_layer_activations: false,
        ..Default::default()
    };
    check("deep_recommender_constrained", &DeepRecommender::new(&config), &[floats("x", &[4, 40])]);
}

#[test]
fn basic_resnets() {
    check("resnet18", &resnet18(1000), &[floats("x", &[1, 3, 64, 64])]);
    check_state(&golden("resnet34"), &resnet34(1000));
}

#[test]
fn resnet101_state() {
    check_state(&golden("resnet101"), &resnet101(1000));
}

/// torch.fx's graph of torchvision's ResNet-50 has 177 nodes, and 444 if nothing is a leaf.
#[test]
fn resnet50_as_torch_fx() {
    let model = resnet50(1000);
    let traced = check("resnet50", &model, &[floats("x", &[1, 3, 224, 224])]);
    assert_eq!(traced.graph().len(), 177);
    assert_eq!(traced.graph().find_nodes(Opcode::CallModule, "layer1.0.downsample.0").len(), 1);

    let flat = trace_by(Leaves::None, &model, ()).unwrap();
    let wanted = BTreeMap::from([
        ("adaptive_avg_pool2d", 1),
        ("add", 16),
        ("batch_norm", 53),
        ("conv2d", 53),
        ("flatten", 1),
        ("get_attr", 53 * 5 + 2),
        ("linear", 1),
        ("max_pool2d", 1),
        ("output", 1),
        ("placeholder", 1),
        ("relu", 49),
    ]);
    assert_eq!(count(&flat), wanted.into_iter().map(|(name, count)| (name.to_owned(), count)).collect());
    assert_eq!(flat.graph().len(), 444);
}

/// How often each function or method is called, and how many nodes of each other opcode there are.
fn count(traced: &GraphModule) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (_, node) in traced.graph().nodes() {
        let name = match node.op() {
            Opcode::CallFunction | Opcode::CallMethod => node.target().name().to_owned(),
            op => op.to_string(),
        };
        *counts.entry(name).or_insert(0) += 1;
    }
    counts
}

#[test]
fn a_trace_without_leaves_gives_the_same() {
    let model = ResNet::<Bottleneck>::new([1, 1, 1, 1], 10);
    fill(&model);
    model.eval();
    let x = floats("x", &[2, 3, 32, 32]);
    let flat = trace_by(Leaves::None, &model, ()).unwrap();
    check_modes(&flat, std::slice::from_ref(&x), &[model.forward(&x)]);
}

#[test]
fn one_trace_serves_every_batch_size() {
    let model = PaintActor::new(3, 5);
    model.eval();
    let traced = fx::trace(&model).unwrap();
    for batch in [1, 3] {
        let x = floats("x", &[batch, 3, 128, 128]);
        assert!(traced.forward(&x).unwrap().all_close(&model.forward(&x), 1e-6, 1e-6));
    }
}

#[test]
fn mobilenet_v2() {
    let narrow = MobileNetV2Config { width_mult: 0.35, num_classes: 10, ..Default::default() };
    check("mobilenet_v2_narrow", &MobileNetV2::new(&narrow), &[floats("x", &[2, 3, 64, 64])]);
    check("mobilenet_v2", &MobileNetV2::new(&MobileNetV2Config::default()), &[floats("x", &[1, 3, 64, 64])]);
}

#[test]
fn channels_are_made_divisible() {
    let made = [32.0 * 0.35, 16.0 * 0.35, 24.0 * 0.75, 1.0, 100.0].map(|channels| make_divisible(channels, 8));
    assert_eq!(made, [16, 8, 24, 8, 104]);
}

#[test]
fn vgg() {
    let cases = [
        ("vgg11", VggConfig::vgg11()),
        ("vgg13", VggConfig::vgg13()),
        ("vgg16_bn", VggConfig::vgg16().batch_norm(true)),
        ("vgg19_bn", VggConfig::vgg19().batch_norm(true)),
    ];
    for (name, mut config) in cases {
        config.stages.iter_mut().flatten().for_each(|width| *width /= 16);
        (config.hidden, config.num_classes) = (24, 10);
        check(name, &Vgg::new(&config), &[floats("x", &[1, 3, 64, 64])]);
    }
}

#[test]
fn vision_transformer() {
    let config = VisionTransformerConfig {
        image_size: 32,
        patch_size: 8,
        num_layers: 2,
        num_heads: 2,
        hidden_dim: 16,
        mlp_dim: 32,
        num_classes: 10,
        ..VisionTransformerConfig::vit_b_16()
    };
    check("vit", &VisionTransformer::new(&config), &[floats("x", &[2, 3, 32, 32])]);
}

#[test]
fn bert() {
    let config = small::bert();
    let model = Bert::new(&config);
    let ids = integers("input_ids", &[2, 7], 50);
    let mask = Tensor::from([[1_i64, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]);
    check("bert", &model, &[ids.clone(), mask, integers("token_type_ids", &[2, 7], 2)]);

    let (ones, zeros) = (ids.ones_like(), ids.zeros_like());
    let (with, pooled_with) = model.forward(&ids, Some(&ones), Some(&zeros));
    let (without, pooled_without) = model.forward(&ids, None, None);
    assert!(with.all_close(&without, 1e-6, 1e-6) && pooled_with.all_close(&pooled_without, 1e-6, 1e-6));
}

#[test]
fn gpt2() {
    let config =
        Gpt2Config { vocab_size: 50, n_positions: 16, n_embd: 32, n_layer: 2, n_head: 4, ..Default::default() };
    let ids = integers("input_ids", &[2, 7], 50);
    let model = Gpt2::new(&config);
    check("gpt2", &model, std::slice::from_ref(&ids));

    let head = Gpt2LmHead { transformer: model };
    let logits = head.forward(&ids);
    check_output(&golden("gpt2")["outputs"][1], &logits);
    check_modes(&fx::trace(&head).unwrap(), std::slice::from_ref(&ids), std::slice::from_ref(&logits));
    assert!(head.state_dict().keys().all(|name| name.starts_with("transformer.")));

    // A text in pieces: each gives what its last token gives in the whole one.
    let step = Gpt2Step { lm: head };
    let traced = trace_by(InputForms::new().list("past_key_values", 2), &step, ()).unwrap();
    let [mut eager_past, mut past] = [Gpt2Step::room(&config, 2), Gpt2Step::room(&config, 2)];
    for (from, to) in [(0, 4), (4, 5), (5, 6), (6, 7)] {
        let tokens = ids.narrow(1, from, to - from);
        let positions = Tensor::arange_with(to as i64, ArangeOptions::new().start(from as i64));
        let expected = logits.select(1, to as i64 - 1);
        let (eager, planned): (Tensor, Tensor);
        (eager, eager_past) = step.forward(&tokens, &positions, eager_past);
        (planned, past) = traced.forward_as((&tokens, &positions, past)).unwrap();
        assert!(eager.all_close(&expected, 1e-5, 1e-6) && planned.all_close(&expected, 1e-5, 1e-6));
    }
}

#[test]
fn dlrm() {
    let config = DlrmConfig { embedding_sizes: vec![10, 20, 7], bottom: vec![5, 16, 8], top: vec![12, 1] };
    let offsets = Tensor::from([[0_i64, 1, 3, 4], [0, 2, 2, 5], [0, 1, 2, 3]]);
    let rows = [10, 20, 7].into_iter().enumerate();
    let rows: Vec<Tensor> = rows.map(|(i, below)| integers(&format!("indices.{i}"), &[6], below)).collect();
    check("dlrm", &Dlrm::new(&config), &[floats("dense", &[4, 5]), offsets, Tensor::stack(&rows)]);
}

#[test]
fn learning_to_paint() {
    check("paint_actor", &PaintActor::default(), &[floats("x", &[1, 9, 128, 128])]);
}

/// The name of a field in paths that is no Rust identifier.
#[test]
fn a_field_has_the_name_of_its_attribute() {
    let model = Bert::new(&BertConfig { num_hidden_layers: 1, vocab_size: 8, ..BertConfig::mini_lm_l6() });
    let state = model.state_dict();
    assert_eq!(state["encoder.layer.0.attention.self.query.weight"].shape(), [384, 384]);
    assert_eq!(state["embeddings.LayerNorm.weight"].shape(), [384]);
}
