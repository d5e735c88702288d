//! Modules: what owns parameters and buffers, and how their tree is walked.
//!
//! `#[traceable]` on a struct writes the implementations. A module is a handle: its clone shares parameters, buffers
//! and the training flag, as a Python reference does. So `vec![Block::new(); 2]` is one block twice: two are made by two calls,
//! or by [`deep_copy`].

mod call;
mod deep;
mod demand;
mod make;
mod state;
mod state_dict;
mod visit;

pub use call::{Arguments, Capture, Layer, ModuleCall, Signature, Statics, Traceable, TraceableFn, invoke};
#[doc(hidden)]
pub use call::{Forward, NoForward, immediate};
pub use deep::deep_copy;
pub(crate) use deep::is_copying;
#[doc(hidden)]
pub use demand::{FieldType, LeafForward, NoStructure, RefusedStatics, StaticsFrom, Structure, leaf, unawaited};
pub(crate) use make::Make;
pub use state::{Buffer, Parameter, Training};
pub(crate) use state::{StateEpoch, state_epoch};
pub use state_dict::{StateDict, StateDictExt};
pub(crate) use visit::join;
#[doc(hidden)]
pub use visit::{DefaultDescription, Field, HyperField};
pub use visit::{Entry, Visit, Visitor, entries, module_at};

use std::any::Any;
use std::sync::Arc;

use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph_module::GraphModule;
use crate::tensor::Tensor;
use crate::trace::Proxy;

/// A piece of a model: parameters, buffers, child modules, and a `forward`.
///
/// Write `#[traceable]` on a struct and on its `impl` block to implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module",
    label = "not a module",
    note = "mark the struct and its `impl` block with `#[traceable]`"
)]
pub trait Module: Any + Visit + Send + Sync {
    /// The name of its type: `Linear`.
    fn type_name(&self) -> &'static str;

    /// Whether a trace records a call of it as one node, unless the tracer decides otherwise.
    fn is_leaf(&self) -> bool {
        false
    }

    /// Its hyper-parameters as it is printed: `in_features=4, out_features=5, bias=True`.
    ///
    /// `#[traceable]` takes it from the type's own method `extra_repr`, if there is one.
    fn repr_arguments(&self) -> String {
        String::new()
    }

    /// The Rust expression that makes a module like it, for generated code: `nn::Linear::new(4, 5)`.
    ///
    /// `#[traceable]` takes it from the type's own method `constructor`, if there is one.
    fn constructor_source(&self) -> Option<String> {
        None
    }

    /// The names of `forward`'s parameters and which of them are static.
    fn signature(&self) -> &'static Signature;

    /// Runs `forward` on tensors.
    ///
    /// # Errors
    /// If it does not take these arguments, or an op in it fails.
    fn call_tensor(&self, args: Vec<Arg<Tensor>>, kwargs: &Kwargs<Tensor>) -> Result<Arg<Tensor>>;

    /// Runs `forward` on proxies, within a trace. Values of all other kinds go through what is recorded.
    ///
    /// # Errors
    /// If it does not take these arguments.
    fn call_proxy(&self, args: Vec<Arg<Proxy>>, kwargs: &Kwargs<Proxy>) -> Result<Arg<Proxy>>;

    /// A handle of it that shares its state.
    fn share(&self) -> Arc<dyn Module>;
}

impl dyn Module {
    /// Sets training mode, here and in all children.
    pub fn set_training(&self, training: bool) {
        for entry in entries(self) {
            if let Entry::Training(flag) = entry.1 {
                flag.set(training);
            }
        }
    }

    /// The captured model, if it is one.
    pub fn as_graph_module(&self) -> Option<&GraphModule> {
        (self as &dyn Any).downcast_ref()
    }

    /// Whether it is training, or a child is.
    pub fn is_training(&self) -> bool {
        struct Find(bool);

        impl<'a> Visitor<'a> for Find {
            fn module(&mut self, _: &str, _: &'a dyn Module) -> bool {
                !self.0
            }

            fn state(&mut self, _: &str, entry: Entry<'a>) {
                self.0 |= matches!(entry, Entry::Training(flag) if flag.get());
            }
        }

        let mut find = Find(false);
        self.visit("", &mut find);
        find.0
    }

    /// How it is printed: `Linear(in_features=4, out_features=5, bias=True)`.
    pub fn repr(&self) -> String {
        format!("{}({})", self.type_name(), self.repr_arguments())
    }
}
