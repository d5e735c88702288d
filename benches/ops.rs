//! What ops cost that run at once, on f32 unless it is said otherwise, with one thread.
//!
//! ```text
//! cargo bench --bench ops [-- <filter> [<figures of PyTorch>]]
//! ```
//!
//! Each figure is the shortest of many calls. `tools/torch_ref/ops_bench.py` prints PyTorch's times of the same work; given a
//! file with them, each line ends with fx's time over PyTorch's.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use fx::DType;
use fx::ops::Elementwise;
use fx::ops::options::*;
use fx::prelude::*;

/// The shortest time of a call, in microseconds.
fn shortest<R>(mut f: impl FnMut() -> R) -> f64 {
    let mut time = || {
        let start = Instant::now();
        black_box(f());
        start.elapsed().as_secs_f64()
    };
    time();
    let once = (time() + time()) / 2.0;
    let count = (0.15 / once).clamp(3.0, 300.0) as usize;
    (0..count).map(|_| time()).fold(f64::INFINITY, f64::min) * 1e6
}

/// Measures what the filter asks for, in the order of the rows.
struct Bench {
    filter: String,
    torch: HashMap<String, f64>,
}

impl Bench {
    fn run<R>(&self, name: &str, f: impl FnMut() -> R) {
        if !name.contains(&self.filter) {
            return;
        }
        let time = shortest(f);
        let ratio = self.torch.get(name).map_or(String::new(), |torch| format!("{:>10.2}", time / torch));
        println!("{name:<28} {time:>10.1} us{ratio}");
    }
}

macro_rules! rows {
    ($bench:expr, $($name:literal: $run:expr;)+) => { $($bench.run($name, || $run);)+ };
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let filter = args.next().unwrap_or_default();
    let torch = args.next().map_or_else(HashMap::new, |file| {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let figure =
            |line: &str| line.split_once('\t').and_then(|(name, time)| Some((name.to_owned(), time.parse().ok()?)));
        text.lines().filter_map(figure).collect()
    });
    fx::set_num_threads(1);
    let bench = Bench { filter, torch };
    elementwise(&bench);
    reductions(&bench);
    indices(&bench);
    structure(&bench);
    images(&bench);
    products_and_losses(&bench);
    other_types(&bench);
}

fn matrix() -> Tensor {
    Tensor::randn([256, 1024])
}

fn elementwise(bench: &Bench) {
    let (x, y) = (matrix(), matrix());
    let (mask, slopes) = (x.gt(&y), Tensor::randn([1024]));
    rows! { bench,
        "relu": x.relu();
        "neg": x.neg();
        "abs": x.abs();
        "sign": x.sign();
        "floor": x.floor();
        "trunc": x.trunc();
        "exp": x.exp();
        "log2 of abs": x.abs().log2();
        "sin": x.sin();
        "cos": x.cos();
        "tan": x.tan();
        "erf": x.erf();
        "add": x.add(&y);
        "mul by a number": x.mul(2.0);
        "maximum": x.maximum(&y);
        "fmod": x.fmod(&y);
        "remainder": x.remainder(&y);
        "pow 3": x.pow(3.0);
        "pow 2.5 of abs": x.abs().pow(2.5);
        "gt": x.gt(&y);
        "eq a number": Elementwise::eq(&x, 0.0);
        "where": x.where_(&mask, &y);
        "masked_fill": x.masked_fill(&mask, 0.0);
        "clamp": x.clamp(-1.0, 1.0);
        "lerp": x.lerp(&y, 0.3);
        "addcmul": x.addcmul(&y, &y);
        "isnan": x.isnan();
        "nan_to_num": x.nan_to_num();
        "tanh": x.tanh();
        "sigmoid": x.sigmoid();
        "gelu": x.gelu();
        "silu": x.silu();
        "softplus": x.softplus();
        "mish": x.mish();
        "elu": x.elu();
        "leaky_relu": x.leaky_relu();
        "hardswish": x.hardswish();
        "threshold": x.threshold(0.1, 0.0);
        "prelu": x.prelu(&slopes);
        "glu": x.glu();
        "log of abs": x.abs().log();
        "log1p of abs": x.abs().log1p();
        "expm1": x.expm1();
        "sqrt of abs": x.abs().sqrt();
        "rsqrt of abs": x.abs().rsqrt();
        "square": x.square();
        "reciprocal": x.reciprocal();
        "sinh": x.sinh();
        "atan": x.atan();
        "atan2": x.atan2(&y);
        "asinh": x.asinh();
        "erfc": x.erfc();
        "hypot": x.hypot(&y);
        "logaddexp": x.logaddexp(&y);
        "div": x.div(&y);
        "add a row": x.add(&slopes);
        "frac": x.frac();
        "isclose": x.isclose(&y);
        "logical_and": mask.logical_and(&mask);
    }
}

fn reductions(bench: &Bench) {
    let (x, y) = (matrix(), matrix());
    let mask = x.gt(&y);
    rows! { bench,
        "sum of rows": x.sum_with(SumOptions::new().dim(1));
        "sum of columns": x.sum_with(SumOptions::new().dim(0));
        "mean": x.mean();
        "var of rows": x.var_with(VarOptions::new().dim(1));
        "std of columns": x.std_with(StdOptions::new().dim(0));
        "amax of rows": x.amax_with(AmaxOptions::new().dim(1));
        "argmax of rows": x.argmax_with(ArgmaxOptions::new().dim(1));
        "argmax of columns": x.argmax_with(ArgmaxOptions::new().dim(0));
        "logsumexp of rows": x.logsumexp(1);
        "norm": x.norm();
        "prod of rows": x.prod_with(ProdOptions::new().dim(1));
        "any of rows": mask.any_with(AnyOptions::new().dim(1));
        "count_nonzero": x.count_nonzero();
        "cumsum of rows": x.cumsum(1);
        "cumsum of columns": x.cumsum(0);
        "cumprod of rows": x.cumprod(1);
        "softmax of rows": x.softmax(1);
        "softmax of columns": x.softmax(0);
        "layer_norm": x.layer_norm(None, None, [1024]);
        "rms_norm": x.rms_norm(None, [1024]);
        "log_softmax of rows": x.log_softmax(1);
        "normalize": x.normalize();
        "norm 1 of rows": x.norm_with(NormOptions::new().p(1.0).dim(1));
    }
}

fn indices(bench: &Bench) {
    let (x, y) = (matrix(), matrix());
    let (rows, mask) = (Tensor::randint(0, 256, [512]), x.gt(&y));
    let (places, half) = (Tensor::randint(0, 1024, [256, 512]), y.narrow(1, 0, 512));
    let (bags, more, order) =
        (Tensor::arange(128).mul(4), Tensor::randn([512, 1024]), Tensor::linspace(-3.0, 3.0, 1000));
    rows! { bench,
        "sort": x.sort();
        "argsort": x.argsort();
        "topk 10": x.topk(10);
        "embedding": rows.embedding(&x);
        "index_select": x.index_select(&rows, 0);
        "gather": x.gather(&places, 1);
        "scatter_add": x.scatter_add(&places, &half, 1);
        "masked_select": x.masked_select(&mask);
        "nonzero": mask.nonzero();
        "one_hot": rows.one_hot(256);
        "embedding_bag": rows.embedding_bag(&x, Some(&bags), None);
        "take_along_dim": x.take_along_dim(&places, 1);
        "scatter": x.scatter(&places, &half, 1);
        "scatter_reduce amax": x.scatter_reduce(&places, &half, 1, "amax");
        "index_add": x.index_add(&rows, &more, 0);
        "index_copy": x.index_copy(&rows, &more, 0);
        "index_fill": x.index_fill(&rows, 0.0, 0);
        "searchsorted": order.searchsorted(&x);
    }
}

fn structure(bench: &Bench) {
    let (x, y) = (matrix(), matrix());
    let (images, columns) = (Tensor::randn([4, 64, 56, 56]), Tensor::randn([1, 576, 3136]));
    rows! { bench,
        "cat of rows": Tensor::cat([&x, &y]);
        "cat of columns": Tensor::cat_with([&x, &y], CatOptions::new().dim(1));
        "stack": Tensor::stack([&x, &y]);
        "pad images by 1": images.pad([1, 1, 1, 1]);
        "roll": x.roll_with(3, RollOptions::new().dims(1));
        "flip rows": x.flip([1]);
        "flip columns": x.flip([0]);
        "tril": x.tril();
        "repeat": x.repeat([2, 2]);
        "repeat_interleave": x.repeat_interleave_with(2, RepeatInterleaveOptions::new().dim(1));
        "transposed copy": x.transpose(0, 1).contiguous();
        "channels last": images.permute([0, 2, 3, 1]).contiguous();
        "unfold": x.unfold(1, 8, 4).contiguous();
        "pixel_shuffle": images.pixel_shuffle(2);
        "im2col": images.im2col_with([3, 3], Im2colOptions::new().padding(1));
        "fold": columns.fold_with([56, 56], [3, 3], FoldOptions::new().padding(1));
        "tile": x.tile([2, 2]);
        "eye": Tensor::eye(512);
    }
}

fn images(bench: &Bench) {
    let (images, image) = (Tensor::randn([4, 64, 56, 56]), Tensor::randn([1, 64, 28, 28]));
    let (channels, grid) = (Tensor::randn([64]), Tensor::rand([1, 56, 56, 2]).mul(2.0).sub(1.0));
    let variances = channels.abs().add(1.0);
    let (weight, depthwise) = (Tensor::randn([64, 64, 3, 3]), Tensor::randn([64, 1, 3, 3]));
    let (transposed, line) = (Tensor::randn([64, 64, 2, 2]), Tensor::randn([64, 64, 3]));
    let (lines, cube, cubes) =
        (Tensor::randn([4, 64, 1000]), Tensor::randn([16, 16, 3, 3, 3]), Tensor::randn([1, 16, 16, 32, 32]));
    let (padded, pixels) = (Conv2dOptions::new().padding(1), Tensor::randn([64, 64, 1, 1]));
    rows! { bench,
        "interpolate nearest": image.interpolate_with(InterpolateOptions::new().scale_factor(2.0));
        "interpolate bilinear":
            image.interpolate_with(InterpolateOptions::new().scale_factor(2.0).mode("bilinear"));
        "interpolate bicubic":
            image.interpolate_with(InterpolateOptions::new().scale_factor(2.0).mode("bicubic"));
        "grid_sample": image.grid_sample(&grid);
        "max_pool2d 2": images.max_pool2d(2);
        "max_pool2d with indices": images.max_pool2d_with_indices(2);
        "adaptive_max_pool2d 7": images.adaptive_max_pool2d(7);
        "lp_pool2d 2": images.lp_pool2d(2.0, 2);
        "max_pool2d 3/2": images.max_pool2d_with(3, MaxPool2dOptions::new().stride(2).padding(1));
        "avg_pool2d 2": images.avg_pool2d(2);
        "adaptive_avg_pool2d 1": images.adaptive_avg_pool2d(1);
        "adaptive_avg_pool2d 7": images.adaptive_avg_pool2d(7);
        "batch_norm": images.batch_norm(Some(&channels), Some(&variances), Some(&channels), Some(&channels));
        "group_norm": images.group_norm(None, None, 8);
        "instance_norm": images.instance_norm(None, None, None, None);
        "local_response_norm": images.local_response_norm(5);
        "softmax of channels": images.softmax(1);
        "conv2d": images.conv2d_with(&weight, None, padded.clone());
        "conv2d depthwise": images.conv2d_with(&depthwise, None, padded.clone().groups(64));
        "conv2d dilated": images.conv2d_with(&weight, None, Conv2dOptions::new().padding(2).dilation(2));
        "conv2d by 2": images.conv2d_with(&weight, None, padded.clone().stride(2));
        "conv2d of pixels": images.conv2d(&pixels, None);
        "conv_transpose2d": image.conv_transpose2d_with(&transposed, None, ConvTranspose2dOptions::new().stride(2));
        "conv1d": lines.conv1d_with(&line, None, Conv1dOptions::new().padding(1));
        "conv3d": cubes.conv3d_with(&cube, None, Conv3dOptions::new().padding(1));
    }
}

fn products_and_losses(bench: &Bench) {
    let (x, y) = (matrix(), matrix());
    let (a, b) = (Tensor::randn([32, 128, 64]), Tensor::randn([32, 64, 128]));
    let (vector, classes, shares) = (Tensor::randn([1024]), Tensor::randint(0, 1024, [256]), y.sigmoid());
    let (square, heads) = (Tensor::randn([1024, 1024]), Tensor::randn([1, 12, 128, 64]));
    let (steps, state) = (Tensor::randn([50, 1, 256]), Tensor::zeros([1, 1, 256]));
    let gates = [&[1024, 256][..], &[1024, 256], &[1024], &[1024]].map(Tensor::randn);
    let three = gates.each_ref().map(|x| x.narrow(0, 0, 768));
    rows! { bench,
        "mm": x.mm(y.transpose(0, 1));
        "bmm": a.bmm(&b);
        "einsum bij,bjk->bik": Tensor::einsum([&a, &b], "bij,bjk->bik");
        "mv": x.mv(&vector);
        "outer": vector.outer(&vector);
        "cross_entropy": x.cross_entropy(&classes, None);
        "mse_loss": x.mse_loss(&y);
        "smooth_l1_loss": x.smooth_l1_loss(&y);
        "kl_div": x.kl_div(&shares);
        "bce with logits": x.binary_cross_entropy_with_logits(&shares, None, None);
        "cosine_similarity": x.cosine_similarity(&y);
        "l1_loss": x.l1_loss(&y);
        "huber_loss": x.huber_loss(&y);
        "nll_loss": x.nll_loss(&classes, None);
        "triplet_margin_loss": x.triplet_margin_loss(&y, &shares);
        "cdist": x.narrow(1, 0, 64).cdist(y.narrow(1, 0, 64));
        "linear": x.linear(&square, Some(&vector));
        "addmm": x.addmm(&x, &square);
        "attention": heads.scaled_dot_product_attention(&heads, &heads, None);
        "lstm": steps.lstm(&state, &state, &gates);
        "gru": steps.gru(&state, &three);
    }
}

fn other_types(bench: &Bench) {
    let x = matrix();
    let (double, half, whole) = (x.to(DType::F64), x.to(DType::BF16), Tensor::randint(0, 1000, [256, 1024]));
    let short = x.to(DType::F16);
    let shares = x.sigmoid();
    rows! { bench,
        "f32 to f64": x.to(DType::F64);
        "f32 to bf16": x.to(DType::BF16);
        "i64 to f32": whole.to(DType::F32);
        "add f64": double.add(&double);
        "exp f64": double.exp();
        "sum f64": double.sum();
        "mm f64": double.mm(double.transpose(0, 1));
        "add bf16": half.add(&half);
        "exp bf16": half.exp();
        "add i64": whole.add(&whole);
        "sum i64": whole.sum();
        "floor_divide i64": whole.floor_divide(7);
        "mul i64": whole.mul(&whole);
        "bitwise_and i64": whole.bitwise_and(&whole);
        "maximum i64": whole.maximum(&whole);
        "tanh f64": double.tanh();
        "f32 to f16": x.to(DType::F16);
        "f16 to f32": short.to(DType::F32);
        "f32 to i64": x.to(DType::I64);
        "f32 to u8": x.abs().to(DType::U8);
        "quantize_per_tensor": x.quantize_per_tensor(0.05, 3, -128, 127, DType::I8);
        "fake_quantize": x.fake_quantize_per_tensor_affine(0.05, 3, -128, 127);
        "randint": Tensor::randint(0, 1000, [256, 1024]);
        "randperm": Tensor::randperm(262_144);
        "bernoulli": shares.bernoulli();
        "multinomial": shares.multinomial(8);
        "rand": Tensor::rand([256, 1024]);
        "randn": matrix();
        "arange": Tensor::arange(262_144);
    }
}
