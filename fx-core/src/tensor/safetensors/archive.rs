//! A file whose tensors are read one by one, or some rows at a time, when they are asked for.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use indexmap::IndexMap;

use super::{Contents, ELEMENTS, Stored, elements, named, open};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Tensor;

/// An open file and what its header says.
pub(crate) struct Archive {
    path: PathBuf,
    entries: IndexMap<String, Stored>,
    file: Mutex<File>,
    /// The file's length and when it was changed last, as it was opened.
    stamp: (u64, Option<SystemTime>),
}

impl Archive {
    /// Reads the header of a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (mut file, len) = open(path)?;
        let Contents { entries, .. } = Contents::read(&mut file, len).map_err(|error| named(path, &error))?;
        let stamp = stamp(&file).map_err(|error| named(path, &error.into()))?;
        Ok(Self { path: path.to_owned(), entries, file: Mutex::new(file), stamp })
    }

    /// The shape of each tensor.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.entries.iter().map(|(name, stored)| (name.as_str(), stored.shape.as_slice()))
    }

    /// Reads a tensor.
    ///
    /// # Errors
    /// If there is none of the name, or the file cannot be read or was written since it was opened.
    pub(crate) fn tensor(&self, name: &str) -> Result<Tensor> {
        self.with(name, |stored| stored.read(&mut *self.at(stored.start)?))
    }

    /// Reads some rows of a tensor, which are what its first dimension counts, as f32.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor).
    pub(crate) fn read_rows(&self, name: &str, rows: &Range<usize>, to: &mut [f32]) -> Result<()> {
        self.with(name, |stored| {
            let row: usize = stored.shape.iter().skip(1).product::<usize>() * stored.dtype.size();
            let mut place = stored.start + (rows.start * row) as u64;
            for to in to.chunks_mut(ELEMENTS) {
                let piece = elements(&mut *self.at(place)?, stored.dtype, &[to.len()])?;
                to.copy_from_slice(&piece.to_vec_as::<f32>());
                place += (to.len() * stored.dtype.size()) as u64;
            }
            Ok(())
        })
    }

    /// Does something with what the header says of a tensor; an error gets the names of the file and the tensor.
    fn with<R>(&self, name: &str, f: impl FnOnce(&Stored) -> Result<R>) -> Result<R> {
        let stored = self.entries.get(name).ok_or_else(|| Error::not_found("no such tensor"));
        stored.and_then(f).map_err(|error| {
            named(&self.path, &Error::new(error.kind(), format!("the tensor `{name}`: {}", error.message())))
        })
    }

    /// The file, to be read from a place on.
    fn at(&self, place: u64) -> Result<MutexGuard<'_, File>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp(&file)? != self.stamp {
            let message = "the file was written after it was loaded; load it again, or whole: \
                           `model.load_state_dict(&load_safetensors(path)?)`";
            return Err(Error::new(ErrorKind::Io, message));
        }
        file.seek(SeekFrom::Start(place))?;
        Ok(file)
    }
}

fn stamp(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}
