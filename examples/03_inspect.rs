//! Looking at a captured model: its graph as text, as a table, as code, and node by node.
//!
//! ```text
//! cargo run --release --example 03_inspect
//! ```

use fx::nn;
use fx::passes::infer_shapes;
use fx::prelude::*;
use fx::value::Dim;
use fx::{Graph, Meta};

/// Two linear layers, the second around a residual.
#[traceable]
#[derive(Clone)]
struct Net {
    first: nn::Linear,
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Net {
    fn new() -> Self {
        Self { first: nn::Linear::new(8, 16), layers: (0..2).map(|_| nn::Linear::new(16, 16)).collect() }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.first.forward(x).relu();
        for layer in &self.layers {
            x = layer.forward(&x).relu() + x;
        }
        x.mean_dim([1])
    }
}

fn main() -> fx::Result<()> {
    let mut traced = fx::trace(&Net::new())?;

    println!("The graph as torch.fx prints it. It parses back.\n\n{}\n", traced.graph());
    let parsed: Graph = traced.graph().to_string().parse()?;
    assert_eq!(&parsed, traced.graph());

    println!("As a table:\n\n{}\n", traced.graph().tabular());

    println!("Every node knows what uses it, and where in the source it comes from:\n");
    for (_, node) in traced.graph().nodes() {
        let users: Vec<_> = node.users().map(|user| traced.graph()[user].name()).collect();
        let place = node.meta().location().map_or_else(String::new, ToString::to_string);
        println!("{:<10} used by {:<20} {place}", node.name(), users.join(", "));
    }

    let relus = traced.graph().find_nodes(Opcode::CallMethod, "relu");
    println!("\nThere are {} calls of `relu`; the first is {}", relus.len(), traced.graph().format_node(relus[0]));

    println!("\nThe same as Rust:\n\n{}", traced.code());
    infer_shapes(&mut traced, [Meta::tensor([Dim::symbol("N", 1), Dim::from(8)], DType::F32)])?;
    println!("For reading, with shapes and source lines:\n\n{}\n", traced.readable());

    // An edit that breaks a rule is undone, and all violations are said.
    let error = traced.edit(|graph| {
        let last = graph.find("mean").ok_or_else(|| fx::Error::not_found("there is no mean"))?;
        let first = graph.find("first").ok_or_else(|| fx::Error::not_found("there is no first"))?;
        graph.move_before(last, first);
        Ok(())
    });
    println!("A mean before what it is the mean of is refused:\n\n{}", error.expect_err("it is out of order"));
    Ok(())
}
