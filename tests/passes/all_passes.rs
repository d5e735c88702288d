//! Every pass on random graphs and on every model: the result computes the same, prints and parses back, and a second
//! run changes nothing.

use fx::nn::models::resnet::{Bottleneck, ResNet};
use fx::nn::models::{
    Bert, DeepRecommender, DeepRecommenderConfig, Dlrm, DlrmConfig, Gpt2, Gpt2Config, Mlp, MobileNetV2,
    MobileNetV2Config, PaintActor, Vgg, VggConfig, VisionTransformer, VisionTransformerConfig, resnet18,
};
use fx::passes::*;
use fx::prelude::*;
use fx::{Graph, GraphModule, NodeId, Traceable, ops};
use proptest::prelude::*;
use proptest::sample::Index;

use super::fill::{fill, floats, integers};
use super::{check_close, parameters, run, small};

pub(super) type Pass = (&'static str, fn(&mut GraphModule) -> fx::Result<usize>);

/// The passes that keep the numbers. A second run of any of them changes nothing.
pub(super) const PASSES: [Pass; 20] = [
    ("canonicalize", canonicalize),
    ("compose activations", compose_activations),
    ("cse", eliminate_common_subexpressions),
    ("dead code", eliminate_dead_code),
    ("decompose", decompose_modules),
    ("fold constants", fold_constants),
    ("fold scale and bias", fold_scale_bias),
    ("fuse bn-conv", fuse_bn_conv),
    ("fuse conv-bn", fuse_conv_bn),
    ("fuse linear-bn", fuse_linear_bn),
    ("fuse pointwise", fuse_pointwise),
    ("fuse quantized", fuse_quantized),
    ("matmul to linear", matmul_to_linear),
    ("normalize", normalize),
    ("dropout", remove_dropout),
    ("identities", remove_identities),
    ("optimize", optimize),
    ("reorder avg pools", reorder_avg_pools),
    ("sum biases", sum_attention_biases),
    ("sort", |module| module.edit(Graph::sort_topologically)),
];

#[track_caller]
pub(super) fn check_pass((name, pass): Pass, module: &mut GraphModule) -> usize {
    // As it is printed, with keyword arguments in their order.
    let before = module.graph().to_string();
    let count = pass(module).unwrap_or_else(|error| panic!("{name}: {error}\n{before}"));
    let once = module.graph().to_string();
    assert_eq!(count == 0, once == before, "{name} counts {count} changes\n{before}\n{once}");
    module.graph().lint_with(module.state()).unwrap();
    let parsed: Graph = once.parse().unwrap();
    assert_eq!(parsed, *module.graph(), "{name}");
    assert_eq!(pass(module).unwrap(), 0, "{name} is not idempotent\n{before}\n{once}\n{}", module.graph());
    count
}

/// A captured model of `fx::nn`, small, and inputs for it.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) module: GraphModule,
    pub(super) inputs: Vec<Tensor>,
}

fn sample<M: Traceable<Static = ()>>(name: &'static str, model: &M, inputs: Vec<Tensor>) -> Sample {
    fill(model);
    model.eval();
    Sample { name, module: fx::trace(model).expect("the model can be captured"), inputs }
}

/// Each pass alone, then all one after the other.
#[track_caller]
fn check_model(Sample { module: traced, inputs, .. }: &Sample) {
    let mut all = traced.clone();
    for pass in PASSES {
        let mut module = traced.clone();
        if check_pass(pass, &mut module) > 0 {
            check_close(traced, &module, inputs, 1e-3, 1e-4);
        }
        check_pass(pass, &mut all);
    }
    check_close(traced, &all, inputs, 1e-3, 1e-4);
}

pub(super) fn convolutional() -> Vec<Sample> {
    let x = || vec![floats("x", &[1, 3, 32, 32])];
    let mobilenet = MobileNetV2Config { width_mult: 0.35, num_classes: 10, ..Default::default() };
    let mut vgg = VggConfig::vgg11().batch_norm(true);
    vgg.stages.iter_mut().flatten().for_each(|width| *width /= 16);
    (vgg.hidden, vgg.num_classes) = (24, 10);
    vec![
        sample("bottlenecks", &ResNet::<Bottleneck>::new([1, 1, 1, 1], 10), x()),
        sample("resnet18", &resnet18(10), x()),
        sample("mobilenet", &MobileNetV2::new(&mobilenet), x()),
        sample("vgg", &Vgg::new(&vgg), x()),
        sample("paint_actor", &PaintActor::new(3, 5), vec![floats("x", &[1, 3, 128, 128])]),
    ]
}

pub(super) fn transformers() -> Vec<Sample> {
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
    let bert = small::bert();
    let gpt2 = Gpt2Config { vocab_size: 50, n_positions: 16, n_embd: 32, n_layer: 2, n_head: 4, ..Default::default() };
    let ids = integers("input_ids", &[2, 7], 50);
    let words = vec![ids.clone(), ids.ones_like(), integers("token_type_ids", &[2, 7], 2)];
    vec![
        sample("vit", &VisionTransformer::new(&vit), vec![floats("x", &[2, 3, 32, 32])]),
        sample("bert", &Bert::new(&bert), words),
        sample("gpt2", &Gpt2::new(&gpt2), vec![ids]),
    ]
}

pub(super) fn perceptrons() -> Vec<Sample> {
    let recommender = DeepRecommenderConfig { layer_sizes: vec![40, 16, 16, 24], ..Default::default() };
    let dlrm = DlrmConfig { embedding_sizes: vec![10, 20, 7], bottom: vec![5, 16, 8], top: vec![12, 1] };
    let offsets = Tensor::from([[0_i64, 1, 3, 4], [0, 2, 2, 5], [0, 1, 2, 3]]);
    let rows = [10, 20, 7].into_iter().enumerate();
    let rows: Vec<Tensor> = rows.map(|(i, below)| integers(&format!("indices.{i}"), &[6], below)).collect();
    vec![
        sample("mlp", &Mlp::new(&[8, 16, 4]), vec![floats("x", &[3, 8])]),
        sample("recommender", &DeepRecommender::new(&recommender), vec![floats("x", &[4, 40])]),
        sample("dlrm", &Dlrm::new(&dlrm), vec![floats("dense", &[4, 5]), offsets, Tensor::stack(&rows)]),
    ]
}

#[test]
fn convolutional_models() {
    convolutional().iter().for_each(check_model);
}

#[test]
fn transformer_models() {
    transformers().iter().for_each(check_model);
}

#[test]
fn recommenders_and_perceptrons() {
    perceptrons().iter().for_each(check_model);
}

/// A node of a random graph on `[1, 3, 4, 4]`; indices choose among the nodes before.
#[derive(Clone, Debug)]
enum Recipe {
    Read,
    Method(&'static str, Index),
    Binary(bool, Index, Index),
    Scalar(bool, Index, i8),
    /// With one number for each channel.
    Channels(bool, Index),
    Conv(Index, bool),
    Norm(Index),
    Dropout(Index),
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let index = any::<Index>;
    let methods = prop::sample::select(vec!["relu", "neg", "tanh", "clone", "contiguous", "sigmoid"]);
    prop_oneof![
        Just(Recipe::Read),
        (any::<bool>(), index()).prop_map(|(add, input)| Recipe::Channels(add, input)),
        (methods, index()).prop_map(|(method, input)| Recipe::Method(method, input)),
        (any::<bool>(), index(), index()).prop_map(|(add, a, b)| Recipe::Binary(add, a, b)),
        (any::<bool>(), index(), -3_i8..3).prop_map(|(add, a, b)| Recipe::Scalar(add, a, b)),
        (index(), any::<bool>()).prop_map(|(input, bias)| Recipe::Conv(input, bias)),
        index().prop_map(Recipe::Norm),
        index().prop_map(Recipe::Dropout),
    ]
}

fn build(recipes: &[Recipe], outputs: &[Index]) -> GraphModule {
    let mut graph = Graph::new();
    let mut ids = vec![graph.placeholder("x")];
    for recipe in recipes {
        let pick = |index: &Index| ids[index.index(ids.len())];
        let id = match recipe {
            Recipe::Read => graph.get_attr("a"),
            Recipe::Channels(add, input) => {
                let args = [graph.get_attr("b"), pick(input)];
                graph.call_function(if *add { ops::add } else { ops::mul }, args)
            }
            Recipe::Method(method, input) => graph.call_method(method, [pick(input)]),
            Recipe::Binary(add, a, b) => {
                graph.call_function(if *add { ops::add } else { ops::mul }, [pick(a), pick(b)])
            }
            Recipe::Scalar(add, a, b) => {
                let function = if *add { ops::sub } else { ops::mul };
                graph.call_function(function, [pick(a).into(), fx::Arg::Float(f64::from(*b) / 2.0)])
            }
            Recipe::Conv(input, bias) => {
                let mut args: Vec<NodeId> = vec![pick(input), graph.get_attr("conv.weight")];
                args.extend(bias.then(|| graph.get_attr("conv.bias")));
                graph.call_function(ops::conv2d, args)
            }
            Recipe::Norm(input) => {
                let reads = ["mean", "var", "gamma", "beta"].map(|name| graph.get_attr(&format!("norm.{name}")));
                graph.call_function(ops::batch_norm, [vec![pick(input)], reads.to_vec()].concat())
            }
            Recipe::Dropout(input) => {
                let kwargs = [("p", fx::Arg::Float(0.5)), ("training", fx::Arg::Bool(false))].into_iter().collect();
                graph.call(Opcode::CallMethod, "dropout", [pick(input)], kwargs)
            }
        };
        ids.push(id);
    }
    graph.output(fx::Arg::Tuple(outputs.iter().map(|index| ids[index.index(ids.len())].into()).collect()));
    let state = parameters([
        ("a", floats("a", &[1, 3, 4, 4])),
        ("b", floats("b", &[3, 1, 1])),
        ("conv.weight", floats("w", &[3, 3, 1, 1])),
        ("conv.bias", floats("c", &[3])),
        ("norm.mean", floats("m", &[3])),
        ("norm.var", floats("v", &[3]) + 1.5),
        ("norm.gamma", floats("g", &[3])),
        ("norm.beta", floats("n", &[3])),
    ]);
    GraphModule::with_state(graph, state, "Random").expect("a random graph is in order")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_sequences_of_passes_keep_the_numbers(
        recipes in prop::collection::vec(recipe(), 1..25),
        outputs in prop::collection::vec(any::<Index>(), 1..4),
        passes in prop::collection::vec(prop::sample::select(PASSES.to_vec()), 1..6),
    ) {
        let mut module = build(&recipes, &outputs);
        let before = module.clone();
        let x = [floats("x", &[1, 3, 4, 4])];
        for pass in passes {
            check_pass(pass, &mut module);
        }
        let wanted = run(&before, &x);
        for (found, wanted) in run(&module, &x).iter().zip(&wanted) {
            let scale = wanted.abs().max().item().to_f64().max(1.0);
            prop_assert!(
                !scale.is_finite() || found.all_close(wanted, 1e-3, 1e-3 * scale),
                "off by {}\n{}\n{}", found.max_abs_diff(wanted), before.graph(), module.graph()
            );
        }
    }
}
