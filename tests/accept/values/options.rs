//! Options of traced values.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, mask: Option<&Tensor>, flag: bool) -> Tensor {
    let y = mask.map(|mask| x * mask).unwrap_or_else(|| x.clone());
    let z = mask.as_ref().is_some().then(|| x.relu());
    let w = mask.filter(|_| flag).cloned();
    [Some(y), z, w].into_iter().flatten().fold(x.clone(), |a, b| a + b)
}

/// An option is a collection too, and how many items it has is known.
#[traceable]
#[allow(for_loops_over_fallibles, reason = "this is what the test is of")]
pub fn collection(x: &Tensor, xs: &[Tensor], h: Option<&Tensor>, c: Option<Tensor>) -> Tensor {
    let mut y = match h.zip(c.as_ref()) {
        Some((h, c)) => x * h + c,
        None => x.clone(),
    };
    for h in h {
        y = y + h;
    }
    for item in xs.iter().chain(h).chain(&c) {
        y = y * item;
    }
    let mut all = vec![x];
    all.extend(h);
    for (a, b) in std::iter::zip(h, c) {
        y = y + a * b;
    }
    let sizes = h.map(|h| h.size(0)).zip(Some(x.size(0)));
    let y = sizes.map_or(y.clone(), |(a, b)| y * (a - b + 1));
    Vec::from_iter(h).into_iter().chain(all).fold(y, |a, b| a + b)
}
