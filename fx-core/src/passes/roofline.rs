//! How long a model would take on a device that is described by three numbers: the roofline estimate (Williams,
//! Waterman and Patterson, 2009).
//!
//! A node takes as long as its arithmetic at the device's peak, or as moving its bytes at its bandwidth, whichever is
//! longer, plus what it costs to start it. It is a lower bound, good for telling what limits a model, not for promises.

mod host;

use std::fmt;

use super::cost::CostReport;
use crate::error::{Error, Result};
use crate::sort::sort_by;
use crate::text::{seconds, si, table};

/// A device as the estimate sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// What it is called in the report.
    pub name: String,
    /// Floating-point operations each second, at best.
    pub flops: f64,
    /// Bytes to and from memory each second, at best.
    pub bandwidth: f64,
    /// Seconds to start a node.
    pub overhead: f64,
}

/// What limits a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Arithmetic.
    Compute,
    /// Memory bandwidth.
    Memory,
    /// The start of the node.
    Overhead,
}

/// The estimate for one node.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The node's name.
    pub name: String,
    /// What it calls.
    pub target: String,
    /// Seconds.
    pub seconds: f64,
    /// What limits it.
    pub bound: Bound,
}

/// The estimate for a model. Its printed form is a table, the slowest node first, and a sum.
#[derive(Clone, Debug)]
pub struct Roofline {
    /// The device.
    pub device: Device,
    /// The nodes that do something, in their order.
    pub nodes: Vec<Estimate>,
}

/// Estimates the time of each node on a device.
///
/// # Errors
/// If a cost is symbolic, or the device has a speed that is not above 0.
pub fn roofline(report: &CostReport, device: &Device) -> Result<Roofline> {
    if !(device.flops > 0.0 && device.bandwidth > 0.0 && device.overhead >= 0.0) {
        return Err(Error::argument(format!("the device `{}` has a speed that is not above 0", device.name)));
    }
    let work = report.nodes.iter().filter(|node| node.cost.is_work());
    let estimate = |node: &super::NodeCost| {
        let cost = &node.cost;
        let known = cost.flops.as_int().zip((&cost.read + &cost.written).as_int());
        let (flops, bytes) = known.ok_or_else(|| {
            Error::shape(format!("the cost of %{} is symbolic: {}", node.name, cost.flops))
                .help("count the cost on sizes without symbols")
        })?;
        let (seconds, bound) = device.estimate(flops as f64, bytes as f64);
        Ok(Estimate { name: node.name.clone(), target: node.target.clone(), seconds, bound })
    };
    Ok(Roofline { device: device.clone(), nodes: work.map(estimate).collect::<Result<_>>()? })
}

impl Device {
    /// The least seconds that something takes with so many floating-point operations and bytes, and what they are for.
    pub fn estimate(&self, flops: f64, bytes: f64) -> (f64, Bound) {
        let (compute, memory) = (flops / self.flops, bytes / self.bandwidth);
        let longer = compute.max(memory);
        let bound = match (self.overhead > longer, compute >= memory) {
            (true, _) => Bound::Overhead,
            (false, true) => Bound::Compute,
            (false, false) => Bound::Memory,
        };
        (longer + self.overhead, bound)
    }
}

impl Roofline {
    /// The sum of all nodes, in seconds.
    pub fn seconds(&self) -> f64 {
        self.nodes.iter().map(|node| node.seconds).sum()
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
            Bound::Overhead => "overhead",
        })
    }
}

impl fmt::Display for Roofline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Device { name, flops, bandwidth, .. } = &self.device;
        writeln!(f, "{name}: {}FLOP/s, {}B/s, {} in all", si(*flops), si(*bandwidth), seconds(self.seconds()))?;
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        sort_by(&mut nodes, |a, b| b.seconds.total_cmp(&a.seconds));
        let row = |node: &&Estimate| {
            vec![node.name.clone(), node.target.clone(), seconds(node.seconds), node.bound.to_string()]
        };
        f.write_str(&table(&["node", "target", "time", "bound by"], &[2], &nodes.iter().map(row).collect::<Vec<_>>()))
    }
}
