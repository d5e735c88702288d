//! Running graphs: by the plan, node by node on every kind of value, with hooks, and after edits.

use std::sync::Arc;

use fx_core::graph::{Graph, Node, NodeArg, NodeId, Opcode, SourceLocation};
use fx_core::graph_module::State;
use fx_core::interpreter::{Hooks, Interpretable, NoHooks, Run};
use fx_core::module::{Arguments, Forward, ModuleCall, Signature, Visit, Visitor};
use fx_core::ops::{self, Function};
use fx_core::trace::transform;
use fx_core::value::{Call, RefOps, ScalarOps, Tree};
use fx_core::{
    Arg, Capture, DType, Error, ErrorKind, GraphModule, Interpreter, Kwargs, Meta, Module, Parameter, Proxy, Result,
    Tensor, Value,
};

#[track_caller]
fn check(actual: impl ToString, expected: &str) {
    assert_eq!(actual.to_string(), expected);
}

/// A leaf: `x * weight`.
#[derive(Clone)]
struct Scale {
    weight: Parameter,
}

impl Visit for Scale {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        if visitor.module(path, self) {
            self.weight.visit(&format!("{path}.weight"), visitor);
        }
    }
}

impl Capture for Scale {
    type Static = ();

    const SIGNATURE: Signature =
        Signature { name: "Scale::forward", inputs: &["x"], types: &["&Tensor"], statics: &[] };

    fn as_module(&self) -> &dyn Module {
        self
    }

    fn invoke<V: Value>(&self, args: &mut Arguments<V>, (): ()) -> Result<Arg<V>>
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a fx_core::Buffer: ScalarOps<V>,
    {
        let x = V::from_next(args)?;
        let y: V = ModuleCall::new().input(&x).run(self, || x.mul(self.weight.value::<V>()));
        Ok(y.to_arg())
    }
}

impl Module for Scale {
    fn type_name(&self) -> &'static str {
        "Scale"
    }

    fn is_leaf(&self) -> bool {
        true
    }

    fn signature(&self) -> &'static Signature {
        &Self::SIGNATURE
    }

    fn call_tensor(&self, args: Vec<Arg<Tensor>>, kwargs: &Kwargs<Tensor>) -> Result<Arg<Tensor>> {
        Forward(self).call(args, kwargs)
    }

    fn call_proxy(&self, args: Vec<Arg<Proxy>>, kwargs: &Kwargs<Proxy>) -> Result<Arg<Proxy>> {
        Forward(self).call(args, kwargs)
    }

    fn share(&self) -> Arc<dyn Module> {
        Arc::new(self.clone())
    }
}

fn row(elements: [f32; 3]) -> Tensor {
    Tensor::from([elements])
}

fn state() -> State {
    let mut state = State::new();
    state.parameters.insert("param".to_owned(), Parameter::new(Tensor::from([1.0_f32, -2.0, 3.0])));
    let scale = Scale { weight: Parameter::new(Tensor::from([2.0_f32, 2.0, -1.0])) };
    state.modules.insert("scale".to_owned(), Arc::new(scale));
    state
}

/// `relu((x + param) * weight + bias)`, `bias` 0.5 by default.
fn graph() -> Graph {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let bias = graph.placeholder_with_default("bias", 0.5);
    let param = graph.get_attr("param");
    let add = graph.call_function(ops::add, [x, param]);
    let scale = graph.call_module("scale", [add]);
    let add_1 = graph.call_function(ops::add, [scale, bias]);
    let relu = graph.call_method("relu", [add_1]);
    graph.output(relu);
    graph
}

fn model() -> GraphModule {
    GraphModule::with_state(graph(), state(), "Model").expect("the graph is in order")
}

fn value(x: impl Into<Tensor>) -> Arg<Tensor> {
    Arg::Value(x.into())
}

#[test]
fn the_plan_and_the_interpreter_agree() {
    let model = model();
    let expected = row([4.5, 0.5, 0.0]);
    assert_eq!(model.forward(row([1.0, 2.0, 3.0])).expect("it runs"), expected);
    let run = Interpreter::new(&model).run(vec![value(row([1.0, 2.0, 3.0]))]);
    assert_eq!(run.expect("it runs"), Arg::Value(expected));
    let args = || vec![value(row([1.0, 2.0, 3.0])), Arg::Float(-4.0)];
    let expected = Arg::Value(row([0.0, 0.0, 0.0]));
    assert_eq!(model.run(args()).expect("it runs"), expected);
    assert_eq!(Interpreter::new(&model).run(args()).expect("it runs"), expected);
}

#[test]
fn shapes_propagate_without_data() {
    let model = model();
    let shape = |sizes: &[usize]| Arg::Value(Meta::tensor(sizes.iter().copied(), DType::F32));
    let result = Interpreter::<Meta>::new(&model).run(vec![shape(&[7, 3])]).expect("it fits");
    check(result.as_value().expect("it is a tensor"), "f32[7, 3]");
    let error = Interpreter::<Meta>::new(&model).run(vec![shape(&[7, 4])]).expect_err("4 is not 3");
    assert_eq!((error.kind(), error.op()), (ErrorKind::Shape, Some("add")));
}

#[test]
fn a_graph_is_captured_anew() {
    let mut model = model();
    let place = SourceLocation { file: "model.rs".into(), line: 7, column: 3 };
    model
        .edit(|graph| {
            let relu = graph.find("relu").expect("there is one");
            graph.meta_mut(relu).expect("it is there").insert(place.clone());
            Ok(())
        })
        .expect("the graph is in order");
    let again = transform(&model, NoHooks).expect("it can be captured");
    assert_eq!(again.graph(), model.graph());
    check(again.class_name(), "Model");
    let relu = again.graph().find("relu").expect("there is one");
    assert_eq!(again.graph()[relu].meta().location(), Some(&place));
    let x = row([1.0, 2.0, 3.0]);
    assert_eq!(again.forward(&x).expect("it runs"), model.forward(&x).expect("it runs"));
}

/// Gives `neg` where the graph has `relu`, whatever the values are.
struct NegForRelu;

impl<V: Interpretable> Hooks<V> for NegForRelu {
    fn call_method(
        &mut self,
        run: &mut Run<'_, V>,
        node: &Node,
        method: Function,
        args: Vec<Arg<V>>,
        kwargs: Kwargs<V>,
    ) -> Result<Arg<V>> {
        if method == ops::relu {
            return V::apply(Call { args, kwargs, ..Call::method(ops::neg) });
        }
        run.call_method(node, method, args, kwargs)
    }
}

#[test]
fn a_hook_serves_running_and_rewriting() {
    let model = model();
    let x = row([1.0, 2.0, 3.0]);
    let expected = row([-4.5, -0.5, 5.5]);
    let run = Interpreter::with_hooks(&model, NegForRelu).run(vec![value(x.clone())]);
    assert_eq!(run.expect("it runs"), Arg::Value(expected.clone()));
    let rewritten = transform(&model, NegForRelu).expect("it can be captured");
    assert_eq!(rewritten.forward(&x).expect("it runs"), expected);
    assert_eq!(rewritten.graph().find_nodes(Opcode::CallMethod, "neg").len(), 1);
    assert!(rewritten.graph().find_nodes(Opcode::CallMethod, "relu").is_empty());
}

#[derive(Default)]
struct Log(Vec<String>);

impl Hooks<Tensor> for Log {
    fn run_node(&mut self, run: &mut Run<'_, Tensor>, id: NodeId) -> Result<Arg<Tensor>> {
        let graph = run.module().graph().clone();
        let alive = graph.nodes().filter(|(id, _)| run.value(*id).is_some()).map(|(_, node)| node.name());
        self.0.push(format!("{}({})", graph[id].name(), alive.collect::<Vec<_>>().join(" ")));
        run.dispatch(&mut NoHooks, id)
    }

    fn output(&mut self, _: &mut Run<'_, Tensor>, _: &Node, arg: Arg<Tensor>) -> Result<Arg<Tensor>> {
        Ok(arg)
    }
}

/// Gives the log of a run as an error, for the hooks are moved into the interpreter.
struct Alive(Log);

impl Hooks<Tensor> for Alive {
    fn run_node(&mut self, run: &mut Run<'_, Tensor>, id: NodeId) -> Result<Arg<Tensor>> {
        let value = self.0.run_node(run, id)?;
        if run.module().graph()[id].op() == Opcode::Output {
            return Ok(Arg::Str(self.0.0.join(" ").into()));
        }
        Ok(value)
    }
}

#[test]
fn values_are_dropped_after_their_last_use() {
    let model = model();
    let args = || vec![value(row([1.0, 2.0, 3.0]))];
    let log = Interpreter::with_hooks(&model, Alive(Log::default())).run(args()).expect("it runs");
    let expected =
        "x() bias(x) param(x bias) add(x bias param) scale(bias add) add_1(bias scale) relu(add_1) output(relu)";
    assert_eq!(log, Arg::Str(expected.into()));
    let (_, left) = Interpreter::new(&model).run_with_env(args()).expect("it runs");
    assert_eq!(left.len(), 1);
    let (_, left) = Interpreter::new(&model).keep_values().run_with_env(args()).expect("it runs");
    assert_eq!(left.len(), 7);
}

#[test]
fn a_run_starts_with_the_values_it_is_given() {
    let model = model();
    let id = |name: &str| model.graph().find(name).expect("there is one");
    let given = [(id("x"), value(row([1.0, 2.0, 3.0]))), (id("scale"), value(row([-1.0, 0.0, 1.0])))];
    let run = |env: Vec<(NodeId, Arg<Tensor>)>, args| Interpreter::new(&model).with_env(env).run(args);
    assert_eq!(run(given.to_vec(), vec![]).expect("it runs"), value(row([0.0, 0.5, 1.5])));
    assert_eq!(run(given.to_vec(), vec![Arg::Int(1)]).expect("it runs"), value(row([0.0, 1.0, 2.0])));
    assert!(run(given.to_vec(), vec![Arg::Int(1), Arg::Int(1)]).is_err());
    let output = model.graph().output_node().expect("there is one");
    let all = [given.to_vec(), vec![(output, Arg::Int(5))]].concat();
    assert_eq!(run(all, vec![]).expect("it runs"), Arg::Int(5));
    let mut other = Graph::new();
    let far = (0..100).map(|_| other.placeholder("y")).last().expect("there are some");
    assert_eq!(
        run([given.to_vec(), vec![(far, Arg::None)]].concat(), vec![]).expect("it runs"),
        value(row([0.0, 0.5, 1.5]))
    );
}

#[test]
fn a_wrong_number_of_inputs_is_an_error() {
    let model = model();
    let message = "takes 1 to 2 inputs (x, bias), found 0";
    let missing = model.run(vec![]).expect_err("x is missing");
    check(missing.message(), message);
    assert!(missing.to_string().contains("InputForms::new().absent(\"x\")"), "{missing}");
    check(Interpreter::<Tensor>::new(&model).run(vec![]).expect_err("x is missing").message(), message);
    let error = model.forward((row([0.0; 3]), row([0.0; 3]), row([0.0; 3]))).expect_err("there are three");
    check(error.message(), "takes 1 to 2 inputs (x, bias), found 3");
    assert!(!error.to_string().contains("absent"), "{error}");
    assert!(model.forward_as::<Vec<Tensor>>(row([0.0; 3])).is_err());
}

#[test]
fn an_error_says_what_and_where() {
    let mut model = model();
    model
        .edit(|graph| {
            let add = graph.find("add").expect("there is one");
            let place = SourceLocation { file: "model.rs".into(), line: 7, column: 3 };
            graph.meta_mut(add).expect("it is there").insert(place);
            Ok(())
        })
        .expect("the graph is in order");
    let x = Tensor::from([1.0_f32, 2.0]);
    let by_plan = model.forward(&x).expect_err("2 is not 3");
    let by_interpreter = Interpreter::new(&model).run(vec![value(x)]).expect_err("2 is not 3");
    for error in [by_plan, by_interpreter] {
        assert_eq!((error.kind(), error.op()), (ErrorKind::Shape, Some("add")));
        assert_eq!(error.operands(), ["f32[2]", "f32[3]"]);
        let node = "%add : [num_users=1] = call_function[target=add](args = (%x, %param), kwargs = {})";
        assert_eq!((error.node(), error.location()), (Some(node), Some("model.rs:7:3")));
        let text = error.to_string();
        assert!(text.starts_with("add(f32[2], f32[3]): ") && text.contains(node) && text.contains("at model.rs:7:3"));
    }
}

#[test]
fn an_error_within_a_leaf_names_its_node() {
    let model = model();
    let scale = model.graph().find("scale").expect("there is one");
    let shape = || value(Tensor::from([1.0_f32, 2.0]));
    let add = model.graph().find("add").expect("there is one");
    let error = Interpreter::new(&model).with_env([(add, shape())]).run(vec![shape()]).expect_err("2 is not 3");
    assert_eq!((error.op(), error.node()), (Some("mul"), Some(&*model.graph().format_node(scale))));
}

#[test]
fn a_failed_edit_changes_nothing() {
    let mut model = model();
    let (before, x) = (model.graph().clone(), row([1.0, 2.0, 3.0]));
    let y = model.forward(&x).expect("it runs");
    let failed = model.edit(|graph| {
        graph.call_method("relu", [NodeArg::None]);
        Err::<(), _>(Error::argument("no"))
    });
    check(failed.expect_err("the edit says so").message(), "no");
    let unlinted = model.edit_with_state(|graph, state| {
        state.parameters.clear();
        let relu = graph.find("relu").expect("there is one");
        graph.set_call(relu, Opcode::CallMethod, "fly");
        Ok(())
    });
    let text = unlinted.expect_err("it breaks two rules").to_string();
    assert!(text.contains("no method `fly`") && text.contains("no parameter or buffer at `param`"), "{text}");
    assert_eq!(model.graph(), &before);
    assert_eq!(model.forward(&x).expect("it runs"), y);
}

#[test]
fn an_edit_makes_the_plan_anew() {
    let mut model = model();
    let (old, x) = (model.clone(), row([1.0, 2.0, 3.0]));
    let before = model.forward(&x).expect("it runs");
    model
        .edit_with_state(|graph, state| {
            let relu = graph.find("relu").expect("there is one");
            graph.set_call(relu, Opcode::CallMethod, "neg");
            let param = Parameter::new(Tensor::from([0.0_f32, 0.0, 0.0]));
            state.parameters.insert("param".to_owned(), param);
            Ok(())
        })
        .expect("the graph is in order");
    assert_eq!(model.forward(&x).expect("it runs"), row([-2.5, -4.5, 2.5]));
    assert_eq!(old.forward(&x).expect("it runs"), before);
    model.state().parameters["param"].set(Tensor::from([1.0_f32; 3])).expect("the shape is the same");
    assert_eq!(model.forward(&x).expect("it runs"), row([-4.5, -6.5, 3.5]));
}

#[test]
fn one_module_runs_on_many_threads() {
    fn is_send_and_sync<T: Send + Sync>(_: &T) {}
    let model = model();
    is_send_and_sync(&model);
    std::thread::scope(|scope| {
        for i in 0..4_u8 {
            let model = &model;
            scope.spawn(move || {
                for _ in 0..50 {
                    let y = model.forward(row([f32::from(i), 2.0, 3.0])).expect("it runs");
                    assert_eq!(y, row([f32::from(i) * 2.0 + 2.5, 0.5, 0.0]));
                }
            });
        }
    });
}

/// A graph that calls a captured model as a module, with these keyword arguments.
fn outer(kwargs: Kwargs<NodeId>) -> GraphModule {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let inner = graph.call(Opcode::CallModule, "inner", [x], kwargs);
    let neg = graph.call_method("neg", [inner]);
    graph.output(neg);
    let mut state = State::new();
    state.modules.insert("inner".to_owned(), Arc::new(model()));
    GraphModule::with_state(graph, state, "Outer").expect("the graph is in order")
}

#[test]
fn a_captured_model_is_a_module() {
    let outer = outer(Kwargs::new());
    let x = row([1.0, 2.0, 3.0]);
    let y = row([-4.5, -0.5, -0.0]);
    assert_eq!(outer.forward(&x).expect("it runs"), y);
    assert_eq!(Interpreter::new(&outer).run(vec![value(x.clone())]).expect("it runs"), value(y));
    let meta = Interpreter::<Meta>::new(&outer).run(vec![Arg::Value(Meta::from(&x))]).expect("it fits");
    check(meta.as_value().expect("it is a tensor"), "f32[1, 3]");
    assert_eq!(transform(&outer, NoHooks).expect("it can be captured").graph(), outer.graph());
    let paths: Vec<_> = outer.state_dict().into_keys().collect();
    assert_eq!(paths, ["inner.scale.weight", "inner.param"]);
    let error = outer.forward(Tensor::from([1.0_f32, 2.0])).expect_err("2 is not 3");
    assert_eq!(error.op(), Some("add"));
}

#[test]
fn a_captured_model_takes_arguments_by_name() {
    let kwargs = |name: &'static str| -> Kwargs<NodeId> { [(name, Arg::Float(-4.0))].into_iter().collect() };
    let y = outer(kwargs("bias")).forward(row([1.0, 2.0, 6.0])).expect("it runs");
    assert_eq!(y, row([-0.0, -0.0, -0.0]));
    assert!(outer(kwargs("base")).forward(row([1.0, 2.0, 3.0])).is_err());
    assert!(outer(kwargs("x")).forward(row([1.0, 2.0, 3.0])).is_err());
}

#[test]
fn a_captured_model_is_inlined() {
    let mut outer = outer(Kwargs::new());
    let x = row([1.0, 2.0, 3.0]);
    let before = outer.forward(&x).expect("it runs");
    let inner = model();
    outer
        .edit_with_state(|graph, state| {
            let call = graph.find("inner").expect("there is one");
            let args = graph[call].args().to_vec();
            let output = graph.inserting_before(call, |g| inner.inline_into(g, args))?.expect("it gives a value");
            let output = *output.as_value().expect("it gives a node");
            graph.replace_all_uses_with(call, output);
            state.modules.extend(inner.state().modules.clone());
            state.parameters.extend(inner.state().parameters.clone());
            graph.erase_node(call)
        })
        .expect("the graph is in order");
    outer.delete_unused_state();
    let expected = "graph():
    %x : [num_users=1] = placeholder[target=x]
    %param : [num_users=1] = get_attr[target=param]
    %add : [num_users=1] = call_function[target=add](args = (%x, %param), kwargs = {})
    %scale : [num_users=1] = call_module[target=scale](args = (%add,), kwargs = {})
    %add_1 : [num_users=1] = call_function[target=add](args = (%scale, 0.5), kwargs = {})
    %relu : [num_users=1] = call_method[target=relu](args = (%add_1,), kwargs = {})
    %neg : [num_users=1] = call_method[target=neg](args = (%relu,), kwargs = {})
    return neg";
    check(outer.graph(), expected);
    assert_eq!(outer.forward(&x).expect("it runs"), before);
    assert!(!outer.state().modules.contains_key("inner"));
    let mut graph = Graph::new();
    check(
        inner.inline_into(&mut graph, vec![]).expect_err("x is missing").message(),
        "takes 1 to 2 inputs (x, bias), found 0",
    );
}

#[test]
fn a_module_needs_the_state_its_graph_refers_to() {
    let error = GraphModule::with_state(graph(), State::new(), "Model").expect_err("there is no state");
    let text = error.to_string();
    assert!(text.contains("no parameter or buffer at `param`") && text.contains("no module at `scale`"), "{text}");
    let mut more = state();
    more.parameters.insert("unused".to_owned(), Parameter::new(Tensor::scalar(1.0_f32)));
    let model = GraphModule::with_state(graph(), more, "Model").expect("the graph is in order");
    assert!(!model.state().parameters.contains_key("unused"));
}

#[test]
fn values_used_more_than_once_are_there_for_each_use() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let unused = graph.call_method("exp", [x]);
    let sum = graph.call_function(ops::add, [x, x]);
    let twice = graph.call_function(ops::cat, [Arg::List(vec![sum.into(), x.into(), sum.into()])]);
    graph.output(Arg::Tuple(vec![twice.into(), twice.into(), sum.into()]));
    assert_eq!(graph[unused].users().len(), 0);
    let model = GraphModule::with_state(graph, State::new(), "Model").expect("the graph is in order");
    let x = Tensor::from([1.0_f32]);
    let (a, b, c): (Tensor, Tensor, Tensor) = model.forward_as(&x).expect("it runs");
    assert_eq!((&a, &b, &c), (&Tensor::from([2.0_f32, 1.0, 2.0]), &a, &Tensor::from([2.0_f32])));
    assert_eq!(x, Tensor::from([1.0_f32]));
    let by_interpreter = Interpreter::new(&model).run(vec![value(x)]).expect("it runs");
    assert_eq!(by_interpreter, (a, b, c).to_arg());
}
