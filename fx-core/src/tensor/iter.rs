//! Running a function over all elements: one, two or three tensors at a time, with broadcasting.
//!
//! Broadcasting is turned into runs: an outer walk, the same code for all types, finds where each run of the last
//! dimensions begins in every operand. Where the elements of a run do not lie side by side, they are brought together
//! a piece at a time, in code that is the same for all functions; so the inner loop, compiled for each of hundreds of
//! functions, is one plain loop over slices.

use fx_kernels::conversion::{round_to_bf16, round_to_f16, truncate, widen_bf16, widen_f16};

use super::{DType, Dims, Element, Tensor, Word, cast, dispatch, dispatch_words, numel, view};

/// The most elements of a piece, so that pieces of all operands fit into the first-level cache.
const PIECE: usize = 512;

/// A function of elements over slices of the same length: all of a loop that is compiled for each function.
trait Loop<Operands, U> {
    fn run(&self, operands: Operands, out: &mut [U]);
}

impl<T: Copy, U, F: Fn(T) -> U> Loop<&[T], U> for F {
    fn run(&self, x: &[T], out: &mut [U]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = self(*x);
        }
    }
}

impl<A: Copy, B: Copy, U, F: Fn(A, B) -> U> Loop<(&[A], &[B]), U> for F {
    fn run(&self, (x, y): (&[A], &[B]), out: &mut [U]) {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = self(*x, *y);
        }
    }
}

impl<A: Copy, B: Copy, C: Copy, U, F: Fn(A, B, C) -> U> Loop<(&[A], &[B], &[C]), U> for F {
    fn run(&self, (x, y, z): (&[A], &[B], &[C]), out: &mut [U]) {
        for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
            *out = self(*x, *y, *z);
        }
    }
}

/// Rows of some elements each.
impl<T: Element, U, F: Fn(&[T]) -> U> Loop<(&[T], usize), U> for F {
    fn run(&self, (elements, len): (&[T], usize), out: &mut [U]) {
        for (row, out) in out.iter_mut().enumerate() {
            *out = self(&elements[row * len..(row + 1) * len]);
        }
    }
}

/// `f` of every element. A closure holds its numbers (`move`): one that a single branch reads through a reference makes the loop branch.
pub fn map<T: Element, U: Element>(x: &Tensor, f: impl Fn(T) -> U) -> Tensor {
    map_by(x, &f)
}

fn map_by<T: Element, U: Element>(x: &Tensor, f: &dyn for<'a> Loop<&'a [T], U>) -> Tensor {
    let x = x.contiguous();
    let elements = x.as_slice::<T>().unwrap_or_default();
    Tensor::written(x.shape(), |out| f.run(elements, out))
}

/// The elements as another type. They go through one of four types, a piece at a time, so that there is not a loop for
/// each two types.
pub(super) fn converted(x: &Tensor, dtype: DType) -> Tensor {
    let x = &x.contiguous();
    let single = || x.as_slice::<f32>().unwrap_or_default();
    match (x.dtype(), dtype) {
        (DType::F32, DType::BF16) => return Tensor::written(x.shape(), |out| round_to_bf16(out, single())),
        (DType::F32, DType::F16) => return Tensor::written(x.shape(), |out| round_to_f16(out, single())),
        (DType::F16 | DType::BF16, DType::F32) => return Tensor::written(x.shape(), |out| halves_as_f32(x, 0, out)),
        (DType::F32, DType::U8 | DType::I8 | DType::I32 | DType::I64) if are_small(single()) => {
            return through(x, dtype, Some(singles_as_i32));
        }
        _ => {}
    }
    match x.dtype() {
        DType::Bool => through(x, dtype, Some(widen::<bool, i32>)),
        DType::U8 => through(x, dtype, Some(widen::<u8, i32>)),
        DType::I8 => through(x, dtype, Some(widen::<i8, i32>)),
        DType::I32 => through::<i32>(x, dtype, None),
        DType::I64 => through::<i64>(x, dtype, None),
        DType::F16 | DType::BF16 => through(x, dtype, Some(halves_as_f32)),
        DType::F32 => through::<f32>(x, dtype, None),
        DType::F64 => through::<f64>(x, dtype, None),
    }
}

/// The elements of a contiguous tensor from one on, in a type that has all their values.
fn widen<T: Element, W: Element>(x: &Tensor, first: usize, wide: &mut [W]) {
    let elements = x.as_slice::<T>().unwrap_or_default();
    wide.iter_mut().zip(&elements[first..]).for_each(|(wide, x)| *wide = cast(*x));
}

/// Whether all numbers have a whole part that an `i32` holds; NaN has none.
fn are_small(x: &[f32]) -> bool {
    const BEYOND: f32 = (1_u32 << 31) as f32;
    x.iter().fold(true, |small, x| small & (x.abs() < BEYOND))
}

/// As [`widen`], of numbers that are small: their whole parts.
fn singles_as_i32(x: &Tensor, first: usize, wide: &mut [i32]) {
    truncate(wide, &x.as_slice().unwrap_or_default()[first..]);
}

/// As [`widen`], of half floats.
fn halves_as_f32(x: &Tensor, first: usize, wide: &mut [f32]) {
    match x.dtype() {
        DType::F16 => widen_f16(wide, &x.as_slice().unwrap_or_default()[first..]),
        _ => widen_bf16(wide, &x.as_slice().unwrap_or_default()[first..]),
    }
}

/// Without a function the elements are of the type already.
fn through<W: Element>(x: &Tensor, dtype: DType, widen: Option<fn(&Tensor, usize, &mut [W])>) -> Tensor {
    dispatch!(dtype, U => Tensor::written::<U>(x.shape(), |out| {
        let narrow = |out: &mut [U], wide: &[W]| out.iter_mut().zip(wide).for_each(|(out, x)| *out = cast(*x));
        let Some(widen) = widen else { return narrow(out, x.as_slice().unwrap_or_default()) };
        let mut wide = vec![W::from_i64(0); PIECE.min(out.len())];
        for (index, out) in out.chunks_mut(PIECE).enumerate() {
            let wide = &mut wide[..out.len()];
            widen(x, index * PIECE, wide);
            narrow(out, wide);
        }
    }))
}

/// `f` of every element, written in place if nobody else has the elements.
pub fn map_owned<T: Element>(x: Tensor, f: impl Fn(T) -> T) -> Tensor {
    map_owned_by(x, &f)
}

fn map_owned_by<T: Element>(x: Tensor, f: &dyn for<'a> Loop<&'a [T], T>) -> Tensor {
    let mut x = x.contiguous();
    let Some(elements) = x.unique_slice_mut::<T>() else { return map_by(&x, f) };
    let mut held = Vec::new();
    for piece in elements.chunks_mut(PIECE) {
        held.clear();
        held.extend_from_slice(piece);
        f.run(&held, piece);
    }
    x
}

/// `f` of the elements in the same place after broadcasting.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn zip<A: Element, B: Element, U: Element>(a: &Tensor, b: &Tensor, f: impl Fn(A, B) -> U) -> Tensor {
    zip_by(a, b, &f)
}

/// As [`zip`], for a function of pieces that are equally long.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn zip_pieces<A, B, U>(a: &Tensor, b: &Tensor, f: impl Fn(&[A], &[B], &mut [U])) -> Tensor
where
    A: Element,
    B: Element,
    U: Element,
{
    zip_by(a, b, &Pieces(f))
}

/// A function of pieces.
struct Pieces<F>(F);

impl<A, B, U, F: Fn(&[A], &[B], &mut [U])> Loop<(&[A], &[B]), U> for Pieces<F> {
    fn run(&self, (x, y): (&[A], &[B]), out: &mut [U]) {
        self.0(x, y, out);
    }
}

#[track_caller]
fn zip_by<A, B, U>(a: &Tensor, b: &Tensor, f: &dyn for<'a> Loop<(&'a [A], &'a [B]), U>) -> Tensor
where
    A: Element,
    B: Element,
    U: Element,
{
    let runs = Runs::new([a, b]);
    let (x, y) = (a.elements::<A>(), b.elements::<B>());
    let (mut p, mut q) = (Vec::new(), Vec::new());
    Tensor::written(&runs.shape, |mut rest: &mut [U]| {
        runs.for_each(&mut |[i, j], len| {
            let out = rest.split_off_mut(..len).unwrap_or_default();
            let x = beside(&x[i..], runs.steps[0], len, &mut p);
            let y = beside(&y[j..], runs.steps[1], len, &mut q);
            f.run((x, y), out);
        });
    })
}

/// `f` of the elements of three tensors in the same place after broadcasting.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn zip3<A: Element, B: Element, C: Element, U: Element>(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    f: impl Fn(A, B, C) -> U,
) -> Tensor {
    let runs = Runs::new([a, b, c]);
    let operands = (a.elements::<A>(), b.elements::<B>(), c.elements::<C>());
    Tensor::written(&runs.shape, |out| zip3_by(&runs, operands, &f, out))
}

/// The elements of `x` where the condition holds and those of `y` elsewhere, after broadcasting; both are of one type.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn choose(condition: &Tensor, x: &Tensor, y: &Tensor) -> Tensor {
    let runs = Runs::new([condition, x, y]);
    dispatch_words!(x.dtype(), W => {
        let operands = (condition.elements::<bool>(), x.storage::<W>(), y.storage::<W>());
        Tensor::written_words(&runs.shape, x.dtype(), |out| {
            zip3_by(&runs, operands, &|holds: bool, x: W, y: W| if holds { x } else { y }, out);
        })
    })
}

fn zip3_by<A: Copy, B: Copy, C: Copy, U>(
    runs: &Runs<3>,
    (x, y, z): (&[A], &[B], &[C]),
    f: &dyn for<'a> Loop<(&'a [A], &'a [B], &'a [C]), U>,
    mut rest: &mut [U],
) {
    let (mut p, mut q, mut r) = (Vec::new(), Vec::new(), Vec::new());
    runs.for_each(&mut |[i, j, k], len| {
        let out = rest.split_off_mut(..len).unwrap_or_default();
        let x = beside(&x[i..], runs.steps[0], len, &mut p);
        let y = beside(&y[j..], runs.steps[1], len, &mut q);
        let z = beside(&z[k..], runs.steps[2], len, &mut r);
        f.run((x, y, z), out);
    });
}

/// `len` elements that are `step` apart, side by side: as they are, or copied into `held`.
fn beside<'a, T: Copy>(elements: &'a [T], step: usize, len: usize, held: &'a mut Vec<T>) -> &'a [T] {
    if step == 1 {
        return &elements[..len];
    }
    held.clear();
    match step {
        0 => held.resize(len, elements[0]),
        step => held.extend(elements.iter().step_by(step).take(len)),
    }
    held
}

/// The runs of `N` operands that broadcast.
struct Runs<const N: usize> {
    /// The shape of the result.
    shape: Dims,
    /// The elements of a run.
    len: usize,
    /// How far apart the elements of a run are, in each operand.
    steps: [usize; N],
    /// The outer dimensions: their sizes, and the strides of each operand.
    outer: Dims,
    strides: [Dims; N],
    /// Where each operand begins.
    start: [usize; N],
}

impl<const N: usize> Runs<N> {
    #[track_caller]
    fn new(operands: [&Tensor; N]) -> Self {
        let shape = if operands.iter().all(|x| x.shape == operands[0].shape) {
            operands[0].shape.clone()
        } else {
            view::broadcast_shape(&operands.map(Tensor::shape)).expect("shapes that broadcast")
        };
        let mut strides = operands.map(|x| view::expand(x, &shape).strides);
        let mut outer = shape.clone();
        // Dimensions that continue each other in all operands are one.
        let mut dim = outer.len();
        while dim > 1 {
            dim -= 1;
            let joins = outer[dim] == 1 || strides.iter().all(|strides| strides[dim - 1] == strides[dim] * outer[dim]);
            if outer[dim - 1] == 1 {
                outer.remove(dim - 1);
                for strides in &mut strides {
                    strides.remove(dim - 1);
                }
            } else if joins {
                let size = outer.remove(dim);
                outer[dim - 1] *= size;
                strides.iter_mut().for_each(|strides| {
                    let step = strides.remove(dim);
                    if size != 1 {
                        strides[dim - 1] = step;
                    }
                });
            }
        }
        let len = outer.pop().unwrap_or(1);
        let steps = std::array::from_fn(|n| strides[n].pop().unwrap_or(1));
        Self { shape, len, steps, outer, strides, start: operands.map(|x| x.offset) }
    }

    fn numel(&self) -> usize {
        numel(&self.shape)
    }

    /// Calls `f` with the place of every piece of a run in each operand and its length, in row-major order. A run is one
    /// piece if it lies side by side in all operands; else pieces fit into the first-level cache.
    fn for_each(&self, f: &mut dyn FnMut([usize; N], usize)) {
        if self.numel() == 0 {
            return;
        }
        let piece = if self.steps == [1; N] { self.len } else { self.len.min(PIECE) };
        let mut index = Dims::from_elem(0, self.outer.len());
        let mut place = self.start;
        loop {
            for first in (0..self.len).step_by(piece) {
                let first_of = |n| place[n] + first * self.steps[n];
                f(std::array::from_fn(first_of), piece.min(self.len - first));
            }
            let mut dim = self.outer.len();
            loop {
                if dim == 0 {
                    return;
                }
                dim -= 1;
                index[dim] += 1;
                place.iter_mut().zip(&self.strides).for_each(|(place, strides)| *place += strides[dim]);
                if index[dim] < self.outer[dim] {
                    break;
                }
                let size = self.outer[dim];
                place.iter_mut().zip(&self.strides).for_each(|(place, strides)| *place -= strides[dim] * size);
                index[dim] = 0;
            }
        }
    }
}

/// The elements in row-major order, copied as words.
pub(super) fn gather<W: Word>(x: &Tensor) -> Vec<W> {
    let runs = Runs::new([x]);
    let elements = x.storage::<W>();
    let mut out = Vec::with_capacity(runs.numel());
    let [step] = runs.steps;
    runs.for_each(&mut |[i], len| match step {
        1 => out.extend_from_slice(&elements[i..i + len]),
        0 => out.resize(out.len() + len, elements[i]),
        step => out.extend(elements[i..].iter().step_by(step).take(len)),
    });
    out
}

/// A tensor with the reduced dimensions last and contiguous: rows to reduce.
#[derive(Debug)]
pub struct Lanes {
    /// The rearranged tensor, contiguous.
    pub rows: Tensor,
    /// The length of a row.
    pub len: usize,
    /// The shape of what is left.
    pub shape: Dims,
}

/// The tensor as rows along `dims`. Without elements to reduce, rows have length 0.
pub fn lanes(x: &Tensor, dims: &[usize]) -> Lanes {
    let kept: Dims = (0..x.ndim()).filter(|dim| !dims.contains(dim)).collect();
    let shape: Dims = kept.iter().map(|&dim| x.shape()[dim]).collect();
    let len = dims.iter().map(|&dim| x.shape()[dim]).product();
    let mut order = kept;
    order.extend(dims.iter().copied());
    Lanes { rows: view::permute(x, &order).contiguous(), len, shape }
}

impl Lanes {
    /// `f` of every row.
    #[must_use]
    pub fn map<T: Element, U: Element>(&self, f: impl Fn(&[T]) -> U) -> Tensor {
        self.map_by(&f)
    }

    fn map_by<T: Element, U: Element>(&self, f: &dyn for<'a> Loop<(&'a [T], usize), U>) -> Tensor {
        let elements = self.rows.as_slice::<T>().expect("invariant: rows are contiguous");
        Tensor::written(&self.shape, |out| f.run((elements, self.len), out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All layouts of two operands against the definition by index.
    #[test]
    fn runs_follow_the_strides() {
        let x = Tensor::from_vec([2, 3, 4, 5], (0..120).collect::<Vec<i64>>());
        let views = [
            x.clone(),
            view::transpose(&x, 1, 3),
            view::permute(&x, &[3, 2, 1, 0]),
            view::slice(&x, 3, 0, 5, 2),
            view::narrow(&x, 1, 1, 1),
            view::narrow(&x, 0, 1, 1),
            view::expand(&view::narrow(&x, 2, 3, 1), &[2, 3, 4, 5]),
            view::select(&view::select(&x, 0, 1), 0, 2),
            view::narrow(&x, 2, 0, 0),
        ];
        for a in &views {
            let expected: Vec<u64> = a.view::<i64>().iter().map(|&x| x as u64).collect();
            assert_eq!(gather::<u64>(a), expected);
            for b in &views {
                let Some(shape) = view::broadcast_shape(&[a.shape(), b.shape()]) else { continue };
                let sum = zip::<i64, i64, i64>(a, b, |x, y| 1000 * x + y);
                let (p, q) = (view::expand(a, &shape), view::expand(b, &shape));
                let expected: Vec<i64> =
                    p.view::<i64>().iter().zip(q.view::<i64>()).map(|(x, y)| 1000 * x + y).collect();
                assert_eq!(sum.to_vec::<i64>(), expected, "{:?} {:?}", a.shape(), b.shape());
                let triple = zip3::<i64, i64, i64, i64>(a, b, a, |x, y, z| 1000 * x + y + z - x);
                assert_eq!(triple.to_vec::<i64>(), expected);
            }
        }
    }
}
