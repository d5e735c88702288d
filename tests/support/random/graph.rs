//! A graph that grows by random choices, with what each of its values is.

use fx::graph_module::State;
use fx::passes::eliminate_dead_code;
use fx::prelude::*;
use fx::{Arg, Buffer, Function, Graph, GraphModule, Kwargs, NodeId, Opcode, ops};

use super::Case;
use crate::fill::{floats, integers};

/// The elements of the largest tensor, and the multiplications of the largest op.
pub(crate) const LARGEST: usize = 60_000;
pub(crate) const WORK: usize = 6_000_000;

/// A node and what it gives.
pub(crate) type Operand = (NodeId, Tensor);

/// Random bytes, of which each choice takes one; 0 when there are no more.
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl Choices<'_> {
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first) * count / 256
    }

    pub(crate) fn yes(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    pub(crate) fn channels(&mut self) -> usize {
        self.of(&[4, 1, 2, 3, 8, 16, 32, 5, 7, 12, 17, 24, 33, 40, 64])
    }

    pub(crate) fn extent(&mut self) -> usize {
        self.of(&[8, 1, 2, 3, 5, 6, 7, 9, 12, 14, 16, 17, 23])
    }
}

pub(crate) fn ints(numbers: impl IntoIterator<Item = usize>) -> Arg<Operand> {
    Arg::List(numbers.into_iter().map(|number| Arg::Int(number as i64)).collect())
}

pub(crate) fn int(number: usize) -> Arg<Operand> {
    Arg::Int(number as i64)
}

pub(crate) fn float(number: f64) -> Arg<Operand> {
    Arg::Float(number)
}

pub(crate) fn text(text: &'static str) -> Arg<Operand> {
    Arg::Str(text.into())
}

pub(crate) fn value(operand: &Operand) -> Arg<Operand> {
    Arg::Value(operand.clone())
}

/// A graph, its state, and what each of its values is.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) graph: Graph,
    pub(crate) state: State,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) values: Vec<Operand>,
    /// What could not be called with what it was to be called with.
    pub(crate) refused: Vec<Function>,
}

impl Builder {
    pub(crate) fn input(&mut self, choices: &mut Choices<'_>) {
        let batch = choices.of(&[1, 2, 3]);
        let shape = match choices.below(5) {
            0 | 1 => vec![batch, choices.channels(), choices.extent(), choices.extent()],
            2 => vec![batch, choices.extent(), choices.channels()],
            3 => vec![batch * choices.extent(), choices.channels()],
            _ => vec![
                batch,
                choices.of(&[4, 1, 3, 8, 17]),
                choices.of(&[4, 1, 3, 5]),
                choices.of(&[6, 1, 3, 8]),
                choices.extent(),
            ],
        };
        let name = format!("x{}", self.inputs.len());
        // Also as a view whose last two dimensions were exchanged.
        let x = match choices.below(4) {
            0 => {
                let mut shape = shape;
                let last = shape.len() - 1;
                shape.swap(last - 1, last);
                floats(&name, &shape).transpose(-2, -1)
            }
            _ => floats(&name, &shape),
        };
        self.values.push((self.graph.placeholder(&name), x.clone()));
        self.inputs.push(x);
    }

    /// A tensor of the state, which is made for its path.
    fn buffer(&mut self, prefix: &str, make: impl FnOnce(&str) -> Tensor) -> Operand {
        let path = format!("{prefix}{}", self.state.buffers.len());
        let tensor = make(&path);
        self.state.buffers.insert(path.clone(), Buffer::new(tensor.clone()));
        (self.graph.get_attr(&path), tensor)
    }

    /// Numbers of the state.
    pub(crate) fn parameter(&mut self, shape: impl IntoIterator<Item = usize>, scale: f64, offset: f64) -> Operand {
        let shape: Vec<usize> = shape.into_iter().collect();
        self.buffer("p", |path| floats(path, &shape) * scale + offset)
    }

    /// Weights of so many products for each result.
    pub(crate) fn weights(&mut self, shape: impl IntoIterator<Item = usize>, products: usize) -> Operand {
        self.parameter(shape, (3.0 / products as f64).sqrt(), 0.0)
    }

    /// Integers of the state, below a number.
    pub(crate) fn indices(&mut self, shape: impl IntoIterator<Item = usize>, below: usize) -> Operand {
        let shape: Vec<usize> = shape.into_iter().collect();
        self.buffer("i", |path| integers(path, &shape, below as u64))
    }

    /// So many integers of the state, one after the other.
    pub(crate) fn counted(&mut self, start: usize, count: usize) -> Operand {
        self.buffer("i", |_| Tensor::from_vec([count], (start as i64..(start + count) as i64).collect()))
    }

    /// One of the values of some rank, more often a late one.
    pub(crate) fn pick(&self, choices: &mut Choices<'_>, ranks: impl Fn(usize) -> bool) -> Option<Operand> {
        let fitting: Vec<&Operand> = self.values.iter().filter(|(_, x)| ranks(x.ndim())).collect();
        let late = match choices.below(8) {
            7 => fitting.len(),
            6 => fitting.len().min(3),
            _ => 1,
        };
        let place = choices.below(late.max(1));
        fitting.len().checked_sub(1 + place).map(|place| fitting[place].clone())
    }

    /// Sequences, images or volumes.
    pub(crate) fn images(&self, choices: &mut Choices<'_>) -> Option<Operand> {
        self.pick(choices, |rank| (3..=5).contains(&rank))
    }

    pub(crate) fn any(&self, choices: &mut Choices<'_>) -> Option<Operand> {
        self.pick(choices, |_| true)
    }

    /// A call, unless its operands do not fit or its result would be too large, or is not finite.
    pub(crate) fn call(
        &mut self,
        function: Function,
        args: Vec<Arg<Operand>>,
        kwargs: Kwargs<Operand>,
    ) -> Option<Operand> {
        let tensor = &mut |(_, x): &Operand| x.clone();
        let node = &mut |(id, _): &Operand| *id;
        let given: Vec<Arg<Tensor>> = args.iter().map(|arg| arg.map(tensor)).collect();
        let Ok(result) = function.call(&given, &kwargs.map(tensor)) else {
            self.refused.push(function);
            return None;
        };
        let fits = |x: &Tensor| {
            x.dtype() != DType::F32 || x.numel() <= LARGEST && x.numel() > 0 && x.abs().max().item().to_f64() < 1e3
        };
        let nodes: Vec<_> = args.iter().map(|arg| arg.map(node)).collect();
        match &result {
            Arg::Value(x) if fits(x) => {
                let id = self.graph.call(Opcode::CallFunction, function, nodes, kwargs.map(node));
                Some((id, x.clone()))
            }
            _ => {
                let items = result.as_items()?;
                let parts: Vec<Tensor> = items.iter().filter_map(|item| item.as_value().cloned()).collect();
                if parts.len() != items.len() || !parts.iter().all(fits) {
                    return None;
                }
                let id = self.graph.call(Opcode::CallFunction, function, nodes, kwargs.map(node));
                let mut last = None;
                for (index, part) in parts.into_iter().enumerate().filter(|(_, part)| part.dtype() == DType::F32) {
                    let item = self.graph.call_function(ops::getitem, [id.into(), Arg::Int(index as i64)]);
                    self.values.extend(last.replace((item, part)));
                }
                last
            }
        }
    }

    pub(crate) fn plain(&mut self, function: Function, args: Vec<Arg<Operand>>) -> Option<Operand> {
        self.call(function, args, Kwargs::new())
    }

    pub(crate) fn with<const N: usize>(
        &mut self,
        function: Function,
        args: Vec<Arg<Operand>>,
        kwargs: [(&'static str, Arg<Operand>); N],
    ) -> Option<Operand> {
        self.call(function, args, kwargs.into_iter().collect())
    }

    /// A value of numbers from a half on.
    pub(crate) fn positive(&mut self, x: &Operand) -> Option<Operand> {
        let x = self.plain(ops::abs, vec![value(x)])?;
        self.plain(ops::add, vec![value(&x), float(0.5)])
    }

    /// What an index along a dimension chooses of a value.
    pub(crate) fn index(&mut self, x: &Operand, dim: usize, index: Arg<Operand>) -> Option<Operand> {
        let all = || Arg::Slice(Box::new([Arg::None, Arg::None, Arg::None]));
        let index = (0..dim).map(|_| all()).chain([index]).collect();
        self.plain(ops::getitem, vec![value(x), Arg::Tuple(index)])
    }

    /// With two dimensions exchanged.
    pub(crate) fn transposed(&mut self, x: &Operand, dim0: i64, dim1: i64) -> Option<Operand> {
        self.with(ops::transpose, vec![value(x)], [("dim0", Arg::Int(dim0)), ("dim1", Arg::Int(dim1))])
    }

    pub(crate) fn permuted(&mut self, x: &Operand, dims: impl IntoIterator<Item = usize>) -> Option<Operand> {
        self.with(ops::permute, vec![value(x)], [("dims", ints(dims))])
    }

    pub(crate) fn reshaped(&mut self, x: &Operand, shape: impl IntoIterator<Item = usize>) -> Option<Operand> {
        self.with(ops::reshape, vec![value(x)], [("shape", ints(shape))])
    }

    /// A dimension as two.
    pub(crate) fn unflattened(&mut self, x: &Operand, dim: usize, sizes: [usize; 2]) -> Option<Operand> {
        self.with(ops::unflatten, vec![value(x)], [("dim", int(dim)), ("sizes", ints(sizes))])
    }

    pub(crate) fn narrowed(&mut self, x: &Operand, dim: usize, start: usize, length: usize) -> Option<Operand> {
        let range = [("dim", int(dim)), ("start", int(start)), ("length", int(length))];
        self.with(ops::narrow, vec![value(x)], range)
    }

    pub(crate) fn joined<'a>(&mut self, parts: impl IntoIterator<Item = &'a Operand>, dim: usize) -> Option<Operand> {
        let parts = Arg::List(parts.into_iter().map(value).collect());
        self.with(ops::cat, vec![parts], [("dim", int(dim))])
    }

    /// A convolution that leaves the images' sizes as they are.
    pub(crate) fn same_conv(
        &mut self,
        x: &Operand,
        outputs: usize,
        size: usize,
        groups: usize,
        bias: bool,
    ) -> Option<Operand> {
        let (planes, channels) = (x.1.ndim() - 2, x.1.shape()[1]);
        let taps = size.pow(planes as u32);
        if x.1.numel() * taps * outputs / groups > WORK {
            return None;
        }
        let shape = [outputs, channels / groups].into_iter().chain(vec![size; planes]);
        let weight = self.weights(shape, taps * channels / groups);
        let mut args = vec![value(x), value(&weight)];
        args.extend(bias.then(|| value(&self.parameter([outputs], 0.5, 0.0))));
        let function = *[ops::conv1d, ops::conv2d, ops::conv3d].get(planes.checked_sub(1)?)?;
        self.with(function, args, [("padding", ints(vec![size / 2; planes])), ("groups", int(groups))])
    }

    pub(crate) fn normalised(&mut self, x: &Operand) -> Option<Operand> {
        let channels = x.1.shape()[1];
        let statistics = [(0.3, 0.0), (0.4, 1.0), (0.5, 1.0), (0.5, 0.0)];
        let read = statistics.map(|(scale, offset)| self.parameter([channels], scale, offset));
        self.plain(ops::batch_norm, [x].into_iter().chain(&read).map(value).collect())
    }

    pub(crate) fn layer(&mut self, x: &Operand, outputs: usize, bias: bool) -> Option<Operand> {
        let inputs = *x.1.shape().last()?;
        if x.1.numel() * outputs > WORK {
            return None;
        }
        let weight = self.weights([outputs, inputs], inputs);
        let mut args = vec![value(x), value(&weight)];
        args.extend(bias.then(|| value(&self.parameter([outputs], 0.5, 0.0))));
        self.plain(ops::linear, args)
    }

    /// The graph with its results: what nobody reads, and some of what is read.
    pub(crate) fn finish(mut self, choices: &mut Choices<'_>) -> Case {
        let used = |id: NodeId| self.graph[id].users().len() > 0;
        let outputs: Vec<NodeId> =
            self.values.iter().map(|(id, _)| *id).filter(|id| !used(*id) || choices.below(8) == 7).collect();
        self.graph.output(Arg::Tuple(outputs.into_iter().map(Into::into).collect()));
        let mut module = GraphModule::with_state(self.graph, self.state, "Random").expect("a random graph is in order");
        // What a plan does not run gives no error.
        eliminate_dead_code(&mut module).expect("it is in order");
        Case { module, inputs: self.inputs }
    }
}
