//! Images and lines in a plan: what takes and gives them as convolutions leave them.

use fx::nn;
use fx::ops::{
    AmaxOptions, AvgPool1dOptions, CatOptions, FlattenOptions, GridSampleOptions, InterpolateOptions, MaxPool1dOptions,
    PadOptions,
};
use fx::prelude::*;

use super::fill::floats;
use super::{filled, has, only_kernels, planned, share_off, traced};

/// What has a number for each channel, or is computed of channels, takes images as convolutions leave them.
#[traceable]
struct OfChannels {
    first: nn::Conv2d,
    steep: nn::PReLU,
    second: nn::Conv2d,
    flat: nn::PReLU,
    gate: nn::Conv2d,
}

#[traceable]
impl OfChannels {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.steep.forward(self.first.forward(x));
        let x = self.flat.forward(self.second.forward(x));
        let gate = self.gate.forward(x.mean_keepdim([1])).sigmoid();
        let x = x * gate;
        &x + x.mean_dim([1]).unsqueeze(1)
    }
}

#[test]
fn channels_stay_last() {
    let model = OfChannels {
        first: nn::Conv2d::new(16, 20, 3),
        steep: nn::PReLU::new().num_parameters(20),
        second: nn::Conv2d::new(20, 16, 1),
        flat: nn::PReLU::new(),
        gate: nn::Conv2d::new(1, 1, 3).padding(1),
    };
    let text = only_kernels(&filled(model), &[2, 16, 9, 7]);
    let copies = text.lines().filter(|line| line.contains("copy ")).count();
    assert!(text.contains("prelu") && copies == 2, "images are copied between the first and the last step: {text}");
}

/// Pooling of lines, between convolutions of such.
#[traceable]
struct PooledLines {
    first: nn::Conv1d,
    second: nn::Conv1d,
}

#[traceable]
impl PooledLines {
    fn forward(&self, x: &Tensor) -> Tensor {
        let options = MaxPool1dOptions::new().stride([2]).padding([1]).dilation([2]).ceil_mode(true);
        let x = self.first.forward(x).relu().max_pool1d_with([3], options);
        let options = AvgPool1dOptions::new().stride([1]).padding([1]).count_include_pad(false);
        self.second.forward(x.max_pool1d([2]).avg_pool1d_with([3], options)).avg_pool1d([2])
    }
}

#[test]
fn pooling_over_one_dimension() {
    let text = only_kernels(
        &filled(PooledLines { first: nn::Conv1d::new(16, 20, 3), second: nn::Conv1d::new(20, 8, 1) }),
        &[2, 16, 40],
    );
    for kernel in ["max of 1x3", "max of 1x2", "average of 1x3", "average of 1x2"] {
        assert!(text.contains(kernel), "{kernel}: {text}");
    }
}

/// What is between convolutions in bf16 stays pairs, means of windows too; the last of these, which is the result, is of numbers.
#[test]
fn means_of_windows_in_bf16() {
    let conv = |outputs| nn::Conv2d::new(24, outputs, 3).padding(1);
    let pool = || nn::AvgPool2d::new(3).stride(2).padding(1);
    let layers = (conv(24), nn::ReLU::new(), pool(), conv(32), nn::AvgPool2d::new(2));
    let mut module = filled(nn::Sequential::new(layers));
    only_kernels(&module, &[2, 24, 12, 10]);
    let x = floats("x", &[2, 24, 12, 10]);
    let exact = module.forward(&x).unwrap();
    module.set_inference_precision(DType::BF16).unwrap();
    let share = share_off(&module.forward(&x).unwrap(), &exact);
    assert!((share > 0.0 || !has("pairs")) && share < 2e-2, "off by {share}");
    let plan = module.plan(&x).unwrap().to_string();
    assert!(!has("pairs") || plan.contains("average of 3x3 of pairs to pairs"), "{plan}");
    assert!(plan.lines().any(|line| line.contains("average of 2x2  ")), "{plan}");
}

/// As convolutions leave them, and as they come.
#[test]
fn pixels_made_of_channels() {
    let weight = Tensor::randn([18, 8, 1, 1]);
    let module = fx::trace_fn!(|x| {
        let y = x.conv2d(fx::Proxy::constant(&weight), None).pixel_shuffle(3);
        (x.pixel_shuffle(2).pixel_unshuffle(4).sum() + y.clone().pixel_unshuffle(3)).pixel_shuffle(3) + y
    });
    let text = only_kernels(&module.unwrap(), &[2, 8, 6, 10]);
    assert!(text.contains("pixel_shuffle, 3 x 3") && text.contains("pixel_unshuffle, 4 x 4"), "{text}");
}

#[traceable]
struct Dense {
    stem: nn::Conv2d,
    norm: nn::BatchNorm2d,
    conv: nn::Conv2d,
    head: nn::Conv2d,
}

#[traceable]
impl Dense {
    fn new() -> Self {
        let norm = nn::BatchNorm2d::new(12);
        norm.running_mean.as_ref().unwrap().set(Tensor::randn([12])).unwrap();
        norm.running_var.as_ref().unwrap().set(Tensor::rand([12]) + 0.5).unwrap();
        let conv = |inputs, outputs| nn::Conv2d::new(inputs, outputs, 3).padding(1);
        Self { stem: conv(3, 12), norm, conv: conv(12, 4), head: conv(16, 2) }
    }

    /// A norm before a convolution, whose result stands beside its input.
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.stem.forward(x);
        let y = self.conv.forward(self.norm.forward(&x).relu());
        self.head.forward(Tensor::cat_with([x, y], CatOptions::new().dim(1)))
    }
}

#[test]
fn norms_and_concatenations_keep_channels_last() {
    let module = traced(&Dense::new());
    for batch in [1, 3] {
        let text = only_kernels(&module, &[batch, 3, 7, 9]);
        assert!(text.contains("mul_add + relu") && text.contains("cat of 2"), "{text}");
        assert_eq!(text.matches("copy").count(), 1, "{text}");
    }
}

/// Of values that lie in all ways, one of them empty, and of what is known.
#[test]
fn concatenations() {
    let known = Tensor::randn([2, 3, 6]);
    for dim in [0, 1, 2, -1] {
        let module = fx::trace_fn!(|x| {
            let y = x.transpose(1, 2).contiguous().transpose(1, 2);
            let [a, b] = x.chunk(-1);
            let swapped = fx::Proxy::cat_with([b, a], CatOptions::new().dim(-1));
            let all = [x.exp(), y, x.narrow(dim, 0, 0), swapped, fx::Proxy::constant(&known)];
            fx::Proxy::cat_with(all, CatOptions::new().dim(dim))
        });
        let text = only_kernels(&module.unwrap(), &[2, 3, 6]);
        assert!(text.contains("cat of 5") && text.contains("cat of 2"), "{text}");
    }
}

#[traceable]
struct Lines {
    conv: nn::Conv1d,
    strided: nn::Conv1d,
    grouped: nn::Conv1d,
}

#[traceable]
impl Lines {
    fn new() -> Self {
        Self {
            conv: nn::Conv1d::new(3, 18, 3).padding(1),
            strided: nn::Conv1d::new(18, 20, 5).stride(2).padding(4).dilation(2),
            grouped: nn::Conv1d::new(20, 20, 3).padding(1).groups(20),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.strided.forward(self.conv.forward(x).gelu()).relu();
        (self.grouped.forward(&x) + x).relu()
    }
}

#[test]
fn convolutions_over_one_dimension() {
    let module = traced(&Lines::new());
    for batch in [1, 2] {
        let text = only_kernels(&module, &[batch, 3, 40]);
        assert!(text.contains("conv 1x3 + gelu") && text.contains("conv 1x5/1x2 + relu"), "{text}");
        assert!(text.contains("conv 1x3 of 20 groups + add + relu"), "{text}");
    }
}

#[traceable]
struct Up {
    conv: nn::Conv2d,
    plain: nn::ConvTranspose2d,
    narrow: nn::ConvTranspose2d,
    overlapping: nn::ConvTranspose2d,
}

#[traceable]
impl Up {
    fn new() -> Self {
        Self {
            conv: nn::Conv2d::new(3, 18, 3).padding(1),
            plain: nn::ConvTranspose2d::new(18, 20, 2).stride(2),
            narrow: nn::ConvTranspose2d::new(20, 5, [1, 3]).stride([1, 3]).bias(false),
            overlapping: nn::ConvTranspose2d::new(5, 4, 3).stride(2),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.narrow.forward(self.plain.forward(self.conv.forward(x)).relu());
        self.overlapping.forward(x)
    }
}

#[test]
fn transposed_convolutions_side_by_side() {
    let module = traced(&Up::new());
    for batch in [1, 3] {
        let text = only_kernels(&module, &[batch, 3, 6, 7]);
        assert!(text.contains("conv transpose 2x2 + relu") && text.contains("conv transpose 1x3 "), "{text}");
        assert!(text.contains("conv transpose 3x3 "), "{text}");
    }
    let lines = traced(&nn::ConvTranspose1d::new(6, 4, 4).stride(4));
    assert!(only_kernels(&lines, &[2, 6, 5]).contains("conv transpose 1x4"));
}

#[traceable]
struct Larger {
    conv: nn::Conv2d,
}

#[traceable]
impl Larger {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv.forward(x.interpolate_with(InterpolateOptions::new().scale_factor(vec![2.0, 3.0])));
        x.interpolate_with(InterpolateOptions::new().size([30, 21]))
    }
}

#[test]
fn images_made_larger_by_whole_factors() {
    let module = traced(&Larger { conv: nn::Conv2d::new(3, 18, 3).padding(1) });
    let text = only_kernels(&module, &[2, 3, 5, 7]);
    assert!(text.contains("nearest, 2x3 times as large") && text.contains("nearest, 3x1 times as large"), "{text}");
    let lines = fx::trace_fn!(|x| x.interpolate_with(InterpolateOptions::new().scale_factor(2.5))).unwrap();
    assert!(only_kernels(&lines, &[2, 3, 8]).contains("nearest, 8 to 20"));
    let exact = InterpolateOptions::new().mode("nearest-exact").size([9, 5]);
    let images = fx::trace_fn!(|x| x.relu().interpolate_with(exact.clone())).unwrap();
    assert!(only_kernels(&images, &[2, 20, 4, 5]).contains("nearest-exact, 4x5 to 9x5"));
    let cubic = InterpolateOptions::new().mode("bicubic").scale_factor([1.5, 2.5]);
    let images = fx::trace_fn!(|x| x.relu().interpolate_with(cubic.clone())).unwrap();
    assert!(only_kernels(&images, &[2, 20, 4, 5]).contains("bicubic, 4x5 to 6x12"));
}

#[traceable]
fn between(x: &Tensor) -> Tensor {
    let options = || InterpolateOptions::new().mode("bilinear");
    let y = x.relu().interpolate_with(options().scale_factor(vec![2.0, 1.5]).align_corners(false));
    let y = y.interpolate_with(options().size([4, 31]).align_corners(true));
    // As large as before: nothing is done.
    y.interpolate_with(options().size([4, 31])) * 2.0
}

#[traceable]
fn along(x: &Tensor) -> Tensor {
    x.relu().interpolate_with(InterpolateOptions::new().mode("linear").size([17]))
}

#[test]
fn images_and_lines_between_elements() {
    let images = fx::trace_fn!(between).unwrap();
    for channels in [1, 3, 16, 40] {
        let text = only_kernels(&images, &[2, channels, 5, 8]);
        assert!(text.contains("linear, 5x8 to 10x12") && text.contains("linear, 10x12 to 4x31"), "{text}");
        assert_eq!(text.matches("linear,").count(), 2, "{text}");
    }
    let lines = fx::trace_fn!(along).unwrap();
    assert!(only_kernels(&lines, &[2, 3, 8]).contains("linear, 8 to 17"));
}

#[traceable]
struct Causal {
    first: nn::Conv1d,
    second: nn::Conv1d,
}

#[traceable]
impl Causal {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.second.forward(self.first.forward(x.pad([4, 0])).pad([8, 0]))
    }
}

#[test]
fn paddings_stay_in_order() {
    let module = traced(&Causal { first: nn::Conv1d::new(3, 18, 5), second: nn::Conv1d::new(18, 20, 5).dilation(2) });
    for batch in [1, 3] {
        let text = only_kernels(&module, &[batch, 3, 40]);
        assert!(!text.contains("pad") && !text.contains("rows to channels last"), "{text}");
    }
    for amounts in [&[2, 0][..], &[0, -3, 1, 2], &[-1, -2, 3, -1], &[1, 1, 0, 0, 2, 1], &[-2, 1, 0, 2, -1, 2, 1, 1]] {
        let module = fx::trace_fn!(|x| x.pad_with(amounts, PadOptions::new().value(1.5)) * 2.0).unwrap();
        only_kernels(&module, &[2, 5, 6, 7]);
        let module = fx::trace_fn!(|x| x.permute([0, 3, 1, 2]).pad(amounts)).unwrap();
        only_kernels(&module, &[2, 5, 6, 7]);
        let module = fx::trace_fn!(|x| x.narrow(1, 1, 3).transpose(2, 3).pad(amounts)).unwrap();
        only_kernels(&module, &[2, 5, 6, 7]);
    }
    for mode in ["reflect", "replicate", "circular"] {
        let ways = [&[2, 1][..], &[3, 3, 4, 1], &[1, 0, 0, 2, 1, 1], &[-1, 2, 2, -3], &[0, 0, 0, 0, 0, 0, 1, 1]];
        for (amounts, batch) in ways.iter().flat_map(|amounts| [1, 3].map(|batch| (*amounts, batch))) {
            if batch == 1 && amounts.len() == 8 && mode == "reflect" {
                continue;
            }
            let module = fx::trace_fn!(|x| x.pad_with(amounts, PadOptions::new().mode(mode)) * 2.0).unwrap();
            only_kernels(&module, &[batch, 5, 6, 7]);
            let options = PadOptions::new().mode(mode);
            let module = fx::trace_fn!(|x| x.permute([0, 3, 1, 2]).pad_with(amounts, options)).unwrap();
            only_kernels(&module, &[batch, 6, 7, 5]);
        }
    }
    let images = nn::Conv2d::new(16, 20, 3).padding(1).padding_mode("reflect");
    let text = only_kernels(&filled(nn::Sequential::new((nn::Conv2d::new(16, 16, 1), images))), &[2, 16, 9, 7]);
    assert_eq!(text.matches("copy ").count(), 2, "images are copied between the first and the last step: {text}");
    // More runs than there are copies for.
    let many = fx::trace_fn!(|x| x.pad_with([30, 30, 30, 30], PadOptions::new().mode("reflect"))).unwrap();
    assert!(planned(&many, &Tensor::randn([2, 3, 40, 40])).contains("op pad"));
}

/// Zeros around what convolutions alone read, around what something else reads too, and other numbers.
#[traceable]
pub(super) struct Padded {
    first: nn::Conv2d,
    own: nn::Conv2d,
    gates: [nn::Conv2d; 2],
    wide: nn::Conv2d,
    last: nn::Conv2d,
    line: nn::Conv1d,
}

#[traceable]
impl Padded {
    pub(super) fn new() -> Self {
        let gate = || nn::Conv2d::new(32, 20, [2, 3]).dilation([2, 1]);
        Self {
            first: nn::Conv2d::new(3, 32, 3).stride(2),
            own: nn::Conv2d::new(32, 32, 3).padding(1).groups(32),
            gates: [gate(), gate()],
            wide: nn::Conv2d::new(20, 16, 3).padding("same"),
            last: nn::Conv2d::new(16, 24, 3),
            line: nn::Conv1d::new(24, 12, 3).padding(1),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.first.forward(x.pad([0, 1, 0, 1])).relu();
        let x = self.own.forward(x.pad([2, 0, 0, 1])).relu();
        let y = x.pad([0, 2, 2, 0]);
        let x = self.gates[0].forward(&y).tanh() * self.gates[1].forward(y).sigmoid();
        let x = self.wide.forward(x.pad([0, 0, 3, 1])).relu() + 0.1;
        let both = x.pad([1, 0, 0, 0]);
        let x = self.last.forward(&both) + both.amax_with(AmaxOptions::new().dim([1, 2, 3]).keepdim(true));
        let x = self.last.forward(x.narrow(1, 0, 16).pad_with([1, 1, 1, 1], PadOptions::new().value(0.5)));
        let lines = x.flatten_with(FlattenOptions::new().start_dim(2));
        let lines = self.line.forward(lines.narrow(1, 0, 22).pad([3, 0, 1, 1]));
        self.line.forward(lines.pad([0, 0, 6, 6])) + self.line.forward(lines.pad([0, 0, 0, 12]))
    }
}

#[test]
fn zeros_around_images_are_padding() {
    let module = filled(Padded::new());
    for batch in [1, 3] {
        let text = only_kernels(&module, &[batch, 3, 19, 21]);
        // Around what is reduced too, with other numbers, and around channels.
        assert_eq!(text.lines().filter(|line| line.contains("  pad  ")).count(), 5, "{text}");
    }
    // Wider than windows are.
    for size in [1, 3, 5, 7] {
        let conv = || nn::Conv2d::new(32, 32, size).padding(1);
        for conv in [conv(), conv().stride(2), conv().dilation(3), conv().groups(4), conv().groups(32)] {
            let module = filled(Wide { conv });
            assert!(!only_kernels(&module, &[2, 32, 17, 18]).contains("  pad  "), "{size}");
        }
    }
    // A weight that only a run knows has no kernel, and a sum that repeats is apart.
    let of_itself = fx::trace_fn!(|x| x.pad([2, 1]).conv1d(x.narrow(2, 0, 3), None)).unwrap();
    let text = planned(&of_itself, &Tensor::randn([2, 3, 8]));
    assert!(text.contains("op conv1d") && text.contains("  pad  "), "{text}");
    let repeated =
        filled(Repeated { conv: nn::Conv1d::new(3, 5, 3), places: Parameter::new(Tensor::zeros([2, 5, 8])) });
    let text = only_kernels(&repeated, &[1, 3, 8]);
    assert!(text.contains("conv 1x3") && text.contains("add"), "{text}");
}

#[traceable]
struct Wide {
    conv: nn::Conv2d,
}

#[traceable]
impl Wide {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.conv.forward(x.pad([9, 0, 0, 21])).relu()
    }
}

/// What is added has more images than the convolution.
#[traceable]
struct Repeated {
    conv: nn::Conv1d,
    places: Parameter,
}

#[traceable]
impl Repeated {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.conv.forward(x.pad([2, 0])) + &self.places
    }
}

/// Windows that overlap, or leave gaps, or begin in what is cut off; with and without numbers that are added at the end.
#[test]
fn transposed_convolutions_within_lines() {
    for (window, stride) in [(8, 4), (16, 8), (3, 2), (2, 3), (5, 1), (3, 3), (7, 2)] {
        for padding in [0, 1, 3, stride, stride + 1] {
            for added in [0, stride - 1] {
                let conv = nn::ConvTranspose1d::new(6, 5, window).stride(stride).padding(padding);
                let module = traced(&conv.output_padding(added).bias(added == 0));
                for batch in [1, 3] {
                    let text = planned(&module, &Tensor::randn([batch, 6, 9]));
                    // What is cut off may be more than windows reach.
                    assert!(padding >= window || !text.contains("  op "), "{text}");
                }
            }
        }
    }
    let lines = nn::ConvTranspose2d::new(18, 20, [3, 4]).stride([1, 2]).padding([1, 1]);
    let text = only_kernels(&traced(&lines), &[2, 18, 6, 7]);
    assert!(text.contains("conv transpose 3x4"), "{text}");
    // What needs other code.
    let conv = |window| nn::ConvTranspose1d::new(6, 6, window);
    for conv in [conv(4).stride(2).groups(2), conv(4).dilation(2)] {
        assert!(planned(&traced(&conv), &Tensor::randn([2, 6, 9])).contains("op conv_transpose1d"));
    }
    planned(&traced(&lines), &Tensor::randn([18, 6, 7]));
    planned(&traced(&conv(4).stride(2)), &Tensor::randn([6, 9]));
}

/// Windows that overlap in both dimensions, with what is cut off and added.
#[test]
fn transposed_convolutions_that_overlap() {
    for (window, stride) in
        [([4, 4], [2, 2]), ([3, 3], [2, 2]), ([5, 2], [3, 1]), ([2, 1], [3, 2]), ([4, 6], [2, 4]), ([7, 3], [2, 3])]
    {
        for padding in [[0, 0], [1, 1], [2, 0], [4, 1]] {
            for added in [[0, 0], [stride[0] - 1, stride[1] - 1]] {
                for outputs in [3, 18] {
                    let conv = nn::ConvTranspose2d::new(6, outputs, window).stride(stride).padding(padding);
                    let module = traced(&conv.output_padding(added).bias(added == [0, 0]));
                    for batch in [1, 3] {
                        let text = planned(&module, &Tensor::randn([batch, 6, 5, 7]));
                        // What is cut off may be more than windows reach.
                        let is_less = padding[0] < window[0] && padding[1] < window[1];
                        assert!(!is_less || !text.contains("  op "), "{text}");
                    }
                }
            }
        }
    }
    // What needs other code.
    let conv = |window| nn::ConvTranspose2d::new(6, 6, window);
    for conv in [conv(4).stride(2).groups(2), conv(4).stride(2).dilation(2)] {
        assert!(planned(&traced(&conv), &Tensor::randn([2, 6, 5, 5])).contains("op conv_transpose2d"));
    }
}

/// A weight may be that of a convolution too.
#[test]
fn transposed_convolutions_with_the_weight_of_another() {
    let weight = Tensor::randn([8, 8, 3]);
    let module = fx::trace_fn!(|x| {
        let weight = fx::Proxy::constant(&weight);
        x.conv_transpose1d(&weight, None).tanh().conv1d(weight, None)
    });
    only_kernels(&module.unwrap(), &[2, 8, 12]);
}

/// Images and their grid, and one of them known.
#[test]
fn images_sampled_at_places() {
    let (weight, image, grid) = (Tensor::randn([5, 4, 3, 3]), Tensor::randn([2, 3, 6, 7]), Tensor::randn([2, 3, 9, 2]));
    let module = fx::trace_fn!(|x| {
        let x = x.conv2d(fx::Proxy::constant(&weight), None).relu();
        let places = x.narrow(1, 0, 2).permute([0, 2, 3, 1]).tanh();
        let cubic = GridSampleOptions::new().mode("bicubic").padding_mode("reflection");
        let y = x.grid_sample(&places) + x.grid_sample_with(&places, cubic);
        let options = GridSampleOptions::new().mode("nearest").align_corners(true);
        let looked_up = fx::Proxy::constant(&image).grid_sample_with(places * 1.5, options);
        y.narrow(1, 0, 3) + looked_up + x.grid_sample(fx::Proxy::constant(&grid)).mean()
    });
    let text = only_kernels(&module.unwrap(), &[2, 4, 8, 9]);
    assert_eq!(text.lines().filter(|line| line.contains(" at 42 places")).count(), 3, "{text}");
    let volumes = fx::trace_fn!(|x| x.grid_sample(x.sin().permute([0, 2, 3, 4, 1])));
    only_kernels(&volumes.unwrap(), &[2, 3, 4, 5, 6]);
}

/// Many images are sampled a few at a time, as all else that is done with them.
#[test]
fn parts_of_a_batch_are_sampled() {
    let weight = Tensor::randn([32, 3, 3, 3]);
    let module = fx::trace_fn!(|x| {
        let x = x.conv2d(fx::Proxy::constant(&weight), None).relu();
        x.grid_sample(x.narrow(1, 0, 2).permute([0, 2, 3, 1])).amax_with(AmaxOptions::new().dim([2, 3]))
    });
    planned(&module.unwrap(), &Tensor::randn([6, 3, 130, 130]));
}
