//! Parentheses that numbers need where they stand.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, n: i64) -> Tensor {
    let (n, y) = (n, x.relu());
    let scale = (n - 1) as f64;
    let shift = (n as f64 + 1.0) as i64 as f64;
    if (n > 1) && !(n == 5) { y * scale + ((n + 1) * 2) as f64 } else { y + (shift - (n - 1) as f64) }
}

#[test]
fn their_values_are_kept() {
    let x = Tensor::ones([1]);
    assert_eq!(f(&x, 3).to_vec::<f32>(), [10.0]);
    assert_eq!(f(&x, 5).to_vec::<f32>(), [3.0]);
}
