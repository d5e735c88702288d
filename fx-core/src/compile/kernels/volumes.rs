//! Convolutions and pooling of volumes with the channels last.

use std::sync::Arc;

use fx_kernels::dense::{ConvShape, VolumeConv, VolumeShape};
use fx_kernels::elementwise::Unary;
use smallvec::smallvec;

use super::conv::window;
use super::product::Follow;
use super::{Kernel, Lowered, Operands, Site, Wanted, by, kept, saved};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, numel};

/// A convolution of volumes with what follows it.
#[derive(Clone)]
struct Conv {
    packed: Arc<VolumeConv>,
    follow: Follow,
    batch: usize,
    input: [usize; 3],
}

pub(super) fn conv(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (weight, weight_shape) = site.weight(1)?;
    let [batch, inputs, depth, height, width] = *input.shape else { return None };
    let [outputs, _, kd, kh, kw] = *weight_shape else { return None };
    let [stride, dilation, around] = window(site, [kd, kh, kw])?;
    let before = around.map(|amount| amount / 2);
    let of_frame = |sizes: [usize; 3]| [sizes[1], sizes[2]];
    let frame = ConvShape {
        inputs,
        outputs,
        kernel: [kh, kw],
        stride: of_frame(stride),
        dilation: of_frame(dilation),
        before: of_frame(before),
        after: [1, 2].map(|i| around[i] - before[i]),
        groups: usize::try_from(site.attribute::<kind::int>("groups", 1)?).ok()?,
    };
    let (before, after) = (before[0], around[0] - before[0]);
    let shape = VolumeShape { frame, depth: kd, stride: stride[0], dilation: dilation[0], before, after };
    let packed = site.packs.volumes(weight, shape, batch * shape.output([depth, height, width])[0], [height, width])?;
    let kernel = Conv { packed, follow: Follow::of(site, 2)?, batch, input: [depth, height, width] };
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    Some(Lowered::new(kernel, smallvec![wanted], Layout::channels_last(DType::F32, site.shape())))
}

impl Kernel for Conv {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let ConvShape { inputs, outputs, .. } = self.packed.shape().frame;
        let data = &operands[0].unwrap_or(&[])[..self.batch * numel(&self.input) * inputs];
        self.packed.run(out, data, self.batch, self.input, &self.follow.epilogue(None, outputs));
    }

    fn describe(&self) -> String {
        let VolumeShape { frame, depth, stride, .. } = *self.packed.shape();
        let ([height, width], [down, across]) = (frame.kernel, frame.stride);
        let steps = match (stride, down, across) {
            (1, 1, 1) => String::new(),
            _ if stride == down && down == across => format!("/{stride}"),
            _ => format!("/{stride}x{down}x{across}"),
        };
        let groups = if frame.groups == 1 { String::new() } else { format!(" of {} groups", frame.groups) };
        let pixels = self.batch * numel(&self.packed.shape().output(self.input)[1..]);
        let (by, kept) = (by(self.packed.algorithm(pixels)), kept(self.packed.format()));
        format!("conv {depth}x{height}x{width}{steps}{groups}{by}{kept}{}", self.follow.describe(false))
    }

    fn bytes_saved(&self) -> usize {
        saved(self.packed.format(), self.packed.bytes())
    }

    fn weights(&self) -> usize {
        self.packed.bytes()
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Self { batch: self.batch / count, ..self.clone() });
        self.batch.is_multiple_of(count).then(|| part() as Arc<dyn Kernel>)
    }

    fn followed(&self, function: Unary) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { follow: self.follow.then(function)?, ..self.clone() }))
    }
}
