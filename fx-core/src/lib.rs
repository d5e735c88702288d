//! The core of fx: tensors, the op table, the graph and its transforms.
//!
//! Use it through the facade crate `fx`, which re-exports everything here.

pub mod arg;
pub mod codegen;
pub mod compile;
pub mod error;
pub mod graph;
pub mod graph_module;
pub mod interpreter;
pub mod module;
pub mod ops;
pub mod tensor;
pub mod trace;
pub mod value;

pub use arg::{Arg, Kwargs};
pub use error::{Error, ErrorKind, Result};
pub use graph::{Graph, NodeId, Opcode};
pub use graph_module::GraphModule;
pub use interpreter::Interpreter;
pub use module::{Buffer, Module, Parameter, Training};
pub use ops::{Function, functional};
pub use tensor::{DType, Scalar, Tensor};
pub use trace::{Proxy, trace, trace_with};
pub use value::{Meta, SymInt, Value};

/// What a model's source needs: `use fx::prelude::*`.
pub mod prelude {
    pub use crate::module::{Buffer, Module, Parameter, StateDictExt as _, Training};
    pub use crate::ops::Elementwise as _;
    pub use crate::tensor::{DType, Tensor};
    pub use crate::value::{SymInt, Value};
    pub use crate::graph::Opcode;
}
