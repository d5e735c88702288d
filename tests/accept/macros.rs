//! Macros.

mod assertions;
mod matches;
mod printing;
mod unknown;
mod vec;
