//! Convolutions as matrix products: the weight times the matrix of the image's columns. In f32 they are [`packed`], but for those of many single
//! pixels, whose planes are that matrix.
//!
//! A group with one input channel has nothing to multiply out and is computed as sums of shifted rows.

use fx_kernels::dense::{ConvShape, VolumeShape};
use fx_kernels::threads::{for_each_piece, num_threads};
use fx_kernels::{Matrix, gemm};

use super::packed;
use super::window::{Plane, lift, result_shape, unbatched};
use crate::error::Result;
use crate::ops::kind::Padding;
use crate::ops::wide::{Number, in_floats, wide};
use crate::tensor::{DType, Tensor, view};

/// The pixels of a result from which on planes are multiplied as they lie. Measured, with ResNet's and MobileNet's channels: 0.5 to 0.95 of
/// the time, to 1.05 with AVX2; with a quarter as many as long, with fewer longer.
const LARGE: usize = 512;

pub(crate) fn conv<const N: usize>(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: [usize; N],
    padding: Padding<N>,
    dilation: [usize; N],
    groups: i64,
) -> Result<Tensor> {
    let (x, unbatched) = unbatched(x, N);
    let kernel: [usize; N] = std::array::from_fn(|i| weight.shape()[2 + i]);
    let input: [usize; N] = std::array::from_fn(|i| x.shape()[2 + i]);
    // Of an odd amount of padding the larger part is after the input.
    let around: [usize; N] = match padding {
        Padding::Explicit(amounts) => amounts.map(|amount| 2 * amount),
        Padding::Same => std::array::from_fn(|i| dilation[i] * (kernel[i] - 1)),
        Padding::Valid => [0; N],
    };
    let output: [usize; N] =
        std::array::from_fn(|i| (input[i] + around[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1);
    let plane = Plane {
        input: lift(input, 1),
        output: lift(output, 1),
        kernel: lift(kernel, 1),
        stride: lift(stride, 1),
        dilation: lift(dilation, 1),
        before: lift(around.map(|amount| amount / 2), 0),
    };
    let outputs = weight.shape()[0];
    let shape = result_shape(x.shape()[0], outputs, &output, unbatched);
    let after = lift(around.map(|amount| amount - amount / 2), 0);
    let layer = Layer { plane, after, groups: groups as usize, inputs: x.shape()[1], outputs };
    Ok(layer.compute(&x, weight, bias, &shape))
}

/// The sizes of a convolution.
struct Layer {
    plane: Plane,
    /// How far the last window may end after the input.
    after: [usize; 3],
    groups: usize,
    inputs: usize,
    outputs: usize,
}

impl Layer {
    /// The result, of the given shape.
    fn compute(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, shape: &[usize]) -> Tensor {
        let (dtype, plane) = (x.dtype(), &self.plane);
        let empty = x.numel() == 0 || weight.numel() == 0 || shape.contains(&0);
        let as_they_lie = plane.is_pointwise() && self.groups == 1 && plane.outputs() >= LARGE && x.is_contiguous();
        if dtype != DType::F64 && !empty && !as_they_lie {
            return view::reshape(&self.packed(x, weight, bias), shape).to_dtype(dtype);
        }
        let convert = |x: &Tensor| x.to_dtype(wide(dtype)).contiguous();
        let (x, weight, bias) = (convert(x), convert(weight), bias.map(convert));
        in_floats!(dtype, T => {
            let bias = bias.as_ref().map(|bias| bias.to_vec::<T>());
            let (x, weight) = (x.as_slice::<T>().unwrap_or(&[]), weight.as_slice::<T>().unwrap_or(&[]));
            Tensor::written::<T>(shape, |out| self.run::<T>(out, x, weight, bias.as_deref()))
        })
        .to_dtype(dtype)
    }

    /// The result in f32, by the kernels of plans.
    fn packed(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let plane = &self.plane;
        let flat = |[_, height, width]: [usize; 3]| [height, width];
        let frame = ConvShape {
            inputs: self.inputs,
            outputs: self.outputs,
            kernel: flat(plane.kernel),
            stride: flat(plane.stride),
            dilation: flat(plane.dilation),
            before: flat(plane.before),
            after: flat(self.after),
            groups: self.groups,
        };
        match x.ndim() {
            3 => packed::conv(&view::unsqueeze(x, 2), weight, bias, frame),
            4 => packed::conv(x, weight, bias, frame),
            _ => {
                let [depth, stride, dilation, before, after] =
                    [plane.kernel, plane.stride, plane.dilation, plane.before, self.after].map(|sizes| sizes[0]);
                packed::volumes(x, weight, bias, VolumeShape { frame, depth, stride, dilation, before, after })
            }
        }
    }

    fn run<T: Number>(&self, out: &mut [T], x: &[T], weight: &[T], bias: Option<&[T]>) {
        let (area, per_group) = (self.plane.outputs(), self.inputs / self.groups);
        if out.is_empty() {
            return;
        }
        let batch = out.len() / (self.outputs * area);
        match bias {
            Some(bias) => {
                for (plane, &bias) in out.chunks_exact_mut(area).zip(bias.iter().cycle()) {
                    plane.fill(bias);
                }
            }
            None if per_group == 1 => out.fill(T::default()),
            None => {}
        }
        let work = 2 * out.len() * per_group * self.plane.taps();
        if per_group == 1 {
            return for_each_piece(out, area, work, |index, out| self.depthwise(x, weight, index, out));
        }
        // Several images or groups are shared out among the threads; of a single one, its product is.
        let piece = self.outputs / self.groups * area;
        let group = |index: usize, out: &mut [T]| self.group(x, weight, index, bias.is_some(), out);
        if batch * self.groups >= 2 * num_threads() {
            for_each_piece(out, piece, work, group);
        } else {
            out.chunks_exact_mut(piece).enumerate().for_each(|(index, out)| group(index, out));
        }
    }

    /// One group of one image.
    fn group<T: Number>(&self, x: &[T], weight: &[T], index: usize, accumulate: bool, out: &mut [T]) {
        /// The elements of a block of columns, so that a block stays in the second-level cache.
        const BLOCK: usize = 1 << 20;
        let (channels, filters) = (self.inputs / self.groups, self.outputs / self.groups);
        let (depth, area) = (channels * self.plane.taps(), self.plane.outputs());
        let x = &x[index * channels * self.plane.inputs()..][..channels * self.plane.inputs()];
        let weight = Matrix::rows(&weight[index % self.groups * filters * depth..], filters, depth);
        if self.plane.is_pointwise() {
            gemm(out, area, accumulate, weight, Matrix::rows(x, depth, area));
            return;
        }
        // A block is some rows of a flat output; an output with several slices is one block.
        let rows = self.plane.output[1];
        let row = depth * self.plane.output[2];
        let most = if self.plane.output[0] == 1 { (BLOCK / row).clamp(1, rows) } else { rows };
        let mut columns = vec![T::default(); depth * area.min(most * self.plane.output[2] * self.plane.output[0])];
        for first in (0..rows).step_by(most) {
            let block = first..rows.min(first + most);
            let width = area / rows * block.len();
            let columns = &mut columns[..depth * width];
            self.plane.columns(x, block, columns);
            let columns = Matrix::rows(columns, depth, width);
            gemm(&mut out[first * self.plane.output[2]..], area, accumulate, weight, columns);
        }
    }

    /// One channel of the output, of a single channel of the input: adds up shifted rows.
    fn depthwise<T: Number>(&self, x: &[T], weight: &[T], index: usize, out: &mut [T]) {
        let (plane, taps) = (&self.plane, self.plane.taps());
        let filter = index % self.outputs;
        let channel = index / self.outputs * self.inputs + filter / (self.outputs / self.groups);
        let x = &x[channel * plane.inputs()..][..plane.inputs()];
        for tap in 0..taps {
            let factor = weight[filter * taps + tap];
            plane.rows(plane.tap(tap), |range, first| {
                let out = &mut out[range];
                if plane.stride[2] == 1 {
                    let x = &x[first..first + out.len()];
                    out.iter_mut().zip(x).for_each(|(out, &x)| *out += factor * x);
                } else {
                    let x = x[first..].iter().step_by(plane.stride[2]);
                    out.iter_mut().zip(x).for_each(|(out, &x)| *out += factor * x);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::view;

    fn numbers(shape: &[usize], seed: u32) -> Tensor {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 24) - 0.5
        };
        Tensor::from_vec(shape, (0..shape.iter().product()).map(|_| next()).collect())
    }

    /// The definition of a convolution with stride 2, padding 1 and dilation 1, one sum after the other.
    fn definition(x: &Tensor, weight: &Tensor, groups: usize) -> Tensor {
        let (x, w) = (x.view::<f64>(), weight.view::<f64>());
        let (filters, channels) = (w.shape()[0], w.shape()[1]);
        let sizes = [2, 3].map(|dim| (x.shape()[dim] + 2 - w.shape()[dim]) / 2 + 1);
        let mut out = Vec::new();
        for n in 0..x.shape()[0] {
            for f in 0..filters {
                for i in 0..sizes[0] {
                    for j in 0..sizes[1] {
                        let mut sum = 0.0;
                        for ((c, a, b), weight) in (0..channels)
                            .flat_map(|c| (0..w.shape()[2]).map(move |a| (c, a)))
                            .flat_map(|(c, a)| (0..w.shape()[3]).map(move |b| (c, a, b)))
                            .map(|(c, a, b)| ((c, a, b), w[[f, c, a, b]]))
                        {
                            let channel = f / (filters / groups) * channels + c;
                            let place = [n, channel, (2 * i + a).wrapping_sub(1), (2 * j + b).wrapping_sub(1)];
                            sum += x.get(place).map_or(0.0, |x| x * weight);
                        }
                        out.push(sum);
                    }
                }
            }
        }
        Tensor::from_vec([x.shape()[0], filters, sizes[0], sizes[1]], out)
    }

    #[test]
    fn a_convolution_is_its_definition() {
        for (groups, channels, filters) in [(1, 3, 5), (2, 4, 6), (4, 4, 8)] {
            let x = numbers(&[2, channels, 7, 6], 1);
            let weight = numbers(&[filters, channels / groups, 3, 2], 2);
            let y = conv(&x, &weight, None, [2; 2], Padding::Explicit([1; 2]), [1; 2], groups as i64).unwrap();
            assert!(y.all_close(&definition(&x, &weight, groups), 1e-12, 1e-12));
        }
    }

    #[test]
    fn one_dimension_is_two_of_height_one() {
        let (x, weight, bias) = (numbers(&[2, 3, 9], 3), numbers(&[4, 3, 3], 4), numbers(&[4], 5));
        let line = conv(&x, &weight, Some(&bias), [2], Padding::Explicit([1]), [2], 1).unwrap();
        let (x, weight) = (view::unsqueeze(&x, 2), view::unsqueeze(&weight, 2));
        let flat = conv(&x, &weight, Some(&bias), [1, 2], Padding::Explicit([0, 1]), [1, 2], 1).unwrap();
        assert_eq!(line, view::squeeze(&flat, 2));
    }

    #[test]
    fn groups_are_separate_convolutions() {
        let (x, weight) = (numbers(&[1, 4, 5, 5], 6), numbers(&[6, 2, 3, 3], 7));
        let both = conv(&x, &weight, None, [1; 2], Padding::Same, [1; 2], 2).unwrap();
        for group in 0..2 {
            let (x, weight) = (view::narrow(&x, 1, 2 * group, 2), view::narrow(&weight, 0, 3 * group, 3));
            let one = conv(&x, &weight, None, [1; 2], Padding::Same, [1; 2], 1).unwrap();
            assert!(one.all_close(&view::narrow(&both, 1, 3 * group, 3), 1e-12, 1e-12));
        }
    }

    /// Images whose planes are multiplied as they lie give what they give with their channels last, however many outputs there are.
    #[test]
    fn pixels_of_planes_are_those_with_channels_last() {
        for (inputs, outputs, size) in [(24, 40, [30, 33]), (7, 2, [1, 600]), (800, 5, [23, 23])] {
            let numbers = |len: usize| (0..len).map(|i| (i * 7919 % 1000) as f32 / 500.0 - 1.0).collect::<Vec<_>>();
            let area = size[0] * size[1];
            assert!(area >= LARGE);
            let x = Tensor::from_vec([2, inputs, size[0], size[1]], numbers(2 * inputs * area));
            let weight = Tensor::from_vec([outputs, inputs, 1, 1], numbers(outputs * inputs));
            let bias = Tensor::from_vec([outputs], numbers(outputs));
            let channels_last = view::permute(&view::permute(&x, &[0, 2, 3, 1]).contiguous(), &[0, 3, 1, 2]);
            for bias in [None, Some(&bias)] {
                let pixels = |x| conv(x, &weight, bias, [1; 2], Padding::Valid, [1; 2], 1).unwrap();
                let [got, want] = [&x, &channels_last].map(pixels);
                assert!(got.all_close(&want, 1e-5, 1e-4), "{inputs} to {outputs}, with a bias: {}", bias.is_some());
            }
        }
    }
}
