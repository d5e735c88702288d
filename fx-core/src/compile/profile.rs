//! Where the time of a plan goes: each step's time, and the rates at which it computes and moves bytes.

use std::fmt;

use serde_json::json;

use super::plan::{Action, Plan};
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
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
}

/// The steps' times, in the order of the plan. Its printed form is a table, the slowest first.
#[derive(Clone, Debug)]
pub struct Profile {
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
        self.run(args.to_vec())?;
        let mut times: Vec<Vec<f64>> = vec![Vec::with_capacity(runs); self.steps.len()];
        for _ in 0..runs {
            self.run_timed(args.to_vec(), |index, time| times[index].push(time.as_secs_f64()))?;
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let steps = self.steps.iter().zip(&mut times).map(|(step, times)| {
            let name = self.graph.get(step.node).map_or_else(String::new, |node| node.name().to_owned());
            let bytes = match step.action {
                Action::View { .. } => 0.0,
                _ => step.bytes as f64,
            };
            StepProfile { name, kernel: step.describe(), seconds: median(times), flops: step.flops as f64, bytes }
        });
        Ok(Profile { steps: steps.collect() })
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
            let args = json!({"flops": step.flops, "bytes": step.bytes, "node": step.name});
            json!({"name": step.kernel, "cat": "step", "ph": "X", "ts": ts, "dur": dur, "pid": 1, "tid": 1, "args": args})
        });
        json!({"traceEvents": events.collect::<Vec<_>>(), "displayTimeUnit": "ms"}).to_string()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.seconds();
        let mut steps: Vec<_> = self.steps.iter().filter(|step| step.seconds > 0.0).collect();
        steps.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let rate = |x: f64, step: &StepProfile| if x > 0.0 { si(x / step.seconds) } else { String::new() };
        let row = |step: &&StepProfile| {
            let share = format!("{:.1}", 100.0 * step.seconds / total);
            let (flops, bytes) = (rate(step.flops, step), rate(step.bytes, step));
            vec![step.name.clone(), step.kernel.clone(), seconds(step.seconds), share, flops, bytes]
        };
        let rows: Vec<_> = steps.iter().map(row).collect();
        writeln!(f, "{} in all", seconds(total))?;
        f.write_str(&table(&["node", "kernel", "time", "%", "FLOP/s", "bytes/s"], &[2, 3, 4, 5], &rows))
    }
}
