//! Where the weights of a plan come from: they are packed as they are made or read, and not kept beside that.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fx::nn::models::resnet18;
use fx::ops::{CatOptions, FlattenOptions};
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter, nn};

use super::fill::floats;
use super::{Speech, check, filled, has, share_off, traced};

#[traceable]
#[derive(Clone)]
struct Products {
    first: Parameter,
    second: Parameter,
}

#[traceable]
impl Products {
    fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(&self.first, None).linear(&self.second, None)
    }
}

/// Weights as they are not stored.
#[traceable]
struct Turned {
    products: Products,
    right: Parameter,
    reshaped: Parameter,
}

#[traceable]
impl Turned {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.products.forward(x);
        let reshaped: Tensor = self.reshaped.value();
        x.matmul(&self.right) + x.matmul(reshaped.reshape([3, 4]).t())
    }
}

/// Weights that are made when they are read are packed as they are made, once, and not kept; views of them too.
#[test]
fn plans_keep_only_packed_weights() {
    let made = Arc::new(AtomicUsize::new(0));
    let lazy = |shape: [usize; 2]| {
        let made = Arc::clone(&made);
        Parameter::lazy(&shape, DType::F32, move || {
            made.fetch_add(1, Ordering::Relaxed);
            Tensor::arange(12).to(DType::F32).reshape(shape.map(|size| size as i64))
        })
    };
    let products = Products { first: lazy([3, 4]), second: lazy([4, 3]) };
    let model = Turned { products, right: lazy([4, 3]), reshaped: lazy([4, 3]) };
    let module = traced(&model);
    let inputs = [2, 5].map(|batch| Tensor::randn([batch, 4]));
    let planned = inputs.clone().map(|x| module.forward(&x).unwrap());
    assert_eq!(made.load(Ordering::Relaxed), 4);
    for (x, planned) in inputs.iter().zip(planned) {
        assert!(planned.all_close(&model.forward(x), 1e-5, 1e-3));
    }
    assert_eq!(made.load(Ordering::Relaxed), 8, "the model makes its own");
    // What was read since is packed already.
    let packed = module.plan(&inputs[0]).unwrap().packed_bytes();
    assert_eq!(module.plan(Tensor::randn([7, 4])).unwrap().packed_bytes(), packed);
}

/// Normalised before it is convolved, beside what it was, and added to what comes of it.
#[traceable]
struct Dense {
    first: nn::Conv2d,
    norms: [nn::BatchNorm2d; 2],
    grow: nn::Conv2d,
    join: nn::Conv2d,
    last: nn::Conv2d,
    scale: Parameter,
}

#[traceable]
impl Dense {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.first.forward(x);
        let grown = self.grow.forward(self.norms[0].forward(&x).relu());
        let both = self.norms[1].forward(Tensor::cat_with([x.clone(), grown], CatOptions::new().dim(1))).relu();
        let joined = self.join.forward(both);
        (self.last.forward(&joined) + &joined).relu() * &self.scale
    }
}

/// What is computed of results of products in bf16 alone is as precise as these, and written so; nothing else is.
#[test]
fn results_between_products_in_bf16_are_too() {
    let dense = Dense {
        first: nn::Conv2d::new(3, 32, 3).padding(1),
        norms: [nn::BatchNorm2d::new(32), nn::BatchNorm2d::new(64)],
        grow: nn::Conv2d::new(32, 32, 3).padding(1),
        join: nn::Conv2d::new(64, 32, 1),
        last: nn::Conv2d::new(32, 32, 3).padding(1),
        scale: Parameter::new(Tensor::zeros([32, 1, 1])),
    };
    let mut module = filled(dense);
    for shape in [[1, 3, 9, 7], [3, 3, 6, 6]] {
        let x = floats("x", &shape);
        module.set_inference_precision(DType::F32).unwrap();
        check(&module, &x);
        let exact = module.forward(&x).unwrap();
        assert!(!module.plan(&x).unwrap().to_string().contains("pairs"), "f32 is not rounded");
        module.set_inference_precision(DType::BF16).unwrap();
        let rounded = module.forward(&x).unwrap();
        let share = share_off(&rounded, &exact);
        assert!(share > 0.0 && share < 3e-2, "off by {share}");
        let text = module.plan(&x).unwrap().to_string();
        assert!(!text.contains("mul to pairs"), "{text}");
        if has("pairs") {
            for part in ["cat of 2 + mul_add + relu of pairs to pairs", " + add of pairs"] {
                assert!(text.contains(part), "no {part} in\n{text}");
            }
        }
    }
}

/// Both halves of what a convolution gives beside what another one makes of the second.
#[traceable]
struct Split {
    first: nn::Conv2d,
    inner: nn::Conv2d,
    last: nn::Conv2d,
}

#[traceable]
impl Split {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.first.forward(x).silu();
        let (left, right) = (y.narrow(1, 0, 16), y.narrow(1, 16, 16));
        let inner = self.inner.forward(&right).relu();
        self.last.forward(Tensor::cat_with([left, right, inner], CatOptions::new().dim(1))).gelu()
    }
}

/// What stands beside others is rounded on its way there where a product reads it, also if it is a part of something else.
#[test]
fn parts_beside_others_are_rounded_on_their_way() {
    for (side, dilation) in [(9, 1), (16, 1), (7, 2)] {
        let mut module = filled(Split {
            first: nn::Conv2d::new(12, 32, 1),
            inner: nn::Conv2d::new(16, 16, 3).padding(dilation).dilation(dilation),
            last: nn::Conv2d::new(48, 20, 1),
        });
        let x = floats("x", &[3, 12, side, 6]);
        check(&module, &x);
        let exact = module.forward(&x).unwrap();
        module.set_inference_precision(DType::BF16).unwrap();
        let share = share_off(&module.forward(&x).unwrap(), &exact);
        assert!(share > 0.0 && share < 3e-2, "off by {share}");
        let text = module.plan(&x).unwrap().to_string();
        assert!(
            !has("pairs") || text.lines().any(|line| line.contains("cat of 3") && line.contains("to pairs")),
            "{text}"
        );
    }
}

/// Single pixels, groups with a function that is more than bounds, and single pixels.
#[traceable]
struct Groups {
    narrow: nn::Conv2d,
    grouped: nn::Conv2d,
    wide: nn::Conv2d,
}

#[traceable]
impl Groups {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.grouped.forward(self.narrow.forward(x).relu()).silu();
        self.wide.forward(y)
    }
}

/// Groups of few channels, and channels on their own, read and write what lies between products in bf16.
#[test]
fn groups_are_multiplied_in_bf16() {
    for (group, stride) in [(1, 1), (1, 2), (4, 1), (4, 2), (8, 1), (8, 2), (16, 1), (16, 2)] {
        let grouped = nn::Conv2d::new(48, 48, 3).padding(1).stride(stride).groups(48 / group);
        let (narrow, wide) = (nn::Conv2d::new(20, 48, 1), nn::Conv2d::new(48, 20, 1));
        let mut module = filled(Groups { narrow, grouped, wide });
        let x = floats("x", &[2, 20, 11, 9]);
        let exact = module.forward(&x).unwrap();
        module.set_inference_precision(DType::BF16).unwrap();
        let share = share_off(&module.forward(&x).unwrap(), &exact);
        assert!(share > 0.0 && share < 3e-2, "groups of {group}: off by {share}");
        let text = module.plan(&x).unwrap().to_string();
        let kept = if group == 1 { "groups" } else { "groups in bf16" };
        let in_words = text.contains(&format!("{kept} of pairs + silu to pairs"));
        assert!(in_words || (2..16).contains(&group) || !has("pairs"), "groups of {group} in\n{text}");
    }
}

/// Channels on their own are in f32 where what they see is, and so is what is computed of them.
#[traceable]
struct Gated {
    gates: [nn::Conv2d; 2],
    join: nn::Conv2d,
}

#[traceable]
impl Gated {
    fn forward(&self, x: &Tensor) -> Tensor {
        let gated = self.gates[0].forward(x) * self.gates[1].forward(x);
        self.join.forward(&gated) + &gated
    }
}

/// One reader rounds it, another one only could.
#[test]
fn what_is_more_precise_than_bf16_stays_so() {
    let gate = || nn::Conv2d::new(32, 32, 3).padding(1).groups(32);
    let mut module = filled(Gated { gates: [gate(), gate()], join: nn::Conv2d::new(32, 32, 3).padding(1) });
    module.set_inference_precision(DType::BF16).unwrap();
    let plan = module.plan(floats("x", &[1, 32, 7, 6])).unwrap().to_string();
    assert!((plan.contains("in bf16 + add") || !has("pairs")) && !plan.contains("pairs"), "{plan}");
}

/// Products, convolutions and recurrent layers keep weights as they are told, and say so; what has a small odd number of channels
/// is in f32.
#[test]
fn weights_may_be_kept_in_half_floats() {
    let speech = Speech {
        lstm: nn::LSTM::new(4, 6).num_layers(2).batch_first(true),
        gru: nn::GRU::new(6, 6).num_layers(2).batch_first(true),
        rnn: nn::RNN::new(6, 3),
    };
    let products =
        Products { first: Parameter::new(Tensor::zeros([40, 4])), second: Parameter::new(Tensor::zeros([5, 40])) };
    // The same numbers in each run: of others, a result that is a sum may be close to 0.
    let cases =
        [(filled(products), vec![2, 4]), (filled(speech), vec![2, 7, 4]), (filled(resnet18(10)), vec![1, 3, 64, 64])];
    for (mut module, shape) in cases {
        let x = floats("x", &shape);
        let tensors = |module: &GraphModule| {
            let mut all = Vec::new();
            let result = module.run(vec![Arg::Value(x.clone())]).unwrap();
            result.for_each(&mut |tensor: &Tensor| all.push(tensor.clone()));
            all
        };
        let exact = tensors(&module);
        let bytes = module.plan(&x).unwrap().packed_bytes();
        for (precision, tolerance) in [(DType::BF16, 2e-2), (DType::F16, 2e-3)] {
            module.set_inference_precision(precision).unwrap();
            assert_eq!(module.inference_precision(), precision);
            let many = tensors(&module);
            for (rounded, exact) in many.iter().zip(&exact) {
                let share = share_off(rounded, exact);
                assert!(share > 0.0 && share < tolerance, "{precision}: off by {share}");
            }
            fx::set_num_threads(1);
            assert_eq!(tensors(&module), many, "one thread gives another result");
            fx::set_num_threads(0);
            let plan = module.plan(&x).unwrap();
            let text = plan.to_string();
            assert!(text.contains(&format!(" in {precision}")), "{plan}");
            // What such layers alone read is written for them.
            let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
            assert_eq!(count(" to pairs"), count(" bf16["), "{plan}");
            if shape.len() == 4 && precision == DType::BF16 && has("pairs") {
                assert!(count(" to pairs") > 0 && count(" of pairs") > 0, "{plan}");
            }
            assert!(plan.packed_bytes() < bytes, "{} bytes, {bytes} in f32", plan.packed_bytes());
        }
        module.set_inference_precision(DType::F32).unwrap();
        assert_eq!(tensors(&module), exact);
        let error = module.set_inference_precision(DType::I64).unwrap_err();
        assert_eq!(error.to_string().lines().next(), Some("weights cannot be kept in i64"));
    }
}

#[test]
fn a_weight_that_is_made_when_read_is_packed_and_not_kept() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let weight = Parameter::lazy(&[4, 3, 3, 3], DType::F32, move || {
        count.fetch_add(1, Ordering::Relaxed);
        Tensor::arange(108).reshape([4, 3, 3, 3]).to_dtype(DType::F32) / 108.0
    });
    let mut conv = nn::Conv2d::new(3, 4, 3);
    conv.weight = weight.clone();
    let module = traced(&nn::Sequential::new((conv, nn::BatchNorm2d::new(4))));
    let (small, large) = (Tensor::rand([1, 3, 8, 8]), Tensor::rand([2, 3, 9, 10]));
    let results = [module.forward(&small).unwrap(), module.forward(&large).unwrap()];
    assert_eq!(made.load(Ordering::Relaxed), 1);
    check(&module, &small);
    check(&module, &large);
    assert_eq!(results, [module.forward(&small).unwrap(), module.forward(&large).unwrap()]);
    assert_eq!(made.load(Ordering::Relaxed), 2, "the interpreter keeps its own");
}

#[test]
fn a_weight_may_be_made_as_a_view() {
    let mut conv = nn::Conv2d::new(3, 4, 3);
    let make = || Tensor::arange(108).reshape([3, 4, 3, 3]).to_dtype(DType::F32).transpose(0, 1) / 108.0;
    assert!(!make().transpose(2, 3).is_contiguous());
    conv.weight = Parameter::lazy(&[4, 3, 3, 3], DType::F32, move || make().transpose(2, 3));
    let x = Tensor::rand([1, 3, 8, 8]);
    let module = traced(&nn::Sequential::new((conv, nn::ReLU::new())));
    let planned = module.forward(&x).unwrap();
    check(&module, &x);
    assert_eq!(module.forward(&x).unwrap(), planned);
}

#[test]
fn parts_of_one_tensor_are_weights_of_their_own() {
    let whole = Tensor::rand([8, 3, 1, 1]);
    let halves = [whole.narrow(0, 0, 4), whole.narrow(0, 4, 4)];
    let module = fx::trace_fn!(|x| {
        let [a, b] = halves.each_ref().map(|half| fx::functional::conv2d(&x, fx::Proxy::constant(half), None));
        a - b
    })
    .unwrap();
    check(&module, &Tensor::rand([1, 3, 4, 4]));
}

/// Parts of a parameter that begin at the same place are weights of their own too.
#[test]
fn parts_of_one_parameter() {
    #[traceable]
    struct Parts {
        weight: Parameter,
    }

    #[traceable]
    impl Parts {
        fn forward(&self, x: &Tensor) -> Tensor {
            let weight: Tensor = self.weight.value();
            let parts = [2, 5].map(|len| x.linear(weight.narrow(0, 0, len), None).sum_dim([1]));
            parts.into_iter().fold(x.sum_dim([1]), |sum, part| sum + part)
        }
    }

    for weight in [Parameter::new(Tensor::rand([6, 4])), Parameter::lazy(&[6, 4], DType::F32, || Tensor::ones([6, 4]))]
    {
        check(&traced(&Parts { weight }), &Tensor::rand([3, 4]));
    }
}

/// Weights of all kinds, large enough to be read when they are needed: 1 << 14 numbers.
#[traceable]
struct Large {
    first: nn::Conv2d,
    norm: nn::BatchNorm2d,
    second: nn::Conv2d,
    lstm: nn::LSTM,
    head: nn::Linear,
    words: nn::Embedding,
}

#[traceable]
impl Large {
    fn new() -> Self {
        let model = Self {
            first: nn::Conv2d::new(48, 48, 3).padding(1),
            norm: nn::BatchNorm2d::new(48),
            second: nn::Conv2d::new(48, 402, 1),
            lstm: nn::LSTM::new(402, 65),
            head: nn::Linear::new(65, 300),
            words: nn::Embedding::new(331, 65),
        };
        for statistic in [&model.norm.running_mean, &model.norm.running_var].into_iter().flatten() {
            statistic.set(Tensor::rand([48]) + 0.5).unwrap();
        }
        model
    }

    fn forward(&self, x: &Tensor, ids: &Tensor) -> (Tensor, Tensor) {
        let x = self.second.forward(self.norm.forward(self.first.forward(x)).relu());
        let x = x.flatten_with(FlattenOptions::new().start_dim(2)).permute([2, 0, 1]);
        let states = self.lstm.forward(x, None).0 + self.words.forward(ids);
        (self.head.forward(&states), states.linear(&self.words.weight, None))
    }
}

fn inputs() -> (Tensor, Tensor) {
    let ids = Tensor::arange(72).reshape([36, 2]) * 4;
    (Tensor::randn([2, 48, 6, 6]), ids)
}

fn file(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fx-plan-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder.join("model.safetensors")
}

/// The weights of a file are read row by row as they are packed: the plan is that of a model that has them in memory.
#[test]
fn weights_of_a_file() {
    let model = Large::new();
    let inputs = inputs();
    let path = file("weights");
    for dtype in [DType::F32, DType::BF16, DType::F64] {
        let state: Vec<_> = model.state_dict().into_iter().map(|(name, x)| (name, x.to_dtype(dtype))).collect();
        let entries = state.iter().map(|(name, tensor)| (name.as_str(), tensor));
        fx::tensor::save_safetensors(&path, entries, None).unwrap();
        let (of_file, in_memory) = (Large::new(), Large::new());
        of_file.load_safetensors(&path).unwrap();
        in_memory.load_state_dict(&fx::tensor::load_safetensors(&path).unwrap()).unwrap();
        let (of_file, in_memory) = (traced(&of_file), traced(&in_memory));
        for precision in [DType::F32, DType::F16] {
            let results = [&of_file, &in_memory].map(|module| {
                let mut module = module.clone();
                module.set_inference_precision(precision).unwrap();
                module.forward_as::<(Tensor, Tensor)>(inputs.clone()).unwrap()
            });
            assert_eq!(results[0], results[1], "{dtype} in the file, kept as {precision}");
        }
    }
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// Of a table the rows that are looked up are read, and no more.
#[test]
fn tables_are_read_in_part() {
    let module = fx::trace_fn!(|ids, table| ids.embedding(table)).unwrap();
    let plan = module.plan((Tensor::from([3_i64, 1, 2]), Tensor::zeros([1000, 16]))).unwrap().to_string();
    // Three places and twice three rows.
    assert!(plan.contains(&format!(" {}B ", 3 * 8 + 2 * 3 * 16 * 4)), "{plan}");
}

/// The weight of an embedding and of the layer that shares it is packed once, and read where it is.
#[test]
fn tied_weights_are_packed_once() {
    let model = Large::new();
    let module = traced(&model);
    let (x, ids) = inputs();
    let plan = module.plan((x.clone(), ids.clone())).unwrap();
    assert!(plan.to_string().contains("embedding 65 of 331"), "{plan}");
    let results = module.forward_as::<(Tensor, Tensor)>((x.clone(), ids)).unwrap();
    let wrong = module.forward_as::<(Tensor, Tensor)>((x, Tensor::filled([36, 2], 331, DType::I64)));
    let message = wrong.unwrap_err().to_string();
    assert!(["embedding", "331"].iter().all(|what| message.contains(what)), "{message}");
    let mut module = module;
    module.set_inference_precision(DType::BF16).unwrap();
    let rounded = module.forward_as::<(Tensor, Tensor)>(inputs()).unwrap();
    assert_eq!((rounded.0.shape(), rounded.1.shape()), (results.0.shape(), results.1.shape()));
}

/// A file that is no longer what it was is an error of what needs it, not of the process; once the weights are loaded again,
/// all is well.
#[test]
#[cfg(unix)]
fn a_file_that_was_written_is_an_error() {
    let (model, inputs, path) = (Large::new(), inputs(), file("written"));
    let module = traced(&model);
    let expected = module.forward_as::<(Tensor, Tensor)>(inputs.clone()).unwrap();
    model.save_safetensors(&path).unwrap();
    model.load_safetensors(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(0);
    fs::write(&path, &bytes).unwrap();
    let name = path.display().to_string();
    for _ in 0..2 {
        let error = module.forward_as::<(Tensor, Tensor)>(inputs.clone()).unwrap_err().to_string();
        assert!([name.as_str(), "was written after"].iter().all(|what| error.contains(what)), "{error}");
    }
    let interpreted =
        Interpreter::<Tensor>::new(&module).run(vec![Arg::Value(inputs.0.clone()), Arg::Value(inputs.1.clone())]);
    assert!(interpreted.unwrap_err().to_string().contains("was written after"));
    bytes.pop();
    fs::write(&path, &bytes).unwrap();
    model.load_safetensors(&path).unwrap();
    assert_eq!(module.forward_as::<(Tensor, Tensor)>(inputs).unwrap(), expected);
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
}
