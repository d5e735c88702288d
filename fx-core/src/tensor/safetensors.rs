//! Reading and writing safetensors files (<https://github.com/huggingface/safetensors>).

mod archive;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Map, Value as Json, json};

use super::{DType, Tensor, Word, dispatch_words, numel};
use crate::error::{Error, ErrorKind, Result};
use crate::sort::{sort_by, sort_by_key};
pub(crate) use archive::Archive;

/// How many elements of a tensor are read or written at a time.
const ELEMENTS: usize = 1 << 16;

/// The longest header that the format allows.
const LONGEST_HEADER: u64 = 100_000_000;

/// The entry of a header that holds texts.
const METADATA: &str = "__metadata__";

/// The element types under their names in a header, in the order in which their data lies in a file: the larger ones first, so
/// that all of it is aligned.
const DTYPES: [(DType, &str); 9] = [
    (DType::I64, "I64"),
    (DType::F64, "F64"),
    (DType::F32, "F32"),
    (DType::I32, "I32"),
    (DType::BF16, "BF16"),
    (DType::F16, "F16"),
    (DType::I8, "I8"),
    (DType::U8, "U8"),
    (DType::Bool, "BOOL"),
];

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
    fn read(source: &mut dyn Read, len: u64) -> Result<Self> {
        let mut size = [0; 8];
        source.read_exact(&mut size).map_err(invalid)?;
        let size = u64::from_le_bytes(size);
        let data = len.checked_sub(8).and_then(|rest| rest.checked_sub(size)).filter(|_| size <= LONGEST_HEADER);
        let data = data.ok_or_else(|| invalid(format!("a header of {size} bytes in a file of {len}")))?;
        let mut header = vec![0; size as usize];
        source.read_exact(&mut header).map_err(invalid)?;
        let header = String::from_utf8(header).map_err(invalid)?;
        let mut header: Map<String, Json> = serde_json::from_str(&header).map_err(invalid)?;
        let metadata = header.remove(METADATA).map_or_else(|| Ok(HashMap::new()), texts)?;
        let mut tensors =
            header.into_iter().map(|(name, info)| Described::read(name, &info)).collect::<Result<Vec<_>>>()?;
        // Tensors without elements share a place with others.
        sort_by(&mut tensors, |a, b| (a.place, &a.name).cmp(&(b.place, &b.name)));
        let mut end = 0;
        let mut entries = IndexMap::new();
        for Described { name, dtype, shape, place } in tensors {
            let bytes = shape.iter().try_fold(dtype.size(), |bytes, size| bytes.checked_mul(*size));
            let fits = bytes.and_then(|bytes| bytes.checked_add(end)).is_some_and(|stop| (end, stop) == place);
            if !fits || place.1 as u64 > data {
                return Err(invalid(format!("`{name}` of shape {shape:?} does not lie at {place:?}")));
            }
            entries.insert(name, Stored { dtype, shape, start: len - data + end as u64 });
            end = place.1;
        }
        if end as u64 != data {
            return Err(invalid(format!("{data} bytes of data, of which the header knows {end}")));
        }
        Ok(Self { entries, metadata })
    }
}

/// What a header says of a tensor.
struct Described {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    /// Where its bytes begin and end, counted from the first byte of data.
    place: (usize, usize),
}

impl Described {
    fn read(name: String, info: &Json) -> Result<Self> {
        let sizes = |key: &str| {
            let sizes = info[key].as_array()?.iter().map(|size| usize::try_from(size.as_u64()?).ok());
            sizes.collect::<Option<Vec<usize>>>()
        };
        let place = sizes("data_offsets").and_then(|place| <[usize; 2]>::try_from(place).ok());
        let (Some(dtype), Some(shape), Some([start, end])) = (info["dtype"].as_str(), sizes("shape"), place) else {
            return Err(invalid(format!("`{name}` has no dtype, shape and data_offsets, but {info}")));
        };
        let Some((dtype, _)) = DTYPES.into_iter().find(|(_, known)| *known == dtype) else {
            let message = format!("the tensor `{name}` has the element type {dtype}, which is not supported");
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        Ok(Self { name, dtype, shape, place: (start, end) })
    }
}

/// The texts beside the tensors.
fn texts(metadata: Json) -> Result<HashMap<String, String>> {
    let text = |(key, text): (String, Json)| match text {
        Json::String(text) => Ok((key, text)),
        other => Err(invalid(format!("`{key}` of its metadata is no text, but {other}"))),
    };
    match metadata {
        Json::Null => Ok(HashMap::new()),
        Json::Object(texts) => texts.into_iter().map(text).collect(),
        other => Err(invalid(format!("its metadata are no texts with names, but {other}"))),
    }
}

impl Stored {
    /// Reads the tensor, where its data begins.
    fn read(&self, source: &mut dyn Read) -> Result<Tensor> {
        elements(source, self.dtype, &self.shape)
    }
}

/// Reads a tensor's elements.
fn elements(source: &mut dyn Read, dtype: DType, shape: &[usize]) -> Result<Tensor> {
    dispatch_words!(dtype, W => Tensor::try_of_words(shape, dtype, decode::<W>(source, numel(shape))?))
}

/// Reads the header, then tensor after tensor, so that none is in memory twice.
fn read(source: &mut dyn Read, len: u64) -> Result<(IndexMap<String, Tensor>, HashMap<String, String>)> {
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
    let mut tensors: Vec<(&str, &Tensor)> = entries.into_iter().collect();
    let place = |tensor: &Tensor| {
        let place = DTYPES.iter().position(|(dtype, _)| *dtype == tensor.dtype());
        place.expect("invariant: every element type has a name")
    };
    sort_by_key(&mut tensors, |(name, tensor)| (place(tensor), *name));
    let mut header = Map::new();
    if let Some(texts) = metadata {
        header.insert(METADATA.to_owned(), texts.into_iter().collect());
    }
    let mut end = 0;
    for (name, tensor) in &tensors {
        let start = end;
        end += tensor.numel() * tensor.dtype().size();
        let (_, dtype) = DTYPES[place(tensor)];
        let info = json!({ "dtype": dtype, "shape": tensor.shape(), "data_offsets": [start, end] });
        if *name == METADATA {
            return Err(Error::argument(format!("{}: no tensor can be named `{name}`", path.display())));
        }
        if header.insert((*name).to_owned(), info).is_some() {
            return Err(Error::argument(format!("{}: two tensors are named `{name}`", path.display())));
        }
    }
    let mut header = Json::Object(header).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    let size = header.len() as u64;
    if size > LONGEST_HEADER {
        let message =
            format!("{}: the names and shapes take {size} bytes, more than the format allows", path.display());
        return Err(Error::new(ErrorKind::Format, message));
    }
    crate::error::write_file(path, &|file| {
        file.write_all(&size.to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        tensors.iter().try_for_each(|(_, tensor)| {
            let tensor = tensor.contiguous();
            dispatch_words!(tensor.dtype(), W => encode(tensor.words::<W>().unwrap_or_default(), file))
        })
    })
}

/// A word as little-endian bytes.
trait Bytes: Word {
    const SIZE: usize;
    fn from_bytes(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

macro_rules! bytes {
    ($($T:ty),+) => { $(impl Bytes for $T {
        const SIZE: usize = size_of::<$T>();

        fn from_bytes(bytes: &[u8]) -> Self {
            bytes.try_into().map(<$T>::from_le_bytes).expect("invariant: chunks have the element's size")
        }

        fn write(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_le_bytes());
        }
    })+ };
}
bytes!(u8, u16, u32, u64);

impl Bytes for bool {
    const SIZE: usize = 1;

    fn from_bytes(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[0] = u8::from(self);
    }
}

fn decode<W: Bytes>(source: &mut dyn Read, numel: usize) -> Result<Vec<W>> {
    let mut words = Vec::with_capacity(numel);
    let mut buffer = vec![0; numel.min(ELEMENTS) * W::SIZE];
    while words.len() < numel {
        let count = (numel - words.len()).min(ELEMENTS);
        let bytes = &mut buffer[..count * W::SIZE];
        source.read_exact(bytes).map_err(invalid)?;
        words.extend(bytes.chunks_exact(W::SIZE).map(W::from_bytes));
    }
    Ok(words)
}

fn encode<W: Bytes>(words: &[W], file: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; words.len().min(ELEMENTS) * W::SIZE];
    for words in words.chunks(ELEMENTS) {
        let bytes = &mut buffer[..words.len() * W::SIZE];
        for (bytes, word) in bytes.chunks_exact_mut(W::SIZE).zip(words) {
            word.write(bytes);
        }
        file.write_all(bytes)?;
    }
    Ok(())
}
