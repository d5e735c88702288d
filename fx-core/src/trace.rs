//! Tracing: running a `forward` on proxies, which record a graph.
//!
//! A trace has a session: the graph so far, the paths of the root's modules and state by their identity, the modules
//! whose `forward` is running. It is the only interior mutability of the crate. Errors met while tracing are kept and
//! come out together when the trace ends; what failed goes on as a stand-in.

mod paths;
mod proxy;
mod rewrite;
mod session;
mod tracer;

pub use proxy::Proxy;
pub use rewrite::{NodeCall, rewrite};
pub use tracer::{DefaultTracer, InputForm, InputForms, Leaves, NodeRequest, Tracer};

use std::rc::Rc;

use crate::arg::{Arg, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{NodeArg, Opcode};
use crate::graph_module::GraphModule;
use crate::interpreter::{Hooks, Interpreter};
use crate::module::{Arguments, Capture, Module, StaticsFrom, TraceableFn};
use crate::value::Tree;
pub(crate) use session::run_for;
use session::{Session, input};

/// Captures a module whose `forward` takes no static arguments.
///
/// # Errors
/// If something in `forward` cannot be captured; all faults are in one error.
pub fn trace<M: Capture>(module: &M) -> Result<GraphModule>
where
    M::Static: StaticsFrom<()>,
{
    trace_with(module, ())
}

/// Captures a module with these static arguments, as a tuple.
///
/// # Errors
/// As [`trace`].
pub fn trace_with<M: Capture, S>(module: &M, statics: S) -> Result<GraphModule>
where
    M::Static: StaticsFrom<S>,
{
    trace_by(DefaultTracer, module, statics)
}

/// Captures a module, with another tracer.
///
/// # Errors
/// As [`trace`].
pub fn trace_by<M: Capture, S>(tracer: impl Tracer + 'static, module: &M, statics: S) -> Result<GraphModule>
where
    M::Static: StaticsFrom<S>,
{
    let statics = M::Static::from_given(statics);
    let root = module.as_module();
    let session = Session::new(Rc::new(tracer), Some(root));
    let inputs = M::SIGNATURE.inputs;
    session.run(inputs.iter().map(|name| input(name)), root.type_name(), |args| {
        module.invoke::<Proxy>(&mut Arguments::named(args, inputs), statics)
    })
}

/// Captures a free function marked `#[traceable]`, with its static arguments as a tuple; `fx::trace_fn!(f)` is the
/// usual way to call it.
///
/// # Errors
/// As [`trace`].
pub fn trace_function<F: TraceableFn, S>(statics: S) -> Result<GraphModule>
where
    F::Static: StaticsFrom<S>,
{
    let statics = F::Static::from_given(statics);
    let session = Session::new(Rc::new(DefaultTracer), None);
    let inputs = F::SIGNATURE.inputs;
    session.run(inputs.iter().map(|name| input(name)), "Function", |args| {
        F::invoke::<Proxy>(&mut Arguments::named(args, inputs), statics)
    })
}

/// Captures a function or closure of proxies, whose parameters get these names; `fx::trace_fn!(|x, y| ..)` is the
/// usual way to call it.
///
/// Modules that the function calls are traced through; leaf modules are installed in the result under the names of
/// their types.
///
/// # Errors
/// As [`trace`].
pub fn trace_fn<A: Tree<Proxy>, R: Tree<Proxy>>(
    names: &'static [&'static str],
    f: impl FnOnce(A) -> R,
) -> Result<GraphModule> {
    let session = Session::new(Rc::new(DefaultTracer), None);
    session.run(names.iter().map(|name| input(name)), "Function", |args| {
        A::from_arg(Arg::Tuple(args)).map(|args| f(args).to_arg())
    })
}

/// Captures one call of a module: inputs stand for the values among the arguments, in order, everything else is fixed.
/// Gives those values too, as the arguments for a run. No part of the module is a leaf, unless the tracer says so. What it
/// uses that is no part of it joins the captured state.
///
/// # Errors
/// As [`trace`], and if the module does not take these arguments.
pub fn trace_call<V: Clone>(
    tracer: impl Tracer + 'static,
    module: &dyn Module,
    args: &[Arg<V>],
    kwargs: &Kwargs<V>,
) -> Result<(GraphModule, Vec<Arg<V>>)> {
    let mut values = Vec::new();
    let mut collect = |value: &V| values.push(Arg::Value(value.clone()));
    args.iter().for_each(|arg| arg.for_each(&mut collect));
    kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut collect));
    let session = Session::of_call(Rc::new(tracer), module);
    let captured = session.run(values.iter().map(|_| input("input")), module.type_name(), |inputs| {
        let mut inputs = inputs.into_iter();
        let mut next = |_: &V| inputs.next().ok_or_else(|| Error::new(ErrorKind::Trace, "an input is missing"));
        let args = args.iter().map(|arg| arg.try_flat_map(&mut next)).collect::<Result<_>>()?;
        module.call_proxy(args, &kwargs.try_flat_map(&mut next)?)
    })?;
    Ok((captured, values))
}

/// Captures a captured model anew, with overrides: torch.fx's `Transformer`. All modules are leaves, nodes keep their
/// place in the user's source, inputs their defaults; a parameter is read by one node. Names are given anew.
///
/// # Errors
/// If a hook fails, or the result does not lint.
pub fn transform(module: &GraphModule, hooks: impl Hooks<Proxy>) -> Result<GraphModule> {
    let session = Session::new(Rc::new(Leaves::All), Some(module));
    let graph = module.graph();
    let request = |id| {
        let node = &graph[id];
        let constant = |arg: &NodeArg| {
            arg.try_map(&mut |_| Err(Error::new(ErrorKind::Trace, "the default of an input is not a constant")))
        };
        let args = node.args().iter().map(constant).collect::<Result<_>>()?;
        let (target, name) = (node.target().clone(), Some(node.name().to_owned()));
        Ok(NodeRequest { op: Opcode::Placeholder, target, args, kwargs: Kwargs::new(), name })
    };
    let inputs = graph.placeholders().into_iter().map(request).collect::<Result<Vec<_>>>()?;
    session.run(inputs, module.class_name(), |args| Interpreter::with_hooks(module, hooks).run(args))
}

/// Captures a free function or a closure; placeholders carry the names of its parameters.
///
/// `trace_fn!(f)` captures a function marked `#[traceable]`, `trace_fn!(f, (true,))` one with static arguments, and
/// `trace_fn!(|x, y| x + y)` a closure, whose parameters are proxies.
#[macro_export]
macro_rules! trace_fn {
    (|$($name:ident),* $(,)?| $body:expr) => {
        $crate::trace::trace_fn(
            &[$(::core::stringify!($name)),*],
            |($($name,)*): ($($crate::trace_fn!(@proxy $name),)*)| $body,
        )
    };
    (@proxy $name:ident) => { $crate::Proxy };
    ($f:path) => { $crate::trace::trace_function::<$f, _>(()) };
    ($f:path, $statics:expr) => { $crate::trace::trace_function::<$f, _>($statics) };
}
