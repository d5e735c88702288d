//! A plan as a table: what each step runs, and where its result is.

use std::fmt;
use std::sync::PoisonError;

use fx_kernels::Rounded;

use super::parts::Parts;
use super::plan::{Action, Plan, Step};
use crate::passes::Device;
use crate::tensor::{DType, Dims};
use crate::text::{seconds, si, table};

impl Step {
    /// What runs.
    pub(super) fn describe(&self) -> String {
        match &self.action {
            Action::Input { index, within } => {
                within.iter().fold(format!("input {index}"), |text, item| format!("{text}.{item}"))
            }
            Action::Kernel { kernel, .. } => kernel.describe(),
            Action::View { .. } => "view".to_owned(),
            Action::Embedding { weight, .. } => format!("embedding {} of {}", weight.inputs(), weight.outputs()),
            Action::Update { .. } => "index_copy into what is given away".to_owned(),
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

    /// Floating-point operations, and bytes that are moved.
    pub(super) fn work(&self) -> (f64, f64) {
        match self.action {
            Action::View { .. } => (0.0, 0.0),
            _ => (self.flops as f64, self.bytes as f64),
        }
    }

    fn cells(&self, plan: &Plan, index: usize, device: &Device) -> Vec<String> {
        let (shape, layout) = match &self.layout {
            Some(layout) => {
                let (dtype, shape) = match &self.values {
                    None => (layout.dtype, &layout.shape),
                    Some((Rounded::Pairs, shape)) => (DType::BF16, shape),
                    Some((Rounded::Bytes(_), shape)) => (DType::U8, shape),
                };
                (format!("{dtype}{}", Shape(shape)), layout.name().to_owned())
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        let name = plan.graph.get(self.node).map_or("", |node| node.name());
        let (flops, bytes) = self.work();
        let (moved, estimate) = match flops + bytes > 0.0 {
            true => (format!("{}B", si(bytes)), seconds(device.estimate(flops, bytes).0)),
            false => ("-".to_owned(), "-".to_owned()),
        };
        vec![index.to_string(), name.to_owned(), self.describe(), shape, layout, self.place(), moved, estimate]
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

/// A table with a row for each step: what runs, where its result is, how many bytes it moves, the least time that this machine
/// takes for it ([`Device::host`]) and, once the plan was profiled, the time that it took. Then the bytes of buffers and packed
/// weights.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = Device::host();
        let mut head = vec!["step", "node", "kernel", "shape", "layout", "buffer", "bytes", "estimated"];
        let cells = |(index, step): (usize, &Step)| step.cells(self, index, &device);
        let mut rows: Vec<Vec<String>> = self.steps.iter().enumerate().map(cells).collect();
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if !measured.is_empty() {
            head.push("measured");
            rows.iter_mut().zip(&*measured).for_each(|(row, time)| row.push(seconds(*time)));
        }
        writeln!(f, "{}", table(&head, &[6, 7, 8], &rows))?;
        for Parts { steps, count, .. } in &self.parts {
            writeln!(
                f,
                "steps {} to {} run for one of {count} parts of the batch after the other",
                steps.start,
                steps.end - 1
            )?;
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
