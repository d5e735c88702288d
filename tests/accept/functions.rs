//! Helpers.

mod any_value;
mod closures;
mod generic_helpers;
mod items_in_body;
mod plain_helpers;
mod plain_result;
mod static_enum;
mod std;
mod wrapped;
