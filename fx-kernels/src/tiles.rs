//! How rows are shared out among tiles.

/// So many rows in tiles of as equal a length as can be, up to some: where each begins, and how long it is.
pub(crate) fn tiles(count: usize, most: usize) -> impl ExactSizeIterator<Item = (usize, usize)> {
    let tiles = count.div_ceil(most);
    let start = move |tile: usize| tile * count / tiles;
    (0..tiles).map(move |tile| (start(tile), start(tile + 1) - start(tile)))
}
