//! Finding the first of a sequence that fails, in as many trials as the logarithm of its length.

use crate::error::Result;

/// The first number in `range` for which `fails`, where all after it fail too, and the last one does.
///
/// # Errors
/// What `fails` gives.
pub(super) fn first_failure(
    range: std::ops::Range<usize>,
    mut fails: impl FnMut(usize) -> Result<bool>,
) -> Result<usize> {
    let (mut low, mut high) = (range.start, range.end - 1);
    while low < high {
        let middle = usize::midpoint(low, high);
        match fails(middle)? {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Ok(high)
}
