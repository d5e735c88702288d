//! Making a plan: shapes, kernels, layouts, then lifetimes and buffers.

mod apart;
mod attention;
mod contraction;
mod enlarged;
mod join;
mod padded;
mod rotary;
mod rounding;

use std::sync::{Arc, Mutex};

use fx_kernels::dense::Format;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::kernels::{Copy, Lowered, Margin, Site, Wanted, lower};
use super::known::{Known, Stored};
use super::layout::Layout;
use super::memory::assign;
use super::packs::Packs;
use super::parts::split;
use super::plan::{Action, Form, Plan, Source, Step};
use super::pool::Pool;
use super::words::narrow;
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, NodeId, Opcode};
use crate::graph_module::{GraphModule, no_such};
use crate::interpreter::locate;
use crate::ops::function::mention_unknown;
use crate::ops::{Effect, Function, fallible, functions as ops, is_mean, is_view, is_view_of_any};
use crate::tensor::{DType, Tensor};
use crate::value::Meta;

/// The most elements of a result that is computed once, when the plan is made.
const MOST_KNOWN: usize = 1 << 20;

/// Plans a module for arguments of these forms.
pub(super) fn plan(module: &GraphModule, args: &[Arg<Tensor>], packs: &Arc<Packs>, pool: &Arc<Pool>) -> Result<Plan> {
    // Weights are read here, of which some may be in a file that is no longer what it was.
    fallible::scope(|| build(module, args, packs, pool))?
}

fn build(module: &GraphModule, args: &[Arg<Tensor>], packs: &Arc<Packs>, pool: &Arc<Pool>) -> Result<Plan> {
    let graph = module.graph();
    let mut builder = Builder {
        module,
        args,
        packs,
        values: FxHashMap::default(),
        steps: Vec::new(),
        copies: Vec::new(),
        masks: Vec::new(),
        late: FxHashSet::default(),
        inputs: 0,
        work: (0, 0),
    };
    builder.values.reserve(graph.len());
    let mut output = Arg::None;
    for id in views_first(graph) {
        let node = &graph[id];
        if node.op() == Opcode::Output {
            output = builder.output(id, node)?;
            break;
        }
        let value = builder.node(id, node).map_err(|error| locate(error, graph, id))?;
        builder.values.insert(id, value);
    }
    let mut steps = builder.steps;
    narrow(&mut steps, &output);
    let mut parts = split(&mut steps, &output);
    let buffers = assign(&mut steps, &mut parts, &output);
    let form = |tensor: &Tensor| Form { dtype: tensor.dtype(), shape: tensor.shape().into() };
    Ok(Plan {
        form: args.iter().map(|arg| arg.map(&mut { form })).collect(),
        steps,
        parts,
        buffers,
        output,
        graph: graph.clone(),
        packs: Arc::clone(packs),
        pool: Arc::clone(pool),
        measured: Mutex::default(),
        idle: Mutex::default(),
    })
}

/// The nodes in an order in which views come right after what they are of, and sums that are masks right before what they are for: calls
/// that one step computes have nothing between them then.
fn views_first(graph: &Graph) -> Vec<NodeId> {
    let is_moved = |node: &Node| node.function().is_some_and(is_view_of_any) && node.inputs().len() == 1;
    let mut order = Vec::with_capacity(graph.len());
    let masks = attention::masks(graph);
    let is_mask = |id: &NodeId| masks.iter().any(|(_, mask)| mask.contains(id));
    for (id, _) in graph.nodes().filter(|(id, node)| !is_moved(node) && !is_mask(id)) {
        let mask = masks.iter().filter(|(reader, _)| *reader == id).flat_map(|(_, mask)| mask);
        let mut done = order.len();
        order.extend(mask.filter(|id| !is_moved(&graph[**id])));
        order.push(id);
        while let Some(of) = order.get(done).copied() {
            order.extend(graph[of].users().filter(|user| is_moved(&graph[*user])));
            done += 1;
        }
    }
    order
}

/// What is known of a node's value.
#[derive(Clone)]
struct Held {
    place: Arg<Known>,
    meta: Arg<Meta>,
}

/// What a kernel reads.
type Operands = SmallVec<[Wanted; 4]>;

struct Builder<'a> {
    module: &'a GraphModule,
    args: &'a [Arg<Tensor>],
    packs: &'a Arc<Packs>,
    values: FxHashMap<NodeId, Held>,
    /// Each with the register of its own number.
    steps: Vec<Step>,
    /// The registers of copies, by those that they are of.
    copies: Vec<(usize, usize)>,
    /// What masks add to scores, by the registers of the masks.
    masks: Vec<(usize, Arg<Known>)>,
    /// Nodes whose values are not made before the convolution that reads them is planned.
    late: FxHashSet<NodeId>,
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
                let state = self.module.state();
                if let Some(parameter) = state.parameters.get(name) {
                    let meta = Arg::Value(Meta::tensor(parameter.shape(), parameter.dtype()));
                    let place = Arg::Value(Known::Parameter(Stored::whole(parameter.clone())));
                    return Ok(Held { place, meta });
                }
                let buffer = state.buffers.get(name).ok_or_else(|| no_such(node.op(), name))?;
                Ok(known(Arg::Value(buffer.tensor())))
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
        Held { place: self.given(id, index, &SmallVec::new(), arg), meta }
    }

    /// An input, or what is in a list or tuple there: a register for each tensor.
    fn given(&mut self, id: NodeId, index: usize, within: &SmallVec<[usize; 2]>, arg: Arg<Tensor>) -> Arg<Known> {
        let mut all = |items: Vec<Arg<Tensor>>| {
            let item = |(item, arg)| {
                let within = within.iter().copied().chain([item]).collect();
                self.given(id, index, &within, arg)
            };
            items.into_iter().enumerate().map(item).collect()
        };
        let layout = match arg {
            Arg::Value(tensor) => Some(Layout::row_major(tensor.dtype(), tensor.shape())),
            Arg::List(items) => return Arg::List(all(items)),
            Arg::Tuple(items) => return Arg::Tuple(all(items)),
            Arg::Dict(_) => None,
            // Numbers and the like are part of the form that the plan is for.
            other => return other.map(&mut |tensor| Known::Constant(tensor.clone())),
        };
        let action = Action::Input { index, within: within.clone() };
        place(self.step(id, action, layout.clone()), layout)
    }

    fn call(&mut self, id: NodeId, node: &Node, function: Function) -> Result<Held> {
        let metas = (self.metas(node.args())?, self.kwargs(node, |held| held.meta.clone())?);
        let mut places = (self.known(node.args())?, self.kwargs(node, |held| held.place.clone())?);
        if is_mean(function) {
            self.round_operand(id, &mut places.0);
        }
        if self.pads_later(id, function, &places) {
            return Ok(Held { place: Arg::None, meta: function.infer(&metas.0, &metas.1)? });
        }
        if let Some(held) = self.padded(id, function, &metas, &mut places)? {
            return Ok(held);
        }
        if let Some(held) = self.convolved_first(id, function, (&metas.0, &metas.1), (&places.0, &places.1))? {
            return Ok(held);
        }
        self.planned(id, function, metas, places)
    }

    /// The result of a call with arguments of which this is known.
    fn planned(
        &mut self,
        id: NodeId,
        function: Function,
        metas: (Vec<Arg<Meta>>, Kwargs<Meta>),
        (args, kwargs): (Vec<Arg<Known>>, Kwargs<Known>),
    ) -> Result<Held> {
        let meta = self.inferred(function, &metas)?;
        if let Ok(immediate) = meta.try_map(&mut |_| Err(())) {
            return Ok(known(immediate));
        }
        let args = self.mask_of_numbers(id, function, args);
        let found = element(function, &args)
            .or_else(|| view_of_state(function, &args, &kwargs))
            .or_else(|| fold(function, &args, &kwargs, &meta))
            .or_else(|| self.view(id, function, &args, &kwargs, &meta))
            .or_else(|| self.embedding(id, function, &args, &meta))
            .or_else(|| self.update(id, function, &args, &kwargs))
            .or_else(|| self.contraction(id, function, &metas.0, &args, &kwargs, &meta))
            .or_else(|| self.rotated(id, function, &kwargs))
            .or_else(|| self.round(id, function))
            .or_else(|| match apart::is_repeated(function, &metas.0, &metas.1, &meta) {
                true => None,
                false => self.lowered(id, function, (&args, &[]), &kwargs, &meta),
            })
            .or_else(|| self.apart(id, function, (&metas.0, &metas.1), (&args, &kwargs), &meta));
        let place = found.unwrap_or_else(|| {
            let checked = !mention_unknown(&metas.0, &metas.1);
            let action = Action::Call { function, args: sources(&args), kwargs: kwargs.map(&mut source), checked };
            let layout = single(&meta);
            place(self.step(id, action, layout.clone()), layout)
        });
        Ok(Held { place, meta })
    }

    /// What a call gives, whose work is noted.
    fn inferred(&mut self, function: Function, (args, kwargs): &(Vec<Arg<Meta>>, Kwargs<Meta>)) -> Result<Arg<Meta>> {
        let meta = function.infer(args, kwargs)?;
        let flops = (function.definition().flops)(args, kwargs, &meta).as_int().unwrap_or(0);
        // Of a table no more is read than the rows that the result has.
        let most = if [ops::embedding, ops::index_select].contains(&function) { bytes_of(&meta) } else { usize::MAX };
        let operands: usize = args.iter().map(|arg| bytes_of(arg).min(most)).sum();
        self.work = (u64::try_from(flops).unwrap_or(0), operands + bytes_of(&meta));
        Ok(meta)
    }

    fn call_module(&mut self, id: NodeId, node: &Node) -> Result<Held> {
        let name = node.target().name();
        let module = self.module.state().modules.get(name).ok_or_else(|| no_such(node.op(), name))?;
        let (metas, kwargs) = (self.metas(node.args())?, self.kwargs(node, |held| held.meta.clone())?);
        let meta = module.call(metas, kwargs)?;
        let (args, kwargs) = (self.known(node.args())?, self.kwargs(node, |held| held.place.clone())?);
        let layout = single(&meta);
        let (args, kwargs) = (sources(&args), kwargs.map(&mut source));
        let register = self.step(id, Action::Module { module: Arc::clone(module), args, kwargs }, layout.clone());
        Ok(Held { place: place(register, layout), meta })
    }

    /// A call that only looks at its first argument in other ways: what the op does with an example says how.
    fn view(
        &mut self,
        id: NodeId,
        function: Function,
        args: &[Arg<Known>],
        kwargs: &Kwargs<Known>,
        meta: &Arg<Meta>,
    ) -> Option<Arg<Known>> {
        let Some(Arg::Value(Known::Value(from, register))) = args.first() else { return None };
        let is_kept = || function == ops::interpolate && single(meta).is_some_and(|result| result.shape == from.shape);
        if !(is_layout(function) || is_kept()) || from.numel() == 0 {
            return None;
        }
        // Rows of images whose channels lie last, say, are a view of a copy in order.
        let rows = Layout::row_major(from.dtype, &from.shape);
        let (result, from) =
            viewed(function, from, args, kwargs).map(|result| (result, from.clone())).or_else(|| {
                let copied = from.dtype == DType::F32 && !from.is_row_major();
                copied.then(|| viewed(function, &rows, args, kwargs).map(|result| (result, rows.clone())))?
            })?;
        let register = self.laid(id, &Wanted::new(*register, from));
        Some(result.map(&mut |(layout, offset)| {
            let action = Action::View { from: register, offset: *offset };
            Known::Value(layout.clone(), self.step(id, action, Some(layout.clone())))
        }))
    }

    /// An embedding whose weight is that of a linear layer too: it reads what is packed for that, so that the weight need not
    /// be kept beside it.
    fn embedding(
        &mut self,
        id: NodeId,
        function: Function,
        args: &[Arg<Known>],
        meta: &Arg<Meta>,
    ) -> Option<Arg<Known>> {
        let (Some(Arg::Value(Known::Value(_, indices))), Some(Arg::Value(weight))) = (args.first(), args.get(1)) else {
            return None;
        };
        let graph = self.module.graph();
        let read = *graph.get(id).filter(|_| function == ops::embedding)?.args().get(1)?.as_value()?;
        let is_layer = |user: &Node| {
            let is_linear = user.function().is_some_and(|f| f == ops::linear || f == ops::linear_pointwise);
            is_linear && user.args().get(1).and_then(Arg::as_value) == Some(&read)
        };
        let is_tied = graph[read].users().any(|user| is_layer(&graph[user]));
        let weight = weight.weight().filter(|_| is_tied).and_then(|_| self.packs.linear(weight, true))?;
        let layout = single(meta).filter(|_| weight.format() == Format::F32)?;
        let register = self.step(id, Action::Embedding { weight, indices: *indices }, Some(layout.clone()));
        Some(place(register, Some(layout)))
    }

    /// Slices put at places that only a run knows, as a model that writes a text keeps what came before.
    fn update(
        &mut self,
        id: NodeId,
        function: Function,
        args: &[Arg<Known>],
        kwargs: &Kwargs<Known>,
    ) -> Option<Arg<Known>> {
        let [Arg::Value(Known::Value(of, register)), Arg::Value(indices), Arg::Value(Known::Value(from, source_at))] =
            args
        else {
            return None;
        };
        let dim = kwargs.get("dim").filter(|_| function == ops::index_copy)?.as_int()?;
        let rows = |layout: &Layout| Layout::row_major(layout.dtype, &layout.shape);
        if of.dtype != DType::F32 || matches!(indices, Known::Opaque(_)) {
            return None;
        }
        self.work = (0, 2 * from.bytes());
        let source_at = self.laid(id, &Wanted::new(*source_at, rows(from)));
        let of_at = self.laid(id, &Wanted::new(*register, rows(of)));
        let action = Action::Update { of: of_at, indices: source(indices), source: source_at, dim };
        Some(place(self.step(id, action, Some(rows(of))), Some(rows(of))))
    }

    /// A call for which there is a kernel, given the zeros around images that it reads.
    fn lowered(
        &mut self,
        id: NodeId,
        function: Function,
        (args, around): (&[Arg<Known>], &[Margin]),
        kwargs: &Kwargs<Known>,
        meta: &Arg<Meta>,
    ) -> Option<Arg<Known>> {
        let (results, packs) = (layouts(meta)?, self.packs);
        let lowered = lower(&Site { function, args, kwargs, results: &results, packs, around })?;
        let lowered = self.attended(id, &lowered).unwrap_or(lowered);
        let Some(then) = lowered.then else { return Some(self.kernel(id, lowered)) };
        let (flops, bytes) = self.work;
        // One kernel reads the input, the other reads it again and writes.
        self.work = (flops / 2, bytes / 2);
        let Arg::Tuple(parts) = self.kernel(id, lowered) else { return None };
        self.work = (flops - flops / 2, bytes);
        let args: Vec<_> = args.iter().take(1).cloned().chain(parts).collect();
        let lowered = then(&Site { function, args: &args, kwargs, results: &results, packs, around: &[] })?;
        Some(self.kernel(id, lowered))
    }

    /// A step for a kernel, with the one before if they are one.
    fn kernel(&mut self, id: NodeId, lowered: Lowered) -> Arg<Known> {
        let Lowered { kernel, operands, output, parts, .. } = lowered;
        self.work.1 = self.work.1.saturating_sub(kernel.bytes_saved());
        let (mut kernel, mut operands) = (kernel, operands);
        while let Some(chained) = self.chained(id, &kernel, &operands) {
            (kernel, operands) = chained;
        }
        let registers = operands.iter().map(|wanted| self.laid(id, wanted)).collect();
        let action = Action::Kernel { kernel, operands: registers, in_place: None, buffer: usize::MAX };
        let register = self.step(id, action, Some(output.clone()));
        if parts.is_empty() {
            return Arg::Value(Known::Value(output, register));
        }
        let mut offset = 0;
        let parts = parts.into_iter().map(|layout| {
            let part = self.step(id, Action::View { from: register, offset }, Some(layout.clone()));
            offset += layout.numel();
            Arg::Value(Known::Value(layout, part))
        });
        Arg::Tuple(parts.collect())
    }

    /// The register of a value that lies as it is wanted: its own, or that of a copy.
    fn laid(&mut self, id: NodeId, wanted: &Wanted) -> usize {
        match self.steps[wanted.register].layout.clone() {
            Some(layout) if !layout.is(&wanted.layout) => {
                let lies =
                    |copy: usize| self.steps[copy].layout.as_ref().is_some_and(|layout| layout.is(&wanted.layout));
                let mut copies = self.copies.iter().filter(|(of, copy)| *of == wanted.register && lies(*copy));
                if let Some((_, copy)) = copies.next() {
                    return *copy;
                }
                // The work is the call's that the copy is for; a copy moves every element twice.
                let work = std::mem::replace(&mut self.work, (0, 2 * layout.bytes()));
                let action = Action::Kernel {
                    kernel: Arc::new(Copy::new(&layout, &wanted.layout)),
                    operands: smallvec![wanted.register],
                    in_place: None,
                    buffer: usize::MAX,
                };
                let register = self.step(id, action, Some(wanted.layout.clone()));
                self.work = work;
                self.copies.push((wanted.register, register));
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
            held.place.clone().try_map(&mut |known| match known {
                Known::Value(layout, register) if layout.dtype == DType::F32 => {
                    let rows = Layout::row_major(layout.dtype, &layout.shape);
                    Ok(Source::Register(self.laid(id, &Wanted::new(*register, rows))))
                }
                known => Ok(source(known)),
            })
        })
    }

    fn step(&mut self, node: NodeId, action: Action, layout: Option<Layout>) -> usize {
        let into = self.steps.len();
        let (flops, bytes) = std::mem::take(&mut self.work);
        self.steps.push(Step { node, action, into, frees: SmallVec::new(), layout, values: None, flops, bytes });
        into
    }

    fn fetch<T>(&self, arg: &Arg<NodeId>, f: impl Fn(&Held) -> Arg<T>) -> Result<Arg<T>> {
        arg.try_flat_map(&mut |id| self.values.get(id).map(&f).ok_or_else(|| unknown(self.module.graph(), *id)))
    }

    fn fetch_all<T>(&self, args: &[Arg<NodeId>], f: impl Fn(&Held) -> Arg<T>) -> Result<Vec<Arg<T>>> {
        let mut all = Vec::with_capacity(args.len());
        for arg in args {
            all.push(self.fetch(arg, &f)?);
        }
        Ok(all)
    }

    fn metas(&self, args: &[Arg<NodeId>]) -> Result<Vec<Arg<Meta>>> {
        self.fetch_all(args, |held| held.meta.clone())
    }

    fn known(&self, args: &[Arg<NodeId>]) -> Result<Vec<Arg<Known>>> {
        self.fetch_all(args, |held| held.place.clone())
    }

    fn kwargs<T>(&self, node: &Node, f: impl Fn(&Held) -> Arg<T>) -> Result<Kwargs<T>> {
        let mut all = Kwargs::new();
        for (key, arg) in node.kwargs().iter() {
            all.insert(key.clone(), self.fetch(arg, &f)?);
        }
        Ok(all)
    }
}

fn known(arg: Arg<Tensor>) -> Held {
    let meta = arg.map(&mut |tensor| Meta::from(tensor));
    Held { place: arg.map(&mut |tensor| Known::Constant(tensor.clone())), meta }
}

/// What a step leaves in a register.
fn place(register: usize, layout: Option<Layout>) -> Arg<Known> {
    Arg::Value(match layout {
        Some(layout) => Known::Value(layout, register),
        None => Known::Opaque(register),
    })
}

/// An element of several values, which are known one by one.
fn element(function: Function, args: &[Arg<Known>]) -> Option<Arg<Known>> {
    let [Arg::Tuple(items) | Arg::List(items), Arg::Int(index)] = args else { return None };
    let index = if *index < 0 { index + items.len() as i64 } else { *index };
    (function == ops::getitem).then(|| items.get(usize::try_from(index).ok()?).cloned())?
}

/// Whether a function may give another layout of the same elements.
fn is_layout(function: Function) -> bool {
    is_view(function) || function == ops::contiguous
}

/// A call that only looks at a parameter in other ways, which is not read for that.
fn view_of_state(function: Function, args: &[Arg<Known>], kwargs: &Kwargs<Known>) -> Option<Arg<Known>> {
    let Some(Arg::Value(Known::Parameter(stored))) = args.first() else { return None };
    let result = is_layout(function).then(|| viewed(function, stored.layout(), args, kwargs))??;
    Some(result.map(&mut |(layout, offset)| Known::Parameter(stored.view(layout.clone(), *offset))))
}

/// The results of a call whose first argument lies so, each with its offset in it, if they are views of it.
fn viewed(
    function: Function,
    from: &Layout,
    args: &[Arg<Known>],
    kwargs: &Kwargs<Known>,
) -> Option<Arg<(Layout, usize)>> {
    let example = from.example();
    let mut first = Some(example.clone());
    // Others that only a run knows are there for their shapes, as in `expand_as`.
    let shape_of = |known: &Known| match known {
        Known::Value(layout, _) if function == ops::expand_as => Some(layout.example()),
        known => known.constant(),
    };
    let mut data = |known: &Known| first.take().or_else(|| shape_of(known)).ok_or(());
    let args = args.iter().map(|arg| arg.try_map(&mut data)).collect::<Result<Vec<_>, _>>().ok()?;
    let result = function.eval(&args, &kwargs.try_map(&mut |_| Err(())).ok()?).ok()?;
    let mut is_view = true;
    result.for_each(&mut |tensor| is_view &= tensor.storage_id() == example.storage_id());
    is_view.then(|| result.map(&mut |tensor| (Layout::of(tensor), tensor.offset() - example.offset())))
}

/// The result of a call all of whose arguments are known, if it is a view of them or small.
fn fold(function: Function, args: &[Arg<Known>], kwargs: &Kwargs<Known>, meta: &Arg<Meta>) -> Option<Arg<Known>> {
    let is_small = bytes_of(meta) <= MOST_KNOWN * DType::F32.size();
    if function.effect() != Effect::Pure || !(is_small || is_layout(function)) {
        return None;
    }
    // Before anything is read: what is only in part known is not for here.
    let mut all = true;
    let mut is_known = |known: &Known| all &= known.is_known();
    args.iter().for_each(|arg| arg.for_each(&mut is_known));
    kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut is_known));
    if !all {
        return None;
    }
    let mut data = |known: &Known| known.constant().ok_or(());
    let args = args.iter().map(|arg| arg.try_map(&mut data)).collect::<Result<Vec<_>, _>>().ok()?;
    // What fails, fails in a run, with the line of the call.
    let result = function.eval(&args, &kwargs.try_map(&mut data).ok()?).ok()?;
    Some(result.map(&mut |tensor| Known::Constant(tensor.clone())))
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

/// How results that are tensors of known shapes lie.
fn layouts(meta: &Arg<Meta>) -> Option<SmallVec<[Layout; 1]>> {
    if let Arg::Tuple(metas) = meta {
        return metas.iter().map(single).collect();
    }
    Some(smallvec![single(meta)?])
}

fn source(known: &Known) -> Source {
    match known {
        Known::Constant(tensor) => Source::Constant(tensor.clone()),
        Known::Parameter(stored) => Source::Constant(stored.kept()),
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
