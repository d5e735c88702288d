//! Modules of every shape.

mod attributes;
mod const_generic;
mod constructors;
mod generic;
mod helpers;
mod nested;
mod shared_state;
