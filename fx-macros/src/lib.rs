//! The front end of fx: `#[traceable]` and `#[wrap]`.
