//! The speed of the kernels on vectors: `cargo bench -p fx-kernels --bench vector [filter] [figures of PyTorch]`.
//!
//! Each line is a kernel on a shape of a well-known network: the time with one thread and with two, nanoseconds for an
//! element of the result, and the bytes that must be read and written a second, which for large operands is the speed
//! of the memory. Times are the shortest of many short bursts. `tools/torch_ref/vector.py` prints PyTorch's times of
//! the same work; given a file with them, each line ends with fx's times over PyTorch's.

use std::collections::HashMap;
use std::hint::black_box;
use std::ops::{Deref, DerefMut, Range};
use std::time::Instant;

use fx_kernels::attention::{Mask, Scores, Sizes, Strides, attention};
use fx_kernels::copy::{concatenate, copy};
use fx_kernels::dense::{Format, Weight};
use fx_kernels::elementwise::{Binary, Chain, Operand, Place, Step, Unary, binary, unary};
use fx_kernels::memory::{LINE, first_line, zeroed};
use fx_kernels::recurrent::{Cell, Direction, PackedCell, Steps, run_layer};
use fx_kernels::rows::{
    Affine, Groups, Input, Reduction, Softmax, group_factors, group_norm, layer_norm, reduce, rms_norm, softmax,
};
use fx_kernels::table::{Bags, gather};
use fx_kernels::threads::set_num_threads;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let filter = args.next().unwrap_or_default();
    let torch = args.next().map_or_else(HashMap::new, |file| figures(&file));
    println!(
        "{:<44} {:>12} {:>9} {:>7} {:>12} {:>9} {:>9}",
        "kernel", "1 thread, us", "ns/elem", "GB/s", "2 threads", "of torch", "of torch"
    );
    let mut cases = Vec::new();
    elementwise(&mut cases);
    rows(&mut cases);
    attentions(&mut cases);
    copies(&mut cases);
    recurrent(&mut cases);
    for case in cases.iter_mut().filter(|case| case.name.contains(&filter)) {
        let times = [1, 2].map(|threads| {
            set_num_threads(threads);
            shortest(&mut case.run) * 1e6
        });
        let ratio =
            |i: usize| torch.get(&case.name).map_or(String::new(), |torch| format!("{:.2}", times[i] / torch[i]));
        println!(
            "{:<44} {:>12.2} {:>9.3} {:>7.1} {:>12.2} {:>9} {:>9}",
            case.name,
            times[0],
            times[0] * 1e3 / case.elements as f64,
            case.bytes as f64 / times[0] / 1e3,
            times[1],
            ratio(0),
            ratio(1)
        );
    }
}

/// PyTorch's times with one thread and with two, by the name of the case.
fn figures(file: &str) -> HashMap<String, [f64; 2]> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let line = |line: &str| {
        let mut parts = line.split('\t');
        let name = parts.next()?.to_owned();
        Some((name, [parts.next()?.parse().ok()?, parts.next()?.parse().ok()?]))
    };
    text.lines().filter_map(line).collect()
}

/// Something to measure.
struct Case {
    name: String,
    elements: usize,
    bytes: usize,
    run: Box<dyn FnMut()>,
}

/// The shortest time of a call, over bursts of about a millisecond for a fifth of a second: others use the machine too.
fn shortest(run: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    run();
    run();
    let once = start.elapsed().as_secs_f64() / 2.0;
    let burst = (0.001 / once).clamp(1.0, 1000.0) as usize;
    let count = (0.2 / (once * burst as f64)).clamp(5.0, 200.0) as usize;
    let times = (0..count).map(|_| {
        let start = Instant::now();
        (0..burst).for_each(|_| run());
        start.elapsed().as_secs_f64() / burst as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Numbers in memory as plans have it: in large pages if it is large, and from a line of the cache on.
struct Numbers {
    memory: Vec<f32>,
    place: Range<usize>,
}

impl Numbers {
    fn zeroed(len: usize) -> Self {
        let memory = zeroed(len + LINE);
        let start = first_line(&memory);
        Self { memory, place: start..start + len }
    }
}

impl Deref for Numbers {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.memory[self.place.clone()]
    }
}

impl DerefMut for Numbers {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.place.clone()]
    }
}

/// Numbers between -4 and 4.
fn numbers(len: usize) -> Numbers {
    let mut numbers = Numbers::zeroed(len);
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = (i * 7919 % 2003) as f32 / 250.0 - 4.0;
    }
    numbers
}

/// Adds a case of `len` results, whose operands have `read` elements.
fn case(cases: &mut Vec<Case>, name: &str, len: usize, read: usize, mut run: impl FnMut(&mut [f32]) + 'static) {
    let mut out = Numbers::zeroed(len);
    let run = Box::new(move || run(black_box(&mut *out)));
    cases.push(Case { name: name.to_owned(), elements: len, bytes: 4 * (len + read), run });
}

fn elementwise(cases: &mut Vec<Case>) {
    for (size, len) in [("16k", 16 * 1024), ("4M", 4 << 20)] {
        for op in [Unary::Relu, Unary::Exp, Unary::Log, Unary::Tanh, Unary::Sigmoid, Unary::Erf, Unary::Gelu] {
            let x = numbers(len);
            case(cases, &format!("{op} {size}"), len, len, move |out| unary(op, out, Operand::Cycle(&x)));
        }
        for op in [Unary::GeluTanh, Unary::Silu, Unary::Mish, Unary::Softplus(1.0, 20.0), Unary::Selu, Unary::Hardswish]
        {
            let x = numbers(len);
            let name = op.to_string();
            let name = name.split('[').next().unwrap_or_default();
            case(cases, &format!("{name} {size}"), len, len, move |out| unary(op, out, Operand::Cycle(&x)));
        }
        let (x, y) = (numbers(len), numbers(len));
        case(cases, &format!("add {size}"), len, 2 * len, move |out| {
            binary(Binary::Add, out, Operand::Cycle(&x), Operand::Cycle(&y));
        });
    }
    let (x, row) = (numbers(128 * 3072), numbers(3072));
    case(cases, "add a row 128x3072", x.len(), x.len(), move |out| {
        binary(Binary::Add, out, Operand::Cycle(&x), Operand::Cycle(&row));
    });
    let (x, channels) = (numbers(64 * 56 * 56), numbers(64));
    case(cases, "mul by channels 64x56x56", x.len(), x.len(), move |out| {
        binary(Binary::Mul, out, Operand::Cycle(&x), Operand::Repeat(&channels, 56 * 56));
    });
    let (x, row, y) = (numbers(1024 * 3072), numbers(3072), numbers(1024 * 3072));
    let steps = [
        Step::binary(Binary::Add, Place::Input(0), Place::Input(1)),
        Step::unary(Unary::Gelu, Place::Step(0)),
        Step::binary(Binary::Mul, Place::Step(1), Place::Input(2)),
    ];
    let chain = Chain::new(3, &steps).expect("a short chain");
    case(cases, "gelu(x + row) * y 1024x3072", x.len(), 2 * x.len(), move |out| {
        chain.run(out, &[Operand::Cycle(&x), Operand::Cycle(&row), Operand::Cycle(&y)]);
    });
}

fn rows(cases: &mut Vec<Case>) {
    for [rows, len] in [[1536, 128], [64, 1000], [64, 50_257]] {
        let x = numbers(rows * len);
        case(cases, &format!("softmax {rows}x{len}"), x.len(), x.len(), move |out| {
            softmax(Softmax::Plain, out, Input::of(&x), len, 1);
        });
    }
    let x = numbers(64 * 1000);
    case(cases, "log_softmax 64x1000", x.len(), x.len(), move |out| softmax(Softmax::Log, out, Input::of(&x), 1000, 1));
    let x = numbers(21 * 128 * 128);
    case(cases, "softmax of channels 21x128x128", x.len(), x.len(), move |out| {
        softmax(Softmax::Plain, out, Input::of(&x), 21, 128 * 128);
    });
    for [rows, len] in [[128, 768], [1024, 768], [128, 4096]] {
        let (x, weight, bias) = (numbers(rows * len), numbers(len), numbers(len));
        case(cases, &format!("layer_norm {rows}x{len}"), x.len(), x.len(), move |out| {
            let affine = Affine { weight: Some(&weight), bias: Some(&bias), eps: 1e-5 };
            layer_norm(out, Input::of(&x), len, affine);
        });
    }
    let (x, y, weight, bias) = (numbers(128 * 768), numbers(128 * 768), numbers(768), numbers(768));
    case(cases, "layer_norm(x + y) 128x768", x.len(), 2 * x.len(), move |out| {
        let affine = Affine { weight: Some(&weight), bias: Some(&bias), eps: 1e-5 };
        layer_norm(out, Input::of(&x).plus(&y), 768, affine);
    });
    let (x, weight) = (numbers(128 * 4096), numbers(4096));
    case(cases, "rms_norm 128x4096", x.len(), x.len(), move |out| {
        rms_norm(out, Input::of(&x), 4096, Affine { weight: Some(&weight), bias: None, eps: 1e-5 });
    });
    let (x, weight) = (numbers(256 * 56 * 56), numbers(256));
    case(cases, "group_norm 32 of 256x56x56", x.len(), x.len(), move |out| {
        let affine = Affine { weight: Some(&weight), bias: Some(&weight), eps: 1e-5 };
        group_norm(out, Input::of(&x), 256, 56 * 56, 32, affine);
    });
    for channels_last in [false, true] {
        let name = format!("group_factors 32 of 256x56x56{}", if channels_last { " last" } else { "" });
        let (x, weight) = (numbers(256 * 56 * 56), numbers(256));
        case(cases, &name, 2 * 256, x.len(), move |out| {
            let affine = Affine { weight: Some(&weight), bias: Some(&weight), eps: 1e-5 };
            group_factors(
                out,
                &x,
                Groups { channels: 256, groups: 32, area: 56 * 56, channels_last, pairs: false },
                affine,
            );
        });
    }
    for [outer, len, inner] in [[2048, 49, 1], [64, 16_384, 1], [8, 49, 2048]] {
        for reduction in [Reduction::Mean, Reduction::Max] {
            let x = numbers(outer * len * inner);
            let name = format!("{reduction:?} {outer}x{len}x{inner}").to_lowercase();
            case(cases, &name, outer * inner, x.len(), move |out| reduce(reduction, out, &x, len, inner));
        }
    }
}

fn attentions(cases: &mut Vec<Case>) {
    for (name, batches, [heads, key_heads], queries, keys, width, causal) in [
        ("bert", 1, [12; 2], 128, 128, 64, false),
        ("bert", 8, [12; 2], 128, 128, 64, false),
        ("gpt2", 1, [12; 2], 128, 128, 64, true),
        ("vit", 1, [12; 2], 197, 197, 64, false),
        ("long", 1, [8; 2], 1024, 1024, 64, false),
        ("long causal", 1, [8; 2], 1024, 1024, 64, true),
        ("one query", 1, [12; 2], 1, 512, 64, false),
        ("one query", 1, [12, 4], 1, 1024, 64, false),
        ("four queries", 1, [12; 2], 4, 512, 64, false),
        ("windows", 64, [3; 2], 49, 49, 32, false),
    ] {
        let sizes = Sizes { batches, heads, key_heads, queries, keys, width, values: width };
        // The layout of a linear layer's output: rows before heads.
        let of =
            move |rows: usize, heads: usize| Strides { batch: rows * heads * width, head: width, row: heads * width };
        for (format, kept) in [(Format::F32, ""), (Format::Bf16, " in bf16")] {
            let name = format!("attention {name} {batches}x{heads}x{queries}x{keys}{kept}");
            let (q, k) = (numbers(batches * heads * queries * width), numbers(batches * key_heads * keys * width));
            let v = numbers(k.len());
            case(cases, &name, q.len(), q.len() + k.len() + v.len(), move |out| {
                let mask = if causal { Mask::Causal } else { Mask::None };
                let (of_q, of_k) = (of(queries, heads), of(keys, key_heads));
                let scores = Scores { format, ..Scores::new(0.125, mask) };
                attention(sizes, (out, of_q), (&q, of_q), (&k, of_k), (&v, of_k), scores);
            });
        }
    }
}

fn copies(cases: &mut Vec<Case>) {
    for [c, h, w] in [[3, 224, 224], [64, 56, 56], [2048, 7, 7]] {
        let x = numbers(c * h * w);
        case(cases, &format!("NCHW to NHWC {c}x{h}x{w}"), x.len(), x.len(), move |out| {
            copy(out, &[w * c, c, 1], &x, &[w, 1, h * w], &[h, w, c]);
        });
        let x = numbers(c * h * w);
        case(cases, &format!("NHWC to NCHW {c}x{h}x{w}"), x.len(), x.len(), move |out| {
            copy(out, &[h * w, w, 1], &x, &[1, w * c, c], &[c, h, w]);
        });
    }
    let x = numbers(1024 * 1024);
    case(cases, "transpose 1024x1024", x.len(), x.len(), move |out| {
        copy(out, &[1024, 1], &x, &[1, 1024], &[1024, 1024]);
    });
    let x = numbers(128 * 768);
    case(cases, "heads 128x12x64 to 12x128x64", x.len(), x.len(), move |out| {
        copy(out, &[128 * 64, 64, 1], &x, &[64, 768, 1], &[12, 128, 64]);
    });
    let (x, y) = (numbers(256 * 784), numbers(256 * 784));
    case(cases, "concatenate two of 1x256x28x28", 2 * x.len(), 2 * x.len(), move |out| {
        concatenate(out, &[1], 0, &[(&x, &[1], &[x.len()]), (&y, &[1], &[y.len()])]);
    });
    let table = numbers(30_522 * 768);
    let rows: Vec<usize> = (0..128).map(|i| i * 7919 % 30_522).collect();
    case(cases, "embedding 128 of 30522x768", 128 * 768, 128 * 768, move |out| gather(out, &table, 768, &rows));
    let table = numbers(1_000_000 * 64);
    let rows: Vec<usize> = (0..4096).map(|i| i * 7_919_999 % 1_000_000).collect();
    let bags: Vec<_> = (0..512).map(|bag| 8 * bag..8 * bag + 8).collect();
    case(cases, "512 bags of 8 of 1000000x64", 512 * 64, 4096 * 64, move |out| {
        Bags { table: &table, width: 64, rows: &rows, bags: &bags, factors: None, is_mean: false }.sum(out);
    });
}

fn recurrent(cases: &mut Vec<Case>) {
    const STEPS: usize = 20;
    for (name, cell) in [("lstm", Cell::Lstm), ("gru", Cell::Gru)] {
        for (hidden, batch) in [(128, 1), (512, 1), (512, 16)] {
            let width = cell.gates() * hidden;
            // As small as a layer's first weights are: a state that saturates has gates below the normal numbers, which take long.
            let scale = (4.0 * (hidden as f32).sqrt()).recip();
            let weight: Vec<f32> = numbers(width * hidden).iter().map(|x| scale * x).collect();
            let packed = PackedCell::new(cell, Weight::Numbers(&weight), hidden, Format::F32);
            let input = numbers(STEPS * batch * width);
            let (mut h, mut c) = (vec![0.0; batch * hidden], vec![0.0; batch * hidden]);
            let name = format!("{name} {STEPS} steps of {batch}x{hidden}");
            case(cases, &name, STEPS * batch * hidden, STEPS * width * hidden, move |out| {
                let steps = Steps { steps: STEPS, batch, step_stride: batch * hidden, batch_stride: hidden };
                let (from_input, h, c) = (&input, &mut h, &mut c);
                let direction = Direction { cell: &packed, from_input, bias: None, h, c, reverse: false };
                run_layer(out, steps, &mut [direction]);
            });
        }
    }
}
