//! The register tile: up to 12 rows by two vectors of columns of a product, finished before they leave the registers.
//!
//! The rows of the left operand are reached through pointers, one for each row and segment of the inner dimension, so
//! that a convolution reads its input where it lies. The right operand is a packed panel. Each step of the inner
//! dimension loads two vectors of the panel and multiplies them with every row's number.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::{null, null_mut};

use super::format::Packing;
use crate::elementwise::Unary;
use crate::memory::{FEW_ROWS, LINE, prefetch, prefetch_far};
use crate::simd::{
    ByteKernel, Bytes, Kernel, Level, PairKernel, Pairs, Vector, dispatch, dispatch_bytes, dispatch_pairs,
};
use crate::threads::Shared;

/// The most rows of a tile at any level.
pub(crate) const MOST_ROWS: usize = 12;
/// The most columns of a tile at any level.
pub(crate) const MOST_COLUMNS: usize = 32;
/// The most numbers of a tile at any level.
const LARGEST: usize = MOST_ROWS * MOST_COLUMNS;

/// One tile of a product.
///
/// The pointers must stay valid for all reads and writes that the fields describe.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    /// The number of rows, at most [`MOST_ROWS`] and at most the level's.
    pub(crate) rows: usize,
    /// How many tiles, one below the other, are computed: each has pointers of its own after those of the one before.
    pub(crate) tiles: usize,
    /// The matrices that each has one of, where they are of the same rows instead.
    pub(crate) stack: Option<Stack>,
    /// Pointers to the left operand: `segments` times [`MOST_ROWS`], of which the first `rows` count, or so many only once where segments
    /// have [places](Self::places).
    pub(crate) left: *const *const f32,
    /// Where in their runs the segments begin, in rows of the panel.
    pub(crate) offset: usize,
    /// Where the numbers of a segment are, from its beginning on, or null where they lie side by side. For tiles of numbers of
    /// one segment.
    pub(crate) taps: *const usize,
    /// Where the segments of a row begin, from its only pointer on, or null where it has one for each: in words, which are whole rows of
    /// the panel. For tiles of whole numbers.
    pub(crate) places: *const usize,
    /// How many segments the inner dimension has here.
    pub(crate) segments: usize,
    /// Which segments these are if some are left out, counted from a place before the first one, or null.
    pub(crate) some: *const u16,
    /// The length of a segment, in rows of the panel.
    pub(crate) depth: usize,
    /// The panel: `segments * depth` rows of as many words as one or two vectors have.
    pub(crate) panel: *const f32,
    /// How many panels, one after the other, the rows are multiplied with, for as many times the columns.
    pub(crate) panels: usize,
    /// From the place in one to that in the next.
    pub(crate) distance: usize,
    /// What its words are.
    pub(crate) packing: Packing,
    /// From where, seen from the place in the panel, lines are brought into the cache, one for every few steps: the tiles that
    /// use the same steps bring in the next ones together.
    pub(crate) far: usize,
    /// From where the other lines are brought in.
    pub(crate) farther: usize,
    /// Whether what is brought in goes into the first-level cache, which it does for tiles that go together anyway where they have
    /// many rows of the longest vectors.
    pub(crate) soon: bool,
    /// From where every line is brought in instead, for a single row, or 0.
    pub(crate) each: usize,
    /// Whether the panel is one vector wide, not two; panels of half floats never are.
    pub(crate) narrow: bool,
    /// Whether the product is added to what is at `out`.
    pub(crate) accumulate: bool,
    /// What is added to the sums of each row, or null for 0.
    pub(crate) bias: *const f32,
    /// What sums of whole numbers are multiplied by, one number for each column; null for others.
    pub(crate) scales: *const f32,
    /// What is added to the tile, or null.
    pub(crate) residual: *const f32,
    /// The distance of its rows.
    pub(crate) residual_stride: usize,
    /// The bounds of the result.
    pub(crate) bounds: Option<(f32, f32)>,
    /// A function of the result, one that tiles [apply](Self::applies).
    pub(crate) function: Option<Unary>,
    /// Where the tile is written.
    pub(crate) out: *mut f32,
    /// The distance of its rows.
    pub(crate) stride: usize,
    /// What is added to a tile of whole numbers or of pairs besides and where it is written instead, if these are words; else null.
    pub(crate) words: *const OfWords,
    /// The tile's first row and column there.
    pub(crate) place: [usize; 2],
    /// How many columns are written, and read of what is added, of a panel that has more: of whole words, or of numbers in vectors with
    /// [masks](Vector::MASKS).
    pub(crate) columns: usize,
    /// What is done beside the products, which leave time for it.
    pub(crate) aside: Aside,
}

/// Differences of numbers, which are for what comes next.
#[derive(Clone, Copy)]
pub(crate) struct Aside {
    /// Where they are written.
    pub(crate) to: *mut f32,
    /// What they are the differences of.
    pub(crate) minuend: *const f32,
    pub(crate) subtrahend: *const f32,
    /// How many there are: a multiple of a vector's lanes. For tiles of numbers, of two vectors and three rows at least.
    pub(crate) numbers: usize,
}

impl Aside {
    /// No differences.
    pub(crate) const NONE: Self = Self { to: null_mut(), minuend: null(), subtrahend: null(), numbers: 0 };

    /// Some of the numbers, if there are any.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        if self.numbers == 0 {
            return self;
        }
        let (to, minuend) = (self.to.wrapping_add(range.start), self.minuend.wrapping_add(range.start));
        Self { to, minuend, subtrahend: self.subtrahend.wrapping_add(range.start), numbers: range.len() }
    }

    /// Computes the vector at a place.
    ///
    /// # Safety
    /// There must be one.
    #[inline(always)]
    unsafe fn subtract<V: Vector<Elem = f32>>(&self, place: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let difference = V::load_at(self.minuend.add(place)) - V::load_at(self.subtrahend.add(place));
            difference.store_at(self.to.add(place));
        }
    }
}

impl Tile {
    /// Of numbers in one segment and one panel of two vectors, with nothing brought in, added or done aside: without operands yet.
    pub(crate) const PLAIN: Self = Self {
        rows: 0,
        tiles: 1,
        stack: None,
        left: null(),
        offset: 0,
        taps: null(),
        places: null(),
        segments: 1,
        some: null(),
        depth: 0,
        panel: null(),
        panels: 1,
        distance: 0,
        packing: Packing::Single,
        far: 0,
        farther: 0,
        soon: true,
        each: 0,
        narrow: false,
        accumulate: false,
        bias: null(),
        scales: null(),
        residual: null(),
        residual_stride: 0,
        bounds: None,
        function: None,
        out: null_mut(),
        stride: 0,
        words: null(),
        place: [0; 2],
        columns: usize::MAX,
        aside: Aside::NONE,
    };

    /// Computes the tile.
    ///
    /// # Safety
    /// All pointers must be valid for the reads and writes that the fields describe.
    pub(crate) unsafe fn run(&self, level: Level) {
        match self.packing {
            Packing::Single if self.aside.numbers > 0 => dispatch(level, WithAside(self)),
            Packing::Single if !self.taps.is_null() => dispatch(level, Run::<Taps>(self, PhantomData)),
            Packing::Single => dispatch(level, Run::<Singles>(self, PhantomData)),
            Packing::Bf16 | Packing::F16 => dispatch(level, Run::<Widened>(self, PhantomData)),
            Packing::Pairs => dispatch_pairs(Run::<Dots>(self, PhantomData)),
            Packing::Quads | Packing::Bytes => dispatch_bytes(level, self.packing == Packing::Bytes, WithBytes(self)),
        }
    }

    /// Moves on to the next tile.
    #[inline(always)]
    fn move_on(&mut self) {
        if let Some(stack) = self.stack {
            return stack.advance(self, 1);
        }
        self.left = self.left.wrapping_add(if self.places.is_null() { self.segments } else { 1 } * MOST_ROWS);
        self.out = self.out.wrapping_add(self.rows * self.stride);
        if !self.residual.is_null() {
            self.residual = self.residual.wrapping_add(self.rows * self.residual_stride);
        }
        self.place[0] += self.rows;
    }

    /// Computes each tile in memory of its own, and copies its first `columns` of `width` to their place; nothing is read
    /// beyond them either.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(crate) unsafe fn run_aside(mut self, level: Level, columns: usize, width: usize) {
        let tiles = std::mem::replace(&mut self.tiles, 1);
        for _ in 0..tiles {
            // SAFETY: the caller's promise.
            unsafe { self.run_one_aside(level, columns, width) };
            self.move_on();
        }
    }

    /// # Safety
    /// As for [`run`](Self::run), for one tile.
    unsafe fn run_one_aside(mut self, level: Level, columns: usize, width: usize) {
        // Zeros only where something is read that nobody writes.
        let [mut out, mut residual] = [[MaybeUninit::<f32>::uninit(); LARGEST]; 2];
        let [mut bias, mut scales] = [[0.0; MOST_COLUMNS]; 2];
        let [mut added, mut written] = [[MaybeUninit::<u8>::uninit(); 2 * LARGEST]; 2];
        // SAFETY: the caller's promise, for the first `columns`; the places of our own are large enough.
        unsafe {
            if self.accumulate {
                out.fill(MaybeUninit::zeroed());
                copy(self.out, self.stride, out.as_mut_ptr().cast(), width, self.rows, columns);
            }
            if !self.residual.is_null() {
                residual.fill(MaybeUninit::zeroed());
                copy(self.residual, self.residual_stride, residual.as_mut_ptr().cast(), width, self.rows, columns);
                (self.residual, self.residual_stride) = (residual.as_ptr().cast(), width);
            }
            if !self.bias.is_null() {
                copy(self.bias, 0, bias.as_mut_ptr(), 0, 1, columns);
                self.bias = bias.as_ptr();
            }
            if !self.scales.is_null() {
                copy(self.scales, 0, scales.as_mut_ptr(), 0, 1, columns);
                self.scales = scales.as_ptr();
            }
            let (to, stride, words, [row, column]) = (self.out, self.stride, self.of_words(), self.place);
            let own = |memory: *mut MaybeUninit<u8>, matrix: WordMatrix| WordMatrix {
                first: Shared(memory.cast()),
                stride: width,
                ..matrix
            };
            let copy_words = |from: WordMatrix, [row, column]: [usize; 2], to: WordMatrix, place: [usize; 2]| {
                let (bytes, place) = (from.bytes(), to.at(place[0], place[1]));
                let (from_stride, to_stride) = (from.stride * bytes, to.stride * bytes);
                copy(from.at(row, column), from_stride, place, to_stride, self.rows, columns * bytes);
            };
            let own = OfWords {
                added: words.added.map(|matrix| own(added.as_mut_ptr(), matrix)),
                written: words.written.map(|matrix| own(written.as_mut_ptr(), matrix)),
            };
            if let (Some(matrix), Some(own)) = (words.added, own.added) {
                added.fill(MaybeUninit::zeroed());
                copy_words(matrix, [row, column], own, [0; 2]);
            }
            (self.out, self.stride, self.words, self.place) = (out.as_mut_ptr().cast(), width, &raw const own, [0; 2]);
            self.run(level);
            match (own.written, words.written) {
                (Some(own), Some(matrix)) => copy_words(own, [0; 2], matrix, [row, column]),
                _ => copy(out.as_ptr().cast(), width, to, stride, self.rows, columns),
            }
        }
    }
}

/// Copies a matrix.
///
/// # Safety
/// Both must be valid for so many rows and columns, and must not overlap.
unsafe fn copy<T>(from: *const T, from_stride: usize, to: *mut T, to_stride: usize, rows: usize, columns: usize) {
    for i in 0..rows {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from.add(i * from_stride), to.add(i * to_stride), columns) };
    }
}

/// The computation of a tile, with steps of some kind.
struct Run<'a, S>(&'a Tile, PhantomData<S>);

/// Runs the version for the number of rows, among those that fit the registers.
macro_rules! with_rows {
    ($tile:expr, $V:ty, |$ROWS:ident| $run:expr, $($rows:literal)*) => {
        match $tile.rows {
            $($rows if const { $rows <= <$V>::ROWS } => {
                const $ROWS: usize = $rows;
                // SAFETY: the tile's pointers are valid as its fields say.
                unsafe { $run }
            })*
            rows => unreachable!("a tile of {rows} rows"),
        }
    };
    ($tile:expr, $V:ty, |$ROWS:ident| $run:expr) => {
        with_rows!($tile, $V, |$ROWS| $run, 1 2 3 4 5 6 7 8 9 10 11 12)
    };
}

impl Kernel for Run<'_, Singles> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        // A narrow panel is the last one. Loops take the tiles of large products a hundredth longer.
        with_rows!(self.0, V, |ROWS| match self.0.panels {
            _ if self.0.narrow => tiles::<V, Singles, ROWS, 1, false>(self.0),
            1 if self.0.tiles == 1 => tile::<V, Singles, ROWS, 2, false, false>(self.0),
            _ => tiles::<V, Singles, ROWS, 2, true>(self.0),
        });
    }
}

impl Kernel for Run<'_, Taps> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        with_rows!(self.0, V, |ROWS| match self.0.narrow {
            true => tiles::<V, Taps, ROWS, 1, false>(self.0),
            false => tiles::<V, Taps, ROWS, 2, true>(self.0),
        });
    }
}

impl Kernel for Run<'_, Widened> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        with_rows!(self.0, V, |ROWS| tiles::<V, Widened, ROWS, 2, true>(self.0));
    }
}

impl PairKernel for Run<'_, Dots> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        with_rows!(self.0, V, |ROWS| match self.0.narrow {
            true => tiles::<V, Dots, ROWS, 1, false>(self.0),
            false => tiles::<V, Dots, ROWS, 2, true>(self.0),
        });
    }
}

/// The computation of a tile of whole numbers.
struct WithBytes<'a>(&'a Tile);

impl ByteKernel for WithBytes<'_> {
    #[inline(always)]
    fn run<B: Bytes>(self) {
        with_rows!(self.0, B::Vector, |ROWS| match self.0.narrow {
            true => tiles::<B::Vector, Whole<B>, ROWS, 1, false>(self.0),
            false => tiles::<B::Vector, Whole<B>, ROWS, 2, true>(self.0),
        });
    }
}

/// The computation of a tile of numbers, and of what is done aside.
struct WithAside<'a>(&'a Tile);

impl Kernel for WithAside<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        with_rows!(self.0, V, |ROWS| tile::<V, Singles, ROWS, 2, false, true>(self.0), 3 4 5 6 7 8 9 10 11 12);
    }
}

// After the macro that it uses.
mod stack;
pub(crate) use self::stack::Stack;
mod finish;
mod function;
use self::finish::finish;
pub(crate) use self::finish::{OfWords, WordMatrix};
mod step;
use self::step::{Dots, Singles, Step, Taps, Whole, Widened};

/// The steps of the inner dimension between two looks at the loop's end.
pub(crate) const UNROLL: usize = 4;
/// How far ahead in the panel words are brought into the first-level cache.
const AHEAD: usize = 512;

/// The sums of a tile. A single row has few, each of which would wait for the step before: it has some for each step between two
/// looks at the loop's end, which are added up in the end.
type Sums<V, const ROWS: usize, const VECTORS: usize> = [[[V; VECTORS]; ROWS]; UNROLL];

/// A few steps from the `k`-th on; gives the place in the panel after them.
///
/// # Safety
/// As for [`Step::multiply`].
#[inline(always)]
unsafe fn steps<
    V: Vector<Elem = f32>,
    S: Step<V>,
    const ROWS: usize,
    const VECTORS: usize,
    const PANELS: bool,
    const EACH: bool,
>(
    job: &Tile,
    sums: &mut Sums<V, ROWS, VECTORS>,
    rows: &[*const f32; ROWS],
    k: usize,
    mut panel: *const f32,
) -> *const f32 {
    // A single row waits for memory: asking for a line once more takes the place of another that is asked for ahead.
    let near = if ROWS == 1 { 0 } else { (VECTORS * V::LANES).div_ceil(LINE) };
    if EACH {
        for line in 0..UNROLL * VECTORS {
            prefetch(panel.wrapping_add(job.each + line * V::LANES));
        }
    } else {
        let (far, farther) = (panel.wrapping_add(job.far), panel.wrapping_add(job.farther));
        // Where tiles go together, without a look if vectors are long: it would take short inner dimensions a fiftieth longer.
        if (PANELS && V::LANES == LINE && ROWS > FEW_ROWS) || job.soon {
            prefetch(far);
            prefetch(farther);
        } else {
            prefetch_far(far);
            prefetch_far(farther);
        }
    }
    for step in 0..UNROLL {
        for line in 0..near {
            prefetch(panel.wrapping_add(AHEAD + line * LINE));
        }
        // SAFETY: the caller's promise.
        unsafe { S::multiply(job, &mut sums[if ROWS == 1 { step } else { 0 }], rows, S::place(job, k + step), panel) };
        panel = panel.wrapping_add(VECTORS * V::LANES);
    }
    panel
}

/// Tiles one after the other.
///
/// # Safety
/// As [`Tile`] says.
#[inline(always)]
unsafe fn tiles<V: Vector<Elem = f32>, S: Step<V>, const ROWS: usize, const VECTORS: usize, const PANELS: bool>(
    job: &Tile,
) {
    let mut job = *job;
    for _ in 0..job.tiles {
        // SAFETY: the caller's promise.
        unsafe { tile::<V, S, ROWS, VECTORS, PANELS, false>(&job) };
        job.move_on();
    }
}

/// The loops over constants are unrolled, so that the sums are registers. Without `PANELS` there is one panel.
///
/// # Safety
/// As [`Tile`] says.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
unsafe fn tile<
    V: Vector<Elem = f32>,
    S: Step<V>,
    const ROWS: usize,
    const VECTORS: usize,
    const PANELS: bool,
    const ASIDE: bool,
>(
    job: &Tile,
) {
    for index in 0..if PANELS { job.panels } else { 1 } {
        let start = job.panel.wrapping_add(index * job.distance);
        let mut panel = start;
        let column = index * VECTORS * V::LANES;
        let mut parts: Sums<V, ROWS, VECTORS> = [[[V::zero(); VECTORS]; ROWS]; UNROLL];
        if !S::WHOLE && !job.bias.is_null() {
            for v in 0..VECTORS {
                // SAFETY: there is a number for each column.
                let bias = unsafe { V::load_at(job.bias.add(column + v * V::LANES)) };
                for i in 0..ROWS {
                    parts[0][i][v] = bias;
                }
            }
        }
        if !job.residual.is_null() {
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    prefetch(job.residual.wrapping_add(i * job.residual_stride + column + v * V::LANES));
                }
            }
        }
        let mut aside = 0;
        let has_places = S::WHOLE && !job.places.is_null();
        let mut rows = [null(); ROWS];
        for number in 0..job.segments {
            let mut segment = number;
            if !job.some.is_null() {
                // SAFETY: there is a number for each segment.
                segment = usize::from(unsafe { *job.some.add(number) - *job.some });
                panel = start.wrapping_add(segment * job.depth * VECTORS * V::LANES);
            }
            if !has_places || number == 0 {
                let table = job.left.wrapping_add(segment * MOST_ROWS);
                for i in 0..ROWS {
                    // SAFETY: the table has a pointer for each row of each segment.
                    rows[i] = unsafe { *table.add(i) }.wrapping_add(job.offset * S::LEFT);
                }
            }
            let mut k = 0;
            if has_places {
                // SAFETY: there is a place for each segment.
                k = unsafe { *job.places.add(segment) } / S::LEFT.max(1);
            }
            let end = k + job.depth;
            // Without a branch between the steps: a loop that does something aside, and one that does not.
            while ASIDE && aside + 2 * V::LANES <= job.aside.numbers && k + UNROLL <= end {
                // SAFETY: there are so many numbers; the rest as below.
                unsafe {
                    job.aside.subtract::<V>(aside);
                    job.aside.subtract::<V>(aside + V::LANES);
                    panel = steps::<V, S, ROWS, VECTORS, PANELS, false>(job, &mut parts, &rows, k, panel);
                }
                aside += 2 * V::LANES;
                k += UNROLL;
            }
            if ROWS == 1 && job.each > 0 {
                while k + UNROLL <= end {
                    // SAFETY: as below.
                    panel = unsafe { steps::<V, S, ROWS, VECTORS, PANELS, true>(job, &mut parts, &rows, k, panel) };
                    k += UNROLL;
                }
            }
            while k + UNROLL <= end {
                // SAFETY: every row has words for `depth` steps, and the panel as many rows as all segments have steps.
                panel = unsafe { steps::<V, S, ROWS, VECTORS, PANELS, false>(job, &mut parts, &rows, k, panel) };
                k += UNROLL;
            }
            while k < end {
                // SAFETY: as above.
                unsafe { S::multiply(job, &mut parts[0], &rows, S::place(job, k), panel) };
                panel = panel.wrapping_add(VECTORS * V::LANES);
                k += 1;
            }
        }
        while ASIDE && aside < job.aside.numbers {
            // SAFETY: there are so many.
            unsafe { job.aside.subtract::<V>(aside) };
            aside += V::LANES;
        }
        let mut sums = parts[0];
        if S::WHOLE {
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    sums[i][v] = S::numbers(sums[i][v]);
                }
            }
        }
        if ROWS == 1 {
            for v in 0..VECTORS {
                let [b, c, d] = [S::numbers(parts[1][0][v]), S::numbers(parts[2][0][v]), S::numbers(parts[3][0][v])];
                sums[0][v] = (sums[0][v] + b) + (c + d);
            }
        }
        // SAFETY: the caller's promise.
        unsafe { finish::<V, S, ROWS, VECTORS>(job, column, sums) };
    }
}
