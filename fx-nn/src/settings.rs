//! What modules share: reading sizes from arguments, and writing hyper-parameters as Python and as Rust.

use std::fmt::{Debug, Display, Write};

use fx::Tensor;
use fx::ops::kind::{self, Ints, Kind, Margin, Padding, Window};

/// Gives a module without state a size: modules are told apart by their addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marker(#[expect(dead_code, reason = "only its size counts")] u8);

/// One size for each of `N` dimensions.
#[track_caller]
pub(crate) fn window<const N: usize>(size: impl Window<N>) -> [usize; N] {
    match kind::window::<N>::read::<Tensor>(&size.into_arg()) {
        Some(size) => size,
        None => panic!("the sizes of a window cannot be negative"),
    }
}

/// Padding of `N` dimensions.
#[track_caller]
pub(crate) fn margin<const N: usize>(padding: impl Margin<N>) -> Padding<N> {
    match kind::margin::<N>::read::<Tensor>(&padding.into_arg()) {
        Some(padding) => padding,
        None => panic!("padding is not negative, or one of the words \"same\" and \"valid\""),
    }
}

/// One size, or several.
#[track_caller]
pub(crate) fn sizes(sizes: impl Ints) -> Vec<usize> {
    let read = kind::ints::read::<Tensor>(&sizes.into_arg());
    let sizes = read.and_then(|sizes| sizes.into_iter().map(|size| usize::try_from(size).ok()).collect());
    match sizes {
        Some(sizes) => sizes,
        None => panic!("sizes cannot be negative"),
    }
}

/// A boolean as Python prints it.
pub(crate) fn flag(flag: bool) -> &'static str {
    if flag { "True" } else { "False" }
}

/// A number as Python prints it.
pub(crate) fn float(x: f64) -> String {
    let text = format!("{x:?}");
    match text.split_once("e-") {
        Some((digits, exponent)) if exponent.len() == 1 => format!("{digits}e-0{exponent}"),
        _ => text,
    }
}

/// A tuple as Python prints it.
pub(crate) fn tuple(items: &[impl Display]) -> String {
    match items {
        [item] => format!("({item},)"),
        items => format!("({})", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Sizes as PyTorch prints them where it keeps what was given: one number, or a tuple.
pub(crate) fn given(sizes: &[usize]) -> String {
    if sizes.iter().all(|size| *size == sizes[0]) { sizes[0].to_string() } else { tuple(sizes) }
}

/// One number if all are the same, else all of them: as they are given to a module.
pub(crate) fn brief(items: &[usize]) -> String {
    match items {
        [first, rest @ ..] if rest.iter().all(|item| item == first) => first.to_string(),
        items => format!("{items:?}"),
    }
}

/// The Rust expression that makes a module: `nn::Conv2d::new(3, 64, 7).stride(2)`.
pub(crate) struct Source(String);

impl Source {
    /// The call of `new`.
    pub(crate) fn new(name: &str, arguments: impl Display) -> Self {
        Self(format!("nn::{name}::new({arguments})"))
    }

    /// Adds a call of `method`, unless the value is the default.
    pub(crate) fn option<T: PartialEq + Debug>(mut self, method: &str, value: T, default: T) -> Self {
        if value != default {
            let _ = write!(self.0, ".{method}({value:?})");
        }
        self
    }

    /// Adds a call of `method`, if there is a value.
    pub(crate) fn optional<T: Debug>(mut self, method: &str, value: Option<T>) -> Self {
        if let Some(value) = value {
            let _ = write!(self.0, ".{method}({value:?})");
        }
        self
    }

    /// Adds sizes, unless all of them are the default.
    pub(crate) fn window(mut self, method: &str, value: &[usize], default: usize) -> Self {
        if value.iter().any(|size| *size != default) {
            let _ = write!(self.0, ".{method}({})", brief(value));
        }
        self
    }

    /// The text.
    pub(crate) fn text(self) -> String {
        self.0
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// The path of `name` in the module that has a field at `path`.
pub(crate) fn beside(path: &str, name: impl Display) -> String {
    path.rsplit_once('.').map_or_else(|| name.to_string(), |(module, _)| format!("{module}.{name}"))
}
