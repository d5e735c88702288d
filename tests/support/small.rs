//! Models small enough for tests.

use fx::nn::models::BertConfig;

/// Two layers of 32 elements, for 50 tokens.
pub(crate) fn bert() -> BertConfig {
    BertConfig {
        vocab_size: 50,
        hidden_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        intermediate_size: 64,
        max_position_embeddings: 16,
        ..BertConfig::base()
    }
}
