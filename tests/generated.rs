//! Generated crates compile, give the same numbers as the graph, and can be traced again.
//!
//! All crates are written into one workspace below the target folder, with a program that runs them; one cargo call
//! builds and runs it.

#[path = "support/crates.rs"]
mod crates;
#[path = "support/sizes.rs"]
mod sizes_of;
#[path = "support/small.rs"]
mod small;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use fx::codegen::FolderOptions;
use fx::graph_module::State;
use fx::nn::models::{Bert, MobileNetV2, MobileNetV2Config, resnet50};
use fx::passes::{QConfig, QConfigMapping, prepare_fx};
use fx::prelude::*;
use fx::value::Tree;
use fx::{Arg, Graph, GraphModule, Kwargs, NodeId, ops};

type NodeArg = Arg<NodeId>;

/// A model with the inputs to try it on.
struct Sample {
    name: &'static str,
    module: GraphModule,
    inputs: Vec<Tensor>,
    /// The arguments of `forward` as Rust text; inputs are `inputs[0]` and so on.
    call: &'static str,
    /// Whether tracing the generated source gives the same graph.
    same_graph: bool,
}

fn kwargs<const N: usize>(entries: [(&'static str, NodeArg); N]) -> Kwargs<NodeId> {
    entries.into_iter().collect()
}

fn numbers(shape: &[usize]) -> Tensor {
    let len: usize = shape.iter().product();
    Tensor::from_vec(shape, (0..len).map(|i| (i * 37 % 23) as f32 / 7.0 - 1.5).collect())
}

fn state() -> State {
    let mut state = State::new();
    state.parameters.insert("param".to_owned(), Parameter::new(numbers(&[4, 6])));
    state.parameters.insert("layers.3.type".to_owned(), Parameter::new(numbers(&[6])));
    state.buffers.insert("layers.3.steps".to_owned(), Buffer::new(Tensor::from(vec![3_i64])));
    state
}

fn sample(name: &'static str, same_graph: bool, build: impl FnOnce(&mut Graph, NodeArg, NodeArg) -> NodeArg) -> Sample {
    let mut graph = Graph::new();
    let x = graph.placeholder("x").into();
    let y = graph.placeholder("y").into();
    let output = build(&mut graph, x, y);
    graph.output(output);
    let module = GraphModule::with_state(graph, state(), name).expect("the graph is in order");
    Sample {
        name,
        module,
        inputs: vec![numbers(&[4, 6]), numbers(&[4, 6])],
        call: "&inputs[0], &inputs[1]",
        same_graph,
    }
}

fn operators() -> Sample {
    sample("operators", true, |g, x, y| {
        let param = g.get_attr("param");
        let add = g.call_function(ops::add, [x.clone(), param.into()]);
        let sub = g.call_function(ops::sub, [NodeArg::from(add), y.clone()]);
        let scaled = g.call_function(ops::mul, [NodeArg::Float(-2.5), sub.into()]);
        let shifted = g.call_function(ops::add, [NodeArg::Int(1), scaled.into()]);
        let weight = g.get_attr("layers.3.type");
        let divided = g.call_function(ops::div, [NodeArg::from(weight), shifted.into()]);
        let steps = g.get_attr("layers.3.steps");
        let stepped = g.call_function(ops::mul, [divided, steps]);
        let square = g.call_function(ops::mul, [stepped, stepped]);
        let neg = g.call_function(ops::neg, [square]);
        let less = g.call_function(ops::lt, [NodeArg::from(neg), x]);
        let not = g.call_function(ops::bitwise_not, [less]);
        let either = g.call_function(ops::bitwise_xor, [not, less]);
        let chosen = g.call_function(ops::where_, [either.into(), NodeArg::from(neg), y]);
        g.call_function(ops::maximum, [NodeArg::from(chosen), NodeArg::Float(-3.0)]).into()
    })
}

fn methods() -> Sample {
    sample("methods", true, |g, x, y| {
        let clamp = g.call(Opcode::CallMethod, "clamp", [x], kwargs([("min", NodeArg::Float(-1.0))]));
        let gelu = g.call(Opcode::CallFunction, ops::gelu, [clamp], kwargs([("approximate", "tanh".into())]));
        let mean = g.call(Opcode::CallMethod, "mean", [gelu], kwargs([("dim", NodeArg::Int(1))]));
        let dims = NodeArg::Tuple(vec![0.into(), 1.into()]);
        let sum = g.call(Opcode::CallMethod, "sum", [gelu], kwargs([("dim", dims), ("keepdim", true.into())]));
        let list = NodeArg::List(vec![gelu.into(), y.clone()]);
        let cat = g.call(Opcode::CallFunction, ops::cat, [list], kwargs([("dim", 1.into())]));
        let softmax = g.call(Opcode::CallMethod, "softmax", [cat], kwargs([("dim", NodeArg::Int(-1))]));
        let to = g.call(Opcode::CallMethod, "to", [softmax], kwargs([("dtype", DType::F64.into())]));
        let infinite = g.call(Opcode::CallMethod, "clamp", [y], kwargs([("max", f64::INFINITY.into())]));
        NodeArg::Tuple(vec![mean.into(), sum.into(), to.into(), infinite.into()])
    })
}

fn sizes() -> Sample {
    sample("sizes", true, |g, x, y| {
        let n = g.call(Opcode::CallMethod, "size", [x.clone()], kwargs([("dim", 0.into())]));
        let half = g.call_function(ops::floor_divide, [NodeArg::from(n), 2.into()]);
        let more = g.call_function(ops::mul, [NodeArg::Int(3), half.into()]);
        let all = g.call_function(ops::add, [more, n]);
        let shape = NodeArg::Tuple(vec![half.into(), NodeArg::Int(-1)]);
        let reshape = g.call(Opcode::CallMethod, "reshape", [x], kwargs([("shape", shape)]));
        let scaled = g.call_function(ops::mul, [NodeArg::from(reshape), all.into()]);
        let slice = NodeArg::Slice(Box::new([NodeArg::None, half.into(), NodeArg::None]));
        let part = g.call_function(ops::getitem, [y, slice]);
        NodeArg::Tuple(vec![scaled.into(), part.into()])
    })
}

fn symbolic_sizes() -> Sample {
    Sample {
        name: "symbolic_sizes",
        module: fx::trace_fn!(sizes_of::with_sizes, (2_usize,)).expect("a traceable function"),
        inputs: vec![numbers(&[2, 4, 5, 7]), numbers(&[2, 4, 8, 3])],
        call: "&inputs[0], &inputs[1]",
        same_graph: true,
    }
}

fn parts() -> Sample {
    let mut sample = sample("parts", false, |g, x, y| {
        let three = kwargs([("chunks", 3.into()), ("dim", 1.into()), ("count", 3.into())]);
        let chunk = g.call(Opcode::CallMethod, "chunk", [x.clone()], three);
        let first = g.call_function(ops::getitem, [NodeArg::from(chunk), 0.into()]);
        let last = g.call_function(ops::getitem, [NodeArg::from(chunk), 2.into()]);
        let max = g.call(Opcode::CallMethod, "max", [first], kwargs([("dim", NodeArg::Int(-1))]));
        let values = g.call_function(ops::getitem, [NodeArg::from(max), 0.into()]);
        let split = g.call(Opcode::CallMethod, "split", [y.clone()], kwargs([("split_size_or_sections", 2.into())]));
        let part = g.call_function(ops::getitem, [NodeArg::from(split), 1.into()]);
        let row = g.call_function(ops::getitem, [NodeArg::from(part), 0.into()]);
        let range = |start: NodeArg, stop: NodeArg| NodeArg::Slice(Box::new([start, stop, NodeArg::None]));
        let index = NodeArg::Tuple(vec![range(1.into(), NodeArg::Int(-1)), NodeArg::None, NodeArg::Ellipsis]);
        let window = g.call_function(ops::getitem, [last.into(), index]);
        let kept = g.call(Opcode::CallMethod, "max", [y], kwargs([("dim", 0.into()), ("keepdim", true.into())]));
        let where_max = g.call_function(ops::getitem, [NodeArg::from(kept), 1.into()]);
        let sections = NodeArg::Tuple(vec![1.into(), 3.into()]);
        let sections = g.call(Opcode::CallMethod, "split", [x], kwargs([("split_size_or_sections", sections)]));
        let section = g.call_function(ops::getitem, [NodeArg::from(sections), NodeArg::Int(-1)]);
        NodeArg::Dict(kwargs([
            ("values", values.into()),
            ("row", row.into()),
            ("list", NodeArg::List(vec![window.into(), where_max.into(), section.into(), NodeArg::None])),
        ]))
    });
    sample.same_graph = false;
    sample
}

fn inputs() -> Sample {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let mask = graph.placeholder_with_default("mask", NodeArg::None);
    let scale = graph.placeholder_with_default("scale", 2.0);
    graph.call_method("relu", [x]);
    let mul = graph.call_function(ops::mul, [x, scale]);
    graph.output(NodeArg::List(vec![mul.into(), x.into()]));
    let _ = mask;
    let module = GraphModule::with_state(graph, State::new(), "inputs").expect("the graph is in order");
    Sample { name: "inputs", module, inputs: vec![numbers(&[2, 3])], call: "&inputs[0], None, None", same_graph: false }
}

/// A captured model that calls another one.
fn nested() -> Sample {
    let inner = operators().module;
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let y = graph.placeholder("y");
    let call = graph.call_module("blocks.0", [x, y]);
    let call = graph.call_module("blocks.0", [call, y]);
    graph.output(call);
    let mut state = State::new();
    state.modules.insert("blocks.0".to_owned(), std::sync::Arc::new(inner));
    let module = GraphModule::with_state(graph, state, "nested").expect("the graph is in order");
    let inputs = vec![numbers(&[4, 6]), numbers(&[4, 6])];
    Sample { name: "nested", module, inputs, call: "&inputs[0], &inputs[1]", same_graph: false }
}

/// Paths whose structs would have equal names, names that mean something in Rust or to fx, and names in other cases.
fn names() -> Sample {
    let paths = [
        "blocks.1.1",
        "blocks.11",
        "layer1.0",
        "layer10",
        "up_1",
        "up1",
        "up_1_",
        "up1_2",
        "__",
        "int",
        "type",
        "self.crate",
        "super.Self",
        "A_log",
        "SelfAttention.a__b",
        "path.path",
        "model",
        "Some",
        "None.Tensor",
        "new.forward",
        "load",
        "int.DType",
        "fx.nn",
        "training",
        "eval",
    ];
    let mut state = State::new();
    let mut graph = Graph::new();
    let mut sum: NodeArg = graph.placeholder("x").into();
    for (i, path) in paths.iter().enumerate() {
        // Some have a parameter of their own beside, or are one.
        let path = if i % 4 == 2 && !path.starts_with("int") { (*path).to_owned() } else { format!("{path}.w") };
        state.parameters.insert(path.clone(), Parameter::new(numbers(&[1 + i % 2 * 5])));
        let parameter = graph.get_attr(&path);
        sum = graph.call_function(ops::add, [sum, parameter.into()]).into();
    }
    for name in ["Tensor", "Some", "Ok", "DType", "V", "vec", "path", "model", "self", "None", "f64", "a__b", "nn", "Q"]
    {
        let node = graph.call_function(ops::mul, [sum, 0.5.into()]);
        let limits = kwargs([("min", NodeArg::Float(-9.0)), ("max", f64::INFINITY.into())]);
        let clamp = graph.call(Opcode::CallMethod, "clamp", [node], limits);
        graph.rename(clamp, name);
        sum = clamp.into();
    }
    graph.output(sum);
    let module = GraphModule::with_state(graph, state, "sym").expect("the graph is in order");
    Sample { name: "sym", module, inputs: vec![numbers(&[4, 1])], call: "&inputs[0]", same_graph: false }
}

/// A model of `fx::nn`, in evaluation.
fn model<M: fx::Traceable<Static = ()>>(
    name: &'static str,
    model: &M,
    inputs: Vec<Tensor>,
    call: &'static str,
) -> Sample {
    let module: &dyn Module = model;
    module.set_training(false);
    let module = fx::trace(model).expect("the model can be captured");
    Sample { name, module, inputs, call, same_graph: true }
}

fn models() -> Vec<Sample> {
    let config = small::bert();
    let tokens = Tensor::from([[1_i64, 7, 49, 0, 3, 3, 12]]);
    let ones = Tensor::ones([1, 7]).to_dtype(DType::I64);
    let zeros = Tensor::zeros([1, 7]).to_dtype(DType::I64);
    let image = vec![numbers(&[1, 3, 64, 64])];
    vec![
        model("bert", &Bert::new(&config), vec![tokens, ones, zeros], "&inputs[0], &inputs[1], &inputs[2]"),
        model("resnet50", &resnet50(1000), image.clone(), "&inputs[0]"),
        model("mobilenet", &MobileNetV2::new(&MobileNetV2Config::default()), image, "&inputs[0]"),
        quantized(),
        fused(),
    ]
}

/// Weights in integers, beside a scale for each output, and inputs quantized by constants and by what each run has.
fn quantized() -> Sample {
    let layers =
        fx::nn::Sequential::new((fx::nn::Conv1d::new(2, 3, 3), fx::nn::ReLU::new(), fx::nn::Linear::new(6, 4)));
    let Sample { module, inputs, .. } = model("quantized", &layers, vec![numbers(&[2, 2, 8])], "&inputs[0]");
    let mapping = QConfigMapping::new().set_object_type(ops::linear, QConfig::dynamic());
    let mut prepared = prepare_fx(&module, &mapping).expect("the model can be quantized");
    prepared.forward(&inputs[0]).expect("the model runs");
    let module = prepared.convert_fx().expect("the model is quantized");
    Sample { name: "quantized", module, inputs, call: "&inputs[0]", same_graph: false }
}

/// The same as calls of integers.
fn fused() -> Sample {
    let Sample { mut module, inputs, call, .. } = quantized();
    let count = fx::passes::optimize(&mut module).expect("the model can be optimized");
    assert!(count > 0 && module.graph().find_calls(ops::quantize_per_tensor).is_empty());
    Sample { name: "fused", module, inputs, call, same_graph: false }
}

/// All tensors of a result, in order.
fn tensors(arg: &Arg<Tensor>) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    arg.for_each(&mut |tensor| tensors.push(tensor.clone()));
    tensors
}

fn save(path: &Path, tensors: &[Tensor]) {
    let names: Vec<String> = (0..tensors.len()).map(|i| format!("{i:03}")).collect();
    let entries = names.iter().map(String::as_str).zip(tensors);
    fx::tensor::save_safetensors(path, entries, None).expect("the file is written");
}

/// Writes the crate, the inputs and the expected outputs of a sample; gives the program text that checks them.
fn write(workspace: &Path, sample: &Sample) -> String {
    let folder = workspace.join(sample.name);
    let options = FolderOptions::new().fx_path(env!("CARGO_MANIFEST_DIR")).overwrite();
    sample.module.to_folder_with(&folder, sample.name, &options).expect("the crate is written");
    let args: Vec<Arg<Tensor>> = sample.inputs.iter().map(Tree::to_arg).collect();
    let expected = fx::Interpreter::new(&sample.module).run(args).expect("the graph runs");
    save(&folder.join("inputs.safetensors"), &sample.inputs);
    save(&folder.join("expected.safetensors"), &tensors(&expected));
    let name = sample.module.class_name();
    let class = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    let make = match sample.module.state_dict().is_empty() {
        true => format!("{}::{class}::new()", sample.name),
        false => format!("{}::{class}::load(folder.join(\"model.safetensors\")).unwrap()", sample.name),
    };
    let mut text = format!(
        "    let folder = root.join({:?});\n    let inputs = read(&folder.join(\"inputs.safetensors\"));\n    let model = \
         {make};\n    let output = model.forward({});\n    compare({:?}, &fx::value::Tree::to_arg(&output), &folder);\n",
        sample.name, sample.call, sample.name
    );
    if sample.same_graph {
        fs::write(folder.join("graph.txt"), sample.module.graph().to_string()).expect("the file is written");
        let _ = writeln!(
            text,
            "    assert_eq!(fx::trace(&model).unwrap().graph().to_string(), \
             std::fs::read_to_string(folder.join(\"graph.txt\")).unwrap());"
        );
    }
    format!("    {{\n{text}    }}\n")
}

const PROGRAM: &str = r#"
use std::path::Path;

use fx::{Arg, Tensor};

fn read(path: &Path) -> Vec<Tensor> {
    let mut entries: Vec<_> = fx::tensor::load_safetensors(path).unwrap().into_iter().collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.into_iter().map(|(_, tensor)| tensor).collect()
}

fn compare(name: &str, output: &Arg<Tensor>, folder: &Path) {
    let mut found = Vec::new();
    output.for_each(&mut |tensor: &Tensor| found.push(tensor.clone()));
    let expected = read(&folder.join("expected.safetensors"));
    assert_eq!(found.len(), expected.len(), "{name}: number of tensors");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()), "{name}");
        let numbers = |tensor: &Tensor| tensor.to_dtype(fx::DType::F64).to_vec::<f64>();
        for (a, b) in numbers(found).into_iter().zip(numbers(expected)) {
            assert!(a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-5 + 1e-5 * b.abs(), "{name}: {a} != {b}");
        }
    }
}
"#;

#[test]
fn generated_crates_run() {
    let workspace = crates::workspace("generated");
    let mut samples = vec![operators(), methods(), sizes(), symbolic_sizes(), parts(), inputs(), nested(), names()];
    samples.extend(models());
    let checks: String = samples.iter().map(|sample| write(&workspace, sample)).collect();
    let program = format!(
        "{PROGRAM}\nfn main() {{\n    let root = Path::new({:?});\n{checks}    println!(\"all {} agree\");\n}}\n",
        workspace,
        samples.len()
    );
    let dependencies: String =
        samples.iter().map(|sample| format!("{0} = {{ path = \"../{0}\" }}\n", sample.name)).collect();
    let runner = crates::member(&workspace, "runner", &dependencies);
    fs::write(runner.join("main.rs"), program).expect("the program is written");
    let output = crates::cargo(&workspace, &["run", "-p", "runner"]);
    assert_eq!(output.trim(), format!("all {} agree", samples.len()));
}
