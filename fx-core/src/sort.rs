//! Sorting that is compiled once: the standard library's is compiled for each type and each order.

use std::cmp::Ordering;

/// Sorts items; equal ones stay in their order.
pub(crate) fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    // Each item goes to its place, and the one that is there to the place of the one that came, until a cycle is closed.
    for start in 0..order.len() {
        let mut to = start;
        loop {
            let from = std::mem::replace(&mut order[to], to);
            if from == start {
                break;
            }
            items.swap(to, from);
            to = from;
        }
    }
}

/// Sorts items by a key; those with equal ones stay in their order.
pub(crate) fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// The places of items in their order.
fn order(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library(numbers in proptest::collection::vec(0..20_u8, 0..60)) {
            let items: Vec<(u8, usize)> = numbers.into_iter().enumerate().map(|(place, x)| (x, place)).collect();
            let (mut sorted, mut expected) = (items.clone(), items);
            sort_by_key(&mut sorted, |(x, _)| *x);
            expected.sort_by_key(|(x, _)| *x);
            prop_assert_eq!(sorted, expected);
        }
    }
}
