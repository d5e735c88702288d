//! Elementwise calls, one or several in one pass over memory.

mod side;

use std::ops::Range;
use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::elementwise::{Binary, Chain, Op, Operand, Part, Place, Step, Ternary, Unary};
use smallvec::{SmallVec, smallvec};

use self::side::{Rows, Side, Spread};
use super::{ByRows, Kernel, Known, Lowered, Operands, Site, Wanted, all_half, read, words_of, written};
use crate::arg::Arg;
use crate::compile::layout::Layout;
use crate::ops::{Attr, Function, channel_factors, functions as ops, kind};
use crate::tensor::{DType, Tensor, numel};

/// Elementwise ops, each of operands and of what the ones before give.
#[derive(Clone)]
pub(in crate::compile) struct Pointwise {
    chain: Chain,
    /// The elements of the result.
    len: usize,
    /// The chain's operands.
    sides: SmallVec<[Side; 2]>,
    /// What the result is rounded to, if it is words.
    written: Option<Rounded>,
}

/// What is added to a value: known numbers or another value, how far apart its elements are in four dimensions, and after how many of
/// the first they begin anew.
pub(in crate::compile) struct Addend {
    pub(in crate::compile) known: Option<Tensor>,
    /// Whether the value is replaced where minus infinity is added.
    pub(in crate::compile) hides: bool,
    /// Which of the values it is, if it is not known.
    pub(in crate::compile) value: usize,
    pub(in crate::compile) strides: [usize; 4],
    pub(in crate::compile) period: usize,
}

pub(super) fn pointwise(site: &Site<'_>) -> Option<Lowered> {
    let [x, y, z] = [0, 1, 2].map(Place::Input);
    let (step, args, count) = match binary_of(site.function) {
        Some(op) => (Step::binary(op, x, y), 2, 2),
        None if site.function == ops::pow => (Step::unary(power(site.arg(1).as_float()?)?, x), 2, 1),
        None if site.function == ops::masked_fill => (Step::ternary(Ternary::Where, y, z, x), 3, 3),
        None if site.function == ops::where_ => (Step::ternary(Ternary::Where, x, y, z), 3, 3),
        None => (Step::unary(Attr::of_single(site.function, site.kwargs)?.0, x), 1, 1),
    };
    if site.args.len() != args || args > 1 && !site.kwargs.is_empty() {
        return None;
    }
    // Values of the result's shape say how it lies, those without gaps first.
    let full = (0..count).filter_map(|index| site.value(index)).filter(|(layout, _)| *layout.shape == *site.shape());
    let main = full.min_by_key(|(layout, _)| layout.order().is_none());
    let main = main.map_or_else(|| Layout::row_major(DType::F32, site.shape()), |(layout, _)| layout.dense());
    lowered(site, count, Chain::new(count, &[step])?, main)
}

/// A batch norm whose statistics are known: a product and a sum for each channel.
pub(super) fn batch_norm(site: &Site<'_>) -> Option<Lowered> {
    let (main, register) = site.value(0)?;
    let (mean, var) = (site.constant(1)?, site.constant(2)?);
    let (weight, bias) = (site.optional(3)?, site.optional(4)?);
    let (training, eps) =
        (site.attribute::<kind::flag>("training", false)?, site.attribute::<kind::float>("eps", 1e-5)?);
    if training {
        return None;
    }
    let factors = channel_factors(&mean, &var, weight.as_ref(), bias.as_ref(), eps);
    let main = main.dense();
    let side = |factor: fn(&(f64, f64)) -> f64| {
        let numbers: Vec<f32> = factors.iter().map(|factors| factor(factors) as f32).collect();
        of_channels(numbers, &main)
    };
    let (scale, shift) = (side(|(scale, _)| *scale)?, side(|(_, shift)| *shift)?);
    let sides = smallvec![Side::Value(Spread::full(main.numel())), scale, shift];
    let kernel = Pointwise::new(scaled_and_shifted()?, main.numel(), sides)?;
    Some(Lowered::new(kernel, smallvec![Wanted::new(register, main.clone())], main))
}

/// A function with a known number for each channel, or one for all.
pub(super) fn prelu(site: &Site<'_>) -> Option<Lowered> {
    let (main, register) = site.value(0)?;
    let (main, weight) = (main.dense(), site.constant(1)?);
    let chain = Chain::new(2, &[Step::binary(Binary::Prelu, Place::Input(0), Place::Input(1))])?;
    let sides = smallvec![Side::Value(Spread::full(main.numel())), of_channels(weight.to_vec(), &main)?];
    let kernel = Pointwise::new(chain, main.numel(), sides)?;
    Some(Lowered::new(kernel, smallvec![Wanted::new(register, main.clone())], main))
}

/// Numbers of the second dimension as an operand for a result that lies so.
fn of_channels(numbers: Vec<f32>, result: &Layout) -> Option<Side> {
    let mut shape: SmallVec<[usize; 6]> = smallvec![1; result.shape.len().saturating_sub(1).max(1)];
    shape[0] = numbers.len();
    known(&Tensor::from_vec(&*shape, numbers), result)
}

/// The first half along a dimension times the sigmoid of the second.
pub(super) fn glu(site: &Site<'_>) -> Option<Lowered> {
    let (x, register) = site.value(0)?;
    let (x, dim, ndim) = (x.dense(), site.attribute::<kind::int>("dim", -1)?, x.shape.len());
    let dim = usize::try_from(if dim < 0 { dim + ndim as i64 } else { dim }).ok().filter(|dim| *dim < ndim)?;
    let output = Layout::in_order(DType::F32, site.shape(), &x.slowest_first());
    let len = output.strides[dim] * output.shape[dim];
    let half = |first: usize| Side::Rows(Rows { first, len, stride: 2 * len });
    let steps =
        [Step::unary(Unary::Sigmoid, Place::Input(1)), Step::binary(Binary::Mul, Place::Input(0), Place::Step(0))];
    let kernel = Pointwise::new(Chain::new(2, &steps)?, output.numel(), smallvec![half(0), half(len)])?;
    let wanted = Wanted::new(register, x);
    Some(Lowered::new(kernel, smallvec![wanted.clone(), wanted], output))
}

/// The product of the first argument with the second and the sum with the third, for each channel.
pub(super) fn scale_and_shift(site: &Site<'_>) -> Option<Lowered> {
    lowered(site, 3, scaled_and_shifted()?, site.value(0)?.0.dense())
}

/// An operand times another, plus another.
fn scaled_and_shifted() -> Option<Chain> {
    let [x, scale, shift] = [0, 1, 2].map(Place::Input);
    Chain::new(3, &[Step::ternary(Ternary::MulAdd, x, scale, shift)])
}

/// A chain of as many arguments, with a result that lies so.
fn lowered(site: &Site<'_>, count: usize, chain: Chain, output: Layout) -> Option<Lowered> {
    let mut operands: SmallVec<[Wanted; 4]> = SmallVec::new();
    let mut sides = SmallVec::new();
    for index in 0..count {
        sides.push(match site.arg(index) {
            Arg::Int(x) => Side::Number(*x as f32),
            Arg::Float(x) => Side::Number(*x as f32),
            Arg::Value(Known::Value(..)) => {
                let (layout, register) = site.value(index)?;
                if let Some(rows) = Rows::of(layout, &output) {
                    operands.push(Wanted::new(register, layout.clone()));
                    Side::Rows(rows)
                } else {
                    let (spread, layout) = Spread::of(&layout.shape, &output)?;
                    operands.push(Wanted::new(register, layout));
                    Side::Value(spread)
                }
            }
            Arg::Value(other) => known(&other.constant()?, &output)?,
            _ => return None,
        });
    }
    let kernel = Pointwise::new(chain, output.numel(), sides)?;
    Some(Lowered::new(kernel, operands, output))
}

/// The powers that are something simpler.
fn power(exponent: f64) -> Option<Unary> {
    let rows = [(2.0, Unary::Square), (0.5, Unary::Sqrt)];
    rows.into_iter().find(|(known, _)| *known == exponent).map(|(_, op)| op)
}

fn binary_of(function: Function) -> Option<Binary> {
    let rows = [
        (ops::add, Binary::Add),
        (ops::sub, Binary::Sub),
        (ops::mul, Binary::Mul),
        (ops::div, Binary::Div),
        (ops::maximum, Binary::Maximum),
        (ops::minimum, Binary::Minimum),
        (ops::atan2, Binary::Atan2),
        (ops::hypot, Binary::Hypot),
    ];
    rows.into_iter().find(|(known, _)| *known == function).map(|(_, op)| op)
}

/// A known tensor as an operand for a result that lies so; what is true is 1.
fn known(tensor: &Tensor, result: &Layout) -> Option<Side> {
    let tensor = &match tensor.dtype() {
        DType::F32 => tensor.clone(),
        DType::Bool => tensor.to_dtype(DType::F32),
        _ => return None,
    };
    if tensor.numel() == 1 {
        return Some(Side::Number(tensor.to_vec::<f32>()[0]));
    }
    let (spread, layout) = Spread::of(tensor.shape(), result)?;
    // The elements in the order in which they are met.
    let order = layout.order()?;
    let mut dims: Vec<usize> = (0..tensor.ndim()).filter(|dim| !order.contains(dim)).collect();
    dims.extend(order);
    Some(Side::Known(crate::tensor::view::permute(tensor, &dims).contiguous(), spread))
}

impl Pointwise {
    /// Ops with a result of so many elements, if all operands can be met at once.
    fn new(chain: Chain, len: usize, sides: SmallVec<[Side; 2]>) -> Option<Self> {
        Self { chain, len, sides, written: None }.checked()
    }

    /// Itself, if all operands can be met at once, words are whole, and no more than one operand is joined.
    fn checked(self) -> Option<Self> {
        let (parts, len) = (self.parts(), self.len);
        let words = self.written.or_else(|| self.reads_pairs().then_some(Rounded::Pairs));
        if words.is_some_and(|rounded| !self.has_words(rounded)) {
            return None;
        }
        let joined = self.sides.iter().filter(|side| matches!(side, Side::Joined(_))).count();
        let fits = |side: &Side| match side {
            Side::Number(_) | Side::Pairs => true,
            Side::Rows(rows) => (len / parts).is_multiple_of(rows.len),
            Side::Joined(_) => parts == 1 && joined == 1,
            Side::Value(spread) | Side::Known(_, spread) => spread.fits(parts, len),
        };
        (len.is_multiple_of(parts) && self.sides.iter().all(fits)).then_some(self)
    }

    /// The parts that the result is computed in.
    fn parts(&self) -> usize {
        self.sides.iter().filter_map(Side::spread).map(|spread| spread.times * spread.parts).max().unwrap_or(1)
    }

    /// The step, if there is one.
    fn only_step(&self) -> Option<&Step> {
        let mut steps = self.chain.steps();
        steps.next().filter(|_| steps.next().is_none())
    }

    /// Which values are numbers for each line of so many keys and for each place in a line, if the result is their sum for each of
    /// so many queries; and the keys of a line.
    pub(super) fn grid(&self, rows: usize, keys: usize) -> Option<([usize; 2], usize)> {
        let step = self.only_step()?;
        let (Op::Binary(Binary::Add), &[Place::Input(a), Place::Input(b)]) = (step.op(), step.args()) else {
            return None;
        };
        let axis = |side: usize| {
            let Side::Value(spread) = self.sides[side] else { return None };
            Some((self.values().position(|index| index == side)?, spread)).filter(|_| spread.times == 1)
        };
        let in_order = |(lines, line): (usize, Spread), (places, place): (usize, Spread)| {
            let len = line.run;
            let are_lines = line.parts == 1 && line.count * len == self.len && keys.is_multiple_of(len) && len < keys;
            let are_places = place.run == 1 && place.parts == rows && place.count == rows * len;
            (are_lines && are_places && self.len == rows * keys).then_some(([lines, places], len))
        };
        let (a, b) = (axis(a)?, axis(b)?);
        in_order(a, b).or_else(|| in_order(b, a))
    }

    /// The number that a value is multiplied with, if that is all.
    pub(in crate::compile) fn factor(&self) -> Option<f32> {
        let step = self.only_step()?;
        let [x, by] = [step.args().first(), step.args().get(1)].map(|place| match place {
            Some(Place::Input(side)) => Some(&self.sides[*side]),
            _ => None,
        });
        match (step.op(), x?, by?) {
            (Op::Binary(Binary::Mul), Side::Value(_) | Side::Rows(_), Side::Number(by))
            | (Op::Binary(Binary::Mul), Side::Number(by), Side::Value(_) | Side::Rows(_)) => Some(*by),
            (Op::Binary(Binary::Div), Side::Value(_) | Side::Rows(_), Side::Number(by)) => Some(1.0 / by),
            _ => None,
        }
    }

    /// What is computed of one of the values, seen as four dimensions, if it is multiplied with a number and others are added.
    pub(in crate::compile) fn scaled(&self, value: usize, sizes: [usize; 4]) -> Option<(f32, SmallVec<[Addend; 1]>)> {
        let main = self.full(value)?;
        let (mut scale, mut added) = (1.0, SmallVec::new());
        let mut so_far = Place::Input(main);
        for (index, step) in self.chain.steps().enumerate() {
            match (step.op(), step.args()) {
                (Op::Binary(op), &([x, Place::Input(other)] | [Place::Input(other), x])) if x == so_far => {
                    let is_first = step.args()[0] == so_far;
                    match (op, &self.sides[other]) {
                        (Binary::Mul, Side::Number(x)) if added.is_empty() => scale *= x,
                        (Binary::Div, Side::Number(x)) if added.is_empty() && is_first => scale /= x,
                        (Binary::Add, Side::Known(numbers, spread)) => {
                            let (strides, period) = self.strides(*spread, sizes)?;
                            added.push(Addend {
                                known: Some(numbers.clone()),
                                hides: false,
                                value: 0,
                                strides,
                                period,
                            });
                        }
                        (Binary::Add, Side::Value(spread)) => {
                            let value = self.values().position(|index| index == other)?;
                            let (strides, period) = self.strides(*spread, sizes)?;
                            added.push(Addend { known: None, hides: false, value, strides, period });
                        }
                        _ => return None,
                    }
                }
                (Op::Ternary(Ternary::Where), &[Place::Input(mask), Place::Input(number), x]) if x == so_far => {
                    added.push(self.hidden([mask, number], true, sizes)?);
                }
                (Op::Ternary(Ternary::Where), &[Place::Input(mask), x, Place::Input(number)]) if x == so_far => {
                    added.push(self.hidden([mask, number], false, sizes)?);
                }
                _ => return None,
            }
            so_far = Place::Step(index);
        }
        Some((scale, added))
    }

    /// Minus infinity where a number replaces others that a known mask tells, if a softmax cannot tell one from the other: it is that,
    /// or so low that its power is 0 beside any that is left, and in each row one is.
    fn hidden(&self, [mask, number]: [usize; 2], held: bool, sizes: [usize; 4]) -> Option<Addend> {
        /// No number that a product gives is beside it.
        const LOW: f32 = -1e9;
        let (Side::Known(mask, spread), Side::Number(low)) = (&self.sides[mask], &self.sides[number]) else {
            return None;
        };
        let (mask, (strides, period)) = (mask.as_slice::<f32>()?, self.strides(*spread, sizes)?);
        let is_hidden = |holds: f32| (holds != 0.0) == held;
        let count = |dim: usize| match dim {
            _ if strides[dim] == 0 => 1,
            0 => sizes[0].min(period),
            _ => sizes[dim],
        };
        let mut rows = (0..count(0) * count(1) * count(2)).map(|row| {
            let (batch, head, row) = (row / count(2) / count(1), row / count(2) % count(1), row % count(2));
            batch * strides[0] + head * strides[1] + row * strides[2]
        });
        let is_left = |row: usize| (0..count(3)).any(|key| !is_hidden(mask[row + key * strides[3]]));
        if *low != f32::NEG_INFINITY && !(*low <= LOW && rows.all(is_left)) {
            return None;
        }
        let numbers: Vec<f32> =
            mask.iter().map(|holds| if is_hidden(*holds) { f32::NEG_INFINITY } else { 0.0 }).collect();
        let known = Some(Tensor::from_vec([numbers.len()], numbers));
        Some(Addend { known, hides: true, value: 0, strides, period })
    }

    /// How far apart the elements of an operand are that meet neighbours of the result in each of four dimensions, if they are
    /// always as far apart, and after how many of the first they begin anew.
    fn strides(&self, spread: Spread, mut sizes: [usize; 4]) -> Option<([usize; 4], usize)> {
        let (len, whole) = (self.len / self.parts(), numel(&sizes));
        sizes[0] = sizes[0].is_multiple_of(spread.times).then(|| sizes[0] / spread.times)?;
        let element = |place: [usize; 4]| {
            let place = place.iter().zip(sizes).fold(0, |place, (index, size)| place * size + index);
            let elements = spread.elements(place / len, self.parts(), self.len);
            elements.start + place % len / spread.run % elements.len()
        };
        let last = sizes.map(|size| size - 1);
        let along = |dim: usize, index: usize, mut place: [usize; 4]| {
            place[dim] = index;
            place
        };
        let strides = [0, 1, 2, 3].map(|dim| if sizes[dim] == 1 { 0 } else { element(along(dim, 1, [0; 4])) });
        let at = |place: [usize; 4]| place.iter().zip(strides).map(|(index, stride)| index * stride).sum::<usize>();
        let is_linear = |dim: usize| {
            let mut places = (0..sizes[dim]).flat_map(|index| [[0; 4], last].map(|rest| along(dim, index, rest)));
            places.all(|place| element(place) == at(place))
        };
        let period = if spread.times == 1 { usize::MAX } else { sizes[0] };
        (whole == self.len && (0..4).all(is_linear)).then_some((strides, period))
    }

    /// The values that are joined: of one operand.
    fn parts_joined<'a>(&self, operands: &Operands<'a>) -> SmallVec<[Part<'a>; 4]> {
        let mut first = 0;
        for side in &self.sides {
            if let Side::Joined(rows) = side {
                let part = |(&(row, pairs), x): (_, &Option<&'a [f32]>)| Part { x: x.unwrap_or(&[]), row, pairs };
                return rows.iter().zip(&operands[first..]).map(part).collect();
            }
            first += side.values();
        }
        SmallVec::new()
    }

    /// The parts that the result is computed in one after the other: all at once if they are short.
    fn runs(&self) -> usize {
        /// The elements of a part that take longer than to begin with it. Measured: of 64 all at once take 0.3 of the time, of 1000 1.2.
        const LONG: usize = 512;
        let (parts, len) = (self.parts(), self.len);
        let is_met = |spread: Spread| spread.run == 1 || spread.parts == 1 || spread.count * spread.run == len;
        let at_once = len / parts <= LONG && self.sides.iter().filter_map(Side::spread).all(is_met);
        if at_once { 1 } else { parts }
    }

    /// What one of so many parts of the result meets.
    fn met<'a>(
        &'a self,
        (part, parts): (usize, usize),
        operands: &Operands<'a>,
        joined: &'a [Part<'a>],
    ) -> SmallVec<[Operand<'a>; 4]> {
        let len = self.len / parts;
        let operand = |x: &'a [f32], spread: Spread| {
            let own = spread.count / spread.parts;
            if parts == 1 && spread.parts > 1 && spread.count * spread.run < self.len {
                return Operand::Again(&x[..spread.count], own, self.len / (spread.times * spread.count));
            }
            let x = &x[if parts == 1 { 0..spread.count } else { spread.elements(part, parts, self.len) }];
            if spread.run == 1 { Operand::Cycle(x) } else { Operand::Repeat(x, spread.run) }
        };
        let mut values = operands.iter();
        let side = |side: &'a Side| match side {
            &Side::Number(x) => Operand::Number(x),
            Side::Known(tensor, spread) => {
                let x: &[f32] = tensor.as_slice().unwrap_or(&[]);
                operand(x, *spread)
            }
            Side::Value(spread) => match values.next() {
                Some(Some(x)) => operand(x, *spread),
                _ => Operand::Output,
            },
            Side::Pairs => match values.next() {
                Some(Some(x)) => Operand::Pairs(&x[part * len / 2..][..len / 2]),
                _ => Operand::Output,
            },
            Side::Joined(rows) => {
                values.nth(rows.len() - 1);
                Operand::Joined(joined)
            }
            &Side::Rows(Rows { first, len: row, stride }) => {
                let x = values.next().copied().flatten().unwrap_or(&[]);
                Operand::Rows(&x[first + part * len / row * stride..], row, stride)
            }
        };
        self.sides.iter().map(side).collect()
    }

    /// Where one of the values is among the sides, and among the rows that are joined there, if it is one of these.
    fn joined_row(&self, value: usize) -> Option<(usize, usize)> {
        let index = self.values().nth(value).filter(|index| matches!(self.sides[*index], Side::Joined(_)))?;
        let first = self.values().position(|other| other == index)?;
        Some((index, value - first))
    }

    /// Where each value is among the sides.
    fn values(&self) -> impl Iterator<Item = usize> {
        self.sides.iter().enumerate().flat_map(|(index, side)| std::iter::repeat_n(index, side.values()))
    }

    /// Whether any value is words of pairs.
    fn reads_pairs(&self) -> bool {
        self.sides.iter().any(|side| match side {
            Side::Pairs => true,
            Side::Joined(rows) => rows.iter().any(|(_, pairs)| *pairs),
            _ => false,
        })
    }

    /// Whether all parts of the result are whole words of what is rounded so.
    fn has_words(&self, rounded: Rounded) -> bool {
        (self.len / self.parts()).is_multiple_of(rounded.numbers())
    }

    /// Where one of the values is among the sides, if it lies as the result does.
    fn full(&self, value: usize) -> Option<usize> {
        let is_full = |side: &Side| matches!(side, Side::Value(spread) if *spread == Spread::full(self.len));
        self.values().nth(value).filter(|index| is_full(&self.sides[*index]))
    }
}

impl Kernel for Pointwise {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let joined = self.parts_joined(operands);
        let parts = self.runs();
        for (part, out) in out.chunks_exact_mut(out.len() / parts).enumerate() {
            let inputs = self.met((part, parts), operands, &joined);
            match self.written {
                Some(rounded) => self.chain.run_words(out, rounded, &inputs),
                None => self.chain.run(out, &inputs),
            }
        }
    }

    fn by_rows(&self, outputs: usize) -> Option<Arc<dyn ByRows>> {
        let is_of_numbers = self.written.is_none() && !self.reads_pairs() && self.len.is_multiple_of(outputs);
        is_of_numbers.then(|| Arc::new(self.clone()) as Arc<dyn ByRows>)
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = |side: &Side| match *side {
            Side::Value(spread)
                if spread.times == 1 && spread.is_split(self.len) && spread.count.is_multiple_of(count) =>
            {
                let parts = spread.parts.is_multiple_of(count).then(|| spread.parts / count);
                let parts = parts.or((spread.parts == 1).then_some(1))?;
                Some(Side::Value(Spread { parts, count: spread.count / count, ..spread }))
            }
            Side::Known(_, spread) if !spread.is_split(self.len) => Some(side.clone()),
            Side::Known(ref tensor, spread) if spread.times > 1 && spread.times.is_multiple_of(count) => {
                Some(Side::Known(tensor.clone(), Spread { times: spread.times / count, ..spread }))
            }
            Side::Number(_) | Side::Pairs | Side::Rows(_) | Side::Joined(_) => Some(side.clone()),
            Side::Value(_) | Side::Known(..) => None,
        };
        let sides = self.sides.iter().map(part).collect::<Option<_>>()?;
        let part = Self { len: self.len / count, sides, chain: self.chain.clone(), written: self.written };
        let even = self.len.is_multiple_of(count);
        Some(Arc::new(part.checked().filter(|_| even)?))
    }

    fn pointwise(&self) -> Option<&Pointwise> {
        Some(self)
    }

    fn after(&self, before: &dyn Kernel, operand: usize) -> Option<Arc<dyn Kernel>> {
        let index = self.full(operand)?;
        if let Some(rows) = before.joined() {
            let mut sides = self.sides.clone();
            sides[index] = Side::Joined(rows.into_iter().map(|row| (row, false)).collect());
            return Some(Arc::new(Self::new(self.chain.clone(), self.len, sides)?));
        }
        let Some(before) = before.pointwise() else {
            return match self.only_step()?.op() {
                Op::Unary(function) => before.followed(function),
                _ => None,
            };
        };
        let chain = self.chain.after(&before.chain, index)?;
        let mut sides = self.sides.clone();
        sides.remove(index);
        sides.insert_many(index, before.sides.iter().cloned());
        Some(Arc::new(Self::new(chain, self.len, sides)?))
    }

    fn takes(&self, operand: usize) -> Option<Rounded> {
        let is_written = Rounded::Pairs.is_written() && self.has_words(Rounded::Pairs);
        let can_be = match self.joined_row(operand).map(|(index, part)| (&self.sides[index], part)) {
            Some((Side::Joined(rows), part)) => rows[part].0.is_multiple_of(Rounded::Pairs.numbers()),
            _ => self.full(operand).is_some(),
        };
        (is_written && can_be).then_some(Rounded::Pairs)
    }

    fn is_half(&self, operands: &[bool]) -> bool {
        all_half(operands)
    }

    fn reading_words(&self, operand: usize, _rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        match self.joined_row(operand).map(|(index, part)| (&mut kernel.sides[index], part)) {
            Some((Side::Joined(rows), part)) => rows[part].1 = true,
            _ => kernel.sides[self.full(operand)?] = Side::Pairs,
        }
        Some(Arc::new(kernel))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let words = words_of(layout, rounded).filter(|_| self.has_words(rounded))?;
        let kernel = Arc::new(Self { written: Some(rounded), ..self.clone() });
        rounded.is_written().then_some((kernel, words))
    }

    fn overwrites(&self, operand: usize) -> bool {
        let side = self.values().nth(operand).map(|index| &self.sides[index]);
        match self.written {
            None => self.full(operand).is_some(),
            Some(Rounded::Pairs) => matches!(side, Some(Side::Pairs)),
            Some(Rounded::Bytes(_)) => false,
        }
    }

    fn describe(&self) -> String {
        let ops = self.chain.steps().map(|step| step.op().to_string()).collect::<Vec<_>>().join(" + ");
        let from = read(self.reads_pairs().then_some(Rounded::Pairs));
        let joined =
            self.sides.iter().find_map(|side| if let Side::Joined(rows) = side { Some(rows.len()) } else { None });
        let joined = joined.map_or_else(String::new, |count| format!("cat of {count} + "));
        format!("{joined}{ops}{from}{}", written(self.written))
    }
}

impl ByRows for Pointwise {
    fn inputs(&self) -> usize {
        1
    }

    fn run_rows(&self, rows: Range<usize>, out: &mut [f32], operands: &Operands<'_>) {
        let (each, parts) = (out.len() / rows.len().max(1), self.parts());
        let len = self.len / parts;
        let joined = self.parts_joined(operands);
        let (mut at, mut out) = (rows.start * each, out);
        while !out.is_empty() {
            // As many as there are of this part.
            let (part, first) = (at / len, at % len);
            let (here, rest) = out.split_at_mut(out.len().min(len - first));
            self.chain.run_some(first..first + here.len(), here, &self.met((part, parts), operands, &joined));
            (at, out) = (at + here.len(), rest);
        }
    }
}
