"""What the target writes for drafters to learn from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from specviz.distillation import corpus
from specviz.distillation.corpus import read_corpus, write_corpus
from specviz.distillation.prompts import first_prompts, second_prompts
from specviz.distillation.texts import Text, state_layers
from specviz.runtime.language_model import LanguageModel
from tests.tiny import target, with_end


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    monkeypatch.setattr(corpus, "BATCH", 4)
    write_corpus(target(), tmp_path, prompts=20, max_new_tokens=12, seed=0)
    return list(read_corpus(tmp_path))


@torch.inference_mode()
def test_states_and_labels_are_what_the_target_says_of_the_text_alone(texts: list[Text]) -> None:
    """Written in padded batches with a cache; compared with one pass over each text."""
    assert len(texts) == 20
    for text in texts:
        output = target().model(text.tokens.long()[None], output_hidden_states=True)
        states = torch.cat([output.hidden_states[layer][0] for layer in state_layers(3)], -1)
        assert torch.allclose(text.states.float(), states, atol=0.02, rtol=0.01)  # bfloat16
        p = output.logits[0, text.answer :].softmax(-1)
        assert torch.allclose(
            text.label_probabilities.float(), p.gather(1, text.label_ids.long()), atol=1e-3
        )
        assert torch.equal(text.label_ids[:, 0], p.argmax(-1).int())


def test_half_of_the_text_is_greedy(texts: list[Text]) -> None:
    greedy = [
        bool((text.tokens[text.answer + 1 :] == text.label_ids[:-1, 0]).all()) for text in texts
    ]
    assert all(greedy[0::4] + greedy[1::4])
    assert not all(greedy[3::4])


def test_an_answer_ends_with_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BATCH", 4)
    model = with_end(target(), tuple(range(0, 257, 5)))
    write_corpus(model, tmp_path, prompts=8, max_new_tokens=30, seed=1)
    texts = list(read_corpus(tmp_path))
    lengths = {len(text.label_ids) for text in texts}
    assert len(lengths) > 2, "they end at different places"
    for text in texts:
        assert not torch.isin(text.tokens[text.answer + 1 :], torch.arange(0, 257, 5)).any()


def test_half_of_a_chat_models_shards_it_invents(
    chatty: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten shards, three of the first stage, two of the second, five invented, in two ways."""
    monkeypatch.setattr(corpus, "BATCH", 2)
    monkeypatch.setattr(corpus, "CHATS", ((("A",), 10), (("B",), 20)))
    write_corpus(chatty, tmp_path, prompts=20, max_new_tokens=4, seed=0)
    texts = [str(chatty.tokenizer.decode(text.tokens)) for text in read_corpus(tmp_path)]
    asked, invented = texts[:10], texts[10:]
    assert all("[a]" in text for text in asked)
    begun = "".join(text[3:4] for text in invented)  # the last of a shard may be cut off
    # Shards 5 to 9, the odd ones of the second kind.
    assert re.fullmatch("B+A+B+A+B+", begun)


def test_writing_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BATCH", 4)
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    write_corpus(target(), whole, prompts=12, max_new_tokens=4, seed=0)

    def stop_after_one(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(
            target(), parted, prompts=12, max_new_tokens=4, seed=0, progress=stop_after_one
        )
    written = {path.name: path.stat().st_mtime_ns for path in parted.iterdir()}
    assert len(written) == 2
    write_corpus(target(), parted, prompts=12, max_new_tokens=4, seed=0)
    assert {name: (parted / name).stat().st_mtime_ns for name in written} == written
    for one, other in zip(read_corpus(whole), read_corpus(parted), strict=True):
        assert torch.equal(one.tokens, other.tokens)
        assert torch.equal(one.states, other.states)


def test_prompts_are_many_and_the_same_for_the_same_seed() -> None:
    prompts = first_prompts(2000, 0)
    assert len(set(prompts)) == 2000
    assert prompts == first_prompts(2000, 0)
    assert prompts != first_prompts(2000, 1)
    assert not any("{" in prompt or "}" in prompt for prompt in prompts)


def test_second_stage_tasks_hold_what_was_answered() -> None:
    answers = [("What is a prime?", "A number with two divisors. Seven is one. So is {eleven}.")]
    tasks = second_prompts(200, 0, answers)
    assert len(set(tasks)) > 10
    assert all("two divisors" in task or "Seven" in task or "{eleven}" in task for task in tasks)
