//! What is done with the sums of a product before they are written.

use crate::elementwise::Unary;
use crate::math::{self, Floats};

/// What follows a product: its value is `activation(sums + bias + residual)`.
///
/// ```
/// use fx_kernels::elementwise::Unary;
/// use fx_kernels::dense::Epilogue;
///
/// let bias = [0.5, -0.5];
/// let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
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
    pub activation: Option<Unary>,
}

/// A matrix that is added to a product.
#[derive(Clone, Copy, Debug)]
pub struct Residual<'a> {
    /// Its numbers.
    pub data: &'a [f32],
    /// The distance of its rows.
    pub stride: usize,
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

    /// For the rows from one on.
    #[inline]
    pub fn at_row(&self, row: usize) -> Self {
        let residual = self.residual.map(|Residual { data, stride }| {
            let data = &data[(row * stride).min(data.len())..];
            Residual { data, stride }
        });
        Self { residual, ..*self }
    }

    /// The bounds, where the activation is no more than that.
    pub(crate) fn bounds(&self) -> Option<(f32, f32)> {
        match self.activation? {
            Unary::Relu => Some((0.0, f32::INFINITY)),
            Unary::Relu6 => Some((0.0, 6.0)),
            Unary::Clamp(low, high) => Some((low, high)),
            _ => None,
        }
    }

    /// The activation, where it is more than bounds.
    pub(crate) fn function(&self) -> Option<Unary> {
        self.activation.filter(|_| self.bounds().is_none())
    }

    /// The bounds, infinite where there are none.
    pub(crate) fn limits(&self) -> (f32, f32) {
        self.bounds().unwrap_or((f32::NEG_INFINITY, f32::INFINITY))
    }

    /// Sums with all that follows but a function that is more than bounds. `load` reads what stands in the sums' places, of a
    /// matrix that begins somewhere and has rows at a distance, as `out`, the result, has.
    #[inline(always)]
    pub(crate) fn finish<V: Floats>(
        &self,
        mut sums: V,
        out: (*const f32, usize),
        load: impl Fn(*const f32, usize) -> V,
    ) -> V {
        if let Some(bias) = self.bias {
            sums = sums + load(bias.as_ptr(), 0);
        }
        sums = self.add(sums, out, load);
        if let Some((low, high)) = self.bounds() {
            sums = math::clamp(sums, low, high);
        }
        sums
    }

    /// Whether matrices are added.
    pub(crate) fn adds(&self) -> bool {
        self.accumulate || self.residual.is_some()
    }

    /// Sums with the matrices that are added; see [`finish`](Self::finish).
    #[inline(always)]
    pub(crate) fn add<V: Floats>(
        &self,
        mut sums: V,
        (out, stride): (*const f32, usize),
        load: impl Fn(*const f32, usize) -> V,
    ) -> V {
        if self.accumulate {
            sums = sums + load(out, stride);
        }
        if let Some(Residual { data, stride }) = self.residual {
            sums = sums + load(data.as_ptr(), stride);
        }
        sums
    }
}
