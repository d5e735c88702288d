//! What must compile: each file is a case of its own, and a false alarm of the front end breaks this test.

#![deny(warnings)]
#![allow(dead_code, unreachable_pub, reason = "most cases are only compiled")]
#![allow(clippy::all, reason = "what is accepted need not be what a person would write")]

mod control;
mod functions;
mod macros;
mod modules;
mod remedies;
mod values;
