use fx::module::Layer;
use fx::nn;
use fx::passes::{decompose_modules, fold_scale_bias, fuse_bn_conv, fuse_linear_bn};
use fx::prelude::*;
use fx::{Arg, Meta};

use super::fill::{fill, floats};
use super::{check_close, module, parameters, support::check};

#[test]
fn scales_and_shifts_go_into_the_layer() {
    let mut module = module(
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=conv.weight]
            %s : [num_users=1] = get_attr[target=s]
            %conv2d : [num_users=1] = call_function[target=conv2d](args = (%x, %w), kwargs = {})
            %mul : [num_users=1] = call_function[target=mul](args = (%s, %conv2d), kwargs = {})
            %sub : [num_users=1] = call_function[target=sub](args = (1.5, %mul), kwargs = {})
            %div : [num_users=1] = call_function[target=div](args = (%sub, 4), kwargs = {})
            return div",
        parameters([("conv.weight", floats("w", &[3, 2, 2, 2])), ("s", floats("s", &[3, 1, 1]))]),
    );
    let before = module.clone();
    assert_eq!(fold_scale_bias(&mut module).unwrap(), 3);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=conv.weight]
            %conv_bias : [num_users=1] = get_attr[target=conv.bias]
            %conv2d : [num_users=1] = call_function[target=conv2d](args = (%x, %w, %conv_bias), kwargs = {})
            return conv2d",
    );
    check_close(&before, &module, &[floats("x", &[2, 2, 4, 3])], 1e-5, 1e-6);
}

/// What differs along another dimension than the channels, has another type, or is used elsewhere, is not folded.
#[test]
fn what_is_no_scale_of_channels_stays() {
    let model = nn::Sequential::new((nn::Linear::new(2, 3),));
    let mut linear = fx::trace(&model).unwrap();
    decompose_modules(&mut linear).unwrap();
    let folded = |other: Tensor| {
        let mut module = linear.clone();
        module
            .edit_with_state(|graph, state| {
                state.parameters.insert("other".into(), Parameter::new(other));
                let call = graph.find("linear").unwrap();
                graph.inserting_after(call, |graph| {
                    let other = graph.get_attr("other");
                    let mul = graph.call_function(fx::ops::mul, [call, other]);
                    graph.replace_uses_if(call, mul, |_, user| user != mul);
                });
                Ok(())
            })
            .unwrap();
        fold_scale_bias(&mut module).unwrap()
    };
    assert_eq!(folded(floats("s", &[3])), 1);
    assert_eq!(folded(Tensor::scalar(2.0_f32)), 1);
    assert_eq!(folded(floats("s", &[1, 3])), 0);
    assert_eq!(folded(floats("s", &[3, 1])), 0);
    assert_eq!(folded(floats("s", &[3]).to_dtype(DType::F64)), 0);
}

#[track_caller]
fn check_bn_conv(norm: impl Layer + Clone, conv: impl Layer + Clone, shape: &[usize], count: usize) {
    let model = nn::Sequential::new((norm, conv));
    fill(&model);
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    let before = module.clone();
    assert_eq!(fuse_bn_conv(&mut module).unwrap(), count);
    assert_eq!(module.graph() == before.graph(), count == 0);
    check_close(&before, &module, &[floats("x", shape)], 1e-5, 1e-5);
}

#[test]
fn a_batch_norm_before_a_convolution() {
    check_bn_conv(nn::BatchNorm2d::new(4), nn::Conv2d::new(4, 6, 3).groups(2), &[2, 4, 5, 5], 1);
    check_bn_conv(nn::BatchNorm1d::new(2).affine(false), nn::Conv1d::new(2, 3, 2).bias(false), &[2, 2, 5], 1);
    check_bn_conv(nn::BatchNorm2d::new(4), nn::Conv2d::new(4, 6, 3).padding(1), &[2, 4, 5, 5], 0);
}

#[test]
fn linear_layers_where_the_rank_is_noted() {
    let model = nn::Sequential::new((nn::Linear::new(4, 3), nn::BatchNorm1d::new(3)));
    fill(&model);
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    let before = module.clone();
    assert_eq!(fuse_linear_bn(&mut module).unwrap(), 0);
    for (shape, count) in [(&[2, 3, 3][..], 0), (&[2, 3], 1)] {
        let shape = Arg::Value(Meta::tensor(shape.iter().copied(), DType::F32));
        let note =
            |graph: &mut fx::Graph| Ok(graph.find("_0").and_then(|id| graph.meta_mut(id)).map(|m| m.insert(shape)));
        module.edit(note).unwrap().unwrap();
        assert_eq!(fuse_linear_bn(&mut module).unwrap(), count);
    }
    check_close(&before, &module, &[floats("x", &[2, 4])], 1e-5, 1e-6);
}
