//! Pictures: Graphviz text, an SVG, and a page for looking around in, also before and after an edit.
//!
//! ```text
//! cargo run --release --example 11_draw
//! ```

use fx::draw::{DotOptions, dot, html, html_pair, svg};
use fx::passes::infer_shapes;
use fx::prelude::*;
use fx::value::Dim;
use fx::{Meta, nn};

fn main() -> fx::Result<()> {
    let model = nn::models::resnet50(1000);
    model.eval();
    let mut traced = fx::trace(&model)?;
    let side = |name| Dim::symbol(name, 32);
    let images = Meta::tensor([Dim::symbol("N", 1), Dim::from(3), side("H"), side("W")], DType::F32);
    infer_shapes(&mut traced, [images])?;

    // Every ReLU of the first stage becomes a GELU.
    let mut edited = traced.clone();
    edited.edit(|graph| {
        for id in graph.node_ids() {
            if graph[id].name().starts_with("layer1") && graph[id].name().contains("relu") {
                let input = graph[id].args()[0].clone();
                let gelu = graph.inserting_after(id, |graph| graph.call_method("gelu", [input]));
                graph.replace_all_uses_with(id, gelu);
                graph.erase_node(id)?;
            }
        }
        Ok(())
    })?;

    let folder = std::env::temp_dir().join("fx_draw");
    std::fs::create_dir_all(&folder)?;
    let options = DotOptions { ignore_parameters_and_buffers: true, ..DotOptions::default() };
    for (name, text) in [
        ("resnet50.dot", dot(&traced, "resnet50", &options)),
        ("resnet50.svg", svg(&traced)),
        ("resnet50.html", html(&traced)),
        ("gelu.html", html_pair(&traced, &edited)),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, &text)?;
        println!("{} ({} kB)", path.display(), text.len() / 1000);
    }
    Ok(())
}
