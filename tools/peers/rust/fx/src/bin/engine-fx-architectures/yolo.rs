//! The backbone of YOLOv8n, with its pyramid of poolings.

use fx::nn;
use fx::ops::{CatOptions, MaxPool2dOptions};
use fx::prelude::*;

type Conv = nn::Sequential<(nn::Conv2d, nn::BatchNorm2d, nn::SiLU)>;

fn conv(i: usize, o: usize, k: usize, s: usize) -> Conv {
    nn::Sequential::new((
        nn::Conv2d::new(i, o, k).stride(s).padding(k / 2).bias(false),
        nn::BatchNorm2d::new(o),
        nn::SiLU::new(),
    ))
}

#[traceable]
#[derive(Clone)]
struct Bottleneck {
    cv1: Conv,
    cv2: Conv,
}

#[traceable]
impl Bottleneck {
    fn new(c: usize) -> Self {
        Self { cv1: conv(c, c, 3, 1), cv2: conv(c, c, 3, 1) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        x + self.cv2.forward(self.cv1.forward(x))
    }
}

#[traceable]
#[derive(Clone)]
struct C2f {
    cv1: Conv,
    cv2: Conv,
    m: Vec<Bottleneck>,
}

#[traceable]
impl C2f {
    fn new(i: usize, o: usize, n: usize) -> Self {
        let c = o / 2;
        Self { cv1: conv(i, o, 1, 1), cv2: conv((2 + n) * c, o, 1, 1), m: (0..n).map(|_| Bottleneck::new(c)).collect() }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut y = self.cv1.forward(x).chunk::<2>(1).to_vec();
        for m in &self.m {
            y.push(m.forward(y.last().unwrap()));
        }
        self.cv2.forward(Tensor::cat_with(y, CatOptions::new().dim(1)))
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Yolo {
    layers: nn::Sequential<(Conv, Conv, C2f, Conv, C2f, Conv, C2f, Conv, C2f)>,
    cv1: Conv,
    cv2: Conv,
}

#[traceable]
impl Yolo {
    pub(crate) fn new() -> Self {
        Self {
            layers: nn::Sequential::new((
                conv(3, 16, 3, 2),
                conv(16, 32, 3, 2),
                C2f::new(32, 32, 1),
                conv(32, 64, 3, 2),
                C2f::new(64, 64, 2),
                conv(64, 128, 3, 2),
                C2f::new(128, 128, 2),
                conv(128, 256, 3, 2),
                C2f::new(256, 256, 1),
            )),
            cv1: conv(256, 128, 1, 1),
            cv2: conv(512, 256, 1, 1),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let pool = MaxPool2dOptions::new().stride(1).padding(2);
        let x = self.cv1.forward(self.layers.forward(x));
        let y1 = x.max_pool2d_with(5, pool.clone());
        let y2 = y1.max_pool2d_with(5, pool.clone());
        let y3 = y2.max_pool2d_with(5, pool.clone());
        self.cv2.forward(Tensor::cat_with([x, y1, y2, y3], CatOptions::new().dim(1)))
    }
}
