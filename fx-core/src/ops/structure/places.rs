//! Places along a dimension that a result's elements are taken from.

/// The place for each element of a dimension of so many, which gets more, or less, before and after them; none where a number is filled in.
pub(crate) fn padded(mode: &str, len: usize, [before, after]: [i64; 2]) -> Vec<Option<usize>> {
    let len = len as i64;
    let place = |i: i64| -> Option<usize> {
        let inside = (0..len).contains(&i);
        match mode {
            _ if inside => Some(i as usize),
            "reflect" => Some(if i < 0 { -i } else { 2 * (len - 1) - i } as usize),
            "replicate" => Some(i.clamp(0, len - 1) as usize),
            "circular" => Some(i.rem_euclid(len) as usize),
            _ => None,
        }
    };
    (-before..len + after).map(place).collect()
}

/// Places that continue each other.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// The first place; none where a number is filled in.
    pub(crate) first: Option<usize>,
    pub(crate) len: usize,
    /// Whether the places go down.
    pub(crate) down: bool,
}

impl Run {
    /// The place number `i`.
    pub(crate) fn place(&self, i: usize) -> Option<usize> {
        self.first.map(|first| if self.down { first - i } else { first + i })
    }
}

/// Places along a dimension as runs.
pub(crate) fn runs(places: &[Option<usize>]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &place in places {
        if let Some(last) = runs.last_mut() {
            let (up, down) = match (last.first, place) {
                (Some(first), Some(place)) => (place == first + last.len, place + last.len == first),
                (None, None) => (true, false),
                _ => (false, false),
            };
            if up && !last.down || down && (last.down || last.len == 1) {
                (last.len, last.down) = (last.len + 1, down);
                continue;
            }
        }
        runs.push(Run { first: place, len: 1, down: false });
    }
    runs
}
