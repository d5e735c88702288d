//! Lists of traced values in order.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, y: &Tensor) -> Tensor {
    let mut sums = vec![x.sum(), y.sum()];
    sums.sort();
    let largest = vec![x.sum(), y.sum()].into_iter().max().unwrap();
    let smallest = [x, y].into_iter().min_by_key(|x| x.sum()).unwrap();
    let mut tensors = vec![x, y];
    tensors.sort_by_key(|x| x.size(0));
    let either = std::cmp::max(x, y);
    sums[0].clone() + largest + smallest + either
}

fn main() {}
