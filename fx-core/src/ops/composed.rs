//! Functions of PyTorch that are compositions of ops: a trace has the ops that they are made of, so passes and plans need not
//! know them. They are methods too, see [`Derived`](super::derived::Derived).

use std::panic::Location;

use super::kind::{self, Encode, int_of};
use super::{FlattenOptions, NormOptions, StackOptions};
use crate::error::Error;
use crate::value::{Operand, SymInt, Tree as _, Value};

/// The tensor of an operand.
#[track_caller]
fn tensor<V: Value>(operand: impl Operand<V>) -> V {
    match V::from_arg(operand.into_operand()) {
        Ok(value) => value,
        Err(error) => V::fail(error),
    }
}

/// Refuses an argument at the user's line.
#[track_caller]
fn refuse<V: Value>(function: &str, message: String) -> V {
    V::fail(Error::argument(message).in_op(function, Vec::new).at(Location::caller()))
}

/// As [`Derived::meshgrid`](super::derived::Derived::meshgrid).
#[track_caller]
pub fn meshgrid<V: Value, const N: usize>(tensors: [impl Operand<V>; N], indexing: &str) -> [V; N] {
    const { assert!(N > 0, "meshgrid takes at least one tensor") };
    if !matches!(indexing, "ij" | "xy") {
        let failed: V = refuse("meshgrid", format!("`indexing` is \"ij\" or \"xy\", not \"{indexing}\""));
        return std::array::from_fn(|_| failed.clone());
    }
    // The dimension that a tensor lies along: those of the first two are swapped for images.
    let place = |i: usize| if indexing == "xy" && N > 1 && i < 2 { 1 - i } else { i };
    let mut lines = Vec::with_capacity(N);
    for operand in tensors {
        lines.push(tensor::<V>(operand));
    }
    let mut sizes = vec![SymInt::from(1_i64); N];
    for (i, line) in lines.iter().enumerate() {
        let [size] = line.sizes();
        sizes[place(i)] = size;
    }
    for (i, line) in lines.iter_mut().enumerate() {
        let mut shape = [1_i64; N];
        shape[place(i)] = -1;
        *line = line.reshape(shape).expand(&sizes[..]);
    }
    lines.try_into().expect("invariant: one grid for each tensor")
}

/// As [`Derived::channel_shuffle`](super::derived::Derived::channel_shuffle).
#[track_caller]
pub fn channel_shuffle<V: Value>(input: impl Operand<V>, groups: impl Encode<kind::int, V>) -> V {
    let groups = int_of(&groups.encode()).unwrap_or(0);
    if groups < 1 {
        return refuse("channel_shuffle", format!("`groups` must be at least 1, found {groups}"));
    }
    let split = tensor::<V>(input).unflatten(1, (groups, -1));
    split.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(1).end_dim(2))
}

/// As [`Derived::pairwise_distance`](super::derived::Derived::pairwise_distance).
#[track_caller]
pub fn pairwise_distance<V: Value>(x1: impl Operand<V>, x2: impl Operand<V>) -> V {
    pairwise_distance_with(x1, x2, PairwiseDistanceOptions::new())
}

/// As [`pairwise_distance`], with options.
#[track_caller]
pub fn pairwise_distance_with<V: Value>(
    x1: impl Operand<V>,
    x2: impl Operand<V>,
    options: PairwiseDistanceOptions,
) -> V {
    let difference = tensor::<V>(x1) - tensor::<V>(x2) + options.eps;
    difference.norm_with(NormOptions::new().p(options.p).dim(-1_i64).keepdim(options.keepdim))
}

/// As [`Derived::cross`](super::derived::Derived::cross).
#[track_caller]
pub fn cross<V: Value>(input: impl Operand<V>, other: impl Operand<V>, dim: i64) -> V {
    let [a, b, c] = tensor::<V>(input).unbind(dim);
    let [x, y, z] = tensor::<V>(other).unbind(dim);
    let parts = [b.clone() * &z - c.clone() * &y, c * &x - a.clone() * &z, a * &y - b * &x];
    V::stack_with(parts, StackOptions::new().dim(dim))
}

/// As [`Derived::diff`](super::derived::Derived::diff).
#[track_caller]
pub fn diff<V: Value>(input: impl Operand<V>, n: usize, dim: i64) -> V {
    let mut x = tensor::<V>(input);
    for _ in 0..n {
        let rest = x.size(dim) - 1_i64;
        x = x.narrow(dim, 1_i64, &rest) - x.narrow(dim, 0_i64, &rest);
    }
    x
}

/// Options of `pairwise_distance`; those not set are at their defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairwiseDistanceOptions {
    p: f64,
    eps: f64,
    keepdim: bool,
}

impl PairwiseDistanceOptions {
    /// All options at their defaults.
    pub fn new() -> Self {
        Self { p: 2.0, eps: 1e-6, keepdim: false }
    }

    /// Sets `p`, which norm it is; its default is `2.0`.
    #[must_use]
    pub fn p(mut self, p: impl Into<f64>) -> Self {
        self.p = p.into();
        self
    }

    /// Sets `eps`, which is added to the difference; its default is `1e-6`.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Sets `keepdim`; its default is `false`.
    #[must_use]
    pub fn keepdim(mut self, keepdim: bool) -> Self {
        self.keepdim = keepdim;
        self
    }
}

impl Default for PairwiseDistanceOptions {
    fn default() -> Self {
        Self::new()
    }
}
