"""Retrieval from Wikipedia, or any MediaWiki that has the TextExtracts extension."""

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ..errors import BackboneError, InputError
from .embedder import Encoder, Shared
from .retrievers import Passage, best, check_k, passages_of, relevance

if TYPE_CHECKING:
    import httpx

# Wikimedia asks every program to say who it is and how to reach its authors.
USER_AGENT = "referee/0.1 (Python package for conflicting sources; set user_agent to your contact)"

_LANGUAGE = re.compile(r"[a-z][a-z0-9-]{1,30}")
_MAX_QUERY = 300  # characters; the search refuses longer ones
_LEAST_PAGES, _MAX_PAGES = 3, 20  # TextExtracts gives at most 20 introductions in one request
_MAX_LAG = 5  # seconds of database lag from which the server may ask us to wait
_LONGEST_WAIT = 30.0  # seconds


class WikipediaRetriever(Shared):
    """Passages from Wikipedia articles: full-text search, then the text of the pages found.

    Two requests a query with introductions, one more per page with whole articles. When the
    server asks for patience (`maxlag`, 429, 503 with Retry-After) it gets it once.

    Example:
        >>> retrieve = WikipediaRetriever("de")
        >>> retrieve("Wer gründete Tesla?", 2)  # doctest: +SKIP
        [Passage(text='Tesla, Inc. ist ...', title='Tesla, Inc.', source='Wikipedia (de)', ...)]
    """

    def __init__(
        self,
        language: str = "en",
        *,
        client: "httpx.Client | None" = None,
        timeout: float = 10.0,
        user_agent: str = USER_AGENT,
        base_url: str | None = None,
        encoder: Encoder | None = None,
        whole: bool = False,
        chunk_chars: int = 1200,
    ) -> None:
        """Store the settings; nothing is requested yet.

        Args:
            language: Language code of the edition.
            client: An `httpx.Client` to use, with its own proxies and limits; None opens one per
                query.
            timeout: Seconds for each step of a request (connect, read).
            user_agent: Who asks; Wikimedia wants a contact in it.
            base_url: Address of another `api.php`.
            encoder: Ranks the chunks by cosine; None ranks them by the query's words they hold.
            whole: Read whole articles instead of introductions.
            chunk_chars: Upper bound of a passage, in code points.

        Raises:
            InputError: The language code is malformed.
        """
        if not _LANGUAGE.fullmatch(language):
            raise InputError(f"The language is {language!r}; give a Wikipedia code such as 'en'.")
        self._source = f"Wikipedia ({language})"
        self._url = base_url or f"https://{language}.wikipedia.org/w/api.php"
        self._client = client
        self._timeout = timeout
        self._user_agent = user_agent
        self._encoder = encoder
        self._whole = whole
        self._chunk_chars = chunk_chars

    def __call__(self, query: str, k: int = 1) -> list[Passage]:
        """Return the k most relevant chunks of the pages found.

        Args:
            query: The question; the search sees its first 300 characters.
            k: Number of passages.

        Returns:
            At most k passages with the title, the address and the time of the last revision.

        Raises:
            BackboneError: The server cannot be reached or refuses.
        """
        import httpx  # here, so that the package starts without it

        check_k(k)
        if not query.strip():
            return []
        try:
            if self._client is not None:
                passages = self._passages(self._client, query, k)
            else:
                with httpx.Client() as client:
                    passages = self._passages(client, query, k)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failed(f"cannot be reached ({error or type(error).__name__})") from error
        if not passages:
            return []
        texts = [f"{passage.title}. {passage.text}" for passage in passages]
        return best(passages, relevance(query, texts, self._encoder), k)

    def _passages(self, client: "httpx.Client", query: str, k: int) -> list[Passage]:
        """Chunks of the pages found, in the order of the search."""
        pages = min(max(k, _LEAST_PAGES), _MAX_PAGES)
        search = {"list": "search", "srsearch": query.strip()[:_MAX_QUERY], "srlimit": str(pages)}
        hits = self._query(client, search).get("search", [])
        ids = [str(hit["pageid"]) for hit in hits if hit.get("pageid")]
        size = 1 if self._whole else _MAX_PAGES  # pages a request
        batches = [ids[start : start + size] for start in range(0, len(ids), size)]
        found = [page for batch in batches for page in self._pages(client, batch)]
        found.sort(key=lambda page: ids.index(str(page.get("pageid"))))
        return [
            passage
            for page in found
            for passage in passages_of(self._document(page), self._chunk_chars)
        ]

    def _pages(self, client: "httpx.Client", ids: list[str]) -> Iterator[Mapping[str, Any]]:
        """The pages of these ids, with plain text, address and last revision."""
        wanted = {
            "prop": "extracts|info|revisions",
            "explaintext": "1",
            "exlimit": "max",
            "exsectionformat": "plain",
            "inprop": "url",
            "rvprop": "timestamp",
            "pageids": "|".join(ids),
        }
        if not self._whole:
            wanted["exintro"] = "1"
        answer = self._query(client, wanted)
        yield from (page for page in answer.get("pages", []) if str(page.get("pageid")) in ids)

    def _document(self, page: Mapping[str, Any]) -> Passage:
        """A page as one passage, before it is split."""
        revisions = page.get("revisions") or [{}]
        return Passage(
            text=page.get("extract") or "",
            title=page.get("title", ""),
            source=self._source,
            url=page.get("fullurl", ""),
            date=revisions[0].get("timestamp", ""),
        )

    def _query(self, client: "httpx.Client", wanted: Mapping[str, str]) -> dict[str, Any]:
        """One API query, repeated once when the server asks to wait."""
        response = self._get(client, wanted)
        wait = _wait_asked(response)
        if wait is not None:
            if wait > _LONGEST_WAIT:
                raise self._failed(f"asks to wait {wait:.0f} s")
            time.sleep(wait)
            response = self._get(client, wanted)
        return self._result(response)

    def _get(self, client: "httpx.Client", wanted: Mapping[str, str]) -> "httpx.Response":
        """One GET request."""
        common = {"action": "query", "format": "json", "formatversion": "2"}
        return client.get(
            self._url,
            params={**common, "maxlag": str(_MAX_LAG), **wanted},
            headers={"User-Agent": self._user_agent},
            timeout=self._timeout,
        )

    def _result(self, response: "httpx.Response") -> dict[str, Any]:
        """The `query` part of an answer."""
        answer = _json(response)
        error = answer.get("error")
        if error is not None:
            raise self._failed(f"refuses the query ({_error_text(error)})")
        if response.status_code != 200:
            raise self._failed(f"answers with HTTP status {response.status_code}")
        if not answer:
            raise self._failed("does not answer in JSON")
        result = answer.get("query", {})
        return result if isinstance(result, dict) else {}

    def _failed(self, what: str) -> BackboneError:
        """One sentence on what went wrong and what to do."""
        return BackboneError(
            f"{self._source} at {self._url} {what}; check the network, try again later, "
            "or use another retriever."
        )


def _json(response: "httpx.Response") -> dict[str, Any]:
    """The body as a JSON object; empty when it is none."""
    try:
        answer = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _error_text(error: Any) -> str:
    """Code and explanation of an API error."""
    if not isinstance(error, Mapping):
        return str(error)
    return f"{error.get('code', 'error')}: {error.get('info', '')}"


def _wait_asked(response: "httpx.Response") -> float | None:
    """Seconds that the server asks us to wait before the same request; None when it does not."""
    error = _json(response).get("error")
    lagging = isinstance(error, Mapping) and error.get("code") in ("maxlag", "ratelimited")
    header = response.headers.get("Retry-After", "")
    if not (lagging or response.status_code == 429 or (response.status_code == 503 and header)):
        return None
    if header.isdecimal():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):  # no header, or no date; a date without zone cannot be compared
        return float(_MAX_LAG)
