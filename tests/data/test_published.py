"""Published data sets: raw rows of each schema, written by hand, and the fetch around them."""

import json
import sys
import types

import dspy
import pytest

from referee.data import load
from referee.data.longfact import DOMAINS, SOURCE, TOPICS
from referee.errors import InputError
from referee.programs import PROGRAMS
from referee.runtime.scripted import prompt_of, scripted_lm

CONFLICTBANK = {
    "subject": "SECRET1",
    "object": "SECRETOBJECT",
    "question": "Which school did Ana Ruiz attend?",
    "options": ["SECRETB", "SECRETA", "SECRETC", "uncertain"],
    "correct_option": "B",
    "replace_option": "A",
    "uncertain_option": "D",
    "default_claim": "SECRET2",
    "default_evidence": "Ana Ruiz went to North School.",
    "misinformation_conflict_evidence_evidence": "Ana Ruiz went to South School, a leak says.",
    "misinformation_conflict_evidence_category": "SECRETNEWS",
    "temporal_conflict_evidence": "From 2031 on Ana Ruiz went to South School.",
    "temporal_conflict_time_span": ["SECRET3", "SECRET4"],
    "semantic_conflict_evidence": "Ana Ruiz, a botanist, went to South School.",
}
CONFIQA = {
    "question": "Who composed the music of Low Tide?",
    "orig_context": "Low Tide has music by Eva Lind.",
    "cf_context": "Low Tide has music by Tom Orr.",
    "orig_answer": "SECRETA",
    "orig_alias": ["SECRETALIAS"],
    "cf_answer": "SECRETB",
    "cf_alias": [],
    "orig_path_labeled": "SECRETPATH",
}
MQUAKE = {
    "case_id": 7,
    "questions": [
        "In which country did the sport of FC Moor begin?",
        "SECRETSECOND",
        "SECRETTHIRD",
    ],
    "answer": "SECRETB",
    "answer_alias": ["SECRETALIAS", "SECRETSHARED"],
    "new_answer": "SECRETA",
    "new_answer_alias": ["SECRETSHARED"],
    "single_hops": [
        {"cloze": "FC Moor plays the sport of", "answer": "football", "question": "SECRET1"},
        {"cloze": "football began in", "answer": "England", "question": "SECRET2"},
    ],
    "new_single_hops": [
        {"cloze": "FC Moor plays the sport of", "answer": "cricket", "question": "SECRET3"},
        {"cloze": "cricket began in", "answer": "Wales", "question": "SECRET4"},
    ],
    "requested_rewrite": [{"target_new": {"str": "SECRET5"}}],
}
RAMDOCS = {
    "question": "In which state is Mill Creek?",
    "documents": [
        {"text": "Mill Creek is in Utah.", "type": "correct", "answer": "SECRETA"},
        {"text": "Mill Creek is in Ohio.", "type": "misinfo", "answer": "SECRETB"},
        {"text": "Creeks are small.", "type": "noise", "answer": "SECRETNONE"},
    ],
    "disambig_entity": ["SECRETENTITY"],
    "gold_answers": ["SECRETA"],
    "wrong_answers": ["SECRETB"],
}
RGB = {
    "id": 3,
    "query": "When does the fair open?",
    "answer": [["SECRETA", "SECRETALIAS"]],
    "fakeanswer": "SECRETB",
    "positive": ["The fair opens on 2 May.", "2 May: fair"],
    "positive_wrong": ["The fair opens on 9 June."],
    "negative": ["The fair has a big wheel."],
}
RAGCHECKER = {
    "query_id": "q-1",
    "query": "What is the longest river?",
    "gt_answer": "SECRETA",
    "response": "SECRETRESPONSE",
    "retrieved_context": [{"doc_id": "SECRETDOC", "text": "Long rivers exist."}],
    "gt_answer_claims": [["SECRETNILE", "is", "long"], "A SECRET claim."],
    "response_claims": ["SECRETCLAIM"],
}
LONGFACT = {"prompt": "What is a quasar?", "canary": "SECRETCANARY"}

# name of the data set, name of its raw file, a raw row
RAW = {
    "conflictbank": ("QA_dataset.json", CONFLICTBANK),
    "confiqa": ("ConFiQA-QA.json", CONFIQA),
    "confiqa-mr": ("ConFiQA-MR.json", CONFIQA),
    "confiqa-mc": ("ConFiQA-MC.json", CONFIQA),
    "mquake": ("MQuAKE-CF-3k-v2.json", MQUAKE),
    "mquake-t": ("MQuAKE-T.json", MQUAKE),
    "ramdocs": ("RAMDocs_test.jsonl", RAMDOCS),
    "rgb": ("en_fact.json", RGB),
    "rgb-zh": ("zh_fact.json", RGB),
    "ragchecker": ("checking_inputs.json", RAGCHECKER),
    "longfact": ("longfact-concepts_astronomy.jsonl", LONGFACT),
}


@pytest.fixture
def local(tmp_path):
    """The local copy of one data set: two equal raw rows in a file of the published name."""

    def write(name):
        file, raw = RAW[name]
        path = tmp_path / file
        path.write_text("\n".join([json.dumps(raw)] * 2))
        return f"{name}:{path}"

    return write


def one(name, local):
    return min(load(local(name)).rows, key=lambda row: row.id)


@pytest.mark.parametrize("name", RAW)
def test_nothing_but_question_texts_and_date_reaches_a_program(name, local):
    row = one(name, local)
    lm = scripted_lm(lambda _: "no idea")
    if row.documents:
        with dspy.context(lm=lm):
            program = PROGRAMS["vote"]()
            program(question=row.question, documents=row.documents, date=row.date or None)
    seen = "\n".join(prompt_of(r) for r in lm.engine.requests) if row.documents else ""
    shown = seen + row.question + json.dumps([d.model_dump() for d in row.documents]) + row.date
    assert "SECRET" not in shown
    gold = (*row.answers, *row.wrong_answers, *row.facts)
    assert name == "longfact" or any("SECRETA" in text for text in gold)


@pytest.mark.parametrize("name", RAW)
def test_the_card_says_gold_licence_version_and_the_as_of_date_reaches_the_rows(name, local):
    found = load(local(name))
    assert found.name == name
    assert found.card.gold
    assert found.card.licence
    assert found.card.version == "local copy"
    assert found.card.rows == 2
    assert len({row.id for row in found.rows}) in (1, 2)
    assert all(row.date == found.card.as_of for row in found.rows)


def test_conflictbank_reads_the_answers_off_the_options(local):
    row = one("conflictbank", local)
    assert (row.answers, row.wrong_answers) == (("SECRETA",), ("SECRETB",))
    assert sorted(row.roles) == ["correct", "misinformation", "semantic", "temporal"]
    for contexts in (2, 3, 4):
        found = load(local("conflictbank"), contexts=contexts).rows[0]
        assert len(found.documents) == contexts
        assert found.roles.count("correct") == 1


def test_confiqa_and_mquake_take_the_side_that_macr_takes(local):
    row = one("confiqa", local)
    assert row.answers == ("SECRETA", "SECRETALIAS")
    assert row.wrong_answers == ("SECRETB",)
    row = one("mquake", local)
    assert row.answers == ("SECRETA", "SECRETSHARED")
    assert row.wrong_answers == ("SECRETB", "SECRETALIAS")
    right = row.documents[row.roles.index("correct")].text
    assert right == "FC Moor plays the sport of cricket. cricket began in Wales."
    assert set(one("mquake-t", local).roles) == {"correct", "temporal"}


def test_rgb_takes_nested_aliases_and_all_snippets(local):
    row = one("rgb", local)
    assert row.answers == ("SECRETA", "SECRETALIAS")
    assert sorted(row.roles) == ["correct", "correct", "counterfactual", "noise"]


def test_ragchecker_claims_are_sentences_and_results_are_unwrapped(tmp_path):
    path = tmp_path / "outputs.json"
    path.write_text(json.dumps({"results": [RAGCHECKER], "metrics": {}}))
    (row,) = load(f"ragchecker:{path}").rows
    assert row.facts == ("SECRETNILE is long", "A SECRET claim.")
    assert row.id == "q-1"


def test_longfact_has_38_topics_in_eight_domains(local):
    assert len(TOPICS) == 38
    assert len(DOMAINS) == 8
    assert sum(map(len, DOMAINS.values())) == 38
    assert len(SOURCE.files) == 76
    row = one("longfact", local)
    assert row.domain == "Science"
    assert row.id == "longfact-concepts_astronomy-0"


def test_longfact_files_must_keep_their_names(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps(LONGFACT))
    with pytest.raises(InputError, match="keep the published names"):
        load(f"longfact:{path}")


def test_a_row_that_lacks_a_field_of_the_schema_is_named(tmp_path):
    path = tmp_path / "ConFiQA-QA.json"
    path.write_text(json.dumps([CONFIQA, {**CONFIQA, "cf_context": None}]))
    with pytest.raises(InputError, match=r"ConFiQA-QA\.json, row 2, field 'cf_context'"):
        load(f"confiqa:{path}")


def test_a_folder_of_raw_files_is_read_whole(tmp_path):
    for topic in ("astronomy", "virology"):
        (tmp_path / f"longfact-objects_{topic}.jsonl").write_text(json.dumps(LONGFACT))
    rows = load(f"longfact:{tmp_path}").rows
    assert {row.domain for row in rows} == {"Science", "Medicine"}


class Offline:
    """Stands in for `datasets`: records what was asked, and answers or fails."""

    def __init__(self, rows=None, files=None):
        self.asked = []
        self.rows, self.files = rows, files
        self.exceptions = types.SimpleNamespace(DatasetsError=RuntimeError)

    def load_dataset(self, name, *, split, revision):
        self.asked.append((name, split, revision))
        if self.rows is None:
            raise ConnectionError("no route")
        return self.rows

    def DownloadManager(self):  # noqa: N802 - the library's name
        return self

    def download(self, urls):
        self.asked += urls
        if self.files is None:
            raise FileNotFoundError(urls[0])
        return self.files


def test_the_hub_is_asked_by_id_split_and_revision(monkeypatch):
    hub = Offline(rows=[RAMDOCS] * 5)
    monkeypatch.setitem(sys.modules, "datasets", hub)
    found = load("ramdocs", limit=3)
    assert hub.asked == [("HanNight/RAMDocs", "test", "9c041bfd158c603b615883d9a931b00cbc141494")]
    assert len(found.rows) == 3
    assert len({row.id for row in found.rows}) == 3
    assert found.card.version.startswith("9c041bf")
    assert found.card.origin == "HanNight/RAMDocs"
    load("ramdocs", revision="other")
    assert hub.asked[-1][2] == "other"


def test_files_are_asked_by_address_and_commit(monkeypatch, tmp_path):
    path = tmp_path / "0f3c"  # the cache names a download by a hash
    path.write_text(json.dumps([MQUAKE]))
    hub = Offline(files=[str(path)])
    monkeypatch.setitem(sys.modules, "datasets", hub)
    (row,) = load("mquake-t").rows
    assert hub.asked == [
        "https://raw.githubusercontent.com/princeton-nlp/MQuAKE/main/datasets/MQuAKE-T.json"
    ]
    assert row.id == "mquake-t-7"


@pytest.mark.parametrize("name", ["conflictbank", "rgb"])
def test_an_unreachable_hub_is_one_sentence_that_says_what_to_do(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "datasets", Offline())
    with pytest.raises(InputError) as caught:
        load(name)
    assert "cannot be fetched from" in str(caught.value)
    assert f"give a local copy as {name}:PATH" in str(caught.value)


def test_the_library_has_the_names_that_the_fetch_calls():
    import datasets

    assert callable(datasets.load_dataset)
    assert callable(datasets.DownloadManager().download)
    assert issubclass(datasets.exceptions.DatasetsError, Exception)


def test_reading_a_bundled_set_does_not_import_datasets():
    import subprocess

    code = (
        "import sys; from referee.data import load; load('conflicts'); "
        "assert 'datasets' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
