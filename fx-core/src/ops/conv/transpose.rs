//! Transposed convolutions: the transposed weight times the image gives what each element adds to its window. In f32, over one or
//! two dimensions, they are [`packed`] if no more is cut off than windows reach.

use fx_kernels::dense::TransposedShape;
use fx_kernels::threads::for_each_piece;
use fx_kernels::{Matrix, gemm};

use super::packed;
use super::window::{Plane, lift, result_shape, unbatched};
use crate::error::Result;
use crate::ops::wide::{Number, in_floats, wide};
use crate::tensor::{DType, Tensor, view};

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(crate) fn conv<const N: usize>(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: [usize; N],
    padding: [usize; N],
    output_padding: [usize; N],
    groups: i64,
    dilation: [usize; N],
) -> Result<Tensor> {
    let (x, unbatched) = unbatched(x, N);
    let kernel: [usize; N] = std::array::from_fn(|i| weight.shape()[2 + i]);
    let from: [usize; N] = std::array::from_fn(|i| x.shape()[2 + i]);
    let to: [usize; N] = std::array::from_fn(|i| {
        // A batch without spatial elements has nothing to add up.
        let span = from[i].saturating_sub(1) * stride[i] + dilation[i] * (kernel[i] - 1) + output_padding[i] + 1;
        span.saturating_sub(2 * padding[i])
    });
    // The walk of the convolution that this is the transpose of: windows over the result.
    let plane = Plane {
        input: lift(to, 1),
        output: lift(from, 1),
        kernel: lift(kernel, 1),
        stride: lift(stride, 1),
        dilation: lift(dilation, 1),
        before: lift(padding, 0),
    };
    let outputs = weight.shape()[1] * groups as usize;
    let shape = result_shape(x.shape()[0], outputs, &to, unbatched);
    let output_padding = lift(output_padding, 0);
    let layer = Layer { plane, output_padding, groups: groups as usize, inputs: x.shape()[1], outputs };
    Ok(layer.compute(x, weight, bias, &shape))
}

/// The sizes of a transposed convolution.
struct Layer {
    plane: Plane,
    output_padding: [usize; 3],
    groups: usize,
    inputs: usize,
    outputs: usize,
}

impl Layer {
    /// The result, of the given shape.
    fn compute(&self, x: Tensor, weight: &Tensor, bias: Option<&Tensor>, shape: &[usize]) -> Tensor {
        let dtype = x.dtype();
        let empty = x.numel() == 0 || weight.numel() == 0 || shape.contains(&0);
        if x.ndim() < 5 && dtype != DType::F64 && self.groups == 1 && self.plane.dilation == [1; 3] && !empty {
            let sizes = self.flat();
            if sizes.fits() {
                let image = if x.ndim() == 3 { view::unsqueeze(&x, 2) } else { x };
                return view::reshape(&packed::transposed(&image, weight, bias, sizes), shape).to_dtype(dtype);
            }
        }
        let convert = |x: &Tensor| x.to_dtype(wide(dtype)).contiguous();
        let (x, weight, bias) = (convert(&x), convert(weight), bias.map(convert));
        in_floats!(dtype, T => {
            let bias = bias.as_ref().map(|bias| bias.to_vec::<T>());
            let (x, weight) = (x.as_slice::<T>().unwrap_or(&[]), weight.as_slice::<T>().unwrap_or(&[]));
            Tensor::from_vec(shape, self.run::<T>(x, weight, bias.as_deref()))
        })
        .to_dtype(dtype)
    }

    /// Of an image, or of a line as an image of height 1.
    fn flat(&self) -> TransposedShape {
        let flat = |[_, height, width]: [usize; 3]| [height, width];
        let shape = TransposedShape {
            inputs: self.inputs,
            outputs: self.outputs,
            kernel: flat(self.plane.kernel),
            stride: flat(self.plane.stride),
            padding: flat(self.plane.before),
            output_padding: flat(self.output_padding),
        };
        shape.for_input(flat(self.plane.output))
    }

    fn run<T: Number>(&self, x: &[T], weight: &[T], bias: Option<&[T]>) -> Vec<T> {
        let (from, to, taps) = (self.plane.outputs(), self.plane.inputs(), self.plane.taps());
        let (channels, filters) = (self.inputs / self.groups, self.outputs / self.groups);
        let batch = x.len().checked_div(self.inputs * from).unwrap_or(0);
        let mut out = vec![T::default(); batch * self.outputs * to];
        if to == 0 {
            return out;
        }
        let mut added = vec![T::default(); filters * taps * from];
        for (index, out) in out.chunks_exact_mut(filters * to).enumerate() {
            let group = index % self.groups;
            let x = Matrix::rows(&x[index * channels * from..], channels, from);
            let weight = Matrix::rows(&weight[group * channels * filters * taps..], channels, filters * taps);
            gemm(&mut added, from, false, weight.t(), x);
            let work = added.len() * 4;
            for_each_piece(out, to, work, |filter, out| {
                out.fill(bias.map_or(T::default(), |bias| bias[group * filters + filter]));
                add_windows(&self.plane, &added[filter * taps * from..][..taps * from], out);
            });
        }
        out
    }
}

/// Adds every window, of which each tap has its elements side by side, to one channel of an image.
pub(super) fn add_windows<T: Number>(plane: &Plane, added: &[T], out: &mut [T]) {
    for (tap, added) in added.chunks_exact(plane.outputs().max(1)).enumerate() {
        plane.rows(plane.tap(tap), |range, first| {
            let added = &added[range];
            if plane.stride[2] == 1 {
                let out = &mut out[first..first + added.len()];
                out.iter_mut().zip(added).for_each(|(out, &x)| *out += x);
            } else {
                let out = out[first..].iter_mut().step_by(plane.stride[2]);
                out.zip(added).for_each(|(out, &x)| *out += x);
            }
        });
    }
}
