//! Where the elements of a row are in order. NaN is above everything; equal elements keep their order.

use crate::tensor::Element;

/// What can be put in order by bits.
pub(super) trait Ordered: Element {
    /// The bits of a rank.
    const BITS: u32;

    /// A number of so many bits that is larger for larger elements, and the same for equal ones and for any NaN.
    fn rank(self) -> u64;
}

macro_rules! ordered_floats {
    ($($float:ident as $signed:ident as $bits:ident),*) => { $(
        impl Ordered for $float {
            const BITS: u32 = $bits::BITS;

            fn rank(self) -> u64 {
                // Adding 0.0 takes the sign of a zero; the other bits of a negative number count downwards.
                let bits = (self + 0.0).to_bits();
                let sign = bits as $signed >> ($bits::BITS - 1);
                let ordered = bits ^ (sign as $bits | 1 << ($bits::BITS - 1));
                (if self.is_nan() { $bits::MAX } else { ordered }).into()
            }
        }
    )* };
}
ordered_floats!(f32 as i32 as u32, f64 as i64 as u64);

impl Ordered for i64 {
    const BITS: u32 = u64::BITS;

    fn rank(self) -> u64 {
        self as u64 ^ 1 << 63
    }
}

/// Where the first `count` elements of a row in order are.
pub(super) fn foremost_places<T: Ordered>(row: &[T], count: usize, descending: bool) -> Vec<usize> {
    let turned = if descending { u64::MAX >> (u64::BITS - T::BITS) } else { 0 };
    let ranks = row.iter().map(|x| x.rank() ^ turned);
    // A rank and a place in one number: they are compared at once.
    if T::BITS == u32::BITS && u32::try_from(row.len()).is_ok() {
        let keys = ranks.zip(0..).map(|(rank, place)| rank << u32::BITS | place);
        first(keys.collect(), count).map(|key: u64| (key & u64::from(u32::MAX)) as usize).collect()
    } else {
        let keys = ranks.zip(0..).map(|(rank, place)| u128::from(rank) << u64::BITS | place);
        first(keys.collect(), count).map(|key: u128| key as usize).collect()
    }
}

/// The smallest keys in order.
fn first<K: Ord>(mut keys: Vec<K>, count: usize) -> impl Iterator<Item = K> {
    if (1..keys.len()).contains(&count) {
        keys.select_nth_unstable(count - 1);
    }
    keys.truncate(count);
    keys.sort_unstable();
    keys.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_the_order_of_floats_with_nan_above() {
        let row = [1.5_f64, -0.0, f64::NAN, f64::NEG_INFINITY, 0.0, -2.0, f64::INFINITY, -f64::NAN, 5e-324, -5e-324];
        let ascending = [3, 5, 9, 1, 4, 8, 0, 6, 2, 7];
        let descending = [2, 7, 6, 0, 8, 1, 4, 9, 5, 3];
        for count in 0..=row.len() {
            assert_eq!(foremost_places(&row, count, false), ascending[..count]);
            assert_eq!(foremost_places(&row, count, true), descending[..count]);
        }
        assert_eq!(
            foremost_places(&[f32::NAN, -0.0, 1e-45, 0.0, -1e-45, -f32::INFINITY], 6, false),
            [5, 4, 1, 3, 2, 0]
        );
        assert_eq!(foremost_places(&[0, i64::MIN, -1, i64::MAX, 0], 5, true), [3, 0, 4, 2, 1]);
    }
}
