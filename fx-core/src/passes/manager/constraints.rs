//! Which pass must run before which.

use crate::error::{Error, ErrorKind, Result};

/// The places of these passes in an order in which each constraint's first runs before its second: that in which they
/// are given, as far as the constraints allow.
pub(super) fn sorted(passes: &[&str], constraints: &[(String, String)]) -> Result<Vec<usize>> {
    let place = |name: &str| {
        let found = passes.iter().position(|pass| *pass == name);
        found.ok_or_else(|| Error::not_found(format!("there is no pass `{name}`, which a constraint names")))
    };
    let edges = constraints.iter().map(|(a, b)| Ok((place(a)?, place(b)?))).collect::<Result<Vec<_>>>()?;
    let mut left: Vec<usize> = (0..passes.len()).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let is_free = |pass: &usize| edges.iter().all(|(first, second)| second != pass || !left.contains(first));
        let Some(next) = left.iter().position(is_free) else {
            let names: Vec<_> = left.iter().map(|place| format!("`{}`", passes[*place])).collect();
            let message = format!("the constraints on these passes contradict each other: {}", names.join(", "));
            return Err(Error::new(ErrorKind::Argument, message));
        };
        order.push(left.remove(next));
    }
    Ok(order)
}
