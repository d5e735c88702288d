//! Pictures: Graphviz text, SVG, and the page, which a browser opens if there is one.

use std::process::Command;

use fx::draw::{DotOptions, dot, dots, html, html_pair, svg};
use fx::passes::{infer_shapes, split_module};
use fx::prelude::*;
use fx::{GraphModule, nn};

use super::{check, images, small};

fn shaped() -> GraphModule {
    let mut module = small();
    infer_shapes(&mut module, [images()]).unwrap();
    module
}

#[test]
fn dot_is_in_the_style_of_torch_fx() {
    let options = DotOptions { ignore_parameters_and_buffers: true, ..DotOptions::default() };
    let module = fx::trace_fn!(|x| x.relu() + 1.0).unwrap();
    check(
        dot(&module, "tiny", &options),
        r##"digraph "tiny" {
rankdir=TB;
"x" [label="{name=%x|op_code=placeholder|target=x|num_users=1}", fillcolor="#F0F8FF", shape=record, style="filled,rounded", fontcolor="#000000"];
"relu" [label="{name=%relu|op_code=call_method|target=relu|num_users=1}", fillcolor="#FFDAB9", shape=record, style="filled,rounded", fontcolor="#000000"];
"add" [label="{name=%add|op_code=call_function|target=add|num_users=1}", fillcolor="#F8F8FF", shape=record, style="filled,rounded", fontcolor="#000000"];
"output" [label="{name=%output|op_code=output|target=output}", fillcolor="#B0E0E6", shape=record, style="filled,rounded", fontcolor="#000000"];
"x" -> "relu";
"relu" -> "add";
"add" -> "output";
}
"##,
    );
}

#[test]
fn dot_shows_parameters_shapes_and_source_lines() {
    let text = dot(&shaped(), "small", &DotOptions { source_lines: true, ..DotOptions::default() });
    assert!(text.contains("|f32[N, 4, H/2, W/2]|tests/analysis/main.rs:"), "{text}");
    assert!(text.contains("\"stem_conv.weight\" -> \"stem_conv\";"), "{text}");
    assert!(text.contains("op_code=get_parameter|f32[4, 3, 3, 3]"), "{text}");
    assert!(text.contains("|Linear(in_features=4, out_features=2, bias=True)|"), "{text}");
}

#[test]
fn parts_have_pictures_of_their_own() {
    let split = split_module(&small(), |graph, id| usize::from(!graph[id].name().starts_with("stem"))).unwrap();
    let names: Vec<_> = dots(&split, "small", &DotOptions::default()).into_keys().collect();
    assert_eq!(names, ["small", "small_submod_0", "small_submod_1"]);
}

#[test]
fn an_svg_has_every_node_and_edge() {
    let module = shaped();
    let text = svg(&module);
    for (_, node) in module.graph().nodes() {
        assert_eq!(text.matches(&format!("<g id=\"{}\">", node.name())).count(), 1);
    }
    assert_eq!(text.matches("marker-end").count(), 6);
    assert!(text.contains(">Conv2d f32[N, 4, H/2, W/2]</text>"), "{text}");
    assert_eq!(text, svg(&module), "the same graph gives the same picture");
}

#[test]
fn a_page_cannot_be_broken_by_names() {
    let mut graph = fx::Graph::new();
    let x = graph.placeholder_with_default("x", fx::Arg::Str("</script><b>".into()));
    graph.output(x);
    let module = GraphModule::with_state(graph, Default::default(), "<&>").unwrap();
    let page = html(&module);
    assert!(page.contains("<title>&lt;&amp;&gt;</title>"), "{page}");
    assert_eq!(page.matches("</script>").count(), 2);
}

/// Opens a page in headless Chromium, and gives the document after its script has run; nothing if there is no Chromium.
fn opened(name: &str, page: &str) -> Option<String> {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}.html"));
    std::fs::write(&file, page).unwrap();
    let profile = folder.join(format!("{name}.profile"));
    let browser = |mode: String| {
        let mut command = Command::new("chromium");
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1600,1000",
            "--virtual-time-budget=10000",
        ]);
        command.arg(format!("--user-data-dir={}", profile.display())).arg(mode).arg(&file).output().ok()
    };
    let output = browser("--dump-dom".into())?;
    browser(format!("--screenshot={}", folder.join(format!("{name}.png")).display()))?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_page_opens_in_a_browser() {
    let model = nn::models::resnet50(1000);
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    infer_shapes(&mut module, [images()]).unwrap();
    let Some(dom) = opened("resnet50", &html(&module)) else { return };
    let (_, ready) = dom.split_once("data-ready=\"").expect("the script ran to its end");
    let milliseconds: u64 = ready.split('"').next().unwrap().parse().unwrap();
    assert!(milliseconds < 2000, "it took {milliseconds} ms");
    assert_eq!(dom.matches("<g class=\"node ").count(), module.graph().len());
    assert!(dom.contains("Conv2d f32[N, 512, H/32, W/32]"));
    assert!(dom.contains("layer4 (46)") || dom.contains("layer4 ("), "modules are listed");
}

/// What a person does: collapses a module, searches for a node, goes to it.
const VISIT: &str = r##"<script>
const line = [...document.querySelectorAll("#modules div")].find((line) => line.textContent.includes("layer1"));
line.click();
const input = document.querySelector("input");
input.value = "layer3_0_conv2";
input.dispatchEvent(new Event("input"));
document.body.dataset.found = document.getElementById("found").textContent;
input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
document.querySelector(".pane svg").dispatchEvent(new WheelEvent("wheel", { deltaY: -200, clientX: 900, clientY: 500 }));
</script>"##;

#[test]
fn a_page_is_searched_and_collapsed() {
    let model = nn::models::resnet50(1000);
    model.eval();
    let mut module = fx::trace(&model).unwrap();
    infer_shapes(&mut module, [images()]).unwrap();
    let page = html(&module).replace("</body>", &format!("{VISIT}</body>"));
    let Some(dom) = opened("visit", &page) else { return };
    assert!(dom.contains("data-found=\"1 found"), "the search tells how many");
    assert_eq!(dom.matches("<g class=\"node group\"").count(), 1, "layer1 is one box");
    assert_eq!(dom.matches("<g class=\"node ").count(), module.graph().len() - 31, "in place of its 32 nodes");
    assert_eq!(dom.matches("<g class=\"node found chosen\"").count(), 1);
    for known in [
        "f32[N, 256, H/16, W/16]</dd>",
        "let layer3_0_conv2 = self.layer3._0.conv2.forward(",
        "fx-nn/src/models/resnet.rs:",
    ] {
        assert!(dom.contains(known), "the details say {known}");
    }
}

#[test]
fn a_page_shows_before_and_after() {
    let before = shaped();
    let mut after = before.clone();
    after
        .edit(|graph| {
            let relu = graph.find("relu").unwrap();
            let gelu = graph.inserting_after(relu, |g| g.call_method("gelu", [relu]));
            graph.replace_all_uses_with(relu, gelu);
            Ok(())
        })
        .unwrap();
    let Some(dom) = opened("pair", &html_pair(&before, &after)) else { return };
    assert_eq!(dom.matches("<g class=\"node added\"").count(), 1);
    assert_eq!(dom.matches("<g class=\"node changed\"").count(), 2);
    assert_eq!(dom.matches("class=\"pane\"").count(), 2);
}
