//! `#[wrap]` on a struct.

#[fx::wrap]
struct Model;

fn main() {}
