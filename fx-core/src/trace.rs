//! Tracing: running a `forward` on proxies, which record a graph.
//!
//! A trace has a session: the graph so far, the paths of the root's modules and state by their identity, the modules
//! whose `forward` is running. It is the only interior mutability of the crate. Errors met while tracing are kept and
//! come out together when the trace ends; what failed goes on as a stand-in.

mod proxy;
mod session;
mod tracer;

pub use proxy::Proxy;
pub use tracer::{DefaultTracer, Leaves, NodeRequest, Tracer};

use std::rc::Rc;

use crate::arg::Arg;
use crate::error::Result;
use crate::graph_module::GraphModule;
use crate::module::{Module, Traceable, TraceableFn};
use crate::value::Tree;
use session::Session;

/// Captures a module whose `forward` takes no static arguments.
///
/// # Errors
/// If something in `forward` cannot be captured; all faults are in one error.
pub fn trace<M: Traceable<Static = ()>>(module: &M) -> Result<GraphModule> {
    trace_with(module, ())
}

/// Captures a module with these static arguments, as a tuple.
///
/// # Errors
/// As [`trace`].
pub fn trace_with<M: Traceable>(module: &M, statics: M::Static) -> Result<GraphModule> {
    trace_by(DefaultTracer, module, statics)
}

/// Captures a module, with another tracer.
///
/// # Errors
/// As [`trace`].
pub fn trace_by<M: Traceable>(tracer: impl Tracer + 'static, module: &M, statics: M::Static) -> Result<GraphModule> {
    let session = Session::new(Rc::new(tracer), Some(module));
    session.enter_root(module);
    let inputs = M::SIGNATURE.inputs;
    session.run(inputs, module.type_name(), |args| module.invoke::<Proxy>(args, statics))
}

/// Captures a free function marked `#[traceable]`, with its static arguments as a tuple; `fx::trace_fn!(f)` is the
/// usual way to call it.
///
/// # Errors
/// As [`trace`].
pub fn trace_function<F: TraceableFn>(statics: F::Static) -> Result<GraphModule> {
    let session = Session::new(Rc::new(DefaultTracer), None);
    session.run(F::SIGNATURE.inputs, "Function", |args| F::invoke::<Proxy>(args, statics))
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
    session.run(names, "Function", |args| A::from_arg(Arg::Tuple(args)).map(|args| f(args).to_arg()))
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
    ($f:path) => { $crate::trace::trace_function::<$f>(()) };
    ($f:path, $statics:expr) => { $crate::trace::trace_function::<$f>($statics) };
}
