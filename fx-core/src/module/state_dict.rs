//! State dicts: all parameters and buffers by their paths.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::{Entry, Make, Module, entries};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Archive, Tensor, dispatch_words, numel, save_safetensors};

/// Tensors by qualified name, in the order of the model.
pub type StateDict = IndexMap<String, Tensor>;

/// State dicts and modes, for every module.
pub trait StateDictExt: Module + Sized {
    /// All parameters and buffers by their paths.
    fn state_dict(&self) -> StateDict {
        let tensors = entries(self).into_iter().filter_map(|(path, entry)| match entry {
            Entry::Parameter(parameter) => Some((path, parameter.tensor())),
            Entry::Buffer(buffer) => Some((path, buffer.tensor())),
            _ => None,
        });
        tensors.collect()
    }

    /// Sets all parameters and buffers. Entries named `num_batches_tracked` may be missing or extra: PyTorch counts
    /// them, nothing here needs them.
    ///
    /// # Errors
    /// If entries are missing, extra or of another shape, or two that differ are for one parameter, which clones of a
    /// module share: one error that lists them all. Then nothing is changed.
    fn load_state_dict(&self, state: &StateDict) -> Result<()> {
        load(self, state)
    }

    /// Sets all parameters and buffers from a safetensors file.
    ///
    /// Large parameters are read when they are first needed: a plan packs them as they are read, and memory never holds
    /// them twice. So the file must stay as it is until then; one that was written in between is noticed, and a panic
    /// where the parameter is read. [`load_state_dict`](Self::load_state_dict) of what
    /// [`load_safetensors`](crate::tensor::load_safetensors) gives reads all at once.
    ///
    /// # Errors
    /// As [`StateDictExt::load_state_dict`], and if the file cannot be read.
    fn load_safetensors(&self, path: impl AsRef<Path>) -> Result<()> {
        load_file(self, path.as_ref())
    }

    /// Writes all parameters and buffers to a safetensors file.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn save_safetensors(&self, path: impl AsRef<Path>) -> Result<()> {
        let state = self.state_dict();
        save_safetensors(path, state.iter().map(|(name, tensor)| (name.as_str(), tensor)), None)
    }

    /// Sets training mode, here and in all children.
    fn train(&self) {
        (self as &dyn Module).set_training(true);
    }

    /// Sets evaluation mode, here and in all children.
    fn eval(&self) {
        (self as &dyn Module).set_training(false);
    }

    /// The number of elements of all parameters; those that are shared count once.
    fn num_parameters(&self) -> usize {
        let mut seen = std::collections::HashSet::new();
        let parameters = entries(self).into_iter().filter_map(|(_, entry)| match entry {
            Entry::Parameter(parameter) if seen.insert(parameter.id()) => Some(numel(&parameter.shape())),
            _ => None,
        });
        parameters.sum()
    }
}

impl<M: Module> StateDictExt for M {}

fn is_counter(name: &str) -> bool {
    name.rsplit('.').next() == Some("num_batches_tracked")
}

fn load(module: &dyn Module, state: &StateDict) -> Result<()> {
    let shapes = state.iter().map(|(name, tensor)| (name.as_str(), tensor.shape())).collect();
    let entries = fitting(module, &shapes)?;
    shared_once(module, &entries, &|name| Ok(state[name].clone()))?;
    for (name, entry) in entries {
        set(&entry, &state[&name])?;
    }
    Ok(())
}

fn load_file(module: &dyn Module, path: &Path) -> Result<()> {
    /// The elements of a parameter that waits until it is read.
    const LARGE: usize = 1 << 14;
    let archive = Arc::new(Archive::open(path)?);
    let entries = fitting(module, &archive.shapes().collect())?;
    shared_once(module, &entries, &|name| archive.tensor(name))?;
    let waits = |entry: &Entry<'_>| matches!(entry, Entry::Parameter(x) if numel(&x.shape()) >= LARGE);
    // All that is read now, before anything is set.
    let mut read = Vec::new();
    for (name, entry) in entries.iter().filter(|(_, entry)| !waits(entry)) {
        read.push((entry, archive.tensor(name)?));
    }
    for (entry, tensor) in read {
        set(entry, &tensor)?;
    }
    for (name, entry) in &entries {
        if let Entry::Parameter(parameter) = entry
            && waits(entry)
        {
            parameter.set_lazy(InFile { archive: Arc::clone(&archive), name: name.clone() });
        }
    }
    Ok(())
}

/// A tensor of a file.
struct InFile {
    archive: Arc<Archive>,
    name: String,
}

impl Make for InFile {
    fn tensor(&self) -> Result<Tensor> {
        self.archive.tensor(&self.name)
    }

    fn is_by_rows(&self) -> bool {
        true
    }

    fn read_rows(&self, rows: &Range<usize>, to: &mut [f32]) -> Result<()> {
        self.archive.read_rows(&self.name, rows, to)
    }
}

fn set(entry: &Entry<'_>, tensor: &Tensor) -> Result<()> {
    match entry {
        Entry::Parameter(parameter) => parameter.set(tensor.clone()),
        Entry::Buffer(buffer) => buffer.set(tensor.clone()),
        _ => Ok(()),
    }
}

/// The parameters and buffers of a module that a state of these shapes sets, if it fits.
fn fitting<'a>(module: &'a dyn Module, state: &IndexMap<&str, &[usize]>) -> Result<IndexMap<String, Entry<'a>>> {
    let mut wanted: IndexMap<String, Entry<'_>> = entries(module)
        .into_iter()
        .filter(|(_, entry)| matches!(entry, Entry::Parameter(_) | Entry::Buffer(_)))
        .collect();
    let mut faults = Vec::new();
    for (name, entry) in &wanted {
        let have = match entry {
            Entry::Parameter(parameter) => parameter.shape(),
            Entry::Buffer(buffer) => buffer.shape(),
            _ => continue,
        };
        match state.get(name.as_str()) {
            None if is_counter(name) => {}
            None => faults.push(format!("missing: `{name}` {have:?}")),
            Some(shape) if **shape != have => {
                faults.push(format!("misshapen: `{name}` is {shape:?}, the model has {have:?}"));
            }
            Some(_) => {}
        }
    }
    let extra = state.iter().filter(|(name, _)| !wanted.contains_key(**name) && !is_counter(name));
    faults.extend(extra.map(|(name, shape)| format!("extra: `{name}` {shape:?}")));
    if !faults.is_empty() {
        return Err(unfit(module, &faults));
    }
    wanted.retain(|name, _| state.contains_key(name.as_str()));
    Ok(wanted)
}

/// Checks that what has several names has one value: the entries of all of them are equal.
fn shared_once(
    module: &dyn Module,
    entries: &IndexMap<String, Entry<'_>>,
    read: &dyn Fn(&str) -> Result<Tensor>,
) -> Result<()> {
    let mut first: FxHashMap<usize, &str> = FxHashMap::default();
    let mut faults = Vec::new();
    for (name, entry) in entries {
        let (id, what) = match entry {
            Entry::Parameter(parameter) => (parameter.id(), "parameter"),
            Entry::Buffer(buffer) => (buffer.id(), "buffer"),
            _ => continue,
        };
        let before = *first.entry(id).or_insert(name);
        if before != name && !same(&read(before)?, &read(name)?) {
            faults.push(format!("shared: `{before}` and `{name}` are one {what} of the model, and differ here"));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(unfit(module, &faults).help(
        "clones of a module share its parameters, so `vec![Block::new(); 2]` has them once: make each by a call of its \
         own, or with `module::deep_copy`",
    ))
}

/// Whether two tensors hold the same, bit by bit.
fn same(a: &Tensor, b: &Tensor) -> bool {
    let (a, b) = (a.contiguous(), b.contiguous());
    a.dtype() == b.dtype()
        && a.shape() == b.shape()
        && dispatch_words!(a.dtype(), W => a.words::<W>() == b.words::<W>())
}

fn unfit(module: &dyn Module, faults: &[String]) -> Error {
    let count = if faults.len() == 1 { "1 entry is".to_owned() } else { format!("{} entries are", faults.len()) };
    let message = format!("the state does not fit {}, {count} wrong:\n  {}", module.type_name(), faults.join("\n  "));
    Error::new(ErrorKind::State, message)
}
