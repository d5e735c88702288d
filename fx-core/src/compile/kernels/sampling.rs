//! Images and volumes sampled at the places of a grid.

use std::sync::Arc;

use fx_kernels::sampling::{self, Sampling};
use smallvec::SmallVec;

use super::{Input, Kernel, Lowered, Operands, Site, Wanted, numbers};
use crate::compile::layout::Layout;
use crate::ops::{self, kind};
use crate::tensor::{DType, Dims, Tensor, numel};

/// Images and their grids, each known or the next value, and how many numbers there are for an image; the last are those of the result.
#[derive(Clone)]
struct Sampled {
    known: [Option<Tensor>; 2],
    batch: usize,
    numbers: [usize; 3],
    channels: usize,
    size: Dims,
    sampling: Sampling,
    text: String,
}

pub(super) fn grid_sample(site: &Site<'_>) -> Option<Lowered> {
    let mode = site.attribute::<kind::string>("mode", "bilinear".into())?;
    let padding_mode = site.attribute::<kind::string>("padding_mode", "zeros".into())?;
    let align_corners = site.attribute::<kind::flag>("align_corners", false)?;
    let inputs = [site.input(0)?, site.input(1)?];
    let [shape, places] = inputs.each_ref().map(|input| input.layout.shape.clone());
    let mut wanted = SmallVec::new();
    let known = inputs.map(|Input { layout, from }| {
        from.map(|register| wanted.push(Wanted::new(register, Layout::row_major(DType::F32, &layout.shape)))).err()
    });
    let kernel = Sampled {
        known,
        batch: shape[0],
        numbers: [&shape, &places, site.shape()].map(|shape| numel(&shape[1..])),
        channels: shape[1],
        size: Dims::from_slice(&shape[2..]),
        sampling: ops::sampling(&mode, &padding_mode, align_corners),
        text: format!("{mode} at {} places", numel(&site.shape()[2..])),
    };
    Some(Lowered::new(kernel, wanted, Layout::row_major(DType::F32, site.shape())))
}

impl Kernel for Sampled {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let values = &mut operands.iter();
        let [pixels, places, results] = self.numbers.map(|numbers| self.batch * numbers);
        let [x, grid] = self.known.each_ref().map(|known| numbers(known.as_ref(), values));
        let (x, grid) = (&x[..pixels], &grid[..places]);
        sampling::grid_sample(&mut out[..results], x, grid, self.channels, &self.size, self.sampling);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Self { batch: self.batch / count, ..self.clone() });
        let are_values = self.known.iter().all(Option::is_none);
        (are_values && self.batch.is_multiple_of(count)).then(|| part() as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
