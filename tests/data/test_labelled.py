import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from referee.data.labelled import RELATIONS, labelled
from referee.errors import InputError

DATA = Path(__file__).parents[2] / "data"


def pair(**changes):
    return {
        "id": "p",
        "claim_a": "A is high.",
        "claim_b": "A is low.",
        "label": "support",
    } | changes


def lines(path, *found):
    path.write_text("".join(json.dumps(each) + "\n" for each in found))
    return str(path)


def test_the_card_tells_hashes_and_counts():
    card = (DATA / "labelled.md").read_text(encoding="utf-8")
    for name in ("relations", "arbitration"):
        digest = hashlib.sha256((DATA / f"{name}.jsonl").read_bytes()).hexdigest()
        assert f"SHA-256 of `{name}.jsonl`: `{digest}`" in card
    pairs = labelled("relations").rows
    assert f"| pairs | {len(pairs)} |" in card
    for label, number in Counter(row.answers[0] for row in pairs).items():
        assert f"| {label} | {number} |" in card
    assert f"| conflicts | {len(labelled('arbitration').rows)} |" in card
    assert "Licence: MIT" in card


def test_the_first_pairs_are_as_many_of_each_label():
    for seed in (0, 1):
        labels = [row.answers[0] for row in labelled("relations", limit=9, seed=seed).rows]
        assert Counter(labels) == dict.fromkeys(RELATIONS, 3)
    one, other = (labelled("relations", limit=6, seed=seed).rows for seed in (0, 1))
    assert [r.id for r in one] != [r.id for r in other]
    assert one == labelled("relations", limit=6).rows


def test_pairs_keep_their_order_and_hide_the_label():
    for row in labelled("relations").rows:
        assert [d.id for d in row.documents] == ["a", "b"]
        assert row.conflict_type == row.answers[0]
        assert not re.search("|".join(RELATIONS), row.question)


def test_cases_draw_rows_by_the_seed():
    drawn = labelled("arbitration", limit=5, seed=3).rows
    assert len(drawn) == 5
    assert drawn == labelled("arbitration", limit=5, seed=3).rows
    assert len({row.id for row in labelled("arbitration").rows}) == 14


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([pair(label="maybe")], "row 1, field 'label' is 'maybe'"),
        ([pair(), pair(label=None)], "row 2, field 'label' is None"),
        ([pair(claim_b=" ")], "no texts 'claim_a' and 'claim_b'"),
        ([pair(), [1]], "row 2"),
        ([], "no labelled rows"),
        ([{"id": "c", "question": "?", "contexts": ["A. B.", "C. D."]}], "is not labelled"),
        (
            [{"id": "c", "question": "?", "contexts": ["A b.", "C d."], "answers": ["E."]}],
            "2 claims",
        ),
        ([{"id": "c", "question": "?", "contexts": ["A b."], "answers": ["A b."]}], "1 claims"),
        ([{"id": "c"}], "'question'"),
    ],
)
def test_what_is_not_labelled_is_refused_in_one_sentence(tmp_path, found, says):
    with pytest.raises(InputError, match=re.escape(says)):
        labelled(lines(tmp_path / "mine.jsonl", *found))


def test_pairs_with_one_id_are_refused(tmp_path):
    with pytest.raises(InputError, match="'p'"):
        labelled(lines(tmp_path / "mine.jsonl", pair(), pair()))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no set of labelled cases"):
        labelled("nosuch")
    with pytest.raises(InputError, match="cannot be read"):
        labelled(str(tmp_path / "nosuch.jsonl"))
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        labelled(str(tmp_path / "bad.jsonl"))
