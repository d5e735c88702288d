//! The decisions of a trace, each of which can be made otherwise.

use super::Proxy;
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeArg, NodeId, Opcode, Target};
use crate::module::Module;

/// Decides how a trace records; torch.fx's `Tracer`. All methods have torch.fx's defaults.
pub trait Tracer {
    /// Whether a call of `module`, which is at `path`, is recorded as one node instead of traced through.
    fn is_leaf_module(&self, module: &dyn Module, path: &str) -> bool {
        let _ = path;
        module.is_leaf()
    }

    /// Makes the node of a call: the single funnel of all recording.
    ///
    /// # Errors
    /// What it gives becomes an error of the trace.
    fn create_node(&self, graph: &mut Graph, request: NodeRequest) -> Result<NodeId> {
        Ok(request.create(graph))
    }

    /// Turns an argument into what is recorded.
    ///
    /// # Errors
    /// What it gives becomes an error of the trace.
    fn create_arg(&self, arg: Arg<Proxy>) -> Result<Arg<Proxy>> {
        Ok(arg)
    }

    /// What the input `name` is while tracing: by default one value, which a tuple or a struct is unpacked from.
    fn input_form(&self, name: &str) -> InputForm {
        let _ = name;
        InputForm::Value
    }

    /// Checks the names of all inputs, before anything is recorded: a tracer that knows some by name is to miss none.
    ///
    /// # Errors
    /// What it gives becomes the error of the trace.
    fn check_inputs(&self, names: &[&str]) -> Result<()> {
        let _ = names;
        Ok(())
    }

    /// Whether sizes of parameters and buffers are integers instead of nodes.
    fn constant_parameter_shapes(&self) -> bool {
        false
    }
}

/// What an input is while tracing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputForm {
    /// One value.
    #[default]
    Value,
    /// A list of so many values.
    List(usize),
    /// Nothing: `None` for an `Option`.
    Absent,
}

/// A tracer that knows the lengths of lists and which options are absent; otherwise as [`DefaultTracer`]. A run must
/// give lists of these lengths; a name that no input has is an error of the trace.
///
/// ```
/// use fx_core::trace::InputForms;
/// let forms = InputForms::new().list("images", 3).absent("mask");
/// ```
#[derive(Clone, Debug, Default)]
pub struct InputForms(Vec<(&'static str, InputForm)>);

impl InputForms {
    /// Every input is one value.
    pub fn new() -> Self {
        Self::default()
    }

    /// The input `name` is a list of `len` values.
    #[must_use]
    pub fn list(mut self, name: &'static str, len: usize) -> Self {
        self.0.push((name, InputForm::List(len)));
        self
    }

    /// The input `name` is `None`.
    #[must_use]
    pub fn absent(mut self, name: &'static str) -> Self {
        self.0.push((name, InputForm::Absent));
        self
    }
}

impl Tracer for InputForms {
    fn input_form(&self, name: &str) -> InputForm {
        self.0.iter().find(|(known, _)| *known == name).map_or(InputForm::Value, |(_, form)| *form)
    }

    fn check_inputs(&self, names: &[&str]) -> Result<()> {
        let Some((unknown, _)) = self.0.iter().find(|(known, _)| !names.contains(known)) else { return Ok(()) };
        let message = match names {
            [] => format!("there is no input `{unknown}`, and no other"),
            names => format!("there is no input `{unknown}`; the inputs are {}", names.join(", ")),
        };
        Err(Error::not_found(message).help("`InputForms` has the names of the parameters of `forward`"))
    }
}

/// A node that is about to be made.
#[derive(Clone, Debug)]
pub struct NodeRequest {
    /// Its opcode.
    pub op: Opcode,
    /// Its target.
    pub target: Target,
    /// Its positional arguments.
    pub args: Vec<NodeArg>,
    /// Its keyword arguments.
    pub kwargs: Kwargs<NodeId>,
    /// The name that it asks for, if not its target's.
    pub name: Option<String>,
}

impl NodeRequest {
    /// Makes the node at the graph's insertion point.
    pub fn create(self, graph: &mut Graph) -> NodeId {
        graph.create_node(self.op, self.target, self.args, self.kwargs, self.name.as_deref())
    }
}

/// The tracer of [`trace`](super::trace): leaf modules are those that say so.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultTracer;

impl Tracer for DefaultTracer {}

/// A tracer with other leaves.
#[derive(Clone, Copy, Debug)]
pub enum Leaves {
    /// No module is a leaf: everything is traced through, down to functions.
    None,
    /// Every module below the root is a leaf.
    All,
}

impl Tracer for Leaves {
    fn is_leaf_module(&self, _: &dyn Module, path: &str) -> bool {
        match self {
            Leaves::None => false,
            Leaves::All => !path.is_empty(),
        }
    }
}
