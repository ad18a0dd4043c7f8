#!/usr/bin/env python3
"""For all three hooks: keeps a journal, and adds what NOTES.md says to the request for a summary."""
import json, os, pathlib, sys

told = json.load(sys.stdin)
session = told["sessionID"]


def journal(line):
    with open(os.environ.get("JOURNAL", "journal.log"), "a", encoding="utf-8") as log:
        log.write(f"{session} {line}\n")


if told["hook"] == "session.compacting":
    notes = pathlib.Path("NOTES.md")
    if notes.exists():
        lines = [line for line in notes.read_text(encoding="utf-8").splitlines() if line]
        print(json.dumps({"context": ["Keep these notes of the user:"] + lines}))
elif told["hook"] == "session.compacted":
    r = told["receipt"]
    journal(f"compacted: {r['tokensBefore']} to {r['tokensAfter']} tokens, by {r['summarizer']}")
elif told["hook"] == "elision.committed":
    saved = sum(e["tokens"] for e in told["elisions"])
    journal(f"pruned: {len(told['elisions'])} parts, {saved} tokens saved")
