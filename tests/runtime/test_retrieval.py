"""Retrievers: corpus, triples, Wikipedia (a local server only), and what callers bring."""

import copy
import datetime
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from referee.errors import BackboneError, InputError
from referee.runtime.retrieval import (
    CorpusRetriever,
    Passage,
    TripleRetriever,
    WikipediaRetriever,
    as_retriever,
)
from referee.runtime.retrievers import words

TOPICS = ("bern", "oslo", "lima", "founded", "ceo")


class TopicEncoder:
    """Counts topic words; the last component keeps texts without one from having no length."""

    name = "topics"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.texts.extend(texts)
        rows = [[*(text.lower().count(topic) for topic in TOPICS), 0.1] for text in texts]
        matrix = np.array(rows, dtype=np.float32).reshape(-1, len(TOPICS) + 1)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


# --- corpus ---------------------------------------------------------------------------------


@dataclass
class Note:
    text: str
    title: str = "A note"
    date: datetime.date | None = None


def test_the_nearest_chunk_comes_first_with_its_origin() -> None:
    documents = [
        "Bern is in Switzerland.",
        {"text": "Oslo is in Norway.", "title": "T", "source": "S", "url": "U", "date": "2020"},
        Note("Lima is in Peru.", date=datetime.date(2024, 5, 1)),
    ]
    retrieve = CorpusRetriever(documents, encoder=TopicEncoder())
    (first,) = retrieve("Where is Oslo?", 1)
    assert first == Passage("Oslo is in Norway.", "T", "S", "U", "2020", score=first.score)
    assert first.score == pytest.approx(1.0, abs=0.02)
    assert retrieve("lima", 1)[0].title == "A note"
    assert retrieve("lima", 1)[0].date == "2024-05-01"
    scores = [passage.score for passage in retrieve("Oslo", 99)]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_ties_keep_the_order_of_the_corpus() -> None:
    retrieve = CorpusRetriever(
        [{"text": "Bern.", "url": str(n)} for n in range(37)], encoder=TopicEncoder()
    )
    assert [passage.url for passage in retrieve("bern", 37)] == [str(n) for n in range(37)]


def test_long_documents_are_split_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    text = " ".join(f"Sentence {n} about Bern." for n in range(2000))
    retrieve = CorpusRetriever(
        [text], encoder=TopicEncoder(), chunk_chars=100, progress=lambda *seen: told.append(seen)
    )
    assert not told, "nothing is encoded before the first query"
    assert all(len(passage.text) <= 100 for passage in retrieve("bern", 5))
    assert told[-1] == (len(retrieve), len(retrieve))
    assert told == sorted(told)
    assert len(told) > 1


def test_the_matrix_is_built_once_for_all_threads_and_copies() -> None:
    encoder = TopicEncoder()
    retrieve = CorpusRetriever(["Bern.", "Oslo."], encoder=encoder)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: copy.deepcopy(retrieve)("bern", 1), range(16)))
    assert encoder.texts.count("Bern.") == 1


@pytest.mark.parametrize("query", ["", "  "])
def test_a_blank_query_finds_nothing(query: str) -> None:
    assert CorpusRetriever(["Bern."], encoder=TopicEncoder())(query, 1) == []


def test_blank_documents_hold_no_passage() -> None:
    assert CorpusRetriever([" ", ""], encoder=TopicEncoder())("bern", 1) == []


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "give a list of documents"),
        ("one text", "give a list of documents"),
        (["a", 3], "Document 1 is int"),
        ([{"body": "x"}], "Document 0 is dict"),
    ],
)
def test_bad_documents_are_refused(documents: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CorpusRetriever(documents)


def test_no_passages_cannot_be_asked_for() -> None:
    with pytest.raises(InputError, match="k is 0"):
        CorpusRetriever(["Bern."], encoder=TopicEncoder())("bern", 0)


# --- triples --------------------------------------------------------------------------------

TRIPLES = [
    ("Tesla, Inc.", "founded_by", "Martin Eberhard"),
    ("Tesla, Inc.", "CEO", "Elon Musk"),
    ("SpaceX", "CEO", "Elon Musk"),
    ("Nikola Tesla", "born in", "Smiljan"),
    ("Mercury (planet)", "orbits", "Sun"),
    ("New York City", "lies in", "New York"),
    ("The Beatles", "come from", "Liverpool"),
    ("Beyoncé", "married to", "Jay-Z"),
    ("C++", "designed by", "Bjarne Stroustrup"),
    ("特斯拉", "首席执行官", "埃隆·马斯克"),
    ("हिन्दी", "परिवार", "हिन्द-आर्य"),
    ("it", "is", "a pronoun"),
]


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("Who founded Tesla?", "Tesla, Inc."),
        ("TESLA'S boss", "Tesla, Inc."),
        ("Where was Nikola Tesla born?", "Nikola Tesla"),
        ("What does Mercury orbit?", "Mercury (planet)"),
        ("Population of New York City", "New York City"),
        ("New York or Liverpool", "New York, Liverpool"),
        ("beatles songs", "The Beatles"),
        ("husband of Beyonce", "Beyoncé"),
        ("Who made C++?", "C++"),
        ("特斯拉的首席执行官是谁？", "特斯拉"),
        ("हिन्दी कहाँ", "हिन्दी"),
    ],
)
def test_entities_are_found_by_name(query: str, title: str) -> None:
    assert TripleRetriever(TRIPLES)(query, 1)[0].title == title


@pytest.mark.parametrize("query", ["", "What is it?", "Teslas", "newyork", "C", "हिन्द"])
def test_what_is_no_whole_name_is_not_found(query: str) -> None:
    assert TripleRetriever(TRIPLES)(query, 1) == []


def test_the_subgraph_holds_what_begins_and_ends_at_the_entity() -> None:
    (passage,) = TripleRetriever(TRIPLES, source="Wikidata")("Elon Musk", 1)
    assert passage.text == "Tesla, Inc. — CEO — Elon Musk.\nSpaceX — CEO — Elon Musk."
    assert passage.source == "Wikidata"


@pytest.mark.parametrize("encoder", [None, TopicEncoder()])
def test_the_most_relevant_triples_come_first(encoder: TopicEncoder | None) -> None:
    retrieve = TripleRetriever(TRIPLES, encoder=encoder)
    (passage,) = retrieve("Who is the CEO of Tesla?", 1)
    assert passage.text.splitlines()[0] == "Tesla, Inc. — CEO — Elon Musk."
    assert passage.score is not None


@pytest.mark.parametrize("encoder", [None, TopicEncoder()])
def test_eight_triples_for_each_passage_asked(encoder: TopicEncoder | None) -> None:
    hub = [("Hub", "links to", f"Node {n}") for n in range(2000)] + [("Hub", "CEO", "Ada.")]
    retrieve = TripleRetriever(hub * 2, encoder=encoder)
    lines = retrieve("Who is the CEO of Hub?", 2)[0].text.splitlines()
    assert len(lines) == len(set(lines)) == 16
    assert lines[0] == "Hub — CEO — Ada."
    assert encoder is None or len(encoder.texts) < 1000


@pytest.mark.parametrize("triple", [("a", "b"), ("a", "b", " "), ("a", 1, "b"), "abc", None])
def test_bad_triples_are_refused(triple: Any) -> None:
    with pytest.raises(InputError, match="Triple 1 is"):
        TripleRetriever([("x", "y", "z"), triple])


def test_words_fold_case_accents_width_and_punctuation() -> None:
    assert words("Crème BRÛLÉE, ＡＢＣ_d's") == ["creme", "brulee", "abc", "d", "s"]
    assert words("Straße 北京") == ["strasse", "北", "京"]


# --- what callers bring ---------------------------------------------------------------------


class Searcher:
    def search(self, query: str, k: int) -> list[str]:
        return [f"{query} {n}" for n in range(k)]


class Retrieving:
    def retrieve(self, query: str) -> dict[str, list[str]]:
        return {"passages": [query, " ", "second"]}


class Module:
    """As in DSPy: called by keyword only, parameters on forward, a prediction comes back."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert not args
        return self.forward(**kwargs)

    def forward(self, question: str, k: int = 9) -> Any:
        return SimpleNamespace(passages=[SimpleNamespace(long_text=f"{question} {k}", score=0.5)])


def plain(query: str, k: int) -> list[str]:
    return [query] * (k + 1)


def keyword_only(query: str, *, top_k: int = 1) -> list[str]:
    return [query] * top_k


def unnamed_second(query: str, how_many: int) -> list[str]:
    return [query] * how_many


def unrelated_second(query: str, language: str = "en") -> list[str]:
    return [language] * 3


def starred(*args: Any) -> list[str]:
    return [args[0]] * args[1]


@pytest.mark.parametrize(
    ("obj", "texts"),
    [
        (plain, ["q", "q"]),
        (keyword_only, ["q", "q"]),
        (unnamed_second, ["q", "q"]),
        (unrelated_second, ["en", "en"]),
        (starred, ["q", "q"]),
        (lambda query: [query, "b", "c"], ["q", "b"]),
        (lambda query: query, ["q"]),
        (lambda query: None, []),
        (lambda query: {"passages": []}, []),
        (lambda query: (text for text in "abc"), ["a", "b"]),
        (lambda query: {"text": query}, ["q"]),
        (Searcher(), ["q 0", "q 1"]),
        (Retrieving(), ["q", "second"]),
        (Module(), ["q 2"]),
    ],
)
def test_every_accepted_shape_becomes_a_retriever(obj: Any, texts: list[str]) -> None:
    assert [passage.text for passage in as_retriever(obj)("q", 2)] == texts


def test_a_dspy_module_is_called_as_dspy_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import dspy

    class Search(dspy.Module):
        def forward(self, query: str, k: int = 3) -> dspy.Prediction:
            return dspy.Prediction(passages=[dspy.Example(long_text=query, title="T")] * k)

    def complain(*args: object) -> None:
        raise AssertionError(args)

    monkeypatch.setattr("dspy.primitives.module.logger.warning", complain)
    assert as_retriever(Search())("q", 2) == [Passage("q", "T"), Passage("q", "T")]
    with pytest.raises(InputError, match="takes no query"):
        as_retriever(dspy.Predict("question -> answer"))


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Passage("t", url="u"), Passage("t", url="u")),
        ({"long_text": "t", "title": "T", "score": np.float32(0.5)}, Passage("t", "T", score=0.5)),
        ({"content": "t", "score": float("nan")}, Passage("t")),
        (
            SimpleNamespace(page_content="t", metadata={"source": "S", "date": 2020}),
            Passage("t", source="S", date="2020"),
        ),
    ],
)
def test_every_accepted_result_becomes_a_passage(result: Any, expected: Passage) -> None:
    assert as_retriever(lambda query: [result])("q", 1) == [expected]


def test_documents_become_a_corpus_and_retrievers_stay_themselves() -> None:
    corpus = as_retriever(["Bern.", {"text": "Oslo."}])
    assert isinstance(corpus, CorpusRetriever)
    assert as_retriever(corpus) is corpus
    adapted = as_retriever(plain)
    assert as_retriever(adapted) is adapted is copy.deepcopy(adapted)


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (None, r"None \(NoneType\); give a callable"),
        ("bm25", r"'bm25' \(str\); give a callable"),
        ({"text": "a"}, r"\(dict\); give a callable"),
        (Searcher, "class Searcher; give an instance"),
        (lambda: [], "takes no query"),
        (lambda query, k, index: [], "also needs index"),
        ([], "give a list of documents"),
    ],
)
def test_anything_else_is_refused_with_what_is_accepted(obj: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_retriever(obj)


def test_results_without_text_are_refused() -> None:
    with pytest.raises(InputError, match=r"returned 3 \(int\); results must be texts"):
        as_retriever(lambda query: [3])("q", 1)


def test_an_asynchronous_callable_is_refused() -> None:
    async def find(query: str) -> list[str]:
        return [query]

    with pytest.raises(InputError, match="asynchronous"):
        as_retriever(find)("q", 1)


def test_errors_of_the_callable_are_its_own() -> None:
    def broken(query: str) -> list[str]:
        raise KeyError(query)

    with pytest.raises(KeyError):
        as_retriever(broken)("q", 1)


# --- Wikipedia ------------------------------------------------------------------------------

ARTICLES = {
    1: ("Bern", "Bern is the de facto capital of Switzerland.", "2026-01-02T03:04:05Z"),
    2: ("Oslo", "Oslo is the capital of Norway. It was founded in 1040.", "2026-02-02T03:04:05Z"),
    3: ("Nowhere", "", "2026-03-02T03:04:05Z"),
}
Reply = tuple[int, dict[str, str], Any]


class Wiki:
    """A MediaWiki of three pages; queued replies come before its own."""

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.agents: list[str] = []
        self.queue: list[Reply] = []
        self.url = ""

    def reply(self, asked: dict[str, str], agent: str) -> Reply:
        self.requests.append(asked)
        self.agents.append(agent)
        if self.queue:
            return self.queue.pop(0)
        if asked.get("list") == "search":
            hits = [{"pageid": n, "title": ARTICLES[n][0]} for n in (2, 1, 3)]
            return 200, {}, {"query": {"search": hits}}
        ids = sorted(int(n) for n in asked["pageids"].split("|"))
        return 200, {}, {"query": {"pages": [self.page(n) for n in ids]}}

    def page(self, number: int) -> dict[str, Any]:
        title, extract, timestamp = ARTICLES[number]
        return {
            "pageid": number,
            "title": title,
            "extract": extract,
            "fullurl": f"https://wiki.example/{title}",
            "revisions": [{"timestamp": timestamp}],
        }


def handler_of(wiki: Wiki) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
            status, headers, body = wiki.reply(asked, self.headers["User-Agent"])
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@pytest.fixture
def wiki(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wiki]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    served = Wiki()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(served))
    served.url = f"http://127.0.0.1:{server.server_address[1]}/w/api.php"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr("referee.runtime.wikipedia.time.sleep", taken.append)
    return taken


def test_wikipedia_searches_then_reads_and_ranks(wiki: Wiki) -> None:
    retrieve = WikipediaRetriever(base_url=wiki.url, user_agent="tests (me@example.org)")
    (passage,) = retrieve("What is the capital of Switzerland?", 1)
    assert passage == Passage(
        "Bern is the de facto capital of Switzerland.",
        title="Bern",
        source="Wikipedia (en)",
        url="https://wiki.example/Bern",
        date="2026-01-02T03:04:05Z",
        score=1.0,
    )
    search, pages = wiki.requests
    assert search["srsearch"] == "What is the capital of Switzerland?"
    assert (search["maxlag"], search["formatversion"]) == ("5", "2")
    assert (pages["pageids"], pages["exintro"], pages["explaintext"]) == ("2|1|3", "1", "1")
    assert set(wiki.agents) == {"tests (me@example.org)"}


def test_equally_relevant_pages_keep_the_order_of_the_search(wiki: Wiki) -> None:
    found = WikipediaRetriever(base_url=wiki.url)("capital", 5)
    assert [passage.title for passage in found] == ["Oslo", "Bern"]


def test_whole_articles_are_read_one_by_one_and_ranked_by_the_encoder(wiki: Wiki) -> None:
    retrieve = WikipediaRetriever(
        base_url=wiki.url, whole=True, encoder=TopicEncoder(), chunk_chars=35
    )
    assert retrieve("founded", 1)[0].text == "It was founded in 1040."
    assert [asked.get("pageids") for asked in wiki.requests] == [None, "2", "1", "3"]
    assert not any("exintro" in asked for asked in wiki.requests)


def test_nothing_found_is_no_error(wiki: Wiki) -> None:
    wiki.queue = [(200, {}, {"batchcomplete": True, "query": {"search": []}})]
    assert WikipediaRetriever(base_url=wiki.url)("zzz", 1) == []
    assert WikipediaRetriever(base_url=wiki.url)(" ", 1) == []
    assert len(wiki.requests) == 1


LAGGED = {"error": {"code": "maxlag", "info": "Waiting for a server: 6 seconds lagged."}}


@pytest.mark.parametrize(
    ("reply", "nap"),
    [
        ((429, {"Retry-After": "2"}, "slow down"), 2.0),
        ((200, {"Retry-After": "3"}, LAGGED), 3.0),
        ((200, {}, LAGGED), 5.0),
        ((503, {"Retry-After": "1"}, "busy"), 1.0),
        ((429, {"Retry-After": "Thu, 01 Jan 2015 00:00:00 GMT"}, ""), 0.0),
    ],
)
def test_a_request_to_wait_is_honoured_once(
    wiki: Wiki, naps: list[float], reply: Reply, nap: float
) -> None:
    wiki.queue = [reply]
    assert WikipediaRetriever(base_url=wiki.url)("capital", 1)[0].title == "Oslo"
    assert naps == [nap]
    wiki.queue = [reply, reply]
    with pytest.raises(BackboneError, match="try again later"):
        WikipediaRetriever(base_url=wiki.url)("capital", 1)
    assert naps == [nap, nap]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((500, {}, "<html>oops</html>"), "HTTP status 500"),
        ((503, {}, ""), "HTTP status 503"),
        ((404, {}, "no"), "HTTP status 404"),
        ((200, {}, "<html>login</html>"), "does not answer in JSON"),
        (
            (200, {}, {"error": {"code": "badquery", "info": "No."}}),
            r"refuses the query \(badquery: No",
        ),
        ((429, {"Retry-After": "9999"}, ""), "asks to wait 9999 s"),
    ],
)
def test_a_failing_server_is_one_clear_sentence(
    wiki: Wiki, naps: list[float], reply: Reply, message: str
) -> None:
    wiki.queue = [reply]
    with pytest.raises(BackboneError, match=message) as caught:
        WikipediaRetriever(base_url=wiki.url)("capital", 1)
    assert "\n" not in str(caught.value)
    assert naps == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/w/api.php", "nonsense://x", "http://[bad"])
def test_an_unreachable_server_is_a_backbone_error(url: str) -> None:
    with pytest.raises(BackboneError, match="cannot be reached"):
        WikipediaRetriever(base_url=url, timeout=2)("capital", 1)


def test_a_clients_own_settings_are_used(wiki: Wiki) -> None:
    import httpx

    seen: list[str] = []
    hooks: dict[str, list[Callable[..., Any]]] = {"request": [lambda r: seen.append(r.method)]}
    with httpx.Client(event_hooks=hooks) as client:
        WikipediaRetriever(base_url=wiki.url, client=client)("capital", 1)
        assert not client.is_closed
    assert seen == ["GET", "GET"]


@pytest.mark.parametrize("language", ["", "EN", "en.evil.example/", "e"])
def test_a_malformed_language_is_refused(language: str) -> None:
    with pytest.raises(InputError, match="Wikipedia code"):
        WikipediaRetriever(language)


def test_a_long_query_is_cut_for_the_search(wiki: Wiki) -> None:
    WikipediaRetriever(base_url=wiki.url)("capital " * 100, 1)
    assert len(wiki.requests[0]["srsearch"]) <= 300
