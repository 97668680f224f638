"""Text of tokens: a single one's for display, and a stream's, each character once and whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BYTE_OF_SYMBOL = {symbol: byte for byte, symbol in bytes_to_unicode().items()}
_BYTE_FALLBACK = re.compile(r"<0x([0-9A-F]{2})>")
_MOST_TOKENS_IN_A_CHARACTER = 4
"""A UTF-8 character is at most four bytes; what stays open for longer is not one."""


class Pieces:
    """What a single token looks like: its text, or its bytes where they are half a character."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, str] = {}

    def __getitem__(self, token: int) -> str:
        piece = self._known.get(token)
        if piece is None:
            piece = self._known[token] = self._piece(token)
        return piece

    @cached_property
    def _anchor(self) -> tuple[list[int], str]:
        # Some tokenizers drop the space before a text's first word: never let a piece stand first.
        ids = self._tokenizer.encode("a", add_special_tokens=False)
        return ids, self._decode(ids)

    def _piece(self, token: int) -> str:
        ids, text = self._anchor
        piece = self._decode([*ids, token])[len(text) :]
        return self._bytes(token) if REPLACEMENT in piece else piece

    def _bytes(self, token: int) -> str:
        symbol = str(self._tokenizer.convert_ids_to_tokens(token))
        fallback = _BYTE_FALLBACK.fullmatch(symbol)
        if fallback:
            return f"⟨{fallback[1]}⟩"
        try:
            return "⟨" + " ".join(f"{_BYTE_OF_SYMBOL[char]:02X}" for char in symbol) + "⟩"
        except KeyError:
            return f"⟨token {token}⟩"

    def _decode(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, clean_up_tokenization_spaces=False))


class TextStream:
    """Turns a run's tokens into text as they come.

    What a token adds is held back while a character is incomplete, or while the text's end
    could be the beginning of a stop string. The pieces joined are the whole text.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, stop: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._stop = tuple(stop)
        self._ids: list[int] = []
        self._context = 0
        """Where the tokens begin that the decoder needs to see before the new ones."""
        self._read = 0
        """Tokens whose text has been taken."""
        self._held = ""
        self.stopped = False
        """Whether a stop string has come; nothing is added after it."""

    def push(self, token: int) -> str:
        """Add a token; returns the text that may now be shown."""
        self._ids.append(token)
        before = self._decode(self._ids[self._context : self._read])
        text = self._decode(self._ids[self._context :])
        open_tokens = len(self._ids) - self._read
        if text.endswith(REPLACEMENT) and open_tokens < _MOST_TOKENS_IN_A_CHARACTER:
            return ""
        self._context, self._read = self._read, len(self._ids)
        return self._show(text[len(before) :])

    def finish(self) -> str:
        """The text that was held back for a stop string which never came.

        An incomplete character at the end is no character, and is left out.
        """
        rest, self._held = self._held, ""
        return "" if self.stopped else rest

    def _show(self, text: str) -> str:
        text, self._held = self._held + text, ""
        found = [at for at in (text.find(stop) for stop in self._stop) if at >= 0]
        if found:
            self.stopped = True
            return text[: min(found)]
        safe = len(text) - max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[safe:]
        return text[:safe]

    def _decode(self, ids: list[int]) -> str:
        return str(
            self._tokenizer.decode(
                ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a proper beginning of `stop`."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
