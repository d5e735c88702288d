//! Helpers.

mod any_value;
mod closures;
mod generic_helpers;
mod items_in_body;
mod names;
mod not_captured;
mod plain_helpers;
mod plain_result;
mod skipped;
mod static_enum;
mod std;
mod without_tensors;
mod wrapped;
