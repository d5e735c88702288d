//! Shapes by running and by inference, and how they are shown.

use fx::passes::{Strides, infer_shapes, propagate_shapes};
use fx::prelude::*;
use fx::value::Dim;
use fx::{Arg, GraphModule, Meta, nn};

use super::{check, images, small};

/// The shapes of a graph's nodes, one a line.
fn shapes(module: &GraphModule) -> String {
    let shape = |node: &fx::graph::Node| node.meta().shape().and_then(Arg::as_value).map(ToString::to_string);
    let line = |node: &fx::graph::Node| format!("{}: {}", node.name(), shape(node).unwrap_or_default());
    module.graph().nodes().map(|(_, node)| line(node)).collect::<Vec<_>>().join("\n")
}

#[test]
fn shapes_by_running() {
    let mut module = small();
    let output = propagate_shapes(&mut module, Tensor::ones([2, 3, 8, 6])).unwrap();
    assert_eq!(output.as_value().unwrap().shape(), [2, 2]);
    check(
        shapes(&module),
        "x: f32[2, 3, 8, 6]\nstem_conv: f32[2, 4, 4, 3]\nstem_bn: f32[2, 4, 4, 3]\nrelu: f32[2, 4, 4, 3]\n\
         mean: f32[2, 4]\nfc: f32[2, 2]\noutput: f32[2, 2]",
    );
    let strides = |name| {
        let node = &module.graph()[module.graph().find(name).unwrap()];
        node.meta().get::<Arg<Strides>>().unwrap().as_value().unwrap().clone()
    };
    assert_eq!(strides("relu"), Strides(vec![48, 12, 3, 1]));
    assert_eq!(strides("fc"), Strides(vec![2, 1]));
}

#[test]
fn strides_are_those_of_the_run() {
    let mut module = fx::trace_fn!(|x| x.transpose(0, 1)).unwrap();
    propagate_shapes(&mut module, Tensor::ones([2, 3])).unwrap();
    let node = &module.graph()[module.graph().find("transpose").unwrap()];
    assert_eq!(node.meta().get::<Arg<Strides>>(), Some(&Arg::Value(Strides(vec![1, 3]))));
    assert_eq!(node.meta().shape(), Some(&Arg::Value(Meta::tensor([3, 2], DType::F32))));
}

#[test]
fn shapes_without_data_have_symbols() {
    let mut module = small();
    infer_shapes(&mut module, [images()]).unwrap();
    check(
        shapes(&module),
        "x: f32[N, 3, H, W]\nstem_conv: f32[N, 4, H/2, W/2]\nstem_bn: f32[N, 4, H/2, W/2]\n\
         relu: f32[N, 4, H/2, W/2]\nmean: f32[N, 4]\nfc: f32[N, 2]\noutput: f32[N, 2]",
    );
}

#[test]
fn symbolic_shapes_of_real_models() {
    let model = nn::models::resnet18(1000);
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    infer_shapes(&mut module, [images()]).unwrap();
    let of = |name: &str| format!("{:?}", module.graph()[module.graph().find(name).unwrap()].meta().shape().unwrap());
    check(of("maxpool"), "Value(f32[N, 64, H/4, W/4])");
    check(of("layer4_1_conv2"), "Value(f32[N, 512, H/32, W/32])");
    check(of("fc"), "Value(f32[N, 1000])");

    let config = nn::models::BertConfig {
        hidden_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        ..nn::models::BertConfig::base()
    };
    let model = nn::models::Bert::new(&config);
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    let ids = || Meta::tensor([Dim::symbol("N", 1), Dim::symbol("S", 1)], DType::I64);
    let count = module.graph().placeholders().len();
    let output = infer_shapes(&mut module, (0..count).map(|_| ids())).unwrap().output;
    let mut first = None;
    output.for_each(&mut |meta: &Meta| {
        first.get_or_insert_with(|| meta.to_string());
    });
    assert_eq!(first.as_deref(), Some("f32[N, S, 32]"));
}

/// The captured model holds a leaf as it is, so a leaf may use what it does not own; its shapes are known all the same.
#[test]
fn a_leaf_may_use_what_it_does_not_own() {
    #[traceable(leaf)]
    #[derive(Clone)]
    struct Lender;
    #[traceable]
    impl Lender {
        fn forward(&self, x: &Tensor) -> Tensor {
            nn::Linear::new(3, 2).forward(x).relu()
        }
    }
    #[traceable]
    struct Model {
        leaf: Lender,
    }
    #[traceable]
    impl Model {
        fn forward(&self, x: &Tensor) -> Tensor {
            self.leaf.forward(x)
        }
    }
    let mut module = fx::trace(&Model { leaf: Lender }).unwrap();
    infer_shapes(&mut module, [Meta::tensor([Dim::symbol("N", 1), Dim::from(3)], DType::F32)]).unwrap();
    check(shapes(&module), "x: f32[N, 3]\nleaf: f32[N, 2]\noutput: f32[N, 2]");
    assert_eq!(module.forward(Tensor::ones([5, 3])).unwrap().shape(), [5, 2]);
}

#[test]
fn a_contradiction_names_the_node_and_the_line() {
    let mut module = small();
    let error = infer_shapes(&mut module, [Meta::tensor([1, 5, 8, 8], DType::F32)]).unwrap_err().to_string();
    assert!(error.contains("while executing %stem_conv"), "{error}");
    assert!(error.contains("in module stem (Stem)"), "{error}");
    assert!(error.contains("tests/analysis/main.rs:"), "{error}");
    assert!(module.graph().nodes().all(|(_, node)| node.meta().shape().is_none()), "a failure leaves nothing behind");
}

#[test]
fn what_must_hold_of_symbols_is_said() {
    let symbols = |names: [&str; 2]| Meta::tensor(names.map(|name| Dim::symbol(name, 1)), DType::F32);
    let mut module = fx::trace_fn!(|x, y| (&x + &y).matmul(y.transpose(0, 1))).unwrap();
    let found = infer_shapes(&mut module, [symbols(["N", "S"]), symbols(["M", "T"])]).unwrap();
    check(&found.assumptions, "N = M, S = T");
    check(found.output.as_value().unwrap(), "f32[N, N]");

    // `x + y` needs N = M; the concatenation makes that impossible.
    let mut module = fx::trace_fn!(|x, y| {
        let longer = fx::functional::cat(&[x.clone(), fx::functional::ones([1, 2])]);
        (&x + &y) + (longer + y).sum()
    })
    .unwrap();
    let rows = |name| Meta::tensor([Dim::symbol(name, 1), Dim::from(2)], DType::F32);
    let error = infer_shapes(&mut module, [rows("N"), rows("M")]).unwrap_err().to_string();
    assert!(error.contains("while executing %add_1 "), "{error}");
    assert!(error.contains("at tests/analysis/shapes.rs:"), "{error}");
    assert!(error.contains("help: before this it was assumed that N = M"), "{error}");
}

/// `squeeze` takes away what is known to be 1, also if only a later call says so.
#[test]
fn what_is_assumed_holds_before_too() {
    let mut module = fx::trace_fn!(|x, y| (x.squeeze(), x.matmul(y))).unwrap();
    let x = Meta::tensor([Dim::from(3), Dim::symbol("N", 1), Dim::symbol("M", 1)], DType::F32);
    let y = Meta::tensor([Dim::from(1), Dim::from(5)], DType::F32);
    let found = infer_shapes(&mut module, [x, y]).unwrap();
    check(&found.assumptions, "M = 1");
    check(shapes(&module), "x: f32[3, N, 1]\ny: f32[1, 5]\nsqueeze: f32[3, N]\nmatmul: f32[3, N, 5]\noutput: ");
}

#[test]
fn several_values_have_several_shapes() {
    let mut module = fx::trace_fn!(|x| {
        let [a, b] = x.chunk(1);
        (a, b.size(0))
    })
    .unwrap();
    infer_shapes(&mut module, [Meta::tensor([Dim::symbol("N", 1), Dim::from(6)], DType::F32)]).unwrap();
    let of = |name: &str| format!("{:?}", module.graph()[module.graph().find(name).unwrap()].meta().shape().unwrap());
    check(of("chunk"), "Tuple([Value(f32[N, 3]), Value(f32[N, 3])])");
    check(of("size"), "Value(N)");
}

#[test]
fn a_readable_print_has_shapes_and_source_lines() {
    let mut module = small();
    infer_shapes(&mut module, [images()]).unwrap();
    let text = module.readable();
    let file = "tests/analysis/main.rs";
    let places: Vec<_> = text.lines().filter(|line| line.contains(file)).collect();
    assert_eq!(places.len(), 3, "{text}");
    assert!(places[0].ends_with("in stem (Stem)"), "{text}");
    let without: Vec<_> = text.lines().filter(|line| !line.contains(file)).collect();
    check(
        without.join("\n"),
        "pub fn forward(&self, x: Tensor) -> Tensor {
    // x: f32[N, 3, H, W]
    let stem_conv = self.stem.conv.forward(x); // f32[N, 4, H/2, W/2]
    let stem_bn = self.stem.bn.forward(stem_conv); // f32[N, 4, H/2, W/2]
    let relu = stem_bn.relu(); // f32[N, 4, H/2, W/2]
    let mean = relu.mean_dim([2, 3]); // f32[N, 4]
    let fc = self.fc.forward(mean); // f32[N, 2]
    fc
}",
    );
}
