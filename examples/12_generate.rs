//! Text, a token at a time: what came before is kept in tensors that each call takes, writes a place of, and gives back.
//!
//! A small decoder that knows the beginning of a poem by heart, trained in PyTorch (`tools/torch_ref/poem.py`), is written once.
//! A capture of it serves the prompt, of many tokens, and what follows, of one each: two plans in all. Keys and values of
//! earlier tokens are given away with each call, so a plan writes the new ones in place; the mask says how many there are, and
//! no more are read.
//!
//! ```text
//! cargo run --release --example 12_generate
//! ```

use std::time::Instant;

use fx::nn;
use fx::prelude::*;
use fx::trace::{InputForms, trace_by};

const WIDTH: usize = 32;
const HEADS: usize = 4;
const LAYERS: usize = 2;
/// The most tokens of a text.
const ROOM: usize = 256;
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data");

#[traceable]
#[derive(Clone)]
struct Attention {
    qkv: nn::Linear,
    out: nn::Linear,
}

#[traceable]
impl Attention {
    fn new() -> Self {
        Self { qkv: nn::Linear::new(WIDTH, 3 * WIDTH), out: nn::Linear::new(WIDTH, WIDTH) }
    }

    /// `x`: `[N, length, WIDTH]` at these positions; gives the same shape, and the keys and values `[N, HEADS, ROOM, -1]` of all
    /// tokens so far.
    fn forward(
        &self,
        x: &Tensor,
        positions: &Tensor,
        mask: &Tensor,
        past: (Tensor, Tensor),
    ) -> (Tensor, (Tensor, Tensor)) {
        let (n, length) = (x.size(0), x.size(1));
        let [q, k, v] = self.qkv.forward(x).chunk(2);
        let heads = |x: Tensor| x.view((&n, &length, HEADS, -1)).transpose(1, 2);
        let keys = past.0.index_copy(positions, heads(k), 2);
        let values = past.1.index_copy(positions, heads(v), 2);
        let y = heads(q).scaled_dot_product_attention(&keys, &values, mask);
        (self.out.forward(y.transpose(1, 2).reshape((&n, &length, -1))), (keys, values))
    }
}

#[traceable]
#[derive(Clone)]
struct Block {
    norm1: nn::LayerNorm,
    attention: Attention,
    norm2: nn::LayerNorm,
    up: nn::Linear,
    down: nn::Linear,
}

#[traceable]
impl Block {
    fn new() -> Self {
        Self {
            norm1: nn::LayerNorm::new(WIDTH),
            attention: Attention::new(),
            norm2: nn::LayerNorm::new(WIDTH),
            up: nn::Linear::new(WIDTH, 4 * WIDTH),
            down: nn::Linear::new(4 * WIDTH, WIDTH),
        }
    }

    fn forward(
        &self,
        x: &Tensor,
        positions: &Tensor,
        mask: &Tensor,
        past: (Tensor, Tensor),
    ) -> (Tensor, (Tensor, Tensor)) {
        let (y, past) = self.attention.forward(self.norm1.forward(x), positions, mask, past);
        let x = x + y;
        let y = self.down.forward(self.up.forward(self.norm2.forward(&x)).gelu());
        (x + y, past)
    }
}

/// A decoder of bytes.
#[traceable]
struct Writer {
    tokens: nn::Embedding,
    positions: nn::Embedding,
    blocks: Vec<Block>,
    norm: nn::LayerNorm,
    head: nn::Linear,
}

#[traceable]
impl Writer {
    fn new() -> Self {
        Self {
            tokens: nn::Embedding::new(128, WIDTH),
            positions: nn::Embedding::new(ROOM, WIDTH),
            blocks: (0..LAYERS).map(|_| Block::new()).collect(),
            norm: nn::LayerNorm::new(WIDTH),
            head: nn::Linear::new(WIDTH, 128),
        }
    }

    /// `tokens`: `[1, length]` at `positions`, `[length]`, after others, whose keys and values each block has kept; gives the
    /// likeliest next one, and the keys and values with the new ones.
    fn forward(
        &self,
        tokens: &Tensor,
        positions: &Tensor,
        past: Vec<(Tensor, Tensor)>,
    ) -> (Tensor, Vec<(Tensor, Tensor)>) {
        // A token sees those before it, and itself.
        let mask = Tensor::arange(ROOM).le(positions.unsqueeze(1));
        let mut x = self.tokens.forward(tokens) + self.positions.forward(positions);
        let mut all = Vec::new();
        for (block, past) in self.blocks.iter().zip(past) {
            let (y, kept) = block.forward(&x, positions, &mask, past);
            x = y;
            all.push(kept);
        }
        let last = self.norm.forward(x.narrow(1, -1, 1));
        (self.head.forward(last).argmax(), all)
    }
}

/// The keys and values of each block.
type Past = Vec<(Tensor, Tensor)>;

/// Goes on with a text until there is no more room.
fn write(prompt: &str, mut step: impl FnMut(Tensor, Tensor, Past) -> fx::Result<(Tensor, Past)>) -> fx::Result<String> {
    let room = || Tensor::zeros([1, HEADS, ROOM, WIDTH / HEADS]);
    let mut past: Past = (0..LAYERS).map(|_| (room(), room())).collect();
    let (mut text, mut done): (Vec<i64>, _) = (prompt.bytes().map(i64::from).collect(), 0);
    while text.len() < ROOM {
        let tokens = Tensor::from_vec([1, text.len() - done], text[done..].to_vec());
        let positions = Tensor::from_vec([text.len() - done], (done as i64..text.len() as i64).collect::<Vec<_>>());
        done = text.len();
        let next;
        (next, past) = step(tokens, positions, past)?;
        text.extend(next.to_vec::<i64>());
    }
    Ok(text.into_iter().map(|byte| byte as u8 as char).collect())
}

fn main() -> fx::Result<()> {
    let model = Writer::new();
    model.load_safetensors(format!("{DATA}/poem.safetensors"))?;
    let prompt = "'Twas brillig";

    let start = Instant::now();
    let eager = write(prompt, |tokens, positions, past| Ok(model.forward(&tokens, &positions, past)))?;
    let eager_time = start.elapsed();

    let traced = trace_by(InputForms::new().list("past", LAYERS), &model, ())?;
    // What is kept is given away, and written in place.
    let run = |tokens, positions, past| traced.forward_as((tokens, positions, past));
    write(prompt, run)?; // the plans are made
    let start = Instant::now();
    let planned = write(prompt, run)?;
    let planned_time = start.elapsed();

    println!("{planned}");
    let steps = (ROOM - prompt.len()) as u32;
    println!("\n{:?} a token eagerly, {:?} by plans", eager_time / steps, planned_time / steps);
    let expected = std::fs::read_to_string(format!("{DATA}/poem.txt")).expect("the file is in the repository");
    assert_eq!(planned, expected, "as in PyTorch");
    assert_eq!(eager, expected, "as in PyTorch");
    Ok(())
}
