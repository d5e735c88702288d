//! Elementwise calls, norms and reductions in a plan: what is fused, and what operands repeat.

use fx::ops::{AmaxOptions, AminOptions, CatOptions, FlattenOptions, GluOptions};
use fx::prelude::*;
use fx::{Arg, Interpreter, Proxy, nn};

use super::fill::floats;
use super::{check, filled, only_kernels, planned, traced};

#[traceable]
struct Excited {
    conv: nn::Conv2d,
    gate: nn::Conv2d,
    point: nn::Conv2d,
    first: bool,
}

#[traceable]
impl Excited {
    fn new(first: bool) -> Self {
        let point = || nn::Conv2d::new(20, 20, 1);
        Self { conv: nn::Conv2d::new(3, 20, 3).padding(1), gate: point(), point: point(), first }
    }

    /// Squeeze and excitation: each channel of each image times a number.
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv.forward(x).silu();
        let scale = self.gate.forward(x.adaptive_avg_pool2d(1)).sigmoid();
        self.point.forward(if self.first { scale * x } else { x * scale })
    }
}

#[test]
fn a_number_for_each_channel_of_each_image() {
    for first in [true, false] {
        let module = traced(&Excited::new(first));
        for batch in [1, 2, 6] {
            let text = only_kernels(&module, &[batch, 3, 9, 8]);
            let copies = text.matches("copy").count();
            assert!(text.contains("in place") && copies == 1 && text.contains("copy channels last to rows"), "{text}");
        }
    }
}

#[test]
fn operands_that_repeat() {
    let shape = [3, 4, 5, 6];
    let known =
        [&[4, 1, 6][..], &[4, 5, 1], &[3, 1, 1, 6], &[3, 1, 5, 1], &[1]].map(|shape: &[usize]| Tensor::randn(shape));
    let module = fx::trace_fn!(|x| {
        let [row, middle, outer, gaps, one] = known.each_ref().map(Proxy::constant);
        let y = &x * x.mean_keepdim([-1]) + row;
        let y = (y - x.mean_keepdim([1, 2])) / (x.mean_keepdim([1, 2, 3]).exp() + 1.0);
        (one - y * middle).maximum(outer) + gaps
    });
    let text = planned(&module.unwrap(), &Tensor::randn(shape));
    assert!(text.lines().all(|line| !line.contains("  op ") || line.contains("op mean")), "{text}");
    // What repeats for each image, for a run of them and for more within.
    let known = [&[4, 1, 6, 5][..], &[1, 4, 1, 6, 1]].map(|shape: &[usize]| Tensor::randn(shape));
    let module = fx::trace_fn!(|x| {
        let [rows, columns] = known.each_ref().map(Proxy::constant);
        ((&x + rows) * columns).exp() + x.narrow(0, 0, 1).narrow(2, 0, 1).contiguous()
    });
    assert!(!planned(&module.unwrap(), &Tensor::randn([2, 4, 3, 6, 5])).contains("  op "));
    // What has two gaps within is left to the op itself.
    let gaps = Tensor::randn([2, 1, 3, 1, 5]);
    let module = fx::trace_fn!(|x| x + Proxy::constant(&gaps));
    assert!(planned(&module.unwrap(), &Tensor::randn([2, 4, 3, 6, 5])).contains("op add"));
}

/// No operand has the shape of the result.
#[test]
fn operands_that_repeat_for_each_other() {
    let known = Tensor::randn([4, 5, 1]);
    let module = fx::trace_fn!(|x| {
        let (rows, columns) = (x.mean_keepdim([-1]), x.mean_keepdim([1]));
        (&rows * &columns + (columns - rows.mean_keepdim([1, 2]))) / Proxy::constant(&known)
    });
    let text = planned(&module.unwrap(), &Tensor::randn([3, 4, 5, 6]));
    assert!(text.contains("add + div") && !text.contains("  op "), "{text}");
}

/// What is added to layers repeats for their results, or they repeat for it.
#[traceable]
pub(super) struct Positions {
    images: nn::Conv2d,
    times: nn::Linear,
    rows: nn::Linear,
    last: nn::Linear,
    positions: Parameter,
    kinds: Parameter,
}

#[traceable]
impl Positions {
    pub(super) fn new() -> Self {
        Self {
            images: nn::Conv2d::new(4, 24, 3).padding(1),
            times: nn::Linear::new(4, 24),
            rows: nn::Linear::new(24, 32),
            last: nn::Linear::new(32, 8),
            positions: Parameter::new(Tensor::zeros([30, 32])),
            kinds: Parameter::new(Tensor::zeros([3, 1, 30, 8])),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let times = self.times.forward(x.mean_dim([2, 3])).silu().unsqueeze(-1).unsqueeze(-1);
        let x = (self.images.forward(x) + times).relu().flatten_with(FlattenOptions::new().start_dim(2));
        let x = (self.rows.forward(x.transpose(1, 2)) + &self.positions).gelu();
        self.last.forward(x) + &self.kinds
    }
}

#[test]
fn what_is_added_to_layers_repeats() {
    let module = filled(Positions::new());
    for batch in [1, 2] {
        let text = planned(&module, &floats("x", &[batch, 4, 5, 6]));
        assert!(text.lines().all(|line| !line.contains("  op ") || line.contains("op mean")), "{text}");
    }
}

/// Layers of which one result is repeated for all that is added to it.
#[traceable]
struct Repeated {
    gate: nn::Linear,
    image: nn::Conv2d,
}

#[traceable]
impl Repeated {
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let x = x.tanh();
        ((self.gate.forward(&x) + &x).relu(), &x + self.image.forward(x.mean_keepdim([2, 3])))
    }
}

#[test]
fn layers_repeat_for_what_is_added() {
    let module = filled(Repeated { gate: nn::Linear::new(6, 1), image: nn::Conv2d::new(4, 4, 1) });
    for batch in [1, 3] {
        let x = [Arg::Value(floats("x", &[batch, 4, 5, 6]))];
        let expected = Interpreter::new(&module).run(x.to_vec()).unwrap();
        let found = module.run(x.to_vec()).unwrap();
        for (found, expected) in found.as_items().unwrap().iter().zip(expected.as_items().unwrap()) {
            assert!(found.as_value().unwrap().all_close(expected.as_value().unwrap(), 1e-5, 1e-6));
        }
    }
}

#[test]
fn reductions_of_neighbours() {
    let (of, keeping) = (|dims: &[i64]| AmaxOptions::new().dim(dims), |dims: &[i64]| AminOptions::new().dim(dims));
    let module = fx::trace_fn!(|x| {
        let largest = x.amax_with(of(&[-1]).keepdim(true)) + x.amax_with(of(&[1]).keepdim(true));
        let smallest = x.amin_with(keeping(&[2, 3]).keepdim(true)) - x.amin_with(keeping(&[1, 2, 3]).keepdim(true));
        let sums = x.sum_keepdim([2, 3]) * x.sum_keepdim([0]) + x.sum();
        (largest + smallest) / (sums + x.adaptive_max_pool2d([1, 1]))
    });
    let text = only_kernels(&module.unwrap(), &[2, 3, 7, 9]);
    for kernel in ["largest of 9", "largest of 3 ", "smallest of 189", "sum of 63", "sum of 2 ", "largest of 63"] {
        assert!(text.contains(kernel), "{kernel}: {text}");
    }
    // With what is no number, and images whose channels lie last.
    let conv = nn::Sequential::new((nn::Conv2d::new(16, 16, 1), nn::AdaptiveMaxPool2d::new([1, 1])));
    let mut numbers = floats("x", &[2, 16, 5, 4]).to_vec::<f32>();
    numbers[7] = f32::NAN;
    let (module, x) = (filled(conv), Tensor::from_vec([2, 16, 5, 4], numbers));
    let found = module.forward(&x).unwrap().to_vec::<f32>();
    assert!(found[..16].iter().all(|x| x.is_nan()) && found[16..].iter().all(|x| x.is_finite()), "{found:?}");
    only_kernels(&module, &[2, 16, 5, 4]);
}

/// Points and rows that are reduced as they are computed.
#[traceable]
struct Points {
    convs: [nn::Conv2d; 2],
    line: nn::Conv1d,
    linears: [nn::Linear; 2],
}

#[traceable]
impl Points {
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (image, rows) = (x.unsqueeze(-1), x.transpose(1, 2));
        let points = self.convs[0].forward(&image);
        let largest = (self.convs[1].forward(&image) + &points).relu().amax_with(AmaxOptions::new().dim([2, 3]));
        let wide = self.linears[0].forward(&rows);
        let smallest = (self.linears[1].forward(&rows) + &wide).amin_with(AminOptions::new().dim([1]));
        (largest, smallest, self.line.forward(x).mean_dim([2]))
    }
}

/// With several images, sums, half floats, what is no number, and any number of threads; but not where there is one band.
#[test]
fn products_are_reduced_in_the_cache() {
    let mut module = filled(Points {
        convs: std::array::from_fn(|_| nn::Conv2d::new(16, 200, 1)),
        line: nn::Conv1d::new(16, 200, 1),
        linears: std::array::from_fn(|_| nn::Linear::new(16, 200)),
    });
    let plan = |len: usize| module.plan(floats("x", &[2, 16, len])).unwrap().to_string();
    let kernels = [
        "conv 1x1 + add + relu, largest of 1400",
        "linear 16 to 200 + add, smallest of 1400",
        "conv 1x1, mean of 1400",
    ];
    // A matrix unit splits numbers into pieces, and would do so again for each band.
    let (many, few) = (plan(1400), plan(140));
    for kernel in kernels.into_iter().filter(|_| !many.contains("by bf16x6")) {
        assert!(many.contains(kernel) && !few.contains(", largest"), "{kernel}: {many}");
    }
    let mut numbers = floats("x", &[2, 16, 1400]).to_vec::<f32>();
    for (nan, precision, most) in [(false, DType::F32, 1e-5), (true, DType::F32, 1e-5), (false, DType::BF16, 3e-2)] {
        module.set_inference_precision(precision).unwrap();
        numbers[1399] = if nan { f32::NAN } else { 1.0 };
        let x = [Arg::Value(Tensor::from_vec([2, 16, 1400], numbers.clone()))];
        let expected = Interpreter::new(&module).run(x.to_vec()).unwrap();
        let found = module.run(x.to_vec()).unwrap();
        fx::set_num_threads(1);
        let alone = module.run(x.to_vec()).unwrap();
        fx::set_num_threads(0);
        let numbers = |arg: &Arg<Tensor>| -> Vec<Vec<f32>> {
            arg.as_items().unwrap().iter().map(|arg| arg.as_value().unwrap().to_vec()).collect()
        };
        for ((found, alone), expected) in numbers(&found).iter().zip(numbers(&alone)).zip(numbers(&expected)) {
            let largest = expected.iter().filter(|x| !x.is_nan()).fold(1.0_f32, |most, x| most.max(x.abs()));
            for ((found, alone), expected) in found.iter().zip(alone).zip(&expected) {
                assert!((found - expected).abs() <= most * largest || found.is_nan() && expected.is_nan());
                assert_eq!(found.to_bits(), alone.to_bits());
            }
            assert_eq!(found[0].is_nan(), nan);
        }
    }
}

/// Rows, blocks of long ones and columns, each of operands that repeat, with what is no number and any number of threads; but not a few
/// columns of a few rows.
#[test]
fn elementwise_ops_are_reduced_in_the_cache() {
    let rows = fx::trace_fn!(|x, y, z| {
        let few = (&x * &y).sum_dim([-1]) + (&x - &y).abs().amax_with(AmaxOptions::new().dim([-1]));
        let all = (&x * &z).mean() + (&x + &z).square().mean_keepdim([1, 2]).sum();
        let columns = ((&z - &x).exp().sum_dim([1]), (&x - &z).mean_dim([1]));
        (few + all, columns, (&x + &y).square().mean_dim([1]))
    });
    let (rows, mut x) = (rows.unwrap(), floats("x", &[3, 700, 17]).to_vec::<f32>());
    for nan in [false, true] {
        x[9] = if nan { f32::NAN } else { 1.0 };
        let inputs = [Tensor::from_vec([3, 700, 17], x.clone()), floats("y", &[3, 1, 17]), floats("z", &[700, 1])];
        let text = rows.plan((&inputs[0], &inputs[1], &inputs[2])).unwrap().to_string();
        let inputs = inputs.map(Arg::Value).to_vec();
        for kernel in
            ["mul, sum of 17 ", "sub + abs, largest of 17 ", "mul, mean of 35700 ", "add + square, mean of 11900 "]
        {
            assert!(text.contains(kernel), "{kernel}: {text}");
        }
        for kernel in ["sub + exp, sum of 700 ", "sub, mean of 700 ", "add + square, mean of 700 "] {
            assert!(text.contains(kernel), "{kernel}: {text}");
        }
        let expected = flat(&Interpreter::new(&rows).run(inputs.clone()).unwrap());
        let found = flat(&rows.run(inputs.clone()).unwrap());
        fx::set_num_threads(1);
        let alone = flat(&rows.run(inputs).unwrap());
        fx::set_num_threads(0);
        for ((found, alone), expected) in found.iter().zip(alone).zip(expected) {
            let most = 1e-4 * expected.abs().max(1.0);
            assert!((found - expected).abs() <= most || found.is_nan() && expected.is_nan(), "{found}, not {expected}");
            assert_eq!(found.to_bits(), alone.to_bits());
        }
        assert_eq!(found[0].is_nan(), nan);
    }
    let few = fx::trace_fn!(|x| x.exp().sum_dim([1])).unwrap();
    assert!(!only_kernels(&few, &[5, 3, 2]).contains("exp, sum"), "{}", few.graph());
}

/// The numbers of all results, in order.
fn flat(results: &Arg<Tensor>) -> Vec<f32> {
    let mut all = Vec::new();
    results.for_each(&mut |tensor| all.extend(tensor.to_vec::<f32>()));
    all
}

/// A scan, as models of state spaces have it: each step's operands are views of what was computed before.
#[test]
fn views_of_others_do_not_stand_between_steps() {
    let scan = fx::trace_fn!(|x| {
        let (decay, driven) = (x.sigmoid(), &x * 0.5);
        let mut state = driven.select(1, 0);
        for step in 1..4 {
            state = decay.select(1, step) * state + driven.select(1, step);
        }
        state
    });
    let text = only_kernels(&scan.unwrap(), &[2, 4, 30]);
    assert_eq!(text.matches("mul + add ").count(), 3, "{text}");
}

/// Each reads what the one before gives, which nobody else does.
#[test]
fn ops_in_one_pass() {
    let chain = fx::trace_fn!(|x| (x.sigmoid() * &x - 1.0).tanh() / 3.0).unwrap();
    let text = only_kernels(&chain, &[5, 700]);
    assert!(text.contains("sigmoid + mul + sub + tanh + div"), "{text}");
    let both = fx::trace_fn!(|x| x.exp() * x.sin()).unwrap();
    assert!(only_kernels(&both, &[5, 700]).contains("exp + sin + mul"), "{}", both.graph());
    // The logarithm of half of the numbers is NaN.
    let rare = fx::trace_fn!(|x| (x.erfc() + x.frac()).hypot(x.log().nan_to_num())).unwrap();
    assert!(only_kernels(&rare, &[5, 700]).contains("nan_to_num[0, "), "{}", rare.graph());
    check(&rare, &Tensor::randn([5, 700]));
    // A value that is read twice is computed once.
    let twice = fx::trace_fn!(|x| {
        let y = x.exp();
        &y * &y + y
    });
    let text = only_kernels(&twice.unwrap(), &[5, 700]);
    assert!(text.contains("exp ") && text.contains("mul + add"), "{text}");
    // More operands than a chain holds.
    let long = fx::trace_fn!(|x| (0..20).fold(x.clone(), |sum, i| sum + x.roll(i + 1).contiguous() * 0.5));
    check(&long.unwrap(), &Tensor::randn([7, 300]));
}

#[test]
fn functions_after_products_go_into_them() {
    let weight = Tensor::randn([8, 12]);
    let module = fx::trace_fn!(|x| x.matmul(Proxy::constant(&weight)).gelu()).unwrap();
    let text = only_kernels(&module, &[6, 8]);
    assert!(text.contains("linear 8 to 12 + gelu"), "{text}");
}

#[test]
fn results_are_written_over_dead_operands() {
    let module = fx::trace_fn!(|x| {
        let y = x.softmax(-1);
        let z = x.log_softmax(-1);
        // `y` lives on.
        (&y - z, y)
    });
    let module = module.unwrap();
    let x = Tensor::randn([4, 256]);
    let text = module.plan(&x).unwrap().to_string();
    let sub = text.lines().find(|line| line.contains("  sub ")).unwrap();
    assert!(sub.contains("in place"), "{text}");
    let (y, z) = (x.softmax(-1), x.log_softmax(-1));
    let outputs = module.run(vec![Arg::Value(x)]).unwrap();
    let [difference, kept] = outputs.as_items().unwrap() else { panic!("two results") };
    assert!(difference.as_value().unwrap().all_close(&(&y - z), 1e-5, 1e-6));
    assert!(kept.as_value().unwrap().all_close(&y, 1e-5, 1e-6));
}

#[traceable]
struct Grouped {
    conv: nn::Conv2d,
    first: nn::GroupNorm,
    second: nn::InstanceNorm2d,
    last: nn::Conv2d,
}

#[traceable]
impl Grouped {
    fn new() -> Self {
        let first = nn::GroupNorm::new(4, 12);
        first.weight.as_ref().unwrap().set(Tensor::randn([12])).unwrap();
        first.bias.as_ref().unwrap().set(Tensor::randn([12])).unwrap();
        let conv = |inputs, outputs| nn::Conv2d::new(inputs, outputs, 3).padding(1);
        Self { conv: conv(3, 12), first, second: nn::InstanceNorm2d::new(12), last: conv(12, 2) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.first.forward(self.conv.forward(x)).silu();
        self.last.forward(self.second.forward(x))
    }
}

/// Group and instance norms are factors for each channel, with which what follows is computed, in the layout that there is.
#[test]
fn norms_of_groups() {
    let module = traced(&Grouped::new());
    for batch in [1, 3] {
        let text = only_kernels(&module, &[batch, 3, 9, 40]);
        assert!(text.contains("factors of 4 groups of 12 channels") && text.contains("mul_add + silu"), "{text}");
        assert!(text.contains("factors of 12 groups of 12 channels"), "{text}");
        assert_eq!(text.matches("copy").count(), 1, "{text}");
    }
    for shape in [&[2, 6, 50][..], &[3, 6], &[2, 6, 4, 5, 3]] {
        let module = fx::trace_fn!(|x| x.group_norm(None, None, 3).relu());
        let text = only_kernels(&module.unwrap(), shape);
        assert!(text.contains("mul_add + relu"), "{text}");
    }
}

#[traceable]
struct Gated {
    conv: nn::Conv1d,
    glu: bool,
}

#[traceable]
impl Gated {
    /// A gate, and an activation and a sum after it.
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.conv.forward(x);
        let rest = y.narrow(1, 1, y.size(1) / 2);
        let gated = if self.glu {
            y.glu_with(GluOptions::new().dim(1))
        } else {
            let [a, b] = y.chunk(1);
            a.tanh() * b.sigmoid()
        };
        gated.gelu() + rest
    }
}

#[test]
fn halves_are_read_where_they_lie() {
    for channels in [2, 10, 36, 2100] {
        for (glu, name) in [(true, "sigmoid + mul + gelu + add"), (false, "tanh + sigmoid + mul + gelu + add")] {
            let module = traced(&Gated { conv: nn::Conv1d::new(3, channels, 1), glu });
            for batch in [1, 3] {
                let text = only_kernels(&module, &[batch, 3, 70]);
                // A single channel is not a row.
                assert!(channels == 2 || text.contains(name) && !text.contains("copy strided"), "{text}");
            }
        }
    }
    for dim in 0..4 {
        let glu = fx::trace_fn!(|x| x.glu_with(GluOptions::new().dim(dim))).unwrap();
        assert!(only_kernels(&glu, &[4, 6, 2, 10]).contains("sigmoid + mul"));
        let glu = fx::trace_fn!(|x| x.transpose(1, 3).narrow(2, 0, 2).glu_with(GluOptions::new().dim(dim))).unwrap();
        only_kernels(&glu, &[4, 6, 3, 10]);
    }
    // Halves beside what is as long as one, and as what is the same for all.
    let rows = Tensor::randn([40]);
    let module = fx::trace_fn!(|x| {
        let [a, b] = x.chunk(2);
        (a * Proxy::constant(&rows)).exp() / (b.exp() + x.narrow(2, 20, 40)) - x.mean_keepdim([1, 2])
    });
    let text = planned(&module.unwrap(), &Tensor::randn([6, 33, 80]));
    assert!(!text.contains("copy strided"), "{text}");
}

#[test]
fn functions_of_a_few_outputs() {
    for outputs in [1, 3, 8] {
        for window in [1, 7] {
            let module = fx::trace_fn!(|x| {
                let weight = Proxy::constant(&Tensor::randn([outputs, 8, window]));
                x.conv1d(weight, None).tanh()
            });
            for len in [7, 20, 333] {
                assert!(only_kernels(module.as_ref().unwrap(), &[2, 8, len]).contains("+ tanh"));
            }
        }
    }
}

/// Results that are concatenated again and again, as in a DenseNet.
#[traceable]
struct Dense {
    stem: nn::Conv2d,
    norms: [nn::BatchNorm2d; 3],
    convs: [nn::Conv2d; 3],
}

#[traceable]
impl Dense {
    fn new() -> Self {
        let norm = |channels| {
            let norm = nn::BatchNorm2d::new(channels);
            let random = || Tensor::rand([channels]) + 0.5;
            norm.running_mean.as_ref().unwrap().set(random()).unwrap();
            norm.running_var.as_ref().unwrap().set(random()).unwrap();
            norm
        };
        let conv = |inputs, outputs| nn::Conv2d::new(inputs, outputs, 3).padding(1);
        Self { stem: conv(3, 20), norms: [20, 32, 44].map(norm), convs: [20, 32, 44].map(|inputs| conv(inputs, 12)) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let beside = |all: &[Tensor]| Tensor::cat_with(all, CatOptions::new().dim(1));
        let x = self.stem.forward(x);
        let y = self.convs[0].forward(self.norms[0].forward(&x).relu());
        let all = [x, y];
        let z = self.convs[1].forward(self.norms[1].forward(beside(&all)).relu());
        let [x, y] = all;
        self.convs[2].forward(self.norms[2].forward(beside(&[x, y, z])).relu())
    }
}

/// What elementwise ops read of a concatenation is not written first, unless it is read elsewhere too.
#[test]
fn operands_are_joined() {
    let module = traced(&Dense::new());
    module.eval();
    for batch in [1, 3] {
        let text = only_kernels(&module, &[batch, 3, 9, 40]);
        assert!(text.contains(" cat of 2 + mul_add + relu ") && text.contains(" cat of 3 + mul_add + relu "), "{text}");
    }
    // Rows of more elements than a tile has, and of which there is one.
    for shape in [&[5, 700][..], &[2, 3, 9, 30]] {
        let module = fx::trace_fn!(|x| {
            let parts = [x.exp(), &x * 3.0, x.sin()];
            let joined = Proxy::cat_with(parts, CatOptions::new().dim(1)).abs() + 1.0;
            Proxy::cat_with([joined, x.narrow(1, 0, 2)], CatOptions::new().dim(1)).relu()
        });
        let text = planned(&module.unwrap(), &Tensor::randn(shape));
        // Not what has gaps.
        assert!(text.contains("cat of 3 + abs + add") && text.contains("cat of 2 "), "{text}");
    }
    let module = fx::trace_fn!(|x| {
        let all = Proxy::cat([x.exp(), x.sin()]);
        all.abs() * all
    });
    let text = planned(&module.unwrap(), &Tensor::randn([5, 70]));
    assert!(text.contains("cat of 2 "), "{text}");
}

/// The only part of a value is that value, with its readers.
#[test]
fn an_only_part_may_be_read_twice() {
    let module = fx::trace_fn!(|x| {
        let [part] = x.gelu().chunk(1);
        (&part * 2.0).matmul(part).gelu()
    })
    .unwrap();
    check(&module, &Tensor::randn([1, 4, 5, 5]));
    let module = fx::trace_fn!(|x| {
        let [weights] = x.matmul(x.transpose(1, 2)).softmax(-1).chunk(1);
        (weights.matmul(x), weights)
    })
    .unwrap();
    let x = Tensor::randn([2, 5, 5]);
    let planned = module.run(vec![Arg::Value(x.clone())]).unwrap();
    let interpreted = Interpreter::<Tensor>::new(&module).run(vec![Arg::Value(x)]).unwrap();
    let mut expected = Vec::new();
    interpreted.for_each(&mut |tensor: &Tensor| expected.push(tensor.clone()));
    let mut expected = expected.iter();
    planned.for_each(&mut |tensor: &Tensor| assert!(tensor.all_close(expected.next().unwrap(), 1e-4, 1e-5)));
}
