//! Arguments: what an op, a module or a graph takes and gives, generic in its leaf.
//!
//! `Arg<NodeId>` stands in a graph, `Arg<Tensor>` in a run, `Arg<Proxy>` in a trace, `Arg<Meta>` in shape
//! propagation. [`Arg::map`] and [`Arg::try_map`] are torch.fx's `map_arg`.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use crate::tensor::{DType, Scalar};

/// The name of a keyword argument: mostly an attribute of the op table, so mostly not allocated.
pub type Key = Cow<'static, str>;

/// An argument: a value or immediate data, nested as deep as needed.
#[derive(Clone, Debug)]
pub enum Arg<V> {
    /// Absent.
    None,
    /// A value: a node, a tensor, a proxy.
    Value(V),
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Str(Cow<'static, str>),
    /// An element type.
    DType(DType),
    /// `...` in an index.
    Ellipsis,
    /// A list.
    List(Vec<Arg<V>>),
    /// A tuple.
    Tuple(Vec<Arg<V>>),
    /// A dictionary with string keys, in insertion order.
    Dict(Kwargs<V>),
    /// `start:stop:step` in an index.
    Slice(Box<[Arg<V>; 3]>),
}

/// Keyword arguments in insertion order. Few, so looked up linearly.
#[derive(Clone, Debug)]
pub struct Kwargs<V>(Vec<(Key, Arg<V>)>);

impl<V> Arg<V> {
    /// The same argument with every value replaced; torch.fx's `map_arg`.
    pub fn map<W>(&self, f: &mut impl FnMut(&V) -> W) -> Arg<W> {
        self.replaced(&mut |value| Some(Arg::Value(f(value)))).expect("invariant: every value was replaced")
    }

    /// The same argument with every value replaced by an argument, or the first error.
    pub fn try_map<W, E>(&self, f: &mut impl FnMut(&V) -> Result<W, E>) -> Result<Arg<W>, E> {
        self.try_flat_map(&mut |value| f(value).map(Arg::Value))
    }

    /// The same argument with every value replaced by a whole argument, or the first error.
    pub fn try_flat_map<W, E>(&self, f: &mut impl FnMut(&V) -> Result<Arg<W>, E>) -> Result<Arg<W>, E> {
        // A plan's steps come here, mostly with a single value: it needs no walk.
        if let Arg::Value(value) = self {
            return f(value);
        }
        or_error(|error| self.replaced(&mut |value| f(value).map_err(|why| *error = Some(why)).ok()))
    }

    /// The same argument with every value replaced; none where one has no replacement. Compiled once for many functions.
    #[inline(never)]
    fn replaced<W>(&self, f: &mut dyn FnMut(&V) -> Option<Arg<W>>) -> Option<Arg<W>> {
        Some(match self {
            Arg::None => Arg::None,
            Arg::Value(value) => f(value)?,
            Arg::Bool(x) => Arg::Bool(*x),
            Arg::Int(x) => Arg::Int(*x),
            Arg::Float(x) => Arg::Float(*x),
            Arg::Str(x) => Arg::Str(x.clone()),
            Arg::DType(x) => Arg::DType(*x),
            Arg::Ellipsis => Arg::Ellipsis,
            Arg::List(args) => Arg::List(Self::all_replaced(args, f)?),
            Arg::Tuple(args) => Arg::Tuple(Self::all_replaced(args, f)?),
            Arg::Dict(kwargs) => Arg::Dict(kwargs.replaced(f)?),
            Arg::Slice(bounds) => {
                let [start, stop, step] = &**bounds;
                Arg::Slice(Box::new([start.replaced(f)?, stop.replaced(f)?, step.replaced(f)?]))
            }
        })
    }

    #[inline(never)]
    fn all_replaced<W>(args: &[Self], f: &mut dyn FnMut(&V) -> Option<Arg<W>>) -> Option<Vec<Arg<W>>> {
        let mut replaced = Vec::with_capacity(args.len());
        for arg in args {
            replaced.push(arg.replaced(f)?);
        }
        Some(replaced)
    }

    /// Visits every value, in order, as often as it occurs.
    pub fn for_each(&self, f: &mut impl FnMut(&V)) {
        match self {
            Arg::Value(value) => f(value),
            Arg::List(_) | Arg::Tuple(_) | Arg::Dict(_) | Arg::Slice(_) => self.visit(f),
            _ => {}
        }
    }

    /// Compiled once for many functions.
    fn visit(&self, f: &mut dyn FnMut(&V)) {
        match self {
            Arg::Value(value) => f(value),
            Arg::List(args) | Arg::Tuple(args) => args.iter().for_each(|arg| arg.visit(f)),
            Arg::Dict(kwargs) => kwargs.iter().for_each(|(_, arg)| arg.visit(f)),
            Arg::Slice(bounds) => bounds.iter().for_each(|arg| arg.visit(f)),
            _ => {}
        }
    }

    /// The value, if this is one.
    pub fn as_value(&self) -> Option<&V> {
        match self {
            Arg::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Arg::Bool(x) = self { Some(*x) } else { None }
    }

    /// The integer, if this is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Arg::Int(x) = self { Some(*x) } else { None }
    }

    /// The number, if this is one, of whichever type.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Arg::Float(x) => Some(*x),
            Arg::Int(x) => Some(*x as f64),
            _ => None,
        }
    }

    /// The elements, if this is a list or a tuple.
    pub fn as_items(&self) -> Option<&[Arg<V>]> {
        match self {
            Arg::List(args) | Arg::Tuple(args) => Some(args),
            _ => None,
        }
    }

    /// Whether this is [`Arg::None`].
    pub fn is_none(&self) -> bool {
        matches!(self, Arg::None)
    }

    /// What kind of argument this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Arg::None => "None",
            Arg::Value(_) => "a value",
            Arg::Bool(_) => "a bool",
            Arg::Int(_) => "an int",
            Arg::Float(_) => "a float",
            Arg::Str(_) => "a string",
            Arg::DType(_) => "a dtype",
            Arg::Ellipsis => "an ellipsis",
            Arg::List(_) => "a list",
            Arg::Tuple(_) => "a tuple",
            Arg::Dict(_) => "a dict",
            Arg::Slice(_) => "a slice",
        }
    }
}

impl<V> Kwargs<V> {
    /// No keyword arguments.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The argument named `key`.
    // This and `put` are compiled once for all attributes of all ops.
    #[inline(never)]
    pub fn get(&self, key: &str) -> Option<&Arg<V>> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, arg)| arg)
    }

    /// Sets the argument named `key`, in its place if it was there, else last; gives the old one.
    pub fn insert(&mut self, key: impl Into<Key>, arg: Arg<V>) -> Option<Arg<V>> {
        self.put(key.into(), arg)
    }

    #[inline(never)]
    fn put(&mut self, key: Key, arg: Arg<V>) -> Option<Arg<V>> {
        match self.0.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => Some(std::mem::replace(old, arg)),
            None => {
                self.0.push((key, arg));
                None
            }
        }
    }

    /// Takes out the argument named `key`.
    pub fn remove(&mut self, key: &str) -> Option<Arg<V>> {
        let index = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(index).1)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Arg<V>)> {
        self.0.iter().map(|(key, arg)| (key, arg))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As [`Arg::map`], for every argument.
    pub fn map<W>(&self, f: &mut impl FnMut(&V) -> W) -> Kwargs<W> {
        self.replaced(&mut |value| Some(Arg::Value(f(value)))).expect("invariant: every value was replaced")
    }

    /// As [`Arg::try_map`], for every argument.
    pub fn try_map<W, E>(&self, f: &mut impl FnMut(&V) -> Result<W, E>) -> Result<Kwargs<W>, E> {
        self.try_flat_map(&mut |value| f(value).map(Arg::Value))
    }

    /// As [`Arg::try_flat_map`], for every argument.
    pub fn try_flat_map<W, E>(&self, f: &mut impl FnMut(&V) -> Result<Arg<W>, E>) -> Result<Kwargs<W>, E> {
        or_error(|error| self.replaced(&mut |value| f(value).map_err(|why| *error = Some(why)).ok()))
    }

    #[inline(never)]
    fn replaced<W>(&self, f: &mut dyn FnMut(&V) -> Option<Arg<W>>) -> Option<Kwargs<W>> {
        let mut replaced = Vec::with_capacity(self.0.len());
        for (key, arg) in &self.0 {
            replaced.push((key.clone(), arg.replaced(f)?));
        }
        Some(Kwargs(replaced))
    }
}

/// What `replace` gives, or the error that it left.
fn or_error<T, E>(replace: impl FnOnce(&mut Option<E>) -> Option<T>) -> Result<T, E> {
    let mut error = None;
    replace(&mut error).ok_or_else(|| error.expect("invariant: what has no replacement left an error"))
}

impl<V> IntoIterator for Kwargs<V> {
    type Item = (Key, Arg<V>);
    type IntoIter = std::vec::IntoIter<(Key, Arg<V>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<V> Default for Kwargs<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// The same argument: a NaN is itself, and 0.0 is not -0.0, so that equal calls give equal results.
impl<V: PartialEq> PartialEq for Arg<V> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Arg::None, Arg::None) | (Arg::Ellipsis, Arg::Ellipsis) => true,
            (Arg::Value(a), Arg::Value(b)) => a == b,
            (Arg::Bool(a), Arg::Bool(b)) => a == b,
            (Arg::Int(a), Arg::Int(b)) => a == b,
            (Arg::Float(a), Arg::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Arg::Str(a), Arg::Str(b)) => a == b,
            (Arg::DType(a), Arg::DType(b)) => a == b,
            (Arg::List(a), Arg::List(b)) | (Arg::Tuple(a), Arg::Tuple(b)) => a == b,
            (Arg::Dict(a), Arg::Dict(b)) => a == b,
            (Arg::Slice(a), Arg::Slice(b)) => a == b,
            _ => false,
        }
    }
}

/// Equal as dictionaries are: the order of the keys does not matter.
impl<V: PartialEq> PartialEq for Kwargs<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, arg)| other.get(key) == Some(arg))
    }
}

impl<V: Eq> Eq for Arg<V> {}

impl<V: Eq> Eq for Kwargs<V> {}

/// Equal arguments have equal hashes: of a NaN no bits count.
impl<V: Hash> Hash for Arg<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Arg::None | Arg::Ellipsis => {}
            Arg::Value(value) => value.hash(state),
            Arg::Bool(x) => x.hash(state),
            Arg::Int(x) => x.hash(state),
            Arg::Float(x) if x.is_nan() => {}
            Arg::Float(x) => x.to_bits().hash(state),
            Arg::Str(x) => x.hash(state),
            Arg::DType(x) => x.hash(state),
            Arg::List(items) | Arg::Tuple(items) => items.hash(state),
            Arg::Dict(entries) => entries.hash(state),
            Arg::Slice(bounds) => bounds.hash(state),
        }
    }
}

/// The order of the keys does not matter, so it is the number of entries that counts.
impl<V: Hash> Hash for Kwargs<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
        if let [(key, arg)] = &*self.0 {
            (key, arg).hash(state);
        }
    }
}

impl<V, K: Into<Key>> FromIterator<(K, Arg<V>)> for Kwargs<V> {
    fn from_iter<I: IntoIterator<Item = (K, Arg<V>)>>(iter: I) -> Self {
        let mut kwargs = Self::new();
        for (key, arg) in iter {
            kwargs.insert(key, arg);
        }
        kwargs
    }
}

impl<V> From<Scalar> for Arg<V> {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool(x) => Arg::Bool(x),
            Scalar::Int(x) => Arg::Int(x),
            Scalar::Float(x) => Arg::Float(x),
        }
    }
}

macro_rules! arg_from {
    ($($variant:ident: $($from:ty),+;)+) => { $($(
        impl<V> From<$from> for Arg<V> {
            fn from(x: $from) -> Self {
                Arg::$variant(x.into())
            }
        }
    )+)+ };
}
arg_from! {
    Bool: bool;
    Int: i64, i32;
    Float: f64, f32;
    Str: &'static str, String;
    DType: DType;
}

impl<V> From<usize> for Arg<V> {
    fn from(x: usize) -> Self {
        Arg::Int(x as i64)
    }
}

impl<V, T: Into<Arg<V>>> From<Option<T>> for Arg<V> {
    fn from(x: Option<T>) -> Self {
        x.map_or(Arg::None, Into::into)
    }
}
