//! The actor of LearningToPaint: Huang et al., "Learning to Paint With Model-based Deep Reinforcement Learning" (2019).
//!
//! It looks at the canvas, the target, the step and two coordinate channels (9 channels), and gives the parameters of
//! five strokes. Names are those of the authors' `ResNet`.

use fx::Tensor;
use fx::functional;
use fx_macros::traceable;

use crate::{BatchNorm2d, Conv2d, Linear};

fn conv3x3(in_planes: usize, out_planes: usize, stride: usize) -> Conv2d {
    Conv2d::new(in_planes, out_planes, 3).stride(stride).padding(1).bias(false)
}

/// Two 3x3 convolutions beside a shortcut.
#[traceable]
#[derive(Clone, Debug)]
pub struct PaintBlock {
    conv1: Conv2d,
    conv2: Conv2d,
    bn1: BatchNorm2d,
    bn2: BatchNorm2d,
    shortcut: Option<(Conv2d, BatchNorm2d)>,
}

#[traceable]
impl PaintBlock {
    fn new(in_planes: usize, planes: usize, stride: usize) -> Self {
        let shortcut = || (Conv2d::new(in_planes, planes, 1).stride(stride).bias(false), BatchNorm2d::new(planes));
        Self {
            conv1: conv3x3(in_planes, planes, stride),
            conv2: conv3x3(planes, planes, 1),
            bn1: BatchNorm2d::new(planes),
            bn2: BatchNorm2d::new(planes),
            shortcut: (stride != 1 || in_planes != planes).then(shortcut),
        }
    }

    /// `x`: `[N, in_planes, H, W]`; gives `[N, planes, H / stride, W / stride]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let out = self.bn1.forward(self.conv1.forward(x)).relu();
        let out = self.bn2.forward(self.conv2.forward(out));
        let shortcut = match &self.shortcut {
            Some((conv, bn)) => bn.forward(conv.forward(x)),
            None => x.clone(),
        };
        (out + shortcut).relu()
    }
}

/// The actor: a ResNet-18 without the first pooling, which halves its input five times.
#[traceable]
#[derive(Clone, Debug)]
pub struct PaintActor {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    layer1: Vec<PaintBlock>,
    layer2: Vec<PaintBlock>,
    layer3: Vec<PaintBlock>,
    layer4: Vec<PaintBlock>,
    fc: Linear,
}

#[traceable]
impl PaintActor {
    /// An actor for `num_inputs` channels (9 in the paper) and `num_outputs` actions (65: five strokes of 13).
    pub fn new(num_inputs: usize, num_outputs: usize) -> Self {
        let stage = |in_planes, planes| vec![PaintBlock::new(in_planes, planes, 2), PaintBlock::new(planes, planes, 1)];
        Self {
            conv1: conv3x3(num_inputs, 64, 2),
            bn1: BatchNorm2d::new(64),
            layer1: stage(64, 64),
            layer2: stage(64, 128),
            layer3: stage(128, 256),
            layer4: stage(256, 512),
            fc: Linear::new(512, num_outputs),
        }
    }

    /// `x`: `[N, num_inputs, 128, 128]`; gives actions in `(0, 1)`, `[N, num_outputs]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.bn1.forward(self.conv1.forward(x)).relu();
        for block in [&self.layer1, &self.layer2, &self.layer3, &self.layer4].into_iter().flatten() {
            x = block.forward(x);
        }
        let x = functional::avg_pool2d(x, 4);
        let batch = x.size(0);
        self.fc.forward(x.view((batch, -1))).sigmoid()
    }
}

impl Default for PaintActor {
    /// The paper's actor.
    fn default() -> Self {
        Self::new(9, 65)
    }
}
