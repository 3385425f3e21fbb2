"""The embedded model: a real answer, a grammar, seeds, one server per process, a clean exit."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import dspy
import httpx
import pytest

from referee.errors import InputError, WeightsError
from referee.runtime import local, weights

NAME = "smollm2-135m"
# The suite isolates REFEREE_CACHE for every test; the weights are fetched once for all of them.
SHARED_CACHE = os.environ.get("REFEREE_CACHE", "")


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(InputError, match=r"pip install 'referee\[local\]'"):
        local.connect_local(NAME)


def test_file_that_llama_cannot_load(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 64)
    with pytest.raises(WeightsError, match="cannot load"):
        local.connect_local(broken)


@pytest.fixture
def shared_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    if SHARED_CACHE:
        monkeypatch.setenv("REFEREE_CACHE", SHARED_CACHE)
    else:
        monkeypatch.delenv("REFEREE_CACHE")


@pytest.fixture(scope="module", autouse=True)
def stopped_at_the_end() -> Iterator[None]:
    yield
    local.stop_local_servers()


@pytest.mark.slow
@pytest.mark.usefixtures("shared_cache")
class TestRealModel:
    def test_answers(self) -> None:
        lm = local.connect_local(NAME, max_tokens=8)
        assert lm("Say hello.")[0].strip()
        digest = weights.digest_of(weights.path_of(NAME))
        assert lm.model == f"referee-local/{NAME}@{digest[:12]}"

    def test_temperature_zero_unless_told(self) -> None:
        lm = local.connect_local(NAME, cache=False, max_tokens=12)
        assert lm("Name an animal.") == lm("Name an animal.")

    def test_literal_is_enforced_by_the_grammar(self) -> None:
        class Judge(dspy.Signature):
            """Judge the claim."""

            claim: str = dspy.InputField()
            verdict: Literal["zebra-17", "quokka-23"] = dspy.OutputField()

        lm = local.connect_local(NAME, temperature=1.5, cache=False)
        with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
            judge = dspy.Predict(Judge)
            verdicts = {
                judge(claim="Grass is green.", config={"seed": seed}).verdict for seed in range(4)
            }
        assert verdicts <= {"zebra-17", "quokka-23"}
        assert len(lm.history) == 4  # no second attempt was needed

    def test_seeds_give_samples(self) -> None:
        lm = local.connect_local(NAME, cache=False, temperature=1.0, max_tokens=24)
        prompt = "Write the name of an animal and a place."
        texts = [lm(prompt, seed=seed)[0] for seed in (1, 2, 3, 1)]
        assert len(set(texts[:3])) == 3
        assert texts[3] == texts[0]

    def test_stop_and_logprobs(self) -> None:
        lm = local.connect_local(NAME, cache=False, max_tokens=60)
        assert "\n" not in lm("Count to three, one number a line.", stop=["\n"])[0]
        with dspy.context(lm=lm):
            answer = dspy.Predict("question -> answer")(
                question="Which colour has the sky?", config={"logprobs": True, "top_logprobs": 2}
            )
        first = answer.logprobs["content"][0]
        assert first["logprob"] <= 0
        assert len(first["top_logprobs"]) == 2

    def test_one_server_per_process(self) -> None:
        found: list[local.LocalSettings] = []
        callers = [
            threading.Thread(target=lambda: found.append(local.local_lm_settings(NAME)))
            for _ in range(4)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(60)
        assert len(found) == 4
        assert len(set(found)) == 1

    def test_two_models_at_once(self, tmp_path: Path) -> None:
        other = tmp_path / "other.gguf"
        other.symlink_to(weights.ensure(NAME))
        copy = tmp_path / "copy.gguf"
        copy.write_bytes(other.read_bytes())
        first = local.connect_local(NAME, cache=False, max_tokens=4)
        second = local.connect_local(copy, cache=False, max_tokens=4)
        assert first.kwargs["api_base"] != second.kwargs["api_base"]
        assert first("Hi.")
        assert second("Hi.")

    def test_only_loopback_with_the_key(self) -> None:
        settings = local.local_lm_settings(NAME)
        assert settings.base_url.startswith("http://127.0.0.1:")
        answer = httpx.post(f"{settings.base_url}/chat/completions", json={"messages": []})
        assert answer.status_code == 401

    def test_prefixes_of_three_signatures_stay_warm(self) -> None:
        settings = local.local_lm_settings(NAME)
        client = httpx.Client(headers={"Authorization": f"Bearer {settings.api_key}"}, timeout=60)

        def read(tag: str, question: str) -> int:
            system = " ".join(f"{tag} rule {i}: prefer the dated source." for i in range(12))
            messages = [
                {"role": "system", "content": system},
                {"role": "user", "content": question},
            ]
            body = {"messages": messages, "max_tokens": 2}
            answer = client.post(f"{settings.base_url}/chat/completions", json=body).json()
            return int(answer["timings"]["prompt_n"])

        with client:
            cold = sum(read(tag, "First?") for tag in "XYZ")
            warm = sum(read(tag, "Second?") for tag in "XYZ")
        assert warm < cold / 4

    def test_clean_exit(self) -> None:
        code = (
            "from referee.runtime.local import connect_local\n"
            f"lm = connect_local({NAME!r}, cache=False, max_tokens=4)\n"
            "lm('Hello.')\n"
        )
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert run.returncode == 0
        assert run.stdout == ""
        assert "llama" not in run.stderr.lower()

    def test_stop_right_after_start(self) -> None:
        server = local.LocalServer(weights.ensure(NAME))
        server.stop()
        server.stop()
