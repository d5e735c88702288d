//! Deterministic weights and inputs, the same in Rust and in Python (`tools/torch_ref/fill.py`, which says how).

use fx::module::{Entry, entries};
use fx::{Module, Tensor};

/// FNV-1a of a name.
fn seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The numbers of splitmix64 that a name seeds.
fn bits(name: &str) -> impl Iterator<Item = u64> {
    let mut state = seed(name);
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Numbers in `[-1, 1)`, each as `f` makes it.
fn tensor(name: &str, shape: &[usize], f: impl Fn(f64) -> f64) -> Tensor {
    let units = bits(name).map(|bits| (bits >> 40) as f64 / f64::from(1 << 23) - 1.0);
    Tensor::from_vec(shape, units.take(shape.iter().product()).map(|u| f(u) as f32).collect())
}

/// An input of floats in `[-1, 1)`.
pub(crate) fn floats(name: &str, shape: &[usize]) -> Tensor {
    tensor(name, shape, |u| u)
}

/// An input of integers in `0..below`.
pub(crate) fn integers(name: &str, shape: &[usize], below: u64) -> Tensor {
    let count = shape.iter().product();
    Tensor::from_vec(shape, bits(name).take(count).map(|bits| (bits % below) as i64).collect())
}

/// A parameter or buffer of a model.
fn parameter(name: &str, shape: &[usize]) -> Tensor {
    let is_weight = name.ends_with("weight");
    if name.ends_with("running_var") {
        tensor(name, shape, |u| 1.0 + 0.5 * u)
    } else if shape.len() <= 1 && is_weight {
        tensor(name, shape, |u| 1.0 + 0.1 * u)
    } else if shape.len() <= 1 {
        tensor(name, shape, |u| 0.1 * u)
    } else {
        let scale = (3.0 / shape[1..].iter().product::<usize>() as f64).sqrt();
        tensor(name, shape, |u| u * scale)
    }
}

/// Fills all parameters and buffers of a module but PyTorch's counters; gives their names and shapes.
pub(crate) fn fill(module: &dyn Module) -> Vec<(String, Vec<usize>)> {
    let mut filled = Vec::new();
    for (name, entry) in entries(module) {
        let shape = match entry {
            _ if name.ends_with("num_batches_tracked") => continue,
            Entry::Parameter(state) => {
                state.set(parameter(&name, &state.shape())).expect("the shape is its own");
                state.shape()
            }
            Entry::Buffer(state) => {
                state.set(parameter(&name, &state.shape())).expect("the shape is its own");
                state.shape()
            }
            _ => continue,
        };
        filled.push((name, shape));
    }
    filled
}
