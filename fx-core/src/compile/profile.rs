//! Where the time of a plan goes: each step's time, and the rates at which it computes and moves bytes.

use std::fmt;
use std::sync::PoisonError;

use serde_json::json;

use super::plan::{Action, Plan};
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::passes::{Bound, Device};
use crate::sort::sort_by;
use crate::tensor::{DType, Tensor};
use crate::text::{seconds, si, table};

/// One step's share of a run.
#[derive(Clone, Debug)]
pub struct StepProfile {
    /// The node that it computes, or makes ready for another.
    pub name: String,
    /// What runs.
    pub kernel: String,
    /// Its median time, in seconds.
    pub seconds: f64,
    /// Floating-point operations, a multiply-add counted as two.
    pub flops: f64,
    /// Bytes of operands, weights and results.
    pub bytes: f64,
    /// The least seconds that the machine takes for these operations and bytes, and what they are for: the roofline.
    pub estimate: (f64, Bound),
}

/// The steps' times, in the order of the plan. Its printed form is a table, the slowest first, with the share of the roofline
/// that each reaches: the least time that the machine takes for as many operations and bytes, of what it took. It is more than
/// all where operands are in a cache, Winograd's or Strassen's algorithm needs fewer products, or pairs of bf16 are multiplied.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The machine.
    pub device: Device,
    /// One for each step.
    pub steps: Vec<StepProfile>,
}

impl Plan {
    /// Runs the plan `runs` times, after once to warm up, and takes each step's median time.
    ///
    /// # Errors
    /// If `runs` is 0, the arguments have another form, or an op fails.
    pub fn profile(&self, args: &[Arg<Tensor>], runs: usize) -> Result<Profile> {
        if runs == 0 {
            return Err(Error::argument("a profile needs at least one run"));
        }
        // What a step writes into is given away, as a caller does that knows.
        let updates = self.steps.iter().any(|step| matches!(step.action, Action::Update { .. }));
        let own = |tensor: &Tensor| match tensor.dtype() {
            DType::F32 if updates => tensor.clone().changed::<f32>(|_| ()),
            _ => tensor.clone(),
        };
        let given = || args.iter().map(|arg| arg.map(&mut { own })).collect();
        self.run(given())?;
        let mut times: Vec<Vec<f64>> = vec![Vec::with_capacity(runs); self.steps.len()];
        for _ in 0..runs {
            // A step may run for several parts.
            times.iter_mut().for_each(|times| times.push(0.0));
            self.run_timed(given(), |index, time| *times[index].last_mut().unwrap_or(&mut 0.0) += time.as_secs_f64())?;
        }
        let median = |times: &mut Vec<f64>| {
            sort_by(times, f64::total_cmp);
            times[times.len() / 2]
        };
        let measured: Vec<f64> = times.iter_mut().map(median).collect();
        let device = Device::host();
        let steps = self.steps.iter().zip(&measured).map(|(step, &seconds)| {
            let name = self.graph.get(step.node).map_or_else(String::new, |node| node.name().to_owned());
            let (flops, bytes) = step.work();
            let estimate = device.estimate(flops, bytes);
            StepProfile { name, kernel: step.describe(), seconds, flops, bytes, estimate }
        });
        let steps = steps.collect();
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = measured;
        Ok(Profile { device, steps })
    }
}

impl Profile {
    /// The sum of all steps, in seconds.
    pub fn seconds(&self) -> f64 {
        self.steps.iter().map(|step| step.seconds).sum()
    }

    /// The run in Chrome's trace event format, for `chrome://tracing` and Perfetto; times in microseconds.
    pub fn chrome_trace(&self) -> String {
        let mut now = 0.0;
        let events = self.steps.iter().map(|step| {
            let (ts, dur) = (now * 1e6, step.seconds * 1e6);
            now += step.seconds;
            let args = json!({"flops": step.flops, "bytes": step.bytes, "node": step.name, "estimate": step.estimate.0 * 1e6});
            json!({"name": step.kernel, "cat": "step", "ph": "X", "ts": ts, "dur": dur, "pid": 1, "tid": 1, "args": args})
        });
        json!({"traceEvents": events.collect::<Vec<_>>(), "displayTimeUnit": "ms"}).to_string()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.seconds();
        let mut steps: Vec<_> = self.steps.iter().filter(|step| step.seconds > 0.0).collect();
        sort_by(&mut steps, |a, b| b.seconds.total_cmp(&a.seconds));
        let rate = |x: f64, step: &StepProfile| if x > 0.0 { si(x / step.seconds) } else { String::new() };
        let row = |step: &&StepProfile| {
            let share = format!("{:.1}", 100.0 * step.seconds / total);
            let (flops, bytes) = (rate(step.flops, step), rate(step.bytes, step));
            let does = step.flops > 0.0 || step.bytes > 0.0;
            let reached = if does { format!("{:.0}", 100.0 * step.estimate.0 / step.seconds) } else { String::new() };
            let bound = if does { step.estimate.1.to_string() } else { String::new() };
            let (name, kernel) = (step.name.clone(), step.kernel.clone());
            vec![name, kernel, seconds(step.seconds), share, flops, bytes, reached, bound]
        };
        let rows: Vec<_> = steps.iter().map(row).collect();
        let Device { name, flops, bandwidth, .. } = &self.device;
        writeln!(f, "{} in all; {name}: {}FLOP/s, {}B/s", seconds(total), si(*flops), si(*bandwidth))?;
        let head = ["node", "kernel", "time", "%", "FLOP/s", "bytes/s", "% of roofline", "bound by"];
        f.write_str(&table(&head, &[2, 3, 4, 5, 6], &rows))
    }
}
