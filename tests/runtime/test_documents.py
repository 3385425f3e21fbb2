import datetime

import pytest

from referee.errors import InputError
from referee.runtime import Document
from referee.runtime.documents import as_documents, as_question, read_file, read_jsonl


def test_all_forms_mix():
    documents = as_documents(
        [
            "plain",
            {"text": "with date", "date": datetime.date(2020, 1, 2), "id": 7},
            Document(text="ready", source="s"),
        ]
    )
    assert [d.id for d in documents] == ["d1", "7", "d3"]
    assert documents[1].date == "2020-01-02"


def test_any_iterable_will_do():
    assert len(as_documents(t for t in ("a", "b"))) == 2


def test_ids_are_unique_and_kept_where_given():
    documents = as_documents(["a", {"text": "b", "id": "d1"}, "c"])
    assert [d.id for d in documents] == ["d1.2", "d1", "d3"]


def test_the_same_document_twice_is_kept_twice():
    documents = as_documents([{"text": "a", "id": "x"}, {"text": "a", "id": "x"}])
    assert [d.id for d in documents] == ["x", "x.2"]


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([], "no documents"),
        ("text", "documents is a str"),
        (None, "documents is a NoneType"),
        (5, "documents is a int"),
        ({"text": "a"}, "documents is a dict"),
        ([None], "Document 1 is a NoneType"),
        (["a", 3], "Document 2 is a int"),
        ([{"body": "a"}], "Document 1 has no field 'text' (its fields: 'body')"),
        ([{"text": None}], "Document 1, field 'text'"),
        ([{"text": "a", "year": 3}], "field 'year': unknown field"),
        ([{"text": "a", "date": [1]}], "field 'date'"),
        (["", "  \n"], "All 2 documents are empty"),
        (["a\ud800"], "not valid Unicode"),
        ([{"text": "a", "id": "x"}, {"text": "b", "id": "x"}], "id 'x'"),
    ],
)
def test_bad_documents_get_one_clear_sentence(items, says):
    with pytest.raises(InputError) as caught:
        as_documents(items)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize("question", [None, 3, "", " \n", b"why", "a\ud800"])
def test_bad_questions(question):
    with pytest.raises(InputError):
        as_question(question)


def test_a_question_of_one_character_is_a_question():
    assert as_question(" ? ") == "?"


def test_jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('\ufeff"just text"\n\n{"text": "a\u2028b", "source": "s"}\r\n', "utf-8")
    documents = read_jsonl(path)
    assert [d.text for d in documents] == ["just text", "a\u2028b"]
    assert documents[1].source == "s"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"text": "a"}\n{"text": ', "row 2 is not JSON"),
        ('{"text": "a"}\n[1]', "row 2: Document 2 is a list"),
        ('{"text": "a"}\n\n{"texts": "b"}', "row 3: Document 3 has no field 'text'"),
        ('{"text": "a", "date": {}}', "row 1: Document 1, field 'date'"),
        ("", "holds no document"),
        ("\0\1\2", "binary file"),
    ],
)
def test_broken_jsonl_names_row_and_field(tmp_path, content, says):
    path = tmp_path / "docs.jsonl"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_jsonl(path)
    assert says in str(caught.value)


def test_files(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Grüße".encode("utf-16"))
    assert read_file(path) == Document(text="Grüße", id="a.txt", source="a.txt")
    path.write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match="not UTF-8"):
        read_file(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_file(tmp_path / "missing")
    with pytest.raises(InputError, match="cannot be read"):
        read_file(tmp_path)
