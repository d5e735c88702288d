//! Convolutions of images in f32 by the kernels that plans use: weights are packed, and channels lie last inside.

use fx_kernels::copy::copy;
use fx_kernels::dense::{Algorithm, ConvShape, Epilogue, Format, Images, PackedConv, Weight};
use fx_kernels::memory::scratch;

use crate::tensor::{DType, Dims, Tensor};

/// The numbers of images that are worked on at a time.
const AT_A_TIME: usize = 512 * 1024;

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
    let algorithm = shape.algorithm(batch, [height, width], Format::F32);
    let fits = |packed: &Packed| {
        let from = (packed.offset, &*packed.strides);
        (*packed.conv.shape(), packed.algorithm) == (shape, algorithm) && from == (weight.offset(), weight.strides())
    };
    let packed = weight.form(fits, || Packed {
        conv: PackedConv::with(Weight::Numbers(elements(&weight.contiguous())), shape, algorithm, Format::F32),
        algorithm,
        offset: weight.offset(),
        strides: Dims::from_slice(weight.strides()),
    });
    let epilogue = Epilogue { bias: bias.as_ref().map(elements), ..Epilogue::default() };
    // Images whose channels lie last are read as they are.
    let last = [size[1] * shape.inputs, shape.inputs];
    let channels_last = x.strides()[1] == 1 && x.strides()[2..] == last;
    let x = if channels_last { x } else { x.contiguous() };
    let (data, step) = (x.strided::<f32>(), x.strides()[0]);
    let (area, outputs) = (height * width, height * width * shape.outputs);
    // A few images at a time, so that their copies stay in the cache.
    let some = (AT_A_TIME / (size[0] * size[1] * shape.inputs).max(outputs).max(1)).clamp(1, batch.max(1));
    Tensor::written(&[batch, shape.outputs, height, width], |result| {
        scratch(some * outputs, |output| {
            for (index, result) in result.chunks_mut((some * outputs).max(1)).enumerate() {
                let (first, count) = (index * some, result.len() / outputs);
                let data = &data[first * step..(first + count - 1) * step + size[0] * size[1] * shape.inputs];
                let images = match channels_last {
                    true => Images::pixels(data, count, size, shape.inputs),
                    false => Images::planes(data, count, size),
                };
                packed.conv.run(output, shape.outputs, &images, &epilogue);
                copy(result, &[outputs, 1, area], output, &[outputs, shape.outputs, 1], &[count, area, shape.outputs]);
            }
        });
    })
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
