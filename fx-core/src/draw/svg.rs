//! The graph as an SVG picture, laid out without Graphviz.

use std::fmt::Write;

use super::card::{Card, cards, color};
use super::layout::layout;
use crate::graph_module::GraphModule;

const HEIGHT: f64 = 40.0;
/// The width of a letter at 12 pixels, about.
const LETTER: f64 = 7.0;

/// The graph as an SVG picture: a box for each node, whose tooltip says all that is known about it.
pub fn svg(module: &GraphModule) -> String {
    let cards = cards(module);
    let widths: Vec<f64> = cards.iter().map(width).collect();
    let edges: Vec<(usize, usize)> =
        cards.iter().enumerate().flat_map(|(to, card)| card.inputs.iter().map(move |from| (*from, to))).collect();
    let layout = layout(&widths, HEIGHT, &edges);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0}\" height=\"{1:.0}\" viewBox=\"0 0 {0:.0} {1:.0}\" \
         font-family=\"monospace\" font-size=\"12\">\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" \
         refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#666\"/>\
         </marker></defs>\n",
        layout.width, layout.height
    );
    for points in &layout.edges {
        let _ =
            writeln!(text, "<path d=\"{}\" fill=\"none\" stroke=\"#666\" marker-end=\"url(#arrow)\"/>", curve(points));
    }
    for ((card, width), (x, y)) in cards.iter().zip(widths).zip(layout.centers) {
        let (left, top) = (x - width / 2.0, y - HEIGHT / 2.0);
        let _ = writeln!(
            text,
            "<g id=\"{name}\"><title>{title}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{HEIGHT}\" rx=\"6\" fill=\"{fill}\" stroke=\"#444\"/><text x=\"{x:.1}\" y=\"{first:.1}\" \
             text-anchor=\"middle\" font-weight=\"bold\">{name}</text><text x=\"{x:.1}\" y=\"{second:.1}\" \
             text-anchor=\"middle\">{line}</text></g>",
            name = escaped(&card.name),
            title = escaped(&title(card)),
            fill = color(card.op, &card.target),
            first = y - 4.0,
            second = y + 12.0,
            line = escaped(&second_line(card)),
        );
    }
    text + "</svg>\n"
}

fn width(card: &Card) -> f64 {
    let letters = card.name.chars().count().max(second_line(card).chars().count());
    letters as f64 * LETTER + 20.0
}

/// What the node calls, if its name does not say so, and its shape.
fn second_line(card: &Card) -> String {
    let called = card.repr.split('(').next().filter(|name| !name.is_empty()).unwrap_or(&card.target);
    let called = if called == card.name { "" } else { called };
    [called, card.shape.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn title(card: &Card) -> String {
    let parts = [&card.text, &card.repr, &card.shape, &card.location, &card.code];
    parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("\n")
}

/// A smooth way down through the points.
fn curve(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = match i.checked_sub(1).map(|before| points[before]) {
            None => write!(text, "M{x:.1} {y:.1}"),
            Some((from, top)) => {
                let middle = (top + y) / 2.0;
                write!(text, "C{from:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}")
            }
        };
    }
    text
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
