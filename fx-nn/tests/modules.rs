//! Every module against PyTorch: what it holds, how it is printed, what it computes, and the shapes that it infers.
//! `tools/torch_ref/modules.py` writes the data.

use fx::Arg;
use fx::module::{Entry, Module, entries};
use fx::prelude::*;
use fx_core as fx;
use fx_nn as nn;
use serde_json::Value as Json;

const GOLDEN: &str = include_str!("../../tests/golden/modules.json");

/// The module of a case.
fn make(name: &str) -> Option<Box<dyn Module>> {
    linear(name).or_else(|| sequences(name)).or_else(|| elementwise(name)).or_else(|| windows(name))
}

fn linear(name: &str) -> Option<Box<dyn Module>> {
    Some(match name {
        "Linear" => Box::new(nn::Linear::new(4, 5)),
        "Linear no bias" => Box::new(nn::Linear::new(4, 5).bias(false)),
        "Bilinear" => Box::new(nn::Bilinear::new(4, 3, 2)),
        "Identity" => Box::new(nn::Identity::new()),
        "Conv1d" => Box::new(nn::Conv1d::new(4, 2, 3)),
        "Conv1d circular" => Box::new(nn::Conv1d::new(4, 2, 3).padding(1).padding_mode("circular")),
        "Conv2d" => Box::new(nn::Conv2d::new(4, 6, 3).stride(2).padding(1).groups(2).bias(false)),
        "Conv2d same" => Box::new(nn::Conv2d::new(4, 2, [3, 2]).padding("same").dilation([1, 2])),
        "Conv2d reflect" => Box::new(nn::Conv2d::new(4, 2, 3).padding([1, 2]).padding_mode("reflect")),
        "Conv2d same replicate" => Box::new(nn::Conv2d::new(4, 2, [3, 2]).padding("same").padding_mode("replicate")),
        "Conv3d" => Box::new(nn::Conv3d::new(2, 3, 2).padding(1)),
        "ConvTranspose1d" => Box::new(nn::ConvTranspose1d::new(4, 2, 3).stride(2)),
        "ConvTranspose2d" => {
            Box::new(nn::ConvTranspose2d::new(4, 2, 3).stride(2).padding(1).output_padding(1).groups(2))
        }
        "ConvTranspose3d" => Box::new(nn::ConvTranspose3d::new(2, 3, 2).stride(2).dilation(2)),
        "BatchNorm1d" | "BatchNorm1d train" => Box::new(nn::BatchNorm1d::new(4)),
        "BatchNorm2d" | "BatchNorm2d train" => Box::new(nn::BatchNorm2d::new(4)),
        "BatchNorm3d" | "BatchNorm3d train" => Box::new(nn::BatchNorm3d::new(2).momentum(None)),
        "InstanceNorm2d tracked" | "InstanceNorm2d tracked train" => {
            Box::new(nn::InstanceNorm2d::new(4).track_running_stats(true))
        }
        "BatchNorm1d plain" => Box::new(nn::BatchNorm1d::new(4).affine(false).track_running_stats(false)),
        "InstanceNorm1d" => Box::new(nn::InstanceNorm1d::new(4)),
        "InstanceNorm2d" => Box::new(nn::InstanceNorm2d::new(4).affine(true)),
        "InstanceNorm3d" => Box::new(nn::InstanceNorm3d::new(2).affine(true)),
        "LayerNorm" => Box::new(nn::LayerNorm::new([6, 5]).eps(1e-3)),
        "LayerNorm no bias" => Box::new(nn::LayerNorm::new(4).bias(false)),
        "GroupNorm" => Box::new(nn::GroupNorm::new(2, 4)),
        "RMSNorm" => Box::new(nn::RMSNorm::new(4)),
        "LocalResponseNorm" => Box::new(nn::LocalResponseNorm::new(2)),
        "Embedding" => Box::new(nn::Embedding::new(4, 3).padding_idx(0)),
        "EmbeddingBag" => Box::new(nn::EmbeddingBag::new(4, 3)),
        "EmbeddingBag sum" => Box::new(nn::EmbeddingBag::new(4, 3).mode("sum").padding_idx(0)),
        _ => return None,
    })
}

fn sequences(name: &str) -> Option<Box<dyn Module>> {
    let layer = || nn::TransformerEncoderLayer::new(4, 2).dim_feedforward(8);
    let decoder_layer = || nn::TransformerDecoderLayer::new(4, 2).dim_feedforward(8);
    Some(match name {
        "MultiheadAttention" => Box::new(nn::MultiheadAttention::new(4, 2)),
        "MultiheadAttention masks" => Box::new(nn::MultiheadAttention::new(4, 2).bias(false).batch_first(true)),
        "MultiheadAttention added" => Box::new(nn::MultiheadAttention::new(4, 2).batch_first(true)),
        "TransformerEncoderLayer" => Box::new(layer().batch_first(true)),
        "TransformerEncoderLayer first" => Box::new(layer().norm_first(true).activation("gelu")),
        "TransformerEncoder" => {
            Box::new(nn::TransformerEncoder::new(&layer().batch_first(true), 2).norm(nn::LayerNorm::new(4)))
        }
        "TransformerDecoderLayer" => Box::new(decoder_layer().batch_first(true)),
        "TransformerDecoderLayer first" => Box::new(decoder_layer().norm_first(true).activation("gelu")),
        "TransformerDecoder" => {
            Box::new(nn::TransformerDecoder::new(&decoder_layer().batch_first(true), 2).norm(nn::LayerNorm::new(4)))
        }
        "RNN" => Box::new(nn::RNN::new(4, 3)),
        "LSTM" | "LSTM state" => Box::new(nn::LSTM::new(4, 3)),
        "GRU" => Box::new(nn::GRU::new(4, 3)),
        "RNN deep" => Box::new(nn::RNN::new(4, 3).num_layers(2).bidirectional(true).batch_first(true)),
        "LSTM deep" => Box::new(nn::LSTM::new(4, 3).num_layers(2).bidirectional(true).batch_first(true)),
        "GRU deep" => Box::new(nn::GRU::new(4, 3).num_layers(2).bidirectional(true).batch_first(true)),
        "RNN no bias" => Box::new(nn::RNN::new(4, 3).bias(false)),
        "LSTM no bias" => Box::new(nn::LSTM::new(4, 3).bias(false)),
        "GRU no bias" => Box::new(nn::GRU::new(4, 3).bias(false)),
        "RNN relu" => Box::new(nn::RNN::new(4, 3).nonlinearity("relu")),
        "RNNCell" | "RNNCell zeros" | "RNNCell unbatched" | "RNNCell unbatched zeros" => {
            Box::new(nn::RNNCell::new(4, 3))
        }
        "LSTMCell" | "LSTMCell zeros" | "LSTMCell unbatched" | "LSTMCell unbatched zeros" => {
            Box::new(nn::LSTMCell::new(4, 3))
        }
        "GRUCell" | "GRUCell zeros" | "GRUCell unbatched" | "GRUCell unbatched zeros" => {
            Box::new(nn::GRUCell::new(4, 3))
        }
        "RNNCell no bias" => Box::new(nn::RNNCell::new(4, 3).bias(false)),
        "LSTMCell no bias" => Box::new(nn::LSTMCell::new(4, 3).bias(false)),
        "GRUCell no bias" => Box::new(nn::GRUCell::new(4, 3).bias(false)),
        "RNNCell relu" => Box::new(nn::RNNCell::new(4, 3).nonlinearity("relu")),
        _ => return None,
    })
}

fn elementwise(name: &str) -> Option<Box<dyn Module>> {
    macro_rules! plain {
        ($($Name:ident),+) => { match name {
            $(stringify!($Name) => Some(Box::new(nn::$Name::new()) as Box<dyn Module>),)+
            _ => None,
        } };
    }
    let made = plain!(
        ReLU,
        ReLU6,
        ELU,
        SELU,
        CELU,
        LeakyReLU,
        PReLU,
        GELU,
        SiLU,
        Mish,
        Softplus,
        Softsign,
        Tanh,
        Sigmoid,
        Hardtanh,
        Hardsigmoid,
        Hardswish,
        LogSigmoid,
        GLU,
        Tanhshrink,
        Softshrink,
        Hardshrink,
        Flatten,
        CosineSimilarity,
        PairwiseDistance,
        MSELoss,
        L1Loss,
        SmoothL1Loss,
        HuberLoss,
        BCELoss
    );
    made.or_else(|| {
        Some(match name {
            "Dropout" => Box::new(nn::Dropout::default()),
            "Dropout1d" => Box::new(nn::Dropout1d::new(0.2)),
            "Dropout2d" => Box::new(nn::Dropout2d::new(0.2)),
            "Dropout3d" => Box::new(nn::Dropout3d::new(0.2)),
            "ELU alpha" => Box::new(nn::ELU::new().alpha(0.5)),
            "GELU tanh" => Box::new(nn::GELU::new().approximate("tanh")),
            "PReLU channels" => Box::new(nn::PReLU::new().num_parameters(4)),
            "Softmax" => Box::new(nn::Softmax::new(1)),
            "LogSoftmax" => Box::new(nn::LogSoftmax::new(1)),
            "Softmin" => Box::new(nn::Softmin::new(1)),
            "Threshold" => Box::new(nn::Threshold::new(0.1, 20.0)),
            "PairwiseDistance keepdim" => Box::new(nn::PairwiseDistance::new().p(1.0).eps(1e-3).keepdim(true)),
            "MSELoss sum" => Box::new(nn::MSELoss::new().reduction("sum")),
            "CrossEntropyLoss" => Box::new(nn::CrossEntropyLoss::new().label_smoothing(0.1)),
            "NLLLoss" => Box::new(nn::NLLLoss::new().weight(Tensor::ones(4))),
            "BCEWithLogitsLoss" => Box::new(nn::BCEWithLogitsLoss::new().pos_weight(Tensor::ones(4))),
            "KLDivLoss" => Box::new(nn::KLDivLoss::new().reduction("batchmean")),
            _ => return None,
        })
    })
}

fn windows(name: &str) -> Option<Box<dyn Module>> {
    Some(match name {
        "MaxPool1d" => Box::new(nn::MaxPool1d::new(3)),
        "MaxPool2d" => Box::new(nn::MaxPool2d::new(3).stride(2).padding(1).ceil_mode(true)),
        "MaxPool3d" => Box::new(nn::MaxPool3d::new(2).stride(1)),
        "AvgPool1d" => Box::new(nn::AvgPool1d::new(2)),
        "AvgPool2d" => Box::new(nn::AvgPool2d::new([3, 2]).stride([2, 1]).padding(1).count_include_pad(false)),
        "AvgPool3d" => Box::new(nn::AvgPool3d::new(2).divisor_override(3)),
        "AdaptiveAvgPool1d" => Box::new(nn::AdaptiveAvgPool1d::new(3)),
        "AdaptiveAvgPool2d" => Box::new(nn::AdaptiveAvgPool2d::new([3, 2])),
        "AdaptiveAvgPool3d" => Box::new(nn::AdaptiveAvgPool3d::new(2)),
        "AdaptiveMaxPool1d" => Box::new(nn::AdaptiveMaxPool1d::new(3)),
        "AdaptiveMaxPool2d" => Box::new(nn::AdaptiveMaxPool2d::new(2)),
        "AdaptiveMaxPool3d" => Box::new(nn::AdaptiveMaxPool3d::new(2)),
        "Unflatten" => Box::new(nn::Unflatten::new(1, [2, 2])),
        "Upsample" => Box::new(nn::Upsample::scale_factor(2.0)),
        "Upsample bilinear" => Box::new(nn::Upsample::size([4, 7]).mode("bilinear").align_corners(true)),
        "PixelShuffle" => Box::new(nn::PixelShuffle::new(2)),
        "PixelUnshuffle" => Box::new(nn::PixelUnshuffle::new(2)),
        "ChannelShuffle" => Box::new(nn::ChannelShuffle::new(2)),
        "Unfold" => Box::new(nn::Unfold::new(2)),
        "Unfold all" => Box::new(nn::Unfold::new([2, 3]).dilation([2, 1]).padding([1, 0]).stride(2)),
        "Fold" => Box::new(nn::Fold::new(3, 2)),
        "Fold all" => Box::new(nn::Fold::new([4, 5], [2, 3]).dilation([2, 1]).padding([1, 0]).stride(2)),
        "ZeroPad1d" => Box::new(nn::ZeroPad1d::new(1)),
        "ReflectionPad1d" => Box::new(nn::ReflectionPad1d::new([2, 1])),
        "ReplicationPad1d" => Box::new(nn::ReplicationPad1d::new([2, 1])),
        "CircularPad1d" => Box::new(nn::CircularPad1d::new([2, 1])),
        "ConstantPad1d" => Box::new(nn::ConstantPad1d::new(1, 2.5)),
        "ZeroPad2d" => Box::new(nn::ZeroPad2d::new(1)),
        "ReflectionPad2d" => Box::new(nn::ReflectionPad2d::new([1, 2, 3, 0])),
        "ReplicationPad2d" => Box::new(nn::ReplicationPad2d::new([1, 2, 3, 0])),
        "CircularPad2d" => Box::new(nn::CircularPad2d::new([1, 2, 3, 0])),
        "ConstantPad2d" => Box::new(nn::ConstantPad2d::new(1, 2.5)),
        "ZeroPad3d" => Box::new(nn::ZeroPad3d::new(1)),
        "ReflectionPad3d" => Box::new(nn::ReflectionPad3d::new([1, 0, 1, 1, 0, 1])),
        "ReplicationPad3d" => Box::new(nn::ReplicationPad3d::new([1, 0, 1, 1, 0, 1])),
        "CircularPad3d" => Box::new(nn::CircularPad3d::new([1, 0, 1, 1, 0, 1])),
        "ConstantPad3d" => Box::new(nn::ConstantPad3d::new(1, 2.5)),
        _ => return None,
    })
}

fn state(module: &dyn Module) -> Vec<(String, Tensor)> {
    let tensors = entries(module).into_iter().filter_map(|(name, entry)| match entry {
        Entry::Parameter(parameter) => Some((name, parameter.tensor())),
        Entry::Buffer(buffer) => Some((name, buffer.tensor())),
        _ => None,
    });
    tensors.collect()
}

/// The script's rule of the same name.
fn fill(module: &dyn Module) {
    let entries = entries(module).into_iter().filter(|(_, e)| matches!(e, Entry::Parameter(_) | Entry::Buffer(_)));
    for (k, (name, entry)) in entries.enumerate() {
        let shift = if name.ends_with("running_var") { 1.0 } else { 0.0 };
        let new = |old: Tensor| {
            let element = |n: usize| ((0.7 * n as f64 + k as f64 + 1.0).sin() / 2.0 + shift) as f32;
            Tensor::from_vec(old.shape(), (0..old.numel()).map(element).collect())
        };
        match entry {
            Entry::Parameter(parameter) => parameter.set(new(parameter.tensor())).unwrap(),
            Entry::Buffer(buffer) if buffer.tensor().dtype().is_float() => buffer.set(new(buffer.tensor())).unwrap(),
            _ => {}
        }
    }
}

fn read(json: &Json) -> Arg<Tensor> {
    let Json::Object(_) = json else {
        let items = json.as_array().map(|items| Arg::Tuple(items.iter().map(read).collect()));
        return items.unwrap_or(Arg::None);
    };
    let shape: Vec<usize> = json["shape"].as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect();
    let number = |x: &Json| x.as_f64().unwrap_or_else(|| f64::from(u8::from(x == &Json::Bool(true))));
    let data: Vec<f64> = json["data"].as_array().unwrap().iter().map(number).collect();
    let dtype = match json["dtype"].as_str().unwrap() {
        "f32" => DType::F32,
        "i64" => DType::I64,
        _ => DType::Bool,
    };
    Arg::Value(Tensor::from_vec(shape, data).to_dtype(dtype))
}

fn flat(arg: &Arg<Tensor>) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    arg.for_each(&mut |tensor| tensors.push(tensor.clone()));
    tensors
}

#[track_caller]
fn close(name: &str, actual: &[Tensor], expected: &[Tensor]) -> Result<(), String> {
    if actual.len() != expected.len() {
        return Err(format!("{name}: {} tensors, expected {}", actual.len(), expected.len()));
    }
    for (actual, expected) in actual.iter().zip(expected) {
        if actual.shape() != expected.shape() || actual.dtype() != expected.dtype() {
            let (have, want) = (actual.shape(), expected.shape());
            return Err(format!("{name}: {have:?} {}, expected {want:?} {}", actual.dtype(), expected.dtype()));
        }
        if !actual.all_close(expected, 1e-5, 2e-6) {
            return Err(format!("{name}: differs by {}", actual.max_abs_diff(expected)));
        }
    }
    Ok(())
}

fn check(case: &Json) -> Result<(), String> {
    let name = case["name"].as_str().unwrap();
    let module = make(name).ok_or_else(|| format!("{name}: is not made"))?;
    let module = &*module;
    module.set_training(case["train"] == Json::Bool(true));
    let shapes: Vec<(String, Vec<usize>)> = serde_json::from_value(case["state"].clone()).unwrap();
    let have: Vec<_> = state(module).into_iter().map(|(name, tensor)| (name, tensor.shape().to_vec())).collect();
    if have != shapes {
        return Err(format!("{name}: holds {have:?}, expected {shapes:?}"));
    }
    let repr = case["repr"].as_str().unwrap();
    if module.repr_arguments() != repr {
        return Err(format!("{name}: prints `{}`, expected `{repr}`", module.repr_arguments()));
    }
    fill(module);
    let Arg::Tuple(inputs) = read(&case["inputs"]) else { unreachable!() };
    let kwargs = fx::Kwargs::new();
    let outputs = module.call_tensor(inputs.clone(), &kwargs).map_err(|error| format!("{name}: {error}"))?;
    let mut expected = flat(&read(&case["outputs"]));
    if name.starts_with("MultiheadAttention") {
        // PyTorch gives the weights of attention as well.
        expected.truncate(1);
    }
    close(name, &flat(&outputs), &expected)?;
    for (after, (entry, tensor)) in case["after"].as_array().into_iter().flatten().zip(state(module)) {
        close(&format!("{name} {entry}"), &[tensor], &flat(&read(&after[1])))?;
    }
    let metas: Vec<_> = inputs.iter().map(|input| input.map(&mut |tensor| fx::Meta::from(tensor))).collect();
    let meta = module.call(metas, fx::Kwargs::new()).map_err(|error| format!("{name}: shapes: {error}"))?;
    let mut inferred = Vec::new();
    meta.for_each(&mut |meta| inferred.push(meta.to_string()));
    let expected: Vec<_> = flat(&outputs).iter().map(|tensor| fx::Meta::from(tensor).to_string()).collect();
    if inferred != expected {
        return Err(format!("{name}: shapes {inferred:?}, expected {expected:?}"));
    }
    Ok(())
}

#[test]
fn modules_are_as_pytorch_s() {
    let cases: Vec<Json> = serde_json::from_str(GOLDEN).unwrap();
    let faults: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

#[test]
fn constructors_are_written() {
    let layer = nn::TransformerDecoderLayer::new(4, 2).dim_feedforward(8).norm_first(true);
    let decoder = nn::TransformerDecoder::new(&layer, 2).norm(nn::LayerNorm::new(4));
    let modules: [(&dyn Module, &str); 4] = [
        (
            &decoder,
            "nn::TransformerDecoder::new(&nn::TransformerDecoderLayer::new(4, 2).dim_feedforward(8).norm_first(true), 2)\
             .norm(nn::LayerNorm::new(4))",
        ),
        (&nn::ReplicationPad3d::new([1, 0, 1, 1, 0, 1]), "nn::ReplicationPad3d::new([1, 0, 1, 1, 0, 1])"),
        (&nn::ConstantPad1d::new(1, 2.5), "nn::ConstantPad1d::new(1, 2.5)"),
        (&nn::Dropout3d::new(0.2), "nn::Dropout3d::new(0.2)"),
    ];
    for (module, wanted) in modules {
        assert_eq!(module.constructor_source().unwrap(), wanted);
    }
}
