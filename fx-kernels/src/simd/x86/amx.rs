//! AMX: eight registers of up to 16 rows of 64 bytes, and instructions that multiply them.
//!
//! The compiler does not know these instructions by name yet, so that they are written as assembly. It does not use the registers
//! itself: what is in them stays from one instruction to the next.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::memory::{LINE, prefetch_far};
use crate::simd::matrix_unit::{Between, Meanwhile, Place, SIDE, SplitSquares, Squares};
use crate::simd::{PIECES, PairKernel, Pairs, Splits, dispatch_pairs};

/// The bytes of a word.
const WORD: usize = size_of::<f32>();

/// Whether the processor has the instructions for bytes and bf16, and the system lets this process use them. It is asked once, by what
/// has use for them: a thread's state is larger from then on, and so must be the stacks that signals are given.
pub(in crate::simd) fn is_granted() -> bool {
    static GRANTED: OnceLock<bool> = OnceLock::new();
    *GRANTED.get_or_init(|| {
        /// The features of leaf 7: bf16, registers and bytes.
        const FEATURES: u32 = 1 << 22 | 1 << 24 | 1 << 25;
        /// The request, and the part of a thread's state that the registers are.
        const REQUEST: libc::c_long = 0x1023;
        const REGISTERS: libc::c_long = 18;
        let has = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & FEATURES == FEATURES;
        // SAFETY: the request changes nothing but what the process may use; a system that does not know it says so.
        has && unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, REGISTERS) } == 0
    })
}

/// How many rows and bytes registers have.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

/// Sets the rows of the sums, registers 0 to 3, and of the left operand, 4 and 5, and the words of the latter, which are the rows of the
/// right one, 6 and 7.
///
/// # Safety
/// The instructions must be [granted](is_granted), and there must be 1 to 16 rows, and as many words.
pub(in crate::simd) unsafe fn configure(rows: usize, depth: usize) {
    let [mut all_bytes, mut all_rows] = [[0; 16]; 2];
    all_bytes[..8].fill((SIDE * WORD) as u8);
    all_bytes[4..6].fill((depth * WORD) as u8);
    all_rows[..6].fill(rows as u8);
    all_rows[6..8].fill(depth as u8);
    let (bytes, rows) = (all_bytes.map(u16::from), all_rows);
    let configuration = Configuration { palette: 1, start: 0, reserved: [0; 14], bytes, rows };
    // SAFETY: the caller's promise.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly)) };
}

/// Gives the registers back, so that the system need not save them.
///
/// # Safety
/// The instructions must be granted.
pub(in crate::simd) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// See [`Registers::multiply`](crate::simd::matrix_unit::Registers::multiply), of registers with so many rows and words.
///
/// # Safety
/// As there, with registers that were [made ready](configure).
pub(in crate::simd) unsafe fn multiply(rows: [usize; 2], squares: &Squares<'_>, between: Between<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        match (squares.whole, squares.again) {
            // Rows that are not read again leave room for panels, which are kept then.
            (true, [true, true]) => shaped::<true, true, true>(rows, squares, between),
            (true, [true, false]) => shaped::<true, true, false>(rows, squares, between),
            (true, [false, _]) => shaped::<true, false, true>(rows, squares, between),
            (false, [true, true]) => shaped::<false, true, true>(rows, squares, between),
            (false, [true, false]) => shaped::<false, true, false>(rows, squares, between),
            (false, [false, _]) => shaped::<false, false, true>(rows, squares, between),
        }
    }
}

/// As [`multiply`].
///
/// # Safety
/// As there.
unsafe fn shaped<const WHOLE: bool, const ROWS: bool, const PANEL: bool>(
    rows: [usize; 2],
    squares: &Squares<'_>,
    between: Between<'_>,
) {
    let calls = Calls { until: between.steps, between };
    // SAFETY: the caller's promise.
    unsafe {
        match (!squares.left[1].is_null(), squares.wide) {
            (true, true) => run::<WHOLE, ROWS, PANEL, true, true>(rows, squares, calls),
            (true, false) => run::<WHOLE, ROWS, PANEL, true, false>(rows, squares, calls),
            (false, true) => run::<WHOLE, ROWS, PANEL, false, true>(rows, squares, calls),
            (false, false) => run::<WHOLE, ROWS, PANEL, false, false>(rows, squares, calls),
        }
    }
}

/// See [`Registers::multiply_meanwhile`](crate::simd::matrix_unit::Registers::multiply_meanwhile), of registers with so many rows and words.
///
/// # Safety
/// As there, with registers that were [made ready](configure).
pub(in crate::simd) unsafe fn multiply_meanwhile<M: Meanwhile>(
    rows: [usize; 2],
    squares: &Squares<'_>,
    meanwhile: &mut M,
    each: usize,
) {
    match squares.again {
        [true, true] => dispatch_pairs(Both::<M, true, true> { rows, squares, meanwhile, each }),
        [true, false] => dispatch_pairs(Both::<M, true, false> { rows, squares, meanwhile, each }),
        [false, _] => dispatch_pairs(Both::<M, false, true> { rows, squares, meanwhile, each }),
    }
}

/// Products with two registers of rows, while something else is done.
struct Both<'a, M, const ROWS: bool, const PANEL: bool> {
    rows: [usize; 2],
    squares: &'a Squares<'a>,
    meanwhile: &'a mut M,
    each: usize,
}

impl<M: Meanwhile, const ROWS: bool, const PANEL: bool> PairKernel for Both<'_, M, ROWS, PANEL> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        // In registers, meanwhile.
        let mut soon = Soon::<V, M> { meanwhile: *self.meanwhile, each: self.each, of: PhantomData };
        // SAFETY: the promise of who calls `multiply_meanwhile`.
        unsafe {
            match self.squares.wide {
                true => run::<false, ROWS, PANEL, true, true>(self.rows, self.squares, &mut soon),
                false => run::<false, ROWS, PANEL, true, false>(self.rows, self.squares, &mut soon),
            }
        }
        *self.meanwhile = soon.meanwhile;
    }
}

/// What is done after a row of registers.
trait After {
    fn step(&mut self);
}

/// A call after some of them.
struct Calls<'a> {
    until: usize,
    between: Between<'a>,
}

impl After for Calls<'_> {
    #[inline(always)]
    fn step(&mut self) {
        self.until -= 1;
        if self.until == 0 {
            (self.between.call)();
            self.until = self.between.steps;
        }
    }
}

/// So much of something.
struct Soon<V, M> {
    meanwhile: M,
    each: usize,
    of: PhantomData<V>,
}

impl<V: Pairs, M: Meanwhile> After for &mut Soon<V, M> {
    #[inline(always)]
    fn step(&mut self) {
        // SAFETY: the promise of who calls `multiply_meanwhile`.
        unsafe { self.meanwhile.some::<V>(self.each) };
    }
}

macro_rules! zero {
    ($to:literal) => {
        asm!(concat!("tilezero tmm", $to), options(nostack, nomem))
    };
}

/// Reads a register's rows, so many bytes apart, by the instruction for what is used again soon or the one for what is not.
macro_rules! load {
    ($again:expr, $to:literal, $from:expr, $apart:expr) => {
        if $again {
            asm!(concat!("tileloadd tmm", $to, ", [{from} + {apart}]"), from = in(reg) $from, apart = in(reg) $apart,
                options(nostack, readonly))
        } else {
            asm!(concat!("tileloaddt1 tmm", $to, ", [{from} + {apart}]"), from = in(reg) $from, apart = in(reg) $apart,
                options(nostack, readonly))
        }
    };
}

macro_rules! store {
    ($from:literal, $to:expr, $apart:expr) => {
        asm!(concat!("tilestored [{to} + {apart}], tmm", $from), to = in(reg) $to, apart = in(reg) $apart, options(nostack))
    };
}

/// Adds the products of two registers to a third.
macro_rules! dot {
    ($whole:expr, $sum:literal, $left:literal, $right:literal) => {
        if $whole {
            asm!(concat!("tdpbusd tmm", $sum, ", tmm", $left, ", tmm", $right), options(nostack, nomem))
        } else {
            asm!(concat!("tdpbf16ps tmm", $sum, ", tmm", $left, ", tmm", $right), options(nostack, nomem))
        }
    };
}

/// Reads one or two registers of rows.
macro_rules! load_left {
    ($again:expr, $tall:expr, $rows:expr, $apart:expr) => {{
        let [upper, lower] = $rows;
        load!($again, 4, upper, $apart);
        if $tall {
            load!($again, 5, lower, $apart);
        }
    }};
}

/// Reads one or two registers of columns.
macro_rules! load_right {
    ($again:expr, $wide:expr, $from:expr, $across:expr) => {{
        let from = $from;
        load!($again, 6, from, $across);
        if $wide {
            load!($again, 7, from.wrapping_add(SIDE), $across);
        }
    }};
}

/// Adds the products of these.
macro_rules! dots {
    ($whole:expr, $tall:expr, $wide:expr) => {
        dot!($whole, 0, 4, 6);
        if $wide {
            dot!($whole, 1, 4, 7);
        }
        if $tall {
            dot!($whole, 2, 5, 6);
        }
        if $tall && $wide {
            dot!($whole, 3, 5, 7);
        }
    };
}

/// Writes the sums of one or two registers of rows and of columns.
macro_rules! write_sums {
    ($tall:expr, $wide:expr, [$sums:expr, $below:expr], $across:expr) => {
        store!(0, $sums, $across);
        if $wide {
            store!(1, $sums.wrapping_add(SIDE), $across);
        }
        if $tall {
            store!(2, $below, $across);
        }
        if $tall && $wide {
            store!(3, $below.wrapping_add(SIDE), $across);
        }
    };
}

/// The products, with two registers of rows (`TALL`) or one, and two of columns (`WIDE`) or one.
///
/// # Safety
/// As for [`multiply`].
#[inline(always)]
unsafe fn run<const WHOLE: bool, const ROWS: bool, const PANEL: bool, const TALL: bool, const WIDE: bool>(
    [rows, depth]: [usize; 2],
    squares: &Squares<'_>,
    mut after: impl After,
) {
    let Squares { left, distance, runs, len, panel, mut next, lines, sums, .. } = *squares;
    let width = if WIDE { 2 * SIDE } else { SIDE };
    let (apart, across) = (distance * WORD, width * WORD);
    // SAFETY: the caller's promise, for all that is read and written.
    unsafe {
        zero!(0);
        zero!(1);
        zero!(2);
        zero!(3);
        for (run, start) in runs.iter().enumerate() {
            let mut right = panel.wrapping_add(run * len * width);
            let mut step = 0;
            while step < len {
                load_left!(ROWS, TALL, left.map(|left| left.wrapping_add(start + step)), apart);
                load_right!(PANEL, WIDE, right, across);
                dots!(WHOLE, TALL, WIDE);
                for _ in 0..lines {
                    prefetch_far(next);
                    next = next.wrapping_add(LINE);
                }
                (step, right) = (step + depth, right.wrapping_add(depth * width));
                after.step();
            }
        }
        write_sums!(TALL, WIDE, [sums, sums.wrapping_add(rows * width)], across);
    }
}

/// See [`Registers::multiply_pieces`](crate::simd::matrix_unit::Registers::multiply_pieces), of registers with so many rows and words.
///
/// # Safety
/// As there, with registers that were [made ready](configure).
pub(in crate::simd) unsafe fn multiply_pieces<'a, S: Splits>(
    rows: [usize; 2],
    pieces: SplitSquares<'a, S>,
    between: Between<'a>,
) {
    match (pieces.tall, pieces.wide) {
        (true, true) => dispatch_pairs(InPieces::<S, true, true>(rows, pieces, between)),
        (true, false) => dispatch_pairs(InPieces::<S, true, false>(rows, pieces, between)),
        (false, true) => dispatch_pairs(InPieces::<S, false, true>(rows, pieces, between)),
        (false, false) => dispatch_pairs(InPieces::<S, false, false>(rows, pieces, between)),
    }
}

/// Products of numbers in pieces, with two registers of rows (`TALL`) or one, and two of columns (`WIDE`) or one.
struct InPieces<'a, S, const TALL: bool, const WIDE: bool>([usize; 2], SplitSquares<'a, S>, Between<'a>);

impl<S: Splits, const TALL: bool, const WIDE: bool> PairKernel for InPieces<'_, S, TALL, WIDE> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let Self([rows, depth], pieces, between) = self;
        let SplitSquares { all, panel, distance, runs, len, plane, piece, keeps, soon: kept, each, .. } = pieces;
        let width = if WIDE { 2 * SIDE } else { SIDE };
        let (apart, across) = (distance * WORD, width * WORD);
        // In registers, meanwhile.
        let mut soon = *kept;
        macro_rules! left {
            ($from:expr, $piece:expr) => {
                load_left!(false, TALL, $from.map(|from: *const f32| from.wrapping_add($piece * plane)), apart)
            };
        }
        macro_rules! right {
            ($from:expr, $piece:expr) => {
                load_right!(true, WIDE, $from.wrapping_add($piece * piece), across)
            };
        }
        macro_rules! product {
            () => {
                dots!(false, TALL, WIDE);
                // What is done in between is little at a time: a processor runs on for some hundred instructions.
                soon.some::<V>(each);
            };
        }
        // SAFETY: the promise of who calls `multiply_pieces`, for all that is read and written.
        unsafe {
            for Place { left, sums } in all {
                let (sums, below) = (*sums, sums.wrapping_add(rows * width));
                if keeps {
                    load!(true, 0, sums, across);
                    if WIDE {
                        load!(true, 1, sums.wrapping_add(SIDE), across);
                    }
                    if TALL {
                        load!(true, 2, below, across);
                    }
                    if TALL && WIDE {
                        load!(true, 3, below.wrapping_add(SIDE), across);
                    }
                } else {
                    zero!(0);
                    zero!(1);
                    zero!(2);
                    zero!(3);
                }
                let mut until = between.steps;
                for (run, start) in runs.iter().enumerate() {
                    let mut right = panel.wrapping_add(run * len * width);
                    let mut rows = left.map(|left| left.wrapping_add(*start));
                    let mut step = 0;
                    while step < len {
                        // In the order of the products: each brings in what it does not share with the one before.
                        left!(rows, 0);
                        right!(right, 2);
                        product!();
                        right!(right, 0);
                        product!();
                        left!(rows, 2);
                        product!();
                        left!(rows, 1);
                        product!();
                        right!(right, 1);
                        product!();
                        left!(rows, 0);
                        product!();
                        (step, right) = (step + depth, right.wrapping_add(depth * width));
                        rows = rows.map(|left| left.wrapping_add(PIECES * plane));
                        until -= 1;
                        if until == 0 {
                            (between.call)();
                            until = between.steps;
                        }
                    }
                }
                write_sums!(TALL, WIDE, [sums, below], across);
            }
        }
        *kept = soon;
    }
}
