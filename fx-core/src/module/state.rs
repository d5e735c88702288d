//! State: parameters, buffers, the training flag.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::deep::handle;
use crate::error::{Error, ErrorKind, Result};
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

/// How a tensor is made; it is the same each time.
pub(crate) type Make = Arc<dyn Fn() -> Tensor + Send + Sync>;

/// A tensor, or how it is made when it is first asked for.
enum Content {
    Made(Tensor),
    Lazy(OnceLock<Tensor>, Make),
}

impl Content {
    fn lazy(shape: &[usize], dtype: DType, make: impl Fn() -> Tensor + Send + Sync + 'static) -> Self {
        let wanted = Dims::from_slice(shape);
        let make = move || {
            let made = make();
            assert_eq!(made.shape(), &*wanted, "a tensor is made with the shape that it was said to have");
            made.to_dtype(dtype)
        };
        Self::Lazy(OnceLock::new(), Arc::new(make))
    }
}

/// A tensor that other handles of the same module share, and that can be replaced by one like it.
struct Cell {
    shape: Dims,
    dtype: DType,
    content: RwLock<Content>,
    version: AtomicU64,
}

impl Cell {
    fn new(shape: &[usize], dtype: DType, content: Content) -> Self {
        let shape = Dims::from_slice(shape);
        Self { shape, dtype, content: RwLock::new(content), version: AtomicU64::new(0) }
    }

    fn of(tensor: Tensor) -> Self {
        Self::new(tensor.shape(), tensor.dtype(), Content::Made(tensor.clone()))
    }

    fn get(&self) -> Tensor {
        let made = match &*self.content.read().unwrap_or_else(PoisonError::into_inner) {
            Content::Made(tensor) => return tensor.clone(),
            Content::Lazy(made, make) => made.get_or_init(&**make).clone(),
        };
        // What it was made from can go.
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        match &*content {
            Content::Made(tensor) => tensor.clone(),
            Content::Lazy(..) => {
                *content = Content::Made(made.clone());
                made
            }
        }
    }

    /// The tensor, which is not kept if it was not made before.
    fn peek(&self) -> Tensor {
        match &*self.content.read().unwrap_or_else(PoisonError::into_inner) {
            Content::Made(tensor) => tensor.clone(),
            Content::Lazy(made, make) => made.get().cloned().unwrap_or_else(&**make),
        }
    }

    /// What gives the tensor as it is now, also after another was set; one that was not made is not kept.
    fn snapshot(&self) -> Make {
        match &*self.content.read().unwrap_or_else(PoisonError::into_inner) {
            Content::Made(tensor) => {
                let tensor = tensor.clone();
                Arc::new(move || tensor.clone())
            }
            Content::Lazy(_, make) => Arc::clone(make),
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
                Self(handle(&self.0, |cell| Cell::of(cell.get())))
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
                Self(Arc::new(Cell::new(shape, dtype, Content::lazy(shape, dtype, make))))
            }

            #[doc = concat!("The ", $what, "'s tensor.")]
            pub fn tensor(&self) -> Tensor {
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
    pub(crate) fn set_lazy(&self, make: impl Fn() -> Tensor + Send + Sync + 'static) {
        self.0.replace(Content::lazy(&self.0.shape, self.0.dtype, make));
    }

    /// The tensor, which is not kept if it was not made before.
    pub(crate) fn peek(&self) -> Tensor {
        self.0.peek()
    }

    /// What gives the tensor as it is now, also after another was set; one that was not made is not kept.
    pub(crate) fn snapshot(&self) -> Make {
        self.0.snapshot()
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
