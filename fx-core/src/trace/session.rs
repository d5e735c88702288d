//! The session of a trace: what is known while a `forward` runs on proxies.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::paths::Paths;
use super::{InputForm, NodeRequest, Proxy, Tracer};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Metadata, ModuleFrame, ModuleStack, NodeArg, NodeId, Opcode, SourceLocation, Target};
use crate::graph_module::{GraphModule, State};
use crate::module::{Buffer, Module, Parameter, join};
use crate::ops;
use crate::tensor::Tensor;
use crate::value::{Call, Callee, Meta, unpack};

thread_local! {
    static CURRENT: RefCell<Vec<Rc<Session>>> = const { RefCell::new(Vec::new()) };
}

/// One running trace.
pub(super) struct Session {
    graph: RefCell<Graph>,
    tracer: Rc<dyn Tracer>,
    /// Whether a root owns the modules; else those that are met are installed.
    rooted: bool,
    paths: RefCell<Paths>,
    state: RefCell<State>,
    /// The node that reads each parameter, buffer or constant.
    reads: RefCell<FxHashMap<String, NodeId>>,
    constants: RefCell<FxHashMap<(usize, String), String>>,
    stack: RefCell<Stack>,
    calls: RefCell<FxHashMap<String, usize>>,
    errors: RefCell<Vec<Error>>,
    /// The source lines that stand for those of the code that runs, innermost last.
    origins: RefCell<Vec<Origin>>,
}

/// A source line that nodes have in place of the line that records them.
struct Origin {
    /// The depth of the module stack at which it holds.
    depth: usize,
    /// Whether it holds in the modules within too.
    within: bool,
    location: Option<SourceLocation>,
}

/// The modules whose `forward` is running, outermost first.
#[derive(Default)]
struct Stack {
    frames: Vec<ModuleFrame>,
    /// The frames as nodes note them, until they change.
    shared: Option<ModuleStack>,
}

impl Stack {
    fn push(&mut self, frame: ModuleFrame) {
        self.frames.push(frame);
        self.shared = None;
    }

    fn truncate(&mut self, depth: usize) {
        if depth < self.frames.len() {
            self.frames.truncate(depth);
            self.shared = None;
        }
    }

    fn shared(&mut self) -> ModuleStack {
        self.shared.get_or_insert_with(|| ModuleStack(self.frames.as_slice().into())).clone()
    }
}

impl Session {
    /// A session within the `forward` of a root, which owns all modules, parameters and buffers that are used, or within none.
    pub(super) fn new(tracer: Rc<dyn Tracer>, root: Option<&dyn Module>) -> Rc<Self> {
        Self::within(tracer, root, root.is_some())
    }

    /// A session within a module's `forward`, which may use other modules, parameters and buffers than its own.
    pub(super) fn of_call(tracer: Rc<dyn Tracer>, module: &dyn Module) -> Rc<Self> {
        Self::within(tracer, Some(module), false)
    }

    fn within(tracer: Rc<dyn Tracer>, root: Option<&dyn Module>, rooted: bool) -> Rc<Self> {
        let mut paths = Paths::default();
        if let Some(root) = root {
            paths.add("", root);
        }
        let session = Self::of(tracer, rooted, paths, Graph::new(), State::new());
        if let Some(root) = root {
            // Its own call is not recorded.
            session.stack.borrow_mut().push(ModuleFrame {
                path: String::new(),
                type_name: root.type_name().into(),
                call: 0,
            });
        }
        session
    }

    /// A session that goes on with a graph and its state. New modules, parameters and buffers may be used: they join
    /// the state.
    pub(super) fn on(tracer: Rc<dyn Tracer>, graph: Graph, state: State) -> Rc<Self> {
        let mut paths = Paths::default();
        let known = state.parameters.iter().map(|(path, parameter)| (parameter.id(), path));
        for (id, path) in known.chain(state.buffers.iter().map(|(path, buffer)| (buffer.id(), path))) {
            paths.add_state(path, id);
        }
        state.modules.iter().for_each(|(path, module)| paths.add(path, &**module));
        Self::of(tracer, false, paths, graph, state)
    }

    fn of(tracer: Rc<dyn Tracer>, rooted: bool, paths: Paths, graph: Graph, state: State) -> Rc<Self> {
        Rc::new(Self {
            graph: RefCell::new(graph),
            tracer,
            rooted,
            paths: RefCell::new(paths),
            state: RefCell::new(state),
            reads: RefCell::default(),
            constants: RefCell::default(),
            stack: RefCell::default(),
            calls: RefCell::default(),
            errors: RefCell::default(),
            origins: RefCell::default(),
        })
    }

    /// The innermost running trace of this thread.
    pub(super) fn current() -> Option<Rc<Self>> {
        CURRENT.with_borrow(|sessions| sessions.last().cloned())
    }

    /// Runs a function on these placeholders, and makes a module of what it records.
    pub(super) fn run(
        self: &Rc<Self>,
        inputs: impl IntoIterator<Item = NodeRequest>,
        class: &str,
        f: impl FnOnce(Vec<Arg<Proxy>>) -> Result<Arg<Proxy>>,
    ) -> Result<GraphModule> {
        let inputs: Vec<NodeRequest> = inputs.into_iter().collect();
        self.tracer.check_inputs(&inputs.iter().map(|input| input.target.name()).collect::<Vec<_>>())?;
        let guard = Guard::enter(self);
        let inputs = inputs.into_iter().map(|request| self.placeholder(request)).collect::<Result<Vec<_>>>()?;
        let args = inputs.into_iter().map(|(value, form)| elements(value, form)).collect::<Result<Vec<_>>>()?;
        let output = f(args);
        drop(guard);
        let result = output.and_then(|output| self.finish(output));
        if let Err(error) = result {
            self.note(error);
        }
        self.check(class)?;
        GraphModule::with_state(self.graph.take(), self.state.take(), class)
    }

    /// All errors that were noted, as one.
    fn check(&self, class: &str) -> Result<()> {
        let mut errors = self.errors.take();
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            count => {
                let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
                let message = format!("{count} things in {class} cannot be captured:\n{}", texts.join("\n"));
                Err(Error::new(ErrorKind::Trace, message))
            }
        }
    }

    /// Calls `f` as the innermost running trace, and gives the graph and the state back.
    pub(super) fn resume<R>(self: &Rc<Self>, f: impl FnOnce() -> Result<R>) -> (Graph, State, Result<R>) {
        self.stack.borrow_mut().push(ModuleFrame { path: String::new(), type_name: "".into(), call: 0 });
        let guard = Guard::enter(self);
        let result = f();
        drop(guard);
        let result = result.and_then(|result| self.check("the graph").map(|()| result));
        (self.graph.take(), self.state.take(), result)
    }

    /// The graph, between two recordings.
    pub(super) fn graph(&self) -> std::cell::RefMut<'_, Graph> {
        self.graph.borrow_mut()
    }

    /// Keeps an error for the end of the trace.
    pub(super) fn note(&self, error: Error) {
        self.errors.borrow_mut().push(error);
    }

    pub(super) fn name_of(&self, id: NodeId) -> String {
        self.graph.borrow().get(id).map_or_else(|| id.to_string(), |node| node.name().to_owned())
    }

    /// Records a call, or runs it if it is a module that is traced through.
    pub(super) fn record(self: &Rc<Self>, call: Call<'_, Proxy>) -> Result<Arg<Proxy>> {
        let location = call.location;
        match call.callee {
            Callee::Function(function) => {
                if let Some(constant) = self.constant_shape(function, &call.args, &call.kwargs) {
                    return constant;
                }
                let target = Target::Function(function);
                let mut kwargs = call.kwargs;
                if function == ops::getitem && !self.is_open(&call.args) {
                    kwargs.remove("count");
                }
                self.node(Opcode::CallFunction, target, call.args, kwargs, location)
            }
            Callee::Method(function) => {
                if let Some(constant) = self.constant_shape(function, &call.args, &call.kwargs) {
                    return constant;
                }
                let target = Target::Name(function.name().into());
                self.node(Opcode::CallMethod, target, call.args, call.kwargs, location)
            }
            Callee::Module(module, forward) => {
                let path = self.path_of(module)?;
                if self.is_root_call(&path) {
                    return forward();
                }
                if self.tracer.is_leaf_module(module, &path) {
                    self.state.borrow_mut().modules.entry(path.clone()).or_insert_with(|| module.share());
                    return self.node(Opcode::CallModule, path.into(), call.args, call.kwargs, location);
                }
                let depth = self.stack.borrow().frames.len();
                let leaf = module.is_leaf().then(|| self.leaf_call(location));
                self.enter(module, path);
                let result = forward();
                self.stack.borrow_mut().truncate(depth);
                drop(leaf);
                result
            }
            Callee::Parameter(parameter) => self.read_parameter(parameter, location),
            Callee::Buffer(buffer) => self.read_buffer(buffer, location),
            Callee::Constant(tensor) => self.read_constant(tensor, location),
        }
    }

    /// Whether a run may give what these arguments are an element of with another number of elements: as an input, or from
    /// a captured model. What ops, modules and functions give has as many as they say.
    fn is_open(&self, args: &[Arg<Proxy>]) -> bool {
        let graph = self.graph.borrow();
        let producer = |arg: &Arg<NodeId>| graph.get(*arg.as_value()?);
        let first = args.first().and_then(Arg::as_value).and_then(Proxy::node);
        let mut node = first.and_then(|id| graph.get(id));
        while let Some(inner) = node.filter(|node| node.function() == Some(ops::getitem)) {
            node = inner.args().first().and_then(producer);
        }
        node.is_some_and(|node| match node.op() {
            Opcode::Placeholder => true,
            Opcode::CallModule => {
                let module = self.state.borrow().modules.get(node.target().name()).cloned();
                module.is_some_and(|module| module.as_graph_module().is_some())
            }
            _ => false,
        })
    }

    fn placeholder(self: &Rc<Self>, mut request: NodeRequest) -> Result<(Proxy, InputForm)> {
        let form = self.tracer.input_form(request.target.name());
        if form == InputForm::Absent && request.args.is_empty() {
            request.args.push(Arg::None);
        }
        let id = self.tracer.create_node(&mut self.graph.borrow_mut(), request)?;
        Ok((Proxy::new(id, self), form))
    }

    fn finish(&self, output: Arg<Proxy>) -> Result<()> {
        let mut failed = false;
        output.for_each(&mut |proxy| failed |= proxy.node().is_none());
        if failed {
            return Ok(());
        }
        let args = vec![self.node_arg(output)?];
        let request =
            NodeRequest { op: Opcode::Output, target: "output".into(), args, kwargs: Kwargs::new(), name: None };
        self.tracer.create_node(&mut self.graph.borrow_mut(), request)?;
        Ok(())
    }

    /// Whether this is the call by which the trace itself began.
    fn is_root_call(&self, path: &str) -> bool {
        path.is_empty() && self.stack.borrow().frames.len() == 1
    }

    fn enter(&self, module: &dyn Module, path: String) {
        let mut calls = self.calls.borrow_mut();
        let count = calls.entry(path.clone()).or_insert(0);
        let frame = ModuleFrame { path, type_name: module.type_name().into(), call: *count };
        *count += 1;
        self.stack.borrow_mut().push(frame);
    }

    fn node(
        self: &Rc<Self>,
        op: Opcode,
        target: Target,
        args: Vec<Arg<Proxy>>,
        kwargs: Kwargs<Proxy>,
        location: &'static std::panic::Location<'static>,
    ) -> Result<Arg<Proxy>> {
        let mut request =
            NodeRequest { op, target, args: Vec::with_capacity(args.len()), kwargs: Kwargs::new(), name: None };
        for arg in args {
            request.args.push(self.node_arg(arg)?);
        }
        for (key, arg) in kwargs {
            request.kwargs.insert(key, self.node_arg(arg)?);
        }
        let mut graph = self.graph.borrow_mut();
        let id = self.tracer.create_node(&mut graph, request)?;
        if let Some(meta) = graph.meta_mut(id) {
            meta.insert(self.origin().unwrap_or_else(|| SourceLocation::from(location)));
            meta.insert(self.stack.borrow_mut().shared());
        }
        Ok(Arg::Value(Proxy::new(id, self)))
    }

    /// The source line that stands for that of the code that runs: that of the node that is being replayed, unless a
    /// module's own `forward` runs for it, and that of the call of a leaf that is traced through.
    fn origin(&self) -> Option<SourceLocation> {
        let origins = self.origins.borrow();
        let origin = origins.last()?;
        let depth = self.stack.borrow().frames.len();
        origin.location.clone().filter(|_| origin.depth == depth || (origin.within && origin.depth < depth))
    }

    /// Lets what a leaf records have the line of its call: what is within is not the user's source.
    fn leaf_call(&self, location: &'static std::panic::Location<'static>) -> Called<'_> {
        let location = Some(self.origin().unwrap_or_else(|| SourceLocation::from(location)));
        let depth = self.stack.borrow().frames.len() + 1;
        self.origins.borrow_mut().push(Origin { depth, within: true, location });
        Called(self)
    }

    pub(super) fn node_arg(&self, arg: Arg<Proxy>) -> Result<NodeArg> {
        self.tracer.create_arg(arg)?.try_map(&mut |proxy| {
            proxy.node().ok_or_else(|| Error::new(ErrorKind::Trace, "a value is used whose own call failed"))
        })
    }

    fn path_of(&self, module: &dyn Module) -> Result<String> {
        if let Some(path) = self.paths.borrow().of_module(module) {
            return Ok(path.to_owned());
        }
        if self.rooted {
            let message = format!("a {} is called that is no submodule of the traced model", module.type_name());
            return Err(Error::new(ErrorKind::Trace, message).help("make it a field of the model"));
        }
        let mut known = self.paths.borrow_mut();
        let base = module.type_name().to_lowercase();
        let paths = std::iter::once(base.clone()).chain((1..).map(|count| format!("{base}_{count}")));
        let path = free(paths, |path| known.has_module(path));
        known.add(&path, module);
        Ok(path)
    }

    fn read_parameter(
        self: &Rc<Self>,
        parameter: &Parameter,
        location: &'static std::panic::Location<'static>,
    ) -> Result<Arg<Proxy>> {
        let path = self.attr_path(parameter.id(), "parameter", &parameter.shape())?;
        let parameters = &mut self.state.borrow_mut().parameters;
        if !parameters.contains_key(&path) {
            parameters.insert(path.clone(), parameter.clone());
        }
        self.read(path, location)
    }

    fn read_buffer(
        self: &Rc<Self>,
        buffer: &Buffer,
        location: &'static std::panic::Location<'static>,
    ) -> Result<Arg<Proxy>> {
        let path = self.attr_path(buffer.id(), "buffer", &buffer.shape())?;
        let buffers = &mut self.state.borrow_mut().buffers;
        if !buffers.contains_key(&path) {
            buffers.insert(path.clone(), buffer.clone());
        }
        self.read(path, location)
    }

    /// A tensor that is no state of the model: it becomes a buffer of the graph, the same one for the same tensor.
    fn read_constant(
        self: &Rc<Self>,
        tensor: &Tensor,
        location: &'static std::panic::Location<'static>,
    ) -> Result<Arg<Proxy>> {
        let layout = format!("{}{:?}{:?}", tensor.offset(), tensor.shape(), tensor.strides());
        let mut constants = self.constants.borrow_mut();
        let state = self.state.borrow();
        let names = (constants.len()..).map(|count| format!("_tensor_constant{count}"));
        let next = || free(names, |path| state.buffers.contains_key(path));
        let path = constants.entry((tensor.storage_id(), layout)).or_insert_with(next).clone();
        drop((constants, state));
        self.state.borrow_mut().buffers.entry(path.clone()).or_insert_with(|| Buffer::new(tensor.clone()));
        self.read(path, location)
    }

    fn attr_path(&self, id: usize, what: &str, shape: &[usize]) -> Result<String> {
        let mut known = self.paths.borrow_mut();
        if let Some(path) = known.of_state(id) {
            return Ok(path.to_owned());
        }
        if self.rooted {
            let message = format!("a {what} of shape {shape:?} is used that is no {what} of the traced model");
            return Err(Error::new(ErrorKind::Trace, message).help(format!("make the {what} a field of the model")));
        }
        let names = (known.state_count()..).map(|count| format!("_{what}{count}"));
        let path = free(names, |path| known.has_state(path));
        known.add_state(&path, id);
        Ok(path)
    }

    /// The node that reads `path`, made once.
    fn read(self: &Rc<Self>, path: String, location: &'static std::panic::Location<'static>) -> Result<Arg<Proxy>> {
        if let Some(id) = self.reads.borrow().get(&path) {
            return Ok(Arg::Value(Proxy::new(*id, self)));
        }
        let result = self.node(Opcode::GetAttr, path.clone().into(), Vec::new(), Kwargs::new(), location)?;
        if let Some(id) = result.as_value().and_then(Proxy::node) {
            self.reads.borrow_mut().insert(path, id);
        }
        Ok(result)
    }

    /// The size of a parameter or buffer as an integer, if the tracer wants it so.
    fn constant_shape(
        &self,
        function: ops::Function,
        args: &[Arg<Proxy>],
        kwargs: &Kwargs<Proxy>,
    ) -> Option<Result<Arg<Proxy>>> {
        if !self.tracer.constant_parameter_shapes() || !(function == ops::size || function == ops::numel) {
            return None;
        }
        let id = args.first()?.as_value()?.node()?;
        let graph = self.graph.borrow();
        let node = graph.get(id).filter(|node| node.op() == Opcode::GetAttr)?;
        let tensor = self.state.borrow().tensor(node.target().name())?;
        let kwargs = kwargs.try_map(&mut |_| Err(())).ok()?;
        let size = function.infer(&[Arg::Value(Meta::from(&tensor))], &kwargs);
        Some(size.and_then(|size| {
            size.try_map(&mut |_| Err(Error::new(ErrorKind::Trace, "the size of a parameter is not an integer")))
        }))
    }
}

/// An input as the function gets it.
fn elements(value: Proxy, form: InputForm) -> Result<Arg<Proxy>> {
    match form {
        InputForm::Value => Ok(Arg::Value(value)),
        InputForm::Absent => Ok(Arg::None),
        InputForm::List(len) => Ok(Arg::List(unpack(Arg::Value(value), len)?)),
    }
}

/// The request for an input without a default.
pub(super) fn input(name: &str) -> NodeRequest {
    NodeRequest {
        op: Opcode::Placeholder,
        target: name.into(),
        args: Vec::new(),
        kwargs: Kwargs::new(),
        name: Some(name.to_owned()),
    }
}

/// Runs `f`; what is recorded in it comes from the source line and the modules of a node of another graph.
pub(crate) fn run_for<R>(meta: &Metadata, f: impl FnOnce() -> R) -> R {
    let Some(session) = Session::current() else { return f() };
    let before = session.stack.borrow().frames.len();
    // The node's root is the module that is running.
    let prefix = session.stack.borrow().frames.last().map_or_else(String::new, |frame| frame.path.clone());
    let below = |frame: &ModuleFrame| ModuleFrame { path: join(&prefix, &frame.path), ..frame.clone() };
    meta.module_stack().iter().skip(1).map(below).for_each(|frame| session.stack.borrow_mut().push(frame));
    let depth = session.stack.borrow().frames.len();
    session.origins.borrow_mut().push(Origin { depth, within: false, location: meta.location().cloned() });
    let guard = Replay { called: Called(&session), before };
    let result = f();
    drop(guard);
    result
}

/// Takes back the innermost origin when dropped, so that a panic does not leave it.
struct Called<'a>(&'a Session);

impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.0.origins.borrow_mut().pop();
    }
}

/// Ends the replay of a node when dropped.
struct Replay<'a> {
    called: Called<'a>,
    before: usize,
}

impl Drop for Replay<'_> {
    fn drop(&mut self) {
        self.called.0.stack.borrow_mut().truncate(self.before);
    }
}

/// Makes a session the current one while it lives.
struct Guard;

impl Guard {
    fn enter(session: &Rc<Session>) -> Self {
        CURRENT.with_borrow_mut(|sessions| sessions.push(Rc::clone(session)));
        Guard
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|sessions| sessions.pop());
    }
}

/// The first of these names that is not taken.
fn free(mut names: impl Iterator<Item = String>, taken: impl Fn(&String) -> bool) -> String {
    names.find(|name| !taken(name)).unwrap_or_default()
}
