"""Text of tokens: each character once, whole, and nothing shown that a stop string takes back."""

from __future__ import annotations

import itertools

import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteFallback, Fuse, Replace, Sequence, Strip
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from specviz.runtime.token_text import REPLACEMENT, Pieces, TextStream
from tests.tiny import END, byte_tokenizer

TEXTS = [
    "plain ascii",
    "smile 😀 and family 👨‍👩‍👧‍👦!",
    "漢字かな交じり文",
    "e\N{COMBINING ACUTE ACCENT}a\N{COMBINING DIAERESIS}\N{COMBINING MACRON}",
    "שלום עולם, مرحبا",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \N{ZERO WIDTH JOINER}\N{RIGHT-TO-LEFT OVERRIDE}x",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_characters_split_over_tokens_come_once_and_whole(text: str) -> None:
    """Case 12: every byte is a token here."""
    stream = TextStream(byte_tokenizer())
    pieces = [stream.push(token) for token in byte_tokenizer().encode(text)]
    assert "".join(pieces) + stream.finish() == text
    assert not any(REPLACEMENT in piece for piece in pieces)


def test_half_a_character_at_the_end_is_left_out() -> None:
    """Case 12."""
    stream = TextStream(byte_tokenizer())
    shown = [stream.push(token) for token in byte_tokenizer().encode("ok 😀")[:-1]]
    assert "".join(shown) + stream.finish() == "ok "


def test_bytes_that_are_no_character_do_not_hold_the_text_back_for_ever() -> None:
    stream = TextStream(byte_tokenizer())
    lone = byte_tokenizer().encode("😀")[1]
    for _ in range(6):
        stream.push(lone)
    shown = [stream.push(token) for token in byte_tokenizer().encode("abc")]
    assert "".join(shown).endswith("abc")


@pytest.mark.parametrize("text", ["the end.", "aabaabaac"])
def test_a_stop_string_ends_the_text_before_it(text: str) -> None:
    """Case 11: every window of 1–3 characters, and nothing of it was ever shown."""
    for size, at in itertools.product((1, 2, 3), range(len(text))):
        stop = text[at : at + size]
        stream = TextStream(byte_tokenizer(), [stop])
        shown = ""
        for token in byte_tokenizer().encode(text):
            shown += stream.push(token)
            if stream.stopped:
                break
        assert stream.stopped
        assert shown + stream.finish() == text[: text.index(stop)]


def test_the_first_of_several_stop_strings_counts() -> None:
    stream = TextStream(byte_tokenizer(), ["world", "lo"])
    shown = ""
    for token in byte_tokenizer().encode("hello world"):
        shown += stream.push(token)
        if stream.stopped:
            break
    assert shown == "hel"


def test_what_looked_like_a_stop_string_is_shown_once_it_cannot_be() -> None:
    stream = TextStream(byte_tokenizer(), ["</end>"])
    shown = [stream.push(token) for token in byte_tokenizer().encode("a</e b")]
    assert shown == ["a", "", "", "", "</e ", "b"]


def test_special_tokens_are_no_text_but_have_a_piece() -> None:
    stream = TextStream(byte_tokenizer())
    assert stream.push(END) == ""
    assert Pieces(byte_tokenizer())[END] == "<end>"


def test_a_piece_is_a_token_s_text_or_its_bytes() -> None:
    pieces = Pieces(byte_tokenizer())
    ids = byte_tokenizer().encode("A é")
    assert [pieces[token] for token in ids] == ["A", " ", "⟨C3⟩", "⟨A9⟩"]


def test_pieces_of_a_sentencepiece_tokenizer_keep_their_space() -> None:
    """Its decoder strips the space before a text's first word, and spells bytes <0x..>."""
    symbols = ["<unk>", "▁a", "▁the", "a", "<0xF0>", "<0x9F>"]
    tokenizer = Tokenizer(BPE({s: i for i, s in enumerate(symbols)}, [], byte_fallback=True))
    tokenizer.decoder = Sequence([Replace("▁", " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)])
    pieces = Pieces(PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>"))
    assert pieces[2] == " the"
    assert pieces[3] == "a"
    assert pieces[4] == "⟨F0⟩"
