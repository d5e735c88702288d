//! Editing a graph: find nodes, insert, replace, erase; and edits that fail change nothing.
//!
//! ```text
//! cargo run --example 04_edit
//! ```

use fx::prelude::*;
use fx::{Arg, nn, ops};

fn main() -> fx::Result<()> {
    let model = nn::Sequential::new((nn::Linear::new(4, 8), nn::ReLU::new(), nn::Linear::new(8, 2)));
    let mut module = fx::trace(&model)?;
    println!("captured:\n{}\n", module.graph());

    // A node is named by an id: a small handle that can be kept while the graph changes. Here every ReLU becomes a clamp:
    // the new node goes where the old one is, takes over its users, and the old one goes.
    module.edit(|graph| {
        for relu in graph.find_nodes(Opcode::CallModule, "1") {
            let input = graph[relu].args()[0].clone();
            let kwargs = [("min", Arg::Float(0.0)), ("max", Arg::Float(6.0))].into_iter().collect();
            let clamp = graph.inserting_after(relu, |graph| graph.call(Opcode::CallMethod, "clamp", [input], kwargs));
            graph.replace_all_uses_with(relu, clamp);
            graph.erase_node(relu)?;
        }
        Ok(())
    })?;
    // State that nothing refers to any more goes when it is asked to.
    module.delete_unused_state();
    println!("with a clamp:\n{}\n", module.graph());

    // The graph and what it refers to change together: a scale becomes a parameter of the captured model.
    module.edit_with_state(|graph, state| {
        state.parameters.insert("scale".to_owned(), Parameter::new(Tensor::full([2], 10.0)));
        let last = graph.output_arg().and_then(Arg::as_value).copied().expect("the model gives a tensor");
        let scaled = graph.inserting_after(last, |graph| {
            let scale = graph.get_attr("scale");
            graph.call_function(ops::mul, [last, scale])
        });
        graph.replace_uses_if(last, scaled, |_, user| user != scaled);
        Ok(())
    })?;
    let x = Tensor::rand([3, 4]);
    println!("scaled: {}", module.forward(&x)?);

    // An edit is checked when it returns. This one erases a node that is still used: nothing has changed.
    let before = module.graph().to_string();
    let failed = module.edit(|graph| graph.erase_node(graph.placeholders()[0]));
    println!("refused: {}", failed.expect_err("the input is used"));
    assert_eq!(module.graph().to_string(), before);
    Ok(())
}
