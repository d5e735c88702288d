//! Images and lines made larger or smaller.

use std::sync::Arc;

use fx_kernels::copy::copy;
use fx_kernels::resize::{self, Between};
use smallvec::smallvec;

use super::{Kernel, Lowered, Operands, Site, Wanted};
use crate::compile::layout::Layout;
use crate::ops::{Lines, kind};
use crate::tensor::{DType, Dims};

/// Copies every element to a block of the result.
#[derive(Clone)]
struct Nearest {
    /// For each spatial dimension one of blocks and one within a block.
    shape: Dims,
    from: Dims,
    to: Dims,
    factors: Dims,
}

pub(super) fn interpolate(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let given = site.attribute::<kind::opt_floats>("scale_factor", None)?;
    let align_corners = site.attribute::<kind::opt_flag>("align_corners", None)?;
    let lines = Lines::of(&input.shape, site.shape(), given.as_deref(), align_corners);
    let mode = site.attribute::<kind::string>("mode", "nearest".into())?;
    match &*mode {
        "nearest" => nearest(site, input, register, &lines),
        "linear" | "bilinear" => Some(linear(site, input, register, &lines)),
        _ => None,
    }
}

/// Resampling to the nearest element, by whole factors.
fn nearest(site: &Site<'_>, input: &Layout, register: usize, lines: &[Lines]) -> Option<Lowered> {
    let output = Layout::images(DType::F32, site.shape(), input.has_channels_last());
    let mut kernel = Nearest {
        shape: Dims::from_slice(&input.shape[..2]),
        from: Dims::from_slice(&input.strides[..2]),
        to: Dims::from_slice(&output.strides[..2]),
        factors: Dims::new(),
    };
    for (dim, line) in (2..).zip(lines) {
        let factor = output.shape[dim] / input.shape[dim];
        if line.nearest(false, false).iter().enumerate().any(|(i, place)| i.checked_div(factor) != Some(*place)) {
            return None;
        }
        kernel.factors.push(factor);
        kernel.shape.extend([input.shape[dim], factor]);
        kernel.from.extend([input.strides[dim], 0]);
        kernel.to.extend([factor * output.strides[dim], output.strides[dim]]);
    }
    Some(Lowered::new(kernel, smallvec![Wanted::new(register, input.clone())], output))
}

/// Each pixel between four others, or between two of a line.
#[derive(Clone)]
struct Linear {
    batch: usize,
    channels: usize,
    size: [usize; 2],
    rows: Vec<Between>,
    columns: Vec<Between>,
}

fn linear(site: &Site<'_>, input: &Layout, register: usize, lines: &[Lines]) -> Lowered {
    let between = |line: &Lines| line.between().into_iter().map(|(a, b, weight)| (a, b, weight as f32)).collect();
    // A line is an image of one row.
    let (rows, height) = match lines {
        [rows, _] => (between(rows), input.shape[2]),
        _ => (vec![(0, 0, 0.0)], 1),
    };
    let columns = lines.last().map(between).unwrap_or_default();
    let width = input.shape.last().copied().unwrap_or(1);
    let kernel = Linear { batch: input.shape[0], channels: input.shape[1], size: [height, width], rows, columns };
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    Lowered::new(kernel, smallvec![wanted], Layout::channels_last(DType::F32, site.shape()))
}

impl Kernel for Linear {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let [height, width] = self.size;
        let x = &operands[0].unwrap_or(&[])[..self.batch * height * width * self.channels];
        resize::bilinear(out, x, self.size, self.channels, &self.rows, &self.columns);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Self { batch: self.batch / count, ..self.clone() });
        self.batch.is_multiple_of(count).then(|| part() as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        let [height, width] = self.size;
        format!("linear, {height}x{width} to {}x{}", self.rows.len(), self.columns.len())
    }
}

impl Kernel for Nearest {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        copy(out, &self.to, operands[0].unwrap_or(&[]), &self.from, &self.shape);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let mut part = self.clone();
        part.shape[0] /= count;
        self.shape[0].is_multiple_of(count).then(|| Arc::new(part) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        let factors: Vec<String> = self.factors.iter().map(ToString::to_string).collect();
        format!("nearest, {} times as large", factors.join("x"))
    }
}
