//! Floating-point operations of a call, a multiply-add counted as two.

use crate::arg::{Arg, Kwargs};
use crate::value::{Dim, Meta, TensorMeta};

/// The arguments of a call, their attributes and the result, as shapes.
pub type Flops = fn(&[Arg<Meta>], &Kwargs<Meta>, &Arg<Meta>) -> Dim;

/// No arithmetic: data is moved or looked at.
pub fn none(_: &[Arg<Meta>], _: &Kwargs<Meta>, _: &Arg<Meta>) -> Dim {
    Dim::Int(0)
}

/// One operation for each element of the result.
pub fn pointwise(_: &[Arg<Meta>], _: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    elements(output)
}

/// One operation for each element of the first operand.
pub fn reduction(args: &[Arg<Meta>], _: &Kwargs<Meta>, _: &Arg<Meta>) -> Dim {
    args.first().map_or(Dim::Int(0), elements)
}

/// Five operations for each element of the first operand: softmax and normalisations.
pub fn normalisation(args: &[Arg<Meta>], kwargs: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    reduction(args, kwargs, output) * 5
}

/// A multiply-add for each element of the result and of the first operand's last dimension.
pub fn matmul(args: &[Arg<Meta>], _: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    let inner = tensor(args, 0).and_then(|x| x.shape.last().cloned()).unwrap_or(Dim::Int(0));
    elements(output) * inner * 2
}

/// As [`matmul`], of the second and third operands.
pub fn addmm(args: &[Arg<Meta>], kwargs: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    matmul(&args[1..], kwargs, output)
}

/// One operation for each element of the result and of a window.
pub fn pooling(_: &[Arg<Meta>], kwargs: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    let window = kwargs.get("kernel_size").and_then(Arg::as_items).unwrap_or(&[]);
    let window = window.iter().map(|size| if let Arg::Int(size) = size { Dim::Int(*size) } else { Dim::Int(1) });
    elements(output) * window.product::<Dim>()
}

/// A multiply-add for each element of the weight and each row of inputs, and one to sum over the second input.
pub fn bilinear(args: &[Arg<Meta>], _: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    let inner = tensor(args, 2).map_or(Dim::Int(0), |weight| &weight.shape[1] * &weight.shape[2] + &weight.shape[2]);
    elements(output) * inner * 2
}

/// A multiply-add for each element of the result and of a filter.
pub fn conv(args: &[Arg<Meta>], _: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    let filter = tensor(args, 1).map_or(Dim::Int(0), |weight| weight.shape[1..].iter().cloned().product());
    elements(output) * filter * 2
}

/// A multiply-add for each element of the input and of a filter.
pub fn conv_transpose(args: &[Arg<Meta>], _: &Kwargs<Meta>, _: &Arg<Meta>) -> Dim {
    let filter = tensor(args, 1).map_or(Dim::Int(0), |weight| weight.shape[1..].iter().cloned().product());
    args.first().map_or(Dim::Int(0), elements) * filter * 2
}

/// Two products over the sequence: scores and their use.
pub fn attention(args: &[Arg<Meta>], _: &Kwargs<Meta>, output: &Arg<Meta>) -> Dim {
    let keys = tensor(args, 1).map_or(Dim::Int(0), |key| key.shape[key.ndim() - 2].clone());
    let width = tensor(args, 0).and_then(|query| query.shape.last().cloned()).unwrap_or(Dim::Int(0));
    let value = tensor(args, 2).and_then(|value| value.shape.last().cloned()).unwrap_or(Dim::Int(1));
    elements(output).floor_div(&value) * keys * (width + value) * 2
}

fn tensor(args: &[Arg<Meta>], index: usize) -> Option<&TensorMeta> {
    args.get(index)?.as_value()?.as_tensor()
}

fn elements(arg: &Arg<Meta>) -> Dim {
    let mut sum = Dim::Int(0);
    arg.for_each(&mut |meta| {
        if let Meta::Tensor(tensor) = meta {
            sum = &sum + tensor.numel();
        }
    });
    sum
}
