//! Sorting a few items, which the standard library does with code for many.

/// Sorts by a key; items with equal ones stay in their order.
pub(crate) fn sort_few<T, K: PartialOrd>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let mut place = end;
        while place > 0 && key(&items[place - 1]) > key(&items[place]) {
            items.swap(place - 1, place);
            place -= 1;
        }
    }
}

#[test]
fn equal_items_stay_in_their_order() {
    let mut items = [(3, 0), (1, 1), (3, 2), (0, 3), (1, 4)];
    sort_few(&mut items, |(key, _)| *key);
    assert_eq!(items, [(0, 3), (1, 1), (1, 4), (3, 0), (3, 2)]);
}
