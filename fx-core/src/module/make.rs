//! How a tensor is made that is not in memory.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::tensor::{DType, Dims, Tensor};

/// Makes a tensor, the same each time.
pub(crate) trait Make: Send + Sync {
    /// The tensor.
    fn tensor(&self) -> Result<Tensor>;

    /// Whether some rows can be had without the others.
    fn is_by_rows(&self) -> bool {
        false
    }

    /// Writes some rows, which are what the first dimension counts, as f32.
    fn read_rows(&self, rows: &Range<usize>, to: &mut [f32]) -> Result<()> {
        self.tensor()?.read_rows(rows, to)
    }
}

impl<F: Fn() -> Tensor + Send + Sync> Make for F {
    fn tensor(&self) -> Result<Tensor> {
        Ok(self())
    }
}

impl Make for Tensor {
    fn tensor(&self) -> Result<Tensor> {
        Ok(self.clone())
    }

    fn is_by_rows(&self) -> bool {
        self.as_slice::<f32>().is_some()
    }

    fn read_rows(&self, rows: &Range<usize>, to: &mut [f32]) -> Result<()> {
        let whole = self.contiguous().to_dtype(DType::F32);
        let start = rows.start * (to.len() / rows.len().max(1));
        to.copy_from_slice(&whole.as_slice::<f32>().unwrap_or_default()[start..][..to.len()]);
        Ok(())
    }
}

/// Something made that is to have a shape, in an element type.
pub(super) struct Like {
    pub(super) shape: Dims,
    pub(super) dtype: DType,
    pub(super) make: Arc<dyn Make>,
}

impl Make for Like {
    fn tensor(&self) -> Result<Tensor> {
        let made = self.make.tensor()?;
        assert_eq!(made.shape(), &*self.shape, "a tensor is made with the shape that it was said to have");
        Ok(made.to_dtype(self.dtype))
    }

    fn is_by_rows(&self) -> bool {
        self.dtype == DType::F32 && self.make.is_by_rows()
    }

    fn read_rows(&self, rows: &Range<usize>, to: &mut [f32]) -> Result<()> {
        self.make.read_rows(rows, to)
    }
}
