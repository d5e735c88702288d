use fx::nn;
use fx::passes::{QConfigMapping, prepare_fx};
use fx::prelude::*;

use super::fill::floats;

/// A model with two results is calibrated as others are.
#[test]
fn several_results_are_observed() {
    #[traceable]
    struct Two {
        layer: nn::Linear,
    }
    #[traceable]
    impl Two {
        fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
            let y = self.layer.forward(x);
            (y.relu(), y)
        }
    }
    let mut prepared =
        prepare_fx(&fx::trace(&Two { layer: nn::Linear::new(4, 3) }).unwrap(), &QConfigMapping::new()).unwrap();
    let x = floats("x", &[2, 4]);
    let error = prepared.forward(&x).unwrap_err().to_string();
    assert!(error.contains("`Prepared::forward_as`"), "{error}");
    let (above, all): (Tensor, Tensor) = prepared.forward_as(&x).unwrap();
    assert_eq!(above, all.relu());
    let quantized = prepared.convert_fx().unwrap();
    let (_, rounded): (Tensor, Tensor) = quantized.forward_as(&x).unwrap();
    assert!(rounded.all_close(&all, 0.05, 0.05), "off by {}", rounded.max_abs_diff(&all));
}
