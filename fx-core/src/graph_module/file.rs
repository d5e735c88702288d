//! A captured model in one file: its graph, its state, its source lines.
//!
//! The file is a safetensors file that holds the state dict; its metadata has one entry, `fx`, a JSON text with the format's
//! version, the graph in its text form, and what is noted about the nodes. Modules that are graphs are in the file as well.
//! Leaf modules are code: they are described by type and hyper-parameters, and must be given again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::{GraphModule, State};
use crate::arg::Arg;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Metadata, ModuleFrame, ModuleStack, SourceLocation};
use crate::module::{Buffer, Entry, Module, Parameter, StateDict, entries, join, module_at};
use crate::tensor::{Tensor, load_safetensors_with, save_safetensors};
use crate::value::{Meta, TensorMeta};

/// The version of the format. It grows when older readers would misread a file.
const VERSION: u64 = 1;

impl GraphModule {
    /// Writes the graph and its state into one file. The file is never half-written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut content = describe(self);
        content.insert("version".to_owned(), VERSION.into());
        let metadata = HashMap::from([("fx".to_owned(), Json::Object(content).to_string())]);
        let state = self.state_dict();
        save_safetensors(path, state.iter().map(|(name, tensor)| (name.as_str(), tensor)), Some(metadata))
    }

    /// Reads a module without leaf modules from a file that [`GraphModule::save`] wrote.
    ///
    /// # Errors
    /// If the file cannot be read, is of another format or a newer version, does not fit together, or has leaf modules.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        load(path.as_ref(), None)
    }

    /// Reads a module from a file that [`GraphModule::save`] wrote; its leaf modules are those of `root` at the same paths,
    /// with the parameters and buffers of the file.
    ///
    /// # Errors
    /// As [`GraphModule::load`], and if a leaf module of `root` has another type or other hyper-parameters.
    pub fn load_with(path: impl AsRef<Path>, root: &dyn Module) -> Result<Self> {
        load(path.as_ref(), Some(root))
    }
}

fn load(path: &Path, root: Option<&dyn Module>) -> Result<GraphModule> {
    let (tensors, metadata) = load_safetensors_with(path)?;
    let content = metadata.get("fx").ok_or_else(|| format("it has no graph"))?;
    let content: Json = serde_json::from_str(content).map_err(|error| format(error.to_string()))?;
    match content["version"].as_u64() {
        Some(VERSION) => {}
        Some(version) if version > VERSION => {
            let message = format!("{}: version {version} of the format is newer than {VERSION}", path.display());
            return Err(Error::new(ErrorKind::Unsupported, message).help("read it with the fx that wrote it"));
        }
        _ => return Err(format("it has no version")),
    }
    let mut loader = Loader { tensors, root, changes: Vec::new() };
    let module = loader.module(&content, "");
    let module = module.map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    // All fits: only now the modules of the root change.
    loader.changes.into_iter().try_for_each(|change| change())?;
    Ok(module)
}

fn format(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Format, format!("not a saved graph: {}", message.into()))
}

fn describe(module: &GraphModule) -> Map<String, Json> {
    let mut nodes = Map::new();
    for (_, node) in module.graph().nodes() {
        let notes = describe_meta(node.meta());
        if !notes.is_empty() {
            nodes.insert(node.name().to_owned(), Json::Object(notes));
        }
    }
    let state = module.state();
    let modules = state.modules.iter().map(|(path, module)| {
        let text = match (&**module as &dyn std::any::Any).downcast_ref::<GraphModule>() {
            Some(graph) => Json::Object(describe(graph)),
            None => json!({"type": module.type_name(), "arguments": module.repr_arguments()}),
        };
        (path.clone(), text)
    });
    let content = [
        ("class", Json::from(module.class_name())),
        ("graph", module.graph().to_string().into()),
        ("nodes", nodes.into()),
        ("parameters", state.parameters.keys().cloned().collect::<Vec<_>>().into()),
        ("buffers", state.buffers.keys().cloned().collect::<Vec<_>>().into()),
        ("modules", object(modules).into()),
    ];
    object(content.into_iter().map(|(key, value)| (key.to_owned(), value)))
}

/// Inserted one by one: collecting them would sort them first.
fn object(entries: impl Iterator<Item = (String, Json)>) -> Map<String, Json> {
    let mut object = Map::new();
    entries.for_each(|(key, value)| drop(object.insert(key, value)));
    object
}

fn describe_meta(meta: &Metadata) -> Map<String, Json> {
    let mut notes = Map::new();
    if let Some(SourceLocation { file, line, column }) = meta.location() {
        notes.insert("location".to_owned(), json!([file, line, column]));
    }
    if !meta.module_stack().is_empty() {
        let frames = meta.module_stack().iter().map(|frame| json!([frame.path, frame.type_name, frame.call]));
        notes.insert("modules".to_owned(), frames.collect());
    }
    // A symbolic shape is propagated again.
    let shape = meta.shape().and_then(|shape| shape.as_value()?.as_tensor());
    if let Some((tensor, shape)) = shape.and_then(|tensor| Some((tensor, tensor.concrete_shape()?))) {
        notes.insert("shape".to_owned(), json!([tensor.dtype.torch_name(), shape.as_slice()]));
    }
    notes
}

fn read_meta(notes: &Json, meta: &mut Metadata) -> Option<()> {
    if let Some([file, line, column]) = notes["location"].as_array().map(Vec::as_slice) {
        let (line, column) = (u32::try_from(line.as_u64()?).ok()?, u32::try_from(column.as_u64()?).ok()?);
        meta.insert(SourceLocation { file: file.as_str()?.to_owned().into(), line, column });
    }
    if let Some(frames) = notes["modules"].as_array() {
        let frame = |frame: &Json| {
            let (path, type_name) = (frame[0].as_str()?.to_owned(), frame[1].as_str()?.to_owned().into());
            Some(ModuleFrame { path, type_name, call: usize::try_from(frame[2].as_u64()?).ok()? })
        };
        meta.insert(ModuleStack(frames.iter().map(frame).collect::<Option<_>>()?));
    }
    if let Some([dtype, shape]) = notes["shape"].as_array().map(Vec::as_slice) {
        let shape = shape.as_array()?.iter().map(Json::as_i64).collect::<Option<Vec<_>>>()?;
        let tensor = TensorMeta::new(shape, dtype.as_str()?.parse().ok()?);
        meta.insert(Arg::Value(Meta::Tensor(tensor)));
    }
    Some(())
}

/// A change of a module of the root, made when all is known to fit.
type Change = Box<dyn FnOnce() -> Result<()>>;

struct Loader<'a> {
    tensors: StateDict,
    root: Option<&'a dyn Module>,
    changes: Vec<Change>,
}

impl Loader<'_> {
    fn module(&mut self, content: &Json, prefix: &str) -> Result<GraphModule> {
        let text = |key: &str| content[key].as_str().ok_or_else(|| format(format!("`{key}` is no text")));
        let mut graph: Graph = text("graph")?.parse()?;
        for id in graph.node_ids() {
            let notes = &content["nodes"][graph[id].name()];
            let meta = graph.meta_mut(id).filter(|_| !notes.is_null());
            if meta.is_some_and(|meta| read_meta(notes, meta).is_none()) {
                return Err(format(format!("the notes about %{} cannot be read", graph[id].name())));
            }
        }
        let mut state = State::new();
        for path in paths(content, "parameters")? {
            let tensor = self.tensor(&join(prefix, path))?;
            state.parameters.insert(path.to_owned(), Parameter::new(tensor));
        }
        for path in paths(content, "buffers")? {
            let tensor = self.tensor(&join(prefix, path))?;
            state.buffers.insert(path.to_owned(), Buffer::new(tensor));
        }
        let modules = content["modules"].as_object().ok_or_else(|| format("`modules` is no object"))?;
        for (path, described) in modules {
            let full = join(prefix, path);
            let module = match described.get("graph") {
                Some(_) => Arc::new(self.module(described, &full)?),
                None => self.leaf(described, &full)?,
            };
            state.modules.insert(path.clone(), module);
        }
        GraphModule::with_state(graph, state, text("class")?)
    }

    fn tensor(&self, path: &str) -> Result<Tensor> {
        self.tensors.get(path).cloned().ok_or_else(|| Error::not_found(format!("the file has no tensor `{path}`")))
    }

    fn leaf(&mut self, described: &Json, path: &str) -> Result<Arc<dyn Module>> {
        let read = |key: &str| described[key].as_str().unwrap_or_default();
        let wanted = format!("{}({})", read("type"), read("arguments"));
        let Some(root) = self.root else {
            return Err(Error::not_found(format!("there is no {wanted} for `{path}`")).help(
                "load it with `load_with` and a model that has it, or call `passes::decompose_modules` before saving",
            ));
        };
        let found =
            module_at(root, path).ok_or_else(|| Error::not_found(format!("the model has no module `{path}`")))?;
        if found.repr() != wanted {
            let message = format!("`{path}` was saved as {wanted}, the model has {}", found.repr());
            return Err(Error::new(ErrorKind::State, message));
        }
        for (below, entry) in entries(found) {
            let Some(holder) = Holder::of(entry) else { continue };
            let (tensor, shape) = (self.tensor(&join(path, &below))?, holder.shape());
            if tensor.shape() != shape {
                let message =
                    format!("a tensor of `{path}` has the shape {:?}, the model's has {shape:?}", tensor.shape());
                return Err(Error::new(ErrorKind::State, message));
            }
            self.changes.push(Box::new(move || holder.set(tensor)));
        }
        Ok(found.share())
    }
}

/// A parameter or buffer that will be set.
enum Holder {
    Parameter(Parameter),
    Buffer(Buffer),
}

impl Holder {
    fn of(entry: Entry<'_>) -> Option<Self> {
        match entry {
            Entry::Parameter(parameter) => Some(Holder::Parameter(parameter.clone())),
            Entry::Buffer(buffer) => Some(Holder::Buffer(buffer.clone())),
            _ => None,
        }
    }

    fn shape(&self) -> Vec<usize> {
        match self {
            Holder::Parameter(parameter) => parameter.shape(),
            Holder::Buffer(buffer) => buffer.shape(),
        }
    }

    fn set(&self, tensor: Tensor) -> Result<()> {
        match self {
            Holder::Parameter(parameter) => parameter.set(tensor),
            Holder::Buffer(buffer) => buffer.set(tensor),
        }
    }
}

fn paths<'a>(content: &'a Json, key: &str) -> Result<Vec<&'a str>> {
    let paths = content[key].as_array().and_then(|paths| paths.iter().map(Json::as_str).collect());
    paths.ok_or_else(|| format(format!("`{key}` is no list of paths")))
}
