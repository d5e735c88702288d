//! Convolutions one after the other.

use super::*;

/// One after the other, and a few lines at a time.
#[test]
fn chains_are_as_their_convolutions() {
    let window = |channels, stride, dilation: usize| {
        let around = [dilation; 2];
        let shape = ConvShape {
            kernel: [3; 2],
            stride: [stride; 2],
            dilation: around,
            before: around,
            after: around,
            ..ConvShape::pointwise(channels, channels)
        };
        ConvShape { groups: channels, ..shape }
    };
    let first = ConvShape { outputs: 20, groups: 1, ..window(3, 2, 1) };
    let lines = ConvShape { kernel: [5, 1], before: [4, 0], after: [1, 0], groups: 2, ..ConvShape::pointwise(20, 8) };
    let point = ConvShape::pointwise;
    let chains = [
        vec![point(7, 20), window(20, 1, 1), point(20, 9)],
        vec![first, window(20, 2, 1), point(20, 9)],
        vec![point(7, 20), window(20, 1, 2), lines],
        vec![window(20, 2, 1), lines, ConvShape { inputs: 8, outputs: 5, groups: 1, ..window(8, 3, 1) }],
        vec![point(7, 48), ConvShape { outputs: 32, groups: 1, ..window(48, 1, 1) }, point(32, 40)],
        vec![point(7, 20), ConvShape { before: [5, 1], after: [6, 1], ..window(20, 1, 1) }, lines],
        vec![lines],
        vec![point(7, 24), ConvShape { groups: 6, ..window(24, 1, 1) }, point(24, 9)],
        vec![ConvShape { groups: 3, ..window(24, 2, 1) }, ConvShape { groups: 6, ..window(24, 1, 1) }],
    ];
    let (batch, size) = (3, [19, 8]);
    let ways = Level::available().flat_map(|level| [Format::F32, Format::Bf16].map(|format| (level, format)));
    for ((level, format), (case, shapes)) in ways.flat_map(|way| chains.iter().enumerate().map(move |c| (way, c))) {
        let convs: Vec<_> = shapes
            .iter()
            .map(|shape| {
                let taps = shape.kernel[0] * shape.kernel[1];
                let weight = numbers(shape.outputs * shape.inputs / shape.groups * taps, 2);
                PackedConv::at(level, Weight::Numbers(&weight), *shape, Algorithm::Direct, format)
            })
            .collect();
        let (inputs, last) = (shapes[0].inputs, shapes[shapes.len() - 1].outputs);
        let x = numbers(batch * size[0] * size[1] * inputs, 1);
        let [height, width] = shapes.iter().fold(size, |size, shape| shape.output(size));
        let (bias, residual) = (numbers(64, 3), numbers(batch * height * width * last, 4));
        let epilogue = |index: usize, accumulate: bool| {
            // The last one is of as many digits whether it becomes words or not.
            let functions = match case % 2 {
                0 => [Unary::Relu6, Unary::Sigmoid, Unary::Relu],
                _ => [Unary::Silu, Unary::Silu, Unary::Hardswish],
            };
            let activation = Some(functions[if index + 1 == shapes.len() { 2 } else { index }]);
            let plain = Epilogue { bias: Some(&bias), activation, ..Epilogue::default() };
            let residual = Some(Residual { data: &residual, stride: last });
            if index + 1 == shapes.len() { Epilogue { residual, accumulate, ..plain } } else { plain }
        };
        for (planes, accumulate) in [(false, false), (false, true), (true, false)] {
            let images = if planes { Images::planes(&x, batch, size) } else { Images::pixels(&x, batch, size, inputs) };
            let mut want = (x.clone(), size);
            for (index, conv) in convs.iter().enumerate() {
                let output = conv.shape().output(want.1);
                // What is no product does not round what it is not handed in words.
                let is_handed =
                    |index: usize| convs.get(index).is_some_and(|next| chain::hands_words(&convs[index - 1], next));
                let pairs = |words: bool| words.then_some(Rounded::Pairs);
                let words = Words {
                    input: pairs(index > 0 && is_handed(index)),
                    output: pairs(is_handed(index + 1)),
                    ..Words::default()
                };
                let stride = words.output_len(conv.shape().outputs);
                let mut out = vec![0.25; batch * output[0] * output[1] * stride];
                let between = Images::pixels(&want.0, batch, want.1, words.input_len(conv.shape().inputs));
                let images = if index == 0 { &images } else { &between };
                conv.run_words(&mut out, stride, images, words, &epilogue(index, accumulate));
                want = (out, output);
            }
            let link = |(index, conv)| Link { conv, epilogue: epilogue(index, accumulate) };
            let links: Vec<_> = convs.iter().enumerate().map(link).collect();
            let reads = !planes && convs[0].reads_words() && convs[0].format() == Format::Bf16;
            let writes = !accumulate && convs[convs.len() - 1].writes_words(Rounded::Pairs);
            let ways = [(false, false), (true, false), (false, true), (true, true)];
            let ways = ways.into_iter().filter(|(input, output)| (reads || !input) && (writes || !output));
            for ((input, output), cache) in ways.flat_map(|way| [0, 500, 3000, usize::MAX].map(|cache| (way, cache))) {
                let pairs = |words: bool| words.then_some(Rounded::Pairs);
                let words = Words { input: pairs(input), output: pairs(output), ..Words::default() };
                let x = if input { words::words(&x, Rounded::Pairs) } else { x.clone() };
                let layout = if planes { Layout::Planes } else { Layout::Pixels { distance: words.input_len(inputs) } };
                let images = Images { data: &x, layout, ..images };
                let want = if output { words::words(&want.0, Rounded::Pairs) } else { want.0.clone() };
                let mut got = vec![0.25; want.len()];
                chain::run_within(&links, &mut got, &images, words, cache);
                let is_same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
                assert!(is_same, "{level:?} {format:?} case {case}, planes {planes}, {words:?}, {cache} at a time");
            }
        }
    }
}
