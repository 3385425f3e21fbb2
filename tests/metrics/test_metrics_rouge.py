import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.metrics import count_tokens, rouge_l, unicode_tokens

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "em_rouge.json").read_text("utf-8"))
WORDS = st.lists(st.sampled_from(["austin", "Texas", "the", "北京", "é"]), max_size=6).map(" ".join)
TOKENIZERS = st.sampled_from(["rouge", "unicode"])


@pytest.mark.parametrize("case", ORACLE["rougeL"]["cases"], ids=lambda case: case["ref"] or "empty")
def test_pairs_of_the_reference(case):
    assert rouge_l(case["pred"], [case["ref"]]) == pytest.approx(case["nostem"], abs=1e-9)


@pytest.mark.parametrize("case", ORACLE["scoring"], ids=lambda case: case["pred"] or "empty")
def test_best_over_aliases(case):
    best, first = case["rougeL_f_max_nostem"], case["rougeL_f_first_gold_only"]
    assert rouge_l(case["pred"], case["gold"]) == pytest.approx(best, abs=1e-9)
    assert rouge_l(case["pred"], case["gold"][:1]) == pytest.approx(first, abs=1e-9)


@pytest.mark.parametrize(
    ("prediction", "answer", "score"),
    [
        ("北京", "北京", 1.0),
        ("北京市", "北京", 0.8),
        ("东京", "北京", 0.5),
        ("أوستن تكساس", "أوستن", 2 / 3),
        ("हिन्दी", "हन्दू", 0.0),
        ("Köln", "Ko\u0308ln", 1.0),
        ("STRASSE", "Straße", 1.0),
        ("２０２５年", "2025年", 1.0),
        ("กรุงเทพ", "กรุงเทพ", 1.0),
        ("℡", "tel", 1.0),
        ("snake_case", "snake case", 1.0),
        ("!!!", "!!!", 0.0),
    ],
)
def test_unicode_words(prediction, answer, score):
    assert rouge_l(prediction, [answer], tokenizer="unicode") == pytest.approx(score, abs=1e-9)


def test_unicode_tokens_by_script():
    assert unicode_tokens("Tesla在2021年, moved.") == ["tesla", "在", "2021", "年", "moved"]
    assert unicode_tokens("東京タワー") == ["東", "京", "タ", "ワ", "ー"]
    assert unicode_tokens("ไทย") == ["ไ", "ท", "ย"]
    assert unicode_tokens("서울 대학교") == ["서울", "대학교"]
    assert unicode_tokens("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_count_tokens_counts_words_and_marks():
    assert count_tokens("It's 3.5 km.") == 8
    assert count_tokens(" \n") == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rouge_l("x", []), "answers is empty"),
        (lambda: rouge_l("x", ["x"], tokenizer="spacy"), "'spacy'"),
        (lambda: rouge_l("x", [None]), "None"),
        (lambda: unicode_tokens(3), "text is 3"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_importing_the_metrics_leaves_the_slow_reference_out():
    code = "import sys, referee.metrics; sys.exit('rouge_score' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@settings(deadline=None)
@given(WORDS, WORDS, TOKENIZERS)
def test_bounds_and_symmetry(a, b, tokenizer):
    score = rouge_l(a, [b], tokenizer)
    assert 0 <= score <= 1
    assert score == pytest.approx(rouge_l(b, [a], tokenizer), abs=1e-12)


@settings(deadline=None)
@given(st.text())
def test_a_text_with_a_word_equals_itself_in_any_script(text):
    expected = 1.0 if unicode_tokens(text) else 0.0
    assert rouge_l(text, [text], tokenizer="unicode") == expected
