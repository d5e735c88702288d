//! A sequence of passes, with constraints on their order, checks between them, and a log.

mod bisect;
mod constraints;
mod log;

use std::fmt;

use super::as_one;
use crate::error::{Error, Result};
use crate::graph_module::GraphModule;
use constraints::sorted;
pub use log::{Log, LogEntry};

type Pass = Box<dyn Fn(&mut GraphModule) -> Result<usize>>;
type Check = Box<dyn Fn(&GraphModule) -> Result<()>>;

/// Runs passes one after the other; the module is linted after each, and is as it was if one fails.
///
/// ```
/// # use fx_core::{passes::{self, PassManager}, prelude::*, *};
/// # fn main() -> Result<()> {
/// let mut module = fx_core::trace_fn!(|x| x.relu() + x.relu())?;
/// let log = PassManager::new()
///     .pass("cse", passes::eliminate_common_subexpressions)
///     .pass("dead code", passes::eliminate_dead_code)
///     .before("cse", "dead code")
///     .run(&mut module)?;
/// assert_eq!(log.to_string(), "cse: 1 change, 5 to 4 nodes\ndead code: no change");
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct PassManager {
    passes: Vec<(String, Pass)>,
    order: Vec<(String, String)>,
    checks: Vec<Check>,
    rounds: usize,
}

impl PassManager {
    /// No passes.
    pub fn new() -> Self {
        Self { rounds: 1, ..Self::default() }
    }

    /// Adds a pass under a name.
    #[must_use]
    pub fn pass(mut self, name: &str, pass: impl Fn(&mut GraphModule) -> Result<usize> + 'static) -> Self {
        self.passes.push((name.to_owned(), Box::new(pass)));
        self
    }

    /// Demands that one pass runs before another.
    #[must_use]
    pub fn before(mut self, first: &str, second: &str) -> Self {
        self.order.push((first.to_owned(), second.to_owned()));
        self
    }

    /// Adds a check that runs after each pass.
    #[must_use]
    pub fn check(mut self, check: impl Fn(&GraphModule) -> Result<()> + 'static) -> Self {
        self.checks.push(Box::new(check));
        self
    }

    /// Runs all passes again until none changes anything, at most `rounds` times.
    #[must_use]
    pub fn until_stable(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// The names of the passes in the order in which they run: that in which they were added, but for the constraints.
    ///
    /// # Errors
    /// If the constraints contradict each other, or name a pass that is not there.
    pub fn order(&self) -> Result<Vec<&str>> {
        Ok(self.sorted()?.into_iter().map(|place| &*self.passes[place].0).collect())
    }

    /// Runs the passes.
    ///
    /// # Errors
    /// What a pass or a check gives, with the name of the pass and of those before it; then the module is as it was.
    pub fn run(&self, module: &mut GraphModule) -> Result<Log> {
        let order = self.sorted()?;
        let mut log = Log::default();
        as_one(module, |module| {
            for _ in 0..self.rounds.max(1) {
                let mut changes = 0;
                for place in &order {
                    let entry = self.step(*place, module).map_err(|error| self.located(error, *place, &log))?;
                    changes += entry.changes;
                    log.0.push(entry);
                }
                if changes == 0 {
                    break;
                }
            }
            Ok(log.0.iter().map(|entry| entry.changes).sum())
        })?;
        Ok(log)
    }

    fn step(&self, place: usize, module: &mut GraphModule) -> Result<LogEntry> {
        let (name, pass) = &self.passes[place];
        let before = module.graph().clone();
        let changes = pass(module)?;
        module.graph().lint_with(module.state())?;
        self.checks.iter().try_for_each(|check| check(module))?;
        Ok(LogEntry::new(name, changes, &before, module.graph()))
    }

    fn located(&self, error: Error, place: usize, log: &Log) -> Error {
        let before: Vec<_> = log.0.iter().map(|entry| &*entry.pass).collect();
        let before =
            if before.is_empty() { "before any other".to_owned() } else { format!("after {}", before.join(", ")) };
        Error::new(error.kind(), format!("the pass `{}` failed, {before}: {error}", self.passes[place].0))
    }

    fn sorted(&self) -> Result<Vec<usize>> {
        sorted(&self.passes.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), &self.order)
    }
}

impl fmt::Debug for PassManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.passes.iter().map(|(name, _)| name)).finish()
    }
}
