//! Indices: what may stand in `x.index(..)`, and elements of structures.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

use super::tree::wrong_count;
use super::{Call, SymInt, Tree, Value};
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops;

/// What chooses a part of a tensor, by Python's rules.
///
/// An integer or a symbolic size selects, and the dimension goes away; a range of either narrows, with negative bounds
/// counted from the end; a tensor of integers gathers, or selects if it has no dimensions, a mask chooses; [`Arg::None`]
/// adds a dimension; [`Arg::Ellipsis`] stands
/// for the dimensions between. A tuple has one of them for each dimension.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an index",
    label = "not an index",
    note = "i64, symbolic sizes, ranges of them, tensors, `Arg::None`, `Arg::Ellipsis`, and tuples of them can"
)]
pub trait Index<V> {
    /// The argument to record.
    fn into_index(self) -> Arg<V>;
}

impl<V: Value> Index<V> for V {
    fn into_index(self) -> Arg<V> {
        Arg::Value(self)
    }
}

impl<V: Value> Index<V> for &V {
    fn into_index(self) -> Arg<V> {
        Arg::Value(self.clone())
    }
}

impl<V> Index<V> for Arg<V> {
    fn into_index(self) -> Arg<V> {
        self
    }
}

impl<V> Index<V> for i64 {
    fn into_index(self) -> Arg<V> {
        Arg::Int(self)
    }
}

impl<V: Value> Index<V> for SymInt<V> {
    fn into_index(self) -> Arg<V> {
        self.as_arg().clone()
    }
}

impl<V: Value> Index<V> for &SymInt<V> {
    fn into_index(self) -> Arg<V> {
        self.as_arg().clone()
    }
}

fn slice<V>(start: Arg<V>, stop: Arg<V>) -> Arg<V> {
    Arg::Slice(Box::new([start, stop, Arg::None]))
}

impl<V> Index<V> for RangeFull {
    fn into_index(self) -> Arg<V> {
        slice(Arg::None, Arg::None)
    }
}

// One by one, so that the numbers of `1..` are i64.
macro_rules! ranges {
    ($($Bound:ty),+) => { $(
        impl<V: Value> Index<V> for Range<$Bound> {
            fn into_index(self) -> Arg<V> {
                slice(self.start.into_index(), self.end.into_index())
            }
        }

        impl<V: Value> Index<V> for RangeFrom<$Bound> {
            fn into_index(self) -> Arg<V> {
                slice(self.start.into_index(), Arg::None)
            }
        }

        impl<V: Value> Index<V> for RangeTo<$Bound> {
            fn into_index(self) -> Arg<V> {
                slice(Arg::None, self.end.into_index())
            }
        }
    )+ };
}
ranges!(i64, SymInt<V>, &SymInt<V>);

macro_rules! tuples {
    ($($($T:ident $i:tt),+;)+) => { $(
        impl<V: Value, $($T: Index<V>),+> Index<V> for ($($T,)+) {
            fn into_index(self) -> Arg<V> {
                Arg::Tuple(vec![$(self.$i.into_index()),+])
            }
        }
    )+ };
}
tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// The element `key` (a position, or the name of an entry) of a structure: of a tuple, a list, a map, a struct of
/// tensors; of a single value, what `getitem` gives. Errors go to [`Value::fail`].
#[track_caller]
pub fn item<V: Value, R: Tree<V>>(structure: &impl Tree<V>, key: impl Into<Arg<V>>) -> R {
    R::read(choose(structure.to_arg(), key.into(), None))
}

/// As [`item`], of a structure that has `count` elements; another number of them is an error.
#[track_caller]
pub fn item_of<V: Value, R: Tree<V>>(structure: &impl Tree<V>, key: impl Into<Arg<V>>, count: usize) -> R {
    R::read(choose(structure.to_arg(), key.into(), Some(count)))
}

#[track_caller]
fn choose<V: Value>(structure: Arg<V>, key: Arg<V>, count: Option<usize>) -> Result<Arg<V>> {
    match (structure, key) {
        (Arg::Value(value), key) => {
            let count = count.map_or(Arg::None, Arg::from);
            Call::function(ops::getitem).arg(Arg::Value(value)).arg(key).attribute("count", count).apply()
        }
        (Arg::List(items) | Arg::Tuple(items), Arg::Int(index)) => {
            if let Some(count) = count.filter(|count| *count != items.len()) {
                return Err(wrong_count(count, items.len()));
            }
            let len = items.len() as i64;
            let place = if index < 0 { index + len } else { index };
            let element = usize::try_from(place).ok().and_then(|place| items.into_iter().nth(place));
            element.ok_or_else(|| Error::argument(format!("there is no element {index} among {len}")))
        }
        (Arg::Dict(entries), Arg::Str(key)) => {
            entries.get(&key).cloned().ok_or_else(|| Error::argument(format!("there is no entry `{key}`")))
        }
        (structure, key) => {
            Err(Error::argument(format!("{} has no element that is chosen by {}", structure.kind(), key.kind())))
        }
    }
}
