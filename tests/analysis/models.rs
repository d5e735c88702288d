//! Every analysis and split on every model of `fx::nn`: shapes as a run finds them, the same numbers in parts.

use fx::draw::{DotOptions, dot, html, svg};
use fx::nn::models::{
    Bert, DeepRecommender, DeepRecommenderConfig, Dlrm, DlrmConfig, Gpt2, Gpt2Config, Mlp, MobileNetV2,
    MobileNetV2Config, PaintActor, Vgg, VggConfig, VisionTransformer, VisionTransformerConfig, resnet18,
};
use fx::ops::Tolerance;
use fx::passes::{
    CapabilityBasedPartitioner, SplitSettings, bisect, compare, cost, infer_shapes, inline_submodules, peak_memory,
    propagate_shapes, split_by_support, split_module,
};
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter, Meta, Module, NodeId, Traceable};

use super::check_close;
use super::fill::{fill, floats, integers};
use super::small;

fn args(inputs: &[Tensor]) -> Vec<Arg<Tensor>> {
    inputs.iter().cloned().map(Arg::Value).collect()
}

fn metas(inputs: &[Tensor]) -> Vec<Meta> {
    inputs.iter().map(Meta::from).collect()
}

/// The shapes of all nodes, in order.
fn shapes(module: &GraphModule) -> Vec<String> {
    module.graph().nodes().map(|(_, node)| format!("{}: {:?}", node.name(), node.meta().shape())).collect()
}

#[track_caller]
fn check<M: Traceable<Static = ()>>(model: &M, inputs: &[Tensor]) {
    fill(model);
    (model as &dyn Module).set_training(false);
    let module = fx::trace(model).unwrap();
    check_shapes(&module, inputs);
    check_parts(&module, inputs);
    let flat = fx::trace_by(fx::trace::Leaves::None, model, ()).unwrap();
    let (leaves, functions) = (cost(&module, metas(inputs)).unwrap(), cost(&flat, metas(inputs)).unwrap());
    assert_eq!(leaves.total().flops, functions.total().flops, "operations do not depend on what is a leaf");
    check_shapes(&flat, inputs);
    check_parts(&flat, inputs);
}

fn check_shapes(module: &GraphModule, inputs: &[Tensor]) {
    let (mut run, mut inferred) = (module.clone(), module.clone());
    propagate_shapes(&mut run, args(inputs)).unwrap();
    infer_shapes(&mut inferred, metas(inputs)).unwrap();
    assert_eq!(shapes(&run), shapes(&inferred));
    assert!(peak_memory(&inferred).unwrap().peak > 0);
    for text in [dot(&inferred, "model", &DotOptions::default()), svg(&inferred), html(&inferred)] {
        assert!(inferred.graph().nodes().all(|(_, node)| text.contains(node.name())));
    }
}

fn check_parts(module: &GraphModule, inputs: &[Tensor]) {
    let expected = module.run(args(inputs)).unwrap();
    let same = |split: &GraphModule| {
        check_close(&split.run(args(inputs)).unwrap(), &expected);
        check_close(&Interpreter::new(split).run(args(inputs)).unwrap(), &expected);
        assert_eq!(split.code().contains("compile_error!"), module.code().contains("compile_error!"));
        let parsed: fx::Graph = split.graph().to_string().parse().unwrap();
        assert_eq!(&parsed, split.graph());
        let whole = inline_submodules(split).unwrap();
        check_close(&whole.run(args(inputs)).unwrap(), &expected);
        assert_eq!(whole.state_dict().keys().len(), module.state_dict().keys().len());
    };
    let (mut place, size) = (0, module.graph().len());
    let thirds = split_module(module, |_, _| {
        place += 1;
        place * 3 / size
    });
    same(&thirds.unwrap());
    // Something that is supported here and there.
    let support = |module: &GraphModule, id: NodeId| module.graph()[id].target().name().len().is_multiple_of(2);
    same(&CapabilityBasedPartitioner::new(module, support).partition_and_fuse().unwrap());
    same(&split_by_support(module, support, SplitSettings::default()).unwrap());
    assert_eq!(compare(module, &module.clone(), args(inputs), Tolerance::EXACT).unwrap(), []);
    assert_eq!(bisect(module, &module.clone(), args(inputs), Tolerance::EXACT).unwrap(), None);
}

#[test]
fn image_models() {
    let image = || [floats("x", &[1, 3, 32, 32])];
    check(&resnet18(10), &image());
    check(&MobileNetV2::new(&MobileNetV2Config { width_mult: 0.35, num_classes: 10, ..Default::default() }), &image());
    let mut vgg = VggConfig::vgg11().batch_norm(true);
    vgg.stages.iter_mut().flatten().for_each(|width| *width /= 16);
    (vgg.hidden, vgg.num_classes) = (24, 10);
    check(&Vgg::new(&vgg), &image());
    let vit = VisionTransformerConfig {
        image_size: 32,
        patch_size: 8,
        num_layers: 2,
        num_heads: 2,
        hidden_dim: 16,
        mlp_dim: 32,
        num_classes: 10,
        ..VisionTransformerConfig::vit_b_16()
    };
    check(&VisionTransformer::new(&vit), &image());
    check(&PaintActor::default(), &[floats("x", &[1, 9, 128, 128])]);
}

#[test]
fn language_models() {
    let bert = small::bert();
    let mask = Tensor::from([[1_i64, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]);
    let ids = || integers("input_ids", &[2, 7], 50);
    check(&Bert::new(&bert), &[ids(), mask, integers("token_type_ids", &[2, 7], 2)]);
    let gpt2 = Gpt2Config { vocab_size: 50, n_positions: 16, n_embd: 32, n_layer: 2, n_head: 4, ..Default::default() };
    check(&Gpt2::new(&gpt2), &[ids()]);
}

#[test]
fn tables_and_layers() {
    check(&Mlp::new(&[8, 16, 4]), &[floats("x", &[3, 8])]);
    let recommender = DeepRecommenderConfig { layer_sizes: vec![40, 16, 16, 24], ..Default::default() };
    check(&DeepRecommender::new(&recommender), &[floats("x", &[4, 40])]);
    let dlrm = DlrmConfig { embedding_sizes: vec![10, 20, 7], bottom: vec![5, 16, 8], top: vec![12, 1] };
    let offsets = Tensor::from([[0_i64, 1, 3, 4], [0, 2, 2, 5], [0, 1, 2, 3]]);
    let rows = [10, 20, 7].into_iter().enumerate();
    let rows: Vec<Tensor> = rows.map(|(i, below)| integers(&format!("indices.{i}"), &[6], below)).collect();
    check(&Dlrm::new(&dlrm), &[floats("dense", &[4, 5]), offsets, Tensor::stack(&rows)]);
}
