use std::sync::{Arc, Mutex};

use fx::graph::Change;
use fx::module::deep_copy;
use fx::ops::{Effect, Function};
use fx::passes::{compose_modules, decompose_modules, eliminate_dead_code};
use fx::prelude::*;
use fx::{GraphModule, Meta, nn};

use super::fill::{fill, floats};
use super::{check_close, module, parameters, support::check};

fn path(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.safetensors"))
}

fn model() -> nn::Sequential<(nn::Conv2d, nn::BatchNorm2d, nn::ReLU)> {
    let model = nn::Sequential::new((nn::Conv2d::new(2, 3, 2), nn::BatchNorm2d::new(3), nn::ReLU::new()));
    fill(&model);
    model.eval();
    model
}

#[test]
fn functions_become_modules_again() {
    let model = model();
    let traced = fx::trace(&model).unwrap();
    let mut module = traced.clone();
    decompose_modules(&mut module).unwrap();
    assert_eq!(compose_modules(&mut module, &model).unwrap(), 2);
    check(
        module.graph(),
        "graph():
            %input : [num_users=1] = placeholder[target=input]
            %_0_1 : [num_users=1] = call_module[target=0](args = (%input,), kwargs = {})
            %_1_1 : [num_users=1] = call_module[target=1](args = (%_0_1,), kwargs = {})
            %relu : [num_users=1] = call_function[target=relu](args = (%_1_1,), kwargs = {})
            return relu",
    );
    check_close(&traced, &module, &[floats("x", &[1, 2, 4, 4])], 0.0, 0.0);
    assert_eq!(compose_modules(&mut module, &model).unwrap(), 0);
}

#[test]
fn a_graph_and_its_state_in_one_file() {
    let model = model();
    let mut module = fx::trace(&model).unwrap();
    let x = [floats("x", &[1, 2, 4, 4])];
    module
        .edit(|graph| {
            let id = graph.find("_0").unwrap();
            graph.meta_mut(id).unwrap().insert(fx::Arg::Value(Meta::tensor([1, 3, 3, 3], DType::F32)));
            Ok(())
        })
        .unwrap();
    let file = path("leaves");
    module.save(&file).unwrap();
    let error = GraphModule::load(&file).unwrap_err().to_string();
    assert!(error.contains("there is no Conv2d(2, 3, kernel_size=(2, 2), stride=(1, 1)) for `0`"), "{error}");

    let other = nn::Sequential::new((nn::Conv2d::new(2, 3, 2), nn::BatchNorm2d::new(3), nn::ReLU::new()));
    other.eval();
    let loaded = GraphModule::load_with(&file, &other).unwrap();
    assert_eq!(loaded.graph(), module.graph());
    check(loaded.graph().readable(), &module.graph().readable());
    check_close(&module, &loaded, &x, 0.0, 0.0);
    let wrong = nn::Sequential::new((nn::Conv2d::new(2, 3, 1), nn::BatchNorm2d::new(3), nn::ReLU::new()));
    assert!(GraphModule::load_with(&file, &wrong).is_err());

    decompose_modules(&mut module).unwrap();
    let file = path("functions");
    module.save(&file).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let loaded = GraphModule::load(&file).unwrap();
    assert_eq!(loaded.graph(), module.graph());
    check(loaded.graph().readable(), &module.graph().readable());
    check_close(&module, &loaded, &x, 0.0, 0.0);
    loaded.save(&file).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[test]
fn what_is_no_saved_graph_is_refused() {
    let file = path("broken");
    let module = fx::trace_fn!(|x| x.relu()).unwrap();
    module.save(&file).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let with = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let text: Vec<u8> =
            bytes.iter().map(|byte| char::from(*byte)).collect::<String>().replace(from, to).bytes().collect();
        std::fs::write(&file, text).unwrap();
        GraphModule::load(&file).unwrap_err().to_string()
    };
    assert!(with("\\\"version\\\":1", "\\\"version\\\":2").contains("version 2 of the format is newer than 1"));
    assert!(with("target=relu", "target=ulex").contains("there is no"));
    assert!(with("call_method", "call_cobras").contains("there is no opcode `call_cobras`"));
    assert!(with("\\\"class\\\"", "\\\"glass\\\"").contains("`class` is no text"));
}

#[test]
fn submodules_at_any_depth() {
    let mut module = fx::trace_fn!(|x| x.relu()).unwrap();
    module.add_submodule("blocks.2.norm", &nn::BatchNorm1d::new(3)).unwrap();
    module.add_submodule("blocks.2.act", &nn::ReLU::new()).unwrap();
    module
        .edit(|graph| {
            let relu = graph.find("relu").unwrap();
            graph.set_call(relu, Opcode::CallModule, "blocks.2.act");
            Ok(())
        })
        .unwrap();
    assert!(module.delete_submodule("blocks").is_err());
    assert!(module.delete_submodule("blocks.2.norm").unwrap() && !module.delete_submodule("blocks.2.norm").unwrap());
    let paths: Vec<_> = module.named_modules().map(|(path, leaf)| format!("{path} {}", leaf.type_name())).collect();
    assert_eq!(paths, ["blocks.2.act ReLU"]);
}

#[test]
fn observers_hear_of_every_change() {
    let changes = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&changes);
    let mut module = module(
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
            return relu",
        parameters([]),
    );
    module
        .edit(|graph| {
            let number = graph.observe(move |graph, change| {
                let (what, id) = match change {
                    Change::Created(id) => ("created", id),
                    Change::Erased(id) => ("erased", id),
                    Change::Arguments(id) => ("changed", id),
                };
                heard.lock().unwrap().push(format!("{what} {}", graph[id].name()));
            });
            let relu = graph.find("relu").unwrap();
            let x = graph.find("x").unwrap();
            let neg = graph.inserting_after(relu, |graph| graph.call_method("neg", [x]));
            graph.replace_all_uses_with(relu, neg);
            graph.erase_node(relu)?;
            assert!(graph.unobserve(number) && !graph.unobserve(number));
            graph.rename(neg, "minus");
            Ok(())
        })
        .unwrap();
    assert_eq!(*changes.lock().unwrap(), ["created neg", "changed output", "erased relu"]);
}

#[fx::wrap]
fn log_mean(x: &Tensor) -> Tensor {
    x.mean()
}

#[test]
fn a_wrapped_function_can_be_declared_to_have_an_effect() {
    let mut module = fx::trace_fn!(|x| {
        log_mean(&x);
        x.relu()
    })
    .unwrap();
    let function = module.graph().nodes().find_map(|(_, node)| node.function()).unwrap();
    function.declare_effect(Effect::Impure).unwrap();
    assert_eq!(eliminate_dead_code(&mut module).unwrap(), 0);
    function.declare_effect(Effect::Pure).unwrap();
    assert_eq!(eliminate_dead_code(&mut module).unwrap(), 1);
    assert!(Function::lookup("relu").unwrap().declare_effect(Effect::Impure).is_err());
}

#[test]
fn a_readable_form_has_lines_modules_and_shapes() {
    let mut module = fx::trace(&model()).unwrap();
    decompose_modules(&mut module).unwrap();
    let text = module.graph().readable();
    assert!(text.contains("sequential.rs:") && text.contains(" in 1 (BatchNorm2d)\n"), "{text}");
}

/// Two layers that share their weight, in training.
#[traceable]
#[derive(Clone)]
struct Tied {
    first: nn::Linear,
    second: nn::Linear,
    norm: nn::BatchNorm1d,
}

#[traceable]
impl Tied {
    fn new() -> Self {
        let mut model =
            Self { first: nn::Linear::new(3, 3), second: nn::Linear::new(3, 3), norm: nn::BatchNorm1d::new(3) };
        fill(&model);
        model.second.weight = model.first.weight.clone();
        model
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.norm.forward(self.second.forward(self.first.forward(x).relu()))
    }
}

#[test]
fn a_deep_copy_shares_nothing_with_the_original() {
    let x = floats("x", &[4, 3]);
    let traced = fx::trace(&Tied::new()).unwrap();
    traced.eval();
    let before = traced.forward(&x).unwrap();
    let copy = deep_copy(&traced).unwrap();
    assert_eq!(copy.graph(), traced.graph());
    assert_eq!(copy.forward(&x).unwrap(), before);
    copy.load_state_dict(&copy.state_dict().into_iter().map(|(path, tensor)| (path, tensor * 2.0)).collect()).unwrap();
    copy.train(true);
    assert_ne!(copy.forward(&x).unwrap(), before);
    assert_eq!(traced.forward(&x).unwrap(), before);
}

#[test]
fn a_deep_copy_keeps_what_is_shared_within() {
    let model = Tied::new();
    let copy = deep_copy(&model).unwrap();
    assert_eq!(copy.first.weight.id(), copy.second.weight.id());
    assert_ne!(copy.first.weight.id(), model.first.weight.id());
    copy.first.weight.set(Tensor::zeros([3, 3])).unwrap();
    assert_eq!(copy.second.weight.tensor(), Tensor::zeros([3, 3]));
    assert_ne!(model.second.weight.tensor(), Tensor::zeros([3, 3]));
    // A model in the graph of another is copied too.
    let outer = fx::trace_by(fx::trace::Leaves::All, &nn::Sequential::new((fx::trace(&model).unwrap(),)), ()).unwrap();
    let inner = deep_copy(&outer).unwrap();
    inner.load_state_dict(&outer.state_dict().into_iter().map(|(path, x)| (path, x + 1.0)).collect()).unwrap();
    assert_eq!(outer.state_dict()["0.first.weight"], model.first.weight.tensor());
}

#[traceable]
#[derive(Clone)]
struct Blocks {
    blocks: Vec<nn::Linear>,
}

#[traceable]
impl Blocks {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.blocks.iter().fold(x.clone(), |x, block| block.forward(x))
    }
}

#[test]
fn what_is_shared_takes_one_value() {
    let two = Blocks { blocks: vec![nn::Linear::new(2, 2), nn::Linear::new(2, 2)] };
    let file = path("two_blocks");
    two.save_safetensors(&file).unwrap();
    let shared = Blocks { blocks: vec![nn::Linear::new(2, 2); 2] };
    let before = shared.state_dict();
    for error in [shared.load_state_dict(&two.state_dict()), shared.load_safetensors(&file)] {
        assert_eq!(
            error.unwrap_err().to_string(),
            "the state does not fit Blocks, 2 entries are wrong:\n  \
             shared: `blocks.0.weight` and `blocks.1.weight` are one parameter of the model, and differ here\n  \
             shared: `blocks.0.bias` and `blocks.1.bias` are one parameter of the model, and differ here\n  \
             help: clones of a module share its parameters, so `vec![Block::new(); 2]` has them once: make each by a \
             call of its own, or with `module::deep_copy`"
        );
        assert_eq!(shared.state_dict(), before);
    }
    // Equal entries are the same weight twice; what is not a number is equal to itself.
    let weight = Tensor::from_vec([2, 2], vec![f32::NAN, 1.0, 2.0, 3.0]);
    shared.blocks[0].weight.set(weight).unwrap();
    shared.save_safetensors(&file).unwrap();
    shared.load_state_dict(&shared.state_dict()).unwrap();
    shared.load_safetensors(&file).unwrap();
    let copies = Blocks { blocks: vec![deep_copy(&two.blocks[0]).unwrap(), deep_copy(&two.blocks[0]).unwrap()] };
    copies.load_state_dict(&two.state_dict()).unwrap();
    assert_eq!(copies.state_dict(), two.state_dict());
}

#[traceable]
#[derive(Clone)]
struct Counted {
    layer: Arc<nn::Linear>,
}

#[traceable]
impl Counted {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

#[test]
fn what_cannot_be_copied_deeply_is_named() {
    let error = deep_copy(&Counted { layer: Arc::new(nn::Linear::new(1, 1)) }).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the copy of a Counted would share `layer.weight` with the original\n  \
         help: keep modules in a Box, not in an Arc, to copy them deeply"
    );
}
