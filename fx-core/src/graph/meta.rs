//! What is noted about a node: a map from a type to a value of it.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::value::Meta;

/// A typed map: at most one value of each type, any type that can be cloned, printed and sent. Copies share the values.
#[derive(Clone, Default)]
pub struct Metadata(SmallVec<[(TypeId, Arc<dyn Entry>); 2]>);

/// Where in the user's source a node comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// The file, as the compiler was given it.
    pub file: Cow<'static, str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// The modules whose `forward` was running when a node was made, outermost first. Neighbours share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModuleStack(pub Arc<[ModuleFrame]>);

/// One running `forward`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModuleFrame {
    /// The module's path in the root, empty for the root itself.
    pub path: String,
    /// The module's type.
    pub type_name: Cow<'static, str>,
    /// Which call of this module it is, from 0.
    pub call: usize,
}

trait Entry: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn debug(&self) -> &dyn fmt::Debug;
}

impl<T: Any + fmt::Debug + Send + Sync> Entry for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn debug(&self) -> &dyn fmt::Debug {
        self
    }
}

impl Metadata {
    /// The value of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let (_, entry) = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
        (**entry).as_any().downcast_ref()
    }

    /// Sets the value of this type.
    pub fn insert<T: Any + Clone + fmt::Debug + Send + Sync>(&mut self, value: T) {
        let entry: Arc<dyn Entry> = Arc::new(value);
        match self.0.iter_mut().find(|(id, _)| *id == TypeId::of::<T>()) {
            Some((_, old)) => *old = entry,
            None => self.0.push((TypeId::of::<T>(), entry)),
        }
    }

    /// Takes out the value of this type.
    pub fn remove<T: Any + Clone>(&mut self) -> Option<T> {
        let value = self.get::<T>().cloned();
        self.0.retain(|(id, _)| *id != TypeId::of::<T>());
        value
    }

    /// The user's source line.
    pub fn location(&self) -> Option<&SourceLocation> {
        self.get()
    }

    /// The module stack, empty if none was noted.
    pub fn module_stack(&self) -> &[ModuleFrame] {
        self.get::<ModuleStack>().map_or(&[], |stack| &stack.0)
    }

    /// The shape and element type that shape propagation found.
    pub fn shape(&self) -> Option<&crate::arg::Arg<Meta>> {
        self.get()
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, entry)| (**entry).debug())).finish()
    }
}

impl From<&'static Location<'static>> for SourceLocation {
    fn from(location: &'static Location<'static>) -> Self {
        Self { file: Cow::Borrowed(location.file()), line: location.line(), column: location.column() }
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
