//! How long each node takes, by measurement, and the result as a trace that Chrome and Perfetto open.

mod chrome;

use std::fmt;
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::{GraphModule, Inputs};
use crate::interpreter::{Hooks, Interpreter, Run};
use crate::sort::sort_by;
use crate::tensor::Tensor;
use crate::text::{seconds, table};

/// One node's share of a run.
#[derive(Clone, Debug)]
pub struct Event {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// What it does.
    pub op: Opcode,
    /// What it calls.
    pub target: String,
    /// The paths of the modules that it is in, outermost first, itself if it calls one.
    pub modules: Vec<String>,
    /// The user's source line, empty if not known.
    pub location: String,
    /// Its median time, in seconds.
    pub seconds: f64,
}

/// The nodes' times, in the order of the graph. Its printed form is a table, the slowest first.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// One for each node that computes.
    pub events: Vec<Event>,
}

/// Runs the graph node by node `runs` times, after once to warm up, and takes each node's median time.
///
/// # Errors
/// If `runs` is 0, the inputs do not fit, or a node fails.
pub fn timeline(module: &GraphModule, inputs: impl Inputs, runs: usize) -> Result<Timeline> {
    if runs == 0 {
        return Err(Error::argument("a timeline needs at least one run"));
    }
    let inputs = inputs.into_args();
    let mut watch = Watch::default();
    for run in 0..=runs {
        if run == 1 {
            watch.times.clear();
        }
        Interpreter::with_hooks(module, &mut watch).run(inputs.clone())?;
    }
    let graph = module.graph();
    let computes = |id: &NodeId| !matches!(graph[*id].op(), Opcode::Placeholder | Opcode::GetAttr | Opcode::Output);
    let times = |id: NodeId| watch.times.remove(&id).unwrap_or_default();
    Ok(Timeline { events: graph.node_ids().into_iter().filter(computes).map(event(graph, times)).collect() })
}

fn event(graph: &Graph, mut times: impl FnMut(NodeId) -> Vec<f64>) -> impl FnMut(NodeId) -> Event {
    move |id| {
        let node = &graph[id];
        let mut times = times(id);
        sort_by(&mut times, f64::total_cmp);
        let mut modules: Vec<_> = node.meta().module_stack().iter().map(|frame| frame.path.clone()).collect();
        if node.op() == Opcode::CallModule {
            modules.push(node.target().name().to_owned());
        }
        modules.retain(|path| !path.is_empty());
        Event {
            node: id,
            name: node.name().to_owned(),
            op: node.op(),
            target: node.target().to_string(),
            modules,
            location: node.meta().location().map_or_else(String::new, ToString::to_string),
            seconds: times.get(times.len() / 2).copied().unwrap_or(0.0),
        }
    }
}

#[derive(Default)]
struct Watch {
    times: FxHashMap<NodeId, Vec<f64>>,
}

impl Hooks<Tensor> for &mut Watch {
    fn run_node(&mut self, run: &mut Run<'_, Tensor>, id: NodeId) -> Result<Arg<Tensor>> {
        let start = Instant::now();
        let value = run.dispatch(self, id);
        self.times.entry(id).or_default().push(start.elapsed().as_secs_f64());
        value
    }
}

impl Timeline {
    /// The sum of all nodes, in seconds.
    pub fn seconds(&self) -> f64 {
        self.events.iter().map(|event| event.seconds).sum()
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.seconds();
        let mut events: Vec<_> = self.events.iter().collect();
        sort_by(&mut events, |a, b| b.seconds.total_cmp(&a.seconds));
        let row = |event: &&Event| {
            let share = format!("{:.1}", 100.0 * event.seconds / total);
            vec![event.name.clone(), event.target.clone(), seconds(event.seconds), share]
        };
        let rows: Vec<_> = events.iter().map(row).collect();
        writeln!(f, "{} in all", seconds(total))?;
        f.write_str(&table(&["node", "target", "time", "%"], &[2, 3], &rows))
    }
}
