//! Neural network modules, with PyTorch's names, arguments, defaults and initialisation.
//!
//! They are written with `#[traceable(leaf)]`, as a user's own leaf modules are: this crate uses only the public
//! interface. Parameters are named and shaped as PyTorch's, so weights load as they are.

// The expansion of `#[traceable]` names the facade.
extern crate fx_core as fx;
