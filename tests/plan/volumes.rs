//! Volumes and videos in a plan.

use fx::nn;
use fx::ops::{AvgPool3dOptions, CatOptions, Conv3dOptions, FlattenOptions, InterpolateOptions, MaxPool3dOptions};
use fx::passes::{QConfigMapping, optimize, prepare_fx};
use fx::prelude::*;

use super::fill::floats;
use super::{filled, has, only_kernels, share_off};

/// A residual block for videos, and what comes before and after it.
#[traceable]
struct Video {
    stem: nn::Conv3d,
    norm: nn::BatchNorm3d,
    narrow: nn::Conv3d,
    across: nn::Conv3d,
    along: nn::Conv3d,
    head: nn::Linear,
}

#[traceable]
impl Video {
    fn new() -> Self {
        Self {
            stem: nn::Conv3d::new(3, 16, [3, 5, 5]).stride([1, 2, 2]).padding([0, 2, 2]).bias(false),
            norm: nn::BatchNorm3d::new(16),
            narrow: nn::Conv3d::new(16, 16, 1).stride(2),
            across: nn::Conv3d::new(16, 24, [1, 3, 3]).padding([0, 1, 1]).stride([1, 2, 2]),
            along: nn::Conv3d::new(24, 16, [3, 1, 1]).padding([1, 0, 0]).stride([2, 1, 1]),
            head: nn::Linear::new(16, 5),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        // No frame sees one that comes later.
        let x = self.norm.forward(self.stem.forward(x.pad([0, 0, 0, 0, 2, 0]))).relu();
        let y = self.along.forward(self.across.forward(&x).relu());
        let x = (y + self.narrow.forward(x)).relu();
        self.head.forward(x.adaptive_avg_pool3d([1, 1, 1]).flatten_with(FlattenOptions::new().start_dim(1)))
    }
}

#[test]
fn videos() {
    let model = filled(Video::new());
    for batch in [1, 3] {
        let text = only_kernels(&model, &[batch, 3, 6, 12, 10]);
        for kernel in
            ["conv 3x5x5/1x2x2 + relu", "conv 1x3x3/1x2x2 + relu", "conv 3x1x1/2x1x1", "conv 1x1x1/2", "mean of"]
        {
            assert!(text.contains(kernel), "{kernel}: {text}");
        }
        assert!(text.matches("copy").count() == 1 && !text.contains("pad"), "{text}");
    }
}

/// Blocks whose sums are in the convolutions, and go on as words.
#[traceable]
struct Blocks {
    convs: [nn::Conv3d; 5],
}

#[traceable]
impl Blocks {
    fn forward(&self, x: &Tensor) -> Tensor {
        let [stem, first, second, third, last] = &self.convs;
        let x = stem.forward(x).relu();
        let x = (second.forward(first.forward(&x).relu()) + &x).relu();
        last.forward((third.forward(&x) + x).relu())
    }
}

#[test]
fn videos_of_words() {
    // Not as many channels as Winograd's algorithm, which computes in f32, is for.
    let conv = |inputs| nn::Conv3d::new(inputs, 40, 3).padding(1);
    let mut module = filled(Blocks { convs: [conv(3), conv(40), conv(40), conv(40), conv(40)] });
    let x = floats("x", &[2, 3, 4, 6, 7]);
    let mut prepared = prepare_fx(&module, &QConfigMapping::new()).unwrap();
    prepared.forward(&x).unwrap();
    let mut quantized = prepared.convert_fx().unwrap();
    for module in [&mut module, &mut quantized] {
        optimize(module).unwrap();
        let plan = module.plan(&x).unwrap().to_string();
        assert_eq!(plan.matches("+ add").count(), 2, "{plan}");
    }
    let exact = module.forward(&x).unwrap();
    module.set_inference_precision(DType::BF16).unwrap();
    for (module, feature, words) in
        [(module, "pairs", "of pairs + add of pairs + relu to pairs"), (quantized, "avx512vnni", "of bytes + add")]
    {
        let rounded = module.forward(&x).unwrap();
        let share = share_off(&rounded, &exact);
        assert!((share > 0.0 || !has(feature)) && share < 5e-2, "{words}: off by {share}");
        let plan = module.plan(&x).unwrap().to_string();
        assert!(!has(feature) || plan.contains(words), "{plan}");
    }
}

/// Products of voxels, and channels on their own between them.
#[traceable]
struct Separable {
    wide: nn::Conv3d,
    depthwise: [nn::Conv3d; 2],
    narrow: nn::Conv3d,
}

#[traceable]
impl Separable {
    fn forward(&self, x: &Tensor) -> Tensor {
        let [along, around] = &self.depthwise;
        self.narrow.forward(around.forward(along.forward(self.wide.forward(x).relu())).silu())
    }
}

#[test]
fn channels_on_their_own_between_products_in_bf16() {
    let along = nn::Conv3d::new(54, 54, [5, 1, 1]).padding([2, 0, 0]).groups(54);
    let around = nn::Conv3d::new(54, 54, 3).padding(1).stride([1, 2, 2]).groups(54);
    let (wide, narrow) = (nn::Conv3d::new(24, 54, 1), nn::Conv3d::new(54, 24, 1));
    let mut module = filled(Separable { wide, depthwise: [along, around], narrow });
    let x = floats("x", &[2, 24, 4, 6, 7]);
    let exact = module.forward(&x).unwrap();
    module.set_inference_precision(DType::BF16).unwrap();
    let share = share_off(&module.forward(&x).unwrap(), &exact);
    assert!(share > 0.0 && share < 3e-2, "off by {share}");
    let plan = module.plan(&x).unwrap().to_string();
    for words in ["conv 5x1x1 of 54 groups of pairs to pairs", "conv 3x3x3/1x2x2 of 54 groups of pairs + silu to pairs"]
    {
        assert!(!has("pairs") || plan.contains(words), "{words}: {plan}");
    }
}

/// Groups, distances between taps, and sizes that are kept.
#[test]
fn convolutions_of_volumes() {
    let weight = |groups: usize, kernel: usize| Tensor::randn([16, 16 / groups, kernel, 3, 3]);
    let options = [
        (weight(1, 3), Conv3dOptions::new().padding([1; 3])),
        (weight(1, 3), Conv3dOptions::new().padding("same").dilation([2, 1, 2])),
        (weight(1, 2), Conv3dOptions::new().padding("same").dilation([1, 2, 1])),
        (weight(4, 3), Conv3dOptions::new().padding("valid").groups(4).stride([2, 1, 1])),
        (weight(16, 3), Conv3dOptions::new().padding([2, 1, 0]).groups(16).stride([1, 2, 2])),
        (weight(1, 3), Conv3dOptions::new().padding([7, 1, 1]).stride([3, 1, 1])),
    ];
    for (weight, options) in options {
        let module = fx::trace_fn!(|x| x.conv3d_with(fx::Proxy::constant(&weight), None, options.clone()).silu());
        let text = only_kernels(&module.unwrap(), &[2, 16, 5, 9, 8]);
        assert!(text.contains("x3x3") && text.contains("+ silu"), "{text}");
    }
}

#[test]
fn pooling_of_volumes() {
    let largest = MaxPool3dOptions::new().stride([1, 2, 2]).padding([1, 0, 1]).dilation([1, 2, 1]).ceil_mode(true);
    let inside = AvgPool3dOptions::new().stride([2, 1, 2]).padding([1, 1, 0]).ceil_mode(true).count_include_pad(false);
    let padded = AvgPool3dOptions::new().stride([2, 1, 2]).padding([1, 1, 0]).ceil_mode(true);
    let by_seven = AvgPool3dOptions::new().divisor_override(7);
    let all = fx::trace_fn!(|x| {
        let pooled = [
            x.max_pool3d_with([3, 2, 3], largest.clone()),
            x.max_pool3d([2, 2, 2]),
            x.avg_pool3d_with([2, 3, 2], inside.clone()),
            x.avg_pool3d_with([2, 3, 2], padded.clone()),
            x.avg_pool3d_with([2, 2, 2], by_seven.clone()),
            x.adaptive_avg_pool3d([2, 3, 1]),
            x.adaptive_max_pool3d([3, 1, 2]),
            x.adaptive_max_pool3d([1, 1, 1]),
        ];
        let rows = pooled.map(|x| x.flatten_with(FlattenOptions::new().start_dim(1)));
        fx::Proxy::cat_with(rows, CatOptions::new().dim(1))
    });
    let text = only_kernels(&all.unwrap(), &[2, 7, 6, 9, 8]);
    for kernel in
        ["max of 3x2x3", "max of 2x2x2", "average of 2x3x2", "average of 3x3x8", "max of 2x9x4", "largest of 432"]
    {
        assert!(text.contains(kernel), "{kernel}: {text}");
    }
}

/// A network that finds parts of volumes.
#[traceable]
struct Parts {
    first: nn::Conv3d,
    norm: nn::InstanceNorm3d,
    second: nn::Conv3d,
    up: nn::ConvTranspose3d,
    last: nn::Conv3d,
}

#[traceable]
impl Parts {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.norm.forward(self.first.forward(x)).leaky_relu();
        let below = self.second.forward(x.max_pool3d([2, 2, 2])).relu();
        let [_, _, d, h, w] = x.sizes();
        let options = InterpolateOptions::new().size((d, h, w)).mode("trilinear").align_corners(true);
        let all = [self.up.forward(&below).relu(), below.interpolate_with(options), x];
        self.last.forward(Tensor::cat_with(all, CatOptions::new().dim(1)))
    }
}

#[test]
fn volumes_below_each_other() {
    let conv = |i, o| nn::Conv3d::new(i, o, 3).padding(1);
    let model = Parts {
        // Not as many channels as Winograd's algorithm, which computes in f32, is for.
        first: conv(1, 24),
        norm: nn::InstanceNorm3d::new(24),
        second: conv(24, 24),
        up: nn::ConvTranspose3d::new(24, 16, 2).stride(2),
        last: conv(64, 3),
    };
    let mut module = filled(model);
    for batch in [1, 2] {
        let text = only_kernels(&module, &[batch, 1, 6, 8, 10]);
        for kernel in ["conv transpose 2x2x2 + relu", "trilinear, 3x4x5 to 6x8x10", "cat of 3", "max of 2x2x2"] {
            assert!(text.contains(kernel), "{kernel}: {text}");
        }
    }
    let x = floats("x", &[2, 1, 6, 8, 10]);
    let exact = module.forward(&x).unwrap();
    module.set_inference_precision(DType::BF16).unwrap();
    let share = share_off(&module.forward(&x).unwrap(), &exact);
    assert!(share > 0.0 && share < 3e-2, "off by {share}");
    let plan = module.plan(&x).unwrap().to_string();
    for words in ["max of 2x2x2 of pairs to pairs", "conv transpose 2x2x2 in bf16 + relu to pairs"] {
        assert!(!has("pairs") || plan.contains(words), "{words}: {plan}");
    }
}

#[test]
fn transposed_convolutions_of_volumes() {
    for (window, stride, padding, added) in
        [([3, 3, 4], [2, 1, 2], [1, 0, 1], [1, 0, 0]), ([2, 1, 2], [3, 2, 2], [1, 0, 0], [2, 1, 0])]
    {
        let conv = nn::ConvTranspose3d::new(6, 5, window).stride(stride).padding(padding).output_padding(added);
        let text = only_kernels(&super::traced(&conv), &[2, 6, 3, 4, 5]);
        assert!(text.contains("conv transpose"), "{text}");
    }
}
