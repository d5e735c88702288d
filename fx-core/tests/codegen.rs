//! Generated source of small graphs, as text.

use std::sync::Arc;

use fx_core::graph_module::State;
use fx_core::module::{Signature, Visit, Visitor};
use fx_core::ops;
use fx_core::prelude::*;
use fx_core::value::Meta;
use fx_core::{Arg, Graph, GraphModule, Kwargs, NodeId, Proxy, Result};

type NodeArg = Arg<NodeId>;

fn module(graph: Graph) -> GraphModule {
    GraphModule::with_state(graph, state(), "my_net").expect("the graph is in order")
}

fn state() -> State {
    let mut state = State::new();
    let parameter = |size: usize| Parameter::new(Tensor::filled([size, 4], 0.5, DType::F32));
    state.parameters.insert("param".to_owned(), parameter(3));
    state.parameters.insert("layers.3.type".to_owned(), parameter(2));
    state.buffers.insert("layers.3.mean".to_owned(), Buffer::new(Tensor::scalar(1_i64)));
    state
}

fn kwargs<const N: usize>(entries: [(&'static str, NodeArg); N]) -> Kwargs<NodeId> {
    entries.into_iter().collect()
}

/// The body of the generated `forward`, and its first line.
fn forward(module: &GraphModule) -> String {
    let code = module.code();
    let start = code.find("pub fn forward").expect("there is a forward");
    code[start..].lines().map(|line| line.trim()).filter(|line| *line != "}").collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(actual: &str, expected: &str) {
    let lines = |text: &str| text.trim().lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(actual), lines(expected), "\n{actual}");
}

/// Builds a graph of the inputs `x` and `y`, and compares its `forward`.
#[track_caller]
fn check_graph(build: impl FnOnce(&mut Graph, NodeArg, NodeArg) -> NodeArg, expected: &str) {
    let mut graph = Graph::new();
    let x = graph.placeholder("x").into();
    let y = graph.placeholder("y").into();
    let output = build(&mut graph, x, y);
    graph.output(output);
    check(&forward(&module(graph)), expected);
}

#[test]
fn a_whole_model() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let param = graph.get_attr("param");
    let add = graph.call_function(ops::add, [x, param]);
    let weight = graph.get_attr("layers.3.type");
    let mean = graph.get_attr("layers.3.mean");
    let linear = graph.call_function(ops::maximum, [add, weight]);
    let mul = graph.call_function(ops::mul, [linear, mean]);
    graph.output(mul);
    check(
        &module(graph).to_string(),
        r#"
use fx::prelude::*;

/// `3` of [`MyNetLayers`].
#[traceable]
#[derive(Clone)]
pub struct MyNetLayers3 {
    r#type: Parameter,
    mean: Buffer,
}

/// `layers` of [`MyNet`].
#[traceable]
#[derive(Clone)]
pub struct MyNetLayers {
    _3: MyNetLayers3,
}

/// A model that was captured by fx.
#[traceable]
#[derive(Clone)]
pub struct MyNet {
    param: Parameter,
    layers: MyNetLayers,
}

#[traceable]
impl MyNet {
    /// The model as it is before its state is loaded.
    pub fn new() -> Self {
        Self {
            param: Parameter::new(Tensor::filled([3, 4], 0, DType::F32)),
            layers: MyNetLayers {
                _3: MyNetLayers3 {
                    r#type: Parameter::new(Tensor::filled([2, 4], 0, DType::F32)),
                    mean: Buffer::new(Tensor::filled([], 0, DType::I64)),
                },
            },
        }
    }

    /// The model with its state from a safetensors file.
    ///
    /// # Errors
    /// If the file cannot be read, or does not have the state of this model.
    pub fn load(path: impl AsRef<std::path::Path>) -> fx::Result<Self> {
        let model = Self::new();
        model.load_safetensors(path)?;
        Ok(model)
    }

    /// What the graph computes.
    pub fn forward(&self, x: Tensor) -> Tensor {
        let add = x + &self.param;
        let maximum = fx::functional::maximum(add, &self.layers._3.r#type);
        let mul = maximum * &self.layers._3.mean;
        mul
    }
}
"#,
    );
}

/// The names of the structs of a model that has a parameter at each of these paths.
fn structs(class: &str, paths: &[String]) -> Vec<String> {
    let (mut graph, mut state) = (Graph::new(), State::new());
    let mut sum: NodeArg = graph.placeholder("x").into();
    for path in paths {
        state.parameters.insert(path.clone(), Parameter::new(Tensor::ones([1])));
        let parameter = graph.get_attr(path);
        sum = graph.call_function(ops::add, [sum, parameter.into()]).into();
    }
    graph.output(sum);
    let code = GraphModule::with_state(graph, state, class).expect("the graph is in order").code();
    let lines = code.lines().filter_map(|line| line.strip_prefix("pub struct "));
    lines.map(|line| line.trim_end_matches(" {").to_owned()).collect()
}

#[test]
fn structs_have_names_of_their_own() {
    let paths = ["blocks.1.1.w", "blocks.11.w", "up_1.w", "up1.w", "int.w", "Up_.w", "up.w"].map(String::from);
    let names = "SymBlocks1_1 SymBlocks1 SymBlocks11 SymBlocks SymUp1 SymUp1_2 SymInt2 SymUp SymUp2 Sym";
    assert_eq!(structs("sym", &paths).join(" "), names);
    assert_eq!(structs("some", &paths[4..5]).join(" "), "SomeModelInt SomeModel");
    // All paths of three such parts.
    let parts = ["1", "11", "1111", "a", "a_", "_a", "a1", "a_1", "A1", "a11", "__", "a1_2"];
    let parts = || parts.iter();
    let paths: Vec<_> =
        parts().flat_map(|a| parts().flat_map(move |b| parts().map(move |c| format!("{a}.{b}.{c}.w")))).collect();
    let mut names = structs("a", &paths);
    assert_eq!(names.len(), 1 + 12 + 12 * 12 + 12 * 12 * 12);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 1 + 12 + 12 * 12 + 12 * 12 * 12);
}

/// A module without a constructor, whose type has the name that a struct would have.
#[derive(Clone)]
struct NetInner;

impl Visit for NetInner {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.module(path, self);
    }
}

impl Module for NetInner {
    fn type_name(&self) -> &'static str {
        "NetInner"
    }

    fn signature(&self) -> &'static Signature {
        &Signature { name: "forward", inputs: &["x"], types: &["Tensor"], statics: &[] }
    }

    fn call_tensor(&self, mut args: Vec<Arg<Tensor>>, _: &Kwargs<Tensor>) -> Result<Arg<Tensor>> {
        Ok(args.remove(0))
    }

    fn call_proxy(&self, mut args: Vec<Arg<Proxy>>, _: &Kwargs<Proxy>) -> Result<Arg<Proxy>> {
        Ok(args.remove(0))
    }

    fn share(&self) -> Arc<dyn Module> {
        Arc::new(self.clone())
    }
}

#[test]
fn modules_without_constructor_are_arguments() {
    let (mut graph, mut state) = (Graph::new(), state());
    let (input, param) = (graph.placeholder("x"), graph.get_attr("param"));
    let mut x = graph.call_function(ops::add, [input, param]);
    for path in ["3", "path", "type", "inner.self", "inner.path", "mixIn"] {
        state.modules.insert(path.to_owned(), Arc::new(NetInner));
        x = graph.call_module(path, [x]);
    }
    graph.output(x);
    let code = GraphModule::with_state(graph, state, "net").expect("the graph is in order").code();
    let lines = |start: &str| code.lines().map(str::trim).filter(|line| line.starts_with(start)).collect::<Vec<_>>();
    let given =
        "module_3: NetInner, path_: NetInner, r#type: NetInner, self_: NetInner, path__: NetInner, mixIn: NetInner";
    assert_eq!(lines("pub fn new"), [format!("pub fn new({given}) -> Self {{")]);
    assert_eq!(
        lines("pub fn load"),
        [format!("pub fn load(path: impl AsRef<std::path::Path>, {given}) -> fx::Result<Self> {{")]
    );
    assert_eq!(lines("pub struct"), ["pub struct NetInner2 {", "pub struct Net {"]);
    assert_eq!(lines("_3:"), ["_3: NetInner,", "_3: module_3,"]);
    assert_eq!(lines("path:"), ["path: NetInner,", "path: NetInner,", "path: path_,", "path: path__,"]);
    let allow = "#[allow(non_snake_case, reason = \"names are those of the model\")]";
    assert_eq!(lines("#[allow"), [allow, allow], "for the field and for the argument");
}

#[test]
fn operators_move_at_the_last_use() {
    check_graph(
        |g, x, y| {
            let add = g.call_function(ops::add, [x.clone(), y.clone()]);
            let sub = g.call_function(ops::sub, [x.clone(), add.into()]);
            let mul = g.call_function(ops::mul, [NodeArg::Float(2.0), sub.into()]);
            let div = g.call_function(ops::div, [mul.into(), NodeArg::Int(3)]);
            let rem = g.call_function(ops::remainder, [div.into(), y]);
            let neg = g.call_function(ops::neg, [rem]);
            let twice = g.call_function(ops::mul, [neg, neg]);
            let minus = g.call_function(ops::mul, [NodeArg::Float(-0.5), twice.into()]);
            let less = g.call_function(ops::gt, [NodeArg::from(minus), x]);
            let not = g.call_function(ops::bitwise_not, [less]);
            g.call_function(ops::bitwise_and, [not, less]).into()
        },
        r#"
            pub fn forward(&self, x: Tensor, y: Tensor) -> Tensor {
            let add = &x + &y;
            let sub = &x - add;
            let mul = 2.0 * sub;
            let div = mul / 3;
            let remainder = div % y;
            let neg = -remainder;
            let mul_1 = &neg * &neg;
            let mul_2 = -0.5_f64 * mul_1;
            let gt = fx::functional::gt(mul_2, x);
            let bitwise_not = !&gt;
            let bitwise_and = bitwise_not & gt;
            bitwise_and
        "#,
    );
}

#[test]
fn methods_and_options() {
    check_graph(
        |g, x, y| {
            let clamp =
                g.call(Opcode::CallMethod, "clamp", [x], kwargs([("min", 0.0.into()), ("max", f64::INFINITY.into())]));
            let least = g.call(Opcode::CallMethod, "clamp", [clamp], kwargs([("max", 1.into())]));
            let relu = g.call_method("relu", [least]);
            let gelu = g.call(Opcode::CallFunction, ops::gelu, [relu], kwargs([("approximate", "tanh".into())]));
            let dims = NodeArg::Tuple(vec![2.into(), 3.into()]);
            let mean = g.call(Opcode::CallMethod, "mean", [gelu], kwargs([("dim", dims.clone())]));
            let sum = g.call(Opcode::CallMethod, "sum", [mean], kwargs([("dim", dims), ("keepdim", true.into())]));
            let list = NodeArg::List(vec![sum.into(), y.clone()]);
            let cat = g.call(Opcode::CallFunction, ops::cat, [list], kwargs([("dim", 1.into())]));
            let lerp = g.call_function(ops::lerp, [cat.into(), y, NodeArg::Float(-0.0)]);
            g.call(Opcode::CallMethod, "to", [lerp], kwargs([("dtype", DType::F64.into())])).into()
        },
        r#"
            pub fn forward(&self, x: Tensor, y: Tensor) -> Tensor {
            let clamp = x.clamp(0.0, f64::INFINITY);
            let clamp_1 = clamp.clamp(None, 1);
            let relu = clamp_1.relu();
            let gelu = fx::functional::gelu_with(relu, fx::ops::GeluOptions::new().approximate("tanh"));
            let mean = gelu.mean_dim([2, 3]);
            let sum = mean.sum_with(fx::ops::SumOptions::new().dim([2, 3]).keepdim(true));
            let cat = Tensor::cat_with([sum, y.clone()], fx::ops::CatOptions::new().dim(1));
            let lerp = fx::functional::lerp(cat, y, -0.0);
            let to = lerp.to(DType::F64);
            to
        "#,
    );
}

#[test]
fn sizes_are_symbolic() {
    check_graph(
        |g, x, y| {
            let n = g.call(Opcode::CallMethod, "size", [x.clone()], kwargs([("dim", 0.into())]));
            let half = g.call_function(ops::floor_divide, [NodeArg::from(n), 2.into()]);
            let more = g.call_function(ops::mul, [NodeArg::Int(3), half.into()]);
            let all = g.call_function(ops::add, [more, n]);
            let shape = NodeArg::Tuple(vec![n.into(), NodeArg::Int(-1)]);
            let reshape = g.call(Opcode::CallMethod, "reshape", [x.clone()], kwargs([("shape", shape)]));
            let sizes = g.call_method("size", [x]);
            let first = g.call_function(ops::getitem, [NodeArg::from(sizes), 0.into()]);
            let scaled = g.call_function(ops::mul, [NodeArg::from(reshape), all.into()]);
            let numel = g.call_method("numel", [y]);
            let slice = NodeArg::Slice(Box::new([NodeArg::None, first.into(), NodeArg::None]));
            let part = g.call_function(ops::getitem, [scaled.into(), slice]);
            NodeArg::Tuple(vec![part.into(), numel.into()])
        },
        r#"
            pub fn forward(&self, x: Tensor, y: Tensor) -> (Tensor, SymInt<Tensor>) {
            let size = x.size(0);
            let floor_divide = &size / 2;
            let mul = 3_i64 * floor_divide;
            let add = mul + &size;
            let reshape = x.reshape((size, -1));
            let size_1: fx::Arg<Tensor> = fx::value::Call::<Tensor>::method(fx::ops::functions::size).arg(fx::Arg::Value(x)).output();
            let getitem: SymInt<Tensor> = fx::value::item(&size_1, 0);
            let mul_1 = reshape * add;
            let numel = y.numel();
            let getitem_1 = mul_1.index(..getitem);
            (getitem_1, numel)
        "#,
    );
}

#[test]
fn elements_and_parts() {
    check_graph(
        |g, x, y| {
            let three = kwargs([("chunks", 3.into()), ("dim", 1.into()), ("count", 3.into())]);
            let chunk = g.call(Opcode::CallMethod, "chunk", [x], three);
            let first = g.call_function(ops::getitem, [NodeArg::from(chunk), 0.into()]);
            let last = g.call_function(ops::getitem, [NodeArg::from(chunk), 2.into()]);
            let max = g.call(Opcode::CallMethod, "max", [first], kwargs([("dim", NodeArg::Int(-1))]));
            let values = g.call_function(ops::getitem, [NodeArg::from(max), 0.into()]);
            let split =
                g.call(Opcode::CallMethod, "split", [y.clone()], kwargs([("split_size_or_sections", 2.into())]));
            let part = g.call_function(ops::getitem, [NodeArg::from(split), 1.into()]);
            let row = g.call_function(ops::getitem, [NodeArg::from(part), 0.into()]);
            let range = |start: NodeArg, stop: NodeArg| NodeArg::Slice(Box::new([start, stop, NodeArg::None]));
            let index = NodeArg::Tuple(vec![
                NodeArg::Ellipsis,
                NodeArg::None,
                range(1.into(), NodeArg::Int(-1)),
                range(NodeArg::None, NodeArg::None),
            ]);
            let window = g.call_function(ops::getitem, [last.into(), index]);
            let chosen = g.call_function(ops::where_, [y, window.into(), NodeArg::Float(f64::NAN)]);
            NodeArg::List(vec![values.into(), row.into(), chosen.into()])
        },
        r#"
            pub fn forward(&self, x: Tensor, y: Tensor) -> [Tensor; 3] {
            let [getitem, _, getitem_1] = x.chunk::<3>(1);
            let (getitem_2, _) = getitem.max_dim(-1);
            let split: fx::Arg<Tensor> = fx::value::Call::<Tensor>::method(fx::ops::functions::split).arg(fx::Arg::Value(y.clone())).kwarg("split_size_or_sections", 2).output();
            let getitem_3: fx::Arg<Tensor> = fx::value::item(&split, 1);
            let getitem_4: Tensor = fx::value::item(&getitem_3, 0);
            let getitem_5 = getitem_1.index((fx::Arg::Ellipsis, fx::Arg::None, 1..-1, ..));
            let where_1 = getitem_5.where_(y, f64::NAN);
            [getitem_2, getitem_4, where_1]
        "#,
    );
}

#[test]
fn arrays_have_as_many_elements_as_the_program_takes() {
    check_graph(
        |g, x, y| {
            let sizes = g.call(Opcode::CallMethod, "size", [x.clone()], kwargs([("count", 2.into())]));
            let rows = g.call_function(ops::getitem, [NodeArg::from(sizes), 0.into()]);
            let columns = g.call_function(ops::getitem, [NodeArg::from(sizes), 1.into()]);
            let shape = NodeArg::Tuple(vec![columns.into(), rows.into()]);
            let turned = g.call(Opcode::CallMethod, "reshape", [x], kwargs([("shape", shape)]));
            let unbind = g.call(Opcode::CallMethod, "unbind", [turned], kwargs([("count", 2.into())]));
            let slice = g.call_function(ops::getitem, [NodeArg::from(unbind), 1.into()]);
            let three = kwargs([("split_size_or_sections", 2.into()), ("count", 3.into())]);
            let split = g.call(Opcode::CallMethod, "split", [slice], three);
            let part = g.call_function(ops::getitem, [NodeArg::from(split), 0.into()]);
            let any = g.call(Opcode::CallMethod, "unbind", [part], kwargs([]));
            let element = g.call(
                Opcode::CallFunction,
                ops::getitem,
                [NodeArg::from(any), 0.into()],
                kwargs([("count", 2.into())]),
            );
            NodeArg::List(vec![element.into(), y])
        },
        r#"
            pub fn forward(&self, x: Tensor, y: Tensor) -> [Tensor; 2] {
            let [getitem, getitem_1] = x.sizes::<2>();
            let reshape = x.reshape((getitem_1, getitem));
            let [_, getitem_2] = reshape.unbind::<2>(0);
            let [getitem_3, _, _] = getitem_2.split::<3>(2, 0);
            let unbind_1: fx::Arg<Tensor> = fx::value::Call::<Tensor>::method(fx::ops::functions::unbind).arg(fx::Arg::Value(getitem_3)).output();
            let getitem_4: Tensor = fx::value::item_of(&unbind_1, 0, 2);
            [getitem_4, y]
        "#,
    );
}

#[test]
fn what_no_method_takes_is_built_as_a_call() {
    check_graph(
        |g, x, y| {
            let max = g.call(Opcode::CallMethod, "max", [x], kwargs([("dim", 0.into()), ("keepdim", true.into())]));
            let item = g.call_function(ops::getitem, [NodeArg::from(max), 1.into()]);
            let relu = g.call(Opcode::CallFunction, ops::chunk, [y], kwargs([("chunks", 2.into())]));
            let part = g.call_function(ops::getitem, [NodeArg::from(relu), NodeArg::Int(-1)]);
            NodeArg::Dict(kwargs([("a", item.into()), ("b", part.into())]))
        },
        r#"
            pub fn forward(&self, x: Tensor, y: Tensor) -> fx::Arg<Tensor> {
            let max: fx::Arg<Tensor> = fx::value::Call::<Tensor>::method(fx::ops::functions::max).arg(fx::Arg::Value(x)).kwarg("dim", 0).kwarg("keepdim", true).output();
            let getitem: Tensor = fx::value::item(&max, 1);
            let chunk: fx::Arg<Tensor> = fx::value::Call::<Tensor>::function(fx::ops::functions::chunk).arg(fx::Arg::Value(y)).kwarg("chunks", 2).output();
            let getitem_1: Tensor = fx::value::item(&chunk, -1);
            fx::Arg::Dict([("a", fx::Arg::Value(getitem)), ("b", fx::Arg::Value(getitem_1))].into_iter().collect())
        "#,
    );
}

#[test]
fn optional_inputs_and_defaults() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let mask = graph.placeholder_with_default("mask", NodeArg::None);
    let scale = graph.placeholder_with_default("scale", 2.0);
    let unused = graph.call_method("relu", [x]);
    let mul = graph.call_function(ops::mul, [x, scale]);
    graph.output(NodeArg::Tuple(vec![mul.into(), mask.into()]));
    let _ = unused;
    check(
        &forward(&module(graph)),
        r#"
            pub fn forward(&self, x: Tensor, mask: Option<Tensor>, scale: Option<Tensor>) -> (Tensor, Option<Tensor>) {
            let scale: fx::Arg<Tensor> = scale.map_or(fx::Arg::Float(2.0), fx::Arg::Value);
            let _ = x.relu();
            let mul: Tensor = fx::value::Call::<Tensor>::function(fx::ops::functions::mul).arg(fx::Arg::Value(x)).arg(fx::value::Tree::<Tensor>::to_arg(&scale)).output();
            (mul, mask)
        "#,
    );
}

#[test]
fn shapes_are_comments() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let relu = graph.call_method("relu", [x]);
    graph.output(relu);
    if let Some(meta) = graph.meta_mut(relu) {
        meta.insert(Arg::Value(Meta::tensor([2, 3], DType::F32)));
    }
    check(
        &forward(&module(graph)),
        r#"
            pub fn forward(&self, x: Tensor) -> Tensor {
            let relu = x.relu(); // f32[2, 3]
            relu
        "#,
    );
}

#[test]
fn what_cannot_be_written_does_not_compile() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let attr = graph.get_attr("not a field");
    let add = graph.call_function(ops::add, [x, attr]);
    graph.output(add);
    let mut state = State::new();
    state.parameters.insert("not a field".to_owned(), Parameter::new(Tensor::scalar(1.0_f32)));
    let module = GraphModule::with_state(graph, state, "Net").expect("the graph is in order");
    check(
        &forward(&module),
        r#"
            pub fn forward(&self, x: Tensor) -> Tensor {
            compile_error!("`not a field` of the path `not a field` cannot be the name of a field (in `%not_a_field : [num_users=1] = get_attr[target=not a field]`)")
        "#,
    );
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused");
    let error = module.to_folder(&folder, "refused").unwrap_err();
    assert!(error.message().contains("cannot be the name of a field"), "{error}");
    assert!(!folder.exists());
}

#[test]
fn a_folder_is_replaced_only_when_told() {
    let mut graph = Graph::new();
    let param = graph.get_attr("param");
    graph.output(param);
    let module = module(graph);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept");
    let replace = fx_core::codegen::FolderOptions::new().overwrite();
    module.to_folder_with(&folder, "kept", &replace).unwrap();
    let error = module.to_folder(&folder, "kept").unwrap_err();
    assert!(error.message().contains("is not empty"), "{error}");
    module.to_folder_with(&folder, "kept", &replace).unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("src/lib.rs")).unwrap(), module.code());
    let state = fx_core::tensor::load_safetensors(folder.join("model.safetensors")).unwrap();
    assert_eq!(state.keys().collect::<Vec<_>>(), ["param"]);
}
