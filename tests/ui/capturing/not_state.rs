//! A number where a tree of state is visited.

fn tree() -> Box<dyn fx::module::Visit> {
    Box::new(42)
}

fn main() {}
