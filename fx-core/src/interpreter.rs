//! Running a graph node by node, on any value: tensors run it, proxies record it anew, shapes propagate.
//!
//! Each opcode has a hook that can be overridden; what a hook does not override calls the default. An override written
//! for every `V: Value` serves running and rewriting alike: `Interpreter` with proxies is torch.fx's `Transformer`.

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

/// A value that leaf modules can be called on. For a value of your own the default is right: a leaf module is captured
/// as a graph, which is then interpreted.
pub trait Interpretable: Value {
    /// Calls a module.
    ///
    /// # Errors
    /// If it does not take the arguments.
    fn call_module(module: &dyn Module, args: Vec<Arg<Self>>, kwargs: Kwargs<Self>) -> Result<Arg<Self>>;
}

impl Interpretable for Tensor {
    fn call_module(module: &dyn Module, args: Vec<Arg<Self>>, kwargs: Kwargs<Self>) -> Result<Arg<Self>> {
        module.call_tensor(args, &kwargs)
    }
}

impl Interpretable for Meta {
    fn call_module(module: &dyn Module, args: Vec<Arg<Self>>, kwargs: Kwargs<Self>) -> Result<Arg<Self>> {
        module.call_meta(args, &kwargs)
    }
}

impl Interpretable for Proxy {
    fn call_module(module: &dyn Module, args: Vec<Arg<Self>>, kwargs: Kwargs<Self>) -> Result<Arg<Self>> {
        module.call_proxy(args, &kwargs)
    }
}

/// Runs a graph node by node.
///
/// ```no_run
/// # use fx_core::{GraphModule, Tensor, interpreter::Interpreter};
/// # fn run(module: &GraphModule, x: Tensor) -> fx_core::Result<()> {
/// let y = Interpreter::new(module).run(vec![x.into()])?;
/// # Ok(())
/// # }
/// ```
pub struct Interpreter<'a, V, H = NoHooks> {
    module: &'a GraphModule,
    hooks: H,
    env: HashMap<NodeId, Arg<V>>,
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
        Self { module, hooks, env: HashMap::new(), keep: false }
    }

    /// Starts with values for some nodes, which are then not run: partial evaluation.
    #[must_use]
    pub fn with_env(mut self, env: impl IntoIterator<Item = (NodeId, Arg<V>)>) -> Self {
        self.env.extend(env);
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
        check_count(graph, args.len())?;
        let last_uses = if self.keep { HashMap::new() } else { last_uses(graph) };
        let mut run = Run { module: self.module, args: args.into_iter(), env: self.env };
        let mut output = Arg::None;
        for (id, node) in graph.nodes() {
            if run.env.contains_key(&id) {
                if node.op() == Opcode::Placeholder {
                    run.args.next();
                }
                continue;
            }
            let value = self.hooks.run_node(&mut run, id).map_err(|error| locate(error, graph, id))?;
            if node.op() == Opcode::Output {
                output = value;
                break;
            }
            run.env.insert(id, value);
            for dead in last_uses.get(&id).into_iter().flatten() {
                run.env.remove(dead);
            }
        }
        Ok((output, run.env))
    }
}

/// The state of a running interpretation, as hooks see it.
pub struct Run<'a, V> {
    module: &'a GraphModule,
    args: std::vec::IntoIter<Arg<V>>,
    env: HashMap<NodeId, Arg<V>>,
}

impl<V: Interpretable> Run<'_, V> {
    /// The module that is run.
    pub fn module(&self) -> &GraphModule {
        self.module
    }

    /// The value of a node that has run and is still needed.
    pub fn value(&self, id: NodeId) -> Option<&Arg<V>> {
        self.env.get(&id)
    }

    /// An argument with the values of its nodes; torch.fx's `fetch_args_kwargs_from_env`.
    ///
    /// # Errors
    /// If a node has no value.
    pub fn fetch(&self, arg: &Arg<NodeId>) -> Result<Arg<V>> {
        arg.try_flat_map(&mut |id| {
            self.env.get(id).cloned().ok_or_else(|| {
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

    fn placeholder(&mut self, node: &Node) -> Result<Arg<V>> {
        match (self.args.next(), node.args().first()) {
            (Some(arg), _) => Ok(arg),
            (None, Some(default)) => self.fetch(default),
            (None, None) => Err(Error::argument(format!("the input `{}` is missing", node.target()))),
        }
    }

    fn get_attr(&self, node: &Node) -> Result<Arg<V>> {
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

    fn call_function(&self, _: &Node, function: Function, args: Vec<Arg<V>>, kwargs: Kwargs<V>) -> Result<Arg<V>> {
        V::apply(Call { args, kwargs, ..Call::function(function) })
    }

    fn call_method(&self, _: &Node, method: Function, args: Vec<Arg<V>>, kwargs: Kwargs<V>) -> Result<Arg<V>> {
        V::apply(Call { args, kwargs, ..Call::method(method) })
    }

    fn call_module(&self, _: &Node, module: &dyn Module, args: Vec<Arg<V>>, kwargs: Kwargs<V>) -> Result<Arg<V>> {
        V::call_module(module, args, kwargs)
    }
}

/// Checks the number of positional arguments of a graph.
pub(crate) fn check_count(graph: &Graph, count: usize) -> Result<()> {
    let placeholders: Vec<_> = graph.nodes().filter(|(_, node)| node.op() == Opcode::Placeholder).collect();
    let required = placeholders.iter().filter(|(_, node)| node.args().is_empty()).count();
    if (required..=placeholders.len()).contains(&count) {
        return Ok(());
    }
    let names: Vec<_> = placeholders.iter().map(|(_, node)| node.target().name()).collect();
    Err(Error::argument(format!("takes {} inputs ({}), found {count}", names.len(), names.join(", "))))
}

/// The nodes whose values are not used after a node, by that node.
pub(crate) fn last_uses(graph: &Graph) -> HashMap<NodeId, Vec<NodeId>> {
    let mut last: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    for (id, node) in graph.nodes().rev() {
        for input in node.inputs() {
            if seen.insert(input) {
                last.entry(id).or_default().push(input);
            }
        }
    }
    last
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
