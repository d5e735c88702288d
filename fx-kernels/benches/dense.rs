//! The speed of convolutions and linear layers: `cargo bench -p fx-kernels --bench dense [filter]`.
//!
//! Each line is a layer of a well-known network: time, GFLOP/s and the share of the peak that the same threads reach
//! with products of registers only, for one thread and for all. Times are the shortest of many short bursts; the peak
//! is measured beside them.

use std::hint::black_box;
use std::ops::{Deref, DerefMut};
use std::time::Instant;

use fx_kernels::dense::{
    Algorithm, Bytes, CompactLinear, ConvShape, Epilogue, Format, Images, Link, PackedConv, PackedLinear,
    QuantizedConv, QuantizedLinear, Weight, Words, run_chain,
};
use fx_kernels::elementwise::Unary;
use fx_kernels::memory;
use fx_kernels::threads::{num_threads, set_num_threads};
use fx_kernels::{Matrix, Quantization, peak_flops};

fn main() {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let threads = num_threads();
    println!(
        "{:<44} {:>9} {:>8} {:>6} {:>9} {:>8} {:>6} {:>7}",
        "layer",
        "1 thread",
        "GFLOP/s",
        "peak",
        format!("{threads} threads"),
        "GFLOP/s",
        "peak",
        "speedup"
    );
    let mut layers = convolutions();
    layers.extend(linear());
    layers.extend([8, 7].into_iter().flat_map(quantized));
    layers.extend(chains());
    let mut totals = [0.0; 2];
    for layer in layers.iter_mut().filter(|layer| layer.name.contains(&filter)) {
        let mut line = format!("{:<44}", layer.name);
        let times = [1, threads].map(|threads| {
            set_num_threads(threads);
            let peak = peak_flops(threads);
            let time = shortest(&mut layer.run);
            line += &format!(
                " {:>7.3}ms {:>8.1} {:>5.0}%",
                time * 1e3,
                layer.flops / time / 1e9,
                100.0 * layer.flops / time / peak
            );
            time
        });
        (0..2).for_each(|i| totals[i] += times[i] * layer.count);
        println!("{line} {:>6.2}x", times[0] / times[1]);
    }
    println!("all, as often as they occur: {:.1} ms, {:.1} ms", totals[0] * 1e3, totals[1] * 1e3);
}

/// Something to measure.
struct Layer {
    name: String,
    count: f64,
    flops: f64,
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

/// Numbers that begin with a line of the cache, as values of a plan do.
struct Numbers {
    memory: Vec<f32>,
    first: usize,
    len: usize,
}

impl Deref for Numbers {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.memory[self.first..][..self.len]
    }
}

impl DerefMut for Numbers {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.first..][..self.len]
    }
}

fn zeros(len: usize) -> Numbers {
    let memory = memory::zeroed(len + memory::LINE);
    Numbers { first: memory::first_line(&memory), memory, len }
}

fn numbers(len: usize) -> Numbers {
    let mut numbers = zeros(len);
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = ((i * 2_654_435_761) % 1000) as f32 / 1000.0 - 0.5;
    }
    numbers
}

/// A convolution in a format: how often it occurs, the images, and what is computed of them: their height and width, the channels
/// that go in and come out, the window's, its step, and groups.
fn conv(
    format: Format,
    name: &str,
    count: usize,
    batch: usize,
    [size, inputs, outputs, k, stride, groups]: [usize; 6],
) -> Layer {
    let before = [(k - 1) / 2; 2];
    let shape = ConvShape {
        inputs,
        outputs,
        kernel: [k; 2],
        stride: [stride; 2],
        dilation: [1; 2],
        before,
        after: before,
        groups,
    };
    let output = shape.output([size; 2]);
    // `ALGORITHM=direct`, `winograd2`, `winograd4` or `bf16x6` is used wherever it can be.
    let algorithm = match std::env::var("ALGORITHM").as_deref() {
        Ok("direct") => Algorithm::Direct,
        Ok("winograd2") => Algorithm::Winograd2,
        Ok("winograd4") => Algorithm::Winograd4,
        Ok("bf16x6") => Algorithm::Bf16x6,
        _ => shape.algorithm(batch, output, format),
    };
    let layer =
        PackedConv::with(Weight::Numbers(&numbers(outputs * inputs / groups * k * k)), shape, algorithm, format);
    let (x, bias) = (numbers(batch * size * size * inputs), numbers(outputs));
    let mut out = zeros(batch * output[0] * output[1] * outputs);
    Layer {
        name: format!(
            "{name} {batch}x{size}x{size}x{inputs}->{outputs} {k}x{k}/{stride}{}",
            if groups > 1 { format!(" g{groups}") } else { String::new() }
        ),
        count: count as f64,
        flops: 2.0 * (out.len() * inputs / groups * k * k) as f64,
        run: Box::new(move || {
            let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
            // The first layer reads images as they come.
            let images = if inputs == 3 {
                Images::planes(&x, batch, [size; 2])
            } else {
                Images::pixels(&x, batch, [size; 2], inputs)
            };
            layer.run(&mut out, outputs, &images, &epilogue);
            black_box(&out);
        }),
    }
}

/// The convolutions of ResNet-50 (version 1.5), of MobileNetV2, and some with few channels, or groups of few.
fn convolutions() -> Vec<Layer> {
    let mut layers = vec![conv(Format::F32, "resnet50", 1, 1, [224, 3, 64, 7, 2, 1])];
    layers.extend([
        conv(Format::F32, "digits", 4, 1, [8, 16, 16, 3, 1, 1]),
        conv(Format::F32, "few channels", 1, 1, [32, 32, 32, 3, 1, 1]),
    ]);
    layers.push(conv(Format::F32, "few channels", 0, 1, [56, 16, 32, 3, 2, 1]));
    let stages =
        [(56, 64, 64, 256, 3, 1), (56, 256, 128, 512, 4, 2), (28, 512, 256, 1024, 6, 2), (14, 1024, 512, 2048, 3, 2)];
    for batch in [1, 8] {
        let name = if batch == 1 { "resnet50" } else { "resnet50b8" };
        for (size, inputs, middle, outputs, blocks, stride) in stages {
            let small = size / stride;
            if stride == 1 {
                layers.push(conv(Format::F32, name, 1, batch, [size, inputs, middle, 1, 1, 1]));
                layers.push(conv(Format::F32, name, 3, batch, [size, middle, middle, 3, 1, 1]));
            } else {
                layers.push(conv(Format::F32, name, 1, batch, [size, inputs, middle, 1, 1, 1]));
                layers.push(conv(Format::F32, name, 1, batch, [size, middle, middle, 3, stride, 1]));
                layers.push(conv(Format::F32, name, blocks - 1, batch, [small, middle, middle, 3, 1, 1]));
            }
            layers.push(conv(Format::F32, name, 1, batch, [size, inputs, outputs, 1, stride, 1]));
            layers.push(conv(Format::F32, name, blocks, batch, [small, middle, outputs, 1, 1, 1]));
            layers.push(conv(Format::F32, name, blocks - 1, batch, [small, outputs, middle, 1, 1, 1]));
        }
    }
    layers.push(conv(Format::F32, "mobilenet", 1, 1, [224, 3, 32, 3, 2, 1]));
    for (size, inputs, outputs) in [
        (112, 32, 16),
        (112, 16, 96),
        (56, 96, 24),
        (56, 24, 144),
        (28, 144, 32),
        (28, 32, 192),
        (14, 384, 64),
        (14, 64, 384),
        (14, 576, 96),
        (7, 960, 160),
        (7, 160, 960),
        (7, 320, 1280),
    ] {
        layers.push(conv(Format::F32, "mobilenet", 1, 1, [size, inputs, outputs, 1, 1, 1]));
    }
    for (size, channels, stride) in
        [(112, 32, 1), (112, 96, 2), (56, 144, 1), (28, 192, 1), (14, 384, 1), (14, 576, 2), (7, 960, 1)]
    {
        layers.push(conv(Format::F32, "mobilenet", 1, 1, [size, channels, channels, 3, stride, channels]));
    }
    // Groups of few channels: ResNeXt-50 (32x4d), and RegNets with groups of 8, 16, 24 and 32.
    for (size, channels, stride, groups) in [
        (56, 128, 1, 32),
        (56, 256, 2, 32),
        (28, 256, 1, 32),
        (28, 512, 2, 32),
        (14, 512, 1, 32),
        (14, 1024, 2, 32),
        (7, 1024, 1, 32),
        (56, 48, 1, 6),
        (28, 104, 1, 13),
        (28, 128, 1, 8),
        (28, 168, 1, 7),
        (14, 408, 1, 17),
        (14, 448, 1, 14),
    ] {
        layers.push(conv(Format::F32, "grouped", 0, 1, [size, channels, channels, 3, stride, groups]));
    }
    // Windows of few channels in bf16.
    for (name, size, inputs, outputs, k, stride) in [
        ("bf16 resnet50", 224, 3, 64, 7, 2),
        ("bf16 mobilenet", 224, 3, 32, 3, 2),
        ("bf16 digits", 8, 16, 16, 3, 1),
        ("bf16 few channels", 56, 16, 32, 3, 2),
    ] {
        layers.push(conv(Format::Bf16, name, 0, 1, [size, inputs, outputs, k, stride, 1]));
    }
    layers
}

/// The blocks of MobileNetV2: three convolutions one after the other, and a few lines at a time.
fn chains() -> Vec<Layer> {
    let mut layers = Vec::new();
    for (size, inputs, middle, outputs, stride) in [
        (112, 16, 96, 24, 2),
        (56, 24, 144, 24, 1),
        (56, 24, 144, 32, 2),
        (28, 32, 192, 32, 1),
        (28, 32, 192, 64, 2),
        (14, 64, 384, 64, 1),
        (14, 96, 576, 96, 1),
        (14, 96, 576, 160, 2),
        (7, 160, 960, 160, 1),
    ] {
        let around = [1; 2];
        let window = ConvShape {
            kernel: [3; 2],
            stride: [stride; 2],
            before: around,
            after: around,
            ..ConvShape::pointwise(middle, middle)
        };
        let shapes = [
            ConvShape::pointwise(inputs, middle),
            ConvShape { groups: middle, ..window },
            ConvShape::pointwise(middle, outputs),
        ];
        for chained in [false, true] {
            let weight = |shape: &ConvShape| {
                numbers(shape.outputs * shape.inputs / shape.groups * shape.kernel[0] * shape.kernel[1])
            };
            let convs = shapes.map(|shape| PackedConv::new(&weight(&shape), shape));
            let small = size / stride;
            let (x, bias) = (numbers(size * size * inputs), numbers(middle));
            let (mut first, mut second) = (zeros(size * size * middle), zeros(small * small * middle));
            let mut out = zeros(small * small * outputs);
            let flops = size * size * inputs * middle + small * small * middle * (9 + outputs);
            layers.push(Layer {
                name: format!(
                    "block {size}x{size}x{inputs}->{middle}->{outputs}/{stride} {}",
                    if chained { "chained" } else { "apart" }
                ),
                count: 1.0,
                flops: 2.0 * flops as f64,
                run: Box::new(move || {
                    let plain = Epilogue { bias: Some(&bias), ..Epilogue::default() };
                    let bounded = Epilogue { activation: Some(Unary::Relu6), ..plain };
                    let images = Images::pixels(&x, 1, [size; 2], inputs);
                    if chained {
                        let links = [(0, bounded), (1, bounded), (2, plain)];
                        let links = links.map(|(i, epilogue)| Link { conv: &convs[i], epilogue });
                        run_chain(&links, &mut out, &images, Words::default());
                    } else {
                        convs[0].run(&mut first, middle, &images, &bounded);
                        convs[1].run(&mut second, middle, &Images::pixels(&first, 1, [size; 2], middle), &bounded);
                        convs[2].run(&mut out, outputs, &Images::pixels(&second, 1, [small; 2], middle), &plain);
                    }
                    black_box(&out);
                }),
            });
        }
    }
    layers
}

/// Name, rows, inputs, outputs.
type Linear = (&'static str, usize, usize, usize);

const LINEAR: [Linear; 17] = [
    ("resnet50 fc", 1, 2048, 1000),
    ("bert", 128, 768, 768),
    ("bert qkv", 128, 768, 2304),
    ("bert", 128, 768, 3072),
    ("bert", 128, 3072, 768),
    ("mlp", 1, 17768, 512),
    ("mlp", 1, 512, 512),
    ("mlp", 1, 512, 1024),
    ("mlp", 1, 512, 17768),
    ("mlp", 4, 17768, 512),
    ("mlp", 4, 512, 17768),
    ("mlp", 16, 17768, 512),
    ("mlp", 16, 512, 17768),
    ("mlp", 64, 17768, 512),
    ("mlp", 64, 512, 17768),
    ("gpt2", 128, 768, 50257),
    ("gpt2", 1, 768, 50257),
];

fn linear() -> Vec<Layer> {
    let formats = [(Format::F32, "linear"), (Format::Bf16, "bf16 linear"), (Format::F16, "f16 linear")];
    let all = formats.into_iter().flat_map(|format| LINEAR.map(|shape| (format, shape)));
    let compact = LINEAR.into_iter().filter(|(_, rows, _, _)| *rows == 1).map(|(name, rows, inputs, outputs)| {
        let weight = numbers(inputs * outputs);
        let layer = CompactLinear::new(Weight::Numbers(&weight), outputs, inputs).expect("finite weights");
        let (x, bias) = (numbers(inputs), numbers(outputs));
        let mut out = zeros(outputs);
        Layer {
            name: format!("compact linear {name} {rows}x{inputs}->{outputs}"),
            count: 0.0,
            flops: 2.0 * (inputs * outputs) as f64,
            run: Box::new(move || {
                layer.run(&mut out, &x, &Epilogue { bias: Some(&bias), ..Epilogue::default() });
                black_box(&out);
            }),
        }
    });
    let layers = all.map(|((format, kind), (name, rows, inputs, outputs))| {
        let weight = numbers(inputs * outputs);
        let algorithm = match std::env::var("ALGORITHM").as_deref() {
            Ok("direct") => Algorithm::Direct,
            Ok("bf16x6") => Algorithm::Bf16x6,
            _ => Algorithm::Strassen,
        };
        let layer = PackedLinear::from_matrix(Matrix::rows(&weight, outputs, inputs).t(), algorithm, format);
        let (x, bias) = (numbers(rows * inputs), numbers(outputs));
        let mut out = zeros(rows * outputs);
        Layer {
            name: format!("{kind} {name} {rows}x{inputs}->{outputs}"),
            count: if format == Format::F32 { 1.0 } else { 0.0 },
            flops: 2.0 * (rows * inputs * outputs) as f64,
            run: Box::new(move || {
                layer.run(&mut out, outputs, &x, inputs, rows, &Epilogue { bias: Some(&bias), ..Epilogue::default() });
                black_box(&out);
            }),
        }
    });
    layers.chain(compact).collect()
}

/// Layers of whole numbers of so many bits, from f32 to f32: the linear ones, and convolutions of ResNet-50.
fn quantized(bits: u32) -> Vec<Layer> {
    let max = (1 << bits) - 1;
    let range = Quantization { scale: 1.0 / max as f32, zero_point: max / 2, min: 0, max };
    let bytes = |len: usize| numbers(len).iter().map(|x| (x * 255.0) as i8).collect::<Vec<_>>();
    let scales = |len: usize| vec![0.01; len];
    let linear = LINEAR.into_iter().map(|(name, rows, inputs, outputs)| {
        let layer = QuantizedLinear::new(
            Bytes { weight: &bytes(inputs * outputs), scales: &scales(outputs), bits: range.bits() },
            inputs,
        );
        let (x, bias, mut out) = (numbers(rows * inputs), numbers(outputs), zeros(rows * outputs));
        Layer {
            name: format!("int{bits} linear {name} {rows}x{inputs}->{outputs}"),
            count: 0.0,
            flops: 2.0 * (rows * inputs * outputs) as f64,
            run: Box::new(move || {
                let epilogue = Epilogue { bias: Some(&bias), ..Epilogue::default() };
                layer.run(&mut out, outputs, &x, inputs, rows, range, &epilogue);
                black_box(&out);
            }),
        }
    });
    let convs =
        [(56, 64, 3), (28, 128, 3), (14, 256, 3), (7, 512, 3), (56, 64, 1), (28, 128, 1), (14, 256, 1), (7, 512, 1)];
    let conv = convs.into_iter().flat_map(|(size, channels, k)| match k {
        1 => vec![(size, channels, 4 * channels, k), (size, 4 * channels, channels, k)],
        _ => vec![(size, channels, channels, k)],
    });
    let conv = conv.map(|(size, inputs, outputs, k)| {
        let pad = [k / 2; 2];
        let shape = ConvShape { kernel: [k; 2], before: pad, after: pad, ..ConvShape::pointwise(inputs, outputs) };
        let layer = QuantizedConv::new(
            Bytes { weight: &bytes(outputs * inputs * k * k), scales: &scales(outputs), bits: range.bits() },
            shape,
        );
        let (x, bias, mut out) = (numbers(size * size * inputs), numbers(outputs), zeros(size * size * outputs));
        Layer {
            name: format!("int{bits} resnet50 1x{size}x{size}x{inputs}->{outputs} {k}x{k}/1"),
            count: 0.0,
            flops: 2.0 * (out.len() * inputs * k * k) as f64,
            run: Box::new(move || {
                let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
                layer.run(&mut out, outputs, &Images::pixels(&x, 1, [size; 2], inputs), range, &epilogue);
                black_box(&out);
            }),
        }
    });
    linear.chain(conv).collect()
}
