//! Sums over nodes and modules, and how they are printed.

use std::fmt;

use indexmap::IndexMap;

use super::{Cost, CostReport};
use crate::text::{si, si_dim, table};

const CELLS: [&str; 5] = ["FLOP", "read B", "written B", "params", "FLOP/B"];

impl CostReport {
    /// The sum over all nodes; a parameter that several nodes share counts once.
    pub fn total(&self) -> Cost {
        self.nodes.iter().fold(Cost::default(), |mut sum, node| {
            sum.add(&node.cost);
            sum
        })
    }

    /// The sums over the modules at most `depth` names below the root, by path, in the order of their first nodes.
    ///
    /// Nodes outside every module that deep count for the module that they are in.
    pub fn by_module(&self, depth: usize) -> IndexMap<String, Cost> {
        let mut sums: IndexMap<String, Cost> = IndexMap::new();
        for node in self.nodes.iter().filter(|node| node.cost.is_work()) {
            let path: Vec<_> = node.module.split('.').take(depth).collect();
            sums.entry(path.join(".")).or_default().add(&node.cost);
        }
        sums
    }

    /// [`CostReport::by_module`] as a table.
    pub fn module_table(&self, depth: usize) -> String {
        let row = |(path, cost): (&str, &Cost)| {
            let path = if path.is_empty() { "(root)" } else { path };
            [path.to_owned()].into_iter().chain(cost.cells()).collect()
        };
        let sums = self.by_module(depth);
        let total = self.total();
        let rows = sums.iter().map(|(path, cost)| (path.as_str(), cost)).chain([("total", &total)]);
        let head: Vec<_> = ["module"].into_iter().chain(CELLS).collect();
        table(&head, &[1, 2, 3, 4, 5], &rows.map(row).collect::<Vec<_>>())
    }
}

impl fmt::Display for CostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |name: &str, target: &str, cost: &Cost| -> Vec<String> {
            [name, target].into_iter().map(str::to_owned).chain(cost.cells()).collect()
        };
        let work = self.nodes.iter().filter(|node| node.cost.is_work());
        let mut rows: Vec<_> = work.map(|node| row(&node.name, &node.target, &node.cost)).collect();
        rows.push(row("total", "", &self.total()));
        let head: Vec<_> = ["node", "target"].into_iter().chain(CELLS).collect();
        f.write_str(&table(&head, &[2, 3, 4, 5, 6], &rows))
    }
}

impl Cost {
    fn cells(&self) -> [String; 5] {
        let parameters = self.parameters();
        [
            si_dim(&self.flops),
            si_dim(&self.read),
            si_dim(&self.written),
            if parameters == 0 { "-".to_owned() } else { si(parameters as f64) },
            self.intensity().map_or_else(|| "-".to_owned(), |x| format!("{x:.2}")),
        ]
    }
}
