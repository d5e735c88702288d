//! What is assumed of symbolic dimensions while shapes are inferred.
//!
//! Where an op needs two dimensions to be equal and that cannot be told, such as `N` and `M`, it goes on. Within a
//! [`scope`] the equality is kept, and everything that comes later is held against it: if `N = M` was assumed, `N = M + 1`
//! is a contradiction. Without a scope, each op stands for itself.

use std::cell::RefCell;
use std::fmt;

use super::Dim;

thread_local! {
    static SCOPES: RefCell<Vec<Assumptions>> = const { RefCell::new(Vec::new()) };
}

/// Equalities of dimensions, in the order in which they were assumed. Printed as `N = M, H = 64`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assumptions {
    /// The equalities.
    pub equal: Vec<(Dim, Dim)>,
    /// Symbols that are an expression in others: each as a dimension, its name, what it is.
    known: Vec<(Dim, String, Dim)>,
}

/// Runs `f`; gives what was assumed in it, too.
pub fn scope<R>(f: impl FnOnce() -> R) -> (R, Assumptions) {
    SCOPES.with_borrow_mut(|scopes| scopes.push(Assumptions::default()));
    /// Closes the scope, also after a panic.
    struct Close;
    impl Drop for Close {
        fn drop(&mut self) {
            SCOPES.with_borrow_mut(|scopes| drop(scopes.pop()));
        }
    }
    let close = Close;
    let result = f();
    let found = SCOPES.with_borrow(|scopes| scopes.last().cloned()).unwrap_or_default();
    drop(close);
    (result, found)
}

/// Assumes that two dimensions are equal in the innermost scope, if any; whether nothing speaks against it.
pub(super) fn equal(a: &Dim, b: &Dim) -> bool {
    SCOPES.with_borrow_mut(|scopes| scopes.last_mut().is_none_or(|scope| scope.assume(a, b)))
}

impl Assumptions {
    /// A dimension with everything that is known put in.
    pub fn resolve(&self, dim: &Dim) -> Dim {
        let known = |name: &str| self.known.iter().find(|(_, have, _)| have == name).map(|(_, _, value)| value.clone());
        dim.substitute(&known)
    }

    /// These, and what was assumed later of what they leave open.
    pub(crate) fn and(mut self, later: Self) -> Self {
        let is_new =
            |(a, b): &(Dim, Dim)| !self.equal.iter().any(|(c, d)| (&self.resolve(c), &self.resolve(d)) == (a, b));
        let equal: Vec<_> = later.equal.iter().filter(|pair| is_new(pair)).cloned().collect();
        self.equal.extend(equal);
        self.known.iter_mut().for_each(|(_, _, value)| *value = later.resolve(value));
        self.known.extend(later.known);
        self
    }

    fn assume(&mut self, a: &Dim, b: &Dim) -> bool {
        let (left, right) = (self.resolve(a), self.resolve(b));
        if let Some(equal) = left.known_eq(&right) {
            return equal;
        }
        if self.equal.iter().any(|(one, other)| (one, other) == (a, b) || (one, other) == (b, a)) {
            return true;
        }
        let mut next = self.clone();
        next.equal.push((a.clone(), b.clone()));
        if let Some((symbol, name, value)) = (&left - &right).zero_of() {
            let put = |dim: &Dim| dim.substitute(&|have| (have == name).then(|| value.clone()));
            next.known.iter_mut().for_each(|(_, _, value)| *value = put(value));
            next.known.push((symbol, name.clone(), value.clone()));
        }
        let differ = |(a, b): &(Dim, Dim)| next.resolve(a).known_eq(&next.resolve(b)) == Some(false);
        let holds = next.known.iter().all(|(symbol, _, value)| can_be(symbol, value)) && !next.equal.iter().any(differ);
        if holds {
            *self = next;
        }
        holds
    }
}

/// Whether a symbol can have a value: symbols are positive multiples of their step.
fn can_be(symbol: &Dim, value: &Dim) -> bool {
    value.as_int().is_none_or(|value| value >= symbol.step() && value % symbol.step() == 0)
}

impl fmt::Display for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.equal.iter().map(|(a, b)| format!("{a} = {b}")).collect();
        f.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Assumes the pairs in order, until one contradicts; gives how many held, and the assumptions.
    fn assumed(pairs: &[(Dim, Dim)]) -> (usize, String) {
        let (count, found) = scope(|| pairs.iter().take_while(|(a, b)| a.may_eq(b)).count());
        (count, found.to_string())
    }

    fn symbol(name: &str) -> Dim {
        Dim::symbol(name, 1)
    }

    #[test]
    fn what_is_assumed_is_kept() {
        let (n, m, k) = (symbol("N"), symbol("M"), symbol("K"));
        let pairs = [(n.clone(), m.clone()), (m.clone(), k.clone()), (n.clone(), &k + 1)];
        assert_eq!(assumed(&pairs), (2, "N = M, M = K".to_owned()));
        let pairs = [(n.clone(), Dim::Int(4)), (&n * 2, Dim::Int(8)), (n.clone(), Dim::Int(5))];
        assert_eq!(assumed(&pairs), (2, "N = 4".to_owned()));
        let half = (n.floor_div(&Dim::Int(2)), Dim::Int(4));
        let pairs = [half.clone(), half, (n.clone(), Dim::Int(20))];
        assert_eq!(assumed(&pairs), (2, "N/2 = 4".to_owned()));
    }

    #[test]
    fn a_symbol_is_a_multiple_of_its_step() {
        let h = Dim::symbol("H", 32);
        assert_eq!(assumed(&[(h.clone(), Dim::Int(64))]).0, 1);
        assert_eq!(assumed(&[(h.clone(), Dim::Int(65))]).0, 0);
        assert_eq!(assumed(&[(h.clone(), symbol("W")), (symbol("W"), Dim::Int(65))]).0, 1);
    }

    /// What cannot be solved for a symbol is assumed again when more is known.
    #[test]
    fn what_is_assumed_again_is_said_once() {
        let (n, m) = (symbol("N"), symbol("M"));
        let pairs = |m: &Dim| [((&n + m).floor_div(&Dim::Int(2)), Dim::Int(4)), (m.clone(), Dim::Int(1))];
        let all = |pairs: [(Dim, Dim); 2]| scope(|| pairs.iter().all(|(a, b)| a.may_eq(b)));
        let (_, first) = all(pairs(&m));
        let (_, second) = all(pairs(&first.resolve(&m)));
        let both = first.and(second);
        assert_eq!(both.to_string(), "(M + N)/2 = 4, M = 1");
        assert_eq!(both.resolve(&m), Dim::Int(1));
    }

    #[test]
    fn without_a_scope_nothing_is_kept() {
        let n = symbol("N");
        assert!(n.may_eq(&Dim::Int(4)) && n.may_eq(&Dim::Int(5)));
    }
}
