//! The compiled plan: a graph made ready to run on tensors.
//!
//! Names and paths are resolved once. A run walks the steps over a flat list of registers; a value is moved out of its
//! register at its last use, so that a kernel can write into the storage of an operand that nobody else needs.

use crate::arg::{Arg, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, no_such};
use crate::interpreter::{Inputs, LastUses, locate};
use crate::module::{Buffer, Module, Parameter};
use crate::ops::Function;
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// A graph made ready to run on tensors. Safe to run from many threads at once.
pub struct Plan {
    steps: Vec<Step>,
    registers: usize,
    inputs: Inputs,
    /// For errors: nodes, their lines and the user's.
    graph: Graph,
}

/// One node: what it does, from which registers, into which.
struct Step {
    node: NodeId,
    action: Action,
    args: Vec<Arg<Read>>,
    kwargs: Kwargs<Read>,
    /// None if nothing uses the result.
    into: Option<usize>,
}

enum Action {
    Input,
    Parameter(Parameter),
    Buffer(Buffer),
    Function(Function),
    Module(Arc<dyn Module>),
    Output,
}

/// A register that is read; the last time its value is moved out.
#[derive(Clone, Copy, Debug)]
struct Read {
    register: usize,
    last: bool,
}

impl Plan {
    /// Compiles a module's graph.
    ///
    /// # Errors
    /// If a node refers to something that is not there.
    pub fn new(module: &GraphModule) -> Result<Self> {
        let graph = module.graph();
        let last = LastUses::new(graph);
        let mut registers = Registers::default();
        let mut step = |place: usize, id: NodeId| -> Result<Step> {
            let node = &graph[id];
            let mut dying: Vec<NodeId> = last.at(place).to_vec();
            // An argument mentioned twice is moved at its last mention.
            let mut mentions: HashMap<NodeId, usize> = HashMap::new();
            let mut count = |id: &NodeId| *mentions.entry(*id).or_default() += 1;
            node.args().iter().for_each(|arg| arg.for_each(&mut count));
            node.kwargs().iter().for_each(|(_, arg)| arg.for_each(&mut count));
            let mut read = |id: &NodeId| {
                let left = mentions.get_mut(id).map_or(0, |left| {
                    *left -= 1;
                    *left
                });
                let place = dying.iter().position(|dying| dying == id).filter(|_| left == 0);
                let last = place.map(|place| dying.swap_remove(place)).is_some();
                Read { register: registers.of[id], last }
            };
            let args = node.args().iter().map(|arg: &NodeArg| arg.map(&mut read)).collect();
            let kwargs = node.kwargs().map(&mut read);
            last.at(place).iter().for_each(|dead| registers.release(*dead));
            let into = (node.users().len() > 0).then(|| registers.acquire(id));
            Ok(Step { node: id, action: action(module, id)?, args, kwargs, into })
        };
        let steps = graph
            .nodes()
            .enumerate()
            .map(|(place, (id, _))| step(place, id).map_err(|error| locate(error, graph, id)))
            .collect::<Result<Vec<_>>>()?;
        let inputs = Inputs::new(graph, |_| true);
        Ok(Self { steps, registers: registers.count, inputs, graph: graph.clone() })
    }

    /// Runs the plan on positional arguments.
    ///
    /// # Errors
    /// If the arguments do not fit, or an op fails; the error names the node and the user's line.
    pub fn run(&self, args: Vec<Arg<Tensor>>) -> Result<Arg<Tensor>> {
        self.inputs.check(args.len())?;
        let mut registers: Vec<Option<Arg<Tensor>>> = (0..self.registers).map(|_| None).collect();
        let mut inputs = args.into_iter();
        for step in &self.steps {
            let value = step.run(&mut registers, &mut inputs).map_err(|error| locate(error, &self.graph, step.node))?;
            if matches!(step.action, Action::Output) {
                return Ok(value);
            }
            if let Some(into) = step.into {
                registers[into] = Some(value);
            }
        }
        Ok(Arg::None)
    }
}

/// Which values are in which registers; those of dead values are used again.
#[derive(Default)]
struct Registers {
    of: HashMap<NodeId, usize>,
    free: Vec<usize>,
    count: usize,
}

impl Registers {
    fn acquire(&mut self, id: NodeId) -> usize {
        let register = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.of.insert(id, register);
        register
    }

    fn release(&mut self, id: NodeId) {
        self.free.extend(self.of.get(&id));
    }
}

impl Step {
    fn run(
        &self,
        registers: &mut [Option<Arg<Tensor>>],
        inputs: &mut impl Iterator<Item = Arg<Tensor>>,
    ) -> Result<Arg<Tensor>> {
        let mut read = |read: &Read| {
            let register = &mut registers[read.register];
            let value = if read.last { register.take() } else { register.clone() };
            value.ok_or_else(|| Error::new(ErrorKind::Graph, "a value is used that was never computed"))
        };
        if let Action::Input = self.action {
            return match (inputs.next(), self.args.first()) {
                (Some(input), _) => Ok(input),
                (None, Some(default)) => default.try_flat_map(&mut read),
                (None, None) => Err(Error::argument("an input is missing")),
            };
        }
        let mut args = self.args.iter().map(|arg| arg.try_flat_map(&mut read)).collect::<Result<Vec<_>>>()?;
        let kwargs = self.kwargs.try_flat_map(&mut read)?;
        match &self.action {
            Action::Input => unreachable!("inputs were handled above"),
            Action::Parameter(parameter) => Ok(Arg::Value(parameter.tensor())),
            Action::Buffer(buffer) => Ok(Arg::Value(buffer.tensor())),
            Action::Function(function) => function.call(&args, &kwargs),
            Action::Module(module) => module.call_tensor(args, &kwargs),
            Action::Output => Ok(if args.is_empty() { Arg::None } else { args.swap_remove(0) }),
        }
    }
}

fn action(module: &GraphModule, id: NodeId) -> Result<Action> {
    let node = &module.graph()[id];
    let (state, name) = (module.state(), node.target().name());
    Ok(match node.op() {
        Opcode::Placeholder => Action::Input,
        Opcode::Output => Action::Output,
        Opcode::GetAttr => match (state.parameters.get(name), state.buffers.get(name)) {
            (Some(parameter), _) => Action::Parameter(parameter.clone()),
            (None, Some(buffer)) => Action::Buffer(buffer.clone()),
            (None, None) => return Err(no_such(Opcode::GetAttr, name)),
        },
        Opcode::CallFunction | Opcode::CallMethod => {
            let function = node.target().as_function().or_else(|| Function::lookup(name));
            Action::Function(function.ok_or_else(|| Error::not_found(format!("there is no function `{name}`")))?)
        }
        Opcode::CallModule => match state.modules.get(name) {
            Some(module) => Action::Module(Arc::clone(module)),
            None => return Err(no_such(Opcode::CallModule, name)),
        },
    })
}
