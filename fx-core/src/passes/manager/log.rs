//! What the passes of a sequence did.

use std::fmt;

use rustc_hash::FxHashSet;

use crate::graph::Graph;

/// What each pass did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log(pub Vec<LogEntry>);

/// What one pass did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The name of the pass.
    pub pass: String,
    /// The number of its changes.
    pub changes: usize,
    /// The number of nodes before and after.
    pub nodes: [usize; 2],
    /// The lines of the graph that went, and those that came, in order.
    pub lines: [Vec<String>; 2],
}

impl LogEntry {
    pub(super) fn new(pass: &str, changes: usize, before: &Graph, after: &Graph) -> Self {
        let texts = [before.to_string(), after.to_string()];
        let only_in = |a: usize, b: usize| {
            let other: FxHashSet<_> = texts[b].lines().collect();
            texts[a].lines().filter(|line| !other.contains(line)).map(|line| line.trim().to_owned()).collect()
        };
        let lines = [only_in(0, 1), only_in(1, 0)];
        Self { pass: pass.to_owned(), changes, nodes: [before.len(), after.len()], lines }
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, LogEntry { pass, changes, nodes: [before, after], .. }) in self.0.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { "\n" })?;
            match changes {
                0 => write!(f, "{pass}: no change")?,
                1 => write!(f, "{pass}: 1 change, {before} to {after} nodes")?,
                _ => write!(f, "{pass}: {changes} changes, {before} to {after} nodes")?,
            }
        }
        Ok(())
    }
}
