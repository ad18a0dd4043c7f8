"""A client of `winnow engine --stdio`: one file, the standard library, Python 3.9 or newer.

The package winnowhq has it with the program in it; or copy the file into your project, and install
winnow.

    with Winnow(summarize=ask_my_model, summarize_as="anthropic") as winnow:
        session = winnow.create(model="anthropic/claude-sonnet-4-5")["session"]
        winnow.append(session, as_="anthropic", messages=[{"role": "user", "content": "Hello."}])
        messages = winnow.messages(session, "anthropic")  # what the model is to be sent

AsyncWinnow has the same methods for asyncio. docs/bindings.md of winnow has the whole loop.
Requests can be made from several threads; those of one session are done in the order in which they
were made.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from typing import Any, Awaitable, Callable, Optional, Sequence, TypedDict, TypeVar, Union, cast

__all__ = ["PROTOCOL", "AsyncWinnow", "Winnow", "WinnowError", "program"]


class WinnowError(Exception):
    """Why a request was not done.

    code is the reason as a word ("not-found", "nothing-to-fold", "busy", "timeout", "gone" of an
    engine that ended, "missing" of a program that is not installed), number that of JSON-RPC, hint
    what to do about it.
    """

    def __init__(self, failure: dict[str, Any]):
        super().__init__(failure.get("message", ""))
        data: dict[str, Any] = failure.get("data") or {}
        self.number: int = failure.get("code", 0)
        self.code: str = data.get("code", "")
        self.hint: Optional[str] = data.get("hint")
        self.op: Optional[str] = data.get("op")
        self.session: Optional[str] = data.get("session")


def _error(code: str, message: str, hint: str, number: int = -32003) -> WinnowError:
    return WinnowError({"code": number, "message": message, "data": {"code": code, "hint": hint}})


def program() -> str:
    """The path of the program: WINNOW_PROGRAM, that of this Python's package, or that in PATH."""
    name = "winnow.exe" if os.name == "nt" else "winnow"
    of_package = os.path.join(sysconfig.get_path("scripts"), name)
    for path in (os.environ.get("WINNOW_PROGRAM"), of_package, shutil.which("winnow")):
        if path and os.path.exists(path):
            return path
    raise _error(
        "missing",
        "the program winnow is not installed",
        "pip install winnowhq, or see https://github.com/winnowhq/winnow#install",
    )


class _Asked(concurrent.futures.Future[Any]):
    """A request under way."""

    number = 0


_C = TypeVar("_C", bound="Connection")
_A = TypeVar("_A", bound="AsyncConnection")


class Connection:
    """The connection to an engine of your own. Use the class Winnow.

    command is the program with its arguments, by default that of program(). summarize writes a
    summary with a model of yours: it is given the request with model, system, messages (in the
    format summarize_as) and maxOutput, in a thread of its own, and returns text and, if it is known,
    finish, usage and cost. Without it the configuration says who writes. on_event is called with
    each event, in the thread that reads; ask for them with subscribe. timeout is how many seconds a
    request may take, None for any. popen is passed on to subprocess.Popen: cwd, env, stderr.
    """

    def __init__(
        self,
        command: Optional[Sequence[str]] = None,
        *,
        summarize: Optional[Callable[[Summarize], Summary]] = None,
        summarize_as: str = "plain",
        on_event: Optional[Callable[[Notified], None]] = None,
        client: str = "winnow.py",
        timeout: Optional[float] = None,
        **popen: Any,
    ):
        self.timeout = timeout
        self._summarize = summarize
        self._on_event = on_event
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._longest = 64 << 20  # bytes of a line, until the engine has said it
        self._number = 0
        self._waiting: dict[int, _Asked] = {}
        self._views: dict[tuple[str, str], tuple[str, list[Any]]] = {}
        self._gone: Optional[WinnowError] = None
        self._said: deque[str] = deque(maxlen=20)  # the last lines of its error output
        command = list(command) if command else [program(), "engine", "--stdio"]
        popen.setdefault("stderr", subprocess.PIPE)
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
            self._process = cast("subprocess.Popen[bytes]", process)
        except FileNotFoundError as error:
            raise _error("missing", str(error), "name the program in command, or in WINNOW_PROGRAM") from error
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            #: What the engine is and can do.
            self.server: Initialized = self.request(
                "initialize",
                {
                    "protocols": [PROTOCOL],
                    "client": client,
                    "summarize": summarize_as if summarize else "",
                },
            )
            self._longest = self.server.get("maxLine", self._longest)
        except BaseException:
            self.close()
            raise

    def submit(self, method: str, params: dict[str, Any]) -> concurrent.futures.Future[Any]:
        """Sends a request. Cancelling the future cancels it, unless it is done already."""
        asked = _Asked()
        with self._lock:
            self._number += 1
            asked.number = self._number
            self._waiting[asked.number] = asked
        asked.add_done_callback(self._cancelled)
        try:
            self._send({"id": asked.number, "method": method, "params": params})
        except BaseException:
            with self._lock:
                self._waiting.pop(asked.number, None)
            raise
        if self._gone:  # the reader may have ended before it knew of this request
            self._end(self._gone)
        return asked

    def request(self, method: str, params: dict[str, Any], timeout: Optional[float] = None) -> Any:
        """Sends a request and waits for its result, for timeout seconds if that is given."""
        asked = self.submit(method, params)
        seconds = self.timeout if timeout is None else timeout
        try:
            return asked.result(seconds)
        except concurrent.futures.TimeoutError:
            if not asked.cancel():
                return asked.result()
            message = f"{method} took more than {seconds} seconds"
            raise _error("timeout", message, "it was cancelled; what was done until then counts") from None

    def messages(self, session: str, as_: str = "plain") -> list[Any]:
        """The messages that the model is to be sent now.

        Only what is new since the last call is read from the engine. The list is the client's: copy
        it before you change it.
        """
        state, _ = self._views.get((as_, session), ("", []))
        return self._viewed(session, as_, self.request("view", {"session": session, "as": as_, "since": state}))

    def _viewed(self, session: str, as_: str, view: Viewed) -> list[Any]:
        _, had = self._views.get((as_, session), ("", []))
        messages = had[: view["keep"]] + view["messages"]
        self._views[(as_, session)] = (view["state"], messages)
        return messages

    def close(self) -> int:
        """Ends the engine once it has answered everything, and returns its exit code."""
        with self._writing:
            stdin = self._process.stdin
            if stdin and not stdin.closed:
                try:
                    stdin.close()
                except OSError:
                    pass
        code = self._process.wait()
        if threading.current_thread() is not self._reader:
            self._reader.join()
        return code

    def __enter__(self: _C) -> _C:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _send(self, line: dict[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", **line}, separators=(",", ":")).encode() + b"\n"
        if len(text) > self._longest:
            message = f"a line of {len(text)} bytes is longer than the {self._longest} that the engine reads"
            raise _error("too-large", message, "send less at a time", -32600)
        with self._writing:  # not _lock: the reader goes on while a long line is written
            try:
                if self._process.stdin:
                    self._process.stdin.write(text)
                    self._process.stdin.flush()
            except (OSError, ValueError):
                pass  # the engine has ended; the reader says so

    def _listen(self) -> None:
        """Passes the engine's error output on, and keeps its last lines for an error."""
        for text in self._process.stderr or ():
            line = text.decode(errors="replace").rstrip()
            self._said.append(line)
            print(line, file=sys.stderr)

    def _read(self) -> None:
        try:
            self._take_lines()
        finally:  # also where an event or a line failed: nobody waits for ever
            if self._process.stdout:
                self._process.stdout.close()
            message = "the engine has ended"
            try:
                message += f" with the code {self._process.wait(1)}"
            except subprocess.TimeoutExpired:
                pass
            self._listener.join(1)
            if self._said:
                message += ": " + "\n".join(self._said)
            self._gone = _error("gone", message, "start it again; what was answered is stored")
            self._end(self._gone)

    def _take_lines(self) -> None:
        for text in self._process.stdout or ():
            line: dict[str, Any] = json.loads(text)
            method = line.get("method")
            if method == "event":
                if self._on_event:
                    self._on_event(line["params"])
            elif method == "$/cancelRequest":
                pass  # an answer that comes too late is ignored
            elif method is not None:
                threading.Thread(target=self._answer, args=(line,), daemon=True).start()
            else:
                self._answered(line)

    def _answered(self, line: dict[str, Any]) -> None:
        with self._lock:
            if line.get("id") is None:  # the engine could not tell which request failed
                waiting, self._waiting = list(self._waiting.values()), {}
            else:
                one = self._waiting.pop(line["id"], None)
                waiting = [one] if one else []
        for asked in waiting:
            if asked.set_running_or_notify_cancel():
                if "error" in line:
                    asked.set_exception(WinnowError(line["error"]))
                else:
                    asked.set_result(line["result"])

    def _cancelled(self, asked: concurrent.futures.Future[Any]) -> None:
        if asked.cancelled() and isinstance(asked, _Asked):
            with self._lock:
                under_way = self._waiting.pop(asked.number, None)
            if under_way:
                self._send({"method": "$/cancelRequest", "params": {"id": asked.number}})

    def _end(self, error: WinnowError) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for asked in waiting.values():
            if asked.set_running_or_notify_cancel():
                asked.set_exception(error)

    def _answer(self, line: dict[str, Any]) -> None:
        """Answers a request of the engine's."""
        try:
            if line["method"] != "summarize" or not self._summarize:
                raise ValueError(f"unknown method {line['method']}")
            self._send({"id": line["id"], "result": self._summarize(line["params"])})
        except Exception as error:
            # A provider's error is told as it came, so that the engine can try a shorter request.
            data: dict[str, Any] = {"code": str(getattr(error, "code", "") or "")}
            status = getattr(error, "status", getattr(error, "status_code", None))
            if isinstance(status, int):
                data["status"] = status
            self._send({"id": line["id"], "error": {"code": -32000, "message": str(error), "data": data}})


class AsyncConnection:
    """The connection to an engine of your own, for asyncio. Use the class AsyncWinnow.

    The options are those of Winnow; summarize may be a coroutine function. Cancelling a task
    cancels its request, and so does asyncio.wait_for.

        async with AsyncWinnow() as winnow:
            session = (await winnow.create())["session"]
    """

    def __init__(
        self,
        command: Optional[Sequence[str]] = None,
        *,
        summarize: Optional[Callable[[Summarize], Union[Summary, Awaitable[Summary]]]] = None,
        **options: Any,
    ):
        self._command = command
        self._summarize = summarize
        self._options = options
        self._connection: Optional[Connection] = None

    async def __aenter__(self: _A) -> _A:
        loop = asyncio.get_running_loop()
        write = self._summarize

        def written(request: Summarize) -> Summary:
            async def ask() -> Summary:
                said = write(request) if write else None
                return await said if inspect.isawaitable(said) else said  # type: ignore[return-value]

            return asyncio.run_coroutine_threadsafe(ask(), loop).result()

        self._connection = await asyncio.to_thread(
            lambda: Connection(self._command, summarize=written if write else None, **self._options)
        )
        return self

    async def __aexit__(self, *_: Any) -> None:
        if self._connection:
            await asyncio.to_thread(self._connection.close)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request and waits for its result."""
        return await asyncio.wrap_future(self._open().submit(method, params))

    async def messages(self, session: str, as_: str = "plain") -> list[Any]:
        """The messages that the model is to be sent now: see Winnow.messages."""
        connection = self._open()
        state, _ = connection._views.get((as_, session), ("", []))  # pyright: ignore[reportPrivateUsage]
        view = await self.request("view", {"session": session, "as": as_, "since": state})
        return connection._viewed(session, as_, view)  # pyright: ignore[reportPrivateUsage]

    def _open(self) -> Connection:
        if not self._connection:
            raise _error("gone", "the engine is not started", "use async with")
        return self._connection


def _given(**params: Any) -> dict[str, Any]:
    """The parameters that were given, by their names in the protocol."""
    return {name.rstrip("_"): value for name, value in params.items() if value is not None}


# Made from ../schema.json by go test ./internal/schema -update; do not edit below this line.

#: The version of the protocol that this client speaks.
PROTOCOL = 1


class Winnow(Connection):
    """A method for each request of the protocol."""

    def initialize(self, protocols: Sequence[int], client: Optional[str] = None, summarize: Optional[str] = None) -> Initialized:
        """Initialize is the first request of a client: which versions of the protocol it speaks,
        and what it can do for the engine.

        protocols: the versions of the protocol that the client speaks. The server answers with the
        newest that both speak, and with an error if there is none.
        client: the name and version of the client, for people who read a log.
        summarize: Summarize says that the client writes summaries with a model of its own: the
        server sends it requests "summarize", with messages in this format. "" leaves them to the
        configuration.
        """
        return self.request("initialize", _given(protocols=protocols, client=client, summarize=summarize))

    def create(self, id: Optional[str] = None, title: Optional[str] = None, directory: Optional[str] = None, parent: Optional[str] = None, model: Optional[str] = None) -> Created:
        """Create begins an empty session.

        id: the id of the session; one is made if it is "". An id that is taken is an error with the
        code "already".
        title: for people.
        directory: the working folder, absolute: paths are shortened by it.
        parent: the id of the session that this one works for.
        model: the model that reads the session, "provider/id": its limits decide when the window is
        full.
        """
        return self.request("create", _given(id=id, title=title, directory=directory, parent=parent, model=model))

    def fork(self, session: str, before: Optional[str] = None) -> Created:
        """Fork begins a session with the log of another one.

        session: the id of a session.
        before: the id of the message before which it ends, "" for all of it.
        """
        return self.request("fork", _given(session=session, before=before))

    def list(self) -> Listed:
        """List lists the sessions of the store.
        """
        return self.request("list", _given())

    def append(self, session: str, messages: Sequence[Any], as_: Optional[str] = None, model: Optional[str] = None) -> Appended:
        """Append adds messages at the end of a log. Once it is answered they are in the store.
        What a provider's format has as messages of their own, the results of calls, becomes
        part of the calls.

        session: the id of a session.
        as_: the format of Messages: "plain", or that of a provider.
        messages: those of a request body in that format, or objects Message with "plain".
        model: who wrote the assistant's messages, "provider/id"; "" is the model that reads the
        session.
        """
        return self.request("append", _given(session=session, as_=as_, messages=messages, model=model))

    def update(self, session: str, results: Optional[Sequence[Result]] = None, messages: Optional[Sequence[Message]] = None) -> Appended:
        """Update says more completely what was said before: what calls gave back, or a message
        that was streamed. Once it is answered it is in the store.

        session: the id of a session.
        results: what calls gave back.
        messages: Messages take the place of those that have their ids, parts included.
        """
        return self.request("update", _given(session=session, results=results, messages=messages))

    def log(self, session: str, from_: Optional[int] = None) -> Logged:
        """Log reads the log as it was written: nothing is left out, and nothing is folded.

        session: the id of a session.
        from_: the position of the first message that is wanted: 0 is the first of the log, -1 the
        last.
        """
        return self.request("log", _given(session=session, from_=from_))

    def read(self, session: str, part: str) -> Whole:
        """Read returns a part as it was written, whatever the model is shown of it.

        session: the id of a session.
        part: the id of the part, the id of its call, or its handle.
        """
        return self.request("read", _given(session=session, part=part))

    def begin(self, session: str) -> Outcome:
        """Begin says that a request is about to be sent, before its view is taken: what pays is
        left out now.

        session: the id of a session.
        """
        return self.request("begin", _given(session=session))

    def view(self, session: str, as_: Optional[str] = None, since: Optional[str] = None) -> Viewed:
        """View is what the model is to be sent now.

        session: the id of a session.
        as_: the format of the messages.
        since: the State of the view that the client has: only what differs from it is sent. "" asks
        for the whole view, and so does a state that the server does not have any more.
        """
        return self.request("view", _given(session=session, as_=as_, since=since))

    def observe(self, session: str, usage: Optional[Any] = None, as_: Optional[str] = None, rejection: Optional[Rejection] = None) -> Outcome:
        """Observe tells what the provider reported for the newest step, once the results of its
        calls are in the log; or, with rejection, how it refused the request. The engine prunes
        and folds if it must.

        session: the id of a session.
        usage: what the provider reported, in the form of As.
        as_: the format of Usage: the provider's own object "usage" (Gemini: "usageMetadata"), or
        with "plain" that of winnow: {input, output, reasoning, cache: {read, write}}.
        rejection: how the provider refused the request. If it was not because of its length, the
        error has the code "bad-input" and nothing is done.
        """
        return self.request("observe", _given(session=session, usage=usage, as_=as_, rejection=rejection))

    def end_turn(self, session: str) -> Outcome:
        """EndTurn says that the model called no more tools.

        session: the id of a session.
        """
        return self.request("endTurn", _given(session=session))

    def compact(self, session: str, focus: Optional[str] = None, to: Optional[int] = None, auto: Optional[bool] = None, later: Optional[bool] = None, waiting: Optional[bool] = None, prepared: Optional[bool] = None) -> Receipted:
        """Compact folds the past into a summary.

        session: the id of a session.
        focus: what the summary is to dwell on.
        to: how many tokens the view may have afterwards, 0 without a bound.
        auto: Auto appends the message that asks the model to go on.
        later: Later only appends a marker, a task that waits in the log.
        waiting: Waiting only executes a marker that waits, and does nothing without one.
        prepared: Prepared only makes a summary count that prepare has written, and does nothing
        without one.
        """
        return self.request("compact", _given(session=session, focus=focus, to=to, auto=auto, later=later, waiting=waiting, prepared=prepared))

    def prepare(self, session: str) -> Nothing:
        """Prepare writes the summary of a fold that is near, beside the other requests of the
        session. Nothing is stored.

        session: the id of a session.
        """
        return self.request("prepare", _given(session=session))

    def preview(self, session: str, focus: Optional[str] = None, to: Optional[int] = None) -> WinnowPreview:
        """Preview says what compact would do, without asking a model and without writing anything.

        session: the id of a session.
        focus: Focus and To are those of compact.
        """
        return self.request("preview", _given(session=session, focus=focus, to=to))

    def prune(self, session: str, force: Optional[bool] = None) -> Outcome:
        """Prune leaves out what can go. If compaction.prune is off it does nothing, unless it is
        forced.

        session: the id of a session.
        force: Force prunes although compaction.prune is off.
        """
        return self.request("prune", _given(session=session, force=force))

    def prune_messages(self, messages: Sequence[Any], model: Optional[str] = None, besides: Optional[int] = None, keep: Optional[bool] = None) -> PrunedMessages:
        """PruneMessages asks for the messages that are to be sent in the place of a
        conversation's. It keeps no session: each request hands in the whole conversation, or
        what came back with the messages since.

        messages: those of Anthropic's Messages API, OpenAI's Chat Completions or Responses, or
        Gemini's.
        model: the model that reads them, "provider/id": its window and its prices decide. Default:
        a model of 128,000 tokens without known prices.
        besides: how many tokens of each request are not messages: the system prompt and the tools.
        keep: Keep leaves out old results of tools, and never folds the past into a summary.
        """
        return self.request("pruneMessages", _given(messages=messages, model=model, besides=besides, keep=keep))

    def discard(self, session: str, parts: Sequence[str]) -> WinnowEdited:
        """Discard leaves parts out, with a placeholder in the place of each.

        session: the id of a session.
        parts: ids of parts, ids of calls, or handles.
        """
        return self.request("discard", _given(session=session, parts=parts))

    def distill(self, session: str, distillations: Sequence[EditDistillation]) -> WinnowEdited:
        """Distill shows a summary in the place of the parts that it was made from.

        session: the id of a session.
        distillations: the summaries with the parts that each is for.
        """
        return self.request("distill", _given(session=session, distillations=distillations))

    def restore(self, session: str, parts: Sequence[str]) -> WinnowEdited:
        """Restore shows parts whole again that were left out or folded.

        session: the id of a session.
        parts: ids of parts, ids of calls, or handles.
        """
        return self.request("restore", _given(session=session, parts=parts))

    def pin(self, session: str, part: Optional[str] = None, message: Optional[str] = None, text: Optional[str] = None, note: Optional[str] = None) -> Pinned:
        """Pin keeps a part, a message or a text through every pruning and compaction.

        session: the id of a session.
        part: Part, Message and Text: one of them is given.
        note: why, for people.
        """
        return self.request("pin", _given(session=session, part=part, message=message, text=text, note=note))

    def unpin(self, session: str, pin: str) -> Nothing:
        """Unpin forgets a pin, named by its id, by its part or message, or by its text.

        session: the id of a session.
        pin: the id of the pin, its part, its message, or its text.
        """
        return self.request("unpin", _given(session=session, pin=pin))

    def undo(self, session: str, receipt: Optional[str] = None) -> Receipted:
        """Undo takes back what a receipt is for: a compaction, a pruning, a restore or a pin.

        session: the id of a session.
        receipt: the id of the receipt, or of the marker of a compaction; "" is the newest.
        """
        return self.request("undo", _given(session=session, receipt=receipt))

    def redo(self, session: str, receipt: Optional[str] = None) -> Receipted:
        """Redo makes count again what was undone.

        session: the id of a session.
        receipt: the id of the receipt, or of the marker of a compaction; "" is the one that was
        undone last, whatever it is for.
        """
        return self.request("redo", _given(session=session, receipt=receipt))

    def explain(self, session: str, part: Optional[str] = None) -> Explained:
        """Explain says why a part is shown, left out, protected or about to go.

        session: the id of a session.
        part: Part names it, "" for all parts.
        """
        return self.request("explain", _given(session=session, part=part))

    def inspect(self, session: str) -> Report:
        """Inspect reports where the tokens are, what can go, how full the window is, and what it
        cost.

        session: the id of a session.
        """
        return self.request("inspect", _given(session=session))

    def subscribe(self, session: Optional[str] = None) -> Nothing:
        """Subscribe asks for the notifications "event" of a session, from now on.

        session: the id of a session, "" for all of them.
        """
        return self.request("subscribe", _given(session=session))

    def unsubscribe(self, session: Optional[str] = None) -> Nothing:
        """Unsubscribe ends what subscribe with the same session asked for.

        session: the id of a session, "" for all of them.
        """
        return self.request("unsubscribe", _given(session=session))

    def schema(self) -> Any:
        """Schema is this protocol as a JSON Schema.
        """
        return self.request("schema", _given())

    def shutdown(self) -> Nothing:
        """Shutdown asks the server to end once all other requests are answered.
        """
        return self.request("shutdown", _given())


class AsyncWinnow(AsyncConnection):
    """A coroutine for each request of the protocol."""

    async def initialize(self, protocols: Sequence[int], client: Optional[str] = None, summarize: Optional[str] = None) -> Initialized:
        return await self.request("initialize", _given(protocols=protocols, client=client, summarize=summarize))

    async def create(self, id: Optional[str] = None, title: Optional[str] = None, directory: Optional[str] = None, parent: Optional[str] = None, model: Optional[str] = None) -> Created:
        return await self.request("create", _given(id=id, title=title, directory=directory, parent=parent, model=model))

    async def fork(self, session: str, before: Optional[str] = None) -> Created:
        return await self.request("fork", _given(session=session, before=before))

    async def list(self) -> Listed:
        return await self.request("list", _given())

    async def append(self, session: str, messages: Sequence[Any], as_: Optional[str] = None, model: Optional[str] = None) -> Appended:
        return await self.request("append", _given(session=session, as_=as_, messages=messages, model=model))

    async def update(self, session: str, results: Optional[Sequence[Result]] = None, messages: Optional[Sequence[Message]] = None) -> Appended:
        return await self.request("update", _given(session=session, results=results, messages=messages))

    async def log(self, session: str, from_: Optional[int] = None) -> Logged:
        return await self.request("log", _given(session=session, from_=from_))

    async def read(self, session: str, part: str) -> Whole:
        return await self.request("read", _given(session=session, part=part))

    async def begin(self, session: str) -> Outcome:
        return await self.request("begin", _given(session=session))

    async def view(self, session: str, as_: Optional[str] = None, since: Optional[str] = None) -> Viewed:
        return await self.request("view", _given(session=session, as_=as_, since=since))

    async def observe(self, session: str, usage: Optional[Any] = None, as_: Optional[str] = None, rejection: Optional[Rejection] = None) -> Outcome:
        return await self.request("observe", _given(session=session, usage=usage, as_=as_, rejection=rejection))

    async def end_turn(self, session: str) -> Outcome:
        return await self.request("endTurn", _given(session=session))

    async def compact(self, session: str, focus: Optional[str] = None, to: Optional[int] = None, auto: Optional[bool] = None, later: Optional[bool] = None, waiting: Optional[bool] = None, prepared: Optional[bool] = None) -> Receipted:
        return await self.request("compact", _given(session=session, focus=focus, to=to, auto=auto, later=later, waiting=waiting, prepared=prepared))

    async def prepare(self, session: str) -> Nothing:
        return await self.request("prepare", _given(session=session))

    async def preview(self, session: str, focus: Optional[str] = None, to: Optional[int] = None) -> WinnowPreview:
        return await self.request("preview", _given(session=session, focus=focus, to=to))

    async def prune(self, session: str, force: Optional[bool] = None) -> Outcome:
        return await self.request("prune", _given(session=session, force=force))

    async def prune_messages(self, messages: Sequence[Any], model: Optional[str] = None, besides: Optional[int] = None, keep: Optional[bool] = None) -> PrunedMessages:
        return await self.request("pruneMessages", _given(messages=messages, model=model, besides=besides, keep=keep))

    async def discard(self, session: str, parts: Sequence[str]) -> WinnowEdited:
        return await self.request("discard", _given(session=session, parts=parts))

    async def distill(self, session: str, distillations: Sequence[EditDistillation]) -> WinnowEdited:
        return await self.request("distill", _given(session=session, distillations=distillations))

    async def restore(self, session: str, parts: Sequence[str]) -> WinnowEdited:
        return await self.request("restore", _given(session=session, parts=parts))

    async def pin(self, session: str, part: Optional[str] = None, message: Optional[str] = None, text: Optional[str] = None, note: Optional[str] = None) -> Pinned:
        return await self.request("pin", _given(session=session, part=part, message=message, text=text, note=note))

    async def unpin(self, session: str, pin: str) -> Nothing:
        return await self.request("unpin", _given(session=session, pin=pin))

    async def undo(self, session: str, receipt: Optional[str] = None) -> Receipted:
        return await self.request("undo", _given(session=session, receipt=receipt))

    async def redo(self, session: str, receipt: Optional[str] = None) -> Receipted:
        return await self.request("redo", _given(session=session, receipt=receipt))

    async def explain(self, session: str, part: Optional[str] = None) -> Explained:
        return await self.request("explain", _given(session=session, part=part))

    async def inspect(self, session: str) -> Report:
        return await self.request("inspect", _given(session=session))

    async def subscribe(self, session: Optional[str] = None) -> Nothing:
        return await self.request("subscribe", _given(session=session))

    async def unsubscribe(self, session: Optional[str] = None) -> Nothing:
        return await self.request("unsubscribe", _given(session=session))

    async def schema(self) -> Any:
        return await self.request("schema", _given())

    async def shutdown(self) -> Nothing:
        return await self.request("shutdown", _given())


class Appended(TypedDict):
    """Appended names what is in the store now."""
    messages: list[Stored]
    """Messages are those that were appended, in their order."""
    ended: list[str]
    """Ended are the ids of the parts whose calls have ended by it."""


class _Bill(TypedDict):
    requests: int
    """how many requests"""
    usage: SessionUsage
    """the usage of those that report it"""
    cost: Optional[float]
    """US dollars for those whose cost is known: a lower bound if others are unpriced or
    unreported; null if none is known."""


class Bill(_Bill, total=False):
    """Bill sums up requests to models."""
    unpriced: int
    """requests that used tokens at an unknown price"""
    unreported: int
    """requests without a plausible report of their usage"""
    logged: float
    """US dollars that the log itself states for some of them; given if it differs from "counted"
    by a cent."""
    counted: float
    """the share of "cost" for the same requests as "logged"."""


class _BillSplit(TypedDict):
    read: float
    """prompts that were read from the provider's cache"""
    write: float
    """prompts that were written to the provider's cache"""
    input: float
    """Prompts that were neither read from the cache nor written to it."""
    output: float
    """answers, with their reasoning"""


class BillSplit(_BillSplit, total=False):
    """Split is what requests cost in US dollars, by what was paid for. Its sum is the cost of
    their bill, but for rounding."""
    other: float
    """Searches of the web, and requests that the log prices without a usage."""


class _BillSums(TypedDict):
    steps: Bill
    """for the session's own log"""


class BillSums(_BillSums, total=False):
    """Sums are the bills of a session, by what was paid for."""
    summaries: Bill
    """for summaries of its past"""
    agents: Bill
    """for sub-agents in the same file"""
    left: Bill
    """For requests that are not part of the session: abandoned branches, answers that the log does
    not have."""
    failed: Bill
    """for failed requests"""


class BudgetVerdict(TypedDict):
    """Verdict says whether a session still fits."""
    overflow: bool
    """whether the window does not fit"""
    total: int
    """tokens that were counted"""
    usable: int
    """Tokens that they were compared with: the budget, or the threshold below it."""
    code: str
    """The reason as a word: "fits", "overflow", "auto-off" (it overflows, and "compaction.auto" is
    off, so nothing is folded), "doubtful-reports" (the report cannot be of one request),
    "unknown-limits" (no limit is known), "unlimited" (the configuration says that there is
    none)."""
    reason: str
    """the reason as a sentence"""


class Created(TypedDict):
    """Created is a session that is in the store."""
    session: str
    """Session is its id."""


class EditDistillation(TypedDict):
    """Distillation is a summary with the parts that it stands for."""
    targets: list[str]
    """part ids, call ids or handles"""
    summary: str


class _EditTarget(TypedDict):
    target: str
    """the target as it was given"""
    ok: bool
    """whether it is now as requested"""
    saved: int
    """Tokens by which the view became smaller; negative if something is shown again."""


class EditTarget(_EditTarget, total=False):
    """Target is what became of one part that was named. OK says that it is now as it was asked to
    be, also when it was so already."""
    handle: str
    """short name of the part that it names"""
    part: str
    """id of the part that it names"""
    code: str
    """Why not, or a remark: "already", "not-found", "protected", "not-final", "recent",
    "before-pivot", "too-large", "not-kept", "undone", "unprofitable", "covers", "bad-input"."""
    reason: str
    """the same as a sentence"""


class Explained(TypedDict):
    """Explained are parts, in the order of the log."""
    parts: list[ReportExplanation]


class Failure(TypedDict):
    """Failure is why a request was not done."""
    code: int
    """Code is a number of JSON-RPC: see the table of numbers in docs/bindings.md. -32000 is what
    the engine refused or could not do; data.code then says which."""
    message: str
    """Message says what failed and why, for people."""
    data: FailureData


class _FailureData(TypedDict):
    code: str
    """Code is the reason as a word: "not-found", "nothing-to-fold", "no-progress", "bad-input",
    "busy", "cancelled", "store-failed" and others."""


class FailureData(_FailureData, total=False):
    """FailureData is what a program branches on, and what a person can do."""
    hint: str
    """Hint is what to do about it, a sentence."""
    op: str
    """Op is what the engine was doing: "compact"."""
    session: str
    """Session is the id of the session concerned."""


class _Initialized(TypedDict):
    protocol: int
    """Protocol is the version that is spoken from now on."""
    server: str
    """Server is the version of winnow."""
    methods: list[str]
    """Methods are the requests that the server takes."""
    formats: list[str]
    """Formats are the formats in which messages are taken and given."""
    policy: str
    """Policy is the policy in force."""
    maxLine: int
    """MaxLine is how many bytes a line may have."""
    maxWaiting: int
    """MaxWaiting is how many requests may be without an answer at a time."""


class Initialized(_Initialized, total=False):
    """Initialized is what the server is and can do."""
    store: str
    """Store is the file in which the sessions are kept."""


class Listed(TypedDict):
    """Listed are the sessions, the one that was changed last first."""
    sessions: list[Listing]


class _Listing(TypedDict):
    session: str
    title: str
    created: float
    updated: float
    messages: int
    """Messages is how many messages the log has."""


class Listing(_Listing, total=False):
    """Listing is one session of the store."""
    directory: str
    parent: str
    model: str


class Logged(TypedDict):
    """Logged is a stretch of a log."""
    total: int
    """Total is how many messages the log has."""
    messages: list[SessionMessage]
    """Messages are those from the position asked for on, in the form in which winnow keeps them."""


class _Message(TypedDict):
    role: str


class Message(_Message, total=False):
    """Message is a message in the format "plain"."""
    id: str
    """ID is made if it is "". An id that the log has is an error with the code "already", and
    nothing of the request is stored: with ids of its own a client can send a request again."""
    text: str
    """Text is short for one part of text, before Parts."""
    parts: list[SessionPart]
    model: str
    """Model is who wrote it, "provider/id"."""
    finish: str
    """Finish is why the model stopped."""


class Nothing(TypedDict):
    """Nothing is the result of what has none."""


class _Notified(TypedDict):
    event: WinnowEvent


class Notified(_Notified, total=False):
    """Notified is what a notification "event" tells. An event may come before or after the answer
    to the request that caused it; the events of one session come in their order."""
    dropped: int
    """Dropped is how many events were dropped until now because the client did not read."""


class _Outcome(TypedDict):
    refusals: list[RuleRefusal]
    """Refusals say what was not done, and why."""


class Outcome(_Outcome, total=False):
    """Outcome is what the engine did about a request, a step, a turn or a rejection."""
    verdict: BudgetVerdict
    """Verdict is how full the window is, after a step."""
    pruned: PivotReceipt
    """Pruned and Compacted are the receipts of what was done."""
    compacted: PivotReceipt
    compact: bool
    """Compact says that the window overflows and nothing was folded, because compaction.auto is
    off: call compact before the next request."""
    continues: bool
    """Continues says that the past was folded and the engine appended a message that asks the
    model to go on: make another request even if the last answer called no tool."""
    prepare: bool
    """Prepare says that a fold is near: call prepare beside the work, and compact with prepared
    between two steps, if no request is to wait for the summary."""


class Pinned(TypedDict):
    """Pinned is a pin that is in the store."""
    pin: RulePin


class _PivotCarried(TypedDict):
    pins: int
    """pins"""
    constraints: int
    """instructions of the user"""
    userMessages: int
    """messages of the user"""
    todos: int
    """entries of the list of tasks"""
    skills: int
    """skills"""
    files: int
    """files"""
    failures: int
    """failures"""
    recallable: int
    """parts that can be recalled"""
    tokens: int
    """tokens of all of it"""


class PivotCarried(_PivotCarried, total=False):
    """Carried counts what the engine wrote below a summary."""
    hot: int
    """calls and pieces of files, verbatim"""


class PivotMoney(TypedDict):
    """Money is what a compaction or a pruning comes to in US dollars, by the price of the model
    that reads the session. What is not known is nil."""
    model: str
    """the model that reads the session"""
    step: Optional[float]
    """US dollars that each later step saves: the removed tokens, at the price of reading them from
    the cache."""
    rewritten: int
    """Tokens after the first change that are written to the provider's cache again."""
    rewriting: Optional[float]
    """US dollars that rewriting costs once, beyond reading these tokens; nothing if the cache is
    cold."""
    summary: Optional[float]
    """US dollars for the summary calls"""
    steps: Optional[int]
    """Steps after which it has paid for itself, 0 at once; null for never, or if it is unknown."""


class _PivotReceipt(TypedDict):
    id: str
    """its id, which "winnow undo SRC ID" takes"""
    sessionID: str
    """id of the session"""
    kind: str
    """"compaction", "pruning", "restore" or "pin"."""
    time: float
    """when it was made"""
    policy: str
    """the policy in force"""
    trigger: str
    """Why it was made: "manual"; "turn" and "step" (one ended); "threshold" (the window
    overflows); "rejected" (the provider rejected the request as too long); "background" (the
    window was about to overflow, and the summary had been written while the work went on);
    "cold" (the provider's cache held nothing of the prompt, so it cost nothing extra); "pays"
    (it saves more than it costs to write the prompt to the cache again); "first-send" (no
    request had it yet, and it says nothing new); "asked" (the agent asked for it, and its turn
    had ended); "discard"; "distill"; "restore"; "pin"; or "imported" for a pivot or a restore
    that came with a file."""
    messagesBefore: int
    """messages in the window before"""
    messagesAfter: int
    """messages in the window afterwards"""
    tokensBefore: int
    """tokens of the rendered view before"""
    tokensAfter: int
    """tokens of the rendered view afterwards"""


class PivotReceipt(_PivotReceipt, total=False):
    """Receipt records one compaction or commit: before, after, what went, what it cost, how to
    undo it. Token figures describe the rendered view, placeholders included, as the session's
    counter measures it."""
    log: int
    """for a pruning: messages that the log had at the time"""
    usable: int
    """The budget of the view in tokens; omitted if it is unlimited."""
    scale: float
    """Tokens of the model for each that the counter estimates, as learned from reports by then.
    All tokens of the receipt are scaled by it; omitted, it is 1."""
    marker: str
    """id of the marker of the pivot"""
    summary: str
    """id of the message with the summary"""
    tailStart: str
    """id of the first message that stays verbatim"""
    folded: int
    """messages that the summary replaces"""
    tail: int
    """messages that stay verbatim"""
    gone: dict[str, int]
    """Tokens that the summary now replaces, by kind as in "tokens.byKind" of "inspect"."""
    carried: PivotCarried
    """the counts of everything carried over under the summary"""
    summarizer: str
    """Who wrote the summary: "offline", "provider/model", or "hook"."""
    usage: list[SessionUsage]
    """The usage that the provider reported for each summary call, even a failed one."""
    cost: float
    """US dollars for all summary calls"""
    duration: float
    """seconds that it took"""
    prepared: bool
    """Whether the summary was written before it was needed; its cost was recorded then."""
    notes: list[str]
    """Sentences: how it was made to fit, which text was rejected, which model was asked instead."""
    struck: list[PivotStruck]
    """Words that a model wrote into the summary although they occur nowhere in the summarised
    messages. The summary shows them struck through."""
    committed: list[RuleElision]
    """The elisions that were committed with it; undo removes them, redo commits them again."""
    replaced: list[RuleElision]
    """The elisions that it replaced, for example a summary by a newer one, or that a restore or a
    pin took back; undo brings them back."""
    saved: int
    """tokens by which the view became smaller"""
    rewritten: int
    """For a pruning: tokens of the messages in the provider's cache that must be written to it
    again."""
    quoted: list[str]
    """For a restore: ids of the folded parts that are now quoted after the summary."""
    pinned: RulePin
    """for a pin: the pin"""
    letGo: list[str]
    """For a compaction: the receipts of restores whose parts did not fit; these parts are folded
    again."""
    money: PivotMoney
    """its savings and its cost in US dollars"""
    unbound: int
    """Parts with reasoning that an undo or redo left out: their model takes reasoning only after
    the exact prompt that it was made for. They are shown again when that undo or redo is taken
    back."""
    undo: str
    """the command that takes it back"""


class PivotStruck(TypedDict):
    """Struck is one claim of a summary that nothing supports."""
    kind: str
    """"path", "command", "identifier" or "number"."""
    text: str
    """the words"""


PrunedMessages = TypedDict(
    "PrunedMessages",
    {
        "messages": "list[Any]",
        "from": "list[int]",
        "sent": "ReportSent",
    },
)


class Receipted(TypedDict, total=False):
    """Receipted is what was done."""
    receipt: PivotReceipt
    """Receipt is missing if nothing was done."""


class Rejection(TypedDict, total=False):
    """Rejection is how a provider refused a request, as far as it is known."""
    status: int
    """Status is that of HTTP."""
    code: str
    """Code is the code or type of the error."""
    message: str
    """Message is the message of the error."""
    body: str
    """Body is the response as it came."""


class _Report(TypedDict):
    id: str
    """id of the session"""
    title: str
    """title of the session"""
    model: str
    """"provider/id" of the model that reads it"""
    counter: str
    """name of the counter that estimates tokens"""
    policy: str
    """the policy in force"""
    messages: int
    """Messages: for a file as in "counts", for a session of the store those of its log."""
    steps: int
    """model requests"""
    turns: int
    """turns of the user"""
    toolCalls: int
    """tool calls, counted as "messages"."""
    toolResults: int
    """tool results, counted as "messages"."""
    tokens: ReportTokens
    """the whole log as it was written, with nothing left out"""
    cost: Optional[float]
    """US dollars for all requests in the file, each at the price of its own model and counted
    once; "bill" has the details. A lower bound if "bill" has requests that are "unpriced" or
    "unreported"; null if nothing is known about any of them."""
    bill: BillSums
    """the cost by purpose"""
    window: ReportWindow
    """the messages that count now"""
    candidates: list[ReportCandidate]
    """Elisions that a rule found and that are not committed."""
    byRule: list[ReportRuleSum]
    """Parts that could be left out, by rule, the largest sum first; includes candidates that are
    not listed."""
    refusals: list[RuleRefusal]
    """parts that rules found and let stay"""
    constraints: list[str]
    """The user's instructions that are in force; every summary keeps them word for word."""
    dismissed: list[str]
    """Detected instructions that were dismissed; "winnow protect SRC" lists them with their
    numbers."""
    pins: list[RulePin]
    """the pins of the session"""
    strata: list[ReportStratum]
    """the timeline, one entry for each message of the log"""


class Report(_Report, total=False):
    """Report says where the tokens of a session went, what can go, and what the window looks like
    now. Token figures are estimates by the session's counter."""
    unpriced: list[str]
    """The models without a known price, with their service if it is not the usual one."""
    costs: ReportCosts
    """The cost by the content that it was paid for, in US dollars; omitted if no cost is known,
    and for files that are too large to be held."""
    summaries: ReportSummaryCalls
    """Requests to models for summaries, including those that failed and stand in no log."""
    omitted: list[ReportRuleSum]
    """Candidates that are not listed, by rule: for a file of 64 MB and more only the largest 5,000
    are listed."""
    missed: list[SessionMissed]
    """Content that the agent got back by "winnow recall", or the tool "recall" of "winnow mcp",
    after it had been left out, oldest first: "part", "time", and "tokens" of the content."""


class _ReportCandidate(TypedDict):
    part: str
    """id of the part"""
    message: str
    """id of its message"""
    field: str
    """The field of the part that is left out or shortened: "output", "error", "input",
    "attachments", "text", "part"."""
    rule: str
    """name of the rule that found it"""
    because: str
    """the reason, a sentence"""
    saves: int
    """Tokens, less those of the text that is shown instead. With the counter that learns from
    reported usage each value is rounded, so their sum may differ from that of the view by a few
    tokens."""


class ReportCandidate(_ReportCandidate, total=False):
    """Candidate is an elision that a rule found and nobody committed."""
    by: str
    """Ids of the parts that make this one redundant, separated by spaces; these parts stay
    visible."""
    of: str
    """For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
    made to count again, since it was made, separated by spaces."""
    shown: str
    """The exact text that stands in its place, for as long as it is left out."""
    time: float
    """when it was committed; a candidate has no time"""
    tool: str
    """the tool"""
    target: str
    """The file, command or address that the tool was called on."""
    when: str
    """When it may be left out, in a few words: "with the next request", "pays in about 61 steps"."""
    wait: ScheduleWait
    """why it is not left out with the next request"""


class _ReportCosts(TypedDict):
    total: float
    """all requests whose cost is known; "split" divides it"""
    split: BillSplit
    """the total, divided by use of the provider's cache"""
    byKind: dict[str, float]
    """By kind: the kinds of "tokens.byKind", for carrying them, and "system, tools", "answers",
    "writing summaries", "sub-agents", "left branches", "in vain", "searches". They add up to
    "total"."""
    byTool: dict[str, float]
    """The inputs and outputs of calls, for carrying them, by tool."""
    byFile: dict[str, float]
    """The inputs and outputs of calls, for carrying them, by the path that they name."""
    byModel: dict[str, float]
    """By the model that answered; they add up to "total"."""
    byTurn: list[ReportTurnCost]
    """The turns with requests, oldest first. With "beside" they add up to "total"."""
    requests: list[ReportRequest]
    """every request, oldest first"""


class ReportCosts(_ReportCosts, total=False):
    """Costs says what the money of a session went to. Amounts are US dollars. Each request is
    billed by the usage that the log reports, as bill.Sums says, and each bill is divided into
    what was paid for the prompt (read from the provider's cache, written to it, neither) and
    for the answer. What a prompt cost is shared among all that it carried, in proportion to the
    tokens that each had in that request, by the session's counter: the parts of the log that
    were in the window at the time, as much of them as was shown, and what requests carry
    besides (system prompt, tools) where its size is known. What an answer cost belongs to the
    turn and the model that wrote it, and is of the kind [Answers]. So the amounts of ByKind add
    up to Total, which is the cost of Report.Bill; so do those of ByModel, and those of ByTurn
    with Beside. Of ByTool and ByFile each is a share of the prompts. Requests of unknown cost
    are in none of them."""
    beside: float
    """Requests of no turn: sub-agents, abandoned branches, summaries that winnow asked for, failed
    requests."""


class ReportCut(TypedDict):
    """Cut is a window that the server seems to have and does not tell."""
    steps: int
    """steps in a row in which that is so"""
    appended: int
    """tokens that were added meanwhile, by estimate"""
    reported: int
    """tokens of the largest prompt that it reported"""
    window: int
    """About how many tokens its window has: the usual size just above."""
    text: str
    """the observation, and what to do, as a sentence"""


class _ReportExplanation(TypedDict):
    part: str
    """id of the part"""
    message: str
    """id of its message"""
    type: str
    """type of the part"""
    step: int
    """The model request that it belongs to, 1-based; 0 before the first."""
    turn: int
    """its turn, 1-based; 0 before the first"""
    tokens: int
    """its tokens in the log"""
    shownTokens: int
    """Its tokens in the view; for a folded part that is shown again, those of the quotation."""
    zone: str
    """its zone, as in "strata.zones" of "inspect"."""
    because: str
    """the reason, a sentence"""
    elisions: list[ReportReason]
    """The committed elisions of this part, each of another field."""
    candidates: list[ReportReason]
    """the elisions that rules would make"""
    refusals: list[RuleRefusal]
    """why rules that found it let it stay"""
    standsFor: list[ReportRef]
    """parts that were left out because this one shows the same"""
    wouldStandFor: list[ReportRef]
    """Parts that would be left out because this one shows the same."""
    pinned: bool
    """whether it is pinned"""
    text: str
    """The text that the model sees now: the result of a call, or the text of another part."""
    pieces: list[ReportPiece]
    """its texts; for attachments, names and types"""


class ReportExplanation(_ReportExplanation, total=False):
    """Explanation says of one part why it is shown, elided, protected or a candidate."""
    handle: str
    """Its short name, which commands accept in place of the id."""
    tool: str
    """for a call: the tool"""
    target: str
    """For a call: the file, command or address that it was called on."""
    rule: str
    """The rule that left it out, would leave it out, or found it and let it stay."""
    candidate: RuleElision
    """the first of the candidates"""
    kept: ReportKept
    """the protection that keeps it"""
    quoted: ReportQuoted
    """for a folded part that is shown again: where"""
    undo: str
    """the command that shows it whole again"""


class _ReportKept(TypedDict):
    by: str
    """"pin", "tool", "path", "age" (too new for the rule that found it), "turns" (in the last
    turns), "newest" (the newest tool output) or "tail" (in the tail of a compaction)."""


class ReportKept(_ReportKept, total=False):
    """Kept says what protects a part."""
    what: str
    """The name or pattern that matched, or the id of the marker."""
    switch: str
    """the configuration key that says so"""


class _ReportLeftOut(TypedDict):
    callID: str
    """"" for a part that is no call"""
    tool: str
    """name of the tool, "" for a part that is no call"""
    part: str
    """id of the part"""
    message: str
    """id of its message"""
    field: str
    """The field of the part that is left out or shortened: "output", "error", "input",
    "attachments", "text", "part"."""
    rule: str
    """name of the rule that found it"""
    because: str
    """the reason, a sentence"""
    saves: int
    """Tokens, less those of the text that is shown instead. With the counter that learns from
    reported usage each value is rounded, so their sum may differ from that of the view by a few
    tokens."""


class ReportLeftOut(_ReportLeftOut, total=False):
    """LeftOut is a decision to send less of one part, and the call that the part belongs to."""
    by: str
    """Ids of the parts that make this one redundant, separated by spaces; these parts stay
    visible."""
    of: str
    """For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
    made to count again, since it was made, separated by spaces."""
    shown: str
    """The exact text that stands in its place, for as long as it is left out."""
    time: float
    """when it was committed; a candidate has no time"""


class _ReportMiss(TypedDict):
    cause: str
    """Why: "model" (another model had answered before), "idle" (a pause longer than the cache
    lives), "compaction", "edit" (the past was pruned or changed), "beginning" (not even the
    beginning was there, as when tools or the system prompt change, or the provider drops its
    cache), "unknown"."""
    tokens: int
    """Tokens that the prompt before had already, and that the cache should have had. Tokens that
    are new to the prompt are no miss."""
    cost: float
    """US dollars that they cost beyond reading them from the cache; 0 if no price is known."""


class ReportMiss(_ReportMiss, total=False):
    """Miss is what a request had to pay for anew because the cache no longer had it."""
    idle: float
    """milliseconds since the request before"""


class ReportPiece(TypedDict):
    """Piece is one text of a part: as the log has it, and as the model is shown it."""
    field: str
    """the field of the part, as in an elision"""
    log: str
    """the text as in the log"""
    shown: str
    """The text as the model sees it, or would see it if it were not folded."""
    would: str
    """The text as the model would see it if the candidates were committed."""


class _ReportQuoted(TypedDict):
    message: str
    """id of the message that quotes it"""
    by: str
    """id of the receipt of the restore, or of the pin"""
    time: float
    """when it was restored or pinned"""
    undo: str
    """the command that takes it back"""


class ReportQuoted(_ReportQuoted, total=False):
    """Quoted is how a folded part is shown again: by a message behind the summary, because it was
    restored or is pinned."""
    pin: bool
    """whether it is a pin"""


class _ReportReason(TypedDict):
    part: str
    """id of the part"""
    message: str
    """id of its message"""
    field: str
    """The field of the part that is left out or shortened: "output", "error", "input",
    "attachments", "text", "part"."""
    rule: str
    """name of the rule that found it"""
    because: str
    """the reason, a sentence"""
    saves: int
    """Tokens, less those of the text that is shown instead. With the counter that learns from
    reported usage each value is rounded, so their sum may differ from that of the view by a few
    tokens."""
    covering: list[ReportRef]
    """the parts that make it redundant"""
    stepsSince: int
    """Steps that have begun since it was committed, as far as the log has times."""
    turnsSince: int
    """Turns that have begun since it was committed, as far as the log has times."""


class ReportReason(_ReportReason, total=False):
    """Reason is an elision of a part, one that stands or one that a rule would make, with what it
    takes to judge it."""
    by: str
    """Ids of the parts that make this one redundant, separated by spaces; these parts stay
    visible."""
    of: str
    """For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
    made to count again, since it was made, separated by spaces."""
    shown: str
    """The exact text that stands in its place, for as long as it is left out."""
    time: float
    """when it was committed; a candidate has no time"""
    switch: str
    """the configuration key that turns the rule off"""
    receipt: str
    """id of the receipt of the commit"""
    together: int
    """How many parts that commit left out or shortened, including this one."""
    undo: str
    """the command that undoes all of them"""
    when: str
    """For a candidate: when it may be left out, or what it waits for."""
    restored: bool
    """For a candidate: whether it was left out before and restored. Only pruning on demand leaves
    it out again."""


class _ReportRef(TypedDict):
    part: str
    """id of the part"""
    type: str
    """type of the part"""
    step: int
    """its step; 0 before the first"""


class ReportRef(_ReportRef, total=False):
    """Ref names a part of the log for people."""
    handle: str
    """its short name"""
    tool: str
    """for a call: the tool"""
    target: str
    """For a call: the file, command or address that it was called on."""


class _ReportRequest(TypedDict):
    time: float
    """when it was made"""
    kind: str
    """"step", "summary", "agent" (a sub-agent) or "left" (beside the session)."""
    model: str
    """the model"""
    bill: Bill
    """its bill"""


class ReportRequest(_ReportRequest, total=False):
    """Request is one request that a session took."""
    failed: bool
    """whether it was paid for in vain"""
    message: str
    """id of the message that answers it"""
    turn: int
    """the turn of that message, 1-based"""
    step: int
    """the step of that message, 1-based"""
    split: BillSplit
    """its cost, divided as "costs.split" is"""
    miss: ReportMiss
    """The part of the prompt that the provider's cache no longer had; omitted if it had everything
    that it could have had."""


class _ReportRuleSum(TypedDict):
    rule: str
    """the rule"""
    parts: int
    """how many parts"""
    saves: int
    """Tokens that it would save to leave them out, less those of the text that would be shown
    instead."""


class ReportRuleSum(_ReportRuleSum, total=False):
    """RuleSum sums up candidates of one rule."""
    when: str
    """When the first of them may be left out, in a few words; omitted if it is not known."""


class ReportSent(TypedDict):
    """Sent says how much of a conversation is sent, and what is left out. Sizes are estimates in
    tokens, without system prompt and tools."""
    before: int
    """the messages as they were handed in"""
    after: int
    """the messages that are sent"""
    leftOut: list[ReportLeftOut]
    """parts of messages that are sent, in their order"""
    folded: int
    """Folded is how many messages the summary stands for, and Summary is its text; 0 and "" for
    none."""
    summary: str


class _ReportStratum(TypedDict):
    message: str
    """id of the message"""
    role: str
    """"user" or "assistant"."""
    turn: int
    """its turn, 1-based; 0 before the first"""
    zones: dict[str, int]
    """Tokens of the log by zone: "folded", "summary", "pruned", "prunable", "protected", "talk",
    "active"."""


class ReportStratum(_ReportStratum, total=False):
    """Stratum is one message in the timeline."""
    cost: float
    """US dollars for the requests that it answers; omitted if it answers none, or their cost is
    unknown."""
    written: str
    """The beginning of the user's text, where a turn begins."""
    pivot: bool
    """whether it is the marker of an active pivot"""
    messages: int
    """How many messages the entry stands for, if more than one."""


class ReportSummaryCalls(TypedDict):
    """SummaryCalls counts the requests to models for summaries."""
    calls: int
    """how many requests"""
    failed: int
    """how many of them failed"""
    usage: SessionUsage
    """the usage of all of them"""
    cost: Optional[float]
    """US dollars for those whose cost is known; null if nothing is known."""


class ReportTokens(TypedDict):
    """Tokens itemises the whole log as it was written, nothing elided."""
    total: int
    """tokens of the whole log"""
    byKind: dict[str, int]
    """Tokens by kind: "user", "synthetic", "assistant", "reasoning", "tool input", "tool output",
    "file", "summary"."""
    byTool: dict[str, int]
    """tokens by tool, input and output together"""
    byFile: dict[str, int]
    """tokens of the calls that name a path, by path"""


class ReportTurnCost(TypedDict):
    """TurnCost is what a turn cost: all its requests."""
    turn: int
    """the turn, 1-based; 0 before the first"""
    requests: int
    """its requests"""
    cost: float
    """their cost"""


class _ReportVerdict(TypedDict):
    overflow: bool
    """whether the window does not fit"""
    total: int
    """tokens that were counted"""
    usable: int
    """Tokens that they were compared with: the budget, or the threshold below it."""
    code: str
    """The reason as a word: "fits", "overflow", "auto-off" (it overflows, and "compaction.auto" is
    off, so nothing is folded), "doubtful-reports" (the report cannot be of one request),
    "unknown-limits" (no limit is known), "unlimited" (the configuration says that there is
    none)."""
    reason: str
    """the reason as a sentence"""


class ReportVerdict(_ReportVerdict, total=False):
    """Verdict is what the policy in force makes of the newest usage that was reported in the
    window. It is by the policy's own formula: that of classic and aggressive adds input, cache
    reads and output up (S001 phase 1), that of balanced cache writes and what came since as
    well."""
    step: str
    """id of the message that it was reported for"""
    stale: bool
    """Whether something was left out, or shown again, since: the next report will be another one."""


class _ReportWindow(TypedDict):
    messages: int
    """messages in the window"""
    tokens: int
    """their tokens, as rendered"""
    overhead: int
    """Tokens of system prompt and tools, derived from the first reported step; 0 is unknown."""
    context: int
    """tokens that the model accepts; 0 is unknown"""
    usable: int
    """tokens that may be used; 0 is unlimited"""
    overflow: bool
    """Whether it overflows: by "window.verdict", unless that is stale; without one, whether tokens
    and overhead together are over the usable budget (under "balanced", reach it)."""
    elided: int
    """parts that are left out or shortened"""
    elidedTokens: int
    """tokens that this saves"""
    folded: int
    """messages of the log before the window"""


class ReportWindow(_ReportWindow, total=False):
    """Window is what counts now."""
    verdict: ReportVerdict
    """The judgement of the policy in force about the newest usage that was reported in the window,
    by its own formula: "classic" and "aggressive" add input, cache reads and output, "balanced"
    cache writes and an estimate of later messages as well. The size of the next request is
    "window.tokens" and "window.overhead"."""
    cut: ReportCut
    """A sign that the server drops the beginning of prompts: while the log grew, the prompts that
    it reported did not."""
    reason: str
    """which limits were assumed, and why"""
    pivot: str
    """id of the marker that the window begins with"""
    pending: str
    """id of a marker that waits to be executed"""


class _Result(TypedDict):
    call: str
    """Call is the id of the call, or of its part; of several calls with one id the newest is
    meant."""


class Result(_Result, total=False):
    """Result is what a call gave back, or how far it has come."""
    output: str
    """Output is what it gave back; Error, if it is not "", is why it failed."""
    error: str
    status: str
    """Status is "completed" or "error" if it is "", or "running" for one that has not ended."""
    title: str
    """Title is for people."""
    metadata: Any
    """Metadata is an object of the host's own."""
    attachments: list[SessionPart]
    """Attachments are parts of the type "file" that the tool returned."""


class _RuleElision(TypedDict):
    part: str
    """id of the part"""
    message: str
    """id of its message"""
    field: str
    """The field of the part that is left out or shortened: "output", "error", "input",
    "attachments", "text", "part"."""
    rule: str
    """name of the rule that found it"""
    because: str
    """the reason, a sentence"""
    saves: int
    """Tokens, less those of the text that is shown instead. With the counter that learns from
    reported usage each value is rounded, so their sum may differ from that of the view by a few
    tokens."""


class RuleElision(_RuleElision, total=False):
    """Elision is the decision to show less of one part."""
    by: str
    """Ids of the parts that make this one redundant, separated by spaces; these parts stay
    visible."""
    of: str
    """For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
    made to count again, since it was made, separated by spaces."""
    shown: str
    """The exact text that stands in its place, for as long as it is left out."""
    time: float
    """when it was committed; a candidate has no time"""


class RuleKey(TypedDict):
    """Key names what an elision is about: no two elisions of a ledger share it."""
    part: str
    """id of the part"""
    field: str
    """the field of it, as in an elision"""


class _RulePin(TypedDict):
    id: str
    """its id"""


class RulePin(_RulePin, total=False):
    """Pin is a part, a whole message, or a text that must survive every elision and every pivot
    verbatim."""
    part: str
    """id of the part that is pinned"""
    message: str
    """Id of the message that is pinned, with all its parts, even those that are added later."""
    text: str
    """the text that is pinned"""
    note: str
    """a note by the user"""
    time: float
    """when it was pinned"""
    by: str
    """"agent" if an agent pinned it by itself, through MCP."""


class _RuleRefusal(TypedDict):
    code: str
    """The reason as a word: "below-minimum", "protected", "disabled", …; "unheeded" if a running
    OpenCode would send it all the same."""
    reason: str
    """the reason as a sentence"""


class RuleRefusal(_RuleRefusal, total=False):
    """Refusal says why something was left alone. Part is empty when it speaks of the whole
    session."""
    rule: str
    """the rule that refused"""
    part: str
    """id of the part"""
    tokens: int
    """the tokens at stake"""


class _ScheduleWait(TypedDict):
    code: str
    """the reason as a word"""
    parts: int
    """parts in the batch that would pay soonest"""
    saves: int
    """tokens that this batch would save at each step"""
    rewrites: int
    """Tokens that would be written to the provider's cache again for it, once."""


class ScheduleWait(_ScheduleWait, total=False):
    """Wait says why something that was found is not committed yet. The zero value is of what is."""
    steps: int
    """Steps, from now on, after which the savings have paid for the rewrite."""


class SessionCacheUsage(TypedDict, total=False):
    """CacheUsage is the part of a prompt that the provider's cache served or took in, in tokens."""
    read: int
    write: int
    write1h: int
    """Write1h is how much of Write stays for an hour, where the provider tells: that is dearer
    than its usual lifetime."""


class SessionMessage(TypedDict):
    """Message is one entry of the log: what is known about it, and its parts."""
    info: SessionMessageInfo
    parts: list[SessionPart]


class _SessionMessageInfo(TypedDict):
    id: str
    sessionID: str
    role: str
    time: SessionMessageTime


class SessionMessageInfo(_SessionMessageInfo, total=False):
    """MessageInfo describes a message. Fields that only one role has are empty for the other."""
    agent: str
    model: SessionModelRef
    """Of a user message: the model that is to answer."""
    parentID: str
    """Of an assistant message."""
    modelID: str
    providerID: str
    variant: str
    mode: str
    path: SessionPath
    cost: float
    """US dollars, summed over the steps of the message"""
    tokens: SessionUsage
    """of the last step"""
    finish: str
    """why the model stopped; empty while it has not"""
    repeats: str
    """Repeats is the id of an earlier message of the same request, which has its usage: this one
    took nothing more."""
    error: Any
    """{name, data}"""
    summary: Any
    """Summary is true on the assistant message that answers a marker. On a user message it is an
    object for people (title, body, diffs), which has no bearing on the context."""


class _SessionMessageTime(TypedDict):
    created: float


class SessionMessageTime(_SessionMessageTime, total=False):
    """MessageTime says when a message was begun and finished."""
    completed: float


class SessionMissed(TypedDict):
    """Missed is a part that was left out and then needed."""
    part: str
    """id"""
    time: float
    tokens: int
    """of what was given back"""


class _SessionModelRef(TypedDict):
    providerID: str


class SessionModelRef(_SessionModelRef, total=False):
    """ModelRef names a model."""
    id: str
    """ID is set instead of ModelID in a session's Info; the format has both spellings."""
    modelID: str
    variant: str
    """a named set of options, such as a reasoning effort"""


class _SessionPart(TypedDict):
    type: str


class SessionPart(_SessionPart, total=False):
    """Part is one piece of a message. It is flat, as its JSON is: which fields count is told by
    Type."""
    id: str
    sessionID: str
    messageID: str
    text: str
    """Text of a text or reasoning part."""
    synthetic: bool
    """written by a program in the user's name"""
    ignored: bool
    """shown to people, never sent"""
    metadata: Any
    """Metadata of a text or reasoning part: what the provider wants back, such as signatures."""
    time: SessionSpan
    mime: str
    """A file part."""
    filename: str
    url: str
    """data:, file: or http(s):"""
    source: Any
    """Source says where a file or agent part was mentioned; its shape differs by kind."""
    callID: str
    """A tool part: a call and its result in one, so that nothing can separate them."""
    tool: str
    state: SessionToolState
    snapshot: str
    """Step markers, snapshots and patches."""
    reason: str
    """of step-finish"""
    cost: float
    """US dollars"""
    tokens: SessionUsage
    hash: str
    files: list[str]
    name: str
    """Agents, subtasks, retries."""
    prompt: str
    description: str
    agent: str
    attempt: int
    error: Any
    auto: bool
    """A compaction part: "compact here"."""
    overflow: bool
    """the provider rejected the request as too long"""
    tail_start_id: str
    """the first message that stays verbatim"""


class SessionPath(TypedDict):
    """Path holds the folders in which a message was written."""
    cwd: str
    root: str


class SessionSpan(TypedDict, total=False):
    """Span is when something began and ended. Compacted is the mark that a product left on a tool
    part whose output it no longer sends; reading it turns it into an elision."""
    start: float
    end: float
    compacted: float
    created: float
    """of a retry"""


class _SessionToolState(TypedDict):
    status: str


class SessionToolState(_SessionToolState, total=False):
    """ToolState is a call's input and, once it ended, its result."""
    input: Any
    """a JSON object; whatever the model sent"""
    raw: str
    """pending: the arguments as far as they were received"""
    title: str
    output: str
    error: str
    metadata: Any
    time: SessionSpan
    attachments: list[SessionPart]
    """file parts that the tool returned"""


class SessionUsage(TypedDict, total=False):
    """Usage is what the provider reported for a step, in tokens. Input excludes what was read from
    or written to the prompt cache; Output excludes Reasoning where the provider tells them
    apart."""
    total: int
    """as reported; 0 when the provider gave none"""
    input: int
    output: int
    reasoning: int
    cache: SessionCacheUsage
    searches: int
    """Searches is how many searches of the web the provider made for the step: they have a price
    each."""
    tier: str
    """Tier is the service of the provider beside its usual one, which has other prices:
    "priority", "fast", several joined by "+"."""


class Stored(TypedDict):
    """Stored is a message with the ids of its parts."""
    id: str
    parts: list[str]


Summarize = TypedDict(
    "Summarize",
    {
        "session": "str",
        "model": "str",
        "as": "str",
        "system": "str",
        "messages": "list[Any]",
        "maxOutput": "int",
    },
)


class _Summary(TypedDict):
    text: str
    """Text is the summary."""


class Summary(_Summary, total=False):
    """Summary is the client's answer to summarize. Instead of it the client can answer with an
    error; its data says how the provider refused the request, as a Rejection does, and the
    engine sends a request in another form, or writes the summary without a model."""
    finish: str
    """Finish is why the model stopped: "stop" if it is "", "length" if it was cut off, "refused",
    "tool-calls"."""
    usage: Any
    """Usage is what the provider reported, in the form of the format asked for."""
    cost: float
    """Cost is in US dollars; it is found by the model's prices if it is missing."""


Viewed = TypedDict(
    "Viewed",
    {
        "as": "str",
        "model": "str",
        "tokens": "int",
        "keep": "int",
        "messages": "list[Any]",
        "state": "str",
    },
)


class _Whole(TypedDict):
    text: str
    """Text is the result of a call, or the text of another part."""
    part: SessionPart
    """Part is all of it."""


class Whole(_Whole, total=False):
    """Whole is a part as it was written."""
    handle: str
    """Handle is its short name."""


class _WinnowEdited(TypedDict):
    targets: list[EditTarget]
    """in the order in which they were named"""
    changed: bool
    """Changed says that the view is another one now."""


class WinnowEdited(_WinnowEdited, total=False):
    """Edited is what became of the parts that an edit names: one commit for all targets that could
    be done."""
    receipt: PivotReceipt
    """Receipt is that of the commit; Undo with its id takes it back as a whole. nil when nothing
    was done."""


class _WinnowEvent(TypedDict):
    type: str
    """the type of the event, see below"""
    sessionID: str
    """id of the session"""
    time: float
    """when it happened"""


class WinnowEvent(_WinnowEvent, total=False):
    """Event is one thing that happened to a session. Which fields are set depends on the type. It
    marshals to one line of JSON."""
    message: str
    """id of the message"""
    part: str
    """id of the part"""
    text: str
    """text of a delta, a warning, a failure"""
    code: str
    """For a failure, the reason as a word; "silently-cut" for a warning that the server drops the
    beginning of prompts."""
    receipt: PivotReceipt
    """the receipt"""
    elisions: list[RuleKey]
    """the elisions that were undone"""
    verdict: BudgetVerdict
    """how full the window is"""
    usage: SessionUsage
    """the usage that the provider reported"""
    cost: float
    """US dollars"""
    kind: str
    """"step" or "summary"."""
    request: int
    """Counts the requests of one compaction: the text of a later request replaces that of an
    earlier one."""
    background: bool
    """Whether it is about a compaction whose summary is, or was, written in the background."""


class _WinnowPreview(TypedDict):
    sessionID: str
    kind: str
    """Kind is Compaction, or Pruning where folding would not make the view smaller and what can be
    elided goes all the same."""
    model: str
    """who reads the session, "provider/model"."""
    overhead: int
    """what system prompt and tools take besides, as far as a report told"""
    messagesBefore: int
    messagesAfter: int
    tokensBefore: int
    tokensAfter: int
    saved: int
    """TokensBefore − TokensAfter"""
    folded: int
    """Folded is how many messages the summary would stand for, as they would be shown now, the
    earlier summary included."""
    foldedTokens: int
    gone: dict[str, int]
    """tokens by kind, as in a receipt"""
    tail: int
    """messages that would stay"""
    tailTokens: int
    carried: PivotCarried
    """written under the summary"""
    committed: list[RuleElision]
    """Committed are the elisions that would be committed with it; their time is that of the
    preview."""
    notes: list[str]
    """Notes say what would be done to make the request fit, who cannot be asked, and what is not
    foreseen."""


class WinnowPreview(_WinnowPreview, total=False):
    """Preview is what Compact would do to a session as it stands. Token figures are of the
    rendered view, by the session's counter. What depends on a summary that a model has yet to
    write is an estimate: Summary says on what it rests."""
    usable: int
    """the budget of the view; 0 is unlimited"""
    tailStart: str
    """id of the first of them"""
    split: bool
    """the tail would begin inside a turn"""
    summary: WinnowSummaryPreview
    """Summary is what the summary would take, nil of a pruning."""


class _WinnowSummaryPreview(TypedDict):
    summarizer: str
    """"offline", or "provider/model"."""
    tokens: int
    """Tokens is its length, and Basis where that comes from: "written" (the offline summariser
    wrote it, so that everything here is exact), "earlier" (as long as the newest summary of
    this session by the same summariser), or "bound" (as long as it may be; most are shorter)."""
    basis: str
    calls: int
    """Calls is how many requests it takes, Prompt what they send, Cached what of it should be read
    from the provider's cache, Output what they answer, reasoning not included."""
    prompt: int
    cached: int
    output: int
    cost: float
    """Cost in US dollars at the prices of the model. 0 of a model says that no price is known."""


class WinnowSummaryPreview(_WinnowSummaryPreview, total=False):
    """SummaryPreview is who would write a summary, how long it is taken to be, and what it would
    cost."""
    prepared: bool
    """Prepared: Compact would use, or wait for, the summary that is prepared in the background, if
    it still fits. The rest is of a new one."""
