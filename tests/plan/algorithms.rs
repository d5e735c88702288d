//! Products by other algorithms than their definition.

use fx::ops::FlattenOptions;
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter, nn};

use super::fill::floats;
use super::{filled, has, planned, share_off, traced};

/// A 3 by 3 layer, single pixels, and rows of a linear layer, each with all that a kernel does besides.
#[traceable]
struct Mixed {
    window: nn::Conv2d,
    norm: nn::BatchNorm2d,
    pixels: nn::Conv2d,
    up: nn::Linear,
    down: nn::Linear,
}

#[traceable]
impl Mixed {
    fn new() -> Self {
        Self {
            window: nn::Conv2d::new(256, 256, 3).padding(1),
            norm: nn::BatchNorm2d::new(256),
            pixels: nn::Conv2d::new(256, 384, 1),
            up: nn::Linear::new(384, 448),
            down: nn::Linear::new(448, 384),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.norm.forward(self.window.forward(x)).relu();
        let y = self.pixels.forward(y).relu().flatten_with(FlattenOptions::new().start_dim(2)).transpose(1, 2);
        &y + self.down.forward(self.up.forward(&y).gelu())
    }
}

fn plan(module: &GraphModule, x: &Tensor) -> String {
    module.plan(x).unwrap().to_string()
}

#[test]
fn fast_algorithms_can_be_switched_off() {
    let mut module = traced(&Mixed::new());
    let x = Tensor::randn([1, 256, 13, 13]);
    let interpreted = Interpreter::<Tensor>::new(&module).run(vec![Arg::Value(x.clone())]).unwrap();
    let interpreted = interpreted.as_value().unwrap();
    let size = interpreted.abs().max().item().to_f64();
    assert!(module.fast_algorithms());
    let text = plan(&module, &x);
    assert!(text.contains("conv 3x3 by Winograd"), "{text}");
    // What a matrix unit is there for is in pieces.
    for (before, after) in [("conv 1x1", " + relu"), ("linear 384 to 448", " + gelu"), ("linear 448 to 384", " + add")]
    {
        let is_fast = |by: &str| text.contains(&format!("{before} by {by}{after}"));
        // With shorter vectors the direct algorithm is faster where inner dimensions are so short.
        assert!(is_fast("Strassen") || is_fast("bf16x6") || !has("avx512f"), "{before}{after} is not in\n{text}");
    }
    let fast = module.forward(&x).unwrap();
    fx::set_num_threads(1);
    assert_eq!(module.forward(&x).unwrap(), fast, "one thread gives another result");
    fx::set_num_threads(0);
    module.set_fast_algorithms(false);
    assert!(!module.fast_algorithms() && !module.clone().fast_algorithms());
    let text = plan(&module, &x);
    assert!(["Strassen", "Winograd", "bf16x6"].iter().all(|by| !text.contains(by)), "{text}");
    let exact = module.forward(&x).unwrap();
    assert!(exact != fast && exact.max_abs_diff(&fast) < 1e-5 * size);
    assert!(exact.max_abs_diff(interpreted) < 1e-5 * size);
    module.set_fast_algorithms(true);
    assert_eq!(module.forward(&x).unwrap(), fast);
}

/// A row is as by the definition beside rows that are not finite, much larger or zero.
#[test]
fn rows_are_apart() {
    let layer = nn::Linear::new(2048, 512);
    let module = traced(&layer);
    let row = Tensor::randn([1, 2048]);
    let alone = module.forward(&row).unwrap();
    let rows: Vec<Tensor> =
        (0..256).map(|i| [1.0, 1e20, 0.0, f64::INFINITY, 1e-20, f64::NAN, 1.0][i % 7] * &row).collect();
    let x: Tensor = fx::functional::cat(&rows);
    let text = plan(&module, &x);
    assert!(text.contains("by Strassen") || text.contains("by bf16x6"), "{text}");
    let all = module.forward(&x).unwrap();
    for i in (0..256).filter(|i| i % 7 == 0 || i % 7 == 6) {
        assert!(all.narrow(0, i as i64, 1).all_close(&alone, 1e-5, 1e-5), "row {i}");
    }
    for i in (0..256).filter(|i| i % 7 == 3 || i % 7 == 5) {
        assert!(!all.narrow(0, i as i64, 1).sum().item().to_f64().is_finite(), "row {i}");
    }
}

/// A single row, which waits for memory, is multiplied with weights in 28 bits where the processor is fast at unpacking them.
#[test]
fn single_rows() {
    let layer = nn::Sequential::new((nn::Linear::new(600, 500), nn::GELU::new(), nn::Linear::new(500, 600)));
    let mut module = traced(&layer);
    let (row, rows) = (Tensor::randn([1, 600]), Tensor::randn([2, 600]));
    let text = plan(&module, &row);
    let fast = text.matches("in 28 bits").count();
    assert!(fast == 2 || fast == 0, "{text}");
    assert!(fast == 0 || text.contains("linear 600 to 500 in 28 bits + gelu"), "{text}");
    assert!(!plan(&module, &rows).contains("28 bits"));
    let first = module.forward(&row).unwrap();
    module.set_fast_algorithms(false);
    assert!(!plan(&module, &row).contains("28 bits"));
    let exact = module.forward(&row).unwrap();
    assert!(first.all_close(&exact, 1e-5, 1e-6), "off by {}", first.max_abs_diff(&exact));
    // What is in memory for several rows is not packed once more.
    module.set_fast_algorithms(true);
    let _ = module.forward(&rows).unwrap();
    assert!(!plan(&module, &row).contains("28 bits"));
}

/// Windows whose taps are apart, of which some see every so many pixels in tiles, and some mostly padding.
#[traceable]
struct Apart {
    near: nn::Conv2d,
    far: nn::Conv2d,
}

#[traceable]
impl Apart {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.near.forward(x).relu();
        self.far.forward(&y).relu() + y
    }
}

#[test]
fn taps_that_are_apart() {
    for (dilation, size) in [(2, [2, 32, 26, 25]), (4, [1, 32, 9, 31]), (24, [1, 32, 30, 7])] {
        let conv = |i, o, dilation| nn::Conv2d::new(i, o, 3).padding(dilation).dilation(dilation);
        let module = traced(&Apart { near: conv(32, 512, dilation), far: conv(512, 512, 12) });
        let x = Tensor::randn(size);
        let interpreted = Interpreter::<Tensor>::new(&module).run(vec![Arg::Value(x.clone())]).unwrap();
        let (got, want) = (module.forward(&x).unwrap(), interpreted.as_value().unwrap());
        let largest = want.abs().max().item().to_f64();
        assert!(got.max_abs_diff(want) < 1e-5 * largest, "{dilation} apart\n{}", plan(&module, &x));
        fx::set_num_threads(1);
        assert_eq!(module.forward(&x).unwrap(), got, "one thread gives another result");
        fx::set_num_threads(0);
    }
}

/// Layers of few outputs, of images and of volumes, with what is added to them.
#[traceable]
struct Narrow {
    first: nn::Conv2d,
    second: nn::Conv2d,
    frames: nn::Conv3d,
}

#[traceable]
impl Narrow {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.first.forward(x).relu();
        let x = (self.second.forward(&x) + x).relu().unsqueeze(0).transpose(1, 2);
        (self.frames.forward(&x) + x).relu()
    }
}

#[test]
fn few_outputs_are_those_of_two_pixels() {
    let layers = |first: nn::Conv2d| Narrow {
        first,
        second: nn::Conv2d::new(8, 8, 5).padding(2),
        frames: nn::Conv3d::new(8, 8, 3).padding(1),
    };
    let module = filled(layers(nn::Conv2d::new(3, 8, 7).stride(2).padding(3)));
    let count = |text: &str| text.matches("by two pixels + ").count();
    for (width, want) in [(20, 3), (18, 0)] {
        let mut x = Tensor::randn([3, 3, 14, width]);
        let text = planned(&module, &x);
        assert!(count(&text) == want || !has("avx512f"), "lines of {} pixels: {text}", width / 2);
        // What is not finite reaches the pixels that see it, and no others.
        x = x.masked_fill(x.ge(x.max()), f64::INFINITY);
        let planned = module.forward(&x).unwrap();
        let interpreted = Interpreter::<Tensor>::new(&module).run(vec![Arg::Value(x)]).unwrap();
        let interpreted = interpreted.as_value().unwrap();
        let (planned, interpreted) = (planned.isfinite(), interpreted.isfinite());
        assert!(planned == interpreted, "what is finite differs");
        assert!(planned.sum().item().to_f64() < planned.numel() as f64);
    }
    let mut exact = module.clone();
    exact.set_fast_algorithms(false);
    assert_eq!(count(&planned(&exact, &Tensor::randn([3, 3, 14, 20]))), 0);
}

/// A window of 3 by 3 in two steps: along a column, then along a line.
#[test]
fn windows_along_columns() {
    let layers = (nn::Conv2d::new(32, 48, [3, 1]).padding([1, 0]), nn::Conv2d::new(48, 32, [1, 3]).padding([0, 1]));
    let module = filled(nn::Sequential::new(layers));
    let x = floats("x", &[2, 32, 40, 37]);
    let text = planned(&module, &x);
    assert!(text.matches("by Winograd F(4, 3)").count() == 2 || !has("avx512f"), "{text}");
    let mut exact = module.clone();
    exact.set_fast_algorithms(false);
    assert!(!planned(&exact, &x).contains("Winograd"));
    let share = share_off(&module.forward(&x).unwrap(), &exact.forward(&x).unwrap());
    assert!(share < 1e-5, "off by {share}");
}

/// Layers of speech: windows along time, of three taps, or of more, of which each is one of 3 by 3 of a folded line.
#[test]
fn windows_along_lines() {
    let conv = |inputs, outputs, kernel| nn::Conv1d::new(inputs, outputs, kernel).padding(kernel / 2);
    let apart = nn::Conv1d::new(32, 32, 7).padding(9).dilation(3);
    let layers = (conv(32, 64, 9), nn::ReLU::new(), conv(64, 32, 7), nn::LeakyReLU::new(), apart, conv(32, 64, 3));
    let module = filled(nn::Sequential::new(layers));
    let x = floats("x", &[2, 32, 500]);
    let text = planned(&module, &x);
    assert!(text.matches("by Winograd F(4x4, 3x3)").count() == 3 || !has("avx512f"), "{text}");
    assert!(text.contains("by Winograd F(4, 3)") || !has("avx512f"), "{text}");
    let mut exact = module.clone();
    exact.set_fast_algorithms(false);
    assert!(!planned(&exact, &x).contains("Winograd"));
    let share = share_off(&module.forward(&x).unwrap(), &exact.forward(&x).unwrap());
    assert!(share < 1e-5, "off by {share}");
}
