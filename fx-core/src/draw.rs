//! Pictures of a captured model: Graphviz text as torch.fx's `FxGraphDrawer` makes it, an SVG that needs no Graphviz, and
//! one HTML page for looking around in.
//!
//! All three show what is known about each node: shapes as far as they were propagated, the user's source line, the line
//! of generated code. The text that they give is the same for the same graph.

mod card;
mod dot;
mod html;
mod layout;
mod svg;

pub use dot::{DotOptions, dot, dots};
pub use html::{html, html_pair};
pub use svg::svg;
