use fx::graph_module::State;
use fx::module::Layer;
use fx::nn;
use fx::passes::{fuse_conv_bn, to_dtype};
use fx::prelude::*;

use super::fill::{fill, floats};
use super::{check_close, module, support::check};

/// Fuses a layer with the batch norm after it and compares the numbers.
#[track_caller]
fn check_pair(layer: impl Layer + Clone, norm: impl Layer + Clone, shape: &[usize]) {
    let model = nn::Sequential::new((layer, norm));
    fill(&model);
    model.eval();
    let mut fused = fx::trace(&model).unwrap();
    let before = fused.clone();
    assert_eq!(fuse_conv_bn(&mut fused).unwrap(), 1);
    check_close(&before, &fused, &[floats("x", shape)], 1e-5, 1e-5);
}

#[test]
fn pairs_of_modules_become_one_function() {
    let conv = nn::Conv2d::new(3, 4, 3).stride(2).bias(false);
    let model = nn::Sequential::new((conv, nn::BatchNorm2d::new(4), nn::ReLU::new()));
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    fuse_conv_bn(&mut module).unwrap();
    check(
        module.graph(),
        "graph():
            %input : [num_users=1] = placeholder[target=input]
            %_0_weight : [num_users=1] = get_attr[target=0.weight]
            %_0_bias : [num_users=1] = get_attr[target=0.bias]
            %conv2d : [num_users=1] = call_function[target=conv2d](args = (%input, %_0_weight, %_0_bias), kwargs = {stride: (2, 2)})
            %_2 : [num_users=1] = call_module[target=2](args = (%conv2d,), kwargs = {})
            return _2",
    );
}

#[test]
fn of_every_dimension_grouped_and_transposed() {
    check_pair(nn::Conv1d::new(4, 6, 3).groups(2), nn::BatchNorm1d::new(6), &[2, 4, 7]);
    check_pair(nn::Conv3d::new(2, 4, 2).bias(false), nn::BatchNorm3d::new(4).affine(false), &[1, 2, 3, 4, 3]);
    check_pair(nn::ConvTranspose1d::new(4, 6, 3), nn::BatchNorm1d::new(6), &[2, 4, 5]);
    check_pair(nn::ConvTranspose2d::new(4, 6, 3).groups(2).stride(2), nn::BatchNorm2d::new(6).eps(1e-3), &[2, 4, 5, 4]);
}

#[test]
fn what_cannot_be_fused_stays() {
    let training = nn::Sequential::new((nn::Conv2d::new(3, 3, 1), nn::BatchNorm2d::new(3)));
    let norm = nn::BatchNorm2d::new(3).track_running_stats(false);
    let untracked = nn::Sequential::new((nn::Conv2d::new(3, 3, 1), norm));
    untracked.eval();
    for model in [fx::trace(&training).unwrap(), fx::trace(&untracked).unwrap()] {
        let mut module = model.clone();
        assert_eq!(fuse_conv_bn(&mut module).unwrap(), 0);
        assert_eq!(module.graph(), model.graph());
    }
}

#[test]
fn resnet50() {
    let model = nn::models::resnet50(1000);
    fill(&model);
    model.eval();
    let mut traced = fx::trace(&model).unwrap();
    let image = floats("x", &[1, 3, 64, 64]);
    for (dtype, rtol, atol) in [(DType::F32, 1e-3, 1e-4), (DType::F64, 1e-5, 1e-8)] {
        to_dtype(&mut traced, dtype).unwrap();
        let mut fused = traced.clone();
        assert_eq!(fuse_conv_bn(&mut fused).unwrap(), 53);
        check_close(&traced, &fused, &[image.to_dtype(dtype)], rtol, atol);
    }
}

/// A weight that is a buffer gives way to a parameter: a path has one thing.
#[test]
fn weights_that_are_buffers() {
    let [w, m, v] = [floats("w", &[2, 3, 1, 1]), floats("m", &[2]), floats("v", &[2]) + 1.5];
    let mut state = State::new();
    state.buffers.extend([("w", w), ("m", m), ("v", v)].map(|(path, x)| (path.to_owned(), Buffer::new(x))));
    let mut module = module(
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=w]
            %conv2d : [num_users=1] = call_function[target=conv2d](args = (%x, %w), kwargs = {})
            %m : [num_users=1] = get_attr[target=m]
            %v : [num_users=1] = get_attr[target=v]
            %batch_norm : [num_users=1] = call_function[target=batch_norm](args = (%conv2d, %m, %v), kwargs = {})
            return batch_norm",
        state,
    );
    let before = module.clone();
    assert_eq!(fuse_conv_bn(&mut module).unwrap(), 1);
    check_close(&before, &module, &[floats("x", &[1, 3, 4, 4])], 1e-5, 1e-5);
    let paths: Vec<_> = module.state().parameters.keys().chain(module.state().buffers.keys()).collect();
    assert_eq!(paths, ["w", "w_bias"]);
    assert!(!module.code().contains("compile_error!"), "{}", module.code());
}
