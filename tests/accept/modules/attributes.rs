//! Documentation, `cfg`, `allow` and visibility stay.

use fx::nn;
use fx::prelude::*;

/// A documented module.
#[traceable]
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// A documented field.
    pub(crate) linear: nn::Linear,
    #[cfg(any())]
    absent: nn::Linear,
    #[allow(dead_code, reason = "to see that the attribute stays")]
    scale: f64,
}

#[traceable]
impl Model {
    /// A documented constructor.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { linear: nn::Linear::new(3, 3), scale: 1.0 }
    }

    /// A documented `forward`.
    #[inline]
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        #[allow(unused_variables, reason = "to see that the attribute stays")]
        let unused = x.size(0);
        self.linear.forward(x)
    }

    #[cfg(any())]
    fn absent(&self, x: &Missing) -> Tensor {
        x
    }
}

#[test]
fn it_runs() {
    let model = Model::new();
    assert!(format!("{model:?}").contains("Linear"));
    assert_eq!(model.forward(Tensor::zeros([1, 3])).shape(), [1, 3]);
}
