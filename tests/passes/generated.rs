//! What every pass makes of every model is Rust that compiles: all of it in one crate.

use std::fs;

use fx::passes::{optimize, quantize_dynamic};
use indexmap::IndexMap;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::all_passes::{PASSES, convolutional, perceptrons, transformers};
use super::crates;
use super::random_graphs::cases;

/// How many random graphs there are beside models.
const RANDOM: usize = 12;

#[test]
fn what_every_pass_gives_compiles() {
    // Passes that do not change a model, or change it in the same way, have the same source.
    let mut sources: IndexMap<String, String> = IndexMap::new();
    for sample in [convolutional(), transformers(), perceptrons()].into_iter().flatten() {
        for (name, pass) in PASSES {
            let mut module = sample.module.clone();
            pass(&mut module).expect("the pass succeeds");
            sources.entry(module.code()).or_insert_with(|| format!("{name} of {}", sample.name));
        }
    }
    for sample in convolutional().into_iter().take(1).chain(perceptrons()) {
        let mut module = sample.module;
        quantize_dynamic(&mut module).expect("the model can be quantized");
        sources.insert(module.code(), format!("quantize of {}", sample.name));
        optimize(&mut module).expect("the model can be optimized");
        sources.insert(module.code(), format!("quantize and optimize of {}", sample.name));
    }
    let mut runner = TestRunner::deterministic();
    for place in 0..RANDOM {
        let mut module = cases().new_tree(&mut runner).expect("cases are never rejected").current().module;
        sources.insert(module.code(), format!("random graph {place}"));
        optimize(&mut module).expect("the graph can be optimized");
        sources.insert(module.code(), format!("optimize of random graph {place}"));
    }
    let workspace = crates::workspace("generated_passes");
    let folder = crates::member(&workspace, "passes", "");
    let mut library = String::new();
    for (place, (source, origin)) in sources.iter().enumerate() {
        assert!(!source.contains("compile_error!"), "{origin}: {source}");
        library += &format!("/// {origin}.\npub mod m{place};\n");
        fs::write(folder.join(format!("m{place}.rs")), source).expect("the source is written");
    }
    fs::write(folder.join("lib.rs"), library).expect("the source is written");
    crates::cargo(&workspace, &["build"]);
}
