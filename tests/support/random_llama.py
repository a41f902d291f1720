"""Make a Llama of random weights with a tokenizer of its own, for a real vLLM in tests.

Runs under the interpreter of the vLLM environment (transformers, tokenizers, torch), which this
checkout's own environment does not have: `python -m tests.support.random_llama FOLDER [LAYERS]`.
With structured output even random weights give valid verdicts, so the whole path is real.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import sys
from pathlib import Path
from pydoc_data import topics

_CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def make(folder: Path, *, layers: int) -> None:
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    # English of no judge's prompt, and on every machine: Python's own help texts.
    texts = [str(Path(topics.__file__))]
    trained = ByteLevelBPETokenizer()
    special = ["<|user|>", "<|system|>", "<|assistant|>", "<|end|>"]
    trained.train(texts, vocab_size=8192, special_tokens=special, show_progress=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer,
        eos_token="<|end|>",
        pad_token="<|end|>",
        additional_special_tokens=special[:3],
        chat_template=_CHAT_TEMPLATE,
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=576,
            intermediate_size=1536,
            num_hidden_layers=layers,
            num_attention_heads=9,
            num_key_value_heads=3,
            max_position_embeddings=8192,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            tie_word_embeddings=True,
        )
    )
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]), layers=int(sys.argv[2]) if len(sys.argv) > 2 else 4)
