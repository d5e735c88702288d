//! Convolutions of images in f32 by the kernels that plans use: weights are packed, and channels lie last inside.

use std::cell::Cell;

use fx_kernels::copy::copy;
use fx_kernels::dense::{Algorithm, ConvShape, Epilogue, Images, PackedConv};

use crate::tensor::{DType, Dims, Tensor, row_major};

/// Images of fewer channels are read as they come, without a copy whose channels are last.
const FEW: usize = 16;

/// The numbers of images that are worked on at a time.
const AT_A_TIME: usize = 512 * 1024;

thread_local! {
    /// The images with their channels last, those that come in and those that go out: mapping memory in anew takes as long as
    /// writing it.
    static SCRATCH: Cell<[Vec<f32>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

/// Packed weights, and what they were made from and for.
struct Packed {
    conv: PackedConv,
    algorithm: Algorithm,
    offset: usize,
    strides: Dims,
}

/// The convolution of images `[N, C, H, W]`, in f32 and row-major order.
pub(super) fn conv(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, shape: ConvShape) -> Tensor {
    let single = |x: &Tensor| x.to_dtype(DType::F32);
    let (x, weight, bias) = (single(x), single(weight), bias.map(|bias| single(bias).contiguous()));
    let (batch, size) = (x.shape()[0], [x.shape()[2], x.shape()[3]]);
    let [height, width] = shape.output(size);
    let algorithm = shape.algorithm(batch * height * width);
    let fits = |packed: &Packed| {
        let from = (packed.offset, &*packed.strides);
        (*packed.conv.shape(), packed.algorithm) == (shape, algorithm) && from == (weight.offset(), weight.strides())
    };
    let packed = weight.form(fits, || Packed {
        conv: PackedConv::with(elements(&weight.contiguous()), shape, algorithm),
        algorithm,
        offset: weight.offset(),
        strides: Dims::from_slice(weight.strides()),
    });
    let epilogue = Epilogue { bias: bias.as_ref().map(elements), ..Epilogue::default() };
    let (x, [rows, columns]) = (if shape.inputs < FEW { x.contiguous() } else { x }, size);
    let (data, step) = (x.strided::<f32>(), x.strides());
    let (inputs, outputs) = (rows * columns * shape.inputs, height * width * shape.outputs);
    // A few images at a time, so that their copies stay in the cache.
    let some = (AT_A_TIME / inputs.max(outputs)).clamp(1, batch);
    Tensor::written(&[batch, shape.outputs, height, width], |result| {
        // Taken out while in use, so that a convolution within a convolution gets memory of its own.
        let [mut input, mut output] = SCRATCH.take();
        for (index, result) in result.chunks_mut(some * outputs).enumerate() {
            let (data, count) = (&data[index * some * step[0]..], result.len() / outputs);
            let images = if shape.inputs < FEW {
                Images::planes(&data[..count * inputs], count, size)
            } else {
                let (of, input) = ([count, rows, columns, shape.inputs], first(&mut input, count * inputs));
                copy(input, &row_major(&of), data, &[step[0], step[2], step[3], step[1]], &of);
                Images::pixels(input, count, size, shape.inputs)
            };
            let output = first(&mut output, result.len());
            packed.conv.run(output, shape.outputs, &images, &epilogue);
            let area = height * width;
            copy(result, &[outputs, 1, area], output, &[outputs, shape.outputs, 1], &[count, area, shape.outputs]);
        }
        SCRATCH.set([input, output]);
    })
}

/// So many elements of a vector, which grows if it is too short; what is in them is written before it is read.
fn first(memory: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if memory.len() < len {
        *memory = vec![0.0; len];
    }
    &mut memory[..len]
}

fn elements(x: &Tensor) -> &[f32] {
    x.as_slice::<f32>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::functional::conv2d;
    use crate::tensor::view;

    /// More images than are worked on at a time, with few channels and with more, in any layout: each as if it were alone,
    /// and twice, with weights that are kept by then.
    #[test]
    fn images_of_a_batch_are_convolved_one_by_one() {
        for channels in [3, 16] {
            let numbers = |len: usize| (0..len).map(|i| (i * 7919 % 1000) as f32 / 500.0 - 1.0).collect::<Vec<_>>();
            let x = Tensor::from_vec([5, channels, 100, 100], numbers(5 * channels * 10_000));
            let weight = Tensor::from_vec([4, channels, 3, 3], numbers(4 * channels * 9));
            let bias = Tensor::from_vec([4], numbers(4));
            let channels_last = view::permute(&view::permute(&x, &[0, 2, 3, 1]).contiguous(), &[0, 3, 1, 2]);
            for x in [x.clone(), x, channels_last] {
                let all: Tensor = conv2d(&x, &weight, &bias);
                for image in 0..5 {
                    let alone: Tensor = conv2d(view::narrow(&x, 0, image, 1), &weight, &bias);
                    assert_eq!(view::narrow(&all, 0, image, 1), alone, "image {image} of {channels} channels");
                }
            }
        }
    }
}
