//! Dimensions: integers that may be symbolic.
//!
//! A symbolic dimension is a sum of monomials over atoms (symbols, rounded divisions, remainders, maxima), kept in
//! one canonical order, so that equal polynomials are equal values. Arithmetic on plain integers never allocates.

mod expr;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

use expr::Expr;

use crate::sort::sort_by;

/// The size of a dimension: an integer, or an expression over named symbols such as `N` or `H/4`.
///
/// Symbols stand for integers of at least 1. `/` in the printed form rounds down, as Python's `//`.
///
/// ```
/// use fx_core::value::Dim;
/// let h = Dim::symbol("H", 32);
/// let out = (&h - 1).floor_div(&Dim::from(2)) + 1;
/// assert_eq!(out.to_string(), "H/2");
/// assert_eq!((Dim::symbol("N", 1) * 2 + 1).to_string(), "2*N + 1");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dim {
    /// A known size.
    Int(i64),
    /// A size that depends on symbols.
    Expr(Arc<Expr>),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Atom {
    /// A name, and a number of which it is a multiple.
    Symbol(Arc<str>, i64),
    FloorDiv(Dim, Dim),
    Mod(Dim, Dim),
    Max(Dim, Dim),
    Min(Dim, Dim),
}

impl Dim {
    /// A symbol that stands for a positive multiple of `multiple_of`.
    pub fn symbol(name: &str, multiple_of: i64) -> Self {
        Self::atom(Atom::Symbol(name.into(), multiple_of.max(1)))
    }

    /// The size, if it is known.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Dim::Int(x) => Some(*x),
            Dim::Expr(_) => None,
        }
    }

    /// The quotient, rounded down. A division by zero gives zero.
    #[must_use]
    pub fn floor_div(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            (Dim::Int(a), Dim::Int(b)) => Dim::Int(if *b == 0 { 0 } else { floor_div(*a, *b) }),
            (_, Dim::Int(1)) => self.clone(),
            (_, Dim::Int(divisor)) if *divisor > 1 => self.floor_div_int(*divisor),
            _ if self == divisor => Dim::Int(1),
            _ => self
                .divide_exactly(divisor)
                .unwrap_or_else(|| Self::atom(Atom::FloorDiv(self.clone(), divisor.clone()))),
        }
    }

    /// The remainder of [`Dim::floor_div`], with the sign of the divisor.
    #[must_use]
    pub fn modulo(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            (Dim::Int(a), Dim::Int(b)) => Dim::Int(if *b == 0 { 0 } else { floor_rem(*a, *b) }),
            (_, Dim::Int(b)) if *b != 0 && self.is_multiple_of(*b) => Dim::Int(0),
            _ if self.divide_exactly(divisor).is_some() => Dim::Int(0),
            _ => Self::atom(Atom::Mod(self.clone(), divisor.clone())),
        }
    }

    /// The larger of two.
    #[must_use]
    pub fn max(&self, other: &Dim) -> Dim {
        match (self - other).lower_bound() {
            Some(x) if x >= 0 => self.clone(),
            _ => match (other - self).lower_bound() {
                Some(x) if x >= 0 => other.clone(),
                _ => Self::atom(Atom::Max(self.clone().min_of(other), self.clone().max_of(other))),
            },
        }
    }

    /// The smaller of two.
    #[must_use]
    pub fn min(&self, other: &Dim) -> Dim {
        match (self - other).lower_bound() {
            Some(x) if x >= 0 => other.clone(),
            _ => match (other - self).lower_bound() {
                Some(x) if x >= 0 => self.clone(),
                _ => Self::atom(Atom::Min(self.clone().min_of(other), self.clone().max_of(other))),
            },
        }
    }

    /// Whether it is certainly a multiple of `divisor`.
    pub fn is_multiple_of(&self, divisor: i64) -> bool {
        match self {
            Dim::Int(x) => x.wrapping_rem(divisor) == 0,
            Dim::Expr(expr) => expr.terms().all(|(atoms, factor)| {
                multiple(atoms).checked_mul(factor).is_some_and(|product| product.wrapping_rem(divisor) == 0)
            }),
        }
    }

    /// A number that it is certainly not below.
    pub fn lower_bound(&self) -> Option<i64> {
        match self {
            Dim::Int(x) => Some(*x),
            Dim::Expr(expr) => {
                let sum = expr.terms().try_fold(0_i64, |sum, (atoms, factor)| {
                    let bound =
                        atoms.iter().try_fold(1_i64, |product, atom| atom.lower_bound()?.checked_mul(product))?;
                    let positive = atoms.is_empty() || (factor > 0 && bound >= 0);
                    positive.then(|| sum.checked_add(factor.checked_mul(bound)?)).flatten()
                });
                sum.or_else(|| self.bound_of_rest())
            }
        }
    }

    /// A lower bound where a rounded quotient is taken away: `d * (a - f * (b / d))` is not below `d * a - f * b`.
    fn bound_of_rest(&self) -> Option<i64> {
        let Dim::Expr(expr) = self else { return None };
        let (quotient, factor) = expr.terms().find(|(atoms, factor)| {
            *factor < 0 && matches!(atoms, [Atom::FloorDiv(_, Dim::Int(divisor))] if *divisor > 0)
        })?;
        let [Atom::FloorDiv(of, Dim::Int(divisor))] = quotient else { return None };
        let rest = self - &(Self::atom(quotient[0].clone()) * factor);
        let bound = (rest * *divisor + of * factor).lower_bound()?;
        Some(-floor_div(-bound, *divisor))
    }

    /// Whether two are certainly equal, certainly different, or neither (`None`).
    pub fn known_eq(&self, other: &Dim) -> Option<bool> {
        if self == other {
            return Some(true);
        }
        match self - other {
            Dim::Int(x) => Some(x == 0),
            difference => {
                let apart = |x: &Dim| x.lower_bound().is_some_and(|bound| bound > 0);
                (apart(&difference) || apart(&-&difference)).then_some(false)
            }
        }
    }

    /// Whether two are equal as far as is known: not certainly different, and not against what was
    /// [assumed](super::assume) before in the same scope, where equality is assumed from then on.
    pub fn may_eq(&self, other: &Dim) -> bool {
        self.known_eq(other).unwrap_or_else(|| super::assume::equal(self, other))
    }

    /// A symbol and what it is, if this is zero and says that: `N - 2*M` gives `N` and `2*M`.
    pub(super) fn zero_of(&self) -> Option<(Dim, String, Dim)> {
        let Dim::Expr(expr) = self else { return None };
        expr.terms().find_map(|(atoms, factor)| {
            let [Atom::Symbol(name, _)] = atoms else { return None };
            let symbol = Self::atom(atoms[0].clone());
            let rest = &(&symbol * factor) - self;
            let value = match (factor, rest.as_int()) {
                (1, _) => rest,
                (-1, _) => -&rest,
                (factor, Some(rest)) if rest % factor == 0 => Dim::Int(rest / factor),
                _ => return None,
            };
            (!value.symbols().contains(&**name)).then(|| (symbol, name.to_string(), value))
        })
    }

    /// A number of which it is certainly a multiple, and that it is not below, if it is a symbol.
    pub(super) fn step(&self) -> i64 {
        match self.single() {
            Some((Atom::Symbol(_, multiple_of), 1)) => *multiple_of,
            _ => 1,
        }
    }

    /// The names of its symbols.
    pub fn symbols(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.visit_symbols(&mut |name| {
            names.insert(name.to_owned());
        });
        names
    }

    /// The same with symbols replaced; those for which `value` gives nothing stay.
    #[must_use]
    pub fn substitute(&self, value: &dyn Fn(&str) -> Option<Dim>) -> Dim {
        let Dim::Expr(expr) = self else { return self.clone() };
        expr.terms().fold(Dim::Int(0), |sum, (atoms, factor)| {
            sum + atoms.iter().fold(Dim::Int(factor), |product, atom| product * atom.substitute(value))
        })
    }

    fn atom(atom: Atom) -> Dim {
        Expr::term(vec![atom], 1).into()
    }

    fn min_of(self, other: &Dim) -> Dim {
        if self <= *other { self } else { other.clone() }
    }

    fn max_of(self, other: &Dim) -> Dim {
        if self <= *other { other.clone() } else { self }
    }

    /// Division by an integer above 1: terms that divide leave the rounded part, a division of a division is one.
    fn floor_div_int(&self, divisor: i64) -> Dim {
        let (mut whole, mut rest) = (Expr::default(), Expr::default());
        for (atoms, factor) in Expr::from(self).terms() {
            let atoms = atoms.to_vec();
            if atoms.is_empty() {
                let quotient = floor_div(factor, divisor);
                whole.add(Vec::new(), quotient);
                rest.add(atoms, factor - quotient * divisor);
            } else if factor % divisor == 0 {
                whole.add(atoms, factor / divisor);
            } else {
                rest.add(atoms, factor);
            }
        }
        let (whole, rest) = (Dim::from(whole), Dim::from(rest));
        // What is a multiple of the divisor up to a remainder below it divides exactly.
        let Dim::Expr(expr) = &rest else { return whole };
        let symbolic = &rest - expr.constant();
        let rest = if symbolic.is_multiple_of(divisor) { symbolic } else { rest };
        if let Some((Atom::FloorDiv(inner, Dim::Int(first)), 1)) = rest.single() {
            return whole + inner.clone().floor_div_int(first * divisor);
        }
        whole + Self::atom(Atom::FloorDiv(rest, Dim::Int(divisor)))
    }

    /// The atom and its coefficient, if it is one term of one atom.
    fn single(&self) -> Option<(&Atom, i64)> {
        match self {
            Dim::Expr(expr) => match expr.single() {
                Some(([atom], factor)) => Some((atom, factor)),
                _ => None,
            },
            Dim::Int(_) => None,
        }
    }

    /// The quotient, if the divisor divides this without a rest: term by term, from the last one on.
    fn divide_exactly(&self, divisor: &Dim) -> Option<Dim> {
        /// More terms than a size has.
        const STEPS: usize = 16;
        let parts = Expr::from(divisor);
        let (by, coefficient) = parts.terms().last()?;
        let (mut rest, mut quotient) = (self.clone(), Dim::Int(0));
        for _ in 0..STEPS {
            let terms = Expr::from(&rest);
            let Some((atoms, factor)) = terms.terms().last() else { return Some(quotient) };
            let mut atoms = atoms.to_vec();
            for atom in by {
                let place = atoms.iter().position(|have| have == atom)?;
                atoms.remove(place);
            }
            let term = Dim::from(Expr::term(atoms, (factor % coefficient == 0).then_some(factor / coefficient)?));
            rest = rest - &term * divisor;
            quotient = quotient + term;
        }
        None
    }

    fn visit_symbols(&self, f: &mut dyn FnMut(&str)) {
        let Dim::Expr(expr) = self else { return };
        for atom in expr.terms().flat_map(|(atoms, _)| atoms) {
            match atom {
                Atom::Symbol(name, _) => f(name),
                Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                    a.visit_symbols(f);
                    b.visit_symbols(f);
                }
            }
        }
    }
}

impl Atom {
    fn lower_bound(&self) -> Option<i64> {
        match self {
            Atom::Symbol(_, multiple_of) => Some(*multiple_of),
            Atom::FloorDiv(a, Dim::Int(b)) if *b > 0 => a.lower_bound().map(|a| floor_div(a, *b)),
            Atom::Mod(_, Dim::Int(b)) if *b > 0 => Some(0),
            Atom::Max(a, b) => a.lower_bound().max(b.lower_bound()),
            Atom::Min(a, b) => Some(a.lower_bound()?.min(b.lower_bound()?)),
            _ => None,
        }
    }

    fn substitute(&self, value: &dyn Fn(&str) -> Option<Dim>) -> Dim {
        match self {
            Atom::Symbol(name, _) => value(name).unwrap_or_else(|| Dim::atom(self.clone())),
            Atom::FloorDiv(a, b) => a.substitute(value).floor_div(&b.substitute(value)),
            Atom::Mod(a, b) => a.substitute(value).modulo(&b.substitute(value)),
            Atom::Max(a, b) => Dim::max(&a.substitute(value), &b.substitute(value)),
            Atom::Min(a, b) => Dim::min(&a.substitute(value), &b.substitute(value)),
        }
    }
}

/// A number of which the product of the atoms is certainly a multiple.
fn multiple(atoms: &[Atom]) -> i64 {
    let of = |atom: &Atom| match atom {
        Atom::Symbol(_, multiple_of) => *multiple_of,
        Atom::FloorDiv(Dim::Expr(a), Dim::Int(b)) => {
            let common = a.terms().fold(0, |common, (atoms, factor)| gcd(common, multiple(atoms) * factor));
            if common % b == 0 { common / b } else { 1 }
        }
        _ => 1,
    };
    atoms.iter().map(of).fold(1, i64::saturating_mul)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn sub(a: &Dim, b: &Dim) -> Dim {
    match (a, b) {
        (Dim::Int(a), Dim::Int(b)) => Dim::Int(a.saturating_sub(*b)),
        _ => add(a, &-b),
    }
}

fn floor_div(a: i64, b: i64) -> i64 {
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

fn floor_rem(a: i64, b: i64) -> i64 {
    let remainder = a.wrapping_rem(b);
    if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
}

/// Zero.
impl Default for Dim {
    fn default() -> Self {
        Dim::Int(0)
    }
}

impl From<i64> for Dim {
    fn from(x: i64) -> Self {
        Dim::Int(x)
    }
}

impl From<i32> for Dim {
    fn from(x: i32) -> Self {
        Dim::Int(x.into())
    }
}

impl From<usize> for Dim {
    fn from(x: usize) -> Self {
        Dim::Int(i64::try_from(x).unwrap_or(i64::MAX))
    }
}

fn add(a: &Dim, b: &Dim) -> Dim {
    if let (Dim::Int(a), Dim::Int(b)) = (a, b) {
        return Dim::Int(a.saturating_add(*b));
    }
    let mut sum = Expr::from(a);
    for (atoms, factor) in Expr::from(b).terms() {
        sum.add(atoms.to_vec(), factor);
    }
    sum.into()
}

fn mul(a: &Dim, b: &Dim) -> Dim {
    if let (Dim::Int(a), Dim::Int(b)) = (a, b) {
        return Dim::Int(a.saturating_mul(*b));
    }
    let (a, b, mut product) = (Expr::from(a), Expr::from(b), Expr::default());
    for (left, x) in a.terms() {
        for (right, y) in b.terms() {
            let mut atoms = [left, right].concat();
            sort_by(&mut atoms, Atom::cmp);
            product.add(atoms, x.saturating_mul(y));
        }
    }
    // H/4 * 4 is H where H is a multiple of 4.
    product.terms().fold(Dim::Int(0), |sum, (atoms, factor)| add(&sum, &undo_division(atoms, factor)))
}

fn undo_division(atoms: &[Atom], factor: i64) -> Dim {
    let term = |atoms: &[Atom], factor| Dim::from(Expr::term(atoms.to_vec(), factor));
    for (i, atom) in atoms.iter().enumerate() {
        if let Atom::FloorDiv(inner, Dim::Int(divisor)) = atom
            && factor % divisor == 0
            && inner.is_multiple_of(*divisor)
        {
            let mut rest = atoms.to_vec();
            rest.remove(i);
            return mul(&term(&rest, factor / divisor), inner);
        }
    }
    term(atoms, factor)
}

macro_rules! arithmetic {
    ($($Trait:ident $method:ident |$a:ident, $b:ident| $body:expr;)+) => { $(
        impl $Trait<&Dim> for &Dim {
            type Output = Dim;

            fn $method(self, other: &Dim) -> Dim {
                let ($a, $b) = (self, other);
                $body
            }
        }

        impl $Trait<Dim> for Dim {
            type Output = Dim;

            fn $method(self, other: Dim) -> Dim {
                (&self).$method(&other)
            }
        }

        impl $Trait<&Dim> for Dim {
            type Output = Dim;

            fn $method(self, other: &Dim) -> Dim {
                (&self).$method(other)
            }
        }

        impl $Trait<Dim> for &Dim {
            type Output = Dim;

            fn $method(self, other: Dim) -> Dim {
                self.$method(&other)
            }
        }

        impl $Trait<i64> for Dim {
            type Output = Dim;

            fn $method(self, other: i64) -> Dim {
                (&self).$method(&Dim::Int(other))
            }
        }

        impl $Trait<i64> for &Dim {
            type Output = Dim;

            fn $method(self, other: i64) -> Dim {
                self.$method(&Dim::Int(other))
            }
        }
    )+ };
}
arithmetic! {
    Add add |a, b| add(a, b);
    Sub sub |a, b| sub(a, b);
    Mul mul |a, b| mul(a, b);
}

impl Neg for &Dim {
    type Output = Dim;

    fn neg(self) -> Dim {
        mul(self, &Dim::Int(-1))
    }
}

impl std::iter::Product for Dim {
    fn product<I: Iterator<Item = Dim>>(iter: I) -> Dim {
        iter.fold(Dim::Int(1), |product, dim| product * dim)
    }
}

impl std::iter::Sum for Dim {
    fn sum<I: Iterator<Item = Dim>>(iter: I) -> Dim {
        iter.fold(Dim::Int(0), |sum, dim| sum + dim)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dim::Expr(expr) = self else { return write!(f, "{}", self.as_int().unwrap_or(0)) };
        // The constant comes last.
        let [symbolic, constant] =
            [false, true].map(|wanted| expr.terms().filter(move |(atoms, _)| atoms.is_empty() == wanted));
        for (i, (atoms, factor)) in symbolic.chain(constant).enumerate() {
            match (i, factor < 0) {
                (0, false) => {}
                (0, true) => f.write_str("-")?,
                (_, false) => f.write_str(" + ")?,
                (_, true) => f.write_str(" - ")?,
            }
            let size = factor.unsigned_abs();
            if size != 1 || atoms.is_empty() {
                write!(f, "{size}{}", if atoms.is_empty() { "" } else { "*" })?;
            }
            for (j, atom) in atoms.iter().enumerate() {
                write!(f, "{}{atom}", if j == 0 { "" } else { "*" })?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grouped = |dim: &Dim| match dim.single() {
            Some((Atom::Symbol(..), 1)) => dim.to_string(),
            _ if dim.as_int().is_some() => dim.to_string(),
            _ => format!("({dim})"),
        };
        match self {
            Atom::Symbol(name, _) => f.write_str(name),
            Atom::FloorDiv(a, b) => write!(f, "{}/{}", grouped(a), grouped(b)),
            Atom::Mod(a, b) => write!(f, "{}%{}", grouped(a), grouped(b)),
            Atom::Max(a, b) => write!(f, "max({a}, {b})"),
            Atom::Min(a, b) => write!(f, "min({a}, {b})"),
        }
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
