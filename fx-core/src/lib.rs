//! The core of fx: tensors, the op table, the graph and its transforms.
//!
//! Use it through the facade crate `fx`, which re-exports everything here.

pub mod arg;
pub mod codegen;
pub mod compile;
pub mod draw;
pub mod error;
pub mod graph;
pub mod graph_module;
pub mod interpreter;
pub mod module;
pub mod ops;
pub mod passes;
mod sort;
pub mod tensor;
mod text;
pub mod trace;
pub mod value;

pub use arg::{Arg, Kwargs};
pub use error::{Error, ErrorKind, Result};
pub use fx_kernels::threads::{num_threads, set_num_threads};
pub use graph::{Graph, NodeId, Opcode};
pub use graph_module::GraphModule;
pub use interpreter::Interpreter;
pub use module::{Buffer, Module, Parameter, Training};
pub use module::{Capture, Layer, StateDict, StateDictExt, Traceable, TraceableFn};
pub use ops::{Function, functional};
pub use tensor::random::manual_seed;
pub use tensor::{DType, Scalar, Tensor};
pub use trace::{Proxy, Tracer, trace, trace_by, trace_fn, trace_with};
pub use value::{Meta, SymInt, Value};

/// What the expansion of `#[traceable]` and `#[wrap]` refers to. Not public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::arg::{Arg, Kwargs};
    pub use crate::error::{Error, Result};
    pub use crate::module::immediate;
    pub use crate::module::{
        Arguments, Capture, DefaultDescription, Field, FieldType, Forward, HyperField, Layer, Module, ModuleCall,
        NoForward, NoStructure, RefusedStatics, Signature, Statics, Structure, TraceableFn, Visit, Visitor, leaf,
        unawaited,
    };
    pub use crate::module::{Buffer, Parameter};
    pub use crate::ops::fallible;
    pub use crate::ops::function::{Attribute, Definition, Effect, Function, Operand, OperandKind, Source, Tolerance};
    pub use crate::tensor::Tensor;
    pub use crate::trace::Proxy;
    pub use crate::value::guard::{
        PlainCompare, PlainGuard, PlainItems, TracedCompare, TracedGuard, TracedItems, TracedIterable, Untraceable,
        UntraceableList, UntraceableSize, compare, plain,
    };
    pub use crate::value::unpack;
    pub use crate::value::{Call, Dim, Input, Meta, RefOps, ScalarOps, StaticArg, Tree, Value};
    pub use std::sync::Arc;
}

/// What a model's source needs: `use fx::prelude::*`.
pub mod prelude {
    pub use crate::graph::Opcode;
    pub use crate::module::{Buffer, Module, Parameter, StateDictExt as _, Training};
    pub use crate::ops::methods::*;
    pub use crate::tensor::{DType, Tensor};
    pub use crate::value::{SymInt, Value};
}
