//! Making a plan: shapes, kernels, layouts, then lifetimes and buffers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use smallvec::{SmallVec, smallvec};

use super::kernels::{Copy, Known, Lowered, Packs, Site, Wanted, lower};
use super::layout::Layout;
use super::memory::Buffers;
use super::plan::{Action, Form, Plan, Source, Step};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, NodeId, Opcode};
use crate::graph_module::{GraphModule, no_such};
use crate::interpreter::locate;
use crate::ops::{Effect, Function, functions as ops};
use crate::tensor::{DType, Tensor};
use crate::value::Meta;

/// Functions that may give another layout of the same elements.
const VIEWS: &[Function] = &[
    ops::reshape,
    ops::view,
    ops::flatten,
    ops::unflatten,
    ops::squeeze,
    ops::unsqueeze,
    ops::permute,
    ops::transpose,
    ops::movedim,
    ops::expand,
    ops::expand_as,
    ops::broadcast_to,
    ops::narrow,
    ops::select,
    ops::diagonal,
    ops::getitem,
    ops::contiguous,
];

/// Plans a module for arguments of these forms.
pub(super) fn plan(module: &GraphModule, args: &[Arg<Tensor>], packs: &Arc<Packs>) -> Result<Plan> {
    let graph = module.graph();
    let mut builder =
        Builder { module, args, packs, values: HashMap::new(), steps: Vec::new(), inputs: 0, work: (0, 0) };
    let mut output = Arg::None;
    for (id, node) in graph.nodes() {
        if node.op() == Opcode::Output {
            output = builder.output(id, node)?;
            break;
        }
        let value = builder.node(id, node).map_err(|error| locate(error, graph, id))?;
        builder.values.insert(id, value);
    }
    let mut steps = builder.steps;
    let buffers = assign(&mut steps, &output);
    let form = |tensor: &Tensor| Form { dtype: tensor.dtype(), shape: tensor.shape().into() };
    Ok(Plan {
        form: args.iter().map(|arg| arg.map(&mut { form })).collect(),
        steps,
        buffers,
        output,
        graph: graph.clone(),
        packs: Arc::clone(packs),
        idle: Mutex::default(),
    })
}

/// What is known of a node's value.
struct Held {
    /// Where it is: a register as a whole, or known data.
    place: Place,
    meta: Arg<Meta>,
}

enum Place {
    Known(Arg<Tensor>),
    Register(usize, Option<Layout>),
}

struct Builder<'a> {
    module: &'a GraphModule,
    args: &'a [Arg<Tensor>],
    packs: &'a Arc<Packs>,
    values: HashMap<NodeId, Held>,
    /// Each with the register of its own number.
    steps: Vec<Step>,
    inputs: usize,
    /// Floating-point operations and bytes of the call that is being planned.
    work: (u64, usize),
}

impl Builder<'_> {
    fn node(&mut self, id: NodeId, node: &Node) -> Result<Held> {
        let name = node.target().name();
        match node.op() {
            Opcode::Placeholder => Ok(self.input(id, node)),
            Opcode::GetAttr => {
                let tensor = self.module.state().tensor(name).ok_or_else(|| no_such(node.op(), name))?;
                Ok(known(Arg::Value(tensor)))
            }
            Opcode::CallModule => self.call_module(id, node),
            _ => {
                let function = node.function();
                self.call(id, node, function.ok_or_else(|| Error::not_found(format!("there is no function `{name}`")))?)
            }
        }
    }

    fn input(&mut self, id: NodeId, node: &Node) -> Held {
        let index = self.inputs;
        self.inputs += 1;
        // A default holds no nodes (the graph lints).
        let default = || node.args().first().and_then(|default| default.try_map(&mut |_| Err(())).ok());
        let arg = self.args.get(index).cloned().or_else(default).unwrap_or(Arg::None);
        let meta = arg.map(&mut |tensor| Meta::from(tensor));
        let layout = match &arg {
            Arg::Value(tensor) => Some(Layout::row_major(tensor.dtype(), tensor.shape())),
            Arg::List(_) | Arg::Tuple(_) | Arg::Dict(_) => None,
            // Numbers and the like are part of the form that the plan is for.
            _ => return known(arg),
        };
        let register = self.step(id, Action::Input(index), layout.clone());
        Held { place: Place::Register(register, layout), meta }
    }

    fn call(&mut self, id: NodeId, node: &Node, function: Function) -> Result<Held> {
        let metas = (self.metas(node.args())?, self.kwargs(node, |held| held.meta.clone())?);
        let meta = function.infer(&metas.0, &metas.1)?;
        let flops = (function.definition().flops)(&metas.0, &metas.1, &meta).as_int().unwrap_or(0);
        let operands: usize = metas.0.iter().map(bytes_of).sum();
        self.work = (u64::try_from(flops).unwrap_or(0), operands + bytes_of(&meta));
        let args = self.known(node.args())?;
        let kwargs = self.kwargs(node, Held::known)?;
        if let Ok(immediate) = meta.try_map(&mut |_| Err(())) {
            return Ok(known(immediate));
        }
        if let Some(held) = self.view(id, function, &args, &kwargs, &meta) {
            return Ok(held);
        }
        if let Some(layout) = single(&meta) {
            let site = Site { function, args: &args, kwargs: &kwargs, shape: &layout.shape, packs: self.packs };
            if layout.dtype == DType::F32
                && layout.numel() > 0
                && let Some(lowered) = lower(&site)
            {
                return Ok(self.kernel(id, lowered, meta));
            }
        }
        let layout = single(&meta);
        let (args, kwargs) = (sources(&args), kwargs.map(&mut source));
        let register = self.step(id, Action::Call { function, args, kwargs }, layout.clone());
        Ok(Held { place: Place::Register(register, layout), meta })
    }

    fn call_module(&mut self, id: NodeId, node: &Node) -> Result<Held> {
        let name = node.target().name();
        let module = self.module.state().modules.get(name).ok_or_else(|| no_such(node.op(), name))?;
        let (metas, kwargs) = (self.metas(node.args())?, self.kwargs(node, |held| held.meta.clone())?);
        let meta = module.call_meta(metas, &kwargs)?;
        let (args, kwargs) = (sources(&self.known(node.args())?), self.kwargs(node, Held::known)?.map(&mut source));
        let layout = single(&meta);
        let register = self.step(id, Action::Module { module: Arc::clone(module), args, kwargs }, layout.clone());
        Ok(Held { place: Place::Register(register, layout), meta })
    }

    /// A call that only looks at its first argument in another way: what the op does with an example says how.
    fn view(
        &mut self,
        id: NodeId,
        function: Function,
        args: &[Arg<Known>],
        kwargs: &Kwargs<Known>,
        meta: &Arg<Meta>,
    ) -> Option<Held> {
        if !VIEWS.contains(&function) || function.effect() != Effect::Pure {
            return None;
        }
        let example = match args.first()? {
            Arg::Value(Known::Constant(tensor)) => tensor.clone(),
            Arg::Value(Known::Value(layout, _)) => layout.example(),
            _ => return None,
        };
        let mut first = Some(example.clone());
        let mut data = |known: &Known| match known {
            Known::Constant(tensor) => first.take().map_or_else(|| Some(tensor.clone()), Some),
            Known::Value(..) => first.take(),
            Known::Opaque(_) => None,
        };
        let args_data =
            args.iter().map(|arg| arg.try_map(&mut |known| data(known).ok_or(()))).collect::<Result<Vec<_>, _>>();
        let kwargs_data = kwargs.try_map(&mut |_| Err(()));
        let Arg::Value(result) = function.eval(&args_data.ok()?, &kwargs_data.ok()?).ok()? else { return None };
        let Arg::Value(Known::Value(from, register)) = args.first()? else {
            return Some(Held { place: Place::Known(Arg::Value(result)), meta: meta.clone() });
        };
        if result.storage_id() != example.storage_id() || from.numel() == 0 {
            return None;
        }
        let layout = Layout::of(&result);
        let action = Action::View { from: *register, offset: result.offset() - example.offset() };
        let register = self.step(id, action, Some(layout.clone()));
        Some(Held { place: Place::Register(register, Some(layout)), meta: meta.clone() })
    }

    fn kernel(&mut self, id: NodeId, lowered: Lowered, meta: Arg<Meta>) -> Held {
        let Lowered { kernel, operands, output } = lowered;
        let registers = operands.iter().map(|wanted| self.laid(id, wanted)).collect();
        let in_place = operands.iter().position(|wanted| wanted.in_place);
        let action = Action::Kernel { kernel, operands: registers, in_place, buffer: usize::MAX };
        let register = self.step(id, action, Some(output.clone()));
        Held { place: Place::Register(register, Some(output)), meta }
    }

    /// The register of a value that lies as it is wanted: its own, or that of a copy.
    fn laid(&mut self, id: NodeId, wanted: &Wanted) -> usize {
        match self.steps[wanted.register].layout.clone() {
            Some(layout) if !layout.is(&wanted.layout) => {
                // The work is the call's that the copy is for; a copy moves every element twice.
                let work = std::mem::replace(&mut self.work, (0, 2 * layout.numel() * layout.dtype.size()));
                let action = Action::Kernel {
                    kernel: Arc::new(Copy::new(&layout, &wanted.layout)),
                    operands: smallvec![wanted.register],
                    in_place: None,
                    buffer: usize::MAX,
                };
                let register = self.step(id, action, Some(wanted.layout.clone()));
                self.work = work;
                register
            }
            _ => wanted.register,
        }
    }

    /// The result, whose tensors are in row-major order.
    fn output(&mut self, id: NodeId, node: &Node) -> Result<Arg<Source>> {
        let Some(arg) = node.args().first() else { return Ok(Arg::None) };
        arg.try_flat_map(&mut |id_of| {
            let held = self.values.get(id_of).ok_or_else(|| unknown(self.module.graph(), *id_of))?;
            match &held.place {
                Place::Known(arg) => Ok(arg.map(&mut |tensor| Source::Constant(tensor.clone()))),
                Place::Register(register, Some(layout)) if layout.dtype == DType::F32 => {
                    let rows = Layout::row_major(layout.dtype, &layout.shape);
                    let wanted = Wanted::new(*register, rows);
                    Ok(Arg::Value(Source::Register(self.laid(id, &wanted))))
                }
                Place::Register(register, _) => Ok(Arg::Value(Source::Register(*register))),
            }
        })
    }

    fn step(&mut self, node: NodeId, action: Action, layout: Option<Layout>) -> usize {
        let into = self.steps.len();
        let (flops, bytes) = std::mem::take(&mut self.work);
        self.steps.push(Step { node, action, into, frees: SmallVec::new(), layout, flops, bytes });
        into
    }

    fn fetch<T>(&self, arg: &Arg<NodeId>, f: impl Fn(&Held) -> Arg<T>) -> Result<Arg<T>> {
        arg.try_flat_map(&mut |id| self.values.get(id).map(&f).ok_or_else(|| unknown(self.module.graph(), *id)))
    }

    fn metas(&self, args: &[Arg<NodeId>]) -> Result<Vec<Arg<Meta>>> {
        args.iter().map(|arg| self.fetch(arg, |held| held.meta.clone())).collect()
    }

    fn known(&self, args: &[Arg<NodeId>]) -> Result<Vec<Arg<Known>>> {
        args.iter().map(|arg| self.fetch(arg, Held::known)).collect()
    }

    fn kwargs<T>(&self, node: &Node, f: impl Fn(&Held) -> Arg<T>) -> Result<Kwargs<T>> {
        node.kwargs().iter().map(|(key, arg)| Ok((key.clone(), self.fetch(arg, &f)?))).collect()
    }
}

impl Held {
    fn known(&self) -> Arg<Known> {
        match &self.place {
            Place::Known(arg) => arg.map(&mut |tensor| Known::Constant(tensor.clone())),
            Place::Register(register, Some(layout)) => Arg::Value(Known::Value(layout.clone(), *register)),
            Place::Register(register, None) => Arg::Value(Known::Opaque(*register)),
        }
    }
}

fn known(arg: Arg<Tensor>) -> Held {
    let meta = arg.map(&mut |tensor| Meta::from(tensor));
    Held { place: Place::Known(arg), meta }
}

/// The bytes of the tensors in an argument, as far as they are known.
fn bytes_of(meta: &Arg<Meta>) -> usize {
    let mut bytes = 0;
    meta.for_each(&mut |meta| {
        if let Some(tensor) = meta.as_tensor() {
            let numel = tensor.numel().as_int().and_then(|numel| usize::try_from(numel).ok());
            bytes += numel.unwrap_or(0).saturating_mul(tensor.dtype.size());
        }
    });
    bytes
}

/// How a result that is one tensor of known shape lies.
fn single(meta: &Arg<Meta>) -> Option<Layout> {
    let tensor = meta.as_value()?.as_tensor()?;
    Some(Layout::row_major(tensor.dtype, &tensor.concrete_shape()?))
}

fn source(known: &Known) -> Source {
    match known {
        Known::Constant(tensor) => Source::Constant(tensor.clone()),
        Known::Value(_, register) | Known::Opaque(register) => Source::Register(*register),
    }
}

fn sources(args: &[Arg<Known>]) -> Vec<Arg<Source>> {
    args.iter().map(|arg| arg.map(&mut source)).collect()
}

fn unknown(graph: &Graph, id: NodeId) -> Error {
    let name = graph.get(id).map_or_else(|| id.to_string(), |node| node.name().to_owned());
    Error::argument(format!("the value of %{name} is used before it is computed"))
}

/// When values die: a register after its last reader, a buffer after the last register that looks at it.
struct Lifetimes {
    /// The step at which a register is read for the last time; for what the model gives none.
    last: Vec<Option<usize>>,
    /// The register whose kernel wrote the buffer that a register looks at.
    owner: Vec<usize>,
    /// As `last`, for owners.
    owner_last: Vec<Option<usize>>,
}

impl Lifetimes {
    fn new(steps: &[Step], output: &Arg<Source>) -> Self {
        // A value that nobody reads dies where it is made.
        let mut last: Vec<Option<usize>> = (0..steps.len()).map(Some).collect();
        let mut owner: Vec<usize> = (0..steps.len()).collect();
        for (index, step) in steps.iter().enumerate() {
            step.for_each_read(&mut |register| last[register] = Some(index));
            if let Action::View { from, .. } = step.action {
                owner[index] = owner[from];
            }
        }
        output.for_each(&mut |source| {
            if let Source::Register(register) = source {
                last[*register] = None;
            }
        });
        let mut owner_last = last.clone();
        for (register, owner) in owner.iter().enumerate() {
            owner_last[*owner] = match (owner_last[*owner], last[register]) {
                (Some(a), Some(b)) => Some(a.max(b)),
                _ => None,
            };
        }
        Self { last, owner, owner_last }
    }

    /// The operand of a kernel that nobody else and nothing later looks at.
    fn over(&self, operand: usize, operands: &[usize], index: usize) -> bool {
        let register = operands[operand];
        self.owner[register] == register
            && self.owner_last[register] == Some(index)
            && operands.iter().filter(|other| self.owner[**other] == register).count() == 1
    }
}

/// Finds where registers die, and gives every kernel a buffer.
fn assign(steps: &mut [Step], output: &Arg<Source>) -> Vec<usize> {
    let lifetimes = Lifetimes::new(steps, output);
    let mut dying: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); steps.len()];
    let mut dead_owners = dying.clone();
    for register in 0..steps.len() {
        if let Some(last) = lifetimes.last[register] {
            dying[last].push(register);
        }
        if let Some(last) = lifetimes.owner_last[register].filter(|_| lifetimes.owner[register] == register) {
            dead_owners[last].push(register);
        }
    }
    let mut buffers = Buffers::default();
    let mut held: Vec<Option<usize>> = vec![None; steps.len()];
    for (index, step) in steps.iter_mut().enumerate() {
        step.frees = std::mem::take(&mut dying[index]);
        if let Action::Kernel { operands, in_place, buffer, .. } = &mut step.action {
            // The buffer of an operand goes over to the result, if it is one and the kernel can work in place.
            let over = in_place.filter(|operand| lifetimes.over(*operand, operands, index));
            let taken = over.and_then(|operand| held[operands[operand]].take());
            *in_place = over.filter(|_| taken.is_some());
            *buffer = taken.unwrap_or_else(|| buffers.acquire(step.layout.as_ref().map_or(0, Layout::numel)));
            held[index] = Some(*buffer);
        }
        for register in &dead_owners[index] {
            held[*register].take().into_iter().for_each(|buffer| buffers.release(buffer));
        }
    }
    buffers.lens()
}

impl Step {
    fn for_each_read(&self, f: &mut impl FnMut(usize)) {
        let mut read = |source: &Source| {
            if let Source::Register(register) = source {
                f(*register);
            }
        };
        match &self.action {
            Action::Input(_) => {}
            Action::Kernel { operands, .. } => operands.iter().for_each(|register| f(*register)),
            Action::View { from, .. } => f(*from),
            Action::Call { args, kwargs, .. } | Action::Module { args, kwargs, .. } => {
                args.iter().for_each(|arg| arg.for_each(&mut read));
                kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut read));
            }
        }
    }
}
