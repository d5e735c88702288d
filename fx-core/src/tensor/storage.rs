//! The elements that a tensor is a window on: a buffer of words, and the type that they are of.

use std::sync::Arc;

use super::{Buffer, DType};

/// The elements by their type, as words of its size.
#[derive(Clone)]
pub enum Storage {
    Bool(Arc<Buffer<bool>>),
    U8(Arc<Buffer<u8>>),
    I8(Arc<Buffer<u8>>),
    I32(Arc<Buffer<u32>>),
    I64(Arc<Buffer<u64>>),
    F16(Arc<Buffer<u16>>),
    BF16(Arc<Buffer<u16>>),
    F32(Arc<Buffer<u32>>),
    F64(Arc<Buffer<u64>>),
}

impl Storage {
    pub(super) fn dtype(&self) -> DType {
        match self {
            Storage::Bool(_) => DType::Bool,
            Storage::U8(_) => DType::U8,
            Storage::I8(_) => DType::I8,
            Storage::I32(_) => DType::I32,
            Storage::I64(_) => DType::I64,
            Storage::F16(_) => DType::F16,
            Storage::BF16(_) => DType::BF16,
            Storage::F32(_) => DType::F32,
            Storage::F64(_) => DType::F64,
        }
    }
}

/// Words that elements of some types are stored as.
pub trait Word: Copy + Default + Send + Sync + 'static {
    /// Elements of a type that is stored so.
    #[doc(hidden)]
    fn wrap(dtype: DType, words: Arc<Buffer<Self>>) -> Storage;

    /// The words of elements that are stored so.
    #[doc(hidden)]
    fn unwrap(storage: &Storage) -> Option<&Arc<Buffer<Self>>>;

    #[doc(hidden)]
    fn unwrap_mut(storage: &mut Storage) -> Option<&mut Arc<Buffer<Self>>>;
}

macro_rules! word {
    ($($W:ty: $($Variant:ident)|+;)+) => { $(impl Word for $W {
        fn wrap(dtype: DType, words: Arc<Buffer<Self>>) -> Storage {
            match dtype {
                $(DType::$Variant => Storage::$Variant(words),)+
                other => unreachable!("elements of {other} are no {}", stringify!($W)),
            }
        }

        fn unwrap(storage: &Storage) -> Option<&Arc<Buffer<Self>>> {
            match storage {
                $(Storage::$Variant(words))|+ => Some(words),
                _ => None,
            }
        }

        fn unwrap_mut(storage: &mut Storage) -> Option<&mut Arc<Buffer<Self>>> {
            match storage {
                $(Storage::$Variant(words))|+ => Some(words),
                _ => None,
            }
        }
    })+ };
}
word! {
    bool: Bool;
    u8: U8 | I8;
    u16: F16 | BF16;
    u32: I32 | F32;
    u64: I64 | F64;
}
