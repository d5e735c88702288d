//! Replacing a pattern: what is looked for and what takes its place are written as functions.
//!
//! ```text
//! cargo run --example 05_replace_pattern
//! ```

use fx::passes::{Pattern, replace_pattern};
use fx::prelude::*;
use fx::{functional, nn};

/// A hand-written SiLU, once as a method, once as a function, once with a module, and with the operands in either order.
#[traceable]
struct Model {
    linear: nn::Linear,
    sigmoid: nn::Sigmoid,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        let a = self.linear.forward(x);
        let a = &a * a.sigmoid();
        let b = functional::sigmoid(&a) * &a;
        self.sigmoid.forward(&b) * &b
    }
}

fn main() -> fx::Result<()> {
    let model = Model { linear: nn::Linear::new(4, 4), sigmoid: nn::Sigmoid::new() };
    let traced = fx::trace(&model)?;
    let x = Tensor::rand([2, 4]);
    let wanted = traced.forward(&x)?;

    // By torch.fx's rules a pattern matches what is spelled as it is.
    let silu = fx::trace_fn!(|x| x.silu())?;
    let written = || fx::trace_fn!(|x| &x * x.sigmoid());
    let mut module = traced.clone();
    let matches = replace_pattern(&mut module, written()?, &silu)?;
    println!("as spelled: {} replaced", matches.len());
    assert_eq!(matches.len(), 1);

    // On request, spelling and the order of symmetric operands do not matter.
    let mut module = traced.clone();
    let matches = Pattern::new(written()?)?.any_spelling().commutative().replace(&mut module, &silu)?;
    println!("in any spelling: {} replaced\n{}", matches.len(), module.graph());
    assert_eq!(matches.len(), 3);
    assert!(module.forward(&x)?.all_close(&wanted, 1e-5, 1e-6));

    // A match tells which node stands for which of the pattern's; a filter chooses among matches.
    let only_first = Pattern::new(written()?)?
        .any_spelling()
        .commutative()
        .filter(|graph, found| found.node("x").is_some_and(|x| graph[x].op() == Opcode::CallModule));
    let found = only_first.find(&traced);
    println!("on a module's result: {:?}", found[0].nodes.keys().collect::<Vec<_>>());
    assert_eq!(found.len(), 1);
    Ok(())
}
