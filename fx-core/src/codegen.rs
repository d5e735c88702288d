//! Turning a graph back into Rust: source that compiles against the facade crate `fx`, and crates of it.
//!
//! A model becomes a struct with the modules, parameters and buffers that the graph refers to (nested structs for dotted
//! paths, `_3` for the part `3`), `new`, `load`, and a `forward` with one `let` for each node. Values are moved at their
//! last use and borrowed before it. Calls are written as a person would: operators, methods, functions with options;
//! what none of these fits is built with [`Call`](crate::value::Call), which takes everything.
//!
//! `forward` is annotated with `#[traceable]`, so generated code can be traced again.

mod call;
mod fields;
mod folder;
mod forward;
mod kinds;
mod literal;
mod model;
mod readable;
mod site;

pub use folder::FolderOptions;
pub(crate) use folder::to_folder;
pub use kinds::sizes;
pub use readable::{readable, statements};

use crate::graph_module::GraphModule;

/// The graph as Rust source.
pub fn code(module: &GraphModule) -> String {
    let source = model::source(module);
    if source.problems.is_empty() || source.text.contains("compile_error!") {
        return source.text;
    }
    format!("{}\ncompile_error!({:?});\n", source.text, source.problems.join("; "))
}
