use fx::GraphModule;
use fx::graph_module::State;
use fx::ops;
use fx::passes::{fuse_quantized, optimize, quantize_dynamic};
use fx::prelude::*;

use super::all_passes::{convolutional, perceptrons, transformers};
use super::fill::floats;
use super::{check_close, module, support::check};

/// A layer with what follows it, as `convert_fx` writes it, with a range that is known.
const STATIC: &str = "graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %b : [num_users=1] = get_attr[target=b]
    %q : [num_users=1] = call_function[target=quantize_per_tensor](args = (%x, 0.015, 120), kwargs = {quant_min: 0, quant_max: 255, dtype: torch.uint8})
    %dq : [num_users=1] = call_function[target=dequantize_per_tensor](args = (%q, 0.015, 120), kwargs = {})
    %w : [num_users=1] = get_attr[target=w]
    %s : [num_users=1] = get_attr[target=s]
    %dw : [num_users=1] = call_function[target=dequantize_per_channel](args = (%w, %s), kwargs = {axis: 0})
    %layer : [num_users=1] = call_function[target=linear](args = (%dq, %dw, %b), kwargs = {})
    %add : [num_users=1] = call_function[target=add](args = (%layer, %y), kwargs = {})
    %gelu : [num_users=1] = call_method[target=gelu](args = (%add,), kwargs = {})
    return gelu";

/// A convolution with a range that is found in each run.
const DYNAMIC: &str = "graph():
    %x : [num_users=2] = placeholder[target=x]
    %choose : [num_users=2] = call_function[target=choose_qparams](args = (%x,), kwargs = {quant_min: -128, quant_max: 127})
    %scale : [num_users=2] = call_function[target=getitem](args = (%choose, 0), kwargs = {})
    %zero : [num_users=2] = call_function[target=getitem](args = (%choose, 1), kwargs = {})
    %q : [num_users=1] = call_function[target=quantize_per_tensor](args = (%x, %scale, %zero), kwargs = {quant_min: -128, quant_max: 127, dtype: torch.int8})
    %dq : [num_users=1] = call_function[target=dequantize_per_tensor](args = (%q, %scale, %zero), kwargs = {})
    %w : [num_users=1] = get_attr[target=window]
    %s : [num_users=1] = get_attr[target=s]
    %dw : [num_users=1] = call_function[target=dequantize_per_channel](args = (%w, %s), kwargs = {axis: 0})
    %layer : [num_users=1] = call_function[target=conv2d](args = (%dq, %dw), kwargs = {stride: [2, 1], padding: 1, groups: 2})
    return layer";

/// Weights as integers, with their scales and zero points.
fn state() -> State {
    let integers = |len: i32| (0..len).map(|i| (i * 37 % 251) as u8).collect::<Vec<_>>();
    let signed = |len: i32| integers(len).into_iter().map(|x| x as i8).collect::<Vec<_>>();
    let buffers = [
        ("w", Tensor::from_vec([4, 4], signed(16))),
        ("w_uint8", Tensor::from_vec([4, 4], integers(16))),
        ("w_int32", Tensor::from_vec([4, 4], signed(16)).to_dtype(DType::I32)),
        ("window", Tensor::from_vec([4, 3, 3, 3], signed(108))),
        ("line", Tensor::from_vec([4, 4, 3], signed(48))),
        ("row", Tensor::from_vec([4], signed(4))),
        ("s_row", Tensor::from([0.01_f32, 0.02, 0.005, 0.004])),
        ("s", Tensor::from([0.01_f32, 0.02, 0.005, 0.004])),
        ("s_outputs", Tensor::from([0.01_f32, 0.005, 0.003])),
        ("z", Tensor::from([1_i64, -2, 0, 3])),
    ];
    let mut state = State::new();
    state.buffers.extend(buffers.map(|(path, tensor)| (path.to_owned(), Buffer::new(tensor))));
    state.parameters.insert("b".into(), Parameter::new(floats("b", &[4])));
    state
}

/// A graph with other text in some places.
#[track_caller]
fn with(text: &str, changes: &[(&str, &str)]) -> GraphModule {
    let text = changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    module(&text, state())
}

/// Inputs of `STATIC`.
fn rows() -> [Tensor; 2] {
    [floats("x", &[4, 4]) * 2.0, floats("y", &[4, 4])]
}

#[test]
fn a_layer_of_quantized_values_is_one_call() {
    let mut module = with(STATIC, &[]);
    let before = module.clone();
    // The layer, and the four calls that only it read.
    assert_eq!(fuse_quantized(&mut module).unwrap(), 4);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %y : [num_users=1] = placeholder[target=y]
            %b : [num_users=1] = get_attr[target=b]
            %w : [num_users=1] = get_attr[target=w]
            %s : [num_users=1] = get_attr[target=s]
            %qlinear_pointwise : [num_users=1] = call_function[target=qlinear_pointwise](args = (%x, %w, %s, %b), kwargs = {scale: 0.015, zero_point: 120, quant_min: 0, quant_max: 255})
            %add : [num_users=1] = call_function[target=add](args = (%qlinear_pointwise, %y), kwargs = {})
            %gelu : [num_users=1] = call_method[target=gelu](args = (%add,), kwargs = {})
            return gelu",
    );
    check_close(&before, &module, &rows(), 1e-5, 1e-6);
    assert_eq!(fuse_quantized(&mut module).unwrap(), 0);
    // A module is what runs, so it has no state but what that reads.
    assert_eq!(module.state().buffers.keys().collect::<Vec<_>>(), ["w", "s"]);
}

/// One call is left, with these attributes of what is added, and gives the same.
#[track_caller]
fn is_one_call(mut module: GraphModule, of_added: &str) {
    let before = module.clone();
    optimize(&mut module).unwrap();
    let wanted = "graph():
            %x : [num_users=1] = placeholder[target=x]
            %y : [num_users=1] = placeholder[target=y]
            %b : [num_users=1] = get_attr[target=b]
            %w : [num_users=1] = get_attr[target=w]
            %s : [num_users=1] = get_attr[target=s]
            %qlinear_pointwise_1 : [num_users=1] = call_function[target=qlinear_pointwise](args = (%x, %w, %s, %b, %y), kwargs = {scale: 0.015, zero_point: 120, quant_min: 0, quant_max: 255, OF_ADDEDattr: gelu})
            return qlinear_pointwise_1";
    check(module.graph(), &wanted.replace("OF_ADDED", of_added));
    check_close(&before, &module, &rows(), 1e-5, 1e-6);
    assert_eq!(optimize(&mut module).unwrap(), 0);
}

#[test]
fn what_follows_a_layer_is_in_its_call() {
    is_one_call(with(STATIC, &[]), "");
}

/// What is added is quantized in the call too, if it was.
#[test]
fn what_is_added_is_quantized_in_the_call() {
    let y = "    %y : [num_users=1] = placeholder[target=y]
";
    let of_y = "    %qy : [num_users=1] = call_function[target=quantize_per_tensor](args = (%y, 0.02, -5), kwargs = {quant_min: -128, quant_max: 127, dtype: torch.int8})
    %dy : [num_users=1] = call_function[target=dequantize_per_tensor](args = (%qy, 0.02, -5), kwargs = {})
";
    let changes = [(y, &*format!("{y}{of_y}")), ("(%layer, %y)", "(%layer, %dy)")];
    let of_added = "other_scale: 0.02, other_zero_point: -5, other_quant_min: -128, other_quant_max: 127, ";
    is_one_call(with(STATIC, &changes), of_added);
    // Other ways to round stay calls of their own.
    for (from, to) in [
        ("-128, quant_max: 127, dtype: torch.int8", "-500, quant_max: 500, dtype: torch.int32"),
        ("(%qy, 0.02", "(%qy, 0.03"),
    ] {
        let other = of_y.replace(from, to);
        assert_ne!(other, of_y);
        let mut module = with(STATIC, &[(y, &format!("{y}{other}")), ("(%layer, %y)", "(%layer, %dy)")]);
        let before = module.clone();
        optimize(&mut module).unwrap();
        assert_eq!(module.graph().find_calls(ops::dequantize_per_tensor).len(), 1, "{}", module.graph());
        check_close(&before, &module, &rows(), 1e-5, 1e-6);
    }
}

/// Attributes by which what is added cannot be quantized are an error.
#[test]
fn what_is_added_needs_a_range() {
    let call = |scale: f64, zero_point: i64, range: &str| {
        let attributes = format!("other_scale: {scale:?}, other_zero_point: {zero_point}, {range}");
        let text = format!(
            "graph():
                %x : [num_users=1] = placeholder[target=x]
                %y : [num_users=1] = placeholder[target=y]
                %w : [num_users=1] = get_attr[target=w]
                %s : [num_users=1] = get_attr[target=s]
                %layer : [num_users=1] = call_function[target=qlinear_pointwise](args = (%x, %w, %s, None, %y), kwargs = {{scale: 0.015, zero_point: 120, quant_min: 0, quant_max: 255, {attributes}}})
                return layer"
        );
        let [x, y] = rows();
        module(&text, state()).run(vec![x.into(), y.into()]).map(|_| ()).map_err(|error| error.to_string())
    };
    let whole = "other_quant_min: 0, other_quant_max: 255";
    assert_eq!(call(0.1, 255, whole), Ok(()));
    for (found, message) in [
        (call(0.0, 0, whole), "`other_scale` must be more than 0 and `other_zero_point` from 0 to 255, found 0 and 0"),
        (call(0.1, 256, whole), "`other_zero_point` from 0 to 255, found 0.1 and 256"),
        (call(0.1, 0, "other_quant_min: 0, other_quant_max: 300"), "0 to 300 are not integers of 8 bits"),
    ] {
        let error = found.unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_range_that_is_found_in_each_run_is_no_attribute() {
    let mut module = with(DYNAMIC, &[]);
    let before = module.clone();
    assert_eq!(fuse_quantized(&mut module).unwrap(), 7);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=window]
            %s : [num_users=1] = get_attr[target=s]
            %qconv2d_pointwise : [num_users=1] = call_function[target=qconv2d_pointwise](args = (%x, %w, %s), kwargs = {stride: [2, 1], padding: 1, groups: 2, quant_min: -128, quant_max: 127})
            return qconv2d_pointwise",
    );
    check_close(&before, &module, &[floats("x", &[2, 6, 5, 6])], 1e-5, 1e-5);
    assert_eq!(fuse_quantized(&mut module).unwrap(), 0);
}

#[test]
fn convolutions_over_one_dimension() {
    let options = "kwargs = {stride: [2, 1], padding: 1, groups: 2}";
    let mut module = with(
        DYNAMIC,
        &[
            ("window", "line"),
            ("conv2d", "conv1d"),
            (options, "kwargs = {padding: same}"),
            (
                "return layer",
                "%relu : [num_users=1] = call_method[target=relu](args = (%layer,), kwargs = {})\nreturn relu",
            ),
        ],
    );
    let before = module.clone();
    optimize(&mut module).unwrap();
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=line]
            %s : [num_users=1] = get_attr[target=s]
            %qconv1d_pointwise_1 : [num_users=1] = call_function[target=qconv1d_pointwise](args = (%x, %w, %s, None), kwargs = {padding: same, quant_min: -128, quant_max: 127, attr: relu})
            return qconv1d_pointwise_1",
    );
    check_close(&before, &module, &[floats("x", &[2, 4, 7])], 1e-5, 1e-5);
}

/// Their outputs are along the second dimension of the weight.
#[test]
fn transposed_convolutions() {
    let options = "kwargs = {stride: [2, 1], padding: 1, groups: 2}";
    let changed = [
        ("conv2d", "conv_transpose2d"),
        (options, "kwargs = {stride: [2, 3]}"),
        ("target=s]", "target=s_outputs]"),
        ("axis: 0", "axis: 1"),
    ];
    let mut module = with(DYNAMIC, &changed);
    let before = module.clone();
    assert!(fuse_quantized(&mut module).unwrap() > 0);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %w : [num_users=1] = get_attr[target=window]
            %s : [num_users=1] = get_attr[target=s_outputs]
            %qconv_transpose2d : [num_users=1] = call_function[target=qconv_transpose2d](args = (%x, %w, %s), kwargs = {stride: [2, 3], quant_min: -128, quant_max: 127})
            return qconv_transpose2d",
    );
    check_close(&before, &module, &[floats("x", &[2, 4, 5, 6])], 1e-5, 1e-5);
    // Along the inputs there is no number for each output.
    let mut along_inputs = with(DYNAMIC, &changed[..2]);
    assert_eq!(fuse_quantized(&mut along_inputs).unwrap(), 0, "{}", along_inputs.graph());
}

/// A weight of one output has no dimension for it.
#[test]
fn a_layer_of_one_output() {
    let mut module =
        with(STATIC, &[("target=w]", "target=row]"), ("target=s]", "target=s_row]"), ("(%dq, %dw, %b)", "(%dq, %dw)")]);
    let before = module.clone();
    assert!(fuse_quantized(&mut module).unwrap() > 0);
    check_close(&before, &module, &[floats("x", &[3, 4]), floats("y", &[2, 3])], 1e-5, 1e-5);
}

/// What is quantized and dequantized stays for whoever else reads it.
#[test]
fn others_keep_what_they_read() {
    let mut module = with(STATIC, &[("return gelu", "return (gelu, dq, dw)")]);
    let before = module.clone();
    assert_eq!(fuse_quantized(&mut module).unwrap(), 1);
    let text = module.graph().to_string();
    for kept in [
        "%qlinear_pointwise : [num_users=1] = call_function[target=qlinear_pointwise](args = (%x, %w, %s, %b)",
        "%dq : [num_users=1] = call_function[target=dequantize_per_tensor](args = (%q, 0.015, 120), kwargs = {})",
        "%dw : [num_users=1] = call_function[target=dequantize_per_channel](args = (%w, %s), kwargs = {axis: 0})",
    ] {
        assert!(text.contains(kept), "{text}");
    }
    check_close(&before, &module, &rows(), 1e-5, 1e-6);
    // Nothing is left for a second run.
    assert_eq!(fuse_quantized(&mut module).unwrap(), 0);
}

/// Layers that say something else than a fused call does stay, and what a plan gives for them is right.
#[test]
fn what_is_not_the_same_stays() {
    let weight = "(%w, %s), kwargs = {axis: 0}";
    let range = "quant_min: 0, quant_max: 255, dtype: torch.uint8";
    let constant: &[(&str, &[(&str, &str)])] = &[
        ("another scale", &[("(%q, 0.015, 120)", "(%q, 0.0150001, 120)")]),
        ("another zero point", &[("(%q, 0.015, 120)", "(%q, 0.015, 121)")]),
        ("a negative scale", &[("0.015", "-0.015")]),
        ("a scale that is 0 in f32", &[("0.015", "1e-60")]),
        ("a zero point outside", &[("120", "300")]),
        ("another axis", &[(weight, "(%w, %s), kwargs = {axis: 1}")]),
        (
            "zero points",
            &[
                ("%dw :", "%z : [num_users=1] = get_attr[target=z]\n%dw :"),
                (weight, "(%w, %s, %z), kwargs = {axis: 0}"),
            ],
        ),
        (
            "one scale of a weight",
            &[(
                "dequantize_per_channel](args = (%w, %s), kwargs = {axis: 0}",
                "dequantize_per_tensor](args = (%w, 0.01, 0), kwargs = {}",
            )],
        ),
        ("a weight in u8", &[("target=w]", "target=w_uint8]")]),
        ("a weight in i32", &[("target=w]", "target=w_int32]")]),
        (
            "a weight that is computed",
            &[
                ("%dw :", "%abs : [num_users=1] = call_function[target=abs](args = (%w,), kwargs = {})\n%dw :"),
                (weight, "(%abs, %s), kwargs = {axis: 0}"),
            ],
        ),
        ("more than 8 bits", &[(range, "quant_min: 0, quant_max: 1000, dtype: torch.int32")]),
        ("a range without 0", &[("quant_min: 0", "quant_min: 5")]),
        ("other 8 bits", &[(range, "quant_min: 100, quant_max: 300, dtype: torch.int32")]),
        ("an input that is not dequantized", &[("(%dq, %dw, %b)", "(%x, %dw, %b)")]),
        ("a weight that is not dequantized", &[("(%dq, %dw, %b)", "(%dq, %y, %b)")]),
    ];
    let chosen: &[(&str, &[(&str, &str)])] = &[
        ("another range", &[("(%x,), kwargs = {quant_min: -128", "(%x,), kwargs = {quant_min: -127")]),
        ("another least scale", &[("quant_max: 127})\n    %scale", "quant_max: 127, eps: 0.5})\n    %scale")]),
        (
            "of another value",
            &[
                ("%choose :", "%neg : [num_users=1] = call_function[target=neg](args = (%x,), kwargs = {})\n%choose :"),
                ("args = (%x,), kwargs = {quant", "args = (%neg,), kwargs = {quant"),
            ],
        ),
        ("a zero point that is known", &[("%scale, %zero)", "%scale, 3)")]),
        ("another zero point", &[("(%q, %scale, %zero)", "(%q, %scale, 3)")]),
    ];
    let image = [floats("x", &[1, 6, 5, 6])];
    for (text, cases, inputs) in [(STATIC, constant, &rows()[..]), (DYNAMIC, chosen, &image[..])] {
        for (name, changes) in cases {
            let mut module = with(text, changes);
            let before = module.graph().clone();
            assert_eq!(fuse_quantized(&mut module).unwrap(), 0, "{name}: {}", module.graph());
            assert_eq!(*module.graph(), before, "{name}");
            if !name.contains("in f32") {
                check_close(&module, &module, inputs, 1e-5, 1e-5);
            }
        }
    }
}

/// Nothing is left of what `quantize_dynamic` wrote.
#[test]
fn every_layer_of_every_model() {
    for sample in [convolutional(), transformers(), perceptrons()].into_iter().flatten() {
        let (name, mut module) = (sample.name, sample.module);
        let layers = quantize_dynamic(&mut module).unwrap();
        assert!(fuse_quantized(&mut module).unwrap() > layers, "{name}");
        let graph = module.graph();
        let calls = |function| graph.find_calls(function).len();
        let convs = [ops::qconv1d_pointwise, ops::qconv2d_pointwise, ops::qconv_transpose1d, ops::qconv_transpose2d];
        let fused = convs.into_iter().chain([ops::qlinear_pointwise]);
        assert_eq!(fused.map(calls).sum::<usize>(), layers, "{name}");
        let parts = [ops::choose_qparams, ops::quantize_per_tensor, ops::dequantize_per_tensor];
        assert_eq!(parts.into_iter().map(calls).sum::<usize>(), 0, "{name}: {graph}");
        assert_eq!(calls(ops::dequantize_per_channel), 0, "{name}: {graph}");
        let once = graph.clone();
        assert_eq!(fuse_quantized(&mut module).unwrap(), 0, "{name}");
        assert_eq!(*module.graph(), once, "{name}");
    }
}
