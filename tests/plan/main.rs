//! The compiled plan: it gives what the interpreter gives, is made anew when it has to be, and shows what it does.

mod algorithms;
mod attention;
mod contractions;
mod elementwise;
mod enlarged;
mod generation;
mod images;
mod quantized;
mod random;
mod rotary;
mod volumes;
mod weights;

#[path = "../support/fill.rs"]
#[allow(dead_code, reason = "not every test uses everything")]
mod fill;

#[path = "../support/random/mod.rs"]
mod random_graphs;

use std::sync::Arc;
use std::thread;

use fx::graph_module::State;
use fx::nn::models::{MobileNetV2, MobileNetV2Config, resnet18, resnet50};
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter, nn};

#[traceable]
struct Mixed {
    conv: nn::Conv2d,
    norm: nn::BatchNorm2d,
    point: nn::Conv2d,
    scale: Parameter,
    head: nn::Linear,
}

#[traceable]
impl Mixed {
    fn new() -> Self {
        Self {
            conv: nn::Conv2d::new(3, 8, 3).padding([1, 1]),
            norm: nn::BatchNorm2d::new(8),
            point: nn::Conv2d::new(8, 8, 1),
            scale: Parameter::new(Tensor::rand([8, 1, 1])),
            head: nn::Linear::new(8, 5),
        }
    }

    /// Layouts meet: convolutions, a sum with a residual, a scale of channels, a product of values, a softmax.
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.norm.forward(self.conv.forward(x)).relu();
        let z = (self.point.forward(&y) + &y).gelu() * &self.scale;
        let pooled = z.adaptive_avg_pool2d([1, 1]).flatten_with(fx::ops::FlattenOptions::new().start_dim(1));
        let rows = z.flatten_with(fx::ops::FlattenOptions::new().start_dim(2));
        let scores = rows.matmul(rows.transpose(1, 2)).softmax(-1);
        self.head.forward(scores.mean_dim([1]) + pooled.tanh())
    }
}

/// Whether this is a processor with instructions of that name, or one that multiplies pairs of bf16 fast.
fn has(feature: &str) -> bool {
    #[cfg(target_arch = "x86_64")]
    return match feature {
        "avx512f" => is_x86_feature_detected!("avx512f"),
        "pairs" => fx_kernels::Rounded::Pairs.is_written(),
        "avx512vnni" => is_x86_feature_detected!("avx512vnni"),
        _ => panic!("no test asks for {feature}"),
    };
    #[cfg(not(target_arch = "x86_64"))]
    return feature.is_empty();
}

fn train(model: &dyn Module, training: bool) {
    model.set_training(training);
}

fn traced<M: fx::Traceable<Static = ()>>(model: &M) -> GraphModule {
    train(model, false);
    fx::trace(model).unwrap()
}

/// A captured model with the same numbers in each run.
fn filled<M: fx::Traceable<Static = ()>>(model: M) -> GraphModule {
    fill::fill(&model);
    traced(&model)
}

#[track_caller]
fn check(module: &GraphModule, x: &Tensor) {
    let planned = module.forward(x).unwrap();
    let Arg::Value(expected) = Interpreter::new(module).run(vec![Arg::Value(x.clone())]).unwrap() else {
        panic!("one tensor")
    };
    assert!(planned.is_contiguous());
    assert!(planned.all_close(&expected, 1e-3, 1e-4), "off by {}", planned.max_abs_diff(&expected));
}

/// How far a result is off, of the largest element.
fn share_off(got: &Tensor, want: &Tensor) -> f64 {
    got.max_abs_diff(want) / want.max_abs_diff(&want.zeros_like())
}

/// The plan's text, after it was seen to give what the interpreter gives.
#[track_caller]
fn planned(module: &GraphModule, x: &Tensor) -> String {
    check(module, x);
    module.plan(x).unwrap().to_string()
}

#[track_caller]
fn only_kernels(module: &GraphModule, shape: &[usize]) -> String {
    let text = planned(module, &Tensor::randn(shape));
    assert!(!text.contains("  op "), "{text}");
    text
}

#[test]
fn a_plan_gives_what_the_interpreter_gives() {
    let module = traced(&Mixed::new());
    for shape in [[2, 3, 8, 8], [1, 3, 5, 7], [2, 3, 8, 8], [3, 3, 1, 1]] {
        check(&module, &Tensor::randn(shape));
    }
    let program = module.program();
    println!("{}", program.module().graph());
    println!("{}", module.plan(Tensor::randn([2, 3, 8, 8])).unwrap());
}

#[test]
fn every_convolution_and_layer_of_a_resnet_has_a_kernel() {
    let module = traced(&resnet50(1000));
    let image = Tensor::randn([1, 3, 64, 64]);
    check(&module, &image);
    let text = module.plan(&image).unwrap().to_string();
    let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!((count("  conv "), count("  linear "), count("  op ")), (53, 1, 0), "{text}");
    // The sum of a block is written over what was added to.
    assert_eq!(count("in place"), 16, "{text}");
}

#[traceable]
struct Blocks {
    expand: nn::Conv2d,
    window: nn::Conv2d,
    project: nn::Conv2d,
}

#[traceable]
impl Blocks {
    /// What the last two give is read twice, so that only the first three are one after the other.
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let y = self.project.forward(self.window.forward(self.expand.forward(x).relu6()).relu6());
        let z = self.expand.forward(&y);
        (self.project.forward(&z) + y, z)
    }
}

#[test]
fn convolutions_with_much_between_them_are_one_step() {
    let model = Blocks {
        expand: nn::Conv2d::new(8, 48, 1),
        window: nn::Conv2d::new(48, 48, 3).padding([1, 1]).groups(48),
        project: nn::Conv2d::new(48, 8, 1),
    };
    let module = traced(&model);
    for (shape, steps) in [([2, 8, 40, 41], 3), ([1, 8, 64, 25], 3), ([1, 8, 9, 9], 5)] {
        let x = Tensor::randn(shape);
        let args = || vec![Arg::Value(x.clone())];
        let (planned, expected) = (module.run(args()).unwrap(), Interpreter::new(&module).run(args()).unwrap());
        let (Arg::Tuple(planned), Arg::Tuple(expected)) = (planned, expected) else { panic!("two tensors") };
        for (planned, expected) in planned.iter().zip(&expected) {
            let (Arg::Value(planned), Arg::Value(expected)) = (planned, expected) else { panic!("two tensors") };
            assert!(planned.all_close(expected, 1e-4, 1e-5), "off by {}", planned.max_abs_diff(expected));
        }
        let text = module.plan(&x).unwrap().to_string();
        assert_eq!(text.lines().filter(|line| line.contains("  conv ")).count(), steps, "{text}");
    }
}

#[traceable]
struct Speech {
    lstm: nn::LSTM,
    gru: nn::GRU,
    rnn: nn::RNN,
}

#[traceable]
impl Speech {
    /// Several layers, both directions, batches first and second; first states that are inputs, and none.
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let (x, (h, c)) = self.lstm.forward(x, None);
        let (x, h) = self.gru.forward(x, Some(&(h.tanh() + c)));
        let (x, last) = self.rnn.forward(x, None);
        (x, h.sum() + last.sum())
    }
}

#[test]
fn recurrent_layers_have_kernels() {
    let model = Speech {
        lstm: nn::LSTM::new(5, 6).num_layers(2).bidirectional(true).batch_first(true),
        gru: nn::GRU::new(12, 6).num_layers(4).batch_first(true),
        rnn: nn::RNN::new(6, 3).bias(false),
    };
    let module = traced(&model);
    for shape in [[2, 7, 5], [1, 4, 5], [3, 1, 5]] {
        let x = Tensor::randn(shape);
        let args = || vec![Arg::Value(x.clone())];
        let (planned, expected) = (module.run(args()).unwrap(), Interpreter::new(&module).run(args()).unwrap());
        let tensors = |arg: &Arg<Tensor>| {
            let mut tensors = Vec::new();
            arg.for_each(&mut |tensor: &Tensor| tensors.push(tensor.clone()));
            tensors
        };
        for (planned, expected) in tensors(&planned).iter().zip(&tensors(&expected)) {
            assert!(planned.all_close(expected, 1e-4, 1e-5), "off by {}", planned.max_abs_diff(expected));
        }
    }
    let text = module.plan(Tensor::randn([2, 7, 5])).unwrap().to_string();
    for kernel in ["lstm of 2 layers of 6 both ways", "gru of 4 layers of 6", "rnn tanh of 1 layers of 3"] {
        assert!(text.contains(kernel), "{text}");
    }
}

#[test]
fn parts_of_a_value_are_views() {
    let attention = fx::trace_fn!(|x| {
        let [q, k, v] = x.chunk(3);
        q.scaled_dot_product_attention(k, v, None)
    })
    .unwrap();
    let x = Tensor::randn([2, 3, 4, 12]);
    check(&attention, &x);
    let text = attention.plan(&x).unwrap().to_string();
    assert!(!text.contains("  op ") && !text.contains("copy") && text.contains("attention"), "{text}");
}

#[test]
fn images_are_put_in_order_before_they_are_seen_as_rows() {
    let module = traced(&nn::Sequential::new((nn::Conv2d::new(3, 8, 3), nn::Flatten::new())));
    let x = Tensor::randn([2, 3, 6, 6]);
    check(&module, &x);
    let text = module.plan(&x).unwrap().to_string();
    assert!(!text.contains("  op ") && text.contains("copy") && text.contains("view"), "{text}");
}

#[traceable]
fn with_positions(x: &Tensor) -> Tensor {
    x + Tensor::arange(x.size(1)).to(DType::F32).sin()
}

#[test]
fn what_depends_on_shapes_alone_is_computed_once() {
    let positions = fx::trace_fn!(with_positions).unwrap();
    for shape in [[2, 3], [2, 5]] {
        let x = Tensor::randn(shape);
        check(&positions, &x);
        let text = positions.plan(&x).unwrap().to_string();
        assert_eq!(text.lines().filter(|line| line.contains("  op ")).count(), 0, "{text}");
    }
}

#[test]
fn a_plan_follows_the_state() {
    let model = Mixed::new();
    let module = traced(&model);
    let x = Tensor::randn([1, 3, 4, 4]);
    check(&module, &x);
    let before = module.forward(&x).unwrap();
    model.scale.set(Tensor::rand([8, 1, 1])).unwrap();
    check(&module, &x);
    assert!(!module.forward(&x).unwrap().all_close(&before, 1e-6, 1e-6), "the old parameter was used");
    train(&model, true);
    let normalised = module.forward(&x).unwrap();
    train(&model, false);
    assert!(!module.forward(&x).unwrap().all_close(&normalised, 1e-6, 1e-6), "the batch's statistics were not used");
}

#[test]
fn a_plan_that_is_used_stays() {
    let module = fx::trace_fn!(|x| x.relu()).unwrap();
    let often = Tensor::rand([100]);
    let plan = module.plan(&often).unwrap();
    for len in 0..40 {
        module.forward(Tensor::rand([len])).unwrap();
        assert!(Arc::ptr_eq(&plan, &module.plan(&often).unwrap()), "{len}");
    }
}

#[traceable]
fn like_another(x: &Tensor, other: &Tensor) -> Tensor {
    x.relu().unsqueeze(0).expand_as(other.neg()) + 1.0
}

#[test]
fn a_tensor_that_is_there_for_its_shape_does_not_make_a_copy() {
    let module = fx::trace_fn!(like_another).unwrap();
    let inputs = (&Tensor::randn([5]), &Tensor::randn([3, 5]));
    let text = module.plan(inputs).unwrap().to_string();
    assert!(text.contains("view") && !text.contains("op expand_as"), "{text}");
    assert_eq!(module.forward(inputs).unwrap(), like_another(inputs.0, inputs.1));
}

#[test]
fn results_stay_what_they_are() {
    let module = traced(&Mixed::new());
    let (x, y) = (Tensor::randn([1, 3, 4, 4]), Tensor::randn([1, 3, 4, 4]));
    let first = module.forward(&x).unwrap();
    let copy = first.to_vec::<f32>();
    let second = module.forward(&y).unwrap();
    assert_eq!(first.to_vec::<f32>(), copy);
    assert_ne!(second.to_vec::<f32>(), copy);
}

#[test]
fn many_threads_run_one_module() {
    let module = traced(&resnet18(10));
    let inputs: Vec<Tensor> = (0..4).map(|i| Tensor::randn([1 + i % 2, 3, 32, 32])).collect();
    let expected: Vec<Tensor> = inputs.iter().map(|x| module.forward(x).unwrap()).collect();
    thread::scope(|scope| {
        for (x, expected) in inputs.iter().zip(&expected) {
            let module = &module;
            scope.spawn(move || {
                for _ in 0..3 {
                    assert_eq!(module.forward(x).unwrap(), *expected);
                }
            });
        }
    });
}

#[test]
fn one_thread_and_many_give_the_same() {
    for module in [traced(&resnet18(10)), traced(&MobileNetV2::new(&MobileNetV2Config::default()))] {
        for batch in [1, 2] {
            let x = Tensor::randn([batch, 3, 96, 96]);
            let many = module.forward(&x).unwrap();
            fx::set_num_threads(1);
            let one = module.forward(&x).unwrap();
            fx::set_num_threads(0);
            assert_eq!(one, many);
        }
    }
}

#[test]
fn buffers_are_used_again() {
    let chain = fx::trace_fn!(|x| (0..50).fold(x, |x, _| x.exp().softmax(-1))).unwrap();
    let plan = chain.plan(Tensor::randn([4, 256])).unwrap();
    assert_eq!(plan.buffer_bytes(), 4 * 256 * 4, "{plan}");
    let module = traced(&resnet50(1000));
    let plan = module.plan(Tensor::randn([1, 3, 224, 224])).unwrap();
    // The largest moment of the network: the first convolution's output and its pooled half.
    assert!(plan.buffer_bytes() < 10_000_000, "{plan}");
}

#[test]
fn errors_come_before_data() {
    let module = traced(&Mixed::new());
    let error = module.plan(Tensor::randn([1, 4, 8, 8])).unwrap_err().to_string();
    assert!(error.contains("conv") && error.contains("tests/plan/main.rs:"), "{error}");
    let empty = GraphModule::with_state(fx::Graph::new(), State::new(), "Empty").unwrap();
    assert!(empty.run(Vec::new()).unwrap().is_none());
}

/// Rows that are not zero go through a layer and are added where they were.
#[traceable]
struct Sparse {
    rows: nn::Linear,
    norm: nn::LayerNorm,
    all: nn::Linear,
    /// What is added lies at as many places as there are numbers, not rows.
    wrong: bool,
}

#[traceable]
impl Sparse {
    fn forward(&self, x: &Tensor) -> Tensor {
        let places = x.sum_dim(-1).gt(0.0).nonzero().select(1, 0);
        let rows = self.rows.forward(x.index_select(&places, 0)).relu();
        let rows = if self.wrong { rows.flatten() } else { rows };
        let sum = x.zeros_like().index_add(&places, rows, 0);
        self.all.forward(self.norm.forward(sum + x)).relu()
    }
}

#[test]
fn shapes_are_known_after_those_that_depend_on_data() {
    let layer = || nn::Linear::new(16, 16);
    let mut model = Sparse { rows: layer(), norm: nn::LayerNorm::new(16), all: layer(), wrong: false };
    let module = traced(&model);
    let x = Tensor::randn([8, 16]);
    check(&module, &x);
    check(&module, &Tensor::filled([8, 16], -1.0, DType::F32));
    let plan = module.plan(&x).unwrap().to_string();
    let kernel = |node: &str| {
        let line = plan.lines().find(|line| line.split_whitespace().nth(1) == Some(node)).unwrap();
        !line.contains(" op ")
    };
    assert!(kernel("layer_norm") && kernel("linear_pointwise_1") && !kernel("index_add"), "{plan}");
    assert!(!plan.contains("packed weights of 0 bytes"), "{plan}");
    // What could not be checked when the plan was made is when it runs.
    model.wrong = true;
    let error = traced(&model).forward(&x).unwrap_err().to_string();
    assert!(error.contains("index_add") && error.contains("slices"), "{error}");
}

/// The printed plan has what each step moves and the least time for it, and the time that it took once it was profiled; the
/// profile has the same beside its rates.
#[test]
fn a_profile_stands_beside_the_roofline() {
    let module = traced(&resnet18(10));
    let x = Tensor::randn([1, 3, 64, 64]);
    let plan = module.plan(&x).unwrap().to_string();
    let head = plan.lines().next().unwrap();
    let columns: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(columns, ["step", "node", "kernel", "shape", "layout", "buffer", "bytes", "estimated"]);
    let profile = module.profile(&x, 3).unwrap();
    let plan = module.plan(&x).unwrap().to_string();
    assert!(plan.lines().next().unwrap().ends_with("measured"), "{plan}");
    assert_eq!(plan.lines().count(), profile.steps.len() + 3, "a head, a rule, the steps, and a line about memory");
    let conv = profile.steps.iter().find(|step| step.kernel.starts_with("conv 7x7/2")).unwrap();
    // 64 channels of 32 by 32, 147 products each.
    assert_eq!(conv.flops, f64::from(2 * 64 * 32 * 32 * 147));
    let (estimate, bound) = profile.device.estimate(conv.flops, conv.bytes);
    assert_eq!(conv.estimate, (estimate, bound));
    assert!(estimate > conv.flops / profile.device.flops && conv.seconds > 0.0);
    let text = profile.to_string();
    for part in ["FLOP/s", "bytes/s", "% of roofline", "bound by", "this machine"] {
        assert!(text.contains(part), "{text}");
    }
    let trace: serde_json::Value = serde_json::from_str(&profile.chrome_trace()).unwrap();
    assert_eq!(trace["traceEvents"].as_array().unwrap().len(), profile.steps.len());
    assert!(module.profile(&x, 0).unwrap_err().to_string().contains("at least one run"));
}
