//! Windows of images as columns, and images as sums of their windows.

use fx_kernels::threads::for_each_piece;
use smallvec::SmallVec;

use super::transpose::add_windows;
use super::window::{Plane, lift};
use crate::error::{Error, Result};
use crate::ops::shape::{require_equal, require_float, require_ndim};
use crate::ops::wide::{in_floats, wide};
use crate::tensor::{Dims, Tensor, numel};
use crate::value::{Dim, Shape, TensorMeta};

type Pair = [usize; 2];

/// How many windows there are along each dimension of an image.
fn windows(image: [&Dim; 2], kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Result<[Dim; 2]> {
    if [kernel, dilation, stride].iter().any(|steps| steps.contains(&0)) {
        return Err(Error::argument("`kernel_size`, `dilation` and `stride` must be at least 1"));
    }
    let along = |i: usize| {
        let span = dilation[i] * (kernel[i] - 1) + 1;
        let room = image[i] + (2 * padding[i]) as i64 - span as i64;
        if room.as_int().is_some_and(|room| room < 0) {
            return Err(Error::shape(format!(
                "a window spans {span}, more than an image of {} with its padding",
                image[i]
            ))
            .help("pad more, or take a smaller kernel or dilation"));
        }
        Ok(room.floor_div(&Dim::from(stride[i])) + 1)
    };
    Ok([along(0)?, along(1)?])
}

pub(super) fn im2col_shape(
    x: &TensorMeta,
    kernel: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 3..=4, "4 or, without a batch, 3")?;
    let channels = x.ndim() - 3;
    let [height, width] = windows([&x.shape[channels + 1], &x.shape[channels + 2]], kernel, dilation, padding, stride)?;
    let mut shape = Shape::from(&x.shape[..channels]);
    shape.extend([&x.shape[channels] * (kernel[0] * kernel[1]) as i64, height * width]);
    Ok(TensorMeta { shape, dtype: x.dtype })
}

pub(super) fn fold_shape(
    x: &TensorMeta,
    size: SmallVec<[Dim; 6]>,
    kernel: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 2..=3, "3 or, without a batch, 2")?;
    let ([height, width] | [height @ width]) = &size[..] else {
        return Err(Error::argument(format!("`output_size` is a height and a width, found {} numbers", size.len())));
    };
    if [height, width].iter().any(|size| size.as_int().is_some_and(|size| size < 1)) {
        return Err(Error::argument(format!("`output_size` must be at least 1, found {height} and {width}")));
    }
    let [rows, columns] = windows([height, width], kernel, dilation, padding, stride)?;
    let rest = x.ndim() - 2;
    let (have, want, taps) = (&x.shape[rest + 1], &rows * &columns, (kernel[0] * kernel[1]) as i64);
    require_equal(have, &want, || {
        format!("the input has {have} windows, an image of {height} by {width} has {rows} * {columns} = {want}")
    })?;
    if x.shape[rest].as_int().is_some_and(|channels| channels % taps != 0) {
        let [h, w] = kernel;
        return Err(Error::shape(format!(
            "dimension {rest} of {x} is no multiple of the {h} * {w} elements of a window"
        )));
    }
    let mut shape = Shape::from(&x.shape[..rest]);
    shape.extend([x.shape[rest].floor_div(&Dim::Int(taps)), height.clone(), width.clone()]);
    Ok(TensorMeta { shape, dtype: x.dtype })
}

/// The walk of windows over an image.
fn plane(image: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Plane {
    let along = |i: usize| (image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
    Plane {
        input: lift(image, 1),
        output: lift([along(0), along(1)], 1),
        kernel: lift(kernel, 1),
        stride: lift(stride, 1),
        dilation: lift(dilation, 1),
        before: lift(padding, 0),
    }
}

pub(super) fn im2col(x: &Tensor, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Result<Tensor> {
    let [lead @ .., channels, height, width] = x.shape() else { return Ok(x.clone()) };
    let plane = plane([*height, *width], kernel, dilation, padding, stride);
    let (inputs, outputs) = (channels * plane.inputs(), channels * plane.taps() * plane.outputs());
    let mut shape = Dims::from_slice(lead);
    shape.extend([channels * plane.taps(), plane.outputs()]);
    let wide = x.to_dtype(wide(x.dtype())).contiguous();
    let out = in_floats!(x.dtype(), T => {
        let elements = wide.as_slice::<T>().unwrap_or(&[]);
        Tensor::written(&shape, |out: &mut [T]| {
            let images = elements.chunks_exact(inputs.max(1)).zip(out.chunks_exact_mut(outputs.max(1)));
            images.for_each(|(x, out)| plane.columns(x, 0..plane.output[1], out));
        })
    });
    Ok(out.to_dtype(x.dtype()))
}

pub(super) fn fold(
    x: &Tensor,
    size: SmallVec<[i64; 6]>,
    kernel: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
) -> Result<Tensor> {
    let image = [size[0] as usize, size[size.len() - 1] as usize];
    let plane = plane(image, kernel, dilation, padding, stride);
    let [lead @ .., columns, _] = x.shape() else { return Ok(x.clone()) };
    let mut shape = Dims::from_slice(lead);
    shape.extend([columns / plane.taps(), image[0], image[1]]);
    let wide = x.to_dtype(wide(x.dtype())).contiguous();
    let out = in_floats!(x.dtype(), T => {
        let elements = wide.as_slice::<T>().unwrap_or(&[]);
        let mut out = vec![T::default(); numel(&shape)];
        let size = plane.taps() * plane.outputs();
        for_each_piece(&mut out, plane.inputs(), elements.len() * 4, |channel, out| {
            add_windows(&plane, &elements[channel * size..][..size], out);
        });
        Tensor::from_vec(&shape, out)
    });
    Ok(out.to_dtype(x.dtype()))
}
