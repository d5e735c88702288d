//! Scaled dot-product attention without the table of all scores.
//!
//! A task is a head and a block of its queries, which are transposed into panels. It goes over the keys in blocks: for each
//! panel the scores with the block are computed, turned into powers relative to the highest score so far, and multiplied with
//! the values. When the highest score grows, what was gathered is scaled down (Milakov and Gimelshein, 2018; Dao et al., 2022).

mod block;
mod few;
mod on_unit;
#[cfg(test)]
mod tests;
mod tile;
mod words;

use std::ops::Range;

use smallvec::SmallVec;

use crate::dense::Format;
use crate::simd::{Kernel, Level, MatrixUnit, Vector, dispatch, dispatch_pairs, has_pairs};
use crate::sort::sort_few;
use crate::threads::{Shared, for_each, num_threads};
use block::{Block, InPairs};
use few::FEW;

/// How far apart the parts of an operand are; the numbers of a row lie side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// From one batch to the next.
    pub batch: usize,
    /// From one head to the next.
    pub head: usize,
    /// From one row to the next: a query, a key, a value or a result.
    pub row: usize,
}

/// What is added to the scores, or which of them count. Keys after the last that a query of a block sees are not read: what is
/// not finite in them, or in their values, goes nowhere.
#[derive(Clone, Copy, Debug)]
pub enum Mask<'a> {
    /// Nothing.
    None,
    /// No key after the query's own place.
    Causal,
    /// Numbers to add, and the distance of neighbours in a row (0 for one number a row).
    Add(&'a [f32], Strides, usize),
    /// Whether a key counts, and the distance of neighbours in a row.
    Keep(&'a [bool], Strides, usize),
    /// Numbers to add that are sums, as those of positions along the two axes of an image.
    Grid(Grid<'a>),
}

/// Keys in lines of so many: what is added is the sum of a number for the key's line and one for its place in that.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// The numbers of all lines, side by side in the row of a query.
    pub lines: Operand<'a>,
    /// The numbers of all places.
    pub places: Operand<'a>,
    /// The keys of a line.
    pub len: usize,
}

/// What becomes of the scores, the products of queries and keys.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// What they are multiplied with.
    pub scale: f32,
    /// What is added to them then.
    pub mask: Mask<'a>,
    /// Whether minus infinity in a mask takes the place of a score, instead of being added: NaN in a score that is hidden so is
    /// hidden too.
    pub hides: bool,
    /// After how many batches those of a mask begin anew.
    pub period: usize,
    /// What a query gives that no key counts for: 0, or NaN as the softmax of nothing but minus infinity.
    pub empty: f32,
    /// What operands and powers may be rounded to; [`Sizes::format`] says whether they are. Sums are in f32.
    pub format: Format,
}

impl<'a> Scores<'a> {
    /// As PyTorch's `scaled_dot_product_attention` has them: masks are added, and a query that no key counts for gives 0.
    pub fn new(scale: f32, mask: Mask<'a>) -> Self {
        Self { scale, mask, hides: false, period: usize::MAX, empty: 0.0, format: Format::F32 }
    }
}

/// The sizes of an attention.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The batches.
    pub batches: usize,
    /// The heads of the queries.
    pub heads: usize,
    /// The heads of the keys and values, which divide those of the queries: each serves as many neighbours.
    pub key_heads: usize,
    /// The queries of a head.
    pub queries: usize,
    /// The keys and values of a head.
    pub keys: usize,
    /// The length of a query and of a key.
    pub width: usize,
    /// The length of a value and of a result.
    pub values: usize,
}

impl Sizes {
    /// What operands and powers are rounded to on this processor where they may be: bf16 if it has a fast instruction for that
    /// (AVX-512 BF16 of AMD, AMX) and there are more than a few queries.
    pub fn format(&self, allowed: Format) -> Format {
        self.format_at(Level::detect(), allowed)
    }

    fn format_at(&self, level: Level, allowed: Format) -> Format {
        let in_pairs = allowed == Format::Bf16 && self.queries > 2 * FEW && has_pairs(level);
        if in_pairs { Format::Bf16 } else { Format::F32 }
    }
}

/// An operand and how far apart its parts are.
pub type Operand<'a> = (&'a [f32], Strides);

/// Writes `softmax(scale * q kᵀ + mask) v`.
///
/// # Panics
/// If an operand does not hold the rows that sizes and strides ask for, rows of the result overlap, or a mask's period is 0.
pub fn attention(
    sizes: Sizes,
    out: (&mut [f32], Strides),
    q: Operand<'_>,
    k: Operand<'_>,
    v: Operand<'_>,
    scores: Scores<'_>,
) {
    attention_at(Level::detect(), sizes, out, q, k, v, scores);
}

/// As [`attention`], with instructions of the given level.
pub(crate) fn attention_at(
    level: Level,
    sizes: Sizes,
    out: (&mut [f32], Strides),
    q: Operand<'_>,
    k: Operand<'_>,
    v: Operand<'_>,
    scores: Scores<'_>,
) {
    let Sizes { batches, heads, key_heads, queries, keys, width, values } = sizes;
    if batches * heads * queries * values == 0 {
        return;
    }
    assert!(key_heads > 0 && heads.is_multiple_of(key_heads), "{heads} heads cannot share {key_heads}");
    check("the query", q.0.len(), q.1, [batches, heads, queries], width);
    check("the key", k.0.len(), k.1, [batches, key_heads, keys], width);
    check("the value", v.0.len(), v.1, [batches, key_heads, keys], values);
    check("the result", out.0.len(), out.1, [batches, heads, queries], values);
    assert!(apart(out.1, [batches, heads, queries], values), "rows of the result overlap");
    let masks = [batches.min(scores.period), heads, queries];
    match scores.mask {
        Mask::Add(data, strides, step) => check("the mask", data.len(), strides, masks, extent(keys, step)),
        Mask::Keep(data, strides, step) => check("the mask", data.len(), strides, masks, extent(keys, step)),
        Mask::Grid(Grid { lines, places, len }) => {
            assert!(len > 0, "a line of a grid has no keys");
            check("the mask of lines", lines.0.len(), lines.1, masks, keys.div_ceil(len));
            check("the mask of places", places.0.len(), places.1, masks, len.min(keys));
        }
        Mask::None | Mask::Causal => {}
    }
    let to = Shared(out.0.as_mut_ptr());
    let format = sizes.format_at(level, scores.format);
    let work = 2 * batches * heads * queries * keys * (width + values);
    let (mut sizes, mut scores, mut of_out, mut of_q) = (sizes, scores, out.1, q.1);
    let joined = join_heads(&mut sizes, [&mut of_out, &mut of_q], &mut scores.mask);
    let Sizes { heads, queries, .. } = sizes;
    let chunk = match joined {
        // As few as leave something to do for all threads.
        true => (batches * heads * queries).div_ceil(num_threads()).clamp(1, queries.min(FEW)),
        false => chunk(batches * heads, queries),
    };
    let chunks = queries.div_ceil(chunk);
    let unit = (format == Format::Bf16).then(MatrixUnit::detect).flatten();
    // One mask for all heads is looked at once.
    let shared = match scores.mask {
        _ if joined => None,
        Mask::Add(_, Strides { batch: 0, head: 0, .. }, _) | Mask::Keep(_, Strides { batch: 0, head: 0, .. }, _) => {
            Some(ends(scores.mask, 0..queries, keys))
        }
        _ => None,
    };
    // The first query, key, value and result of a head, and the distances of the next ones.
    let rows_of = |head: usize| {
        let (batch, head) = (head / heads, head % heads);
        let key_head = head / (heads / key_heads);
        let rows = |start: *const f32, strides: Strides, head: usize| {
            (start.wrapping_add(batch * strides.batch + head * strides.head), strides.row)
        };
        [
            rows(q.0.as_ptr(), of_q, head),
            rows(k.0.as_ptr(), k.1, key_head),
            rows(v.0.as_ptr(), v.1, key_head),
            rows(to.at(0).cast_const(), of_out, head),
        ]
    };
    let head = queries * width + keys * (width + values);
    let is_read_ahead = chunks == 1 && head <= SMALL && batches * heads * head > CACHED;
    for_each(batches * heads * chunks, work, |task| {
        let (first, head) = (task % chunks * chunk, task / chunks);
        let rows = first..queries.min(first + chunk);
        let (batch, head) = (head / heads, head % heads);
        let mask = |strides: Strides| batch % scores.period * strides.batch + head * strides.head;
        let mask = at(scores.mask, mask);
        let ends = match &shared {
            Some(shared) => shared[rows.start / GROUP..rows.end.div_ceil(GROUP)].into(),
            None => ends(mask, rows.clone(), keys),
        };
        let [q, k, v, out] = rows_of(task / chunks);
        let next = task / chunks + 1;
        let block = Block {
            next: (is_read_ahead && next < batches * heads).then(|| rows_of(next)),
            sizes: Sizes { keys: ends.iter().copied().max().unwrap_or(keys), ..sizes },
            scores: Scores { mask, ..scores },
            ends,
            q,
            k,
            v,
            out: (out.0.cast_mut(), out.1),
            rows,
            unit,
        };
        match format {
            Format::Bf16 => dispatch_pairs(InPairs(block)),
            _ => dispatch(level, block),
        }
    });
}

/// Makes heads that read the same keys one head with as many queries, if each has a single one. Whether that is so.
fn join_heads(sizes: &mut Sizes, of_queries: [&mut Strides; 2], mask: &mut Mask<'_>) -> bool {
    let group = sizes.heads / sizes.key_heads;
    if sizes.queries != 1 || group == 1 || matches!(mask, Mask::Causal) {
        return false;
    }
    let join = |strides: &mut Strides| (strides.row, strides.head) = (strides.head, group * strides.head);
    of_queries.into_iter().for_each(join);
    match mask {
        Mask::Add(_, strides, _) | Mask::Keep(_, strides, _) => join(strides),
        Mask::Grid(Grid { lines, places, .. }) => [&mut lines.1, &mut places.1].into_iter().for_each(join),
        Mask::None | Mask::Causal => {}
    }
    (sizes.heads, sizes.queries) = (sizes.key_heads, group);
    true
}

/// The numbers of queries, keys and values that are likely to be in the second-level cache: of more, the next head's are asked for
/// while one is computed, if these are no more than leave that one its place there. Measured for windows of 49 pixels within Swin-T: 0.73
/// to 0.95 of the time; where they are in the third-level cache, alone, 1.08.
const CACHED: usize = 1 << 18;
const SMALL: usize = 1 << 14;

/// How many queries a task has: enough that reading the keys is little beside them, few enough that all threads have
/// something to do.
fn chunk(heads: usize, queries: usize) -> usize {
    const TASKS: usize = 16;
    (queries * heads).div_ceil(TASKS).clamp(64, 256).next_multiple_of(GROUP)
}

/// The mask of one head.
fn at(mask: Mask<'_>, place: impl Fn(Strides) -> usize) -> Mask<'_> {
    match mask {
        Mask::Add(data, strides, step) => Mask::Add(&data[place(strides)..], strides, step),
        Mask::Keep(data, strides, step) => Mask::Keep(&data[place(strides)..], strides, step),
        Mask::Grid(grid) => {
            let [lines, places] = [grid.lines, grid.places].map(|(data, strides)| (&data[place(strides)..], strides));
            Mask::Grid(Grid { lines, places, ..grid })
        }
        other => other,
    }
}

/// The queries that are asked together for the last key that one of them sees: a panel has no more.
const GROUP: usize = 32;

/// The key after the last that is seen, group by group.
type Ends = SmallVec<[usize; 64]>;

/// For each group of these queries the key after the last that one of them sees. What a model has room for but did not write
/// yet is not read, nor what a mask hides from all of a panel.
fn ends(mask: Mask<'_>, rows: Range<usize>, keys: usize) -> Ends {
    // Where all queries see the same, one says it.
    let same = matches!(mask, Mask::None | Mask::Causal | Mask::Grid(_))
        || matches!(mask, Mask::Add(_, Strides { row: 0, .. }, _) | Mask::Keep(_, Strides { row: 0, .. }, _));
    let group = if same { 1 } else { GROUP };
    let groups = rows.clone().step_by(GROUP).map(|start| start..rows.end.min(start + group));
    groups.map(|rows| rows.rev().fold(0, |end, row| end.max(seen(mask, row, end..keys)))).collect()
}

/// The key after the last of some that a query sees, or 0.
fn seen(mask: Mask<'_>, row: usize, keys: Range<usize>) -> usize {
    /// The keys that are looked at without a branch.
    const BESIDE: usize = 64;
    let hidden = |x: &f32| *x == f32::NEG_INFINITY;
    let last = match mask {
        Mask::None | Mask::Causal | Mask::Grid(_) => return keys.end,
        Mask::Add(data, strides, 1) => {
            let row = &data[row * strides.row..][keys.clone()];
            let mut left = row;
            // From the last on, as long as all are hidden.
            while let Some((rest, last)) = left.split_last_chunk::<BESIDE>()
                && last.iter().fold(true, |all, x| all & hidden(x))
            {
                left = rest;
            }
            left.iter().rposition(|x| !hidden(x))
        }
        Mask::Add(data, strides, step) => keys.clone().rposition(|key| !hidden(&data[row * strides.row + key * step])),
        Mask::Keep(data, strides, step) => keys.clone().rposition(|key| data[row * strides.row + key * step]),
    };
    last.map_or(0, |last| keys.start + last + 1)
}

/// The length of a row whose numbers are `step` apart.
fn extent(count: usize, step: usize) -> usize {
    if count == 0 { 0 } else { (count - 1).saturating_mul(step).saturating_add(1) }
}

#[track_caller]
fn check(what: &str, len: usize, strides: Strides, [batches, heads, rows]: [usize; 3], width: usize) {
    if rows == 0 || width == 0 {
        return;
    }
    // Strides may be anything: a reach that is too large for a number is too large for a slice.
    let dims = [(batches, strides.batch), (heads, strides.head), (rows, strides.row)];
    let reach =
        dims.iter().fold(width, |reach, &(count, stride)| reach.saturating_add((count - 1).saturating_mul(stride)));
    assert!(reach <= len, "{what} needs {reach} elements, found {len}");
}

/// Whether no two rows share an element.
fn apart(strides: Strides, [batches, heads, rows]: [usize; 3], width: usize) -> bool {
    let mut dims = [(strides.batch, batches), (strides.head, heads), (strides.row, rows)];
    sort_few(&mut dims, |dim| *dim);
    let mut reach = width;
    dims.into_iter().filter(|&(_, count)| count > 1).all(|(stride, count)| {
        let fits = stride >= reach;
        reach += (count - 1) * stride;
        fits
    })
}
