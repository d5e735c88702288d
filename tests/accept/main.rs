//! What must compile: each file is a case of its own, and a false alarm of the front end breaks this test.

#![deny(warnings)]
#![allow(dead_code, unreachable_pub, reason = "most cases are only compiled")]

mod control;
mod functions;
mod macros;
mod modules;
mod remedies;
mod values;
