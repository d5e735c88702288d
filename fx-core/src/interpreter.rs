//! Running a graph node by node, on any value: tensors run it, proxies record it anew, shapes propagate.
//!
//! Each opcode has a hook that can be overridden; what a hook does not override calls the default. An override written
//! for every `V: Value` serves running and rewriting alike: `Interpreter` with proxies is torch.fx's `Transformer`.

mod dynamic;

use std::collections::HashMap;

use crate::arg::{Arg, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Node, NodeId, Opcode, SourceLocation};
use crate::graph_module::{GraphModule, no_such};
use crate::module::Module;
use crate::ops::Function;
use crate::tensor::Tensor;
use crate::trace::Proxy;
use crate::value::{Call, Callee, Meta, Value};

/// What happens at each node; torch.fx's `Interpreter` methods. Every method has a default.
pub trait Hooks<V: Interpretable> {
    /// Runs a node: by default the hook of its opcode.
    ///
    /// # Errors
    /// If the node fails; the interpreter adds the node and the user's line.
    fn run_node(&mut self, run: &mut Run<'_, V>, id: NodeId) -> Result<Arg<V>>
    where
        Self: Sized,
    {
        run.dispatch(self, id)
    }

    /// An input.
    ///
    /// # Errors
    /// If it is missing and has no default.
    fn placeholder(&mut self, run: &mut Run<'_, V>, node: &Node) -> Result<Arg<V>> {
        run.placeholder(node)
    }

    /// A parameter or buffer.
    ///
    /// # Errors
    /// If there is none at the path.
    fn get_attr(&mut self, run: &mut Run<'_, V>, node: &Node) -> Result<Arg<V>> {
        run.get_attr(node)
    }

    /// A call of a function.
    ///
    /// # Errors
    /// If the function does not take the arguments.
    fn call_function(
        &mut self,
        run: &mut Run<'_, V>,
        node: &Node,
        function: Function,
        args: Vec<Arg<V>>,
        kwargs: Kwargs<V>,
    ) -> Result<Arg<V>> {
        run.call_function(node, function, args, kwargs)
    }

    /// A call of a method.
    ///
    /// # Errors
    /// If the method does not take the arguments.
    fn call_method(
        &mut self,
        run: &mut Run<'_, V>,
        node: &Node,
        method: Function,
        args: Vec<Arg<V>>,
        kwargs: Kwargs<V>,
    ) -> Result<Arg<V>> {
        run.call_method(node, method, args, kwargs)
    }

    /// A call of a module.
    ///
    /// # Errors
    /// If the module does not take the arguments.
    fn call_module(
        &mut self,
        run: &mut Run<'_, V>,
        node: &Node,
        module: &dyn Module,
        args: Vec<Arg<V>>,
        kwargs: Kwargs<V>,
    ) -> Result<Arg<V>> {
        run.call_module(node, module, args, kwargs)
    }

    /// What the graph gives.
    ///
    /// # Errors
    /// If the hook refuses it.
    fn output(&mut self, run: &mut Run<'_, V>, node: &Node, arg: Arg<V>) -> Result<Arg<V>> {
        let _ = (run, node);
        Ok(arg)
    }
}

/// No overrides.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl<V: Interpretable> Hooks<V> for NoHooks {}

/// A value that leaf modules can be called on. For shapes and values of your own the default is right: a leaf module is
/// captured as a graph, which is then interpreted.
pub trait Interpretable: Value {
    /// Calls a module.
    ///
    /// # Errors
    /// If it does not take the arguments.
    fn call_module(module: &dyn Module, args: Vec<Arg<Self>>, kwargs: Kwargs<Self>) -> Result<Arg<Self>> {
        if let Some(graph) = module.as_graph_module() {
            return graph.replay(args, &kwargs);
        }
        let (graph, values) = crate::trace::trace_call(crate::trace::Leaves::None, module, &args, &kwargs)?;
        Interpreter::new(&graph).run(values).map_err(Error::without_node)
    }

    /// Runs `f` for a node: what proxies record in it comes from the node's place in the user's source.
    #[doc(hidden)]
    fn run_for<R>(node: &Node, f: impl FnOnce() -> R) -> R {
        let _ = node;
        f()
    }
}

impl Interpretable for Tensor {
    fn call_module(module: &dyn Module, args: Vec<Arg<Self>>, kwargs: Kwargs<Self>) -> Result<Arg<Self>> {
        module.call_tensor(args, &kwargs)
    }
}

impl Interpretable for Meta {}

impl Interpretable for Proxy {
    fn call_module(module: &dyn Module, args: Vec<Arg<Self>>, kwargs: Kwargs<Self>) -> Result<Arg<Self>> {
        module.call_proxy(args, &kwargs)
    }

    fn run_for<R>(node: &Node, f: impl FnOnce() -> R) -> R {
        crate::trace::run_for(node.meta(), f)
    }
}

/// Runs a graph node by node.
///
/// ```no_run
/// # use fx_core::{Arg, GraphModule, Tensor, interpreter::Interpreter};
/// # fn run(module: &GraphModule, x: Tensor) -> fx_core::Result<()> {
/// let y = Interpreter::new(module).run(vec![Arg::Value(x)])?;
/// # Ok(())
/// # }
/// ```
pub struct Interpreter<'a, V, H = NoHooks> {
    module: &'a GraphModule,
    hooks: H,
    env: Env<V>,
    keep: bool,
}

impl<'a, V: Interpretable> Interpreter<'a, V> {
    /// An interpreter of a module's graph, without overrides.
    pub fn new(module: &'a GraphModule) -> Self {
        Self::with_hooks(module, NoHooks)
    }
}

impl<'a, V: Interpretable, H: Hooks<V>> Interpreter<'a, V, H> {
    /// An interpreter of a module's graph with overrides.
    pub fn with_hooks(module: &'a GraphModule, hooks: H) -> Self {
        Self { module, hooks, env: Env::new(module.graph()), keep: false }
    }

    /// Starts with values for some nodes, which are then not run: partial evaluation. A placeholder that has a value
    /// takes no argument.
    #[must_use]
    pub fn with_env(mut self, env: impl IntoIterator<Item = (NodeId, Arg<V>)>) -> Self {
        let graph = self.module.graph();
        for (id, value) in env.into_iter().filter(|(id, _)| graph.contains(*id)) {
            self.env.set(id, value);
        }
        self
    }

    /// Keeps all values until the end, instead of dropping each after its last use.
    #[must_use]
    pub fn keep_values(mut self) -> Self {
        self.keep = true;
        self
    }

    /// Runs the graph on positional arguments.
    ///
    /// # Errors
    /// If there are too few or too many arguments, or a node fails; the error names the node and the user's line.
    pub fn run(self, args: Vec<Arg<V>>) -> Result<Arg<V>> {
        self.run_with_env(args).map(|(output, _)| output)
    }

    /// As [`Interpreter::run`], with the values that are left: all if they are kept, else those never used.
    ///
    /// # Errors
    /// As [`Interpreter::run`].
    pub fn run_with_env(mut self, args: Vec<Arg<V>>) -> Result<(Arg<V>, HashMap<NodeId, Arg<V>>)> {
        let graph = self.module.graph();
        Inputs::new(graph, |id| self.env.get(id).is_none()).check(args.len())?;
        let last_uses = if self.keep { LastUses::default() } else { LastUses::new(graph) };
        let mut run = Run { module: self.module, args: args.into_iter(), env: self.env };
        let mut output = Arg::None;
        for (place, (id, node)) in graph.nodes().enumerate() {
            let value = match run.env.take(id) {
                Some(value) => value,
                None => V::run_for(node, || self.hooks.run_node(&mut run, id)).map_err(|e| locate(e, graph, id))?,
            };
            if node.op() == Opcode::Output {
                output = value;
                break;
            }
            run.env.set(id, value);
            last_uses.at(place).iter().for_each(|dead| drop(run.env.take(*dead)));
        }
        let left = graph.nodes().filter_map(|(id, _)| run.env.take(id).map(|value| (id, value)));
        Ok((output, left.collect()))
    }
}

/// The state of a running interpretation, as hooks see it.
pub struct Run<'a, V> {
    module: &'a GraphModule,
    args: std::vec::IntoIter<Arg<V>>,
    env: Env<V>,
}

/// The values of a graph's nodes.
struct Env<V>(Vec<Option<Arg<V>>>);

impl<V> Env<V> {
    fn new(graph: &Graph) -> Self {
        Self((0..graph.slot_count()).map(|_| None).collect())
    }

    fn get(&self, id: NodeId) -> Option<&Arg<V>> {
        self.0.get(id.index()).and_then(Option::as_ref)
    }

    fn take(&mut self, id: NodeId) -> Option<Arg<V>> {
        self.0.get_mut(id.index()).and_then(Option::take)
    }

    /// Sets the value of a node of the graph.
    fn set(&mut self, id: NodeId, value: Arg<V>) {
        self.0[id.index()] = Some(value);
    }
}

impl<V: Interpretable> Run<'_, V> {
    /// The module that is run.
    pub fn module(&self) -> &GraphModule {
        self.module
    }

    /// The value of a node that has run and is still needed.
    pub fn value(&self, id: NodeId) -> Option<&Arg<V>> {
        self.env.get(id).filter(|_| self.module.graph().contains(id))
    }

    /// An argument with the values of its nodes; torch.fx's `fetch_args_kwargs_from_env`.
    ///
    /// # Errors
    /// If a node has no value.
    pub fn fetch(&self, arg: &Arg<NodeId>) -> Result<Arg<V>> {
        arg.try_flat_map(&mut |id| {
            self.value(*id).cloned().ok_or_else(|| {
                let name = self.module.graph().get(*id).map_or_else(|| id.to_string(), |node| node.name().to_owned());
                Error::new(ErrorKind::Graph, format!("the value of %{name} is used, but it has none"))
                    .help("run Graph::lint to see whether the graph is in order")
            })
        })
    }

    /// Runs the hook of a node's opcode.
    ///
    /// # Errors
    /// What the hook gives.
    pub fn dispatch(&mut self, hooks: &mut impl Hooks<V>, id: NodeId) -> Result<Arg<V>> {
        let module = self.module;
        let node = module.graph().get(id).ok_or_else(|| Error::new(ErrorKind::Graph, format!("no node {id}")))?;
        match node.op() {
            Opcode::Placeholder => return hooks.placeholder(self, node),
            Opcode::GetAttr => return hooks.get_attr(self, node),
            _ => {}
        }
        let mut args = node.args().iter().map(|arg| self.fetch(arg)).collect::<Result<Vec<_>>>()?;
        let kwargs = node
            .kwargs()
            .iter()
            .map(|(key, arg)| Ok((key.clone(), self.fetch(arg)?)))
            .collect::<Result<Kwargs<V>>>()?;
        let name = node.target().name();
        match node.op() {
            Opcode::CallFunction => {
                let function = node.target().as_function();
                let function = function.ok_or_else(|| Error::not_found(format!("`{name}` is not a function")))?;
                hooks.call_function(self, node, function, args, kwargs)
            }
            Opcode::CallMethod => {
                let method = Function::lookup(name);
                let method = method.ok_or_else(|| Error::not_found(format!("there is no method `{name}`")))?;
                hooks.call_method(self, node, method, args, kwargs)
            }
            Opcode::CallModule => {
                let callee = module.state().modules.get(name).ok_or_else(|| no_such(Opcode::CallModule, name))?;
                hooks.call_module(self, node, &**callee, args, kwargs)
            }
            _ => {
                let arg = if args.is_empty() { Arg::None } else { args.swap_remove(0) };
                hooks.output(self, node, arg)
            }
        }
    }

    /// The next argument, or the default.
    ///
    /// # Errors
    /// If there is neither.
    pub fn placeholder(&mut self, node: &Node) -> Result<Arg<V>> {
        match (self.args.next(), node.args().first()) {
            (Some(arg), _) => Ok(arg),
            (None, Some(default)) => self.fetch(default),
            (None, None) => Err(Error::argument(format!("the input `{}` is missing", node.target()))),
        }
    }

    /// The parameter or buffer at the path of a node.
    ///
    /// # Errors
    /// If there is none.
    pub fn get_attr(&self, node: &Node) -> Result<Arg<V>> {
        let path = node.target().name();
        let state = self.module.state();
        if let Some(parameter) = state.parameters.get(path) {
            V::apply(Call::new(Callee::Parameter(parameter)))
        } else if let Some(buffer) = state.buffers.get(path) {
            V::apply(Call::new(Callee::Buffer(buffer)))
        } else {
            Err(no_such(Opcode::GetAttr, path))
        }
    }

    /// Calls a function.
    ///
    /// # Errors
    /// If it does not take the arguments.
    pub fn call_function(&self, _: &Node, function: Function, args: Vec<Arg<V>>, kwargs: Kwargs<V>) -> Result<Arg<V>> {
        V::apply(Call { args, kwargs, ..Call::function(function) })
    }

    /// Calls a method.
    ///
    /// # Errors
    /// If it does not take the arguments.
    pub fn call_method(&self, _: &Node, method: Function, args: Vec<Arg<V>>, kwargs: Kwargs<V>) -> Result<Arg<V>> {
        V::apply(Call { args, kwargs, ..Call::method(method) })
    }

    /// Calls a module.
    ///
    /// # Errors
    /// If it does not take the arguments.
    pub fn call_module(&self, _: &Node, module: &dyn Module, args: Vec<Arg<V>>, kwargs: Kwargs<V>) -> Result<Arg<V>> {
        V::call_module(module, args, kwargs)
    }
}

/// The inputs that a graph takes.
pub(crate) struct Inputs {
    names: Vec<String>,
    required: usize,
}

impl Inputs {
    /// Those of the graph's placeholders that `takes` an argument.
    pub(crate) fn new(graph: &Graph, takes: impl Fn(NodeId) -> bool) -> Self {
        let mut inputs = Self { names: Vec::new(), required: 0 };
        for (_, node) in graph.nodes().filter(|(id, node)| node.op() == Opcode::Placeholder && takes(*id)) {
            inputs.names.push(node.target().name().to_owned());
            inputs.required += usize::from(node.args().is_empty());
        }
        inputs
    }

    /// Checks the number of positional arguments.
    pub(crate) fn check(&self, count: usize) -> Result<()> {
        let most = self.names.len();
        if (self.required..=most).contains(&count) {
            return Ok(());
        }
        let takes = if self.required == most { most.to_string() } else { format!("{} to {most}", self.required) };
        let s = if most == 1 { "" } else { "s" };
        let error = Error::argument(format!("takes {takes} input{s} ({}), found {count}", self.names.join(", ")));
        Err(match self.names[..self.required].get(count..) {
            Some([.., last]) => error.help(format!(
                "if `{last}` is an option that is absent, capture the model without it: \
                 `fx::trace_by(fx::trace::InputForms::new().absent({last:?}), &model, ())`"
            )),
            _ => error,
        })
    }
}

/// At which node each value is used for the last time.
#[derive(Default)]
pub(crate) struct LastUses {
    dead: Vec<NodeId>,
    /// For each node in reverse order, where its part of `dead` ends.
    ends: Vec<usize>,
}

impl LastUses {
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut uses = Self { dead: Vec::new(), ends: Vec::with_capacity(graph.len()) };
        let mut seen = vec![false; graph.slot_count()];
        for (_, node) in graph.nodes().rev() {
            node.for_each_input(&mut |input| {
                if !std::mem::replace(&mut seen[input.index()], true) {
                    uses.dead.push(input);
                }
            });
            uses.ends.push(uses.dead.len());
        }
        uses
    }

    /// The nodes whose values are not used after the node at this place in the order.
    pub(crate) fn at(&self, place: usize) -> &[NodeId] {
        let Some(from_end) = self.ends.len().checked_sub(place + 1) else { return &[] };
        let start = from_end.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.dead[start..self.ends[from_end]]
    }
}

/// Adds the node, its module and the user's line to an error.
pub(crate) fn locate(error: Error, graph: &Graph, id: NodeId) -> Error {
    let meta = graph[id].meta();
    let error = error.at_node(|| graph.format_node(id));
    let error = match meta.module_stack().last() {
        Some(frame) if !frame.path.is_empty() => error.in_module(|| format!("{} ({})", frame.path, frame.type_name)),
        _ => error,
    };
    match meta.get::<SourceLocation>() {
        Some(location) => error.at_node_location(location),
        None => error,
    }
}
