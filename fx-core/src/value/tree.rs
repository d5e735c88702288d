//! Structures of values: what a traced function takes and gives beside single tensors.

use std::convert::Infallible;
use std::panic::Location;

use indexmap::IndexMap;

use super::{Call, SymInt, Value};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::module::Arguments;
use crate::ops;
use crate::tensor::DType;

/// A structure of values: a tensor, an option, a tuple, a list, a map, a `#[traceable]` struct of tensors.
///
/// `to_arg` and `from_arg` are inverse, for arguments of the right form. In a trace a single value stands for a whole tuple
/// (a leaf module's result): it is unpacked by `getitem`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot pass through a traceable function",
    label = "neither a tensor nor a structure of tensors",
    note = "tensors, symbolic sizes, and options, tuples, arrays, vectors and maps of them can; so can a struct of \
            tensors marked `#[traceable]`, written with the tensor type, as in `Pair<Tensor>`"
)]
pub trait Tree<V>: Sized {
    /// The structure as an argument.
    fn to_arg(&self) -> Arg<V>;

    /// As [`to_arg`](Self::to_arg), for a structure that is given away: a plan writes into tensors that nobody else looks at.
    fn into_arg(self) -> Arg<V> {
        self.to_arg()
    }

    /// The structure read from an argument.
    ///
    /// # Errors
    /// If the argument does not have this structure.
    #[track_caller]
    fn from_arg(arg: Arg<V>) -> Result<Self>;

    /// The structure read from the next argument.
    ///
    /// # Errors
    /// If the argument does not have this structure.
    // Not inlined, as `to_arg` of a value: every captured module has these for its arguments and its result.
    #[inline(never)]
    #[track_caller]
    fn from_next(args: &mut Arguments<V>) -> Result<Self> {
        Self::from_arg(args.take()).map_err(|error| args.in_last(error))
    }

    /// The structure with `value` at every place, to go on with after an error.
    fn fill(value: &V) -> Self;

    /// What a call gave as this structure, or after an error what [`Value::fail`] gives in its place.
    #[track_caller]
    fn read(result: Result<Arg<V>>) -> Self
    where
        V: Value,
    {
        match result {
            Ok(arg) => Self::or_fail(Self::from_arg(arg)),
            Err(error) => Self::or_fail(Err(error)),
        }
    }

    /// The result, or after an error what [`Value::fail`] gives in its place.
    #[track_caller]
    fn or_fail(result: Result<Self>) -> Self
    where
        V: Value,
    {
        match result {
            Ok(tree) => tree,
            Err(error) => Self::fill(&V::fail(error)),
        }
    }
}

impl<V: Value> Tree<V> for V {
    #[inline(never)]
    fn to_arg(&self) -> Arg<V> {
        Arg::Value(self.clone())
    }

    fn from_arg(arg: Arg<V>) -> Result<Self> {
        match arg {
            Arg::Value(value) => Ok(value),
            other => Err(mismatch("a tensor", &other)),
        }
    }

    fn fill(value: &V) -> Self {
        value.clone()
    }
}

impl<V: Value> Tree<V> for SymInt<V> {
    fn to_arg(&self) -> Arg<V> {
        self.as_arg().clone()
    }

    fn from_arg(arg: Arg<V>) -> Result<Self> {
        match arg {
            Arg::Value(_) | Arg::Int(_) => Ok(SymInt::new(arg)),
            other => Err(mismatch("a symbolic size", &other)),
        }
    }

    fn fill(value: &V) -> Self {
        SymInt::new(Arg::Value(value.clone()))
    }
}

/// An argument is a structure of unknown form.
impl<V: Value> Tree<V> for Arg<V> {
    fn to_arg(&self) -> Arg<V> {
        self.clone()
    }

    fn from_arg(arg: Arg<V>) -> Result<Self> {
        Ok(arg)
    }

    fn fill(value: &V) -> Self {
        Arg::Value(value.clone())
    }
}

impl<V, T: Tree<V>> Tree<V> for Option<T> {
    fn to_arg(&self) -> Arg<V> {
        self.as_ref().map_or(Arg::None, T::to_arg)
    }

    fn from_arg(arg: Arg<V>) -> Result<Self> {
        if arg.is_none() { Ok(None) } else { T::from_arg(arg).map(Some) }
    }

    fn fill(value: &V) -> Self {
        Some(T::fill(value))
    }
}

impl<V, T: Tree<V>> Tree<V> for Vec<T> {
    fn to_arg(&self) -> Arg<V> {
        Arg::List(self.iter().map(T::to_arg).collect())
    }

    fn from_arg(arg: Arg<V>) -> Result<Self> {
        match arg {
            Arg::List(items) | Arg::Tuple(items) => items.into_iter().map(T::from_arg).collect(),
            other => Err(mismatch("a list", &other)
                .help("a traced list has a length that is known while tracing: use a tuple or an array, or trace with `InputForms`")),
        }
    }

    fn fill(value: &V) -> Self {
        vec![T::fill(value)]
    }
}

impl<V: Value, T: Tree<V>, const N: usize> Tree<V> for [T; N] {
    fn to_arg(&self) -> Arg<V> {
        Arg::List(self.iter().map(T::to_arg).collect())
    }

    fn from_arg(arg: Arg<V>) -> Result<Self> {
        let items = unpack(arg, N)?.into_iter().map(T::from_arg).collect::<Result<Vec<T>>>()?;
        items.try_into().map_err(|_| Error::argument("the number of elements does not fit the array"))
    }

    fn fill(value: &V) -> Self {
        std::array::from_fn(|_| T::fill(value))
    }
}

impl<V, T: Tree<V>> Tree<V> for IndexMap<String, T> {
    fn to_arg(&self) -> Arg<V> {
        Arg::Dict(self.iter().map(|(key, value)| (key.clone(), value.to_arg())).collect::<Kwargs<V>>())
    }

    fn from_arg(arg: Arg<V>) -> Result<Self> {
        match arg {
            Arg::Dict(entries) => {
                entries.into_iter().map(|(key, arg)| Ok((key.into_owned(), T::from_arg(arg)?))).collect()
            }
            other => Err(mismatch("a dict", &other)),
        }
    }

    fn fill(value: &V) -> Self {
        IndexMap::from([(String::new(), T::fill(value))])
    }
}

impl<V> Tree<V> for () {
    fn to_arg(&self) -> Arg<V> {
        Arg::None
    }

    fn from_arg(_: Arg<V>) -> Result<Self> {
        Ok(())
    }

    fn fill(_: &V) -> Self {}
}

macro_rules! tuples {
    ($($len:literal: $($T:ident $i:tt),+;)+) => { $(
        impl<V: Value, $($T: Tree<V>),+> Tree<V> for ($($T,)+) {
            fn to_arg(&self) -> Arg<V> {
                Arg::Tuple(vec![$(self.$i.to_arg()),+])
            }

            fn from_arg(arg: Arg<V>) -> Result<Self> {
                let mut items = unpack(arg, $len)?.into_iter();
                Ok(($($T::from_arg(items.next().unwrap_or(Arg::None))?,)+))
            }

            fn fill(value: &V) -> Self {
                ($($T::fill(value),)+)
            }
        }
    )+ };
}
tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
}

/// The `len` elements of an argument; those of a single value that is recorded are taken by `getitem`, which is told how many there are.
///
/// # Errors
/// If there are not as many, or the argument is a single value with data: a tensor is no list of its rows.
#[track_caller]
pub fn unpack<V: Value>(arg: Arg<V>, len: usize) -> Result<Vec<Arg<V>>> {
    let location = Location::caller();
    let element = |value: &V, index: usize| {
        let call = Call::function(ops::getitem).arg(Arg::Value(value.clone())).arg(index).kwarg("count", len);
        Call { location, ..call }.apply()
    };
    match arg {
        Arg::List(items) | Arg::Tuple(items) if items.len() == len => Ok(items),
        Arg::List(items) | Arg::Tuple(items) => Err(wrong_count(len, items.len())),
        Arg::Value(value) if V::RECORDS => (0..len).map(|index| element(&value, index)).collect(),
        other => {
            let error = mismatch(&format!("{len} elements"), &other);
            let is_tensor = matches!(other, Arg::Value(_));
            Err(if is_tensor { error.help("it is one tensor; `unbind` and `chunk` take its parts") } else { error })
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn wrong_count(expected: usize, found: usize) -> Error {
    Error::argument(format!("expected {expected} elements, found {found}"))
}

#[cold]
#[inline(never)]
pub(crate) fn mismatch<V>(expected: &str, found: &Arg<V>) -> Error {
    Error::argument(format!("expected {expected}, found {}", found.kind()))
}

/// An argument of a traced function that is no tensor: plain Rust, fixed when the function is traced.
///
/// A static argument of a leaf module is written into the graph, so it has a form there.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a static argument",
    label = "a graph has no form for it",
    note = "bool, integers, floats, String, DType, and options, tuples and vectors of them can; make it a field of \
            the module otherwise; a struct of tensors is written with the tensor type, as in `Pair<Tensor>`"
)]
pub trait StaticArg: Sized {
    /// The argument as the graph holds it.
    fn to_immediate(&self) -> Arg<Infallible>;

    /// The argument read from the graph.
    ///
    /// # Errors
    /// If it has another type.
    fn from_immediate(arg: &Arg<Infallible>) -> Result<Self>;
}

macro_rules! static_args {
    ($($T:ty: $pattern:pat => $value:expr, $expected:literal;)+) => { $(
        impl StaticArg for $T {
            fn to_immediate(&self) -> Arg<Infallible> {
                Arg::from(self.clone())
            }

            fn from_immediate(arg: &Arg<Infallible>) -> Result<Self> {
                match arg {
                    $pattern => $value,
                    other => Err(mismatch($expected, other)),
                }
            }
        }
    )+ };
}
static_args! {
    bool: Arg::Bool(x) => Ok(*x), "a bool";
    i64: Arg::Int(x) => Ok(*x), "an int";
    i32: Arg::Int(x) => i32::try_from(*x).map_err(|_| Error::argument("the int does not fit an i32")), "an int";
    usize: Arg::Int(x) => usize::try_from(*x).map_err(|_| Error::argument("the int is negative")), "an int";
    f64: Arg::Float(x) => Ok(*x), "a float";
    f32: Arg::Float(x) => Ok(*x as f32), "a float";
    String: Arg::Str(x) => Ok(x.to_string()), "a string";
    DType: Arg::DType(x) => Ok(*x), "a dtype";
}

impl<T: StaticArg> StaticArg for Option<T> {
    fn to_immediate(&self) -> Arg<Infallible> {
        self.as_ref().map_or(Arg::None, T::to_immediate)
    }

    fn from_immediate(arg: &Arg<Infallible>) -> Result<Self> {
        if arg.is_none() { Ok(None) } else { T::from_immediate(arg).map(Some) }
    }
}

impl<T: StaticArg> StaticArg for Vec<T> {
    fn to_immediate(&self) -> Arg<Infallible> {
        Arg::List(self.iter().map(T::to_immediate).collect())
    }

    fn from_immediate(arg: &Arg<Infallible>) -> Result<Self> {
        arg.as_items().ok_or_else(|| mismatch("a list", arg))?.iter().map(T::from_immediate).collect()
    }
}

impl<T: StaticArg, const N: usize> StaticArg for [T; N] {
    fn to_immediate(&self) -> Arg<Infallible> {
        Arg::List(self.iter().map(T::to_immediate).collect())
    }

    fn from_immediate(arg: &Arg<Infallible>) -> Result<Self> {
        Vec::from_immediate(arg)?.try_into().map_err(|items: Vec<T>| wrong_count(N, items.len()))
    }
}

macro_rules! static_tuples {
    ($($($T:ident $i:tt),+;)+) => { $(
        impl<$($T: StaticArg),+> StaticArg for ($($T,)+) {
            fn to_immediate(&self) -> Arg<Infallible> {
                Arg::Tuple(vec![$(self.$i.to_immediate()),+])
            }

            fn from_immediate(arg: &Arg<Infallible>) -> Result<Self> {
                let items = arg.as_items().ok_or_else(|| mismatch("a tuple", arg))?;
                Ok(($($T::from_immediate(items.get($i).unwrap_or(&Arg::None))?,)+))
            }
        }
    )+ };
}
static_tuples! {
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
}
