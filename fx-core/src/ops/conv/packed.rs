//! Convolutions of images and volumes in f32 by the kernels that plans use, and transposed ones: weights are packed, and channels lie last inside.

use std::sync::Arc;

use fx_kernels::copy::copy;
use fx_kernels::dense::{
    Algorithm, ConvShape, Epilogue, Format, Images, PackedConv, TransposedConv, TransposedShape, VolumeConv,
    VolumeShape, Weight,
};
use fx_kernels::memory::scratch;

use crate::tensor::{DType, Dims, Tensor, numel};

/// The numbers of images that are worked on at a time.
const AT_A_TIME: usize = 512 * 1024;

/// Packed weights, and the part of a tensor that they were made from.
struct Packed<P> {
    packed: P,
    offset: usize,
    strides: Dims,
}

/// What is packed of a weight, or was for an earlier call.
fn packed<P: Send + Sync + 'static>(
    weight: &Tensor,
    fits: impl Fn(&P) -> bool,
    pack: impl FnOnce(&[f32]) -> P,
) -> Arc<Packed<P>> {
    let fits = |known: &Packed<P>| {
        (known.offset, &*known.strides) == (weight.offset(), weight.strides()) && fits(&known.packed)
    };
    weight.form(fits, || Packed {
        packed: pack(elements(&weight.contiguous())),
        offset: weight.offset(),
        strides: Dims::from_slice(weight.strides()),
    })
}

/// The convolution of images `[N, C, H, W]`, in f32 and row-major order.
pub(super) fn conv(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, shape: ConvShape) -> Tensor {
    let (x, weight) = (single(x), single(weight));
    let output = shape.output([x.shape()[2], x.shape()[3]]);
    let algorithm = shape.algorithm(x.shape()[0], output, Format::F32);
    let known = packed(
        &weight,
        |(conv, by): &(PackedConv, Algorithm)| (*conv.shape(), *by) == (shape, algorithm),
        |weight| (PackedConv::with(Weight::Numbers(weight), shape, algorithm, Format::F32), algorithm),
    );
    images(&x, bias, (shape.inputs, shape.outputs), output, |out, images, epilogue| {
        known.packed.0.run(out, shape.outputs, images, epilogue);
    })
}

/// The convolution of volumes `[N, C, D, H, W]`, in f32 and row-major order.
pub(super) fn volumes(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, shape: VolumeShape) -> Tensor {
    let (x, weight) = (single(x).contiguous(), single(weight));
    let bias = bias.map(|bias| single(bias).contiguous());
    let epilogue = Epilogue { bias: bias.as_ref().map(elements), ..Epilogue::default() };
    let size: [usize; 3] = std::array::from_fn(|i| x.shape()[2 + i]);
    let output @ [depth, height, width] = shape.output(size);
    let algorithm = shape.algorithm(x.shape()[0], output, Format::F32);
    let known = packed(
        &weight,
        |(conv, by): &(VolumeConv, Algorithm)| (*conv.shape(), *by) == (shape, algorithm),
        |weight| (VolumeConv::new(Weight::Numbers(weight), shape, algorithm, Format::F32), algorithm),
    );
    let ConvShape { inputs, outputs, .. } = shape.frame;
    let (read, written) = (numel(&size), numel(&output));
    Tensor::written(&[x.shape()[0], outputs, depth, height, width], |result| {
        scratch(read * inputs + written * outputs, |both| {
            let (input, output) = both.split_at_mut(read * inputs);
            let volumes = elements(&x).chunks_exact(read * inputs);
            for (x, result) in volumes.zip(result.chunks_exact_mut(written * outputs)) {
                copy(input, &[inputs, 1], x, &[1, read], &[read, inputs]);
                known.packed.0.run(output, input, 1, size, &epilogue);
                copy(result, &[1, written], output, &[outputs, 1], &[written, outputs]);
            }
        });
    })
}

/// The transposed convolution of images `[N, C, H, W]`, in f32 and row-major order.
pub(super) fn transposed(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, shape: TransposedShape) -> Tensor {
    let (x, weight) = (single(x), single(weight));
    let output = shape.output([x.shape()[2], x.shape()[3]]);
    let known = packed(
        &weight,
        |conv: &TransposedConv| *conv.shape() == shape,
        |weight| TransposedConv::new(weight, shape, Format::F32),
    );
    images(&x, bias, (shape.inputs, shape.outputs), output, |out, images, epilogue| {
        known.packed.run(out, images, None, epilogue);
    })
}

fn single(x: &Tensor) -> Tensor {
    x.to_dtype(DType::F32)
}

/// What a function makes of images of so many channels: images of others, of a height and width, with the channels last as it gives
/// them, and first here.
fn images(
    x: &Tensor,
    bias: Option<&Tensor>,
    (inputs, outputs): (usize, usize),
    [height, width]: [usize; 2],
    run: impl Fn(&mut [f32], &Images<'_>, &Epilogue<'_>),
) -> Tensor {
    let bias = bias.map(|bias| single(bias).contiguous());
    let (batch, size) = (x.shape()[0], [x.shape()[2], x.shape()[3]]);
    let epilogue = Epilogue { bias: bias.as_ref().map(elements), ..Epilogue::default() };
    // Images whose channels lie last are read as they are, if each follows the one before.
    let step = size[0] * size[1] * inputs;
    let last = [1, size[1] * inputs, inputs];
    let channels_last = x.strides()[1..] == last && (batch == 1 || x.strides()[0] == step);
    let x = if channels_last { x.clone() } else { x.contiguous() };
    let data = x.strided::<f32>();
    let (area, numbers) = (height * width, height * width * outputs);
    // A few images at a time, so that their copies stay in the cache.
    let some = (AT_A_TIME / step.max(numbers).max(1)).clamp(1, batch.max(1));
    Tensor::written(&[batch, outputs, height, width], |result| {
        scratch(some * numbers, |output| {
            for (index, result) in result.chunks_mut((some * numbers).max(1)).enumerate() {
                let (first, count) = (index * some, result.len() / numbers);
                let data = &data[first * step..(first + count) * step];
                let images = match channels_last {
                    true => Images::pixels(data, count, size, inputs),
                    false => Images::planes(data, count, size),
                };
                run(output, &images, &epilogue);
                copy(result, &[numbers, 1, area], output, &[numbers, outputs, 1], &[count, area, outputs]);
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

    /// More images than are worked on at a time, with few channels and with more, in any layout, also with more between them: each as
    /// if it were alone, and twice, with weights that are kept by then.
    #[test]
    fn images_of_a_batch_are_convolved_one_by_one() {
        for channels in [3, 16] {
            let numbers = |len: usize| (0..len).map(|i| (i * 7919 % 1000) as f32 / 500.0 - 1.0).collect::<Vec<_>>();
            let x = Tensor::from_vec([5, channels, 100, 100], numbers(5 * channels * 10_000));
            let weight = Tensor::from_vec([4, channels, 3, 3], numbers(4 * channels * 9));
            let bias = Tensor::from_vec([4], numbers(4));
            let channels_last = view::permute(&view::permute(&x, &[0, 2, 3, 1]).contiguous(), &[0, 3, 1, 2]);
            let lines = [&x, &channels_last].map(|x| view::narrow(x, 2, 10, 40));
            let others = [&x, &channels_last].map(|x| view::slice(x, 0, 0, 5, 2));
            for x in [x.clone(), x, channels_last].into_iter().chain(lines).chain(others) {
                let all: Tensor = conv2d(&x, &weight, &bias);
                for image in 0..x.shape()[0] {
                    let alone: Tensor = conv2d(view::narrow(&x, 0, image, 1), &weight, &bias);
                    assert_eq!(view::narrow(&all, 0, image, 1), alone, "image {image} of {channels} channels");
                }
            }
        }
    }
}
