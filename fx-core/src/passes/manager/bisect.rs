//! Finding the pass that breaks a module.

use super::PassManager;
use crate::error::{Error, Result};
use crate::graph_module::GraphModule;
use crate::passes::halve::first_failure;

impl PassManager {
    /// The first pass after which `is_good` does not hold, found by halving: the prefixes of the sequence are run on copies
    /// of the module. None if it holds after all of them.
    ///
    /// # Errors
    /// What a pass or `is_good` gives, and if it does not hold before any pass.
    pub fn bisect(&self, module: &GraphModule, is_good: impl Fn(&GraphModule) -> Result<bool>) -> Result<Option<&str>> {
        let order = self.sorted()?;
        let after = |count: usize| {
            let mut copy = module.clone();
            for place in &order[..count] {
                (self.passes[*place].1)(&mut copy)?;
            }
            is_good(&copy)
        };
        if !after(0)? {
            return Err(Error::argument("the module is not good before any pass").help("bisect from one that is"));
        }
        if after(order.len())? {
            return Ok(None);
        }
        let bad = first_failure(1..order.len() + 1, |count| Ok(!after(count)?))?;
        Ok(Some(&self.passes[order[bad - 1]].0))
    }
}
