//! Batches of images that would leave the cache between two steps run in parts.

use fx::ops::{CatOptions, InterpolateOptions};
use fx::passes::{QConfigMapping, prepare_fx};
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter, nn};

/// Ways that part and meet, pooling, and what repeats over channels.
#[traceable]
struct Wide {
    first: nn::Conv2d,
    norm: nn::BatchNorm2d,
    second: nn::Conv2d,
    skip: nn::Conv2d,
    scale: Parameter,
    down: nn::Conv2d,
    head: nn::Linear,
}

#[traceable]
impl Wide {
    fn new() -> Self {
        Self {
            first: nn::Conv2d::new(16, 32, 3).padding(1),
            norm: nn::BatchNorm2d::new(32),
            second: nn::Conv2d::new(32, 32, 3).padding(1),
            skip: nn::Conv2d::new(16, 32, 1),
            scale: Parameter::new(Tensor::rand([32, 1, 1])),
            down: nn::Conv2d::new(32, 16, 3).stride(2),
            head: nn::Linear::new(16, 5),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.norm.forward(self.first.forward(x)).relu();
        let y = self.second.forward(y).gelu() * &self.scale + self.skip.forward(x);
        let y = self.down.forward(y.max_pool2d(2)).relu();
        self.head.forward(y.mean_dim([2, 3]))
    }
}

/// One convolution after the other.
#[traceable]
struct Images {
    convs: Vec<nn::Conv2d>,
}

#[traceable]
impl Images {
    fn new() -> Self {
        let conv = |(inputs, outputs)| nn::Conv2d::new(inputs, outputs, 3).padding(1);
        Self { convs: [(16, 64), (64, 64), (64, 16)].map(conv).into() }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.convs.iter().fold(x.relu(), |x, conv| conv.forward(x).relu())
    }
}

/// Images beside each other, pooled and stretched again, after something was added to their lines.
#[traceable]
struct Stretched {
    first: nn::Conv2d,
    lines: Parameter,
    below: nn::Conv2d,
    last: nn::Conv2d,
}

#[traceable]
impl Stretched {
    fn new() -> Self {
        Self {
            first: nn::Conv2d::new(16, 48, 3).padding(1),
            lines: Parameter::new(Tensor::randn([48, 96, 1])),
            below: nn::Conv2d::new(48, 48, 1),
            last: nn::Conv2d::new(96, 16, 3).padding(1),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = (self.first.forward(x) + &self.lines).sigmoid();
        let below = self.below.forward(x.max_pool2d([2, 2])).relu();
        let below = below.interpolate_with(InterpolateOptions::new().scale_factor([2.0, 2.0]));
        self.last.forward(Tensor::cat_with([x, below], CatOptions::new().dim(1)))
    }
}

/// Layers of many rows, of which a later one reads the first one's input too.
#[traceable]
struct Rows {
    layers: Vec<nn::Linear>,
    last: nn::Linear,
}

#[traceable]
impl Rows {
    fn new() -> Self {
        let layers = [(30, 256), (256, 256), (256, 256)].map(|(inputs, outputs)| nn::Linear::new(inputs, outputs));
        Self { layers: layers.into(), last: nn::Linear::new(286, 2) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.layers.iter().fold(x.clone(), |y, layer| layer.forward(y).relu());
        self.last.forward(Tensor::cat_with([x, &y], CatOptions::new().dim(1)))
    }
}

/// A captured model, whose plans are for as many threads on every machine: what stays in the cache depends on that.
fn traced<M: fx::Traceable<Static = ()>>(model: &M) -> GraphModule {
    fx::set_num_threads(2);
    (model as &dyn Module).set_training(false);
    fx::trace(model).unwrap()
}

#[track_caller]
fn check(module: &GraphModule, x: &Tensor) {
    let expected = Interpreter::<Tensor>::new(module).run(vec![Arg::Value(x.clone())]).unwrap();
    assert!(module.forward(x).unwrap().all_close(expected.as_value().unwrap(), 1e-3, 1e-4));
}

/// The lines of a printed plan that name parts.
fn parts(plan: &fx::compile::Plan) -> Vec<String> {
    plan.to_string().lines().filter(|line| line.contains("parts of the batch")).map(str::to_owned).collect()
}

#[test]
fn a_batch_in_parts_gives_what_it_gives_whole() {
    let module = traced(&Wide::new());
    let x = Tensor::randn([6, 16, 96, 96]);
    let plan = module.plan(&x).unwrap();
    assert_eq!(parts(&plan), ["steps 1 to 6 run for one of 3 parts of the batch after the other"], "{plan}");
    check(&module, &x);
    // Six images of 32 channels, of which three values live at once, would take three times that.
    assert!(plan.buffer_bytes() < 7 * 4 * 32 * 96 * 96, "{plan}");
    let whole = module.forward(&x).unwrap();
    fx::set_num_threads(1);
    assert_eq!(module.forward(&x).unwrap(), whole, "one thread gives another result");
    fx::set_num_threads(2);
    // An odd batch has parts of one image; a small one has none.
    for (batch, count) in [(5, 1), (1, 0)] {
        let x = x.narrow(0, 0, batch);
        assert_eq!(parts(&module.plan(&x).unwrap()).len(), count);
        let few = module.forward(&x).unwrap();
        assert!(few.all_close(&whole.narrow(0, 0, batch), 1e-4, 1e-5));
    }
    let profile = module.profile(&x, 2).unwrap();
    let slowest = profile.steps.iter().map(|step| step.seconds).fold(0.0, f64::max);
    assert!(profile.seconds() > slowest && profile.steps.iter().skip(1).all(|step| step.seconds > 0.0), "{profile}");
}

/// Rows of a matrix are a batch, of which no more than some hundred parts are made.
#[test]
fn rows_of_layers_in_parts() {
    let module = traced(&Rows::new());
    let x = Tensor::randn([1 << 14, 30]);
    let plan = module.plan(&x).unwrap();
    assert_eq!(parts(&plan), ["steps 1 to 5 run for one of 8 parts of the batch after the other"], "{plan}");
    // Of all rows three results would take eight times as much.
    assert!(plan.buffer_bytes() < 4 * (1 << 11) * (256 + 256 + 286) + (1 << 18), "{plan}");
    check(&module, &x);
    let whole = module.forward(&x).unwrap();
    fx::set_num_threads(1);
    assert_eq!(module.forward(&x).unwrap(), whole, "one thread gives another result");
    fx::set_num_threads(2);
    // A prime number of rows has no equal parts, and a single step would find nothing in the cache.
    let few = module.forward(x.narrow(0, 0, 16_381)).unwrap();
    assert!(few.all_close(&whole.narrow(0, 0, 16_381), 1e-4, 1e-5));
    let mut prepared = prepare_fx(&module, &QConfigMapping::new()).unwrap();
    prepared.forward(&x).unwrap();
    let (quantized, many) = (prepared.convert_fx().unwrap(), Tensor::randn([1 << 16, 30]));
    assert_eq!(parts(&quantized.plan(&many).unwrap()).len(), 1);
    let (all, few) = (quantized.forward(&many).unwrap(), quantized.forward(many.narrow(0, 60_000, 100)).unwrap());
    assert_eq!(all.narrow(0, 60_000, 100).contiguous(), few);
    let single = traced(&nn::Linear::new(256, 256));
    assert!(parts(&single.plan(Tensor::randn([1 << 14, 256])).unwrap()).is_empty());
}

#[test]
fn images_beside_each_other_in_parts() {
    let x = Tensor::randn([6, 16, 96, 96]);
    let module = traced(&Stretched::new());
    let mut prepared = prepare_fx(&module, &QConfigMapping::new()).unwrap();
    prepared.forward(x.narrow(0, 0, 2).contiguous()).unwrap();
    check(&module, &x);
    for module in [module, prepared.convert_fx().unwrap()] {
        let plan = module.plan(&x).unwrap();
        let text = plan.to_string();
        let in_parts = |step: &str| text.lines().any(|line| line.contains(step) && !line.contains("[6, "));
        assert!(parts(&plan).len() == 1 && in_parts("cat of 2") && in_parts("add + sigmoid"), "{plan}");
        let all = module.forward(&x).unwrap();
        for image in [0, 5] {
            let one = module.forward(x.narrow(0, image, 1).contiguous()).unwrap();
            let of_all = all.narrow(0, image, 1).contiguous();
            assert!(one.all_close(&of_all, 1e-4, 1e-5), "image {image}: {}", one.max_abs_diff(&of_all));
        }
    }
}

/// Bytes between layers of a batch in parts are as those of images on their own.
#[test]
fn bytes_in_parts() {
    let mut prepared = prepare_fx(&traced(&Images::new()), &QConfigMapping::new()).unwrap();
    let x = Tensor::randn([24, 16, 80, 80]);
    prepared.forward(x.narrow(0, 0, 2).contiguous()).unwrap();
    let module = prepared.convert_fx().unwrap();
    let plan = module.plan(&x).unwrap();
    let text = plan.to_string();
    if text.contains(" to bytes") {
        assert_eq!(parts(&plan).len(), 1, "{plan}");
        assert!(text.contains(" u8[") && !text.contains(" u8[24"), "{plan}");
    }
    let all = module.forward(&x).unwrap();
    for image in [0, 9, 23] {
        let one = module.forward(x.narrow(0, image, 1).contiguous()).unwrap();
        assert_eq!(one, all.narrow(0, image, 1).contiguous(), "image {image}");
    }
}

/// A value in parts may be the model's result, which stays what it is when the plan runs again.
#[test]
fn results_in_parts_stay_what_they_are() {
    let module = traced(&Images::new());
    let inputs = [0, 1].map(|_| Tensor::randn([4, 16, 80, 80]));
    let plan = module.plan(&inputs[0]).unwrap();
    assert_eq!(parts(&plan).len(), 1, "{plan}");
    let results = inputs.each_ref().map(|x| module.forward(x).unwrap());
    for (x, result) in inputs.iter().zip(&results) {
        check(&module, x);
        assert_eq!(module.forward(x).unwrap(), *result);
    }
}
