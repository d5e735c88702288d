//! Making nodes of each opcode.

use super::{Graph, NodeArg, NodeId, Opcode, Target};
use crate::arg::Kwargs;
use crate::ops::Function;

impl Graph {
    /// An input.
    pub fn placeholder(&mut self, name: &str) -> NodeId {
        self.create_node(Opcode::Placeholder, name, Vec::new(), Kwargs::new(), Some(name))
    }

    /// An input that has a default.
    pub fn placeholder_with_default(&mut self, name: &str, default: impl Into<NodeArg>) -> NodeId {
        self.create_node(Opcode::Placeholder, name, vec![default.into()], Kwargs::new(), Some(name))
    }

    /// A read of the parameter or buffer at `path`.
    pub fn get_attr(&mut self, path: &str) -> NodeId {
        self.create_node(Opcode::GetAttr, path, Vec::new(), Kwargs::new(), None)
    }

    /// A call of a function.
    ///
    /// # Panics
    /// If an argument is a node of another graph.
    #[track_caller]
    pub fn call_function(&mut self, function: Function, args: impl IntoIterator<Item = impl Into<NodeArg>>) -> NodeId {
        self.call(Opcode::CallFunction, function, args, Kwargs::new())
    }

    /// A call of a method; the first argument is `self`.
    ///
    /// # Panics
    /// If an argument is a node of another graph.
    #[track_caller]
    pub fn call_method(&mut self, method: &str, args: impl IntoIterator<Item = impl Into<NodeArg>>) -> NodeId {
        self.call(Opcode::CallMethod, method, args, Kwargs::new())
    }

    /// A call of the module at `path`.
    ///
    /// # Panics
    /// If an argument is a node of another graph.
    #[track_caller]
    pub fn call_module(&mut self, path: &str, args: impl IntoIterator<Item = impl Into<NodeArg>>) -> NodeId {
        self.call(Opcode::CallModule, path, args, Kwargs::new())
    }

    /// A call of any kind, with keyword arguments.
    ///
    /// # Panics
    /// If an argument is a node of another graph.
    #[track_caller]
    pub fn call(
        &mut self,
        op: Opcode,
        target: impl Into<Target>,
        args: impl IntoIterator<Item = impl Into<NodeArg>>,
        kwargs: Kwargs<NodeId>,
    ) -> NodeId {
        self.create_node(op, target, args.into_iter().map(Into::into).collect(), kwargs, None)
    }

    /// What the graph gives.
    ///
    /// # Panics
    /// If the argument mentions a node of another graph.
    #[track_caller]
    pub fn output(&mut self, arg: impl Into<NodeArg>) -> NodeId {
        self.create_node(Opcode::Output, "output", vec![arg.into()], Kwargs::new(), None)
    }
}
