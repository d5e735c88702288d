use fx::module::Layer;
use fx::nn;
use fx::passes::{decompose_modules, fold_scale_bias, fuse_bn_conv, fuse_conv_bn, fuse_linear_bn, optimize};
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

/// Norms and scales that stand beside a layer once others have gone: before a convolution, and after one.
#[test]
fn chains_go_into_the_layer_in_any_order() {
    let text = "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=conv.weight]
            %m : [num_users=4] = get_attr[target=m]
            %v : [num_users=4] = get_attr[target=v]
            %norm : [num_users=1] = call_function[target=batch_norm](args = (%x, %m, %v), kwargs = {})
            %norm_1 : [num_users=1] = call_function[target=batch_norm](args = (%norm, %m, %v), kwargs = {})
            %conv2d : [num_users=1] = call_function[target=conv2d](args = (%norm_1, %w), kwargs = {})
            %mul : [num_users=1] = call_function[target=mul](args = (%conv2d, 0.5), kwargs = {})
            %norm_2 : [num_users=1] = call_function[target=batch_norm](args = (%mul, %m, %v), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%norm_2, 2), kwargs = {})
            %norm_3 : [num_users=1] = call_function[target=batch_norm](args = (%add, %m, %v), kwargs = {})
            return norm_3";
    let state = [("conv.weight", floats("w", &[3, 3, 1, 1])), ("m", floats("m", &[3])), ("v", floats("v", &[3]) + 1.5)];
    let before = module(text, parameters(state));
    let mut fused = before.clone();
    assert_eq!(fuse_bn_conv(&mut fused).unwrap(), 2);
    let mut optimized = before.clone();
    optimize(&mut optimized).unwrap();
    let calls = |module: &fx::GraphModule| module.graph().nodes().filter(|(_, node)| node.function().is_some()).count();
    assert_eq!([&fused, &optimized].map(calls), [5, 1], "{}", optimized.graph());
    check_close(&before, &optimized, &[floats("x", &[2, 3, 4, 3])], 1e-5, 1e-6);
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

/// The second use of a shared convolution gets parameters of its own.
#[test]
fn shared_parameters_are_not_overwritten() {
    let (conv, first, second) = (nn::Conv2d::new(2, 2, 1), nn::BatchNorm2d::new(2), nn::BatchNorm2d::new(2).eps(0.5));
    let model = nn::Sequential::new((conv.clone(), first, conv, second));
    fill(&model);
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    let before = module.clone();
    assert_eq!(fuse_conv_bn(&mut module).unwrap(), 2);
    let paths: Vec<_> = module.state().parameters.keys().map(String::as_str).collect();
    assert_eq!(paths, ["0.weight_1", "0.bias_1", "0.weight_2", "0.bias_2"]);
    check_close(&before, &module, &[floats("x", &[2, 2, 3, 3])], 1e-5, 1e-6);
}

/// A graph may be in order and its state not fit: what cannot be computed is an error, and nothing has changed.
#[test]
fn state_that_does_not_fit_is_refused() {
    let text = "graph():
        %x : [num_users=1] = placeholder[target=x]
        %w : [num_users=1] = get_attr[target=w]
        %m : [num_users=2] = get_attr[target=m]
        %conv2d : [num_users=1] = call_function[target=conv2d](args = (%x, %w), kwargs = {groups: GROUPS})
        %batch_norm : [num_users=1] = call_function[target=batch_norm](args = (%conv2d, %m, %m), kwargs = {})
        return batch_norm";
    let fuse = |shape: &[usize], statistics: usize, groups: &str| {
        let state = parameters([("w", floats("w", shape)), ("m", Tensor::ones([statistics]))]);
        let mut module = module(&text.replace("GROUPS", groups), state);
        let before = module.graph().clone();
        let result = fuse_conv_bn(&mut module);
        assert_eq!(*module.graph() == before, !matches!(result, Ok(1)));
        result.map_err(|_| "refused")
    };
    assert_eq!(fuse(&[4, 2, 1, 1], 4, "2"), Ok(1));
    assert_eq!(fuse(&[4, 2, 1, 1], 3, "2"), Err("refused"));
    assert_eq!(fuse(&[4], 4, "1"), Ok(0));
    assert_eq!(fuse(&[0, 2, 1, 1], 0, "0"), Ok(0));
    assert_eq!(fuse(&[4, 0, 1, 1], 4, "9"), Ok(0));
}
