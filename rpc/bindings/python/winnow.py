"""A client of `winnow engine --stdio`: one file, the standard library, Python 3.9 or newer.

Copy it into your project.

    with Winnow(summarize=ask_my_model, summarize_as="anthropic") as winnow:
        session = winnow.create(model="anthropic/claude-sonnet-4-5")["session"]
        winnow.append(session, as_="anthropic", messages=[{"role": "user", "content": "Hello."}])
        messages = winnow.messages(session, "anthropic")  # what the model is to be sent

docs/bindings.md of winnow has the whole loop. Requests can be made from several threads; those of
one session are done in the order in which they were made.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from typing import Any, Callable, Optional, Sequence

__all__ = ["PROTOCOL", "Winnow", "WinnowError"]


class WinnowError(Exception):
    """Why a request was not done.

    code is the reason as a word ("not-found", "nothing-to-fold", "busy", "gone" of an engine that
    ended), number that of JSON-RPC, hint what to do about it.
    """

    def __init__(self, failure: dict):
        super().__init__(failure.get("message", ""))
        data = failure.get("data") or {}
        self.number: int = failure.get("code", 0)
        self.code: str = data.get("code", "")
        self.hint: Optional[str] = data.get("hint")
        self.op: Optional[str] = data.get("op")
        self.session: Optional[str] = data.get("session")


class Connection:
    """The connection to an engine of your own. Use the class Winnow.

    summarize writes a summary with a model of yours: it is given the request as a dict with model,
    system, messages (in the format summarize_as) and maxOutput, in a thread of its own, and returns
    a dict with text and, if it is known, finish, usage and cost. Without it the configuration says
    who writes. on_event is called with each event, in the thread that reads; ask for them with
    subscribe. popen is passed on to subprocess.Popen: cwd, env.
    """

    def __init__(
        self,
        command: Sequence[str] = ("winnow", "engine", "--stdio"),
        *,
        summarize: Optional[Callable[[dict], dict]] = None,
        summarize_as: str = "plain",
        on_event: Optional[Callable[[dict], None]] = None,
        client: str = "winnow.py",
        **popen: Any,
    ):
        self._summarize = summarize
        self._on_event = on_event
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._longest = 64 << 20  # bytes of a line, until the engine has said it
        self._number = 0
        self._waiting: dict[int, queue.SimpleQueue] = {}
        self._views: dict[tuple[str, str], tuple[str, list]] = {}
        self._gone = False
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            #: What the engine is and can do.
            self.server: dict = self.request(
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

    def request(self, method: str, params: dict) -> Any:
        """Sends a request and waits for its result."""
        answer: queue.SimpleQueue = queue.SimpleQueue()
        with self._lock:
            self._number += 1
            number = self._number
            self._waiting[number] = answer
        try:
            self._send({"id": number, "method": method, "params": params})
        except BaseException:
            with self._lock:
                self._waiting.pop(number, None)
            raise
        if self._gone:  # the reader may have ended before it knew of this request
            self._end()
        line = answer.get()
        if "error" in line:
            raise WinnowError(line["error"])
        return line["result"]

    def messages(self, session: str, as_: str = "plain") -> list:
        """The messages that the model is to be sent now.

        Only what is new since the last call is read from the engine. The list is the client's: copy
        it before you change it.
        """
        state, had = self._views.get((as_, session), ("", []))
        view = self.request("view", {"session": session, "as": as_, "since": state})
        messages = had[: view["keep"]] + view["messages"]
        self._views[(as_, session)] = (view["state"], messages)
        return messages

    def close(self) -> int:
        """Ends the engine once it has answered everything, and returns its exit code."""
        with self._writing:
            if not self._process.stdin.closed:
                try:
                    self._process.stdin.close()
                except OSError:
                    pass
        code = self._process.wait()
        if threading.current_thread() is not self._reader:
            self._reader.join()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _send(self, line: dict) -> None:
        text = json.dumps({"jsonrpc": "2.0", **line}, separators=(",", ":")).encode() + b"\n"
        if len(text) > self._longest:
            data = {"code": "too-large", "hint": "send less at a time"}
            message = f"a line of {len(text)} bytes is longer than the {self._longest} that the engine reads"
            raise WinnowError({"code": -32600, "message": message, "data": data})
        with self._writing:  # not _lock: the reader goes on while a long line is written
            try:
                self._process.stdin.write(text)
                self._process.stdin.flush()
            except (OSError, ValueError):
                pass  # the engine has ended; the reader says so

    def _read(self) -> None:
        try:
            self._take_lines()
        finally:  # also where an event or a line failed: nobody waits for ever
            self._gone = True
            self._end()
            self._process.stdout.close()

    def _take_lines(self) -> None:
        for text in self._process.stdout:
            line = json.loads(text)
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

    def _answered(self, line: dict) -> None:
        with self._lock:
            if line.get("id") is None:  # the engine could not tell which request failed
                waiting, self._waiting = list(self._waiting.values()), {}
            else:
                one = self._waiting.pop(line["id"], None)
                waiting = [one] if one else []
        for answer in waiting:
            answer.put(line)

    def _end(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        data = {"code": "gone", "hint": "start it again; what was answered is stored"}
        for answer in waiting.values():
            answer.put({"error": {"code": -32003, "message": "the engine has ended", "data": data}})

    def _answer(self, line: dict) -> None:
        """Answers a request of the engine's."""
        try:
            if line["method"] != "summarize" or not self._summarize:
                raise ValueError(f"unknown method {line['method']}")
            self._send({"id": line["id"], "result": self._summarize(line["params"])})
        except Exception as error:
            # A provider's error is told as it came, so that the engine can try a shorter request.
            data = {"code": str(getattr(error, "code", "") or "")}
            status = getattr(error, "status", getattr(error, "status_code", None))
            if isinstance(status, int):
                data["status"] = status
            self._send({"id": line["id"], "error": {"code": -32000, "message": str(error), "data": data}})


def _given(**params: Any) -> dict:
    """The parameters that were given, by their names in the protocol."""
    return {name.rstrip("_"): value for name, value in params.items() if value is not None}


# Made from ../schema.json by go test ./internal/schema -update; do not edit below this line.

#: The version of the protocol that this client speaks.
PROTOCOL = 1


class Winnow(Connection):
    """A method for each request of the protocol."""

    def initialize(self, protocols: Sequence, client: Optional[str] = None, summarize: Optional[str] = None) -> dict:
        """Initialize is the first request of a client: which versions of the protocol it speaks,
        and what it can do for the engine.

        protocols: the versions of the protocol that the client speaks. The server answers with the
        newest that both speak, and with an error if there is none.
        client: the name and version of the client, for people who read a log.
        summarize: Summarize says that the client writes summaries with a model of its own: the
        server sends it requests "summarize", with messages in this format. "" leaves them to the
        configuration.

        Returns Initialized: protocol, server, methods, formats, policy, store?, maxLine,
        maxWaiting.
        """
        return self.request("initialize", _given(protocols=protocols, client=client, summarize=summarize))

    def create(self, id: Optional[str] = None, title: Optional[str] = None, directory: Optional[str] = None, parent: Optional[str] = None, model: Optional[str] = None) -> dict:
        """Create begins an empty session.

        id: the id of the session; one is made if it is "". An id that is taken is an error with the
        code "already".
        title: for people.
        directory: the working folder, absolute: paths are shortened by it.
        parent: the id of the session that this one works for.
        model: the model that reads the session, "provider/id": its limits decide when the window is
        full.

        Returns Created: session.
        """
        return self.request("create", _given(id=id, title=title, directory=directory, parent=parent, model=model))

    def fork(self, session: str, before: Optional[str] = None) -> dict:
        """Fork begins a session with the log of another one.

        session: the id of a session.
        before: the id of the message before which it ends, "" for all of it.

        Returns Created: session.
        """
        return self.request("fork", _given(session=session, before=before))

    def list(self) -> dict:
        """List lists the sessions of the store.

        Returns Listed: sessions.
        """
        return self.request("list", _given())

    def append(self, session: str, messages: Sequence, as_: Optional[str] = None, model: Optional[str] = None) -> dict:
        """Append adds messages at the end of a log. Once it is answered they are in the store.
        What a provider's format has as messages of their own, the results of calls, becomes
        part of the calls.

        session: the id of a session.
        as_: the format of Messages: "plain", or that of a provider.
        messages: those of a request body in that format, or objects Message with "plain".
        model: who wrote the assistant's messages, "provider/id"; "" is the model that reads the
        session.

        Returns Appended: messages, ended.
        """
        return self.request("append", _given(session=session, as_=as_, messages=messages, model=model))

    def update(self, session: str, results: Optional[Sequence] = None, messages: Optional[Sequence] = None) -> dict:
        """Update says more completely what was said before: what calls gave back, or a message
        that was streamed. Once it is answered it is in the store.

        session: the id of a session.
        results: what calls gave back.
        messages: Messages take the place of those that have their ids, parts included.

        Returns Appended: messages, ended.
        """
        return self.request("update", _given(session=session, results=results, messages=messages))

    def log(self, session: str, from_: Optional[int] = None) -> dict:
        """Log reads the log as it was written: nothing is left out, and nothing is folded.

        session: the id of a session.
        from_: the position of the first message that is wanted: 0 is the first of the log, -1 the
        last.

        Returns Logged: total, messages.
        """
        return self.request("log", _given(session=session, from_=from_))

    def read(self, session: str, part: str) -> dict:
        """Read returns a part as it was written, whatever the model is shown of it.

        session: the id of a session.
        part: the id of the part, the id of its call, or its handle.

        Returns Whole: handle?, text, part.
        """
        return self.request("read", _given(session=session, part=part))

    def begin(self, session: str) -> dict:
        """Begin says that a request is about to be sent, before its view is taken: what pays is
        left out now.

        session: the id of a session.

        Returns Outcome: verdict?, pruned?, compacted?, compact?, continues?, prepare?, refusals.
        """
        return self.request("begin", _given(session=session))

    def view(self, session: str, as_: Optional[str] = None, since: Optional[str] = None) -> dict:
        """View is what the model is to be sent now.

        session: the id of a session.
        as_: the format of the messages.
        since: the State of the view that the client has: only what differs from it is sent. "" asks
        for the whole view, and so does a state that the server does not have any more.

        Returns Viewed: as, model, tokens, keep, messages, state.
        """
        return self.request("view", _given(session=session, as_=as_, since=since))

    def observe(self, session: str, usage: Optional[Any] = None, as_: Optional[str] = None, rejection: Optional[dict] = None) -> dict:
        """Observe tells what the provider reported for the newest step, once the results of its
        calls are in the log; or, with rejection, how it refused the request. The engine prunes
        and folds if it must.

        session: the id of a session.
        usage: what the provider reported, in the form of As.
        as_: the format of Usage: the provider's own object "usage" (Gemini: "usageMetadata"), or
        with "plain" that of winnow: {input, output, reasoning, cache: {read, write}}.
        rejection: how the provider refused the request. If it was not because of its length, the
        error has the code "bad-input" and nothing is done.

        Returns Outcome: verdict?, pruned?, compacted?, compact?, continues?, prepare?, refusals.
        """
        return self.request("observe", _given(session=session, usage=usage, as_=as_, rejection=rejection))

    def end_turn(self, session: str) -> dict:
        """EndTurn says that the model called no more tools.

        session: the id of a session.

        Returns Outcome: verdict?, pruned?, compacted?, compact?, continues?, prepare?, refusals.
        """
        return self.request("endTurn", _given(session=session))

    def compact(self, session: str, focus: Optional[str] = None, to: Optional[int] = None, auto: Optional[bool] = None, later: Optional[bool] = None, waiting: Optional[bool] = None, prepared: Optional[bool] = None) -> dict:
        """Compact folds the past into a summary.

        session: the id of a session.
        focus: what the summary is to dwell on.
        to: how many tokens the view may have afterwards, 0 without a bound.
        auto: Auto appends the message that asks the model to go on.
        later: Later only appends a marker, a task that waits in the log.
        waiting: Waiting only executes a marker that waits, and does nothing without one.
        prepared: Prepared only makes a summary count that prepare has written, and does nothing
        without one.

        Returns Receipted: receipt?.
        """
        return self.request("compact", _given(session=session, focus=focus, to=to, auto=auto, later=later, waiting=waiting, prepared=prepared))

    def prepare(self, session: str) -> dict:
        """Prepare writes the summary of a fold that is near, beside the other requests of the
        session. Nothing is stored.

        session: the id of a session.

        Returns {}.
        """
        return self.request("prepare", _given(session=session))

    def preview(self, session: str, focus: Optional[str] = None, to: Optional[int] = None) -> dict:
        """Preview says what compact would do, without asking a model and without writing anything.

        session: the id of a session.
        focus: Focus and To are those of compact.

        Returns WinnowPreview: sessionID, kind, model, usable?, overhead, messagesBefore,
        messagesAfter, tokensBefore, tokensAfter, saved, folded, foldedTokens, gone, tail,
        tailTokens, tailStart?, split?, carried, committed, summary?, notes.
        """
        return self.request("preview", _given(session=session, focus=focus, to=to))

    def prune(self, session: str, force: Optional[bool] = None) -> dict:
        """Prune leaves out what can go. If compaction.prune is off it does nothing, unless it is
        forced.

        session: the id of a session.
        force: Force prunes although compaction.prune is off.

        Returns Outcome: verdict?, pruned?, compacted?, compact?, continues?, prepare?, refusals.
        """
        return self.request("prune", _given(session=session, force=force))

    def discard(self, session: str, parts: Sequence) -> dict:
        """Discard leaves parts out, with a placeholder in the place of each.

        session: the id of a session.
        parts: ids of parts, ids of calls, or handles.

        Returns WinnowEdited: targets, receipt?, changed.
        """
        return self.request("discard", _given(session=session, parts=parts))

    def distill(self, session: str, distillations: Sequence) -> dict:
        """Distill shows a summary in the place of the parts that it was made from.

        session: the id of a session.
        distillations: the summaries with the parts that each is for.

        Returns WinnowEdited: targets, receipt?, changed.
        """
        return self.request("distill", _given(session=session, distillations=distillations))

    def restore(self, session: str, parts: Sequence) -> dict:
        """Restore shows parts whole again that were left out or folded.

        session: the id of a session.
        parts: ids of parts, ids of calls, or handles.

        Returns WinnowEdited: targets, receipt?, changed.
        """
        return self.request("restore", _given(session=session, parts=parts))

    def pin(self, session: str, part: Optional[str] = None, message: Optional[str] = None, text: Optional[str] = None, note: Optional[str] = None) -> dict:
        """Pin keeps a part, a message or a text through every pruning and compaction.

        session: the id of a session.
        part: Part, Message and Text: one of them is given.
        note: why, for people.

        Returns Pinned: pin.
        """
        return self.request("pin", _given(session=session, part=part, message=message, text=text, note=note))

    def unpin(self, session: str, pin: str) -> dict:
        """Unpin forgets a pin, named by its id, by its part or message, or by its text.

        session: the id of a session.
        pin: the id of the pin, its part, its message, or its text.

        Returns {}.
        """
        return self.request("unpin", _given(session=session, pin=pin))

    def undo(self, session: str, receipt: Optional[str] = None) -> dict:
        """Undo takes back what a receipt is for: a compaction, a pruning, a restore or a pin.

        session: the id of a session.
        receipt: the id of the receipt, or of the marker of a compaction; "" is the newest.

        Returns Receipted: receipt?.
        """
        return self.request("undo", _given(session=session, receipt=receipt))

    def redo(self, session: str, receipt: Optional[str] = None) -> dict:
        """Redo makes count again what was undone.

        session: the id of a session.
        receipt: the id of the receipt, or of the marker of a compaction; "" is the one that was
        undone last, whatever it is for.

        Returns Receipted: receipt?.
        """
        return self.request("redo", _given(session=session, receipt=receipt))

    def explain(self, session: str, part: Optional[str] = None) -> dict:
        """Explain says why a part is shown, left out, protected or about to go.

        session: the id of a session.
        part: Part names it, "" for all parts.

        Returns Explained: parts.
        """
        return self.request("explain", _given(session=session, part=part))

    def inspect(self, session: str) -> dict:
        """Inspect reports where the tokens are, what can go, how full the window is, and what it
        cost.

        session: the id of a session.

        Returns Report: id, title, model, counter, policy, messages, steps, turns, toolCalls,
        toolResults, tokens, cost, bill, unpriced?, costs?, summaries?, window, candidates, byRule,
        omitted?, refusals, constraints, dismissed, pins, missed?, strata.
        """
        return self.request("inspect", _given(session=session))

    def subscribe(self, session: Optional[str] = None) -> dict:
        """Subscribe asks for the notifications "event" of a session, from now on.

        session: the id of a session, "" for all of them.

        Returns {}.
        """
        return self.request("subscribe", _given(session=session))

    def unsubscribe(self, session: Optional[str] = None) -> dict:
        """Unsubscribe ends what subscribe with the same session asked for.

        session: the id of a session, "" for all of them.

        Returns {}.
        """
        return self.request("unsubscribe", _given(session=session))

    def schema(self) -> dict:
        """Schema is this protocol as a JSON Schema.

        Returns the schema.
        """
        return self.request("schema", _given())

    def shutdown(self) -> dict:
        """Shutdown asks the server to end once all other requests are answered.

        Returns {}.
        """
        return self.request("shutdown", _given())
