//! State: parameters, buffers, the training flag.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::deep::handle;
use super::make::{Like, Make};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::fallible;
use crate::tensor::{DType, Dims, Tensor};
use crate::value::{Call, Callee, Value};

/// Grows whenever a parameter, a buffer or a training flag anywhere is set: as long as it stands still, nothing has
/// changed.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// The state of all modules, as a number that grows with every change.
pub(crate) fn state_epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// The last epoch at which something was seen to be unchanged.
pub(crate) struct StateEpoch(AtomicU64);

impl StateEpoch {
    pub(crate) fn now() -> Self {
        Self(AtomicU64::new(state_epoch()))
    }

    pub(crate) fn is(&self, epoch: u64) -> bool {
        self.0.load(Ordering::Relaxed) == epoch
    }

    pub(crate) fn set(&self, epoch: u64) {
        self.0.store(epoch, Ordering::Relaxed);
    }
}

/// A tensor, or how it is made when it is first asked for.
enum Content {
    Made(Tensor),
    Lazy(Arc<Like>),
}

/// A tensor that other handles of the same module share, and that can be replaced by one like it.
struct Cell {
    shape: Dims,
    dtype: DType,
    content: RwLock<Content>,
    version: AtomicU64,
}

impl Cell {
    fn of(tensor: Tensor) -> Self {
        let content = RwLock::new(Content::Made(tensor.clone()));
        Self { shape: Dims::from_slice(tensor.shape()), dtype: tensor.dtype(), content, version: AtomicU64::new(0) }
    }

    fn lazy(shape: &[usize], dtype: DType, make: Arc<dyn Make>) -> Self {
        let shape = Dims::from_slice(shape);
        let content = Content::Lazy(Arc::new(Like { shape: shape.clone(), dtype, make }));
        Self { shape, dtype, content: RwLock::new(content), version: AtomicU64::new(0) }
    }

    /// Another cell that starts as this one is.
    fn copy(&self) -> Self {
        let content = match &*self.content() {
            Content::Made(tensor) => Content::Made(tensor.clone()),
            Content::Lazy(make) => Content::Lazy(Arc::clone(make)),
        };
        Self { shape: self.shape.clone(), content: RwLock::new(content), version: AtomicU64::new(0), ..*self }
    }

    fn content(&self) -> RwLockReadGuard<'_, Content> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self) -> Result<Tensor> {
        if let Content::Made(tensor) = &*self.content() {
            return Ok(tensor.clone());
        }
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let made = match &*content {
            Content::Made(tensor) => return Ok(tensor.clone()),
            Content::Lazy(make) => make.tensor()?,
        };
        // What it was made from can go.
        *content = Content::Made(made.clone());
        Ok(made)
    }

    /// The tensor. One that cannot be made is an error of the calls that are running; without any this panics.
    #[track_caller]
    fn get_or_fail(&self) -> Tensor {
        self.get().unwrap_or_else(|error| {
            assert!(fallible::is_open(), "{error}");
            fallible::note(error);
            Tensor::filled(&*self.shape, 0.0, self.dtype)
        })
    }

    /// What gives the tensor as it is now, also after another was set; one that was not made is not kept.
    fn snapshot(&self) -> Arc<dyn Make> {
        match &*self.content() {
            Content::Made(tensor) => Arc::new(tensor.clone()),
            Content::Lazy(make) => Arc::<Like>::clone(make),
        }
    }

    fn set(&self, tensor: Tensor) -> Result<()> {
        if *self.shape != *tensor.shape() {
            let message = format!("a tensor of shape {:?} cannot replace one of {:?}", tensor.shape(), &*self.shape);
            return Err(Error::new(ErrorKind::State, message));
        }
        self.replace(Content::Made(tensor.to_dtype(self.dtype)));
        Ok(())
    }

    fn replace(&self, content: Content) {
        *self.content.write().unwrap_or_else(PoisonError::into_inner) = content;
        self.version.fetch_add(1, Ordering::Release);
        EPOCH.fetch_add(1, Ordering::Release);
    }
}

macro_rules! state {
    ($(#[$meta:meta])* $State:ident, $callee:ident, $what:literal) => {
        $(#[$meta])*
        pub struct $State(Arc<Cell>);

        impl Clone for $State {
            #[doc = concat!("Another handle of the same ", $what, ".")]
            fn clone(&self) -> Self {
                Self(handle(&self.0, Cell::copy))
            }
        }

        impl $State {
            #[doc = concat!("A ", $what, " that starts as `tensor`.")]
            pub fn new(tensor: Tensor) -> Self {
                Self(Arc::new(Cell::of(tensor)))
            }

            #[doc = concat!("A ", $what, " of this shape and element type, made when it is first read; one that is set ")]
            /// before, as by loading a file, never is. `make` may be called again where the tensor is not kept, and gives
            /// the same each time.
            ///
            /// # Panics
            /// When it is read, if what is made has another shape.
            pub fn lazy(
                shape: &[usize],
                dtype: DType,
                make: impl Fn() -> Tensor + Send + Sync + 'static,
            ) -> Self {
                Self::made_by(shape, dtype, Arc::new(make))
            }

            /// As [`lazy`](Self::lazy).
            pub(crate) fn made_by(shape: &[usize], dtype: DType, make: Arc<dyn Make>) -> Self {
                Self(Arc::new(Cell::lazy(shape, dtype, make)))
            }

            #[doc = concat!("The ", $what, "'s tensor.")]
            ///
            /// # Panics
            /// If it is read from a file now, and cannot be.
            #[track_caller]
            pub fn tensor(&self) -> Tensor {
                self.0.get_or_fail()
            }

            #[doc = concat!("The ", $what, "'s tensor.")]
            ///
            /// # Errors
            /// If it is read from a file now, and cannot be.
            pub(crate) fn try_tensor(&self) -> Result<Tensor> {
                self.0.get()
            }

            #[doc = concat!("The ", $what, " as a value: its tensor in eager code, a node in a trace.")]
            #[track_caller]
            pub fn value<V: Value>(&self) -> V {
                Call::new(Callee::$callee(self)).output()
            }

            /// Replaces the tensor, for all handles, by one of the same shape, converted to the same element type.
            ///
            /// # Errors
            /// If the shapes differ.
            pub fn set(&self, tensor: Tensor) -> Result<()> {
                self.0.set(tensor)
            }

            /// The size of each dimension: static, unlike that of a value.
            pub fn shape(&self) -> Vec<usize> {
                self.0.shape.to_vec()
            }

            /// The element type.
            pub fn dtype(&self) -> DType {
                self.0.dtype
            }

            /// A number that grows whenever the tensor is replaced.
            pub fn version(&self) -> u64 {
                self.0.version.load(Ordering::Acquire)
            }

            #[doc = concat!("The ", $what, "'s identity: equal for handles that share it.")]
            pub fn id(&self) -> usize {
                Arc::as_ptr(&self.0).addr()
            }
        }

        impl fmt::Debug for $State {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($State), "({}{:?})"), self.dtype(), self.shape())
            }
        }
    };
}

state! {
    /// A tensor that training changes: a weight, a bias.
    Parameter, Parameter, "parameter"
}
impl Parameter {
    /// Replaces the tensor, for all handles, by one of the same shape that is made when it is first read.
    pub(crate) fn set_lazy(&self, make: impl Make + 'static) {
        let like = Like { shape: self.0.shape.clone(), dtype: self.0.dtype, make: Arc::new(make) };
        self.0.replace(Content::Lazy(Arc::new(like)));
    }

    /// What gives the tensor as it is now, also after another was set; one that was not made is not kept.
    pub(crate) fn snapshot(&self) -> Arc<dyn Make> {
        self.0.snapshot()
    }

    /// What gives some rows of a tensor that was not made, without making it, if there is such a way.
    pub(crate) fn by_rows(&self) -> Option<Arc<dyn Make>> {
        match &*self.0.content() {
            Content::Lazy(make) if make.is_by_rows() => Some(Arc::<Like>::clone(make)),
            _ => None,
        }
    }
}

state! {
    /// A tensor of a module that is no parameter: running statistics, masks.
    Buffer, Buffer, "buffer"
}

/// Whether a module is training. A field of this type is found and set by `train` and `eval`, here and in all handles.
pub struct Training(Arc<AtomicBool>);

impl Clone for Training {
    /// Another handle of the same flag.
    fn clone(&self) -> Self {
        Self(handle(&self.0, |flag| AtomicBool::new(flag.load(Ordering::Relaxed))))
    }
}

impl Training {
    /// Training, as modules start.
    pub fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Whether the module is training.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag's identity: equal for handles that share it.
    pub(super) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Sets whether the module is training.
    pub fn set(&self, training: bool) {
        if self.0.swap(training, Ordering::Relaxed) != training {
            EPOCH.fetch_add(1, Ordering::Release);
        }
    }
}

impl Default for Training {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Training {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Training({})", self.get())
    }
}
