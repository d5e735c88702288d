//! What is done with the sums of a product before they are written.

use crate::elementwise::Unary;
use crate::simd::Vector;

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
    pub(crate) fn at_row(&self, row: usize) -> Self {
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

    /// A vector of sums of a row, with all that follows but a function that is more than bounds. `load` reads the vector's
    /// columns of what begins at a place, and `to` is where the row of the result begins.
    #[inline(always)]
    pub(crate) fn finish<V: Vector<Elem = f32>>(
        &self,
        mut sums: V,
        row: usize,
        to: *const f32,
        load: impl Fn(*const f32) -> V,
    ) -> V {
        if let Some(bias) = self.bias {
            sums = sums + load(bias.as_ptr());
        }
        sums = self.add(sums, row, to, load);
        if let Some((low, high)) = self.bounds() {
            sums = V::splat(high).min(V::splat(low).max(sums));
        }
        sums
    }

    /// Whether matrices are added.
    pub(crate) fn adds(&self) -> bool {
        self.accumulate || self.residual.is_some()
    }

    /// A vector of sums of a row, with the matrices that are added; see [`finish`](Self::finish).
    #[inline(always)]
    pub(crate) fn add<V: Vector<Elem = f32>>(
        &self,
        mut sums: V,
        row: usize,
        to: *const f32,
        load: impl Fn(*const f32) -> V,
    ) -> V {
        if self.accumulate {
            sums = sums + load(to);
        }
        if let Some(residual) = self.residual {
            sums = sums + load(residual.data.as_ptr().wrapping_add(row * residual.stride));
        }
        sums
    }
}
