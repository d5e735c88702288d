//! Calling modules: the one place that every `forward` passes, and what tracing needs to know of it.

use std::convert::Infallible;
use std::{slice, vec};

use super::{Buffer, Module, Parameter};
use crate::arg::{Arg, Key, Kwargs};
use crate::error::{Error, Result};
use crate::ops::fallible;
use crate::value::{Call, Callee, RefOps, ScalarOps, StaticArg, Tree, Value};

/// The parameters of a `forward`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Where it is defined, `module_path!()::name`.
    pub name: &'static str,
    /// The parameters that are recorded, in order.
    pub inputs: &'static [&'static str],
    /// The types of the parameters that are recorded, as Rust text: `&Tensor`. None where they are not known.
    pub types: &'static [&'static str],
    /// The parameters that are plain Rust, in order.
    pub statics: &'static [&'static str],
}

/// What can be captured: `#[traceable]` on an `impl` block with a `forward` implements it.
///
/// It does not ask for a [`Module`], so that a struct that is none is refused once, where [`Capture::as_module`] is
/// written, and not at every capture of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be traced",
    label = "has no traceable `forward`",
    note = "mark the struct and the `impl` block that has its `forward` with `#[traceable]`"
)]
pub trait Capture {
    /// The types of the static parameters of `forward`, as a tuple.
    type Static;

    /// The parameters of `forward`.
    const SIGNATURE: Signature;

    /// The module itself.
    fn as_module(&self) -> &dyn Module;

    /// Runs `forward`.
    ///
    /// # Errors
    /// If the arguments do not have the form that it takes.
    fn invoke<V: Value>(&self, args: &mut Arguments<V>, statics: Self::Static) -> Result<Arg<V>>
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>;
}

/// A module whose `forward` can be traced: `#[traceable]` is on its struct and on its `impl` block.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be traced",
    label = "has no traceable `forward`",
    note = "mark the struct and the `impl` block that has its `forward` with `#[traceable]`"
)]
pub trait Traceable: Module + Capture {}

#[diagnostic::do_not_recommend]
impl<M: Module + Capture> Traceable for M {}

/// A module that takes one tensor and gives one; `#[traceable]` implements it where `forward` has that form.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    label = "not a module whose `forward` takes one tensor and gives one",
    note = "mark the struct and the `impl` block that has its `forward` with `#[traceable]`"
)]
pub trait Layer: Module {
    /// Runs `forward`.
    fn forward_layer<V: Value>(&self, input: V) -> V
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>;
}

/// A free function that can be traced; `#[traceable]` on it declares a type of its name that implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a traceable function",
    label = "not marked `#[traceable]`",
    note = "mark the function with `#[traceable]`, or capture a closure with `fx::trace_fn!(|x| ..)`"
)]
pub trait TraceableFn {
    /// The types of the static parameters, as a tuple.
    type Static;

    /// The parameters.
    const SIGNATURE: Signature;

    /// Calls the function.
    ///
    /// # Errors
    /// If the arguments do not have the form that it takes.
    fn invoke<V: Value>(args: &mut Arguments<V>, statics: Self::Static) -> Result<Arg<V>>
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>;
}

/// The arguments of a `forward` in the form that a graph holds them, taken in order; after the last one come absent ones.
pub struct Arguments<V> {
    args: vec::IntoIter<Arg<V>>,
    /// The names of those that are left; none where they are not known.
    names: slice::Iter<'static, &'static str>,
    /// The name of the last one taken.
    name: Option<&'static str>,
}

impl<V> Arguments<V> {
    /// All of them, in order.
    pub fn new(args: Vec<Arg<V>>) -> Self {
        Self::named(args, &[])
    }

    /// All of them, in order, with the names of the parameters that they are for.
    pub fn named(args: Vec<Arg<V>>, names: &'static [&'static str]) -> Self {
        Self { args: args.into_iter(), names: names.iter(), name: None }
    }

    /// The next one as it is.
    pub fn take(&mut self) -> Arg<V> {
        self.name = self.names.next().copied();
        self.args.next().unwrap_or(Arg::None)
    }

    /// An error of reading the last one taken, with its name.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_last(&self, error: Error) -> Error {
        match self.name {
            Some(name) => error.in_input(name),
            None => error,
        }
    }
}

/// Static arguments as a tuple.
pub trait Statics: Sized {
    /// As a graph holds them, in order.
    fn to_immediates(&self) -> Vec<Arg<Infallible>>;

    /// Read from a graph.
    ///
    /// # Errors
    /// If one is missing or has another type.
    fn from_kwargs<V>(names: &[&str], kwargs: &Kwargs<V>) -> Result<Self>;
}

/// A static argument of a recorded call, as the graph holds it.
///
/// # Errors
/// If it is missing, or no static argument.
#[doc(hidden)]
pub fn immediate<V>(name: &str, kwargs: &Kwargs<V>) -> Result<Arg<Infallible>> {
    let arg = kwargs.get(name).ok_or_else(|| Error::argument(format!("the static argument `{name}` is missing")))?;
    arg.try_map(&mut |_| Err(Error::argument(format!("`{name}` is static and cannot be a value"))))
}

impl Statics for () {
    fn to_immediates(&self) -> Vec<Arg<Infallible>> {
        Vec::new()
    }

    fn from_kwargs<V>(_: &[&str], _: &Kwargs<V>) -> Result<Self> {
        Ok(())
    }
}

macro_rules! statics {
    ($($($T:ident $i:tt),+;)+) => { $(
        impl<$($T: StaticArg),+> Statics for ($($T,)+) {
            fn to_immediates(&self) -> Vec<Arg<Infallible>> {
                vec![$(self.$i.to_immediate()),+]
            }

            fn from_kwargs<V>(names: &[&str], kwargs: &Kwargs<V>) -> Result<Self> {
                Ok(($($T::from_immediate(&immediate(names[$i], kwargs)?)?,)+))
            }
        }
    )+ };
}
statics! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}

/// A call of a module's `forward`, before it is decided whether it is one node or traced through.
///
/// `#[traceable]` makes every `forward` pass here: arguments are given first, then the body runs, or not.
pub struct ModuleCall<V> {
    args: Vec<Arg<V>>,
    kwargs: Kwargs<V>,
}

impl<V: Value> ModuleCall<V> {
    /// A call without arguments so far.
    pub fn new() -> Self {
        Self { args: Vec::new(), kwargs: Kwargs::new() }
    }

    /// Adds an argument that is recorded.
    #[must_use]
    pub fn input(self, value: &impl Tree<V>) -> Self {
        self.input_with(|| value.to_arg())
    }

    /// Adds an argument that is recorded, and is made only for that.
    #[must_use]
    pub fn input_with(mut self, arg: impl FnOnce() -> Arg<V>) -> Self {
        if V::RECORDS {
            self.args.push(arg());
        }
        self
    }

    /// Adds an argument that is plain Rust.
    #[must_use]
    pub fn fixed(mut self, name: &'static str, value: &impl StaticArg) -> Self {
        if V::RECORDS {
            let arg = value.to_immediate().map(&mut |never| match *never {});
            self.kwargs.insert(Key::Borrowed(name), arg);
        }
        self
    }

    /// Runs the module's body, or records the call.
    #[track_caller]
    pub fn run<R: Tree<V>>(self, module: &impl Capture, body: impl FnOnce() -> R) -> R {
        self.run_body(module.as_module(), &mut Some(body))
    }

    /// The part of [`ModuleCall::run`] that is the same for all modules.
    #[track_caller]
    fn run_body<R: Tree<V>>(self, module: &dyn Module, body: &mut dyn Body<R>) -> R {
        let mut result = None;
        let mut forward = || {
            let again = || Error::argument("the forward of a module runs once for each call");
            let output = body.run().ok_or_else(again)?;
            let arg = if V::RECORDS { output.to_arg() } else { Arg::None };
            result = Some(output);
            Ok(arg)
        };
        let mut call = Call::new(Callee::Module(module, &mut forward));
        (call.args, call.kwargs) = (self.args, self.kwargs);
        let applied = V::apply(call);
        match result {
            // The body ran: its own result, as it is.
            Some(result) if applied.is_ok() => result,
            _ => R::read(applied),
        }
    }
}

/// The body of a `forward`, which runs once. A trait of its own has less to compile for each module than `dyn FnMut`.
trait Body<R> {
    fn run(&mut self) -> Option<R>;
}

impl<R, F: FnOnce() -> R> Body<R> for Option<F> {
    fn run(&mut self) -> Option<R> {
        Some(self.take()?())
    }
}

impl<V: Value> Default for ModuleCall<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// A module's `forward`, if it has a traceable one. `#[traceable]` on the struct writes `(&Forward(self)).call(..)`,
/// and method lookup falls back to [`NoForward`].
#[doc(hidden)]
pub struct Forward<'a, M>(pub &'a M);

impl<M: Capture> Forward<'_, M>
where
    M::Static: Statics,
{
    /// # Errors
    /// As [`call_dynamic`].
    pub fn call<V: Value>(&self, args: Vec<Arg<V>>, kwargs: &Kwargs<V>) -> Result<Arg<V>>
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>,
    {
        call_dynamic(self.0, args, kwargs)
    }

    pub fn signature(&self) -> &'static Signature {
        &M::SIGNATURE
    }
}

/// The fallback of [`Forward`].
#[doc(hidden)]
pub trait NoForward {
    /// # Errors
    /// Always.
    fn call<V>(&self, _: Vec<Arg<V>>, _: &Kwargs<V>) -> Result<Arg<V>> {
        Err(Error::argument("the module has no `forward`").help("mark its `impl` block with `#[traceable]`"))
    }

    fn signature(&self) -> &'static Signature {
        &Signature { name: "", inputs: &[], types: &[], statics: &[] }
    }
}

impl<M> NoForward for Forward<'_, M> {}

/// Runs the `forward` of a module on arguments in the form that a graph holds them; errors go to [`Value::fail`].
///
/// Generated code calls modules so whose parameters are no plain tensors.
#[track_caller]
pub fn invoke<M: Capture, V: Value, R: Tree<V>>(
    module: &M,
    args: impl IntoIterator<Item = Arg<V>>,
    kwargs: impl IntoIterator<Item = (&'static str, Arg<V>)>,
) -> R
where
    M::Static: Statics,
    for<'a> &'a V: RefOps<V>,
    f64: ScalarOps<V>,
    i64: ScalarOps<V>,
    for<'a> &'a Parameter: ScalarOps<V>,
    for<'a> &'a Buffer: ScalarOps<V>,
{
    let result = call_dynamic(module, args.into_iter().collect(), &kwargs.into_iter().collect());
    R::read(result)
}

/// Runs the `forward` of a module on arguments of unknown form; the errors of its ops come out as the result.
///
/// # Errors
/// If the arguments do not fit, or an op fails.
fn call_dynamic<M: Capture, V: Value>(module: &M, args: Vec<Arg<V>>, kwargs: &Kwargs<V>) -> Result<Arg<V>>
where
    M::Static: Statics,
    for<'a> &'a V: RefOps<V>,
    f64: ScalarOps<V>,
    i64: ScalarOps<V>,
    for<'a> &'a Parameter: ScalarOps<V>,
    for<'a> &'a Buffer: ScalarOps<V>,
{
    dynamic(&M::SIGNATURE, args, kwargs, &Forward(module))
}

/// What [`call_dynamic`] runs of a module.
trait Invoke<V> {
    fn invoke(&self, args: &mut Arguments<V>, kwargs: &Kwargs<V>) -> Result<Arg<V>>;
}

impl<M: Capture, V: Value> Invoke<V> for Forward<'_, M>
where
    M::Static: Statics,
    for<'a> &'a V: RefOps<V>,
    f64: ScalarOps<V>,
    i64: ScalarOps<V>,
    for<'a> &'a Parameter: ScalarOps<V>,
    for<'a> &'a Buffer: ScalarOps<V>,
{
    fn invoke(&self, args: &mut Arguments<V>, kwargs: &Kwargs<V>) -> Result<Arg<V>> {
        self.0.invoke::<V>(args, M::Static::from_kwargs(M::SIGNATURE.statics, kwargs)?)
    }
}

/// The part of [`call_dynamic`] that is the same for all modules.
fn dynamic<V: Value>(
    signature: &Signature,
    mut args: Vec<Arg<V>>,
    kwargs: &Kwargs<V>,
    forward: &dyn Invoke<V>,
) -> Result<Arg<V>> {
    let inputs = signature.inputs;
    for name in &inputs[args.len().min(inputs.len())..] {
        args.push(kwargs.get(name).cloned().unwrap_or(Arg::None));
    }
    if args.len() > inputs.len() {
        let message = format!("forward takes {} arguments ({}), found {}", inputs.len(), inputs.join(", "), args.len());
        return Err(Error::argument(message));
    }
    fallible::scope(|| forward.invoke(&mut Arguments::named(args, inputs), kwargs))?
}
