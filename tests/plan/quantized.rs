//! Models of integers of 8 bits: a plan has kernels for them, which give what the reference form gives.

mod models;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fx::graph::Node;
use fx::graph_module::State;
use fx::nn::models::{MobileNetV2, MobileNetV2Config, resnet18};
use fx::ops::AmaxOptions;
use fx::passes::quantize::{ActivationConfig, Observer, WeightConfig};
use fx::passes::{QConfig, QConfigMapping, optimize, prepare_fx};
use fx::prelude::*;
use fx::{Arg, Graph, GraphModule, Interpreter, Opcode, nn, ops};

use self::models::{Branches, models};
use super::elementwise::Positions;
use super::fill::floats;
use super::filled;

/// The integers that inputs become: all of 8 bits, and fewer.
pub(super) const RANGES: [(DType, i64, i64); 5] =
    [(DType::U8, 0, 255), (DType::I8, -128, 127), (DType::U8, 0, 127), (DType::I8, -64, 63), (DType::U8, 0, 15)];

pub(super) fn config(observer: Observer, (dtype, min, max): (DType, i64, i64)) -> QConfig {
    QConfig {
        activation: ActivationConfig::new(observer).with_range(dtype, min, max),
        weight: WeightConfig::PerChannel,
    }
}

/// A quantized model, after it has seen some data.
#[track_caller]
fn converted(module: &GraphModule, config: QConfig, data: &Tensor) -> GraphModule {
    let mut prepared = prepare_fx(module, &QConfigMapping::new().set_global(config)).unwrap();
    assert!(prepared.layer_count() > 0);
    prepared.forward(data).unwrap();
    prepared.convert_fx().unwrap()
}

fn interpreted(module: &GraphModule, x: &Tensor) -> Tensor {
    let output = Interpreter::new(module).run(vec![x.clone().into()]).unwrap();
    output.as_value().expect("one tensor").clone()
}

fn plan(module: &GraphModule, x: &Tensor) -> String {
    module.plan(x).unwrap().to_string()
}

/// What a plan gives, with one thread and with many.
#[track_caller]
fn planned(module: &GraphModule, x: &Tensor) -> Tensor {
    let many = module.forward(x).unwrap();
    fx::set_num_threads(1);
    let one = module.forward(x).unwrap();
    fx::set_num_threads(0);
    assert_eq!(bits(&one), bits(&many), "one thread gives another result");
    many
}

/// Numbers to the bit, but that NaN is NaN.
fn bits(x: &Tensor) -> Vec<u32> {
    x.to_vec::<f32>().into_iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

/// How far tensors are apart, of the largest element.
fn distance(found: &Tensor, wanted: &Tensor) -> f64 {
    assert_eq!(found.shape(), wanted.shape());
    found.max_abs_diff(wanted) / wanted.abs().max().item().to_f64()
}

/// Values of about -0.7 to 1.3, so that the integer of 0 is in the middle of none of the ranges.
fn input(name: &str, shape: &[usize]) -> Tensor {
    floats(name, shape) + 0.3
}

/// A layer, a name for it, the shape of its input, and what a printed plan calls it.
type Layer = (&'static str, GraphModule, Vec<usize>, &'static str);

fn layers() -> Vec<Layer> {
    let conv = nn::Conv2d::new;
    let line = nn::Conv1d::new;
    let volume = nn::Conv3d::new;
    let (transposed, stretched) = (nn::ConvTranspose2d::new, nn::ConvTranspose1d::new);
    let wide = |inputs, outputs| nn::ConvTranspose2d::new(inputs, outputs, [1, 3]).stride([1, 3]);
    vec![
        ("rows", filled(nn::Linear::new(64, 48)), vec![5, 64], "linear 64 to 48"),
        ("one row", filled(nn::Linear::new(64, 48)), vec![64], "linear 64 to 48"),
        ("many rows", filled(nn::Linear::new(96, 33).bias(false)), vec![7, 11, 96], "linear 96 to 33"),
        ("features not in fours", filled(nn::Linear::new(37, 21)), vec![9, 37], "linear 37 to 21"),
        ("one feature", filled(nn::Linear::new(1, 1)), vec![6, 1], "linear 1 to 1"),
        ("windows", filled(conv(32, 24, 3).padding(1)), vec![32, 9, 7], "conv 3x3"),
        ("steps", filled(conv(20, 17, 3).padding([1, 0]).stride([2, 1])), vec![20, 10, 9], "conv 3x3/2x1"),
        ("distant taps", filled(conv(24, 8, 3).padding(2).dilation(2)), vec![24, 8, 9], "conv 3x3"),
        ("single pixels", filled(conv(48, 40, 1)), vec![48, 6, 5], "conv 1x1"),
        ("steps of single pixels", filled(conv(48, 40, 1).stride(2)), vec![48, 6, 5], "conv 1x1/2"),
        ("even windows", filled(conv(20, 8, 2).padding("same")), vec![20, 6, 5], "conv 2x2"),
        ("a first layer", filled(conv(3, 16, 7).padding(3).stride(2)), vec![3, 33, 30], "conv 7x7/2"),
        ("a first layer of gray", filled(conv(1, 8, 3).bias(false)), vec![1, 12, 13], "conv 3x3"),
        ("wide padding", filled(conv(32, 24, 3).padding([9, 20])), vec![32, 6, 7], "conv 3x3"),
        ("wide padding of a first layer", filled(conv(3, 16, 7).padding(12).stride(2)), vec![3, 9, 8], "conv 7x7/2"),
        ("groups", filled(conv(32, 16, 3).padding(1).groups(4)), vec![32, 6, 7], "conv 3x3 of 4 groups"),
        ("channels not in fours", filled(conv(22, 10, 3).padding(1)), vec![22, 6, 5], "conv 3x3"),
        ("groups not in fours", filled(conv(18, 6, 3).groups(3)), vec![18, 6, 5], "conv 3x3 of 3 groups"),
        ("channels on their own", filled(conv(24, 24, 3).padding(1).groups(24)), vec![24, 9, 8], "of 24 groups"),
        ("two outputs a channel", filled(conv(12, 24, 3).padding(1).groups(12)), vec![12, 9, 8], "of 12 groups"),
        ("lines", filled(line(32, 24, 3).padding(1)), vec![32, 19], "conv 1x3"),
        ("lines of sound", filled(line(1, 16, 10).stride(5)), vec![1, 101], "conv 1x10"),
        ("lines on their own", filled(line(16, 16, 5).padding("same").groups(16)), vec![16, 20], "of 16 groups"),
        ("lines of single pixels", filled(line(40, 24, 1)), vec![40, 9], "conv 1x1"),
        ("volumes", filled(volume(32, 24, 3).padding(1)), vec![32, 4, 5, 6], "conv 3x3x3"),
        ("steps of frames", filled(volume(20, 8, 2).stride([2, 1, 2])), vec![20, 5, 4, 5], "conv 2x2x2/2x1x2"),
        ("a first layer of video", filled(volume(3, 16, 3).padding(1).stride(2)), vec![3, 4, 9, 8], "conv 3x3x3/2"),
        ("volumes on their own", filled(volume(8, 8, 3).padding(1).groups(8)), vec![8, 3, 5, 4], "of 8 groups"),
        ("groups of volumes", filled(volume(32, 16, 3).groups(4)), vec![32, 3, 6, 5], "conv 3x3x3 of 4 groups"),
        ("single voxels", filled(volume(24, 8, 1)), vec![24, 2, 3, 4], "conv 1x1x1"),
        ("windows side by side", filled(transposed(20, 9, 2).stride(2)), vec![20, 5, 6], "conv transpose 2x2"),
        ("pieces side by side", filled(wide(24, 8)), vec![24, 4, 5], "conv transpose 1x3"),
        ("few side by side", filled(transposed(6, 5, 3).stride(3).bias(false)), vec![6, 4, 3], "conv transpose 3x3"),
        ("stretched lines", filled(stretched(16, 12, 4).stride(4)), vec![16, 7], "conv transpose 1x4"),
        ("lines that overlap", filled(stretched(24, 10, 4).stride(2).padding(1)), vec![24, 9], "conv transpose 1x4"),
        (
            "windows that overlap",
            filled(transposed(20, 9, 4).stride(2).padding(1)),
            vec![20, 5, 6],
            "conv transpose 4x4",
        ),
        ("odd windows", filled(transposed(5, 7, 3).stride(2).padding(1)), vec![5, 4, 5], "conv transpose 3x3"),
    ]
}

/// Kernels multiply integers without an error and write floats, so a layer alone differs by the rounding of a sum. A zero
/// point that is off by one, or padding with another number than 0, would be off by more than a hundred times that.
#[test]
fn every_layer_gives_what_its_reference_form_gives() {
    for (name, module, shape, kernel) in layers() {
        let calibration = input(name, &[&[2], &shape[..]].concat()) * 0.9;
        for observer in [Observer::MinMax, Observer::Dynamic] {
            for range in RANGES {
                let quantized = converted(&module, config(observer, range), &calibration);
                for batch in [1, 3] {
                    let x = input(&format!("{name} {batch}"), &[&[batch], &shape[..]].concat());
                    let (found, wanted) = (planned(&quantized, &x), interpreted(&quantized, &x));
                    let off = distance(&found, &wanted);
                    assert!(off < 1e-5, "{name}, {observer:?}, {range:?}, batch of {batch}: off by {off}");
                    let rounding = distance(&wanted, &interpreted(&module, &x));
                    assert!(rounding > 1e-4, "{name}, {observer:?}, {range:?}: nothing is rounded");
                    let text = plan(&quantized, &x);
                    assert!(text.contains(kernel) && text.contains(" of rounded"), "{name}: {text}");
                    assert!(!text.contains("  op "), "{name}: {text}");
                }
            }
        }
    }
}

/// A weight may have one scale for all of its outputs.
#[test]
fn weights_with_one_scale() {
    for (name, module, shape, kernel) in layers() {
        let x = input(name, &[&[2], &shape[..]].concat());
        let config = QConfig { weight: WeightConfig::PerTensor, ..config(Observer::MinMax, RANGES[0]) };
        let quantized = converted(&module, config, &x);
        let off = distance(&planned(&quantized, &x), &interpreted(&quantized, &x));
        assert!(off < 1e-5, "{name}: off by {off}");
        let text = plan(&quantized, &x);
        assert!(text.contains(kernel) && text.contains(" of rounded") && !text.contains("  op "), "{name}: {text}");
    }
}

/// Integers have no NaN: with a known range it becomes one of them, and infinities the last ones. A range that is found in a
/// run with one is none.
#[test]
fn what_is_not_finite_is_so_in_the_same_places() {
    // A plan multiplies a window of padding alone with a scale too, which may be none.
    for (name, module, shape, _) in layers().into_iter().filter(|(name, ..)| !name.starts_with("wide padding")) {
        let shape = [&[2], &shape[..]].concat();
        let calibration = input(name, &shape);
        for observer in [Observer::MinMax, Observer::Dynamic] {
            for range in RANGES {
                let quantized = converted(&module, config(observer, range), &calibration);
                for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e-40] {
                    let mut numbers = input(name, &shape).to_vec::<f32>();
                    let place = numbers.len() / 3;
                    numbers[place] = odd;
                    let x = Tensor::from_vec(&shape[..], numbers);
                    let (found, wanted) = (planned(&quantized, &x), interpreted(&quantized, &x));
                    let places = |x: &Tensor| x.to_vec::<f32>().iter().map(|x| x.is_finite()).collect::<Vec<_>>();
                    assert_eq!(places(&found), places(&wanted), "{name}, {observer:?}, {range:?}, {odd}");
                    if places(&wanted).contains(&true) {
                        let off = distance(&found, &wanted);
                        assert!(off < 1e-5, "{name}, {observer:?}, {range:?}, {odd}: off by {off}");
                    }
                }
            }
        }
    }
}

/// All models, with ranges that are known and with those of each run.
fn quantized_models() -> Vec<(String, GraphModule, GraphModule, Vec<usize>)> {
    let mut all = Vec::new();
    for (name, module, shape) in models() {
        for observer in [Observer::MinMax, Observer::Dynamic] {
            for range in &RANGES[..4] {
                // Wider than what comes later, of which nothing is then out of range.
                let data = input(name, &[&[4], &shape[..]].concat()) * 1.3;
                let quantized = converted(&module, config(observer, *range), &data);
                all.push((format!("{name}, {observer:?}, {range:?}"), module.clone(), quantized, shape.clone()));
            }
        }
    }
    all
}

/// The steps of a printed plan that are layers of whole numbers.
fn integer_layers(plan: &str) -> impl Iterator<Item = &str> {
    let is_layer = |line: &str| line.contains("conv ") || line.contains("linear ");
    plan.lines().filter(move |line| is_layer(line) && (line.contains(" of rounded") || line.contains(" of bytes")))
}

/// Where a layer reads what another gave, a number near a tie may become the integer beside, and others after it: results differ
/// by some part of what rounding costs. Layers on their own are tested to the rounding of sums.
#[test]
fn models_give_what_their_reference_form_gives() {
    for (name, module, quantized, shape) in quantized_models() {
        for batch in [1, 3] {
            let x = input(&format!("x {batch}"), &[&[batch], &shape[..]].concat());
            let (found, wanted) = (planned(&quantized, &x), interpreted(&quantized, &x));
            let (off, rounding) = (distance(&found, &wanted), distance(&wanted, &interpreted(&module, &x)));
            assert!(off < 2e-2 && rounding < 0.1, "{name}, batch of {batch}: off by {off}, rounding {rounding}");
            let text = plan(&quantized, &x);
            let layers = integer_layers(&text).count();
            let calls = quantized.graph().find_calls(ops::dequantize_per_channel);
            let readers: usize = calls.iter().map(|id| quantized.graph()[*id].users().len()).sum();
            assert_eq!(layers, readers, "{name}: {text}");
            assert!(!text.contains("  op "), "{name}: {text}");
        }
    }
}

/// What a layer of integers leaves for others alone is written as the bytes that they read, if their range is known.
#[test]
fn values_between_layers_are_bytes() {
    let mut all = 0;
    for (name, _, quantized, shape) in quantized_models() {
        let text = plan(&quantized, &input("x", &[&[2], &shape[..]].concat()));
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        let (written, read) = (count(" to bytes"), count(" of bytes"));
        assert!(written <= read && count(" u8[") == written, "{name}: {text}");
        assert!(written == 0 || !name.contains("Dynamic") && text.contains("in int8"), "{name}: {text}");
        all += written;
    }
    let (_, _, quantized, shape) = quantized_models().swap_remove(0);
    let has_bytes = plan(&quantized, &input("x", &[&[2], &shape[..]].concat())).contains("in int8");
    assert_eq!(all > 0, has_bytes, "{all} values are bytes");
}

/// What a residual block adds is bytes, in place of which the sum is written, and a norm writes what layers round.
#[test]
fn what_is_added_is_bytes() {
    let wanted = [
        ("residual", "conv 3x3 of 2 groups in int8 of bytes + add of bytes + relu", "f32[2, 32, 12, 10]"),
        ("normed", "linear 64 to 48 in int8 of bytes + add of bytes to bytes", "in place"),
        ("shortcut", "conv 3x3/2 in int8 of bytes + add of bytes + relu to bytes", "in place"),
        ("shortcut", "conv 1x1/2 in int8 of bytes to bytes", "u8[2, 48, 17, 15]"),
        ("shortcut", "rounded of bytes, mean of 255", "f32[2, 48, 1, 1]"),
        ("shortcut", "rounded of bytes, mean of 255", "f32[2, 1028]"),
        ("normed", "layer_norm of 48 to bytes", "u8[2, 7, 48]"),
    ];
    let normed =
        Normed { first: nn::Linear::new(48, 64), second: nn::Linear::new(64, 48), norm: nn::LayerNorm::new([48]) };
    let mut all = models();
    all.push(("normed", filled(normed), vec![7, 48]));
    for (name, module, shape) in all {
        let x = input("x", &[&[2], &shape[..]].concat());
        let quantized = converted(&module, config(Observer::MinMax, RANGES[0]), &(&x * 1.3));
        let text = plan(&quantized, &x);
        for (_, step, how) in wanted.iter().filter(|(of, ..)| *of == name && text.contains("in int8")) {
            assert!(text.lines().any(|line| line.contains(step) && line.contains(how)), "{name}, {step}: {text}");
        }
        let off = distance(&planned(&quantized, &x), &interpreted(&quantized, &x));
        assert!(off < 2e-2, "{name}: off by {off}");
    }
}

/// A norm before layers, one of which adds what another reads.
#[traceable]
struct Normed {
    first: nn::Linear,
    second: nn::Linear,
    norm: nn::LayerNorm,
}

#[traceable]
impl Normed {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.norm.forward(x);
        let x = self.second.forward(self.first.forward(&x).relu()) + x;
        self.first.forward(x)
    }
}

/// Points that are reduced as they are computed, of numbers and of bytes.
#[traceable]
struct Points {
    conv: nn::Conv1d,
    linears: [nn::Linear; 2],
}

#[traceable]
impl Points {
    fn forward(&self, x: &Tensor) -> Tensor {
        let rows = self.linears[0].forward(x.transpose(1, 2)).relu();
        let largest = self.linears[1].forward(rows).amax_with(AmaxOptions::new().dim([1]));
        largest + self.conv.forward(x).relu().mean_dim([2])
    }
}

/// A band at a time, where the range is known: that of a run is the range of all.
#[test]
fn products_of_integers_are_reduced_in_the_cache() {
    let linears = [nn::Linear::new(16, 32), nn::Linear::new(32, 200)];
    let module = filled(Points { conv: nn::Conv1d::new(16, 200, 1), linears });
    let x = input("x", &[2, 16, 1400]);
    for (observer, is_known) in [(Observer::MinMax, true), (Observer::Dynamic, false)] {
        for range in &RANGES[..4] {
            let quantized = converted(&module, config(observer, *range), &(&x * 1.3));
            let text = plan(&quantized, &x);
            assert_eq!(text.contains(" + relu, mean of 1400"), is_known, "{text}");
            assert_eq!(text.contains(", largest of 1400"), is_known, "{text}");
            let off = distance(&planned(&quantized, &x), &interpreted(&quantized, &x));
            assert!(off < 1e-2, "{observer:?} {range:?}: off by {off}");
        }
    }
}

/// What is added to layers may repeat for their results, or they for it.
#[test]
fn what_is_added_to_layers_of_integers_repeats() {
    let module = filled(Positions::new());
    let data = input("data", &[2, 4, 5, 6]) * 1.3;
    for observer in [Observer::MinMax, Observer::Dynamic] {
        let quantized = converted(&module, config(observer, RANGES[0]), &data);
        for batch in [1, 2] {
            let x = input(&format!("x {batch}"), &[batch, 4, 5, 6]);
            let (off, text) = (distance(&planned(&quantized, &x), &interpreted(&quantized, &x)), plan(&quantized, &x));
            assert!(off < 2e-2, "{observer:?}, batch of {batch}: off by {off}");
            assert_eq!(integer_layers(&text).count(), 4, "{text}");
        }
    }
}

/// Bytes are what readers round numbers to anyway: where the caller reads all values too, so that they are numbers, the result is the same.
#[test]
fn bytes_change_nothing() {
    for (name, _, mut quantized, shape) in quantized_models() {
        let x = input("x", &[&[2], &shape[..]].concat());
        optimize(&mut quantized).unwrap();
        let wanted = planned(&quantized, &x);
        let read_all = |graph: &mut Graph| {
            let is_call = |node: &Node| matches!(node.op(), Opcode::CallFunction | Opcode::CallMethod);
            let calls = graph.nodes().filter(|(_, node)| is_call(node)).map(|(id, _)| id.into());
            let outputs = graph.output_arg().cloned().into_iter().chain(calls.collect::<Vec<_>>()).collect();
            graph.update_arg(graph.output_node().unwrap(), 0, Arg::Tuple(outputs));
            Ok(())
        };
        quantized.edit(read_all).unwrap();
        assert!(!plan(&quantized, &x).contains("to bytes"), "{name}");
        let Arg::Tuple(found) = quantized.run(vec![x.into()]).unwrap() else { panic!("all values") };
        assert_eq!(bits(found[0].as_value().unwrap()), bits(&wanted), "{name}");
    }
}

/// What chooses among numbers or moves them does so with the bytes of what its readers round it to.
#[test]
fn images_of_bytes() {
    let module = filled(Branches::new());
    let x = input("x", &[2, 3, 16, 14]);
    let text = plan(&converted(&module, config(Observer::MinMax, RANGES[2]), &x), &x);
    if text.contains("in int8") {
        for (step, result) in [
            ("max of 2x2 of bytes to bytes", "u8[2, 32, 8, 7]"),
            ("max of 5x5 of bytes to bytes", "u8[2, 24, 8, 7]"),
            ("cat of 3, 1 of bytes, to bytes", "u8[2, 44, 8, 7]"),
            ("cat of 2 of bytes to bytes", "u8[4, 40, 3, 3]"),
            ("conv transpose 2x2 in int8 of bytes to bytes", "u8[4, 40, 6, 6]"),
        ] {
            let is_there = text.lines().any(|line| line.contains(step) && line.contains(result));
            assert!(is_there, "{step}, {result}: {text}");
        }
    }
    let text = plan(&converted(&module, config(Observer::Dynamic, RANGES[2]), &x), &x);
    assert!(!text.contains("to bytes"), "{text}");
}

/// A plan has the weights of integers, packed once for all shapes, and the model nothing else. But a channel on its own is
/// multiplied in f32.
#[test]
fn weights_are_integers() {
    for (name, module, quantized, shape) in quantized_models() {
        let inputs = [1, 3].map(|batch| input("x", &[&[batch], &shape[..]].concat()));
        let text = plan(&quantized, &inputs[0]);
        let program = quantized.program();
        let state = program.module().state();
        let parameters = state.parameters.iter().map(|(path, x)| (path, x.dtype(), x.shape().len()));
        let buffers = state.buffers.iter().map(|(path, x)| (path, x.dtype(), x.shape().len()));
        for (path, dtype, dimensions) in parameters.chain(buffers) {
            // Parts of a weight are not quantized.
            let is_in_parts = path.ends_with("in_proj_weight");
            assert!(dtype == DType::I8 || dimensions == 1 || is_in_parts, "{name}: {path} is in {dtype}");
        }
        let packed = quantized.plan(&inputs[0]).unwrap().packed_bytes();
        assert_eq!(quantized.plan(&inputs[1]).unwrap().packed_bytes(), packed, "{name}");
        // Elsewhere they are what the integers stand for: the processor has no fast products of bytes.
        if text.contains("in int8") {
            let whole = module.plan(&inputs[0]).unwrap().packed_bytes();
            assert!(packed < whole / 2, "{name}: {packed} bytes, {whole} in f32");
            for line in integer_layers(&text) {
                assert!(line.contains("in int8") != line.contains("of 32 groups"), "{name}: {line}");
            }
        }
    }
}

#[test]
fn what_was_saved_gives_the_same() {
    let path = std::env::temp_dir().join(format!("fx_plan_quantized_{}.fx", std::process::id()));
    for (name, _, quantized, shape) in quantized_models() {
        let x = input("x", &[&[2], &shape[..]].concat());
        quantized.save(&path).unwrap();
        let loaded = GraphModule::load(&path).unwrap();
        assert_eq!(planned(&loaded, &x), planned(&quantized, &x), "{name}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// A single image has no kernel, as in f32.
#[test]
fn a_single_image() {
    for (name, module, shape, _) in layers() {
        let x = input(name, &shape);
        for observer in [Observer::MinMax, Observer::Dynamic] {
            let quantized = converted(&module, config(observer, RANGES[0]), &x);
            let off = distance(&planned(&quantized, &x), &interpreted(&quantized, &x));
            assert!(off < 1e-5, "{name}, {observer:?}: off by {off}");
        }
    }
}

/// Calls of integers in the graph, views as inputs, and no input at all.
#[test]
fn optimized_models_and_odd_inputs() {
    for (name, _, mut quantized, shape) in quantized_models() {
        let x = input("x", &[&[2], &shape[..]].concat());
        let wanted = planned(&quantized, &x);
        let back: Vec<i64> = (0..x.ndim() as i64).rev().collect();
        let turned = x.permute(back.clone()).contiguous().permute(back);
        assert!(!turned.is_contiguous());
        assert_eq!(planned(&quantized, &turned), wanted, "{name}");
        let empty = quantized.forward(Tensor::zeros([&[0], &shape[..]].concat())).unwrap();
        assert_eq!((empty.shape()[0], &empty.shape()[1..]), (0, &wanted.shape()[1..]), "{name}");
        let before = quantized.clone();
        assert!(optimize(&mut quantized).unwrap() > 0);
        assert_eq!(planned(&quantized, &x), wanted, "{name}");
        assert!(distance(&interpreted(&quantized, &x), &interpreted(&before, &x)) < 2e-2, "{name}");
    }
}

/// Integers that are made when they are read are packed, and not kept beside that.
#[test]
fn plans_keep_only_packed_integers() {
    let text = "graph():
        %x : [num_users=1] = placeholder[target=x]
        %w : [num_users=1] = get_attr[target=w]
        %s : [num_users=1] = get_attr[target=s]
        %layer : [num_users=1] = call_function[target=LAYER](args = (%x, %w, %s), kwargs = {quant_min: 0, quant_max: 255})
        return layer";
    for (layer, weight, shape) in [
        ("qlinear_pointwise", vec![8, 12], [3, 12, 12]),
        ("qconv1d_pointwise", vec![8, 12, 3], [3, 12, 12]),
        ("qconv1d_pointwise", vec![8, 1, 3], [3, 8, 12]),
        ("qconv_transpose1d", vec![12, 8, 3], [3, 12, 12]),
    ] {
        let made = Arc::new(AtomicUsize::new(0));
        let (count, size) = (Arc::clone(&made), weight.clone());
        let weight = Parameter::lazy(&weight, DType::I8, move || {
            count.fetch_add(1, Ordering::Relaxed);
            (floats("w", &size) * 100.0).to_dtype(DType::I8)
        });
        let mut state = State::new();
        state.parameters.insert("w".into(), weight);
        state.buffers.insert("s".into(), Buffer::new(floats("s", &[8]).abs()));
        let text = text.replace("LAYER", layer).replace("255", if shape[1] == 8 { "255, groups: 8" } else { "255" });
        let module = GraphModule::with_state(text.parse().unwrap(), state, "Lazy").unwrap();
        let [x, y] = [input("x", &shape), input("y", &[1, shape[1], 12])];
        let found = [planned(&module, &x), planned(&module, &y)];
        assert_eq!(made.load(Ordering::Relaxed), 1, "{layer}");
        for (found, x) in found.iter().zip([x, y]) {
            assert!(distance(found, &interpreted(&module, &x)) < 1e-5, "{layer}");
        }
        assert_eq!(made.load(Ordering::Relaxed), 2, "{layer}: the interpreter makes its own");
    }
}

/// A weight that changes is packed anew.
#[test]
fn a_plan_follows_integers() {
    for (name, _, quantized, shape) in quantized_models() {
        let x = input("x", &[&[2], &shape[..]].concat());
        let before = planned(&quantized, &x);
        let path = quantized.state().buffers.keys().find(|path| path.ends_with("int8")).unwrap().clone();
        let buffer = &quantized.state().buffers[&path];
        buffer.set(buffer.tensor().neg()).unwrap();
        let after = planned(&quantized, &x);
        assert!(distance(&after, &before) > 0.05, "{name}");
        assert!(distance(&after, &interpreted(&quantized, &x)) < 1e-2, "{name}");
    }
}

/// Layers with more rows, pixels and channels than a thread takes at once, and what the passes make of whole models.
#[test]
fn large_layers_and_whole_models() {
    let mobilenet = MobileNetV2Config { width_mult: 0.5, num_classes: 10, ..Default::default() };
    let cases = [
        ("linear", filled(nn::Linear::new(768, 1000)), vec![150, 768]),
        ("row", filled(nn::Linear::new(3000, 1500)), vec![3000]),
        ("conv", filled(nn::Conv2d::new(256, 300, 3).padding(1)), vec![256, 23, 19]),
        ("first", filled(nn::Conv2d::new(3, 64, 7).padding(3).stride(2)), vec![3, 160, 131]),
        ("line", filled(nn::Conv1d::new(80, 384, 3).padding(1)), vec![80, 700]),
        ("resnet", filled(resnet18(10)), vec![3, 80, 72]),
        ("mobilenet", filled(MobileNetV2::new(&mobilenet)), vec![3, 96, 96]),
    ];
    for (name, module, shape) in cases {
        let is_layer = module.graph().nodes().count() < 8;
        for observer in [Observer::MinMax, Observer::Dynamic] {
            let data = input(name, &[&[2], &shape[..]].concat());
            let quantized = converted(&module, config(observer, RANGES[0]), &data);
            for batch in [1, 2] {
                let x = data.narrow(0, 0, batch).contiguous();
                let off = distance(&planned(&quantized, &x), &interpreted(&quantized, &x));
                let text = plan(&quantized, &x);
                assert!(!text.contains("  op "), "{name}: {text}");
                assert!(
                    off < if is_layer { 1e-5 } else { 0.05 },
                    "{name}, {observer:?}, batch of {batch}: off by {off}"
                );
            }
        }
    }
}
