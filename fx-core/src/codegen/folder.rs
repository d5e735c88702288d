//! A generated model as a crate.

use std::fs;
use std::path::{Path, PathBuf};

use super::model;
use crate::error::{Error, ErrorKind, Result};
use crate::graph_module::GraphModule;
use crate::tensor::save_safetensors;

/// How a crate is written.
#[derive(Clone, Debug)]
pub struct FolderOptions {
    fx: String,
    dependencies: Vec<(String, String)>,
    overwrite: bool,
}

impl FolderOptions {
    /// A crate that depends on this version of fx, in a folder that is not there yet or empty.
    pub fn new() -> Self {
        Self {
            fx: format!("{{ version = {:?} }}", env!("CARGO_PKG_VERSION")),
            dependencies: Vec::new(),
            overwrite: false,
        }
    }

    /// The dependency on fx as the manifest has it: `{ path = "../fx" }`.
    #[must_use]
    pub fn fx(mut self, value: impl Into<String>) -> Self {
        self.fx = value.into();
        self
    }

    /// The dependency on fx as a path.
    #[must_use]
    pub fn fx_path(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().display().to_string();
        self.fx(format!("{{ path = {path:?} }}"))
    }

    /// Another dependency: a crate with modules or wrapped functions that the graph calls.
    #[must_use]
    pub fn dependency(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.dependencies.push((name.into(), value.into()));
        self
    }

    /// Replaces what is in the folder.
    #[must_use]
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes a model as a crate; see [`GraphModule::to_folder_with`].
pub(crate) fn to_folder(module: &GraphModule, path: &Path, name: &str, options: &FolderOptions) -> Result<()> {
    check_name(name)?;
    let source = model::source(module);
    if !source.problems.is_empty() {
        let message = format!("there is no Rust source for this graph: {}", source.problems.join("; "));
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    check_dependencies(&source.foreign, options)?;
    let context = |error: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {error}", path.display()));
    if !options.overwrite && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::new(ErrorKind::Io, format!("{} is not empty", path.display()))
            .help("choose another folder, or replace it with FolderOptions::overwrite"));
    }
    let beside = beside(path, "new");
    let written = write(module, &beside, name, &source.text, options);
    let result = written.and_then(|()| replace(path, &beside).map_err(context));
    if result.is_err() {
        drop(fs::remove_dir_all(&beside));
    }
    result
}

fn write(module: &GraphModule, path: &Path, name: &str, text: &str, options: &FolderOptions) -> Result<()> {
    let context = |error: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {error}", path.display()));
    if path.exists() {
        fs::remove_dir_all(path).map_err(context)?;
    }
    fs::create_dir_all(path.join("src")).map_err(context)?;
    fs::write(path.join("Cargo.toml"), manifest(name, options)).map_err(context)?;
    fs::write(path.join("src").join("lib.rs"), text).map_err(context)?;
    let state = module.state_dict();
    if !state.is_empty() {
        let entries = state.iter().map(|(name, tensor)| (name.as_str(), tensor));
        save_safetensors(path.join("model.safetensors"), entries, None)?;
    }
    Ok(())
}

/// Puts the new folder in its place; what was there is removed last.
fn replace(path: &Path, new: &Path) -> std::io::Result<()> {
    if !path.exists() {
        return fs::rename(new, path);
    }
    let old = beside(path, "old");
    fs::rename(path, &old)?;
    if let Err(error) = fs::rename(new, path) {
        fs::rename(&old, path)?;
        return Err(error);
    }
    fs::remove_dir_all(&old)
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut beside = path.components().as_path().as_os_str().to_owned();
    beside.push(format!(".{}.{what}", std::process::id()));
    PathBuf::from(beside)
}

fn manifest(name: &str, options: &FolderOptions) -> String {
    let mut text = format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\nfx = {}\n",
        options.fx
    );
    for (name, value) in &options.dependencies {
        text.push_str(&format!("{name} = {value}\n"));
    }
    text
}

fn check_name(name: &str) -> Result<()> {
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if letters && name.chars().next().is_some_and(|c| c.is_ascii_alphabetic()) {
        return Ok(());
    }
    Err(Error::argument(format!("`{name}` cannot be the name of a crate"))
        .help("letters, digits, `-` and `_`, a letter first"))
}

fn check_dependencies(foreign: &[String], options: &FolderOptions) -> Result<()> {
    for path in foreign {
        let root = path.trim_start_matches("::").split("::").next().unwrap_or_default();
        let known = ["fx", "nn", "std"].contains(&root)
            || options.dependencies.iter().any(|(name, _)| name.replace('-', "_") == root);
        if !known {
            let (what, help) = match path.contains("::") {
                true => (
                    format!("the graph uses `{path}`"),
                    format!("name the crate: FolderOptions::dependency({root:?}, ..)"),
                ),
                false => (
                    format!("the module `{path}` has no source"),
                    "give its type a method `constructor`, or trace through it".to_owned(),
                ),
            };
            return Err(
                Error::new(ErrorKind::Unsupported, format!("{what}, which the crate does not depend on")).help(help)
            );
        }
    }
    Ok(())
}
