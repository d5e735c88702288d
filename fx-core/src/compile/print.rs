//! A plan as a table: what each step runs, and where its result is.

use std::fmt;

use super::plan::{Action, Plan, Step};
use crate::tensor::Dims;

impl Step {
    /// What runs.
    pub(super) fn describe(&self) -> String {
        match &self.action {
            Action::Input(index) => format!("input {index}"),
            Action::Kernel { kernel, .. } => kernel.describe(),
            Action::View { .. } => "view".to_owned(),
            Action::Call { function, .. } => format!("op {function}"),
            Action::Module { module, .. } => format!("module {}", module.type_name()),
        }
    }

    /// Where the result is.
    fn place(&self) -> String {
        match &self.action {
            Action::Kernel { buffer, in_place: None, .. } => format!("b{buffer}"),
            Action::Kernel { buffer, in_place: Some(_), .. } => format!("b{buffer} in place"),
            Action::View { from, .. } => format!("of {from}"),
            _ => "-".to_owned(),
        }
    }

    fn cells(&self, plan: &Plan, index: usize) -> [String; 6] {
        let (shape, layout) = match &self.layout {
            Some(layout) => (format!("{}{}", layout.dtype, Shape(&layout.shape)), layout.name().to_owned()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let name = plan.graph.get(self.node).map_or("", |node| node.name());
        [index.to_string(), name.to_owned(), self.describe(), shape, layout, self.place()]
    }
}

struct Shape<'a>(&'a Dims);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, size) in self.0.iter().enumerate() {
            write!(f, "{}{size}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

/// A table with a row for each step, and the bytes of buffers and packed weights.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["step", "node", "kernel", "shape", "layout", "buffer"].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(head)
            .chain(self.steps.iter().enumerate().map(|(index, step)| step.cells(self, index)))
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        for row in &rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        write!(
            f,
            "{} buffers of {} bytes, packed weights of {} bytes",
            self.buffers.len(),
            self.buffer_bytes(),
            self.packed_bytes()
        )
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({} steps)", self.steps.len())
    }
}
