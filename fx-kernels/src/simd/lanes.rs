//! Arithmetic on vectors, one or several at a time.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Element, Vector};

/// Numbers that are computed with at once: those of a vector, or of [several](Beside).
///
/// Comparisons with NaN are false, as for scalars.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The type of a lane.
    type Elem: Element;
    /// What a comparison gives.
    type Mask: Copy;

    /// The same number in all lanes.
    fn splat(x: Self::Elem) -> Self;
    /// `self * b + c`, rounded once where the level has an instruction for it.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The smaller number; `other` where one of them is NaN.
    fn min(self, other: Self) -> Self;
    /// The larger number; `other` where one of them is NaN.
    fn max(self, other: Self) -> Self;
    /// Without the sign.
    fn abs(self) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// The nearest integer, the even one of two.
    fn round(self) -> Self;
    /// The largest integer that is not larger.
    fn floor(self) -> Self;
    /// The exponent of 2 in a normal number above 0: 0 for those in `1..2`.
    fn exponent(self) -> Self;
    /// Times 2 to the power of an integer, up to twice the exponents of normal numbers; rounded once.
    fn scale(self, n: Self) -> Self;
    /// As [`scale`](Self::scale), by an integer that is the exponent of a normal number: in a third of the instructions where the
    /// level has none for it.
    fn scale_normal(self, n: Self) -> Self;
    /// Whether less.
    fn lt(self, other: Self) -> Self::Mask;
    /// Whether less or equal.
    fn le(self, other: Self) -> Self::Mask;
    /// Whether equal.
    fn eq(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Whether a mask holds anywhere.
    fn any(mask: Self::Mask) -> bool;
    /// A function of numbers, one by one.
    fn each(self, f: fn(Self::Elem) -> Self::Elem) -> Self;

    /// No number at all: 0 in all lanes.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(Self::Elem::ZERO)
    }
}

/// How many vectors are computed with side by side.
pub(crate) const BESIDE: usize = 4;

/// Several vectors. The steps of a function wait for each other, and a processor looks ahead by so many steps: with several
/// vectors, what it finds there need not wait.
#[derive(Clone, Copy)]
pub(crate) struct Beside<V>(pub(crate) [V; BESIDE]);

impl<V: Vector> Beside<V> {
    /// Where vectors are that lie one after the other.
    #[inline(always)]
    pub(crate) fn from(first: usize) -> [usize; BESIDE] {
        let mut places = [first; BESIDE];
        for (i, place) in places.iter_mut().enumerate() {
            *place += i * V::LANES;
        }
        places
    }

    /// The vectors as one.
    #[inline(always)]
    pub(crate) fn join(self, f: impl Fn(V, V) -> V) -> V {
        let Self([a, b, c, d]) = self;
        f(f(a, b), f(c, d))
    }

    /// Reads the vectors at some places, at any alignment.
    ///
    /// # Safety
    /// They must be readable.
    #[inline(always)]
    pub(crate) unsafe fn load_each(from: *const V::Elem, places: [usize; BESIDE]) -> Self {
        let mut all = Self::zero();
        for (x, place) in all.0.iter_mut().zip(places) {
            // SAFETY: the caller's promise.
            *x = unsafe { V::load_at(from.add(place)) };
        }
        all
    }

    /// Writes the vectors to some places, at any alignment.
    ///
    /// # Safety
    /// They must be writable.
    #[inline(always)]
    pub(crate) unsafe fn store_each(self, to: *mut V::Elem, places: [usize; BESIDE]) {
        for (x, place) in self.0.into_iter().zip(places) {
            // SAFETY: the caller's promise.
            unsafe { x.store_at(to.add(place)) };
        }
    }
}

macro_rules! binary {
    ($($function:ident),*) => { $(
        #[inline(always)]
        fn $function(mut self, other: Self) -> Self {
            for i in 0..BESIDE {
                self.0[i] = self.0[i].$function(other.0[i]);
            }
            self
        }
    )* };
}

macro_rules! operators {
    ($($Trait:ident $function:ident),*) => { $(
        impl<V: Lanes> $Trait for Beside<V> {
            type Output = Self;

            binary!($function);
        }
    )* };
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl<V: Lanes> Neg for Beside<V> {
    type Output = Self;

    #[inline(always)]
    fn neg(mut self) -> Self {
        for x in &mut self.0 {
            *x = -*x;
        }
        self
    }
}

macro_rules! unary {
    ($($function:ident),*) => { $(
        #[inline(always)]
        fn $function(mut self) -> Self {
            for x in &mut self.0 {
                *x = x.$function();
            }
            self
        }
    )* };
}

macro_rules! compare {
    ($($function:ident),*) => { $(
        #[inline(always)]
        fn $function(self, other: Self) -> Self::Mask {
            let mut masks = [self.0[0].$function(other.0[0]); BESIDE];
            for i in 1..BESIDE {
                masks[i] = self.0[i].$function(other.0[i]);
            }
            masks
        }
    )* };
}

impl<V: Lanes> Lanes for Beside<V> {
    type Elem = V::Elem;
    type Mask = [V::Mask; BESIDE];

    #[inline(always)]
    fn splat(x: Self::Elem) -> Self {
        Self([V::splat(x); BESIDE])
    }
    #[inline(always)]
    fn mul_add(mut self, b: Self, c: Self) -> Self {
        for i in 0..BESIDE {
            self.0[i] = self.0[i].mul_add(b.0[i], c.0[i]);
        }
        self
    }
    #[inline(always)]
    fn select(mask: Self::Mask, mut yes: Self, no: Self) -> Self {
        for ((yes, no), mask) in yes.0.iter_mut().zip(no.0).zip(mask) {
            *yes = V::select(mask, *yes, no);
        }
        yes
    }
    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        let mut any = false;
        for mask in mask {
            any |= V::any(mask);
        }
        any
    }
    #[inline(always)]
    fn each(mut self, f: fn(Self::Elem) -> Self::Elem) -> Self {
        for x in &mut self.0 {
            *x = x.each(f);
        }
        self
    }
    unary!(abs, sqrt, round, floor, exponent);
    binary!(min, max, scale, scale_normal);
    compare!(lt, le, eq);
}
