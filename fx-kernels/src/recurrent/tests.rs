//! Steps against their definition in f64.

use super::gates::update_at;
use super::*;

fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1000.0 - 1.0).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The state and the memory after a step, from gates that are summed (but the last of a GRU).
fn step(cell: Cell, h: f64, c: f64, state: &[f64], input: &[f64]) -> (f64, f64) {
    let gate = |k: usize| state[k] + input[k];
    match cell {
        Cell::Lstm => {
            let c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * gate(2).tanh();
            (sigmoid(gate(3)) * c.tanh(), c)
        }
        Cell::Gru => {
            let (reset, share) = (sigmoid(gate(0)), sigmoid(gate(1)));
            let new = (input[2] + reset * state[2]).tanh();
            ((h - new) * share + new, c)
        }
        Cell::Tanh => (gate(0).tanh(), c),
        Cell::Relu => (gate(0).max(0.0), c),
    }
}

const CELLS: [Cell; 4] = [Cell::Lstm, Cell::Gru, Cell::Tanh, Cell::Relu];

#[test]
fn gates_follow_the_definition() {
    for (batch, hidden) in [(1, 1), (2, 7), (3, 16), (1, 37)] {
        for cell in CELLS {
            let width = cell.gates() * hidden;
            let (h0, c0) = (numbers(batch * hidden, 1), numbers(batch * hidden, 2));
            let (gates, input) = (numbers(batch * width, 3), numbers(batch * width, 4));
            for level in Level::available() {
                let (mut h, mut c) = (h0.clone(), c0.clone());
                let apart = cell.keeps_apart();
                update_at(level, cell, State { h: &mut h, c: &mut c, hidden }, &gates, apart.then_some(&input));
                for i in 0..batch * hidden {
                    let of = |x: &[f32], k: usize| f64::from(x[i / hidden * width + k * hidden + i % hidden]);
                    let state: Vec<f64> = (0..cell.gates()).map(|k| of(&gates, k)).collect();
                    let input: Vec<f64> = (0..cell.gates()).map(|k| if apart { of(&input, k) } else { 0.0 }).collect();
                    let (want, memory) = step(cell, f64::from(h0[i]), f64::from(c0[i]), &state, &input);
                    assert!((f64::from(h[i]) - want).abs() < 1e-6, "{level:?} {cell:?} {hidden}: {} {want}", h[i]);
                    assert!((f64::from(c[i]) - memory).abs() < 1e-6, "{level:?} {cell:?} {hidden}: {} {memory}", c[i]);
                }
            }
        }
    }
}

#[test]
fn layers_run_step_by_step() {
    const HIDDEN: usize = 20;
    for (cell, reverse) in CELLS.into_iter().flat_map(|cell| [(cell, false), (cell, true)]) {
        let (count, batch, width) = (5, 2, cell.gates() * HIDDEN);
        let (weight, bias) = (numbers(width * HIDDEN, 1), numbers(width, 2));
        let (input, h0, c0) =
            (numbers(count * batch * width, 3), numbers(batch * HIDDEN, 4), numbers(batch * HIDDEN, 5));
        let (mut h, mut c, mut out) = (h0.clone(), c0.clone(), vec![9.0; batch * count * (HIDDEN + 1)]);
        // Results with the batch first, and a gap after each.
        let steps = Steps { steps: count, batch, step_stride: HIDDEN + 1, batch_stride: count * (HIDDEN + 1) };
        let packed = PackedCell::new(cell, Weight::Numbers(&weight), HIDDEN, Format::F32);
        let (from_input, bias_of) = (&input, Some(&*bias));
        let direction = Direction { cell: &packed, from_input, bias: bias_of, h: &mut h, c: &mut c, reverse };
        run_layer(&mut out, steps, &mut [direction]);
        for sequence in 0..batch {
            let of = |x: &[f32]| -> Vec<f64> {
                x[sequence * HIDDEN..(sequence + 1) * HIDDEN].iter().map(|&x| f64::from(x)).collect()
            };
            let (mut state, mut memory) = (of(&h0), of(&c0));
            for index in 0..count {
                let at = if reverse { count - 1 - index } else { index };
                let product = |row: usize| -> f64 {
                    let weight = &weight[row * HIDDEN..(row + 1) * HIDDEN];
                    weight.iter().zip(&state).map(|(&w, h)| f64::from(w) * h).sum::<f64>() + f64::from(bias[row])
                };
                let next: Vec<(f64, f64)> = (0..HIDDEN)
                    .map(|i| {
                        let from: Vec<f64> = (0..cell.gates()).map(|k| product(k * HIDDEN + i)).collect();
                        let place = (at * batch + sequence) * width + i;
                        let input: Vec<f64> = (0..cell.gates()).map(|k| f64::from(input[place + k * HIDDEN])).collect();
                        step(cell, state[i], memory[i], &from, &input)
                    })
                    .collect();
                (state, memory) = next.into_iter().unzip();
                let got = &out[sequence * steps.batch_stride + at * steps.step_stride..][..HIDDEN];
                for (got, want) in got.iter().zip(&state) {
                    let near = (f64::from(*got) - want).abs() < 2e-4 * want.abs().max(1.0);
                    assert!(near, "{cell:?} {reverse} step {at}: {got}, not {want}");
                }
            }
        }
        assert!(out.chunks(HIDDEN + 1).all(|row| row[HIDDEN] == 9.0));
    }
}

/// Two directions, on as many threads or one, give what each gives alone.
#[test]
fn directions_stand_side_by_side() {
    const HIDDEN: usize = 40;
    for (cell, batch) in CELLS.into_iter().flat_map(|cell| [(cell, 1), (cell, 3)]) {
        let (count, width) = (30, cell.gates() * HIDDEN);
        let cells = [1, 2].map(|seed| {
            let weight = numbers(width * HIDDEN, seed);
            PackedCell::new(cell, Weight::Numbers(&weight), HIDDEN, Format::F32)
        });
        let inputs = [3, 4].map(|seed| numbers(count * batch * width, seed));
        let first = || [5, 6].map(|seed| numbers(batch * HIDDEN, seed));
        let run = |of: std::ops::Range<usize>, out: &mut [f32]| {
            let ([mut h, mut c], width) = ([first(), first()], of.len() * HIDDEN);
            let steps = Steps { steps: count, batch, step_stride: batch * width, batch_stride: width };
            let states = h.iter_mut().zip(&mut c).enumerate().skip(of.start).take(of.len());
            let mut directions: Vec<_> = states
                .map(|(index, (h, c))| Direction {
                    cell: &cells[index],
                    from_input: &inputs[index],
                    bias: None,
                    h,
                    c,
                    reverse: index == 1,
                })
                .collect();
            run_layer(out, steps, &mut directions);
            (h, c)
        };
        let mut both = vec![0.0; count * batch * 2 * HIDDEN];
        let (h, c) = run(0..2, &mut both);
        for index in 0..2 {
            let mut alone = vec![0.0; count * batch * HIDDEN];
            let (h_alone, c_alone) = run(index..index + 1, &mut alone);
            assert_eq!((&h[index], &c[index]), (&h_alone[index], &c_alone[index]), "{cell:?} {batch} {index}");
            let halves = both.chunks_exact(HIDDEN).skip(index).step_by(2);
            assert!(halves.eq(alone.chunks_exact(HIDDEN)), "{cell:?} {batch} {index}");
        }
    }
}

/// Weights that a thread's cache does not hold, and those of several do together: threads share a direction, and change nothing.
#[test]
fn threads_share_directions() {
    // Three quarters of the cache for each of two threads.
    let (steps, bytes) = (3, second_level() / 2 * 3);
    let hidden = ((bytes / size_of::<f32>() / 3) as f64).sqrt() as usize / 16 * 16 + 16;
    let cells = [1, 2].map(|seed| {
        PackedCell::new(Cell::Gru, Weight::Numbers(&numbers(3 * hidden * hidden, seed)), hidden, Format::F32)
    });
    let (from_input, bias) = (numbers(steps * 3 * hidden, 3), numbers(3 * hidden, 4));
    let run = || {
        let mut states = [numbers(hidden, 5), numbers(hidden, 6)];
        let mut directions = Vec::new();
        for (h, cell) in states.iter_mut().zip(&cells) {
            let reverse = !directions.is_empty();
            directions.push(Direction { cell, from_input: &from_input, bias: Some(&bias), h, c: &mut [], reverse });
        }
        let mut out = vec![0.0; steps * 2 * hidden];
        let stride = 2 * hidden;
        run_layer(&mut out, Steps { steps, batch: 1, step_stride: stride, batch_stride: stride }, &mut directions);
        out
    };
    let [one, two] = [1, 2].map(|threads| {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        pool.install(run)
    });
    assert_eq!(one, two);
}
