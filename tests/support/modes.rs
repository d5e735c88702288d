//! The modes in which a call of an op is run. All must agree.

use fx::graph::NodeArg;
use fx::graph_module::State;
use fx::trace::trace_fn;
use fx::value::Tree;
use fx::{
    Arg, Buffer, Error, Function, Graph, GraphModule, Interpreter, Kwargs, Module, NodeId, Opcode, Proxy, Result,
    Tensor,
};

use super::golden::Sample;

/// A way to run a call.
pub(crate) type Mode = fn(Function, &Sample) -> Result<Arg<Tensor>>;

/// All modes and their names.
pub(crate) const MODES: [(&str, Mode); 6] = [
    ("eager", |function, sample| function.call(&sample.args, &sample.kwargs)),
    ("compiled", |function, sample| Captured::new(function, sample)?.compiled()),
    ("compiled with weights", |function, sample| Captured::with_weights(function, sample)?.compiled()),
    ("interpreted", |function, sample| Captured::new(function, sample)?.interpreted()),
    ("retraced", |function, sample| Captured::new(function, sample)?.retraced()?.compiled()),
    ("printed", |function, sample| Captured::new(function, sample)?.printed()?.compiled()),
];

/// Names of placeholders.
const NAMES: [&str; 24] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w",
    "x",
];

/// A graph of one call, and the tensors that it is called with.
struct Captured {
    module: GraphModule,
    inputs: Vec<Arg<Tensor>>,
}

impl Captured {
    /// A graph with a placeholder for each tensor.
    fn new(function: Function, sample: &Sample) -> Result<Self> {
        Self::of(function, sample, NAMES.len())
    }

    /// A graph with a placeholder for the first tensor; the others are state, which is known when a plan is made.
    fn with_weights(function: Function, sample: &Sample) -> Result<Self> {
        Self::of(function, sample, 1)
    }

    /// A graph with placeholders for as many tensors; the rest are state.
    fn of(function: Function, sample: &Sample, placeholders: usize) -> Result<Self> {
        let (mut graph, mut state) = (Graph::new(), State::new());
        let mut inputs = Vec::new();
        let mut placeholder = |tensor: &Tensor| -> NodeId {
            if inputs.len() == placeholders {
                let path = format!("state{}", state.buffers.len());
                state.buffers.insert(path.clone(), Buffer::new(tensor.clone()));
                return graph.get_attr(&path);
            }
            let id = graph.placeholder(NAMES[inputs.len()]);
            inputs.push(Arg::Value(tensor.clone()));
            id
        };
        let args: Vec<NodeArg> = sample.args.iter().map(|arg| arg.map(&mut placeholder)).collect();
        let kwargs: Kwargs<NodeId> = sample.kwargs.map(&mut placeholder);
        let call = graph.call(Opcode::CallFunction, function, args, kwargs);
        graph.output(Arg::Value(call));
        Ok(Self { module: GraphModule::with_state(graph, state, "Sample")?, inputs })
    }

    fn compiled(self) -> Result<Arg<Tensor>> {
        let first = self.module.run(self.inputs.clone())?;
        drop(first);
        self.module.run(self.inputs)
    }

    fn interpreted(self) -> Result<Arg<Tensor>> {
        Interpreter::new(&self.module).run(self.inputs)
    }

    /// Traced again, which must give an equal graph.
    fn retraced(self) -> Result<Self> {
        let names = &NAMES[..self.inputs.len()];
        let replay = |args: Vec<Proxy>| {
            let args = args.into_iter().map(Arg::Value).collect();
            Structure::or_fail(self.module.call_proxy(args, &Kwargs::new()).map(Structure))
        };
        let module = trace_fn(names, replay)?;
        self.same(module)
    }

    /// Printed and parsed, which must give an equal graph.
    fn printed(self) -> Result<Self> {
        let parsed: Graph = self.module.graph().to_string().parse()?;
        self.same(module(parsed)?)
    }

    fn same(self, module: GraphModule) -> Result<Self> {
        if module.graph() == self.module.graph() {
            return Ok(Self { module, inputs: self.inputs });
        }
        Err(Error::argument(format!("the graphs differ:\n{}\n{}", self.module.graph(), module.graph())))
    }
}

fn module(graph: Graph) -> Result<GraphModule> {
    GraphModule::with_state(graph, State::new(), "Sample")
}

/// A result of any structure.
struct Structure(Arg<Proxy>);

impl Tree<Proxy> for Structure {
    fn to_arg(&self) -> Arg<Proxy> {
        self.0.clone()
    }

    fn from_arg(arg: Arg<Proxy>) -> Result<Self> {
        Ok(Self(arg))
    }

    fn fill(value: &Proxy) -> Self {
        Self(Arg::Value(value.clone()))
    }
}
