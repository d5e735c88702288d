//! One HTML page for looking around in a model: it needs nothing but a browser.
//!
//! The page holds the nodes as JSON, a style and a script (`page.css`, `page.js`); the script lays out what is shown, so
//! that modules can be collapsed. Pan by dragging, zoom by the wheel, search by name, target, shape or module; a click
//! shows all that is known about a node, a double click collapses its module. A page of two models shows them side by
//! side, and which nodes a pass added, removed or changed.

use serde_json::{Value as Json, json};

use super::card::{Card, cards, color};
use super::svg::escaped;
use crate::graph_module::GraphModule;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The model as an HTML page.
pub fn html(module: &GraphModule) -> String {
    page(module.class_name(), &[("", module)])
}

/// Two models side by side, as before and after a pass. Nodes are the same if their names are.
pub fn html_pair(before: &GraphModule, after: &GraphModule) -> String {
    page(after.class_name(), &[("before", before), ("after", after)])
}

fn page(title: &str, models: &[(&str, &GraphModule)]) -> String {
    let graphs: Vec<Json> = models
        .iter()
        .map(|(name, module)| json!({"name": name, "nodes": cards(module).iter().map(node).collect::<Vec<_>>()}))
        .collect();
    // Within a script element only `<` could end it.
    let data = json!({"title": title, "graphs": graphs}).to_string().replace('<', "\\u003c");
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

fn node(card: &Card) -> Json {
    json!({
        "name": card.name,
        "op": card.op.name(),
        "target": card.target,
        "text": card.text,
        "shape": card.shape,
        "source": card.location,
        "module": card.module,
        "calls": card.repr,
        "code": card.code,
        "color": color(card.op, &card.target),
        "inputs": card.inputs,
    })
}
