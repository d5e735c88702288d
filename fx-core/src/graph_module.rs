//! A graph with the state it refers to: a module that can be run, edited, printed and traced again.
//!
//! **Invariant:** the graph lints and everything it refers to is there. An edit that breaks this is undone; the plan is
//! made from the graph when it is first run, so a stale plan cannot be run.

mod file;
mod state;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

pub use state::{State, StateMap};

use crate::arg::{Arg, Kwargs};
use crate::codegen::FolderOptions;
use crate::compile::{Plan, Profile, Program};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId, NodeMap, Opcode};
use crate::interpreter::{Interpretable, Interpreter};
use crate::module::{Buffer, Entry, Layer, Module, Parameter, Signature, StateDict, Visit, Visitor, is_copying};
use crate::tensor::{DType, Tensor};
use crate::trace::Proxy;
use crate::value::{Call, Callee, RefOps, ScalarOps, Tree, Value};

/// A captured model: a [`Graph`], and the modules, parameters and buffers that it refers to, shared with the model
/// that it was captured from.
#[derive(Clone)]
pub struct GraphModule {
    graph: Graph,
    state: State,
    class: String,
    precision: DType,
    fast_algorithms: bool,
    compiled: Compiled,
}

/// The program of a graph, made when it is first needed.
#[derive(Default)]
struct Compiled(RwLock<Option<Arc<Program>>>);

impl Clone for Compiled {
    fn clone(&self) -> Self {
        // A deep copy has other state than the program was made from.
        if is_copying() {
            return Self::default();
        }
        Self(RwLock::new(self.0.read().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}

impl GraphModule {
    /// A module of a graph, with the state of `root` that the graph refers to.
    ///
    /// # Errors
    /// If the graph does not lint, or refers to something that `root` does not have.
    pub fn new(root: &dyn Module, graph: Graph) -> Result<Self> {
        let state = State::of(root);
        Self::with_state(graph, state, root.type_name())
    }

    /// A module of a graph and its state, named `class` in generated code. State that the graph does not refer to
    /// is left out.
    ///
    /// # Errors
    /// If the graph does not lint, or refers to something that is not in `state`.
    pub fn with_state(graph: Graph, mut state: State, class: &str) -> Result<Self> {
        graph.lint_with(&state)?;
        state.retain_used(&graph);
        let (class, compiled) = (class.to_owned(), Compiled::default());
        Ok(Self { graph, state, class, precision: DType::F32, fast_algorithms: true, compiled })
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The modules, parameters and buffers that the graph refers to.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The name of the model that was captured.
    pub fn class_name(&self) -> &str {
        &self.class
    }

    /// Edits the graph. It is linted when `f` returns; if `f` or the lint fails, nothing has changed.
    ///
    /// # Errors
    /// What `f` gives, or the violations of the edited graph.
    pub fn edit<R>(&mut self, f: impl FnOnce(&mut Graph) -> Result<R>) -> Result<R> {
        self.edit_with_state(|graph, _| f(graph))
    }

    /// Edits the graph and the state together; as [`GraphModule::edit`].
    ///
    /// # Errors
    /// What `f` gives, or the violations of the edited graph.
    pub fn edit_with_state<R>(&mut self, f: impl FnOnce(&mut Graph, &mut State) -> Result<R>) -> Result<R> {
        let (mut graph, mut state) = self.copied();
        let result = f(&mut graph, &mut state)?;
        self.replace_by(graph, state)?;
        Ok(result)
    }

    // Both compiled once for all edits.
    #[inline(never)]
    fn copied(&self) -> (Graph, State) {
        (self.graph.clone(), self.state.clone())
    }

    #[inline(never)]
    fn replace_by(&mut self, graph: Graph, state: State) -> Result<()> {
        graph.lint_with(&state)?;
        (self.graph, self.state, self.compiled) = (graph, state, Compiled::default());
        Ok(())
    }

    /// Adds a module at `path`, such as `blocks.2.norm`, for calls to come. What is there already is replaced, with all
    /// below it.
    ///
    /// # Errors
    /// If the graph refers to something else there; then nothing has changed.
    pub fn add_submodule(&mut self, path: &str, module: &dyn Module) -> Result<()> {
        self.edit_with_state(|_, state| {
            state.remove_below(path);
            state.modules.insert(path.to_owned(), module.share());
            Ok(())
        })
    }

    /// Deletes the module at `path`, or all modules, parameters and buffers below it. Whether there were any.
    ///
    /// # Errors
    /// If the graph refers to one of them; then nothing has changed.
    pub fn delete_submodule(&mut self, path: &str) -> Result<bool> {
        self.edit_with_state(|_, state| Ok(state.remove_below(path)))
    }

    /// The modules that the graph may call, by path.
    pub fn named_modules(&self) -> impl Iterator<Item = (&str, &dyn Module)> {
        self.state.modules.iter().map(|(path, module)| (path.as_str(), &**module))
    }

    /// Forgets the state that the graph does not refer to; torch.fx's `delete_all_unused_submodules`.
    pub fn delete_unused_state(&mut self) {
        self.state.retain_used(&self.graph);
    }

    /// Runs the graph on the inputs, a tensor or a tuple of them, by its compiled plan.
    ///
    /// An input that is given away, by value and with no clone or view of it elsewhere, may come back as a result: `index_copy` writes
    /// into it. One that the caller keeps never changes.
    ///
    /// # Errors
    /// If the inputs do not fit, or an op fails; the error names the node, its shapes and the user's line.
    pub fn forward(&self, inputs: impl Inputs) -> Result<Tensor> {
        let output = self.run(inputs.into_args())?;
        let help = "`forward_as` gives results of other forms: `forward_as::<(Tensor, Tensor)>(inputs)`";
        Tensor::from_arg(output).map_err(|error| error.help(help))
    }

    /// Runs the graph and gives its result as a tuple, a list or another structure.
    ///
    /// # Errors
    /// As [`GraphModule::forward`], and if the result has another structure.
    pub fn forward_as<R: Tree<Tensor>>(&self, inputs: impl Inputs) -> Result<R> {
        R::from_arg(self.run(inputs.into_args())?)
    }

    /// Runs the graph on arguments of any form.
    ///
    /// # Errors
    /// As [`GraphModule::forward`].
    pub fn run(&self, args: Vec<Arg<Tensor>>) -> Result<Arg<Tensor>> {
        self.program().run(args)
    }

    /// Calls it as a module within a traceable `forward`: on tensors, proxies or shapes.
    ///
    /// # Panics
    /// On tensors, if [`GraphModule::run`] fails.
    #[track_caller]
    pub fn call<V: Value, R: Tree<V>>(&self, inputs: impl IntoIterator<Item = V>) -> R {
        let module: &dyn Module = self;
        let result = module.call(inputs.into_iter().map(Arg::Value).collect(), Kwargs::new());
        R::read(result)
    }

    /// The plan that runs inputs of these shapes: steps, kernels, layouts, buffers. It prints.
    ///
    /// # Errors
    /// If the inputs do not fit; the error names the node and the user's line.
    pub fn plan(&self, inputs: impl Inputs) -> Result<Arc<Plan>> {
        self.program().plan(&inputs.into_args())
    }

    /// Measures where the time of a run goes: each step's time, and the rates at which it computes and moves bytes.
    ///
    /// # Errors
    /// As [`GraphModule::forward`], and if `runs` is 0.
    pub fn profile(&self, inputs: impl Inputs, runs: usize) -> Result<Profile> {
        let args = inputs.into_args();
        self.program().plan(&args)?.profile(&args, runs)
    }

    /// The optimised graph that plans are made of, and the plans so far.
    pub fn program(&self) -> Arc<Program> {
        let current = |program: &Option<Arc<Program>>| program.clone().filter(|program| program.is_current());
        if let Some(program) = current(&self.compiled.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return program;
        }
        // Made before the slot is locked, for it copies this module.
        let made = Arc::new(Program::new(self));
        let mut slot = self.compiled.0.write().unwrap_or_else(PoisonError::into_inner);
        current(&slot).unwrap_or_else(|| Arc::clone(slot.insert(made)))
    }

    /// The type in which plans keep the weights of linear layers, convolutions and recurrent layers: f32, unless it was
    /// [set](Self::set_inference_precision).
    pub fn inference_precision(&self) -> DType {
        self.precision
    }

    /// Lets plans keep weights in half the memory: in bf16 or f16, with sums in f32. Eager code and the parameters themselves stay
    /// in f32.
    ///
    /// Where the processor has a fast instruction for it (AVX-512 BF16 of AMD, and AMX), products with weights in bf16 are twice as
    /// fast or more, and what they are multiplied with is rounded to bf16 too, as are queries, keys, values and the powers of scores in
    /// attention with several queries; what only such products read is kept so, and as with PyTorch's autocast what is computed of their
    /// results alone, by elementwise ops, pooling, depthwise convolutions and concatenation; SiLU and GELU of what is rounded next are within 1.3e-3
    /// of their values, a third of what is lost then. Elsewhere only what waits for memory is faster. How far results are
    /// off depends on the model: with bf16 by 0.5 % of the largest element for BERT, and by 12 % for a ResNet-50 of random weights, where
    /// PyTorch with autocast is off by 17 %.
    ///
    /// Weights stay in f32 where rows of their matrix do not come in twos (an odd number of channels a group in a convolution, or of inputs
    /// where there is no such instruction, or up to 16 of them), where they are too large for f16, and where Winograd's algorithm is faster.
    ///
    /// This is of this module and its copies; it is not saved.
    ///
    /// ```
    /// # use fx_core::tensor::{DType, Tensor};
    /// # fn f(mut module: fx_core::GraphModule, x: &Tensor) -> fx_core::Result<()> {
    /// let exact = module.forward(x)?;
    /// module.set_inference_precision(DType::BF16)?;
    /// println!("{}", module.plan(x)?); // says which weights are in bf16
    /// println!("off by {}", module.forward(x)?.max_abs_diff(&exact));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// For any type but f32, bf16 and f16.
    pub fn set_inference_precision(&mut self, precision: DType) -> Result<()> {
        if !matches!(precision, DType::F32 | DType::BF16 | DType::F16) {
            return Err(Error::argument(format!("weights cannot be kept in {precision}"))
                .help("f32, bf16 and f16 are what plans can compute with"));
        }
        (self.precision, self.compiled) = (precision, Compiled::default());
        Ok(())
    }

    /// Whether plans may compute products by other algorithms than their definition: yes, unless it was
    /// [set](Self::set_fast_algorithms).
    pub fn fast_algorithms(&self) -> bool {
        self.fast_algorithms
    }

    /// Lets plans compute convolutions of 3 by 3, and of three to nine taps along a line or column, by Winograd's algorithm, and large products of
    /// many rows by Strassen's or, where the processor has a matrix unit (AMX), as six products of bf16 (`bf16x6`), where these are faster,
    /// and keep the large weights that a single row is multiplied with in 28 bits, or keeps them to the definition.
    ///
    /// Rounding errors of Winograd's and of Strassen's algorithm are two to three times those of the definition: some 1e-6 of the result's
    /// size in the place of 5e-7. Of `bf16x6` each number is the sum of three bf16, which have all its bits: errors are no larger than
    /// those of the definition, and what of a number is too small to be normal counts as 0. What 28 bits lack is the upper part of the
    /// exponent: of 256 weights of an output, those that are not smaller than a
    /// 2<sup>14</sup>th of the largest are what they were, and others are off by at most a 2<sup>37</sup>th of it. A printed plan
    /// says where which algorithm is used. What is not finite is as by the definition.
    ///
    /// This is of this module and its copies; it is not saved.
    ///
    /// ```
    /// # use fx_core::tensor::Tensor;
    /// # fn f(mut module: fx_core::GraphModule, x: &Tensor) -> fx_core::Result<()> {
    /// let fast = module.forward(x)?;
    /// module.set_fast_algorithms(false);
    /// println!("off by {}", module.forward(x)?.max_abs_diff(&fast));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_fast_algorithms(&mut self, fast: bool) {
        (self.fast_algorithms, self.compiled) = (fast, Compiled::default());
    }

    /// All parameters and buffers, of leaf modules too, by their paths.
    pub fn state_dict(&self) -> StateDict {
        self.state.state_dict()
    }

    /// The graph as Rust source that compiles: a struct, its constructor and its `forward`; see
    /// [`codegen`](crate::codegen).
    ///
    /// What there is no source for becomes a `compile_error!` that says why.
    pub fn code(&self) -> String {
        crate::codegen::code(self)
    }

    /// The generated `forward` with shapes, as far as they were propagated, source lines and modules as comments;
    /// torch.fx's `print_readable`.
    pub fn readable(&self) -> String {
        crate::codegen::readable(self)
    }

    /// Writes a crate called `name` into the folder `path`: its manifest, [`GraphModule::code`] as `src/lib.rs`, and the
    /// state as `model.safetensors`.
    ///
    /// # Errors
    /// As [`GraphModule::to_folder_with`].
    pub fn to_folder(&self, path: impl AsRef<Path>, name: &str) -> Result<()> {
        self.to_folder_with(path, name, &FolderOptions::new())
    }

    /// As [`GraphModule::to_folder`], with options. Nothing is half-written: the crate is written beside its place and
    /// then renamed.
    ///
    /// # Errors
    /// If the graph has something that there is no source for, if the folder is there and not empty, unless it may be
    /// replaced, or if it cannot be written.
    pub fn to_folder_with(&self, path: impl AsRef<Path>, name: &str, options: &FolderOptions) -> Result<()> {
        crate::codegen::to_folder(self, path.as_ref(), name, options)
    }

    /// Sets training mode in all leaf modules, shared with the model that was captured.
    pub fn train(&self, training: bool) {
        self.state.modules.values().for_each(|module| module.set_training(training));
    }

    /// The default of a placeholder.
    fn default_of<V>(&self, id: NodeId) -> Result<Arg<V>> {
        let node = &self.graph[id];
        let name = node.target();
        let default = node.args().first().ok_or_else(|| Error::argument(format!("the input `{name}` is missing")))?;
        default.try_map(&mut |_| Err(Error::argument(format!("the default of `{name}` is not a constant"))))
    }

    /// The arguments of a call, one for each input: those given by position, then those given by name, else defaults.
    ///
    /// # Errors
    /// If there are too many arguments, an input has neither an argument nor a default, or no input has a name.
    pub fn bind<V: Clone>(&self, args: Vec<Arg<V>>, kwargs: &Kwargs<V>) -> Result<Vec<Arg<V>>> {
        let mut args = self.positional(args, kwargs)?;
        crate::interpreter::Inputs::new(&self.graph, |_| true).check(args.len())?;
        for id in self.graph.placeholders().into_iter().skip(args.len()) {
            args.push(self.default_of(id)?);
        }
        Ok(args)
    }

    /// The arguments of a call by position: those given by name, and defaults before them.
    fn positional<V: Clone>(&self, mut args: Vec<Arg<V>>, kwargs: &Kwargs<V>) -> Result<Vec<Arg<V>>> {
        let mut left = kwargs.len();
        for id in self.graph.placeholders().into_iter().skip(args.len()) {
            if left == 0 {
                break;
            }
            match kwargs.get(self.graph[id].target().name()) {
                Some(arg) => {
                    args.push(arg.clone());
                    left -= 1;
                }
                None => args.push(self.default_of(id)?),
            }
        }
        if left > 0 {
            let names: Vec<_> = kwargs.iter().map(|(key, _)| &**key).collect();
            return Err(Error::argument(format!("takes no or no second argument by a name of {}", names.join(", "))));
        }
        Ok(args)
    }

    pub(crate) fn replay<V: Interpretable>(&self, args: Vec<Arg<V>>, kwargs: &Kwargs<V>) -> Result<Arg<V>> {
        Interpreter::new(self).run(self.positional(args, kwargs)?)
    }

    /// A copy of this graph's nodes in `graph`, with its placeholders replaced by `args`, those without an argument by
    /// their defaults. Paths are copied as they are: the owner of `graph` must have the state they refer to.
    ///
    /// # Errors
    /// If there are too few or too many arguments, or one is not of `graph`; then `graph` may hold part of the copy.
    pub fn inline_into(&self, graph: &mut Graph, args: Vec<Arg<NodeId>>) -> Result<Option<Arg<NodeId>>> {
        let args = self.bind(args, &Kwargs::new())?;
        let mut map: NodeMap = self.graph.placeholders().into_iter().zip(args).collect();
        graph.graph_copy(&self.graph, &mut map)
    }
}

/// What [`GraphModule::forward`] takes: a tensor, a reference to one, or a tuple of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the input of a captured model",
    label = "not the input of a graph",
    note = "a tensor, a reference to one, a list of tensors or of pairs of them, or a tuple of these can; give another \
            tuple or struct within it as `x.into_arg()`, a method of `fx::value::Tree`"
)]
pub trait Inputs {
    /// The positional arguments.
    fn into_args(self) -> Vec<Arg<Tensor>>;
}

/// One input of a captured model.
pub trait InputArg {
    /// The argument.
    fn into_input(self) -> Arg<Tensor>;
}

impl InputArg for Tensor {
    fn into_input(self) -> Arg<Tensor> {
        Arg::Value(self)
    }
}

impl InputArg for &Tensor {
    fn into_input(self) -> Arg<Tensor> {
        Arg::Value(self.clone())
    }
}

impl<T: InputArg> InputArg for Option<T> {
    fn into_input(self) -> Arg<Tensor> {
        self.map_or(Arg::None, T::into_input)
    }
}

impl InputArg for Vec<Tensor> {
    fn into_input(self) -> Arg<Tensor> {
        Arg::List(self.into_iter().map(Arg::Value).collect())
    }
}

/// Pairs, as the keys and values of each layer.
impl<A: InputArg, B: InputArg> InputArg for Vec<(A, B)> {
    fn into_input(self) -> Arg<Tensor> {
        Arg::List(self.into_iter().map(|(a, b)| Arg::Tuple(vec![a.into_input(), b.into_input()])).collect())
    }
}

impl InputArg for &[Tensor] {
    fn into_input(self) -> Arg<Tensor> {
        Arg::List(self.iter().cloned().map(Arg::Value).collect())
    }
}

impl InputArg for Arg<Tensor> {
    fn into_input(self) -> Arg<Tensor> {
        self
    }
}

impl<T: InputArg> Inputs for T {
    fn into_args(self) -> Vec<Arg<Tensor>> {
        vec![self.into_input()]
    }
}

/// The arguments themselves, as many as there are.
impl Inputs for Vec<Arg<Tensor>> {
    fn into_args(self) -> Vec<Arg<Tensor>> {
        self
    }
}

macro_rules! inputs {
    ($(($($T:ident $i:tt),*);)+) => { $(
        impl<$($T: InputArg),*> Inputs for ($($T,)*) {
            fn into_args(self) -> Vec<Arg<Tensor>> {
                vec![$(self.$i.into_input()),*]
            }
        }
    )+ };
}
inputs! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

impl Visit for GraphModule {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        if !visitor.module(path, self) {
            return;
        }
        let join = |name: &str| crate::module::join(path, name);
        for (name, module) in &self.state.modules {
            module.visit(&join(name), visitor);
        }
        for (name, parameter) in &self.state.parameters {
            visitor.state(&join(name), Entry::Parameter(parameter));
        }
        for (name, buffer) in &self.state.buffers {
            visitor.state(&join(name), Entry::Buffer(buffer));
        }
    }
}

/// The signature of all captured models: their placeholders are known only at run time.
static SIGNATURE: Signature = Signature { name: "GraphModule::forward", inputs: &[], types: &[], statics: &[] };

impl Module for GraphModule {
    fn type_name(&self) -> &'static str {
        "GraphModule"
    }

    fn signature(&self) -> &'static Signature {
        &SIGNATURE
    }

    fn call_tensor(&self, args: Vec<Arg<Tensor>>, kwargs: &Kwargs<Tensor>) -> Result<Arg<Tensor>> {
        self.run(self.positional(args, kwargs)?)
    }

    /// As every module call, one node or traced through: the tracer decides.
    fn call_proxy(&self, args: Vec<Arg<Proxy>>, kwargs: &Kwargs<Proxy>) -> Result<Arg<Proxy>> {
        let args = self.positional(args, kwargs)?;
        let mut forward = || self.replay(args.clone(), &Kwargs::new());
        Proxy::apply(Call { args: args.clone(), ..Call::new(Callee::Module(self, &mut forward)) })
    }

    fn share(&self) -> Arc<dyn Module> {
        Arc::new(self.clone())
    }
}

impl Layer for GraphModule {
    #[track_caller]
    fn forward_layer<V: Value>(&self, input: V) -> V
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>,
    {
        self.call([input])
    }
}

/// The module's printed form: the generated code.
impl fmt::Display for GraphModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code())
    }
}

impl fmt::Debug for GraphModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({} nodes)", self.class, self.graph.len())
    }
}

/// An error about a path that a node refers to and that nothing is at.
pub(crate) fn no_such(op: Opcode, path: &str) -> Error {
    let what = if op == Opcode::CallModule { "module" } else { "parameter or buffer" };
    Error::new(ErrorKind::NotFound, format!("there is no {what} at `{path}`"))
}
