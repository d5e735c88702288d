//! The terms of a dimension that depends on symbols.

use std::sync::Arc;

use super::{Atom, Dim};

/// A polynomial over atoms: each product of atoms with its coefficient, none of them zero, in the order of the products.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Expr(Vec<(Vec<Atom>, i64)>);

impl Expr {
    pub(super) fn term(atoms: Vec<Atom>, coefficient: i64) -> Self {
        Self(vec![(atoms, coefficient)])
    }

    /// Adds a term.
    pub(super) fn add(&mut self, atoms: Vec<Atom>, coefficient: i64) {
        match self.find(&atoms) {
            Ok(place) => self.0[place].1 = self.0[place].1.saturating_add(coefficient),
            Err(place) => self.0.insert(place, (atoms, coefficient)),
        }
    }

    fn find(&self, atoms: &[Atom]) -> Result<usize, usize> {
        self.0.binary_search_by(|(have, _)| (**have).cmp(atoms))
    }

    /// The term without atoms.
    pub(super) fn constant(&self) -> i64 {
        self.find(&[]).map_or(0, |place| self.0[place].1)
    }

    /// The terms in their order, which begins with the constant.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&[Atom], i64)> + Clone {
        self.0.iter().map(|(atoms, coefficient)| (&**atoms, *coefficient))
    }

    /// The term, if there is one only.
    pub(super) fn single(&self) -> Option<(&[Atom], i64)> {
        self.terms().next().filter(|_| self.0.len() == 1)
    }
}

impl From<Expr> for Dim {
    fn from(mut expr: Expr) -> Self {
        expr.0.retain(|(_, coefficient)| *coefficient != 0);
        match expr.single() {
            None if expr.0.is_empty() => Dim::Int(0),
            Some(([], x)) => Dim::Int(x),
            _ => Dim::Expr(Arc::new(expr)),
        }
    }
}

impl From<&Dim> for Expr {
    fn from(dim: &Dim) -> Self {
        match dim {
            Dim::Int(0) => Self::default(),
            Dim::Int(x) => Self::term(Vec::new(), *x),
            Dim::Expr(expr) => (**expr).clone(),
        }
    }
}
