use fx::passes::{decompose_modules, reorder_avg_pools};
use fx::prelude::*;
use fx::{GraphModule, nn};

use super::check_close;
use super::fill::{fill, floats};

/// A layer of modules as functions, and the calls after the pass, which must not do more when it is run again.
#[track_caller]
fn check(layers: impl nn::Layers, shape: &[usize], wanted: &[&str]) {
    let layers = nn::Sequential::new(layers);
    fill(&layers);
    let mut before = fx::trace(&layers).unwrap();
    decompose_modules(&mut before).unwrap();
    let mut after = before.clone();
    let count = reorder_avg_pools(&mut after).unwrap();
    after.graph().lint_with(after.state()).unwrap();
    assert_eq!(calls(&after), wanted, "{}", after.graph());
    assert_eq!(count, usize::from(calls(&before) != wanted));
    assert_eq!(reorder_avg_pools(&mut after).unwrap(), 0);
    check_close(&before, &after, std::slice::from_ref(&floats("x", shape)), 1e-5, 1e-6);
}

fn calls(module: &GraphModule) -> Vec<&'static str> {
    module.graph().nodes().filter_map(|(_, node)| node.function()).map(|function| function.name()).collect()
}

const POOL_FIRST: [&str; 3] = ["avg_pool2d", "conv2d", "relu"];
const CONV_FIRST: [&str; 3] = ["conv2d", "avg_pool2d", "relu"];
const BIAS_LAST: [&str; 5] = ["conv2d", "avg_pool2d", "view", "add", "relu"];

#[test]
fn fewer_pixels_are_multiplied() {
    let conv = || nn::Conv2d::new(12, 8, 1);
    let pools = [
        nn::AvgPool2d::new(2),
        nn::AvgPool2d::new(2).ceil_mode(true),
        nn::AvgPool2d::new(3).stride(2).padding(1).count_include_pad(false),
    ];
    for pool in pools {
        check((conv(), pool, nn::ReLU::new()), &[2, 12, 7, 9], &POOL_FIRST);
    }
    let around = || nn::AvgPool2d::new(3).stride(2).padding(1);
    check((conv().bias(false), around(), nn::ReLU::new()), &[2, 12, 7, 9], &POOL_FIRST);
    // The bias would be pooled with zeros around it.
    check((conv(), around(), nn::ReLU::new()), &[2, 12, 7, 9], &CONV_FIRST);
    check((conv(), nn::AvgPool2d::new(2).divisor_override(3), nn::ReLU::new()), &[2, 12, 7, 9], &CONV_FIRST);
}

#[test]
fn windows_that_overlap_have_fewer_channels() {
    let around = || nn::AvgPool2d::new(3).stride(1).padding(1);
    let conv = || nn::Conv2d::new(12, 4, 1);
    check((around(), conv(), nn::ReLU::new()), &[2, 12, 7, 9], &BIAS_LAST);
    check((around(), conv().bias(false), nn::ReLU::new()), &[2, 12, 7, 9], &CONV_FIRST);
    let inside = around().count_include_pad(false);
    check((inside, conv(), nn::ReLU::new()), &[2, 12, 7, 9], &CONV_FIRST);
    let divided = around().divisor_override(5);
    check((divided, conv().groups(4), nn::ReLU::new()), &[2, 12, 7, 9], &BIAS_LAST);
    check((around(), nn::Conv2d::new(12, 10, 1), nn::ReLU::new()), &[2, 12, 7, 9], &POOL_FIRST);
    // Without a batch.
    check((around(), conv(), nn::ReLU::new()), &[12, 7, 9], &BIAS_LAST);
}

#[test]
fn all_pixels_are_one_before_they_are_multiplied() {
    let head = |size: usize| (nn::Conv1d::new(6, 12, 1), nn::AdaptiveAvgPool1d::new(size));
    check(head(1), &[2, 6, 9], &["adaptive_avg_pool1d", "conv1d"]);
    let few = (nn::AdaptiveAvgPool1d::new(1), nn::Conv1d::new(64, 1, 1));
    check(few, &[2, 64, 9], &["adaptive_avg_pool1d", "conv1d"]);
    // There may be no more than that.
    check(head(3), &[2, 6, 9], &["conv1d", "adaptive_avg_pool1d"]);
    let volumes = (nn::Conv3d::new(6, 12, 1), nn::AdaptiveAvgPool3d::new(1));
    check(volumes, &[2, 6, 3, 4, 5], &["adaptive_avg_pool3d", "conv3d"]);
}

#[test]
fn what_sees_more_than_a_pixel_stays() {
    for conv in [nn::Conv2d::new(12, 8, 3), nn::Conv2d::new(12, 8, 1).stride(2), nn::Conv2d::new(12, 8, 1).padding(1)] {
        check((conv, nn::AvgPool2d::new(2), nn::ReLU::new()), &[2, 12, 7, 9], &CONV_FIRST);
    }
}

/// A pair that has changed places stands beside a third.
#[test]
fn means_go_before_several() {
    let layers = nn::Sequential::new((nn::Conv2d::new(6, 12, 1), nn::Conv2d::new(12, 8, 1), nn::AvgPool2d::new(2)));
    fill(&layers);
    let mut module = fx::trace(&layers).unwrap();
    decompose_modules(&mut module).unwrap();
    assert_eq!(reorder_avg_pools(&mut module).unwrap(), 2);
    assert_eq!(calls(&module), ["avg_pool2d", "conv2d", "conv2d"]);
}

/// What else reads the value in between would have nothing to read.
#[traceable]
struct Shared {
    conv: nn::Conv2d,
}

#[traceable]
impl Shared {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv.forward(x);
        x.avg_pool2d([2, 2]) + x.max_pool2d([2, 2])
    }
}

#[test]
fn what_is_used_twice_stays() {
    let mut module = fx::trace(&Shared { conv: nn::Conv2d::new(12, 8, 1) }).unwrap();
    decompose_modules(&mut module).unwrap();
    assert_eq!(reorder_avg_pools(&mut module).unwrap(), 0);
}
