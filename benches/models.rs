//! How fast whole models run: eagerly and by their plans, with the slowest steps of a plan on request.
//!
//! ```text
//! cargo bench --bench models [-- [--profile] [--plan] [--threads N] [--runs N] [model..]]
//! ```
//!
//! Times are medians, of as many runs as fit into a second or so. `tools/peers/run` holds the same models against other engines.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fx::nn::models::{self, Bert, BertConfig, DeepRecommender, DeepRecommenderConfig};
use fx::nn::models::{Gpt2Config, Gpt2LmHead, Mlp, MobileNetV2, MobileNetV2Config};
use fx::nn::models::{VisionTransformer, VisionTransformerConfig};
use fx::prelude::*;
use fx::{Arg, GraphModule, nn};

/// Two layers of 512 over 100 steps.
#[traceable]
struct Sequence {
    lstm: nn::LSTM,
}

#[traceable]
impl Sequence {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.lstm.forward(x, None).0
    }
}

/// A captured model, an input, and the model's eager run.
struct Work {
    module: GraphModule,
    input: Tensor,
    eager: Box<dyn Fn()>,
}

fn evaluate(model: &dyn Module) {
    model.set_training(false);
}

/// A model with one input, captured.
fn work<M>(model: M, input: Tensor, run: impl Fn(&M, &Tensor) + 'static) -> Work
where
    M: fx::Traceable<Static = ()> + 'static,
{
    evaluate(&model);
    let module = fx::trace(&model).unwrap_or_else(|error| panic!("{error}"));
    let x = input.clone();
    Work { module, input, eager: Box::new(move || run(&model, &x)) }
}

fn tokens(length: usize) -> Tensor {
    Tensor::from_vec([1, length], (0..length as i64).map(|i| 1000 + i).collect::<Vec<_>>())
}

fn bert(config: &BertConfig) -> Work {
    let model = Bert::new(config);
    evaluate(&model);
    let forms = fx::trace::InputForms::new().absent("attention_mask").absent("token_type_ids");
    let module = fx::trace_by(forms, &model, ()).unwrap_or_else(|error| panic!("{error}"));
    let input = tokens(128);
    let x = input.clone();
    Work {
        module,
        input,
        eager: Box::new(move || drop(black_box(model.forward(&x, None::<&Tensor>, None::<&Tensor>)))),
    }
}

/// A model's name, and how it is made.
type Entry = (&'static str, fn() -> Work);

const MODELS: &[Entry] = &[
    ("resnet50", || image(models::resnet50(1000), 1, |model, x| drop(black_box(model.forward(x))))),
    ("resnet50-8", || image(models::resnet50(1000), 8, |model, x| drop(black_box(model.forward(x))))),
    ("mobilenet_v2", || {
        image(MobileNetV2::new(&MobileNetV2Config::default()), 1, |model, x| drop(black_box(model.forward(x))))
    }),
    ("vit_b_16", || {
        image(VisionTransformer::new(&VisionTransformerConfig::vit_b_16()), 1, |model, x| {
            drop(black_box(model.forward(x)));
        })
    }),
    ("bert", || bert(&BertConfig::base())),
    ("minilm", || bert(&BertConfig::mini_lm_l6())),
    ("gpt2", || {
        work(Gpt2LmHead::new(&Gpt2Config::default()), tokens(128), |model, x| drop(black_box(model.forward(x))))
    }),
    ("recommender", || recommender(1)),
    ("recommender-16", || recommender(16)),
    ("recommender-64", || recommender(64)),
    ("lstm", || {
        let model = Sequence { lstm: nn::LSTM::new(512, 512).num_layers(2) };
        work(model, Tensor::randn([100, 1, 512]), |model, x| drop(black_box(model.forward(x))))
    }),
    ("mlp", || work(Mlp::new(&[32, 32, 10]), Tensor::randn([1, 32]), |model, x| drop(black_box(model.forward(x))))),
];

fn image<M>(model: M, batch: usize, run: impl Fn(&M, &Tensor) + 'static) -> Work
where
    M: fx::Traceable<Static = ()> + 'static,
{
    work(model, Tensor::randn([batch, 3, 224, 224]), run)
}

fn recommender(batch: usize) -> Work {
    let model = DeepRecommender::new(&DeepRecommenderConfig::default());
    work(model, Tensor::rand([batch, 17768]), |model, x| drop(black_box(model.forward(x))))
}

/// The median time of `f`, in microseconds, of so many runs, or as many as fit into a second or so.
fn median(runs: Option<usize>, mut f: impl FnMut()) -> f64 {
    f();
    f();
    let end = Instant::now() + Duration::from_millis(1200);
    let mut times = Vec::new();
    while runs.map_or(times.len() < 5 || Instant::now() < end, |runs| times.len() < runs.max(1)) {
        let start = Instant::now();
        f();
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let value = |flag: &str| args.iter().skip_while(|arg| *arg != flag).nth(1).and_then(|value| value.parse().ok());
    let (threads, runs): (Option<usize>, _) = (value("--threads"), value("--runs"));
    let chosen = |name: &str| !MODELS.iter().any(|(name, _)| has(name)) || has(name);
    println!("{:<16} {:>8} {:>14} {:>14}", "model", "threads", "plan, us", "eager, us");
    for (name, make) in MODELS.iter().filter(|(name, _)| chosen(name)) {
        let Work { module, input, eager } = make();
        for threads in threads.map_or(vec![1, 2], |threads| vec![threads]) {
            fx::set_num_threads(threads);
            let planned = median(runs, || drop(black_box(module.run(vec![Arg::Value(input.clone())]))));
            let eager = if has("--plan") || has("--profile") { f64::NAN } else { median(runs, &eager) };
            println!("{name:<16} {threads:>8} {planned:>14.1} {eager:>14.1}");
            if has("--profile") {
                println!("{}", module.profile(&input, 10).unwrap_or_else(|error| panic!("{error}")));
            }
        }
        if has("--plan") {
            println!("{}", module.plan(&input).unwrap_or_else(|error| panic!("{error}")));
        }
    }
}
