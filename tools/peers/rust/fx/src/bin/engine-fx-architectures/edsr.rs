//! The small EDSR, which doubles the size of a picture: Lim et al. (2017).

use fx::nn::{self, Sequential};
use fx::prelude::*;

fn conv(i: usize, o: usize) -> nn::Conv2d {
    nn::Conv2d::new(i, o, 3).padding(1)
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Edsr {
    head: nn::Conv2d,
    body: Vec<Sequential<(nn::Conv2d, nn::ReLU, nn::Conv2d)>>,
    last: nn::Conv2d,
    up: nn::Conv2d,
    tail: nn::Conv2d,
}

#[traceable]
impl Edsr {
    pub(crate) fn new(width: usize, blocks: usize) -> Self {
        let block = |_| Sequential::new((conv(width, width), nn::ReLU::new(), conv(width, width)));
        Self {
            head: conv(3, width),
            body: (0..blocks).map(block).collect(),
            last: conv(width, width),
            up: conv(width, 4 * width),
            tail: conv(width, 3),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.head.forward(x);
        let mut y = x.clone();
        for block in &self.body {
            y = &y + block.forward(y.clone());
        }
        self.tail.forward(self.up.forward(x + self.last.forward(y)).pixel_shuffle(2))
    }
}
