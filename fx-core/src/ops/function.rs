//! Functions: handles to static definitions, open to user-defined ones.

use std::fmt;
use std::sync::{LazyLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::value::{Dim, Meta};

/// What is known about an op: a row of the table.
pub struct Definition {
    /// Its name, PyTorch's: `conv2d`. A wrapped user function's is its path: `my_crate::helper`.
    pub name: &'static str,
    /// What it does, one entry a line.
    pub doc: &'static [&'static str],
    /// The positional arguments.
    pub operands: &'static [Operand],
    /// The keyword arguments.
    pub attributes: &'static [Attribute],
    /// How a call is written in Rust.
    pub source: Source,
    /// Whether a call may be dropped, repeated or reordered.
    pub effect: Effect,
    /// Whether the result has the shape and element type of the first operand, whatever the others are.
    pub like_input: bool,
    /// How far two correct implementations may differ.
    pub tolerance: Tolerance,
    /// Computes the result. The arguments have passed `infer`.
    pub eval: fn(&[Arg<Tensor>], &Kwargs<Tensor>) -> Result<Arg<Tensor>>,
    /// The result's shape and element type, or what is wrong with the arguments.
    pub infer: fn(&[Arg<Meta>], &Kwargs<Meta>) -> Result<Arg<Meta>>,
    /// Floating-point operations of a call, a multiply-add counted as two.
    pub flops: fn(&[Arg<Meta>], &Kwargs<Meta>, &Arg<Meta>) -> Dim,
}

/// A positional argument of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: OperandKind,
}

/// What a positional argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A tensor.
    One,
    /// A tensor or nothing.
    Opt,
    /// A list of tensors.
    Many,
    /// A tensor, a number or a symbolic size.
    Num,
    /// Anything.
    Any,
}

/// A keyword argument of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// The name of its type in the table: `int`, `pair`, `sizes`.
    pub kind: &'static str,
    /// Its default as Rust text; without one it is required.
    pub default: Option<&'static str>,
}

/// How calls of an op are written in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name of the Rust function: the op's, with an underscore after a keyword. Empty for a wrapped function, whose
    /// name is its path.
    pub ident: &'static str,
    /// What kind of function it is.
    pub style: Style,
    /// The function that takes options, and their struct: `conv2d_with` and `Conv2dOptions`.
    pub options: Option<(&'static str, &'static str)>,
}

/// What kind of Rust function an op has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A method of every value, and a function.
    Method,
    /// A function of a value's type, without `self`.
    Constructor,
    /// None that follows from the row: methods written by hand.
    Raw,
    /// A user's function.
    Wrapped,
}

impl Source {
    /// A user's function.
    pub const WRAPPED: Source = Source { ident: "", style: Style::Wrapped, options: None };
}

/// What a call does beside giving its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: equal arguments give equal results, an unused call can go.
    Pure,
    /// Draws from the random generator: an unused call can go, two calls cannot be merged.
    Random,
    /// Something else that must happen, once, in order.
    Impure,
}

/// How far two correct implementations may differ: `|a - b| <= atol + rtol * |b|`, on f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The relative part.
    pub rtol: f64,
    /// The absolute part.
    pub atol: f64,
}

impl Tolerance {
    /// Equal bit for bit (and NaN equal to NaN).
    pub const EXACT: Tolerance = Tolerance { rtol: 0.0, atol: 0.0 };
    /// A few roundings: elementwise maths.
    pub const ROUNDING: Tolerance = Tolerance { rtol: 2e-6, atol: 1e-6 };
    /// Many additions, whose order may differ.
    pub const SUMMATION: Tolerance = Tolerance { rtol: 1e-5, atol: 1e-5 };
}

/// A function that a node can call: a handle to a static [`Definition`], equal by identity.
#[derive(Clone, Copy)]
pub struct Function(&'static Definition);

/// All functions by name: the op table's and the wrapped ones met so far.
static REGISTRY: LazyLock<RwLock<FxHashMap<&'static str, Function>>> = LazyLock::new(|| {
    let table = super::families().iter().flat_map(|family| family.functions.iter());
    RwLock::new(table.map(|function| (function.name(), *function)).collect())
});

/// What was declared about wrapped functions, by name.
static EFFECTS: RwLock<Vec<(&'static str, Effect)>> = RwLock::new(Vec::new());

impl Function {
    /// The handle of a definition.
    pub const fn new(definition: &'static Definition) -> Self {
        Self(definition)
    }

    /// Makes the function known by its name to [`Function::lookup`], so that a printed graph parses.
    pub fn register(self) {
        REGISTRY.write().unwrap_or_else(|poison| poison.into_inner()).entry(self.0.name).or_insert(self);
    }

    /// The function named `name`.
    pub fn lookup(name: &str) -> Option<Self> {
        REGISTRY.read().unwrap_or_else(|poison| poison.into_inner()).get(name).copied()
    }

    /// Its definition.
    pub const fn definition(self) -> &'static Definition {
        self.0
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// What a call does beside giving its result.
    pub fn effect(self) -> Effect {
        let declared = || {
            let effects = EFFECTS.read().unwrap_or_else(PoisonError::into_inner);
            effects.iter().find(|(name, _)| *name == self.0.name).map(|(_, effect)| *effect)
        };
        match self.0.source.style {
            Style::Wrapped => declared().unwrap_or(self.0.effect),
            _ => self.0.effect,
        }
    }

    /// Declares what a call of a wrapped function does beside giving its result, for the whole process: such functions count
    /// as pure otherwise. torch.fx's `has_side_effect`.
    ///
    /// # Errors
    /// If the function is one of the op table, whose effects are known.
    pub fn declare_effect(self, effect: Effect) -> Result<()> {
        if self.0.source.style != Style::Wrapped {
            return Err(Error::argument(format!("the effect of `{}` is known", self.0.name))
                .help("only functions marked `#[wrap]` can be declared to have one"));
        }
        let mut effects = EFFECTS.write().unwrap_or_else(PoisonError::into_inner);
        effects.retain(|(name, _)| *name != self.0.name);
        effects.push((self.0.name, effect));
        Ok(())
    }

    /// The result of a call.
    ///
    /// # Errors
    /// If the function does not take these arguments; the error names the function and the operands.
    pub fn eval(self, args: &[Arg<Tensor>], kwargs: &Kwargs<Tensor>) -> Result<Arg<Tensor>> {
        (self.0.eval)(args, kwargs).map_err(|error| error.in_op(self.0.name, || describe(args)))
    }

    /// Checks the arguments, then computes the result.
    ///
    /// # Errors
    /// As [`Function::eval`].
    pub fn call(self, args: &[Arg<Tensor>], kwargs: &Kwargs<Tensor>) -> Result<Arg<Tensor>> {
        self.check(args, kwargs)?;
        self.eval(args, kwargs)
    }

    /// The shape and element type of a call's result.
    ///
    /// # Errors
    /// If the function does not take these arguments; the error names the function and the operands.
    pub fn infer(self, args: &[Arg<Meta>], kwargs: &Kwargs<Meta>) -> Result<Arg<Meta>> {
        if mention_unknown(args, kwargs) {
            return Ok(match args.first() {
                Some(Arg::Value(input @ Meta::Tensor(_))) if self.0.like_input => Arg::Value(input.clone()),
                _ => Arg::Value(Meta::Unknown),
            });
        }
        (self.0.infer)(args, kwargs)
            .and_then(|result| require_possible(&result).map(|()| result))
            .map_err(|error| error.in_op(self.0.name, || describe(args)))
    }

    /// The shape and element type of a call's result on tensors, and with it the check of the arguments.
    ///
    /// # Errors
    /// As [`Function::infer`].
    pub fn check(self, args: &[Arg<Tensor>], kwargs: &Kwargs<Tensor>) -> Result<Arg<Meta>> {
        let metas: Vec<Arg<Meta>> = args.iter().map(|arg| arg.map(&mut |tensor| Meta::from(tensor))).collect();
        let kwargs = kwargs.map(&mut |tensor| Meta::from(tensor));
        self.infer(&metas, &kwargs)
    }
}

/// Checks that the tensors of a result can exist: no size is below 0, and the elements fit the address space.
fn require_possible(result: &Arg<Meta>) -> Result<()> {
    let mut impossible = None;
    result.for_each(&mut |meta| {
        if let Meta::Tensor(tensor) = meta {
            let mut sizes = tensor.shape.iter().filter_map(Dim::as_int).filter(|size| *size != 0);
            let bytes = sizes.try_fold(tensor.dtype.size() as i64, |bytes, size| {
                // Sizes saturate: the highest one stands for all that are too large.
                if size < 0 { None } else { bytes.checked_mul(size).filter(|bytes| *bytes < i64::MAX) }
            });
            if bytes.is_none() {
                impossible = Some(tensor.clone());
            }
        }
    });
    impossible.map_or(Ok(()), |tensor| {
        Err(Error::shape(format!("there can be no {tensor}"))
            .help("sizes are 0 or above, and their product fits 64 bits"))
    })
}

/// Whether something is not known of the arguments, so that [`Function::infer`] has not checked them.
pub(crate) fn mention_unknown(args: &[Arg<Meta>], kwargs: &Kwargs<Meta>) -> bool {
    let mut unknown = false;
    let mut look = |meta: &Meta| unknown |= *meta == Meta::Unknown;
    args.iter().for_each(|arg| arg.for_each(&mut look));
    kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut look));
    unknown
}

/// The arguments of a call, for messages: `f32[2, 3], 1.0`.
pub fn describe<V: Describe>(args: &[Arg<V>]) -> Vec<String> {
    fn one<V: Describe>(arg: &Arg<V>) -> String {
        match arg {
            Arg::Value(value) => value.describe(),
            Arg::List(items) | Arg::Tuple(items) => {
                format!("[{}]", items.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            Arg::Int(x) => x.to_string(),
            Arg::Float(x) => format!("{x:?}"),
            Arg::Bool(x) => x.to_string(),
            other => other.kind().to_owned(),
        }
    }
    args.iter().map(one).collect()
}

/// A value that can say what it is in an error message.
pub trait Describe {
    /// Its element type and shape: `f32[2, 3]`.
    fn describe(&self) -> String;
}

impl Describe for Tensor {
    fn describe(&self) -> String {
        Meta::from(self).to_string()
    }
}

impl Describe for Meta {
    fn describe(&self) -> String {
        self.to_string()
    }
}

/// A definition's operand count as words, for messages.
pub(super) fn too_many(definition: &Definition, found: usize) -> Error {
    let names: Vec<_> = definition.operands.iter().map(|operand| operand.name).collect();
    Error::argument(format!("takes {} positional arguments ({}), found {found}", names.len(), names.join(", ")))
        .help("attributes are given by name")
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Function {}

impl std::hash::Hash for Function {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}
