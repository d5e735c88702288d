//! Proxies of existing nodes: decompositions written as plain functions.
//!
//! What a rewrite does with the proxies of a node's arguments is recorded before that node, with the node's place in the
//! user's source, and stands for the node from then on. Everything else in the graph stays as it is.

use std::rc::Rc;
use std::sync::Arc;

use super::session::{Session, run_for};
use super::{Proxy, Tracer};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Cursor, Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, State, StateMap};
use crate::interpreter::locate;
use crate::module::Module;
use crate::ops::{self, Function, counted};
use crate::value::{Call, Callee, Dim, Value};

/// A call that may be rewritten: a node, and its arguments as proxies.
pub struct NodeCall {
    /// The node.
    pub id: NodeId,
    /// A copy of it.
    pub node: Node,
    /// Its positional arguments.
    pub args: Vec<Arg<Proxy>>,
    /// Its keyword arguments.
    pub kwargs: Kwargs<Proxy>,
    callee: Option<Arc<dyn Module>>,
}

impl NodeCall {
    /// The function that is called, written as a function or as a method.
    pub fn function(&self) -> Option<Function> {
        self.node.function()
    }

    /// The module that is called.
    pub fn module(&self) -> Option<&dyn Module> {
        self.callee.as_deref()
    }

    /// Makes the same call again, perhaps with other arguments.
    ///
    /// # Errors
    /// If what is called does not take them.
    pub fn apply(&self, args: Vec<Arg<Proxy>>, kwargs: Kwargs<Proxy>) -> Result<Arg<Proxy>> {
        match (&self.callee, self.function()) {
            (Some(module), _) => module.call_proxy(args, &kwargs),
            (None, Some(function)) => {
                let callee = match self.node.op() {
                    Opcode::CallMethod => Callee::Method(function),
                    _ => Callee::Function(function),
                };
                Proxy::apply(Call { args, kwargs, ..Call::new(callee) })
            }
            (None, None) => Err(Error::not_found(format!("there is no `{}`", self.node.target()))),
        }
    }
}

impl GraphModule {
    /// Replaces each call for which `f` gives something by what it gives, recorded with `tracer`. State that is then no
    /// longer referred to goes. Gives how many calls were replaced; if anything fails, nothing has changed.
    ///
    /// ```
    /// # use fx_core::{graph::Graph, graph_module::State, trace::{DefaultTracer, NodeCall}, prelude::*, *};
    /// # fn main() -> Result<()> {
    /// let mut module = fx_core::trace_fn!(|x| x.relu())?;
    /// module.rewrite(DefaultTracer, |call: &NodeCall| {
    ///     let Some(x) = call.args[0].as_value().filter(|_| call.function() == Some(ops::relu)) else { return Ok(None) };
    ///     Ok(Some(Arg::Value(functional::gt(x, 0.0) * x)))
    /// })?;
    /// assert!(module.graph().to_string().contains("target=gt"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What `f` gives, what cannot be recorded, or the violations of the new graph.
    pub fn rewrite(
        &mut self,
        tracer: impl Tracer + 'static,
        f: impl FnMut(&NodeCall) -> Result<Option<Arg<Proxy>>>,
    ) -> Result<usize> {
        self.edit_with_state(|graph, state| {
            let count = rewrite(graph, state, tracer, f)?;
            state.retain_used(graph);
            Ok(count)
        })
    }
}

/// As [`GraphModule::rewrite`], within an edit.
///
/// # Errors
/// As [`GraphModule::rewrite`]; then the graph and the state may be half rewritten.
pub fn rewrite(
    graph: &mut Graph,
    state: &mut State,
    tracer: impl Tracer + 'static,
    mut f: impl FnMut(&NodeCall) -> Result<Option<Arg<Proxy>>>,
) -> Result<usize> {
    let modules = state.modules.clone();
    let session = Session::on(Rc::new(tracer), std::mem::take(graph), std::mem::take(state));
    let result;
    (*graph, *state, result) = session.resume(|| {
        let ids = session.graph().node_ids();
        let outer = session.graph().set_cursor(Cursor::End);
        let mut count = 0;
        for id in ids {
            count += usize::from(rewrite_node(&session, &modules, id, &mut f)?);
        }
        session.graph().set_cursor(outer);
        Ok(count)
    });
    result
}

fn rewrite_node(
    session: &Rc<Session>,
    modules: &StateMap<Arc<dyn Module>>,
    id: NodeId,
    f: &mut impl FnMut(&NodeCall) -> Result<Option<Arg<Proxy>>>,
) -> Result<bool> {
    let mut graph = session.graph();
    // A node may have gone with an earlier one: the elements of a tuple are taken at once.
    let Some(node) = graph.get(id) else { return Ok(false) };
    if !matches!(node.op(), Opcode::CallFunction | Opcode::CallMethod | Opcode::CallModule) {
        return Ok(false);
    }
    let mut proxy = |id: &NodeId| Proxy::new(*id, session);
    let callee = modules.get(node.target().name()).filter(|_| node.op() == Opcode::CallModule).cloned();
    let (args, kwargs) = (node.args().iter().map(|arg| arg.map(&mut proxy)).collect(), node.kwargs().map(&mut proxy));
    let call = NodeCall { id, node: node.clone(), args, kwargs, callee };
    graph.set_cursor(Cursor::Before(id));
    drop(graph);
    let output = run_for(call.node.meta(), || f(&call)).map_err(|error| locate(error, &session.graph(), id))?;
    let Some(output) = output else { return Ok(false) };
    let output = session.node_arg(output)?;
    let graph = &mut session.graph();
    graph.keep_shape(id, &output);
    take_elements(graph, id, &output)?;
    graph.replace_all_uses_with_arg(id, &output);
    graph.erase_node(id)?;
    Ok(true)
}

/// Where a tuple takes the place of a node, what took an element of the node stands for that element.
fn take_elements(graph: &mut Graph, id: NodeId, output: &NodeArg) -> Result<()> {
    let Some(items) = output.as_items() else { return Ok(()) };
    for user in graph[id].users().collect::<Vec<_>>() {
        let node = &graph[user];
        let index = match node.args() {
            [Arg::Value(from), Arg::Int(index)] if *from == id && node.function() == Some(ops::getitem) => *index,
            _ => continue,
        };
        let count = node.kwargs().get("count").and_then(Arg::as_int);
        counted(&Dim::from(items.len()), "elements", count)
            .map_err(|error| error.at_node(|| graph.format_node(user)))?;
        let place = if index < 0 { index + items.len() as i64 } else { index };
        let element = usize::try_from(place).ok().and_then(|place| items.get(place)).ok_or_else(|| {
            let message = format!("%{} takes element {index} of {}", node.name(), items.len());
            Error::new(ErrorKind::Graph, message)
        })?;
        take_elements(graph, user, element)?;
        graph.replace_all_uses_with_arg(user, element);
        graph.erase_node(user)?;
    }
    Ok(())
}
