//! Reading and writing safetensors files (<https://github.com/huggingface/safetensors>).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use half::{bf16, f16};
use indexmap::IndexMap;
use safetensors::tensor::{Dtype, SafeTensors, View};

use super::{DType, Element, Tensor, dispatch};
use crate::error::{Error, ErrorKind, Result};

/// Reads all tensors of a file, in the order in which their data lies there.
///
/// # Errors
/// If the file cannot be read, is no safetensors file, or holds an element type that there is no [`DType`] for.
pub fn load_safetensors(path: impl AsRef<Path>) -> Result<IndexMap<String, Tensor>> {
    load_safetensors_with(path).map(|(tensors, _)| tensors)
}

/// As [`load_safetensors`], with the texts that the file holds beside the tensors.
///
/// # Errors
/// As [`load_safetensors`].
pub fn load_safetensors_with(path: impl AsRef<Path>) -> Result<(IndexMap<String, Tensor>, HashMap<String, String>)> {
    let path = path.as_ref();
    let context = |error: Error| Error::new(error.kind(), format!("{}: {}", path.display(), error.message()));
    let bytes = fs::read(path).map_err(|error| context(error.into()))?;
    let tensors = load_safetensors_bytes(&bytes).map_err(context)?;
    let metadata = SafeTensors::read_metadata(&bytes).ok().and_then(|(_, metadata)| metadata.metadata().clone());
    Ok((tensors, metadata.unwrap_or_default()))
}

/// Reads all tensors of a safetensors file in memory.
///
/// # Errors
/// If the bytes are no safetensors file, or hold an element type that there is no [`DType`] for.
pub fn load_safetensors_bytes(bytes: &[u8]) -> Result<IndexMap<String, Tensor>> {
    let invalid = |error| Error::new(ErrorKind::Format, format!("not a safetensors file: {error}"));
    let file = SafeTensors::deserialize(bytes).map_err(invalid)?;
    let mut entries: Vec<_> = file.tensors();
    // Tensors without elements share a place with others.
    entries.sort_by(|(a, x), (b, y)| {
        let place = |bytes: &[u8]| (bytes.as_ptr().addr(), bytes.len());
        (place(x.data()), a).cmp(&(place(y.data()), b))
    });
    entries
        .into_iter()
        .map(|(name, entry)| {
            let dtype = dtype(entry.dtype()).ok_or_else(|| {
                Error::new(
                    ErrorKind::Unsupported,
                    format!("the tensor `{name}` has the element type {:?}, which is not supported", entry.dtype()),
                )
            })?;
            let elements = entry.data();
            let tensor = dispatch!(dtype, T => Tensor::try_from_vec(entry.shape(), decode::<T>(elements)))?;
            Ok((name, tensor))
        })
        .collect()
}

/// Writes tensors to a file, beside it first and then renamed, so that it is never half-written.
///
/// # Errors
/// If two tensors have the same name, or the file cannot be written.
pub fn save_safetensors<'a>(
    path: impl AsRef<Path>,
    entries: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    metadata: Option<HashMap<String, String>>,
) -> Result<()> {
    let path = path.as_ref();
    let mut named: IndexMap<&str, Entry<'_>> = IndexMap::new();
    for (name, tensor) in entries {
        if named.insert(name, Entry::new(tensor)).is_some() {
            return Err(Error::argument(format!("{}: two tensors are named `{name}`", path.display())));
        }
    }
    let bytes = safetensors::serialize(named, metadata)
        .map_err(|error| Error::new(ErrorKind::Format, format!("{}: {error}", path.display())))?;
    crate::error::write_file(path, &bytes)
}

/// A tensor as the file holds it: little-endian bytes in row-major order.
struct Entry<'a> {
    tensor: &'a Tensor,
    bytes: Vec<u8>,
}

impl<'a> Entry<'a> {
    fn new(tensor: &'a Tensor) -> Self {
        let bytes = dispatch!(tensor.dtype(), T => tensor.to_vec::<T>().into_iter().flat_map(Bytes::bytes).collect());
        Self { tensor, bytes }
    }
}

impl View for Entry<'_> {
    fn dtype(&self) -> Dtype {
        match self.tensor.dtype() {
            DType::Bool => Dtype::BOOL,
            DType::U8 => Dtype::U8,
            DType::I8 => Dtype::I8,
            DType::I32 => Dtype::I32,
            DType::I64 => Dtype::I64,
            DType::F16 => Dtype::F16,
            DType::BF16 => Dtype::BF16,
            DType::F32 => Dtype::F32,
            DType::F64 => Dtype::F64,
        }
    }

    fn shape(&self) -> &[usize] {
        self.tensor.shape()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

fn dtype(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::BOOL => DType::Bool,
        Dtype::U8 => DType::U8,
        Dtype::I8 => DType::I8,
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        _ => return None,
    })
}

/// An element as little-endian bytes.
trait Bytes: Element {
    const SIZE: usize;
    fn bytes(self) -> impl Iterator<Item = u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! bytes {
    ($($T:ty),+) => { $(impl Bytes for $T {
        const SIZE: usize = size_of::<$T>();

        fn bytes(self) -> impl Iterator<Item = u8> {
            self.to_le_bytes().into_iter()
        }

        fn from_bytes(bytes: &[u8]) -> Self {
            bytes.try_into().map(<$T>::from_le_bytes).expect("invariant: chunks have the element's size")
        }
    })+ };
}
bytes!(u8, i8, i32, i64, f16, bf16, f32, f64);

impl Bytes for bool {
    const SIZE: usize = 1;

    fn bytes(self) -> impl Iterator<Item = u8> {
        std::iter::once(u8::from(self))
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

fn decode<T: Bytes>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::SIZE).map(T::from_bytes).collect()
}
