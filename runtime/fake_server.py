"""A local OpenAI-style chat server for tests and benchmarks, able to misbehave on demand.

Requests travel over real sockets, so timeouts, retries, keep-alive and broken answers are those a
client meets in production, yet every answer is decided by a function of the request.
"""

import json
import socket
import struct
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Literal, NamedTuple, Self, TypeAlias


@dataclass(frozen=True)
class ChatRequest:
    """One chat-completions request as it arrived; `received` is a `time.monotonic()` value."""

    messages: list[dict[str, Any]]
    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    received: float

    @property
    def system(self) -> str:
        """Text of all system messages."""
        return "\n".join(_text(m) for m in self.messages if m.get("role") == "system")

    @property
    def user(self) -> str:
        """Text of the last user message, or an empty string."""
        users = [m for m in self.messages if m.get("role") == "user"]
        return _text(users[-1]) if users else ""

    @property
    def prompt(self) -> str:
        """Text of all messages, in order."""
        return "\n".join(map(_text, self.messages))

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema the answer must follow, or None if none was requested."""
        wanted = self.body.get("response_format") or {}
        schema: dict[str, Any] | None = (wanted.get("json_schema") or {}).get("schema")
        return schema


@dataclass(frozen=True)
class Reply:
    """A well-formed answer; token counts left out are estimated as `len(text) // 4 + 1`.

    `logprobs` entries hold `token`, `logprob` and `top_logprobs`; as from a real server, they are
    sent only to a client that asked for them.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = "stop"
    logprobs: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Fault:
    """A misbehaviour to serve instead of an answer.

    Attributes:
        kind: `status` is an error response; `stall` says nothing, then closes; `reset` aborts the
            connection; `garbage` is not JSON; `truncated` stops halfway through the body; `empty`
            has no text; `html` is a web page. All but the first three have status 200.
        status: HTTP status of kind `status`.
        retry_after: Seconds for the Retry-After header of kind `status`.
        message: Error message of kind `status`; the status phrase if empty.
        code: Error code of kind `status`, such as `context_length_exceeded`.
        param: Name of the offending parameter, for kind `status`.
        seconds: Length of a `stall`; None lasts until the client or the server gives up.
    """

    kind: Literal["status", "stall", "reset", "garbage", "truncated", "empty", "html"]
    status: int = 500
    retry_after: float | None = None
    message: str = ""
    code: str | None = None
    param: str | None = None
    seconds: float | None = None


Answer: TypeAlias = str | Reply | Fault
ReplyFunction: TypeAlias = Callable[[ChatRequest], Answer]


def scripted(replies: Iterable[Answer]) -> ReplyFunction:
    """Return a reply function that hands out `replies` in order and raises when none is left."""
    queue, lock, used = list(replies), threading.Lock(), 0

    def reply(request: ChatRequest) -> Answer:
        nonlocal used
        with lock:
            if used == len(queue):
                raise LookupError(f"all {used} scripted replies are used; got {_head(request)}")
            used += 1
            return queue[used - 1]

    return reply


def by_content(replies: Mapping[str, Answer | Iterable[Answer]]) -> ReplyFunction:
    """Return a reply function that picks by substring of the whole prompt, first match first.

    An iterable of replies is handed out in order, as by `scripted`.
    """
    table = {
        part: scripted(found) if not isinstance(found, str | Reply | Fault) else _always(found)
        for part, found in replies.items()
    }

    def reply(request: ChatRequest) -> Answer:
        for part, answer in table.items():
            if part in request.prompt:
                return answer(request)
        raise LookupError(f"none of {list(table)} is in the prompt; got {_head(request)}")

    return reply


class FakeServer:
    """An OpenAI-style chat server on 127.0.0.1; the reply function runs once per choice (`n`).

    Attributes:
        url: Base URL for clients, valid once started.
        requests: Every chat request in order of arrival, refused ones included.
        errors: Exceptions raised by the reply function (the client saw status 500) or the server.
        max_in_flight: The largest number of chat requests served at once.

    Example:
        >>> import httpx
        >>> question = {"role": "user", "content": "Capital of France?"}
        >>> with FakeServer(scripted(["Paris"])) as server:
        ...     url = f"{server.url}/chat/completions"
        ...     answer = httpx.post(url, json={"model": "m", "messages": [question]}).json()
        >>> answer["choices"][0]["message"]["content"], server.requests[0].user
        ('Paris', 'Capital of France?')
    """

    def __init__(
        self,
        reply: ReplyFunction,
        *,
        latency: float = 0.0,
        api_key: str | None = None,
        reject: frozenset[str] = frozenset(),
    ) -> None:
        """Store the behaviour; no socket is opened before `start`.

        Args:
            reply: Decides the answer; called from many threads.
            latency: Seconds between the arrival of a request and its answer.
            api_key: The only key accepted; None accepts any request.
            reject: Body parameters to refuse with status 400, as reasoning models do.
        """
        self.url = ""
        self.requests: list[ChatRequest] = []
        self.errors: list[BaseException] = []
        self.max_in_flight = 0
        self._reply, self._latency, self._api_key, self._reject = reply, latency, api_key, reject
        self._lock, self._in_flight = threading.Lock(), 0
        self._server: _Server | None = None

    def start(self) -> Self:
        """Listen on a free port and serve in the background."""
        if self._server is not None:
            raise RuntimeError("this FakeServer is running; stop it before starting it again")
        self._server = server = _Server(self)
        self.url = f"http://127.0.0.1:{server.server_port}/v1"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Close every connection, stalled ones included; do nothing if not running."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.hang_up()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def _counted(self, request: ChatRequest) -> Iterator[None]:
        with self._lock:
            self.requests.append(request)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def _decide(self, request: ChatRequest) -> "_Wire":
        if refusal := self._refusal(request):
            return _error(refusal)
        try:
            return _render(self._answers(request), request, self._latency)
        except Exception as error:  # noqa: BLE001 - kept in `errors`, where a test looks for it
            self.errors.append(error)
            return _error(Fault("status", message=f"{type(error).__name__}: {error}"))

    def _answers(self, request: ChatRequest) -> list[Reply] | Fault:
        replies: list[Reply] = []
        for _ in range(request.body.get("n") or 1):
            answer = self._reply(request)
            if isinstance(answer, Fault):
                return answer
            replies.append(Reply(answer) if isinstance(answer, str) else answer)
        return replies

    def _refusal(self, request: ChatRequest) -> Fault | None:
        if fault := self._closed_door(request, "/v1/chat/completions"):
            return fault
        if not request.messages:
            return Fault("status", 400, message="The body is not JSON or has no 'messages'.")
        refused = {"stream"} if request.body.get("stream") else self._reject
        return next((_unsupported(name) for name in request.body if name in refused), None)

    def _closed_door(self, request: ChatRequest, path: str) -> Fault | None:
        if self._api_key and request.headers.get("authorization") != f"Bearer {self._api_key}":
            message = "Incorrect API key provided."
            return Fault("status", 401, message=message, code="invalid_api_key")
        if request.path != path:
            return Fault("status", 404, message=f"Invalid URL {request.path}; expected {path}")
        return None


class _Wire(NamedTuple):
    """What goes back over the socket, and when (`due`, monotonic; None is never)."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    retry_after: float | None = None
    due: float | None = 0.0
    ending: Literal["complete", "truncated", "stall", "reset"] = "complete"


class _Server(ThreadingHTTPServer):
    """Tracks its connections, so that a stalled one cannot outlive it."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, app: FakeServer) -> None:
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._errors = app.errors
        super().__init__(("127.0.0.1", 0), lambda *args: _Handler(app, *args))

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own looks the host name up, which can be slow
        self.server_port = self.server_address[1]

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        with self._changed:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        with self._changed:
            self._open.discard(request)
            request.close()  # without the usual shutdown(), which would turn a reset into an end
            self._changed.notify_all()

    def hang_up(self) -> None:
        """End all connections and wait for their threads; a blocked reply function is left."""
        with self._changed:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._open, timeout=2.0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error and not isinstance(error, ConnectionError):  # a client may leave at any time
            self._errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, app: FakeServer, *args: Any) -> None:
        self._app = app
        super().__init__(*args)

    def do_GET(self) -> None:
        fault = self._app._closed_door(self._read(), "/v1/models")
        self._send(_error(fault) if fault else _Wire(body=_MODELS))

    def do_POST(self) -> None:
        request = self._read()
        # The count drops before the client can see the answer, so its next request is not on top.
        with self._app._counted(request):
            wire = self._app._decide(request)
            there = self._wait(wire.due)
        if wire.ending == "reset":
            linger = struct.pack("ii", 1, 0)  # on, for 0 s: closing sends RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        if there and wire.ending in ("complete", "truncated"):
            self._send(wire)
        self.close_connection |= not there or wire.ending != "complete"

    def _read(self) -> ChatRequest:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        body = body if isinstance(body, dict) else {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        return ChatRequest(
            body.get("messages") or [], body, headers, self.path, received=time.monotonic()
        )

    def _wait(self, due: float | None) -> bool:
        """Wait until `due`; False at once if the client leaves or the server stops."""
        seconds = None if due is None else due - time.monotonic()
        if seconds is not None and seconds <= 0:
            return True
        self.connection.settimeout(seconds)
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            return True
        except OSError:
            return False
        finally:
            self.connection.settimeout(None)

    def _send(self, wire: _Wire) -> None:
        head = f"HTTP/1.1 {wire.status} {responses.get(wire.status, 'Unknown')}\r\n"
        head += f"Content-Type: {wire.content_type}\r\nContent-Length: {len(wire.body)}\r\n"
        if wire.retry_after is not None:
            head += f"Retry-After: {wire.retry_after:g}\r\n"
        sent = len(wire.body) // 2 if wire.ending == "truncated" else len(wire.body)
        self.wfile.write(head.encode() + b"\r\n" + wire.body[:sent])  # in one packet

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""


def _render(answers: list[Reply] | Fault, request: ChatRequest, latency: float) -> _Wire:
    if not isinstance(answers, Fault):
        return _completion(answers, request)._replace(due=request.received + latency)
    hold = answers.seconds if answers.kind == "stall" else latency
    due = None if hold is None else request.received + hold
    return _misbehave(answers, request)._replace(due=due)


def _misbehave(fault: Fault, request: ChatRequest) -> _Wire:
    match fault.kind:
        case "stall" | "reset":
            return _Wire(ending=fault.kind)
        case "garbage":
            return _Wire(body=b"\x80\xff}{ not JSON")
        case "html":
            page = b"<!DOCTYPE html><html><body><h1>Sign in to continue</h1></body></html>"
            return _Wire(body=page, content_type="text/html; charset=utf-8")
        case "truncated":
            return _completion([Reply("cut off")], request)._replace(ending="truncated")
        case "empty":
            return _completion([Reply("", completion_tokens=0)], request)
        case "status":
            return _error(fault)


def _completion(replies: list[Reply], request: ChatRequest) -> _Wire:
    prompt = replies[0].prompt_tokens
    prompt = _tokens(request.prompt) if prompt is None else prompt
    counts = [
        _tokens(r.text) if r.completion_tokens is None else r.completion_tokens for r in replies
    ]
    used = sum(counts)
    asked = bool(request.body.get("logprobs"))
    body = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.body.get("model", "fake"),
        "choices": [_choice(index, reply, asked) for index, reply in enumerate(replies)],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": used,
            "total_tokens": prompt + used,
        },
    }
    return _Wire(body=_json(body))


def _choice(index: int, reply: Reply, asked_logprobs: bool) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text}
    choice = {"index": index, "message": message, "finish_reason": reply.finish_reason}
    if asked_logprobs and reply.logprobs:
        defaults: dict[str, Any] = {"bytes": None, "top_logprobs": []}
        choice["logprobs"] = {"content": [defaults | entry for entry in reply.logprobs]}
    return choice


def _unsupported(name: str) -> Fault:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return Fault("status", 400, message=message, code="unsupported_parameter", param=name)


def _error(fault: Fault) -> _Wire:
    kind, code = "invalid_request_error", fault.code
    if fault.status == 429:
        kind, code = "rate_limit_error", code or "rate_limit_exceeded"
    elif fault.status >= 500:
        kind = "server_error"
    message = fault.message or responses.get(fault.status, "Unknown")
    error = {"message": message, "type": kind, "param": fault.param, "code": code}
    return _Wire(fault.status, _json({"error": error}), retry_after=fault.retry_after)


def _always(answer: Answer) -> ReplyFunction:
    return lambda request: answer


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _head(request: ChatRequest) -> str:
    return f"a prompt beginning {request.prompt[:200]!r}"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


_MODEL = {"id": "fake", "object": "model", "created": 0, "owned_by": "referee"}
_MODELS = _json({"object": "list", "data": [_MODEL]})
