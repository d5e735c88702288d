//! The one error type: what went wrong, where in the model, and what to do about it.
//!
//! An [`Error`] is a kind and a message, with context that the layers it passes through fill in: the op
//! knows the shapes of its operands, the interpreter knows the node, the node knows the user's source line.
//! Context is written once, by the innermost layer that has it.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of everything in fx that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes or ranks that do not fit each other or the op.
    Shape,
    /// An element type that the op does not take.
    DType,
    /// An argument with a wrong value, type or count.
    Argument,
    /// A name that nothing has: an op, a node, a module, a parameter.
    NotFound,
    /// A graph that breaks a rule of `Graph::lint`.
    Graph,
    /// Something that cannot be captured while tracing.
    Trace,
    /// State (parameters, buffers) that does not fit the model.
    State,
    /// Text or bytes that do not parse.
    Format,
    /// The operating system said no.
    Io,
    /// Well-formed, but not supported.
    Unsupported,
}

/// What went wrong, where, and what to do about it.
#[derive(Clone)]
pub struct Error(Box<Report>);

/// The content of an [`Error`].
#[derive(Clone)]
struct Report {
    kind: ErrorKind,
    message: String,
    op: Option<String>,
    operands: Vec<String>,
    node: Option<String>,
    module: Option<String>,
    location: Option<String>,
    help: Option<String>,
}

impl Error {
    /// An error of `kind` that says `message` (lower case, no full stop).
    #[cold]
    #[inline(never)]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Report {
            kind,
            message: message.into(),
            op: None,
            operands: Vec::new(),
            node: None,
            module: None,
            location: None,
            help: None,
        }))
    }

    /// Shapes that do not fit.
    pub fn shape(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Shape, message)
    }

    /// An element type that is not taken.
    pub fn dtype(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::DType, message)
    }

    /// A wrong argument.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Argument, message)
    }

    /// A name that nothing has.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Says what to do about it.
    #[must_use]
    #[cold]
    #[inline(never)]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help.get_or_insert_with(|| help.into());
        self
    }

    /// Names the op and describes its operands (`f32[2, 3]`), unless an inner layer did.
    #[must_use]
    pub fn in_op(mut self, op: &str, operands: impl FnOnce() -> Vec<String>) -> Self {
        if self.0.op.is_none() {
            self.0.op = Some(op.to_owned());
            self.0.operands = operands();
        }
        self
    }

    /// Names the input that cannot be read, unless an op says what is wrong.
    #[must_use]
    pub(crate) fn in_input(mut self, name: &str) -> Self {
        if self.0.op.is_none() {
            self.0.message = format!("the input `{name}`: {}", self.0.message);
        }
        self
    }

    /// Names the node by its text form, unless an inner layer did.
    #[must_use]
    pub fn at_node(mut self, node: impl FnOnce() -> String) -> Self {
        self.0.node.get_or_insert_with(node);
        self
    }

    /// Names the path of the module, unless an inner layer did.
    #[must_use]
    pub fn in_module(mut self, module: impl FnOnce() -> String) -> Self {
        self.0.module.get_or_insert_with(module);
        self
    }

    /// Without the node and the module, for the layer around what was captured only to be run: its graph is nobody's.
    #[must_use]
    pub(crate) fn without_node(mut self) -> Self {
        (self.0.node, self.0.module) = (None, None);
        self
    }

    /// Names the user's source line, unless an inner layer did.
    #[must_use]
    pub fn at(mut self, location: impl fmt::Display) -> Self {
        self.0.location.get_or_insert_with(|| location.to_string());
        self
    }

    /// Names the source line that a node was made at, in place of the line that ran it.
    #[must_use]
    pub(crate) fn at_node_location(mut self, location: impl fmt::Display) -> Self {
        self.0.location = Some(location.to_string());
        self
    }

    /// Names the caller's source line, unless an inner layer did.
    #[must_use]
    pub fn at_caller(self, location: &Location<'_>) -> Self {
        self.at(location)
    }

    /// The kind of rule that was broken.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What went wrong, without the context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The op in which it went wrong.
    pub fn op(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// The op's operands, such as `f32[2, 3]`.
    pub fn operands(&self) -> &[String] {
        &self.0.operands
    }

    /// The text form of the node in which it went wrong.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// The user's source line, `file:line:column`.
    pub fn location(&self) -> Option<&str> {
        self.0.location.as_deref()
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(ErrorKind::Io, error.to_string())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { message, op, operands, node, module, location, help, .. } = &*self.0;
        match op {
            Some(op) => write!(f, "{op}({}): {message}", operands.join(", "))?,
            None => f.write_str(message)?,
        }
        if let Some(node) = node {
            write!(f, "\n  while executing {node}")?;
        }
        if let Some(module) = module {
            write!(f, "\n  in module {module}")?;
        }
        if let Some(location) = location {
            write!(f, "\n  at {location}")?;
        }
        if let Some(help) = help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// Writes a file beside its place and renames it, so that it is never half-written.
pub(crate) fn write_file(path: &Path, write: &dyn Fn(&mut File) -> io::Result<()>) -> Result<()> {
    let context = |error: io::Error| Error::new(ErrorKind::Io, format!("{}: {error}", path.display()));
    // Threads that write the same file do not meet beside it.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let beside = PathBuf::from(beside);
    let written = File::create(&beside).and_then(|mut file| write(&mut file)).and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(&beside))).map_err(context)
}
