//! Reading and writing safetensors files (<https://github.com/huggingface/safetensors>).

mod archive;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use half::{bf16, f16};
use indexmap::IndexMap;
use safetensors::tensor::{Dtype, Metadata, View};

use super::{DType, Element, Tensor, dispatch, numel};
use crate::error::{Error, ErrorKind, Result};
pub(crate) use archive::Archive;

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
    let (mut file, len) = open(path)?;
    read(&mut file, len).map_err(|error| named(path, &error))
}

/// Reads all tensors of a safetensors file in memory.
///
/// # Errors
/// If the bytes are no safetensors file, or hold an element type that there is no [`DType`] for.
pub fn load_safetensors_bytes(mut bytes: &[u8]) -> Result<IndexMap<String, Tensor>> {
    let len = bytes.len() as u64;
    read(&mut bytes, len).map(|(tensors, _)| tensors)
}

fn open(path: &Path) -> Result<(File, u64)> {
    let open = || {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok((file, len))
    };
    open().map_err(|error: io::Error| named(path, &error.into()))
}

/// An error with the file's name.
fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {}", path.display(), error.message()))
}

fn invalid(why: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Format, format!("not a safetensors file: {why}"))
}

/// What a file holds, as its header says.
struct Contents {
    /// The tensors in the order of their data.
    entries: IndexMap<String, Stored>,
    metadata: HashMap<String, String>,
}

/// A tensor in a file: how it is, and at which byte of the file it begins.
struct Stored {
    dtype: DType,
    shape: Vec<usize>,
    start: u64,
}

impl Contents {
    /// Reads the header of a file of `len` bytes.
    fn read(source: &mut impl Read, len: u64) -> Result<Self> {
        /// The longest header that the format allows.
        const LONGEST: u64 = 100_000_000;
        let mut size = [0; 8];
        source.read_exact(&mut size).map_err(invalid)?;
        let size = u64::from_le_bytes(size);
        let data = len.checked_sub(8).and_then(|rest| rest.checked_sub(size)).filter(|_| size <= LONGEST);
        let data = data.ok_or_else(|| invalid(format!("a header of {size} bytes in a file of {len}")))?;
        let mut header = vec![0; size as usize];
        source.read_exact(&mut header).map_err(invalid)?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(invalid)?;
        let mut tensors: Vec<_> = metadata.tensors().into_iter().collect();
        // Tensors without elements share a place with others.
        tensors.sort_by(|(a, x), (b, y)| (x.data_offsets, a).cmp(&(y.data_offsets, b)));
        let mut place = 0;
        let mut entries = IndexMap::new();
        for (name, info) in tensors {
            let dtype = dtype(info.dtype).ok_or_else(|| {
                let message =
                    format!("the tensor `{name}` has the element type {:?}, which is not supported", info.dtype);
                Error::new(ErrorKind::Unsupported, message)
            })?;
            let bytes = info.shape.iter().try_fold(dtype.size(), |bytes, size| bytes.checked_mul(*size));
            let end = bytes.and_then(|bytes| bytes.checked_add(place)).filter(|end| *end as u64 <= data);
            if end.is_none_or(|end| (place, end) != info.data_offsets) {
                let place = info.data_offsets;
                return Err(invalid(format!("`{name}` of shape {:?} does not lie at {place:?}", info.shape)));
            }
            let start = len - data + place as u64;
            place = info.data_offsets.1;
            entries.insert(name, Stored { dtype, shape: info.shape.clone(), start });
        }
        if place as u64 != data {
            return Err(invalid(format!("{data} bytes of data, of which the header knows {place}")));
        }
        let metadata = metadata.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone())).collect();
        Ok(Self { entries, metadata })
    }
}

impl Stored {
    /// Reads the tensor, where its data begins.
    fn read(&self, source: &mut impl Read) -> Result<Tensor> {
        let numel = numel(&self.shape);
        dispatch!(self.dtype, T => Tensor::try_from_vec(&self.shape, decode::<T>(source, numel)?))
    }
}

/// Reads the header, then tensor after tensor, so that none is in memory twice.
fn read(source: &mut impl Read, len: u64) -> Result<(IndexMap<String, Tensor>, HashMap<String, String>)> {
    let Contents { entries, metadata } = Contents::read(source, len)?;
    let mut tensors = IndexMap::new();
    for (name, stored) in entries {
        tensors.insert(name, stored.read(source)?);
    }
    Ok((tensors, metadata))
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
    let metadata = metadata.map(|texts| texts.into_iter().collect());
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

fn decode<T: Bytes>(source: &mut impl Read, numel: usize) -> Result<Vec<T>> {
    const ELEMENTS: usize = 1 << 16;
    let mut elements = Vec::with_capacity(numel);
    let mut buffer = vec![0; numel.min(ELEMENTS) * T::SIZE];
    while elements.len() < numel {
        let count = (numel - elements.len()).min(ELEMENTS);
        let bytes = &mut buffer[..count * T::SIZE];
        source.read_exact(bytes).map_err(invalid)?;
        elements.extend(bytes.chunks_exact(T::SIZE).map(T::from_bytes));
    }
    Ok(elements)
}
