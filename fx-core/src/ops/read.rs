//! Reading the arguments of a call as a row of the table declares them.

use super::function::{self, Definition};
use super::kind::{Concrete, Encode, Kind, OperandKind};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::value::{Dim, Meta, TensorMeta};

/// Reads a call's arguments one after the other.
///
/// What reads one kind is compiled once, not at every attribute of the table.
pub(super) struct Reader<'a, C> {
    definition: &'static Definition,
    args: &'a [Arg<C>],
    kwargs: &'a Kwargs<C>,
    position: usize,
}

impl<'a, C: Concrete> Reader<'a, C> {
    /// Checks that there are not too many arguments and no unknown ones.
    pub(super) fn new(definition: &'static Definition, args: &'a [Arg<C>], kwargs: &'a Kwargs<C>) -> Result<Self> {
        if args.len() > definition.operands.len() {
            return Err(function::too_many(definition, args.len()));
        }
        for (key, _) in kwargs.iter() {
            if !definition.attributes.iter().any(|attribute| attribute.name == key) {
                let known: Vec<_> = definition.attributes.iter().map(|attribute| attribute.name).collect();
                return Err(Error::argument(format!("there is no attribute `{key}`")).help(if known.is_empty() {
                    "it takes none".to_owned()
                } else {
                    format!("its attributes are {}", known.join(", "))
                }));
            }
        }
        Ok(Self { definition, args, kwargs, position: 0 })
    }

    /// The next operand.
    #[inline(never)]
    pub(super) fn operand<K: OperandKind>(&mut self) -> Result<K::Held<'a, C>> {
        let name = self.definition.operands[self.position].name;
        let arg = self.args.get(self.position).unwrap_or(&Arg::None);
        self.position += 1;
        match K::read(arg) {
            Some(operand) => Ok(operand),
            None => Err(wrong_operand(K::KIND, name, (!arg.is_none()).then(|| arg.kind()))),
        }
    }

    /// A required attribute.
    #[inline(never)]
    pub(super) fn required<K: Kind>(&self, name: &'static str) -> Result<K::Held<C>> {
        match self.kwargs.get(name) {
            Some(arg) => read::<K, C>(name, arg),
            // Optional values that have no default are written as None when absent.
            None => match K::read(&Arg::None) {
                Some(value) => Ok(value),
                None => Err(Error::argument(format!("the attribute `{name}` is missing: expected {}", K::EXPECTED))),
            },
        }
    }

    /// An attribute that has a default, if it is given.
    #[inline(never)]
    pub(super) fn optional<K: Kind>(&self, name: &'static str) -> Result<Option<K::Held<C>>> {
        self.kwargs.get(name).map(|arg| read::<K, C>(name, arg)).transpose()
    }
}

fn read<K: Kind, C: Concrete>(name: &str, arg: &Arg<C>) -> Result<K::Held<C>> {
    match K::read(arg) {
        Some(value) => Ok(value),
        None => Err(wrong(name, K::EXPECTED, arg.kind())),
    }
}

#[cold]
fn wrong(name: &str, expected: &str, found: &str) -> Error {
    Error::argument(format!("`{name}` must be {expected}, found {found}"))
}

/// The error for an operand of another kind, or for none.
#[cold]
fn wrong_operand(kind: function::OperandKind, name: &str, found: Option<&str>) -> Error {
    let expected = match kind {
        function::OperandKind::One => "a tensor",
        function::OperandKind::Opt => "a tensor or None",
        function::OperandKind::Many => "a list of tensors",
        function::OperandKind::Num => "a tensor or a number",
        function::OperandKind::Any => "an argument",
    };
    match found {
        Some(found) => wrong(name, expected, found),
        None => Error::argument(format!("`{name}` is missing: expected {expected}")),
    }
}

/// Sets an attribute of an options struct, or removes it if it is at its default: one spelling for every call.
pub(super) fn set<K: Kind, V>(
    kwargs: &mut Kwargs<V>,
    name: &'static str,
    value: impl Encode<K, V>,
    default: K::Held<Tensor>,
) where
    K::Held<Tensor>: PartialEq,
{
    let arg = value.encode();
    // What is symbolic is no default.
    let plain = arg.try_map(&mut |_| Err::<Tensor, ()>(()));
    if plain.is_ok_and(|plain| K::read(&plain) == Some(default)) {
        kwargs.remove(name);
    } else {
        kwargs.insert(name, arg);
    }
}

/// What the functions of a row may return.
pub(super) trait Output<C> {
    /// The result as an argument.
    fn into_arg(self) -> Arg<C>;
}

impl Output<Tensor> for Tensor {
    fn into_arg(self) -> Arg<Tensor> {
        Arg::Value(self)
    }
}

impl Output<Meta> for TensorMeta {
    fn into_arg(self) -> Arg<Meta> {
        Arg::Value(Meta::Tensor(self))
    }
}

impl Output<Tensor> for i64 {
    fn into_arg(self) -> Arg<Tensor> {
        Arg::Int(self)
    }
}

impl Output<Meta> for Dim {
    fn into_arg(self) -> Arg<Meta> {
        match self.as_int() {
            Some(size) => Arg::Int(size),
            None => Arg::Value(Meta::Int(self)),
        }
    }
}

impl<C> Output<C> for Arg<C> {
    fn into_arg(self) -> Arg<C> {
        self
    }
}

impl<C, T: Output<C>> Output<C> for Vec<T> {
    fn into_arg(self) -> Arg<C> {
        Arg::Tuple(self.into_iter().map(T::into_arg).collect())
    }
}

impl<C, A: Output<C>, B: Output<C>> Output<C> for (A, B) {
    fn into_arg(self) -> Arg<C> {
        Arg::Tuple(vec![self.0.into_arg(), self.1.into_arg()])
    }
}

impl<C, A: Output<C>, B: Output<C>, D: Output<C>> Output<C> for (A, B, D) {
    fn into_arg(self) -> Arg<C> {
        Arg::Tuple(vec![self.0.into_arg(), self.1.into_arg(), self.2.into_arg()])
    }
}
