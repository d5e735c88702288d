//! Images sampled at the places of a grid, and the grids of affine maps.

use std::borrow::Cow;

use fx_kernels::sampling::{self as kernel, Around, Interpolation, Sampling};
use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::ops::shape::{require_equal, require_float, require_ndim};
use crate::ops::wide::{in_floats, wide};
use crate::tensor::{DType, Dims, Tensor, numel};
use crate::value::{Dim, Shape, TensorMeta};

type Word = Cow<'static, str>;

pub(super) fn grid_sample_shape(
    x: &TensorMeta,
    grid: &TensorMeta,
    mode: Word,
    padding_mode: Word,
    _align_corners: bool,
) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 4..=5, "4 or 5")?;
    if !matches!(&*mode, "bilinear" | "nearest" | "bicubic") {
        return Err(Error::argument(format!("`mode` is \"bilinear\", \"nearest\" or \"bicubic\", not \"{mode}\"")));
    }
    if !matches!(&*padding_mode, "zeros" | "border" | "reflection") {
        let message = format!("`padding_mode` is \"zeros\", \"border\" or \"reflection\", not \"{padding_mode}\"");
        return Err(Error::argument(message));
    }
    if grid.dtype != x.dtype {
        return Err(Error::dtype(format!("the input and the grid must have one element type, found {x} and {grid}")));
    }
    let spatial = x.ndim() - 2;
    if grid.ndim() != x.ndim() || !grid.shape[spatial + 1].may_eq(&Dim::from(spatial)) {
        return Err(Error::shape(format!(
            "the grid for {x} must have {} dimensions, the last with {spatial} coordinates, found {grid}",
            x.ndim()
        ))
        .help("the coordinates of a place are in the last dimension, that along the width first"));
    }
    require_equal(&x.shape[0], &grid.shape[0], || {
        format!("the input and the grid must have the same batch size, found {x} and {grid}")
    })?;
    if x.shape[2..].iter().any(|size| size.as_int() == Some(0)) {
        return Err(Error::shape(format!("there is nothing to sample in {x}")));
    }
    let mut shape = Shape::from(&x.shape[..2]);
    shape.extend(grid.shape[1..=spatial].iter().cloned());
    Ok(TensorMeta { shape, dtype: x.dtype })
}

/// How images are sampled, as the arguments of `grid_sample` say.
pub(crate) fn sampling(mode: &str, padding_mode: &str, align_corners: bool) -> Sampling {
    let interpolation = match mode {
        "nearest" => Interpolation::Nearest,
        "bicubic" => Interpolation::Cubic,
        _ => Interpolation::Linear,
    };
    let around = match padding_mode {
        "border" => Around::Border,
        "reflection" => Around::Reflection,
        _ => Around::Zeros,
    };
    Sampling { interpolation, around, align_corners }
}

pub(super) fn grid_sample(
    x: &Tensor,
    grid: &Tensor,
    mode: Word,
    padding_mode: Word,
    align_corners: bool,
) -> Result<Tensor> {
    let (dtype, spatial) = (x.dtype(), x.ndim() - 2);
    let sampling = sampling(&mode, &padding_mode, align_corners);
    let (channels, size) = (x.shape()[1], &x.shape()[2..]);
    let mut shape = Dims::from_slice(&x.shape()[..2]);
    shape.extend_from_slice(&grid.shape()[1..=spatial]);
    let convert = |x: &Tensor| x.to_dtype(wide(dtype)).contiguous();
    let (wide_x, grid) = (convert(x), convert(grid));
    let out = in_floats!(dtype, T => {
        let (x, grid) = (wide_x.as_slice::<T>().unwrap_or(&[]), grid.as_slice::<T>().unwrap_or(&[]));
        Tensor::written(&shape, |out| kernel::grid_sample(out, x, grid, channels, size, sampling))
    });
    Ok(out.to_dtype(dtype))
}

pub(super) fn affine_grid_shape(
    theta: &TensorMeta,
    size: SmallVec<[Dim; 6]>,
    _align_corners: bool,
) -> Result<TensorMeta> {
    require_float(theta)?;
    if !matches!(size.len(), 4 | 5) {
        return Err(Error::argument(format!(
            "`size` must have 4 or 5 numbers, those of the images, found {}",
            size.len()
        )));
    }
    let spatial = size.len() - 2;
    let [batch, rows, columns] = &theta.shape[..] else { return Err(no_matrices(theta, spatial)) };
    if !rows.may_eq(&Dim::from(spatial)) || !columns.may_eq(&Dim::from(spatial + 1)) {
        return Err(no_matrices(theta, spatial));
    }
    require_equal(batch, &size[0], || format!("there are {batch} matrices in {theta} for {} images", size[0]))?;
    if size[2..].iter().any(|size| size.as_int().is_some_and(|size| size < 1)) {
        return Err(Error::argument(format!("the sizes of the images must be at least 1, found {size:?}")));
    }
    let mut shape = Shape::new();
    shape.push(batch.clone());
    shape.extend(size[2..].iter().cloned());
    shape.push(Dim::from(spatial));
    Ok(TensorMeta { shape, dtype: theta.dtype })
}

fn no_matrices(theta: &TensorMeta, spatial: usize) -> Error {
    let columns = spatial + 1;
    Error::shape(format!(
        "for this size `theta` must be [N, {spatial}, {columns}], a matrix for each image, found {theta}"
    ))
}

pub(super) fn affine_grid(theta: &Tensor, size: SmallVec<[i64; 6]>, align_corners: bool) -> Result<Tensor> {
    let spatial = size.len() - 2;
    let sizes: Dims = size[2..].iter().map(|&size| size as usize).collect();
    let coordinate = |place: usize, size: usize| match (align_corners, size) {
        (true, 1) => 0.0,
        (true, size) => 2.0 * place as f64 / (size as f64 - 1.0) - 1.0,
        (false, size) => (2.0 * place as f64 + 1.0) / size as f64 - 1.0,
    };
    let mut shape = Dims::from_slice(&theta.shape()[..1]);
    shape.extend_from_slice(&sizes);
    shape.push(spatial);
    let wide = theta.to_dtype(DType::F64).contiguous();
    let matrices = wide.as_slice::<f64>().unwrap_or(&[]);
    let mut out = Vec::with_capacity(numel(&shape));
    for matrix in matrices.chunks_exact(spatial * (spatial + 1)) {
        for place in 0..numel(&sizes) {
            // The width first, which changes fastest.
            let mut rest = place;
            let mut coordinates: SmallVec<[f64; 3]> = SmallVec::new();
            for size in sizes.iter().rev() {
                coordinates.push(coordinate(rest % size, *size));
                rest /= size;
            }
            for row in matrix.chunks_exact(spatial + 1) {
                let products = row.iter().zip(&coordinates).map(|(factor, x)| factor * x);
                out.push(products.sum::<f64>() + row[spatial]);
            }
        }
    }
    Ok(Tensor::from_vec(&shape, out).to_dtype(theta.dtype()))
}
