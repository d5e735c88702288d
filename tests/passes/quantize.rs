use std::path::Path;

use fx::nn;
use fx::ops;
use fx::passes::quantize::{ActivationConfig, Observer, WeightConfig};
use fx::passes::{QConfig, QConfigMapping, prepare_fx, quantize_dynamic};
use fx::prelude::*;
use fx::{Arg, Graph, GraphModule};
use serde_json::Value as Json;

use super::all_passes::{convolutional, perceptrons, transformers};
use super::fill::{fill, floats};
use super::{check_close, module, parameters, run, run_plan, support::check};

fn golden() -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/quantize.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The model of the golden file, and its data.
fn sample() -> (GraphModule, Vec<Tensor>) {
    let model =
        nn::Sequential::new((nn::Conv2d::new(3, 4, 3), nn::ReLU::new(), nn::Flatten::new(), nn::Linear::new(144, 5)));
    fill(&model);
    model.eval();
    let data = (0..3).map(|i| floats(&format!("x{i}"), &[2, 3, 8, 8]) * f64::from(1 + i)).collect();
    (fx::trace(&model).unwrap(), data)
}

fn quantized(module: &GraphModule, mapping: &QConfigMapping, data: &[Tensor]) -> GraphModule {
    let mut prepared = prepare_fx(module, mapping).unwrap();
    for x in data {
        let output = prepared.forward(x).unwrap();
        assert!(output.all_close(&run(module, std::slice::from_ref(x))[0], 1e-4, 1e-4));
    }
    prepared.convert_fx().unwrap()
}

/// The scales and zero points of inputs, as the graph has them.
fn qparams(module: &GraphModule) -> Vec<(f64, i64)> {
    let graph = module.graph();
    let args = graph.find_calls(ops::quantize_per_tensor).into_iter().map(|id| graph[id].args().to_vec());
    args.map(|args| (args[1].as_float().unwrap(), args[2].as_int().unwrap())).collect()
}

/// Checks them against PyTorch's; the last digits of what a convolution gives depend on its kernel.
#[track_caller]
fn check_qparams(found: &[(f64, i64)], wanted: &[Json]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted.iter().map(numbers)) {
        assert!((found.0 / wanted[0] - 1.0).abs() < 1e-6 && found.1 as f64 == wanted[1], "{found:?}, {wanted:?}");
    }
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn a_quantized_model_gives_what_pytorch_gives() {
    let (traced, data) = sample();
    let module = quantized(&traced, &QConfigMapping::new(), &data);
    let golden = &golden()["model"];
    // The last digits of what a convolution gives depend on its kernel.
    let found = qparams(&module);
    check(
        module.graph().to_string().replace(&format!("{:?}", found[1].0), "SCALE"),
        "graph():
            %input : [num_users=1] = placeholder[target=input]
            %_0_bias : [num_users=1] = get_attr[target=0.bias]
            %quantize_per_tensor : [num_users=1] = call_function[target=quantize_per_tensor](args = (%input, 0.02341763861477375, 127), kwargs = {quant_min: 0, quant_max: 255, dtype: torch.uint8})
            %dequantize_per_tensor : [num_users=1] = call_function[target=dequantize_per_tensor](args = (%quantize_per_tensor, 0.02341763861477375, 127), kwargs = {})
            %_0_weight_int8 : [num_users=1] = get_attr[target=0.weight_int8]
            %_0_weight_scale : [num_users=1] = get_attr[target=0.weight_scale]
            %dequantize_per_channel : [num_users=1] = call_function[target=dequantize_per_channel](args = (%_0_weight_int8, %_0_weight_scale), kwargs = {axis: 0})
            %conv2d : [num_users=1] = call_function[target=conv2d](args = (%dequantize_per_tensor, %dequantize_per_channel, %_0_bias), kwargs = {})
            %relu : [num_users=1] = call_function[target=relu](args = (%conv2d,), kwargs = {})
            %flatten : [num_users=1] = call_method[target=flatten](args = (%relu,), kwargs = {start_dim: 1})
            %_3_bias : [num_users=1] = get_attr[target=3.bias]
            %quantize_per_tensor_1 : [num_users=1] = call_function[target=quantize_per_tensor](args = (%flatten, SCALE, 0), kwargs = {quant_min: 0, quant_max: 255, dtype: torch.uint8})
            %dequantize_per_tensor_1 : [num_users=1] = call_function[target=dequantize_per_tensor](args = (%quantize_per_tensor_1, SCALE, 0), kwargs = {})
            %_3_weight_int8 : [num_users=1] = get_attr[target=3.weight_int8]
            %_3_weight_scale : [num_users=1] = get_attr[target=3.weight_scale]
            %dequantize_per_channel_1 : [num_users=1] = call_function[target=dequantize_per_channel](args = (%_3_weight_int8, %_3_weight_scale), kwargs = {axis: 0})
            %linear : [num_users=1] = call_function[target=linear](args = (%dequantize_per_tensor_1, %dequantize_per_channel_1, %_3_bias), kwargs = {})
            return linear",
    );
    check_qparams(&found, golden["inputs"].as_array().unwrap());
    for (path, scales) in ["0.weight_scale", "3.weight_scale"].iter().zip(golden["weights"].as_array().unwrap()) {
        assert_eq!(module.state().buffers[*path].tensor().to_vec_as::<f64>(), numbers(scales));
    }
    let wanted = Tensor::from_vec([2, 5], numbers(&golden["output"])).to_dtype(DType::F32);
    for output in [run(&module, &data[..1]), run_plan(&module, &data[..1])] {
        assert!(output[0].all_close(&wanted, 1e-5, 1e-5), "off by {}", output[0].max_abs_diff(&wanted));
    }
    // And that is near to what it was.
    let exact = run(&traced, &data[..1]);
    assert!(wanted.max_abs_diff(&exact[0]) < 0.02, "{}", wanted.max_abs_diff(&exact[0]));
}

/// A layer that reads one number at a time.
fn scalar_layer() -> GraphModule {
    module(
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=w]
            %linear : [num_users=1] = call_function[target=linear](args = (%x, %w), kwargs = {})
            return linear",
        parameters([("w", Tensor::from([[0.5_f32]]))]),
    )
}

fn static_config(observer: Observer) -> QConfig {
    QConfig { activation: ActivationConfig::new(observer), ..QConfig::default() }
}

#[test]
fn observers_find_the_ranges_of_pytorch() {
    let mut wrong = Vec::new();
    for case in golden()["observers"].as_array().unwrap() {
        let observer = match case["observer"].as_str().unwrap() {
            "min_max" => Observer::MinMax,
            "moving_average" => Observer::MovingAverageMinMax(0.01),
            _ => Observer::Histogram(2048),
        };
        let (least, most) = (case["quant_min"].as_i64().unwrap(), case["quant_max"].as_i64().unwrap());
        let dtype = if least < 0 { DType::I8 } else { DType::U8 };
        let activation = ActivationConfig::new(observer).with_range(dtype, least, most);
        let config = QConfig { activation, ..QConfig::default() };
        let mut prepared = prepare_fx(&scalar_layer(), &QConfigMapping::new().set_global(config)).unwrap();
        for batch in case["batches"].as_array().unwrap() {
            let shape: Vec<usize> = numbers(&batch[1]).into_iter().map(|size| size as usize).collect();
            let x =
                floats(batch[0].as_str().unwrap(), &shape) * batch[2].as_f64().unwrap() + batch[3].as_f64().unwrap();
            prepared.forward((&x * &x * &x).reshape([-1, 1])).unwrap();
        }
        let found = qparams(&prepared.convert_fx().unwrap())[0];
        let wanted = (case["scale"].as_f64().unwrap(), case["zero_point"].as_i64().unwrap());
        if found != wanted {
            wrong.push(format!("{case}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ranges_of_each_run_need_no_data() {
    let (traced, data) = sample();
    let mut module = traced.clone();
    assert_eq!(quantize_dynamic(&mut module).unwrap(), 2);
    let text = module.graph().to_string();
    check(
        text.lines().take(11).collect::<Vec<_>>().join("\n"),
        "graph():
            %input : [num_users=2] = placeholder[target=input]
            %_0_bias : [num_users=1] = get_attr[target=0.bias]
            %choose_qparams : [num_users=2] = call_function[target=choose_qparams](args = (%input,), kwargs = {quant_min: 0, quant_max: 255})
            %getitem : [num_users=2] = call_function[target=getitem](args = (%choose_qparams, 0), kwargs = {})
            %getitem_1 : [num_users=2] = call_function[target=getitem](args = (%choose_qparams, 1), kwargs = {})
            %quantize_per_tensor : [num_users=1] = call_function[target=quantize_per_tensor](args = (%input, %getitem, %getitem_1), kwargs = {quant_min: 0, quant_max: 255, dtype: torch.uint8})
            %dequantize_per_tensor : [num_users=1] = call_function[target=dequantize_per_tensor](args = (%quantize_per_tensor, %getitem, %getitem_1), kwargs = {})
            %_0_weight_int8 : [num_users=1] = get_attr[target=0.weight_int8]
            %_0_weight_scale : [num_users=1] = get_attr[target=0.weight_scale]
            %dequantize_per_channel : [num_users=1] = call_function[target=dequantize_per_channel](args = (%_0_weight_int8, %_0_weight_scale), kwargs = {axis: 0})",
    );
    for x in &data {
        let (wanted, found) = (run(&traced, std::slice::from_ref(x)), run(&module, std::slice::from_ref(x)));
        assert!(found[0].max_abs_diff(&wanted[0]) < 0.05, "{}", found[0].max_abs_diff(&wanted[0]));
        let plan = run_plan(&module, std::slice::from_ref(x));
        assert!(plan[0].all_close(&found[0], 1e-5, 1e-5), "{}", plan[0].max_abs_diff(&found[0]));
    }
}

#[test]
fn every_model_is_near_to_what_it_was() {
    for sample in [convolutional(), transformers(), perceptrons()].into_iter().flatten() {
        let (name, before) = (sample.name, sample.module.clone());
        let mut module = before.clone();
        let count = quantize_dynamic(&mut module).unwrap();
        assert!(count > 0, "{name}");
        module.graph().lint_with(module.state()).unwrap();
        assert_eq!(module.graph().to_string().parse::<Graph>().unwrap(), *module.graph(), "{name}");
        let (wanted, found) = (run(&before, &sample.inputs), run(&module, &sample.inputs));
        for (found, wanted) in found.iter().zip(&wanted) {
            let scale = wanted.abs().max().item().to_f64();
            assert!(found.max_abs_diff(wanted) < 0.1 * scale, "{name} is off by {}", found.max_abs_diff(wanted));
        }
        check_close(&module, &module, &sample.inputs, 1e-2, 1e-2);
        // What is quantized is not quantized again.
        let once = module.graph().clone();
        assert_eq!(quantize_dynamic(&mut module).unwrap(), 0, "{name}");
        assert_eq!(*module.graph(), once, "{name}");
    }
}

#[test]
fn a_quantized_model_is_saved_and_loaded() {
    let (traced, data) = sample();
    let module = quantized(&traced, &QConfigMapping::new(), &data);
    let path = std::env::temp_dir().join(format!("fx_quantized_{}.fx", std::process::id()));
    module.save(&path).unwrap();
    let loaded = GraphModule::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(loaded.graph(), module.graph());
    assert_eq!(loaded.state().buffers["3.weight_int8"].dtype(), DType::I8);
    assert_eq!(run(&loaded, &data[..1]), run(&module, &data[..1]));
}

/// Two layers that read the same value, one of them by a product, and a weight that is also read elsewhere.
fn shared() -> GraphModule {
    module(
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %a : [num_users=2] = get_attr[target=a.weight]
            %b : [num_users=1] = get_attr[target=b.weight]
            %linear : [num_users=1] = call_function[target=linear](args = (%x, %a), kwargs = {})
            %matmul : [num_users=1] = call_function[target=matmul](args = (%x, %b), kwargs = {})
            %linear_1 : [num_users=1] = call_function[target=linear](args = (%linear, %a), kwargs = {})
            return (linear_1, matmul, a)",
        parameters([("a.weight", floats("a", &[4, 4])), ("b.weight", floats("b", &[4, 3]))]),
    )
}

#[test]
fn layers_share_what_they_read() {
    let mapping = QConfigMapping::new().set_global(static_config(Observer::MinMax));
    let mut prepared = prepare_fx(&shared(), &mapping).unwrap();
    assert_eq!(prepared.layer_count(), 3);
    prepared.run(vec![Arg::Value(floats("x", &[2, 4]))]).unwrap();
    let module = prepared.convert_fx().unwrap();
    let calls = |function| module.graph().find_calls(function).len();
    assert_eq!((calls(ops::quantize_per_tensor), calls(ops::dequantize_per_channel)), (2, 2));
    assert_eq!(calls(ops::transpose), 0);
    let buffers: Vec<_> = module.state().buffers.keys().map(String::as_str).collect();
    assert_eq!(buffers, ["a.weight_int8", "a.weight_scale", "b.weight_int8", "b.weight_scale"]);
    assert_eq!(module.state().parameters.keys().collect::<Vec<_>>(), ["a.weight"]);
    assert_eq!(module.state().buffers["b.weight_int8"].shape(), [3, 4]);
    let wanted = run(&shared(), &[floats("x", &[2, 4])]);
    for (found, wanted) in run(&module, &[floats("x", &[2, 4])]).iter().zip(&wanted) {
        assert!(found.max_abs_diff(wanted) < 0.05, "{}", found.max_abs_diff(wanted));
    }
}

/// A value that is pooled, and stands beside one with larger numbers (`small` and `large` are windows).
#[traceable]
struct Branches {
    small: nn::Conv2d,
    large: nn::Conv2d,
    pooled: nn::Conv2d,
    beside: nn::Conv2d,
}

#[traceable]
impl Branches {
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let (small, large) = (self.small.forward(x).relu(), self.large.forward(x).relu());
        let both = Tensor::cat_with([&small, &large], ops::CatOptions::new().dim(1));
        (self.pooled.forward(large.max_pool2d([2, 2])), self.beside.forward(both))
    }
}

#[test]
fn what_is_chosen_from_a_value_shares_its_observer() {
    let model = Branches {
        small: nn::Conv2d::new(3, 4, 1),
        large: nn::Conv2d::new(3, 4, 5).padding(2),
        pooled: nn::Conv2d::new(4, 4, 3),
        beside: nn::Conv2d::new(8, 4, 1),
    };
    fill(&model);
    let traced = fx::trace(&model).unwrap();
    let golden = &golden()["branches"];
    let wanted = ["small", "pooled", "beside"].map(|layer| golden[layer].clone());
    let converted = |observer| {
        let mut prepared = prepare_fx(&traced, &QConfigMapping::new().set_global(static_config(observer))).unwrap();
        for x in &sample().1 {
            prepared.run(vec![Arg::Value(x.clone())]).unwrap();
        }
        prepared.convert_fx().unwrap()
    };
    let module = converted(Observer::MinMax);
    let found = qparams(&module);
    check_qparams(&found, &wanted);
    assert_eq!(found[1], found[2]);
    // A histogram too is of all that is read.
    let found = qparams(&converted(Observer::Histogram(2048)));
    assert_eq!(found[1], found[2]);
    // But where configurations differ, each layer has its own.
    let other = QConfig { activation: ActivationConfig::new(Observer::MovingAverageMinMax(0.5)), ..QConfig::default() };
    let mapping = QConfigMapping::new().set_global(static_config(Observer::MinMax)).set_module_name("pooled", other);
    let mut prepared = prepare_fx(&traced, &mapping).unwrap();
    prepared.run(vec![Arg::Value(sample().1.swap_remove(0))]).unwrap();
    let found = qparams(&prepared.convert_fx().unwrap());
    assert!(found[1].0 < 0.9 * found[2].0, "{found:?}");
}

/// A value that a layer reads, and that is added to what this gives.
#[traceable]
struct Residual {
    first: nn::Conv2d,
    second: nn::Conv2d,
    last: nn::Conv2d,
}

#[traceable]
impl Residual {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.first.forward(x).relu();
        let x = (self.second.forward(&x) + &x).relu();
        self.last.forward(x)
    }
}

/// PyTorch's layer with a sum in it reads the same dequantized value twice, and its product is not rounded in between.
#[test]
fn sums_after_layers_add_what_these_read() {
    let model = Residual {
        first: nn::Conv2d::new(3, 4, 3).padding(1),
        second: nn::Conv2d::new(4, 4, 3).padding(1),
        last: nn::Conv2d::new(4, 5, 1),
    };
    fill(&model);
    model.eval();
    let (traced, data) = (fx::trace(&model).unwrap(), sample().1);
    let golden = &golden()["residual"];
    let mapping = QConfigMapping::new().set_global(static_config(Observer::MinMax));
    let module = quantized(&traced, &mapping, &data);
    check_qparams(&qparams(&module), &["first", "second", "last"].map(|layer| golden["inputs"][layer].clone()));
    let adds = |module: &GraphModule| {
        let graph = module.graph();
        let sum = &graph[graph.find_calls(ops::add)[0]];
        let layer = &graph[*sum.args()[0].as_value().unwrap()];
        sum.args()[1] == layer.args()[0]
    };
    assert_eq!(Some(adds(&module)), golden["adds"].as_bool());
    let wanted = Tensor::from_vec([2, 5, 8, 8], numbers(&golden["output"])).to_dtype(DType::F32);
    for output in [run(&module, &data[..1]), run_plan(&module, &data[..1])] {
        // A number near a tie may become the integer beside.
        let off = output[0].max_abs_diff(&wanted);
        assert!(off < 2e-2 && (&output[0] - &wanted).abs().mean().item().to_f64() < 1e-4, "off by {off}");
    }
    // As in PyTorch, a mapping may leave sums alone, and ranges of each run are for layers.
    let alone = mapping.clone().set_object_type(ops::add, None);
    let other = mapping.set_object_type(ops::add, static_config(Observer::Histogram(2048)));
    let dynamic = QConfigMapping::new().set_global(QConfig::dynamic());
    for mapping in [alone, other, dynamic] {
        assert!(!adds(&quantized(&traced, &mapping, &data)), "{mapping:?}");
    }
}

/// A sum of what two layers give, which is read by a layer and averaged.
#[traceable]
struct Shortcut {
    first: nn::Conv2d,
    second: nn::Conv2d,
    down: nn::Conv2d,
    last: nn::Conv2d,
}

#[traceable]
impl Shortcut {
    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let x = self.first.forward(x).relu();
        let x = (self.second.forward(&x) + self.down.forward(&x)).relu();
        (self.last.forward(&x), x.adaptive_avg_pool2d(1))
    }
}

/// PyTorch's layer with a sum in it is the one before the plus sign; what the other gives is rounded. PyTorch rounds a mean as well, which is
/// left here to what reads it.
#[test]
fn sums_of_two_layers_and_means_read_what_is_rounded() {
    let model = Shortcut {
        first: nn::Conv2d::new(3, 4, 3).padding(1),
        second: nn::Conv2d::new(4, 6, 3).padding(1),
        down: nn::Conv2d::new(4, 6, 1),
        last: nn::Conv2d::new(6, 5, 1),
    };
    fill(&model);
    model.eval();
    let (traced, data) = (fx::trace(&model).unwrap(), sample().1);
    let golden = &golden()["shortcut"];
    let mapping = QConfigMapping::new().set_global(static_config(Observer::MinMax));
    let convert = |mapping: &QConfigMapping| {
        let mut prepared = prepare_fx(&traced, mapping).unwrap();
        for x in &data {
            prepared.run(vec![Arg::Value(x.clone())]).unwrap();
        }
        prepared.convert_fx().unwrap()
    };
    let module = convert(&mapping);
    // In the graph's order; `first` reads the input, `second` and `down` the same.
    let readers = ["first", "second", "sum", "last"];
    check_qparams(&qparams(&module), &readers.map(|reader| golden["inputs"][reader].clone()));
    let reads = |module: &GraphModule, function, operand: usize| {
        let graph = module.graph();
        let read = *graph[graph.find_calls(function)[0]].args()[operand].as_value().unwrap();
        graph[read].function()
    };
    let averages =
        |module: &GraphModule| reads(module, ops::adaptive_avg_pool2d, 0) == Some(ops::dequantize_per_tensor);
    assert_eq!(Some(averages(&module)), golden["averages"].as_bool());
    let sides = [0, 1].map(|side| reads(&module, ops::add, side));
    assert_eq!(sides, [Some(ops::conv2d), Some(ops::dequantize_per_tensor)]);
    let shapes: [&[usize]; 2] = [&[2, 5, 8, 8], &[2, 6, 1, 1]];
    for outputs in [run(&module, &data[..1]), run_plan(&module, &data[..1])] {
        for (i, (output, shape)) in outputs.iter().zip(shapes).enumerate() {
            let wanted = Tensor::from_vec(shape, numbers(&golden["outputs"][i])).to_dtype(DType::F32);
            // A number near a tie may become the integer beside.
            let off = output.max_abs_diff(&wanted);
            assert!(off < 2e-2 && (output - &wanted).abs().mean().item().to_f64() < 1e-4, "{i}: off by {off}");
        }
    }
    // A mapping may leave either alone.
    let sums = convert(&mapping.clone().set_object_type(ops::adaptive_avg_pool2d, None));
    assert!(!averages(&sums) && reads(&sums, ops::add, 1) == Some(ops::dequantize_per_tensor));
    let means = convert(&mapping.set_object_type(ops::add, None));
    assert!(averages(&means) && reads(&means, ops::add, 1) == Some(ops::conv2d));
}

#[test]
fn the_more_specific_configuration_wins() {
    let (traced, data) = sample();
    let dynamic = QConfig::dynamic();
    let counts = |mapping: QConfigMapping| {
        let module = quantized(&traced, &mapping, &data);
        let calls = |function| module.graph().find_calls(function).len();
        (calls(ops::quantize_per_tensor), calls(ops::choose_qparams))
    };
    let none = QConfigMapping::new().set_global(None);
    assert_eq!(counts(none.clone()), (0, 0));
    assert_eq!(counts(none.clone().set_object_type(ops::linear, dynamic)), (1, 1));
    assert_eq!(counts(none.set_module_name("0", QConfig::default())), (1, 0));
    assert_eq!(counts(QConfigMapping::new().set_object_type(ops::conv2d, None)), (1, 0));
    let mapping = QConfigMapping::new().set_object_type(ops::linear, None).set_module_name("3", dynamic);
    assert_eq!(counts(mapping), (2, 1));
}

#[derive(Clone)]
#[traceable]
struct Outer {
    inner: nn::Sequential<(nn::Linear, nn::ReLU)>,
    last: nn::Linear,
}

#[traceable]
impl Outer {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.last.forward(self.inner.forward(x))
    }
}

#[test]
fn a_module_stands_for_all_below_it() {
    let model =
        Outer { inner: nn::Sequential::new((nn::Linear::new(4, 4), nn::ReLU::new())), last: nn::Linear::new(4, 2) };
    let traced = fx::trace(&model).unwrap();
    let mapping = QConfigMapping::new().set_global(None).set_module_name("inner", QConfig::dynamic());
    let module = prepare_fx(&traced, &mapping).unwrap().convert_fx().unwrap();
    assert!(module.graph().find("inner_0_weight_int8").is_some() && module.graph().find("last_weight").is_some());
    assert_eq!(module.graph().find_calls(ops::choose_qparams).len(), 1);
}

#[test]
fn a_weight_can_have_one_scale() {
    let model = nn::Sequential::new((nn::Linear::new(4, 3),));
    fill(&model);
    let traced = fx::trace(&model).unwrap();
    let config = QConfig { weight: WeightConfig::PerTensor, ..QConfig::dynamic() };
    let prepared = prepare_fx(&traced, &QConfigMapping::new().set_global(config)).unwrap();
    let largest = prepared.module().state().parameters["0.weight"].tensor().abs().amax().item().to_f64();
    let module = prepared.convert_fx().unwrap();
    let scales = module.state().buffers["0.weight_scale"].tensor().to_vec_as::<f64>();
    assert_eq!(scales.len(), 3);
    assert!(scales.iter().all(|scale| (scale / (largest / 127.5) - 1.0).abs() < 1e-6), "{scales:?}");
}

/// As PyTorch's configuration for x86 processors, whose `reduce_range` is set.
#[test]
fn inputs_may_have_seven_bits() {
    let convert = |qconfig: QConfig| {
        let mut prepared = prepare_fx(&scalar_layer(), &QConfigMapping::new().set_global(qconfig)).unwrap();
        prepared.forward(floats("x", &[40, 1])).unwrap();
        prepared.convert_fx().unwrap()
    };
    let (seven, eight) = (convert(QConfig::x86()), convert(QConfig::default()));
    assert!(
        seven.graph().to_string().contains("quant_min: 0, quant_max: 127, dtype: torch.uint8"),
        "{}",
        seven.graph()
    );
    let steps = qparams(&seven)[0].0 / qparams(&eight)[0].0;
    assert!((1.9..2.1).contains(&steps), "steps are {steps} times as wide");
}

/// A transposed convolution's outputs are along the second dimension of its weight.
#[test]
fn transposed_convolutions_have_scales_of_outputs() {
    let model = nn::Sequential::new((nn::ConvTranspose2d::new(4, 3, 2).stride(2),));
    fill(&model);
    let mut module = fx::trace(&model).unwrap();
    let prepared = prepare_fx(&module, &QConfigMapping::new()).unwrap();
    let (before, weight) = (module.clone(), prepared.module().state().parameters["0.weight"].tensor());
    assert_eq!(quantize_dynamic(&mut module).unwrap(), 1);
    let scales = module.state().buffers["0.weight_scale"].tensor().to_vec_as::<f64>();
    assert_eq!(scales.len(), 3);
    for (output, scale) in scales.into_iter().enumerate() {
        let largest = weight.select(1, output as i64).abs().amax().item().to_f64();
        assert!((scale / (largest / 127.5) - 1.0).abs() < 1e-6, "{scale}");
    }
    let x = floats("x", &[2, 4, 3, 5]);
    let (found, wanted) = (module.forward(&x).unwrap(), before.forward(&x).unwrap());
    assert!(found.max_abs_diff(&wanted) < 0.02 * wanted.abs().amax().item().to_f64());
}

/// The weights of queries, keys and values are parts of one parameter.
#[test]
fn parts_of_a_parameter_are_weights() {
    let model = nn::TransformerEncoderLayer::new(8, 2).dim_feedforward(16);
    fill(&model);
    model.eval();
    let forms = fx::trace::InputForms::new().absent("src_mask").absent("src_key_padding_mask");
    let traced = fx::trace_by(forms, &model, ()).unwrap();
    let mut prepared = prepare_fx(&traced, &QConfigMapping::new()).unwrap();
    assert_eq!(prepared.layer_count(), 6);
    let x = floats("x", &[2, 5, 8]);
    let wanted = prepared.forward(&x).unwrap();
    let module = prepared.convert_fx().unwrap();
    assert!(module.state().parameters.keys().all(|path| !path.ends_with("weight") || path.contains("norm")));
    let calls = |function| module.graph().find_calls(function).len();
    // The other one is of the biases.
    assert_eq!((calls(ops::dequantize_per_channel), calls(ops::chunk)), (6, 1));
    let found = module.forward(&x).unwrap();
    assert!(found.max_abs_diff(&wanted) < 0.05, "{}", found.max_abs_diff(&wanted));
}

#[test]
fn batch_norms_are_in_the_weights() {
    let model = nn::Sequential::new((nn::Conv2d::new(3, 4, 3), nn::BatchNorm2d::new(4), nn::ReLU::new()));
    fill(&model);
    let traced = fx::trace(&model).unwrap();
    let error = prepare_fx(&traced, &QConfigMapping::new()).unwrap_err().to_string();
    assert!(error.contains("`1` (BatchNorm2d) is training") && error.contains("call `eval()`"), "{error}");
    model.eval();
    let mut prepared = prepare_fx(&traced, &QConfigMapping::new()).unwrap();
    let x = floats("x", &[1, 3, 6, 6]);
    let wanted = prepared.forward(&x).unwrap();
    let module = prepared.convert_fx().unwrap();
    assert!(module.graph().find_calls(ops::batch_norm).is_empty() && module.state().parameters.len() == 1);
    assert!(module.forward(&x).unwrap().max_abs_diff(&wanted) < 0.05);
}

#[test]
fn what_cannot_be_quantized_is_an_error() {
    let layer = scalar_layer();
    let mut prepared = prepare_fx(&layer, &QConfigMapping::new()).unwrap();
    let error = prepared.convert_fx().unwrap_err().to_string();
    assert!(error.contains("no data was observed of %x") && error.contains("%linear"), "{error}");
    assert!(error.contains("run `Prepared::forward`"), "{error}");
    // A value without elements is no data.
    prepared.forward(Tensor::zeros([0, 1])).unwrap();
    assert!(prepared.convert_fx().is_err());
    // A histogram leaves infinities out, and no observer takes NaN.
    prepared.forward(Tensor::from([[f32::INFINITY], [1.0]])).unwrap();
    assert_eq!(qparams(&prepared.convert_fx().unwrap()).len(), 1);
    prepared.forward(Tensor::from([[f32::NAN], [1.0]])).unwrap();
    let error = prepared.convert_fx().unwrap_err().to_string();
    assert!(error.contains("%x was not finite: from NaN to NaN"), "{error}");

    let config = ActivationConfig::new(Observer::MinMax).with_range(DType::U8, -5, 255);
    let config = QConfig { activation: config, ..QConfig::default() };
    let error = prepare_fx(&layer, &QConfigMapping::new().set_global(config)).unwrap_err().to_string();
    assert!(error.contains("must be from 0 to 255 for u8, found -5 and 255"), "{error}");

    let mut broken = module(&layer.graph().to_string(), parameters([("w", Tensor::from([[f32::NAN]]))]));
    let error = quantize_dynamic(&mut broken).unwrap_err().to_string();
    assert!(error.contains("`w` has elements that are not finite"), "{error}");
}

/// Layers in other types, or whose weight is computed, stay.
#[test]
fn other_layers_stay() {
    let text = "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=w]
            %neg : [num_users=1] = call_function[target=neg](args = (%w,), kwargs = {})
            %linear : [num_users=1] = call_function[target=linear](args = (%x, %neg), kwargs = {})
            return linear";
    let mut computed = module(text, parameters([("w", Tensor::from([[0.5_f32]]))]));
    let before = computed.graph().clone();
    assert_eq!(quantize_dynamic(&mut computed).unwrap(), 0);
    assert_eq!(*computed.graph(), before);
    let double = parameters([("w", Tensor::from([[0.5_f64]]))]);
    assert_eq!(quantize_dynamic(&mut module(&scalar_layer().graph().to_string(), double)).unwrap(), 0);
}
