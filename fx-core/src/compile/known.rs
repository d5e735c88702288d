//! What a plan knows of the arguments of a call.

use std::sync::{Arc, Mutex};

use fx_kernels::dense::Weight;

use super::layout::Layout;
use crate::error::Result;
use crate::module::{Make, Parameter};
use crate::tensor::{DType, Dims, Tensor};

/// What a plan knows of an argument before a run.
#[derive(Clone)]
pub(super) enum Known {
    /// All of it.
    Constant(Tensor),
    /// All of it, when it is read; one that was not made before need not be kept once it is packed.
    Parameter(Stored),
    /// How it lies, and the register that it will be in.
    Value(Layout, usize),
    /// The register alone.
    Opaque(usize),
}

/// A parameter, or a view of one.
#[derive(Clone)]
pub(super) struct Stored {
    parameter: Parameter,
    /// How it lies, from `offset` on, where the parameter lies in row-major order.
    layout: Layout,
    offset: usize,
}

impl Stored {
    pub(super) fn whole(parameter: Parameter) -> Self {
        let layout = Layout::row_major(parameter.dtype(), &parameter.shape());
        Self { parameter, layout, offset: 0 }
    }

    /// The same parameter, in another way.
    pub(super) fn view(&self, layout: Layout, offset: usize) -> Self {
        Self { parameter: self.parameter.clone(), layout, offset: self.offset + offset }
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    fn is_whole(&self) -> bool {
        self.layout == Layout::row_major(self.parameter.dtype(), &self.parameter.shape())
    }

    fn of(&self, tensor: &Tensor) -> Tensor {
        tensor.contiguous().aside(&self.layout.shape, &self.layout.strides, self.offset)
    }

    /// The tensor, which is kept.
    pub(super) fn kept(&self) -> Tensor {
        self.of(&self.parameter.tensor())
    }

    /// The tensor, which is not kept if it was not made before.
    fn peek(&self) -> Result<Tensor> {
        Ok(self.of(&self.parameter.snapshot().tensor()?))
    }
}

/// Which weight: by the parameter, or by storage, and by offset, shape and strides.
pub(super) type Place = (usize, usize, [Dims; 2]);

impl Known {
    /// The shape of an f32 tensor that is known.
    pub(super) fn weight(&self) -> Option<Dims> {
        self.weight_in(DType::F32)
    }

    /// The shape of a tensor that is known, if its elements have this type. The tensor is not made for it.
    pub(super) fn weight_in(&self, wanted: DType) -> Option<Dims> {
        let (dtype, shape) = match self {
            Known::Constant(tensor) => (tensor.dtype(), Dims::from_slice(tensor.shape())),
            Known::Parameter(stored) => (stored.layout.dtype, stored.layout.shape.clone()),
            Known::Value(..) | Known::Opaque(_) => return None,
        };
        (dtype == wanted).then_some(shape)
    }

    /// The tensor, if it is known; it is kept.
    pub(super) fn constant(&self) -> Option<Tensor> {
        match self {
            Known::Constant(tensor) => Some(tensor.clone()),
            Known::Parameter(stored) => Some(stored.kept()),
            Known::Value(..) | Known::Opaque(_) => None,
        }
    }

    /// The tensor, contiguous, if it is known and in f32.
    pub(super) fn single(&self) -> Option<Tensor> {
        self.constant().filter(|tensor| tensor.dtype() == DType::F32).map(|tensor| tensor.contiguous())
    }

    /// Whether the tensor is known before a run.
    pub(super) fn is_known(&self) -> bool {
        matches!(self, Known::Constant(_) | Known::Parameter(_))
    }

    /// Which weight it is.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Known::Constant(tensor) => {
                let form = [tensor.shape(), tensor.strides()].map(Dims::from_slice);
                Some((tensor.storage_id(), tensor.offset(), form))
            }
            Known::Parameter(stored) => {
                let Layout { shape, strides, .. } = &stored.layout;
                Some((stored.parameter.id(), stored.offset, [shape.clone(), strides.clone()]))
            }
            Known::Value(..) | Known::Opaque(_) => None,
        }
    }

    /// The tensor, which need not be kept.
    ///
    /// # Errors
    /// If it cannot be read.
    ///
    /// # Panics
    /// If it is not known.
    pub(super) fn peek(&self) -> Result<Tensor> {
        match self {
            Known::Constant(tensor) => Ok(tensor.clone()),
            Known::Parameter(stored) => stored.peek(),
            Known::Value(..) | Known::Opaque(_) => unreachable!("invariant: the weight has a place"),
        }
    }

    /// Whether its rows are read as they are packed.
    pub(super) fn is_by_rows(&self) -> bool {
        self.rows().is_some()
    }

    /// What reads its rows without keeping them, if nothing has them already.
    fn rows(&self) -> Option<Arc<dyn Make>> {
        match self {
            Known::Parameter(stored) if stored.is_whole() => stored.parameter.by_rows(),
            _ => None,
        }
    }

    /// What is packed of its rows, which are read as they are packed if nothing else needs them.
    ///
    /// # Errors
    /// If it cannot be read.
    ///
    /// # Panics
    /// If it is not known.
    pub(super) fn pack<P>(&self, pack: impl FnOnce(Weight<'_>) -> P) -> Result<P> {
        if let Some(rows) = self.rows() {
            let fault = Mutex::new(Ok(()));
            let read = |range, to: &mut [f32]| {
                if let Err(error) = rows.read_rows(&range, to) {
                    to.fill(0.0);
                    *fault.lock().expect("invariant: nothing panics here") = Err(error);
                }
            };
            let packed = pack(Weight::Rows(&read));
            return fault.into_inner().expect("invariant: nothing panics here").map(|()| packed);
        }
        let tensor = self.peek()?.contiguous();
        Ok(pack(Weight::Numbers(tensor.as_slice().unwrap_or_default())))
    }
}
