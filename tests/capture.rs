//! What a trace keeps to: where paths come from, what is recorded once, what the tracer decides, what it refuses.

mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use fx::prelude::*;
use fx::trace::{NodeRequest, Tracer};
use fx::{Arg, Graph, NodeId, Opcode, Proxy, nn};
use indexmap::IndexMap;
use support::check;

#[traceable]
#[derive(Clone)]
struct Block<M: fx::Layer + Clone> {
    inner: M,
    gain: Parameter,
}

#[traceable]
impl<M: fx::Layer + Clone> Block<M> {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.inner.forward_layer(x.clone()) * &self.gain
    }
}

/// Every place that modules and state may be in.
#[traceable]
struct Tree {
    list: Vec<nn::ReLU>,
    maybe: Option<Parameter>,
    none: Option<nn::Linear>,
    boxed: Box<nn::Tanh>,
    counted: Arc<nn::Sigmoid>,
    array: [Buffer; 2],
    tuple: (nn::ReLU, Parameter),
    map: IndexMap<String, nn::Tanh>,
    sorted: BTreeMap<u8, Parameter>,
    nested: Vec<Option<Block<Block<nn::ReLU>>>>,
    steps: usize,
}

fn parameter(x: f32) -> Parameter {
    Parameter::new(Tensor::from([x]))
}

#[traceable]
impl Tree {
    fn new() -> Self {
        let block = Block { inner: nn::ReLU::new(), gain: parameter(2.0) };
        Self {
            list: vec![nn::ReLU::new(), nn::ReLU::new()],
            maybe: Some(parameter(1.0)),
            none: None,
            boxed: Box::new(nn::Tanh::new()),
            counted: Arc::new(nn::Sigmoid::new()),
            array: [Buffer::new(Tensor::from([0.5_f32])), Buffer::new(Tensor::from([0.25_f32]))],
            tuple: (nn::ReLU::new(), parameter(3.0)),
            map: IndexMap::from([("last".to_owned(), nn::Tanh::new())]),
            sorted: BTreeMap::from([(7, parameter(4.0))]),
            nested: vec![None, Some(Block { inner: block, gain: parameter(5.0) })],
            steps: 1,
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        for layer in self.list.iter().take(self.steps + 1) {
            x = layer.forward(&x);
        }
        if let Some(offset) = &self.maybe {
            x += offset;
        }
        if let Some(linear) = &self.none {
            x = linear.forward(&x);
        }
        x = self.counted.forward(self.boxed.forward(&x)) + &self.array[1];
        x = self.tuple.0.forward(&x) * &self.tuple.1;
        for (_, layer) in &self.map {
            x = layer.forward(&x);
        }
        for block in self.nested.iter().flatten() {
            x = block.forward(&x);
        }
        x - &self.sorted[&7]
    }
}

#[test]
fn paths_follow_the_fields() {
    let module = Tree::new();
    let traced = fx::trace(&module).unwrap();
    let targets: Vec<_> = traced
        .graph()
        .nodes()
        .filter(|(_, node)| matches!(node.op(), Opcode::CallModule | Opcode::GetAttr))
        .map(|(_, node)| node.target().name().to_owned())
        .collect();
    assert_eq!(
        targets.join(" "),
        "list.0 list.1 maybe boxed counted array.1 tuple.0 tuple.1 map.last nested.1.inner.inner nested.1.inner.gain \
         nested.1.gain sorted.7"
    );
    let x = Tensor::from([-1.0_f32, 0.5, 2.0]);
    assert_eq!(traced.forward(&x).unwrap(), module.forward(&x));
    let names: Vec<_> = module.state_dict().keys().cloned().collect();
    assert_eq!(names.join(" "), "maybe array.0 array.1 tuple.1 sorted.7 nested.1.inner.gain nested.1.gain");
}

#[traceable]
struct Shared {
    first: Arc<nn::Linear>,
    second: Arc<nn::Linear>,
    weight: Parameter,
    same: Parameter,
}

#[traceable]
impl Shared {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.second.forward(self.first.forward(x)) * &self.weight + &self.same
    }
}

#[test]
fn what_is_shared_has_its_first_path() {
    let (layer, weight) = (Arc::new(nn::Linear::new(2, 2)), parameter(2.0));
    let module = Shared { first: Arc::clone(&layer), second: layer, weight: weight.clone(), same: weight };
    check(
        fx::trace(&module).unwrap().graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %first : [num_users=1] = call_module[target=first](args = (%x,), kwargs = {})
            %first_1 : [num_users=1] = call_module[target=first](args = (%first,), kwargs = {})
            %weight : [num_users=2] = get_attr[target=weight]
            %mul : [num_users=1] = call_function[target=mul](args = (%first_1, %weight), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%mul, %weight), kwargs = {})
            return add",
    );
}

#[test]
fn a_constant_is_recorded_once() {
    let scale = Tensor::from([2.0_f32, 3.0]);
    let traced = fx::trace_fn!(|x| x * Proxy::constant(&scale) + Proxy::constant(&scale)).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %_tensor_constant0 : [num_users=2] = get_attr[target=_tensor_constant0]
            %mul : [num_users=1] = call_function[target=mul](args = (%x, %_tensor_constant0), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%mul, %_tensor_constant0), kwargs = {})
            return add",
    );
    assert_eq!(traced.forward(Tensor::from([1.0_f32, 1.0])).unwrap(), Tensor::from([4.0_f32, 6.0]));
}

/// Says what `result` refused, without the columns of this file.
#[track_caller]
fn check_refused<T>(result: fx::Result<T>, expected: &[&str]) {
    let Err(error) = result else { panic!("nothing was refused") };
    let text = error.to_string();
    for part in expected {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

thread_local! {
    static STRANGER: Parameter = parameter(1.0);
    static LEAKED: RefCell<Option<Proxy>> = const { RefCell::new(None) };
}

#[traceable]
struct UsesStrangers {
    own: Parameter,
}

#[traceable]
impl UsesStrangers {
    fn forward(&self, x: &Tensor) -> Tensor {
        let layer = nn::Linear::new(2, 2);
        let stranger = STRANGER.with(Parameter::clone);
        layer.forward(x * &self.own) + &stranger
    }
}

#[test]
fn state_that_is_no_field_is_refused() {
    check_refused(
        fx::trace(&UsesStrangers { own: parameter(1.0) }),
        &[
            "2 things in UsesStrangers cannot be captured",
            "a Linear is called that is no submodule of the traced model",
            "make it a field of the model",
            "a parameter of shape [1] is used that is no parameter of the traced model",
            "make the parameter a field of the model",
            "tests/capture.rs:",
        ],
    );
}

#[test]
fn values_of_two_traces_do_not_mix() {
    let inner = |x: Proxy| fx::trace_fn!(|y| y + &x);
    let mut result = None;
    let outer = fx::trace_fn!(|x| {
        result = Some(inner(x.clone()));
        x
    });
    outer.unwrap();
    check_refused(result.unwrap(), &["values of two traces are mixed in one call", "tests/capture.rs:"]);
}

#[test]
fn nothing_is_recorded_outside_a_trace() {
    fx::trace_fn!(|x| {
        LEAKED.set(Some(x.clone()));
        x
    })
    .unwrap();
    let leaked = LEAKED.take().unwrap();
    let message = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| leaked.relu())).unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(message.contains("this would be recorded, but no trace is running"), "{message}");
    assert!(message.contains("tests/capture.rs:"), "{message}");
}

/// Records what it is asked, and decides otherwise.
#[derive(Clone, Default)]
struct Deciding {
    asked: Rc<RefCell<Vec<String>>>,
}

impl Tracer for Deciding {
    fn is_leaf_module(&self, module: &dyn Module, path: &str) -> bool {
        self.asked.borrow_mut().push(format!("{path}: {}", module.type_name()));
        path == "0"
    }

    fn create_node(&self, graph: &mut Graph, mut request: NodeRequest) -> fx::Result<NodeId> {
        request.name = Some(format!("n{}", graph.len()));
        Ok(request.create(graph))
    }

    fn create_arg(&self, arg: Arg<Proxy>) -> fx::Result<Arg<Proxy>> {
        // Numbers are recorded in halves.
        Ok(match arg {
            Arg::Float(x) => Arg::Float(x / 2.0),
            other => other,
        })
    }

    fn constant_parameter_shapes(&self) -> bool {
        true
    }
}

#[test]
fn a_tracer_decides() {
    let tracer = Deciding::default();
    let model = (nn::Linear::new(3, 2), nn::ELU::new());
    let model = nn::Sequential::new(model);
    let traced = fx::trace::trace_by(tracer.clone(), &model, ()).unwrap();
    check(
        traced.graph(),
        "graph():
            %n0 : [num_users=1] = placeholder[target=input]
            %n1 : [num_users=1] = call_module[target=0](args = (%n0,), kwargs = {})
            %n2 : [num_users=1] = call_function[target=elu](args = (%n1,), kwargs = {})
            return n2",
    );
    assert_eq!(tracer.asked.take(), ["0: Linear", "1: ELU"]);
}

#[traceable]
struct Sized {
    weight: Parameter,
}

#[traceable]
impl Sized {
    fn forward(&self, x: &Tensor) -> Tensor {
        let weight: Tensor = self.weight.value();
        x.reshape((weight.size(0), -1)) * 2.0
    }
}

#[test]
fn sizes_of_parameters_can_be_constants() {
    let traced = fx::trace::trace_by(Deciding::default(), &Sized { weight: parameter(1.0) }, ()).unwrap();
    check(
        traced.graph(),
        "graph():
            %n0 : [num_users=1] = placeholder[target=x]
            %n1 : [num_users=0] = get_attr[target=weight]
            %n2 : [num_users=1] = call_method[target=reshape](args = (%n0,), kwargs = {shape: (1, -1)})
            %n3 : [num_users=1] = call_function[target=mul](args = (%n2, 1.0), kwargs = {})
            return n3",
    );
}

#[traceable]
struct Outer {
    inner: fx::GraphModule,
}

#[traceable]
impl Outer {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.inner.call::<Tensor, Tensor>([x.clone()]).relu() + 1.0
    }
}

#[test]
fn a_captured_model_is_a_field_of_another() {
    let inner = fx::trace(&nn::Sequential::new((nn::Linear::new(3, 2), nn::Tanh::new()))).unwrap();
    let module = Outer { inner };
    let traced = fx::trace(&module).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %inner_0 : [num_users=1] = call_module[target=inner.0](args = (%x,), kwargs = {})
            %inner_1 : [num_users=1] = call_module[target=inner.1](args = (%inner_0,), kwargs = {})
            %relu : [num_users=1] = call_method[target=relu](args = (%inner_1,), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%relu, 1.0), kwargs = {})
            return add",
    );
    let x = Tensor::rand([4, 3]);
    assert_eq!(traced.forward(&x).unwrap(), module.forward(&x));
}

#[test]
fn a_node_knows_its_line_and_its_modules() {
    let traced = fx::trace(&Tree::new()).unwrap();
    let gain = traced.graph().nodes().find(|(_, node)| node.target().name() == "nested.1.inner.gain").unwrap().1;
    let location = gain.meta().location().unwrap();
    let line = include_str!("capture.rs").lines().position(|line| line.contains("* &self.gain")).unwrap() + 1;
    assert_eq!((&*location.file, location.line as usize), ("tests/capture.rs", line));
    let stack: Vec<_> =
        gain.meta().module_stack().iter().map(|frame| format!("{}:{}", frame.path, frame.type_name)).collect();
    assert_eq!(stack, [":Tree", "nested.1:Block", "nested.1.inner:Block"]);
}

#[test]
fn parts_of_results_know_the_users_line() {
    let traced = fx::trace_fn!(|x| {
        let [a, b] = x.chunk(0);
        let (values, indices) = a.topk(1);
        let [height, width] = b.sizes();
        b.view((height, width)) + values * indices
    })
    .unwrap();
    for (_, node) in traced.graph().nodes().filter(|(_, node)| node.op() == fx::Opcode::CallFunction) {
        let location = node.meta().location().unwrap();
        assert_eq!(&*location.file, "tests/capture.rs", "{}", node.name());
    }
    assert_eq!(traced.graph().find_calls(fx::ops::getitem).len(), 6, "{}", traced.graph());
}

/// What is within a leaf is not the user's source, however a graph comes to have it.
#[test]
fn what_a_leaf_records_has_the_line_of_its_call() {
    #[traceable]
    #[derive(Clone)]
    struct Inner {
        conv: nn::Conv1d,
    }
    #[traceable]
    impl Inner {
        fn forward(&self, x: &Tensor) -> Tensor {
            self.conv.forward(x).relu()
        }
    }
    #[traceable]
    struct Outer {
        inner: Inner,
        encoder: nn::TransformerEncoderLayer,
    }
    #[traceable]
    impl Outer {
        fn forward(&self, x: &Tensor) -> Tensor {
            let y = self.inner.forward(x);
            self.encoder.forward(y, None, None)
        }
    }
    let line = |text: &str| include_str!("capture.rs").lines().position(|line| line.contains(text)).unwrap() + 1;
    let (inner, outer) = (line("self.conv.forward(x).relu()"), line("self.encoder.forward(y, None, None)"));
    let model =
        Outer { inner: Inner { conv: nn::Conv1d::new(3, 4, 3) }, encoder: nn::TransformerEncoderLayer::new(4, 2) };
    let mut traced = fx::trace(&model).unwrap();
    let x = Tensor::zeros([1, 5, 10]);
    let planned = traced.forward(&x).unwrap_err();
    let interpreted = fx::Interpreter::new(&traced).run(vec![Arg::Value(x.clone())]).unwrap_err();
    let inferred = fx::passes::infer_shapes(&mut traced, [fx::Meta::from(&x)]).unwrap_err();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.forward(&x))).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains(&format!("\n  at tests/capture.rs:{inner}:")), "{text}");
    let within = fx::trace::trace_by(fx::trace::Leaves::None, &model, ()).unwrap();
    for error in [&planned, &interpreted, &inferred, &within.forward(&x).unwrap_err()] {
        assert!(error.location().unwrap().starts_with(&format!("tests/capture.rs:{inner}:")), "{error}");
    }
    fx::passes::decompose_modules(&mut traced).unwrap();
    for graph in [traced.graph(), within.graph()] {
        for (_, node) in graph.nodes().filter(|(_, node)| !matches!(node.op(), Opcode::Placeholder | Opcode::Output)) {
            let location = node.meta().location().unwrap();
            let line =
                if node.meta().module_stack().iter().any(|frame| frame.path == "encoder") { outer } else { inner };
            assert_eq!((&*location.file, location.line as usize), ("tests/capture.rs", line), "{}", node.name());
        }
    }
}

/// A layer with many parameters that are plain Rust.
#[traceable(leaf)]
#[derive(Clone)]
struct Sliders {
    gain: Parameter,
}

#[traceable]
impl Sliders {
    #[allow(clippy::too_many_arguments, reason = "as many as a layer may have")]
    fn forward(&self, x: &Tensor, a: f64, b: f64, c: i64, d: bool, e: f64, f: f64, g: f64, h: f64) -> Tensor {
        let y = x * &self.gain * a + b * c as f64;
        (if d { y.relu() } else { y }) * e + (f - g * h)
    }
}

#[traceable]
struct Mixer {
    sliders: Sliders,
}

#[traceable]
impl Mixer {
    fn forward(&self, x: &Tensor, loud: bool) -> Tensor {
        self.sliders.forward(x, 2.0, 0.5, 3, loud, if loud { 4.0 } else { 1.0 }, 1.0, 0.25, 8.0)
    }
}

#[test]
fn static_arguments_are_fixed_in_a_capture() {
    let model = Mixer { sliders: Sliders { gain: parameter(2.0) } };
    let x = Tensor::from([-3.0_f32, 0.0, 1.0]);
    for loud in [false, true] {
        let traced = fx::trace_with(&model, (loud,)).unwrap();
        assert_eq!(traced.forward(&x).unwrap(), model.forward(&x, loud));
        let text = traced.graph().to_string();
        let flag = if loud { "True" } else { "False" };
        assert!(text.contains(&format!("kwargs = {{a: 2.0, b: 0.5, c: 3, d: {flag}, ")), "{text}");
        assert!(!text.contains("loud"), "{text}");
    }
}
