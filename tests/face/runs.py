"""The command line, rows and a model that the tests of the face share."""

import dataclasses
import json

from referee import cli
from referee.data import Row
from referee.runtime import Document, connect


def run(capsys, *args):
    """Exit code, stdout and stderr of the command line, in this process."""
    try:
        code = cli.main(list(map(str, args)))
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code or 0, out, err


def row(i, **changes):
    """A question whose two sources disagree."""
    made = Row(
        f"r{i}",
        f"How many moons does planet {i} have?",
        (
            Document(text=f"Planet {i} has two moons."),
            Document(text=f"Planet {i} has three moons."),
        ),
        ("two",),
        ("three",),
        ("correct", "misinformation"),
    )
    return dataclasses.replace(made, **changes)


def rows(number):
    """So many rows, each its own."""
    return [row(i) for i in range(number)]


def write_rows(path, number):
    """The same rows as a file of data."""
    lines = []
    for i in range(number):
        found = row(i)
        contexts = [
            {"text": d.text, "gold": {"role": role}}
            for d, role in zip(found.documents, found.roles, strict=True)
        ]
        line = {"id": found.id, "question": found.question, "contexts": contexts}
        lines.append({**line, "answers": ["two"], "wrong_answers": ["three"]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def two(request):
    """A model that reads what a document says, and otherwise says two."""
    return "three" if "three" in request.user else "two"


def served(server, name="openai/tiny", **options):
    """The model of a server; several attempts, as by default."""
    return connect(name, api_base=server.url, **options)


def lines_of(path):
    """The records of a journal, line by line."""
    return [json.loads(line) for line in path.read_text().splitlines()]
