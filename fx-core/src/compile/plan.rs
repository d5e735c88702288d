//! Plans: steps over registers and buffers, for inputs of one form.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fx_kernels::Rounded;
use fx_kernels::dense::PackedLinear;
use fx_kernels::memory::{first_line, into_words, values, values_mut, zeroed};
use smallvec::SmallVec;

use super::kernels::Kernel;
use super::layout::Layout;
use super::packs::Packs;
use super::parts::Parts;
use super::pool::{Memory, Pool};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId};
use crate::interpreter::locate;
use crate::module::Module;
use crate::ops::{Function, index_copied, places};
use crate::tensor::{Buffer, DType, Dims, Tensor};

/// A model made ready to run on inputs of one form: the shapes and element types of its tensors, and its other inputs.
///
/// Safe to run from many threads at once: each run has buffers of its own, which are kept for the next.
pub struct Plan {
    pub(super) form: Vec<Arg<Form>>,
    pub(super) steps: Vec<Step>,
    /// Which of them run for parts of the batch, in their order.
    pub(super) parts: Vec<Parts>,
    /// The lengths of the buffers, in elements from the first line of the cache on.
    pub(super) buffers: Vec<usize>,
    pub(super) output: Arg<Source>,
    /// For errors and for printing: nodes, their lines and the user's.
    pub(super) graph: Graph,
    pub(super) packs: Arc<Packs>,
    pub(super) pool: Arc<Pool>,
    /// The median time of each step in seconds, if it was profiled.
    pub(super) measured: Mutex<Vec<f64>>,
    pub(super) idle: Mutex<Vec<Context>>,
}

/// The form of a tensor among the inputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    pub(super) dtype: DType,
    pub(super) shape: Dims,
}

/// A value: in a register, or known.
#[derive(Clone)]
pub(super) enum Source {
    Register(usize),
    Constant(Tensor),
}

/// One step: what it does, and which registers die with it.
pub(super) struct Step {
    pub(super) node: NodeId,
    pub(super) action: Action,
    /// The register of the result.
    pub(super) into: usize,
    pub(super) frees: SmallVec<[usize; 4]>,
    /// How the result lies, if that is known and it is one tensor.
    pub(super) layout: Option<Layout>,
    /// What the result is rounded to and its shape, where it lies as words of several numbers each.
    pub(super) values: Option<(Rounded, Dims)>,
    /// Floating-point operations, a multiply-add counted as two.
    pub(super) flops: u64,
    /// Bytes of operands, weights and results.
    pub(super) bytes: usize,
}

pub(super) enum Action {
    /// The input at a position, or what is in a list or tuple there.
    Input { index: usize, within: SmallVec<[usize; 2]> },
    /// A kernel on registers, into a buffer; the operand at `in_place` is what the buffer holds.
    Kernel { kernel: Arc<dyn Kernel>, operands: SmallVec<[usize; 4]>, in_place: Option<usize>, buffer: usize },
    /// Another layout of the same elements.
    View { from: usize, offset: usize },
    /// An embedding by a packed weight, of the indices in a register.
    Embedding { weight: Arc<PackedLinear>, indices: usize },
    /// A tensor with slices of another at indices along a dimension: written into it, if nobody else looks at it and it dies here.
    Update { of: usize, indices: Source, source: usize, dim: i64 },
    /// An op as it is. Arguments that were not known when the plan was made are checked when it runs.
    Call { function: Function, args: Vec<Arg<Source>>, kwargs: Kwargs<Source>, checked: bool },
    /// A module as it is.
    Module { module: Arc<dyn Module>, args: Vec<Arg<Source>>, kwargs: Kwargs<Source> },
}

/// The registers and buffers of a run.
pub(super) struct Context {
    registers: Vec<Option<Arg<Tensor>>>,
    buffers: Vec<Memory>,
}

impl Plan {
    /// Whether these arguments have the form that the plan is for.
    pub(super) fn fits(&self, args: &[Arg<Tensor>]) -> bool {
        self.form.len() == args.len() && self.form.iter().zip(args).all(|(form, arg)| fits(form, arg))
    }

    /// Runs the plan on positional arguments of its form.
    ///
    /// # Errors
    /// If the arguments have another form, or an op fails; the error names the node and the user's line.
    pub fn run(&self, args: Vec<Arg<Tensor>>) -> Result<Arg<Tensor>> {
        self.run_observed(args, &mut |_, _| ())
    }

    /// Runs the plan and shows how long each step took.
    pub(super) fn run_timed(
        &self,
        args: Vec<Arg<Tensor>>,
        mut each: impl FnMut(usize, Duration),
    ) -> Result<Arg<Tensor>> {
        let mut last = Instant::now();
        self.run_observed(args, &mut |index, _| {
            let now = Instant::now();
            each(index, now - last);
            last = now;
        })
    }

    fn run_observed(&self, args: Vec<Arg<Tensor>>, each: &mut dyn FnMut(usize, &Step)) -> Result<Arg<Tensor>> {
        if !self.fits(&args) {
            return Err(Error::argument("the inputs do not have the form that the plan was made for")
                .help("GraphModule::forward finds or makes the plan that fits"));
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut context = idle.unwrap_or_else(|| Context {
            registers: (0..self.steps.len()).map(|_| None).collect(),
            buffers: self.pool.take(&self.buffers),
        });
        let result = context.run(self, args, each);
        context.registers.fill_with(|| None);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(context);
        result
    }

    /// Leaves the memory of runs that are over to other plans.
    pub(super) fn leave_memory(&self) {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        self.pool.leave(idle.into_iter().flat_map(|context| context.buffers));
    }

    /// The bytes of the buffers of one run.
    pub fn buffer_bytes(&self) -> usize {
        self.buffers.iter().sum::<usize>() * size_of::<f32>()
    }

    /// The bytes of the weights that were packed for this and other plans of the model.
    pub fn packed_bytes(&self) -> usize {
        self.packs.bytes()
    }
}

fn fits(form: &Arg<Form>, arg: &Arg<Tensor>) -> bool {
    let all = |forms: &[Arg<Form>], args: &[Arg<Tensor>]| {
        forms.len() == args.len() && forms.iter().zip(args).all(|(form, arg)| fits(form, arg))
    };
    match (form, arg) {
        (Arg::Value(form), Arg::Value(tensor)) => *form.shape == *tensor.shape() && form.dtype == tensor.dtype(),
        (Arg::List(forms), Arg::List(args)) | (Arg::Tuple(forms), Arg::Tuple(args)) => all(forms, args),
        (form, arg) => {
            let nothing = |_: &Form| Err(());
            let (Ok(form), Ok(arg)) = (form.try_map(&mut { nothing }), arg.try_map(&mut |_| Err(()))) else {
                return false;
            };
            form == arg && !matches!(arg, Arg::<std::convert::Infallible>::Value(_))
        }
    }
}

impl Context {
    fn run(
        &mut self,
        plan: &Plan,
        mut args: Vec<Arg<Tensor>>,
        each: &mut dyn FnMut(usize, &Step),
    ) -> Result<Arg<Tensor>> {
        let mut parts = plan.parts.iter().peekable();
        let mut index = 0;
        while let Some(step) = plan.steps.get(index) {
            let located = |error| locate(error, &plan.graph, step.node);
            if let Some(parts) = parts.next_if(|parts| parts.steps.start == index) {
                self.parts(plan, parts, each).map_err(located)?;
                index = parts.steps.end;
                continue;
            }
            self.registers[step.into] = Some(self.value(step, &mut args).map_err(located)?);
            self.free(&step.frees);
            each(index, step);
            index += 1;
        }
        self.read(&plan.output)
    }

    /// Runs steps for each part of the batch.
    fn parts(&mut self, plan: &Plan, parts: &Parts, each: &mut dyn FnMut(usize, &Step)) -> Result<()> {
        let last = parts.steps.end - 1;
        for part in 0..parts.count {
            for index in parts.steps.clone() {
                let step = &plan.steps[index];
                let (Action::Kernel { kernel, operands, in_place, buffer }, Some(layout)) =
                    (&step.action, &step.layout)
                else {
                    return Err(missing());
                };
                let place = Place { buffer: *buffer, layout, part: (index == last).then_some((part, parts.count)) };
                let part = |register: usize| (register < parts.steps.start).then_some((part, parts.count));
                let value = self.kernel(&**kernel, operands, *in_place, &place, part)?;
                // Nobody holds the buffer of a result that is not whole.
                self.registers[step.into] = Some(Arg::Value(value)).filter(|_| index < last || place.is_whole());
                self.free(&step.frees);
                each(index, step);
            }
        }
        self.free(&parts.frees);
        Ok(())
    }

    fn free(&mut self, registers: &[usize]) {
        registers.iter().for_each(|register| self.registers[*register] = None);
    }

    fn value(&mut self, step: &Step, inputs: &mut [Arg<Tensor>]) -> Result<Arg<Tensor>> {
        match (&step.action, &step.layout) {
            (Action::Input { index, within }, _) => {
                let mut arg = &mut inputs[*index];
                for item in within {
                    let (Arg::List(items) | Arg::Tuple(items)) = arg else { return Err(missing()) };
                    arg = items.get_mut(*item).ok_or_else(missing)?;
                }
                Ok(match std::mem::replace(arg, Arg::None) {
                    Arg::Value(tensor) => Arg::Value(tensor.contiguous()),
                    other => other,
                })
            }
            (Action::Kernel { kernel, operands, in_place, buffer }, Some(layout)) => {
                let place = Place { buffer: *buffer, layout, part: None };
                self.kernel(&**kernel, operands, *in_place, &place, |_| None).map(Arg::Value)
            }
            (Action::View { from, offset }, Some(layout)) => match &self.registers[*from] {
                Some(Arg::Value(tensor)) => Ok(Arg::Value(tensor.aside(&layout.shape, &layout.strides, *offset))),
                _ => Err(missing()),
            },
            (Action::Embedding { weight, indices }, Some(layout)) => match &self.registers[*indices] {
                Some(Arg::Value(indices)) => {
                    let places = places(indices, weight.outputs())?;
                    let mut rows = vec![0.0; layout.numel()];
                    weight.rows(&mut rows, &places);
                    Ok(Arg::Value(Tensor::from_vec(&layout.shape, rows)))
                }
                _ => Err(missing()),
            },
            (Action::Update { of, indices, source, dim }, Some(_)) => {
                let dies = step.frees.contains(of) && source != of;
                let of = if dies { self.registers[*of].take() } else { self.registers[*of].clone() };
                match (of, self.source(indices)?, &self.registers[*source]) {
                    (Some(Arg::Value(of)), Arg::Value(indices), Some(Arg::Value(source))) => {
                        index_copied(of, &indices, source, *dim).map(Arg::Value)
                    }
                    _ => Err(missing()),
                }
            }
            (Action::Call { function, args, kwargs, checked }, layout) => {
                let (args, kwargs) = self.arguments(args, kwargs)?;
                let result = if *checked { function.eval(&args, &kwargs) } else { function.call(&args, &kwargs) };
                result.map(|result| laid(result, layout.as_ref()))
            }
            (Action::Module { module, args, kwargs }, layout) => {
                let (args, kwargs) = self.arguments(args, kwargs)?;
                module.call_tensor(args, &kwargs).map(|result| laid(result, layout.as_ref()))
            }
            (_, None) => Err(missing()),
        }
    }

    fn kernel(
        &mut self,
        kernel: &dyn Kernel,
        operands: &[usize],
        in_place: Option<usize>,
        place: &Place<'_>,
        part: impl Fn(usize) -> Option<Part>,
    ) -> Result<Tensor> {
        let Place { buffer, layout, .. } = *place;
        if let Some(operand) = in_place {
            self.registers[operands[operand]] = None;
        }
        let shared = &mut self.buffers[buffer];
        if Buffer::get_mut(shared).is_none() {
            // Somebody holds an earlier result that is in this buffer.
            let mut buffer = zeroed(shared.len());
            if in_place.is_some() {
                let shared = values(shared);
                let (from, to) = (first_line(shared), first_line(&buffer));
                buffer[to..to + layout.numel()].copy_from_slice(&shared[from..from + layout.numel()]);
            }
            *shared = Arc::new(into_words(buffer).into());
        }
        let start = first_line(values(shared));
        let registers = &self.registers;
        let slice = |(index, register): (usize, &usize)| match &registers[*register] {
            _ if in_place == Some(index) => Ok(None),
            Some(Arg::Value(tensor)) => {
                let data = tensor.strided::<f32>();
                Ok(Some(part(*register).map_or(data, |part| &data[range(part, tensor.numel())])))
            }
            _ => Err(missing()),
        };
        let operands = operands.iter().enumerate().map(slice).collect::<Result<SmallVec<[_; 4]>>>()?;
        if let Some(out) = Buffer::get_mut(shared) {
            let out = &mut values_mut(out)[start..start + layout.numel()];
            let range = place.part.map_or(0..out.len(), |part| range(part, out.len()));
            kernel.run(&mut out[range], &operands);
        }
        let (shape, strides) = (Dims::from_slice(&layout.shape), Dims::from_slice(&layout.strides));
        Ok(Tensor::window(DType::F32, Arc::clone(shared), start, shape, strides))
    }

    fn arguments(&self, args: &[Arg<Source>], kwargs: &Kwargs<Source>) -> Result<(Vec<Arg<Tensor>>, Kwargs<Tensor>)> {
        let args = args.iter().map(|arg| self.read(arg)).collect::<Result<_>>()?;
        Ok((args, kwargs.try_flat_map(&mut |source| self.source(source))?))
    }

    fn read(&self, arg: &Arg<Source>) -> Result<Arg<Tensor>> {
        arg.try_flat_map(&mut |source| self.source(source))
    }

    fn source(&self, source: &Source) -> Result<Arg<Tensor>> {
        match source {
            Source::Constant(tensor) => Ok(Arg::Value(tensor.clone())),
            Source::Register(register) => self.registers[*register].clone().ok_or_else(missing),
        }
    }
}

/// Which of how many equal parts.
type Part = (usize, usize);

/// Where a part of so many numbers lies.
fn range((part, count): Part, len: usize) -> Range<usize> {
    part * (len / count)..(part + 1) * (len / count)
}

/// Where a result goes.
struct Place<'a> {
    buffer: usize,
    layout: &'a Layout,
    /// The part that is computed, if that is not all of it.
    part: Option<Part>,
}

impl Place<'_> {
    /// Whether the result is whole afterwards.
    fn is_whole(&self) -> bool {
        self.part.is_none_or(|(part, count)| part + 1 == count)
    }
}

/// A single result as the plan expects it to lie.
fn laid(result: Arg<Tensor>, layout: Option<&Layout>) -> Arg<Tensor> {
    match (result, layout) {
        (Arg::Value(tensor), Some(layout)) if !layout.is(&Layout::of(&tensor)) => Arg::Value(tensor.contiguous()),
        (result, _) => result,
    }
}

fn missing() -> Error {
    Error::new(ErrorKind::Graph, "a value is used that was never computed")
}
