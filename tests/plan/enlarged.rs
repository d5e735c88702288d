//! Convolutions of single pixels in a plan: they go before what enlarges their images, where that is less work.

use fx::ops::{CatOptions, Conv2dOptions, InterpolateOptions};
use fx::prelude::*;
use fx::{GraphModule, Proxy, nn};

use super::{filled, planned};

/// The text of a plan, whose results are right, and how many of its convolutions make images of a size.
#[track_caller]
fn convolutions(module: &GraphModule, x: &Tensor, size: &str) -> (String, usize) {
    let text = planned(module, x);
    let is_one = |line: &&str| line.contains("conv") && line.contains(&format!("{size}]"));
    let count = text.lines().filter(is_one).count();
    (text, count)
}

fn bilinear() -> InterpolateOptions<Proxy> {
    InterpolateOptions::new().mode("bilinear")
}

#[test]
fn convolutions_of_enlarged_images() {
    let (weight, bias) = (Tensor::randn([24, 48, 1, 1]), Tensor::randn([24]));
    let all = [
        InterpolateOptions::new().scale_factor(2.0),
        InterpolateOptions::new().scale_factor(2.5).mode("nearest-exact"),
        bilinear().scale_factor(vec![2.0, 1.5]),
        bilinear().scale_factor(2.0).align_corners(true),
        // Fewer lines, and more pixels.
        bilinear().size([4, 31]),
    ];
    for options in all {
        for bias in [None, Some(&bias)] {
            let module = fx::trace_fn!(|x| {
                let x = x.interpolate_with(options.clone());
                x.conv2d(Proxy::constant(&weight), bias.map(Proxy::constant).as_ref())
            });
            let (text, before) = convolutions(&module.unwrap(), &Tensor::randn([3, 48, 6, 5]), "24, 6, 5");
            assert_eq!(before, 1, "{text}");
        }
    }
}

#[test]
fn lines_and_volumes() {
    let (weight, bias) = (Tensor::randn([24, 48, 1]), Tensor::randn([24]));
    let module = fx::trace_fn!(|x| {
        let x = x.interpolate_with(InterpolateOptions::new().scale_factor(2.0).mode("linear"));
        x.conv1d(Proxy::constant(&weight), Proxy::constant(&bias)).relu()
    });
    let (text, before) = convolutions(&module.unwrap(), &Tensor::randn([2, 48, 7]), "24, 7");
    assert_eq!(before, 1, "{text}");
    let weight = Tensor::randn([24, 60, 1]);
    let module = fx::trace_fn!(|x| {
        let large = x.interpolate_with(InterpolateOptions::new().scale_factor(3.0).mode("linear"));
        let all = Proxy::cat_with([x.repeat([1, 1, 3]).narrow(1, 0, 12), large], CatOptions::new().dim(1));
        all.conv1d(Proxy::constant(&weight), Proxy::constant(&bias))
    });
    let (text, before) = convolutions(&module.unwrap(), &Tensor::randn([2, 48, 7]), "24, 7");
    assert_eq!(before, 1, "{text}");
    let weight = Tensor::randn([24, 48, 1, 1, 1]);
    let module = fx::trace_fn!(|x| {
        let x = x.interpolate_with(InterpolateOptions::new().scale_factor(2.0));
        x.conv3d(Proxy::constant(&weight), Proxy::constant(&bias))
    });
    let (text, before) = convolutions(&module.unwrap(), &Tensor::randn([2, 48, 3, 4, 2]), "24, 3, 4, 2");
    assert_eq!(before, 1, "{text}");
}

#[test]
fn one_graph_for_all_sizes() {
    let weight = Tensor::randn([24, 48, 1, 1]);
    let module = fx::trace_fn!(|x| {
        let x = x.relu().interpolate_with(bilinear().size([12, 9]));
        x.conv2d(Proxy::constant(&weight), None)
    });
    let module = module.unwrap();
    // Made larger, made smaller, made larger again, and made higher and less wide.
    for ([height, width], before) in [([6, 5], 1), ([13, 9], 0), ([6, 5], 1), ([1, 60], 1)] {
        let x = Tensor::randn([2, 48, height, width]);
        let (text, count) = convolutions(&module, &x, &format!("24, {height}, {width}"));
        assert_eq!(count, before, "{text}");
    }
    // What does not fit is the convolution's fault.
    let error = module.forward(Tensor::randn([2, 47, 6, 5])).unwrap_err().to_string();
    assert!(error.contains("conv2d"), "{error}");
}

/// As the head of a model that segments: images of several sizes side by side, at the size of the largest.
#[traceable]
struct Head {
    /// Which of the sizes stand where.
    order: Vec<usize>,
    fuse: nn::Conv2d,
    norm: nn::BatchNorm2d,
    classifier: nn::Conv2d,
}

#[traceable]
impl Head {
    fn new(order: &[usize], bias: bool) -> Self {
        Self {
            order: order.to_vec(),
            fuse: nn::Conv2d::new(48 * order.len(), 40, 1).bias(bias),
            norm: nn::BatchNorm2d::new(40),
            classifier: nn::Conv2d::new(40, 7, 1),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let sizes = [x.relu(), x.max_pool2d([2, 2]), x.avg_pool2d([4, 4])];
        let enlarged = |size: &usize| {
            let options = InterpolateOptions::new().size((x.size(2), x.size(3))).mode("bilinear").align_corners(false);
            sizes[*size].interpolate_with(options)
        };
        let all: Vec<_> = self.order.iter().map(enlarged).collect();
        let x = self.fuse.forward(Tensor::cat_with(all, CatOptions::new().dim(1)));
        self.classifier.forward(self.norm.forward(x).relu())
    }
}

#[test]
fn parts_of_a_concatenation() {
    for (order, bias) in [
        (&[2, 1, 0][..], true),
        (&[0, 1, 2], false),
        (&[1, 0, 0, 2], true),
        (&[0, 1, 0], false),
        (&[1, 2], true),
        (&[2, 1], false),
    ] {
        let mut module = filled(Head::new(order, bias));
        for batch in [1, 3] {
            let x = Tensor::randn([batch, 48, 12, 8]);
            let (text, small) = convolutions(&module, &x, "40, 6, 4");
            assert_eq!(small, order.iter().filter(|size| **size == 1).count(), "{text}");
            let (text, smallest) = convolutions(&module, &x, "40, 3, 2");
            assert_eq!(smallest, order.iter().filter(|size| **size == 2).count(), "{text}");
            assert_eq!(text.contains("cat of"), order.windows(2).any(|pair| pair == [0, 0]), "{text}");
            assert!(!text.contains("  op "), "{text}");
            let whole = module.forward(&x).unwrap();
            module.set_inference_precision(DType::BF16).unwrap();
            let rounded = module.forward(&x).unwrap();
            assert!(rounded.all_close(&whole, 2e-2, 2e-2), "off by {}", rounded.max_abs_diff(&whole));
            module.set_inference_precision(DType::F32).unwrap();
        }
    }
}

#[test]
fn what_follows_such_a_convolution() {
    let weights = [Tensor::randn([24, 48, 1, 1]), Tensor::randn([24, 96, 1, 1])];
    for parts in [1, 2] {
        let module = fx::trace_fn!(|x| {
            let large = x.interpolate_with(bilinear().scale_factor(2.0));
            let same = x.repeat([1, 1, 2, 2]);
            let all = [large, same.relu()].into_iter().take(parts).collect::<Vec<_>>();
            let y = if parts == 1 { all[0].clone() } else { Proxy::cat_with(all, CatOptions::new().dim(-3)) };
            let y = y.conv2d(Proxy::constant(&weights[parts - 1]), None);
            (y + same.narrow(1, 0, 24)).hardswish()
        });
        let (text, before) = convolutions(&module.unwrap(), &Tensor::randn([2, 48, 6, 5]), "24, 6, 5");
        assert_eq!(before, 1, "{text}");
    }
}

/// Each with an image of 6 by 5 pixels, which no convolution should see.
#[test]
fn images_that_are_enlarged_before() {
    let weight = |outputs: usize, inputs: usize, size: usize| Tensor::randn([outputs, inputs, size, size]);
    let point = weight(24, 48, 1);
    let (many, both, wide, grouped) = (weight(400, 8, 1), weight(24, 96, 1), weight(24, 48, 3), weight(24, 24, 1));
    let double = || bilinear().scale_factor(2.0);
    let modules = [
        (
            "another reads it too",
            fx::trace_fn!(|x| {
                let x = x.interpolate_with(double());
                x.conv2d(Proxy::constant(&point), None) + x.narrow(1, 0, 24)
            }),
        ),
        (
            "it is read twice",
            fx::trace_fn!(|x| {
                let x = x.interpolate_with(double());
                Proxy::cat_with([&x, &x], CatOptions::new().dim(1)).conv2d(Proxy::constant(&both), None)
            }),
        ),
        (
            "it becomes smaller",
            fx::trace_fn!(|x| {
                let x = x.repeat([1, 1, 2, 2]).interpolate_with(bilinear().scale_factor(0.5));
                x.conv2d(Proxy::constant(&point), None).interpolate_with(double())
            }),
        ),
        (
            "there are many outputs",
            fx::trace_fn!(|x| {
                x.narrow(1, 0, 8).relu().interpolate_with(double()).conv2d(Proxy::constant(&many), None)
            }),
        ),
        ("other pixels count", fx::trace_fn!(|x| x.interpolate_with(double()).conv2d(Proxy::constant(&wide), None))),
        (
            "zeros stand around",
            fx::trace_fn!(|x| {
                let options = Conv2dOptions::new().padding([1, 1]);
                x.interpolate_with(double()).conv2d_with(Proxy::constant(&point), None, options)
            }),
        ),
        (
            "channels are apart",
            fx::trace_fn!(|x| {
                x.interpolate_with(double()).conv2d_with(
                    Proxy::constant(&grouped),
                    None,
                    Conv2dOptions::new().groups(2),
                )
            }),
        ),
        (
            "lines stand below each other",
            fx::trace_fn!(|x| {
                let large = x.interpolate_with(double());
                Proxy::cat_with([large, x.repeat([1, 1, 1, 2])], CatOptions::new().dim(2))
                    .conv2d(Proxy::constant(&point), None)
            }),
        ),
    ];
    for (why, module) in modules {
        let (text, before) = convolutions(&module.unwrap(), &Tensor::randn([2, 48, 6, 5]), "6, 5");
        let expected = usize::from(why == "it becomes smaller");
        assert_eq!(before, expected, "{why}: {text}");
    }
}
