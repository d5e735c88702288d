//! What is done with the sums of a product before they are written.

use crate::simd::Level;

/// What follows a product: its value is `activation(sums + bias + residual)`.
///
/// ```
/// use fx_kernels::dense::{Activation, Epilogue};
///
/// let bias = [0.5, -0.5];
/// let epilogue = Epilogue { bias: Some(&bias), activation: Activation::Relu, ..Epilogue::default() };
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'a> {
    /// A number for each column.
    pub bias: Option<&'a [f32]>,
    /// A matrix of the result's size.
    pub residual: Option<Residual<'a>>,
    /// Whether the sums start from what is at the result's place.
    pub accumulate: bool,
    /// A function of each number.
    pub activation: Activation,
}

/// A matrix that is added to a product.
#[derive(Clone, Copy, Debug)]
pub struct Residual<'a> {
    /// Its numbers.
    pub data: &'a [f32],
    /// The distance of its rows.
    pub stride: usize,
}

/// A function of each number of a product.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Activation {
    /// The number itself.
    #[default]
    None,
    /// `max(x, 0)`.
    Relu,
    /// The number, but at least the first bound and at most the second.
    Clamp(f32, f32),
}

impl Epilogue<'_> {
    /// Sees that the operands cover `rows` rows of `width` numbers.
    pub(crate) fn check(&self, rows: usize, width: usize) {
        if let Some(bias) = self.bias {
            assert!(bias.len() >= width, "{} biases for {width} columns", bias.len());
        }
        if let Some(Residual { data, stride }) = self.residual {
            assert!(rows == 0 || (rows - 1) * stride + width <= data.len(), "the residual is too short");
        }
    }

    /// The bounds, where the activation is no more than that.
    pub(crate) fn bounds(&self) -> Option<(f32, f32)> {
        match self.activation {
            Activation::Relu => Some((0.0, f32::INFINITY)),
            Activation::Clamp(low, high) => Some((low, high)),
            Activation::None => None,
        }
    }

    /// Applies an activation that is more than bounds to a tile.
    ///
    /// # Safety
    /// The tile must be the caller's to read and write.
    pub(crate) unsafe fn finish(&self, _level: Level, _out: *mut f32, _rows: usize, _columns: usize, _stride: usize) {}
}
