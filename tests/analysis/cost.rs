//! Operations, bytes, parameters, memory and time.

use fx::passes::{Bound, Device, cost, infer_shapes, peak_memory, peak_memory_of, roofline, timeline};
use fx::prelude::*;
use fx::value::Dim;
use fx::{Interpreter, Meta, nn};

use super::{check, image, images, small};

#[test]
fn a_table_of_nodes() {
    let report = cost(&small(), [image(1, 32)]).unwrap();
    check(
        &report,
        "\
node       target        FLOP   read B  written B  params  FLOP/B
---------  ---------  -------  -------  ---------  ------  ------
stem_conv  stem.conv  55.30 k  12.74 k       4096     112    3.29
stem_bn    stem.bn       5120     4168       4096       8    0.62
relu       relu          1024     4096       4096       -    0.12
mean       mean          1024     4096         16       -    0.25
fc         fc              16       56          8      10    0.25
total                 62.48 k  25.15 k    12.31 k     130    1.67",
    );
}

#[test]
fn a_table_of_modules() {
    let report = cost(&small(), [image(1, 32)]).unwrap();
    check(
        report.module_table(1),
        "\
module     FLOP   read B  written B  params  FLOP/B
------  -------  -------  ---------  ------  ------
stem    61.44 k  21.00 k    12.29 k     120    1.85
(root)     1024     4096         16       -    0.25
fc           16       56          8      10    0.25
total   62.48 k  25.15 k    12.31 k     130    1.67",
    );
    let paths: Vec<_> = report.by_module(2).into_keys().collect();
    assert_eq!(paths, ["stem.conv", "stem.bn", "stem", "", "fc"]);
}

#[test]
fn costs_may_be_symbolic() {
    let total = cost(&small(), [images()]).unwrap().total();
    check(&total.flops, "61*H*N*W + 16*N");
    let known = total.flops.substitute(&|name| Some(if name == "N" { Dim::from(1) } else { Dim::from(32) }));
    assert_eq!(known, cost(&small(), [image(1, 32)]).unwrap().total().flops);
}

/// The figures of torchvision's documentation: 4.09 G multiply-adds, 25.6 M parameters.
#[test]
fn the_cost_of_resnet50() {
    let model = nn::models::resnet50(1000);
    model.eval();
    let module = fx::trace(&model).unwrap();
    let report = cost(&module, [image(1, 224)]).unwrap();
    assert_eq!(report.total().parameters(), 25_557_032);
    let products: Dim = report
        .nodes
        .iter()
        .filter(|node| node.name.contains("conv") || node.name.contains("downsample_0") || node.name == "fc")
        .map(|node| node.cost.flops.clone())
        .sum();
    assert_eq!(products, Dim::from(2 * 4_089_184_256_i64));
    // Without leaf modules the functions are nodes, and the operations are the same.
    let flat = fx::trace_by(fx::trace::Leaves::None, &model, ()).unwrap();
    assert_eq!(cost(&flat, [image(1, 224)]).unwrap().total().flops, report.total().flops);
    assert_eq!(cost(&flat, [image(1, 224)]).unwrap().total().parameters(), 25_557_032);
}

#[test]
fn shared_parameters_count_once() {
    let linear = nn::Linear::new(4, 4);
    let module = fx::trace_fn!(|x| linear.forward(linear.forward(x))).unwrap();
    let report = cost(&module, [Meta::tensor([1, 4], DType::F32)]).unwrap();
    assert_eq!(report.nodes.iter().map(|node| node.cost.parameters()).sum::<usize>(), 40);
    assert_eq!(report.total().parameters(), 20);
}

#[test]
fn views_cost_nothing() {
    let module = fx::trace_fn!(|x| x.reshape([2, 8]).transpose(0, 1)).unwrap();
    let total = cost(&module, [Meta::tensor([4, 4], DType::F32)]).unwrap().total();
    assert!(!total.is_work());
    assert_eq!(total.intensity(), None);
}

/// x (16 B) lives throughout; relu and its view die at `exp`, where both and the result live.
#[test]
fn the_peak_of_a_schedule() {
    let mut module = fx::trace_fn!(|x| x.relu().reshape([4]).exp().sum()).unwrap();
    infer_shapes(&mut module, [Meta::tensor([2, 2], DType::F32)]).unwrap();
    let profile = peak_memory(&module).unwrap();
    let live: Vec<_> = profile.live.iter().map(|(_, bytes)| *bytes).collect();
    assert_eq!(live, [16, 32, 32, 48, 36, 20]);
    check(
        &profile,
        "peak: 48 B of values at %exp, and 0 B of state\nvalue   B\n-----  --\nx      16\nrelu   16\nexp    16",
    );
}

#[test]
fn another_schedule_needs_less() {
    // Both large values first, or each reduced before the next is made.
    let mut module = fx::trace_fn!(|x| {
        let (a, b) = (x.exp(), x.neg());
        a.sum() + b.sum()
    })
    .unwrap();
    infer_shapes(&mut module, [Meta::tensor([100], DType::F32)]).unwrap();
    assert_eq!(peak_memory(&module).unwrap().peak, 1204);
    let find = |name: &str| module.graph().find(name).unwrap();
    let order = ["x", "exp", "sum", "neg", "sum_1", "add", "output"].map(find);
    assert_eq!(peak_memory_of(&module, &order).unwrap().peak, 808);
    let error = peak_memory_of(&module, &order[1..]).unwrap_err();
    check(error, "%exp comes before its input %x in the schedule");
    let error = peak_memory_of(&module, &order[..3]).unwrap_err();
    check(error, "the schedule has 3 of 7 nodes");
}

#[test]
fn memory_needs_known_sizes() {
    let mut module = small();
    let error = peak_memory(&module).unwrap_err().to_string();
    assert!(error.starts_with("the size of %x is not known: no shape was propagated"), "{error}");
    infer_shapes(&mut module, [images()]).unwrap();
    let error = peak_memory(&module).unwrap_err().to_string();
    assert!(error.starts_with("the size of %x is not known: f32[N, 3, H, W]"), "{error}");
}

#[test]
fn a_roofline_says_what_limits() {
    let device = Device { name: "small CPU".into(), flops: 1e11, bandwidth: 2e10, overhead: 1e-6 };
    let model = nn::models::resnet50(1000);
    model.eval();
    let report = cost(&fx::trace(&model).unwrap(), [image(1, 224)]).unwrap();
    let estimate = roofline(&report, &device).unwrap();
    let bound = |name: &str| estimate.nodes.iter().find(|node| node.name == name).unwrap().bound;
    assert_eq!(bound("layer2_0_conv2"), Bound::Compute);
    assert_eq!(bound("relu"), Bound::Memory);
    assert!((0.08..0.12).contains(&estimate.seconds()), "{}", estimate.seconds());
    assert!(estimate.to_string().starts_with("small CPU: 100.00 GFLOP/s, 20.00 GB/s, "), "{estimate}");
    let error = roofline(&cost(&small(), [images()]).unwrap(), &device).unwrap_err().to_string();
    assert!(error.contains("is symbolic") && error.contains("help: "), "{error}");
    assert!(roofline(&report, &Device { flops: 0.0, ..device }).is_err());
}

#[test]
fn a_timeline_is_a_chrome_trace() {
    let module = small();
    let line = timeline(&module, Tensor::ones([2, 3, 32, 32]), 3).unwrap();
    let names: Vec<_> = line.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["stem_conv", "stem_bn", "relu", "mean", "fc"]);
    assert!(line.events.iter().all(|event| event.seconds > 0.0));
    let trace: serde_json::Value = serde_json::from_str(&line.chrome_trace()).unwrap();
    let spans = trace["traceEvents"].as_array().unwrap();
    let of = |name: &str| {
        let span = spans.iter().find(|span| span["name"] == name).unwrap();
        let (start, length) = (span["ts"].as_f64().unwrap(), span["dur"].as_f64().unwrap());
        (start, start + length)
    };
    let (outer, inner) = (of("stem"), of("relu"));
    assert!(outer.0 <= inner.0 && inner.1 <= outer.1 + 1e-6, "a module is around its nodes");
    assert!(spans.iter().all(|span| span["ph"] == "X" && span["pid"] == 1));
    assert!(line.to_string().contains("in all\nnode"), "{line}");
    assert!(timeline(&module, Tensor::ones([2, 3, 32, 32]), 0).is_err());
}

#[test]
fn costs_follow_what_runs() {
    // A model inside a model counts as if it were inlined.
    let inner = small();
    let report = cost(&inner, [image(1, 32)]).unwrap();
    let outer = fx::passes::split_module(&inner, |_, _| 0).unwrap();
    assert_eq!(cost(&outer, [image(1, 32)]).unwrap().total().flops, report.total().flops);
    let x = Tensor::ones([1, 3, 32, 32]);
    let run = Interpreter::new(&outer).run(vec![fx::Arg::Value(x.clone())]).unwrap();
    assert_eq!(run, fx::Arg::Value(inner.forward(&x).unwrap()));
}
