package rpc_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// fakeEngine agrees on the protocol, refuses a request without saying which, answers one never and
// says what was cancelled, and ends.
const fakeEngine = `
import json, sys
cancelled = []
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "$/cancelRequest":
        cancelled.append(asked["params"]["id"])
        continue
    if asked["method"] == "slow":
        continue
    said = {"jsonrpc": "2.0", "id": asked["id"], "result": {"maxLine": 1000, "cancelled": cancelled}}
    if asked["method"] == "lost":
        said = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "lost", "data": {"code": "too-large"}}}
    if asked["method"] == "end":
        print("out of memory", file=sys.stderr)
        sys.exit(3)
    print(json.dumps(said), flush=True)
`

const pythonClient = `
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from winnow import AsyncWinnow, Winnow, WinnowError
command = [sys.executable, "-c", sys.argv[2]]
client = Winnow(command, stderr=-1)
for method, text in [("long", "a" * 2000), ("lost", ""), ("fine", ""), ("slow", ""), ("end", ""), ("ended", "")]:
    try:
        client.request(method, {"text": text}, timeout=0.2 if method == "slow" else None)
        print(method, "done")
    except WinnowError as error:
        print(method, error.code)
        last = error
print(last)
print("code", client.close())

async def work():
    async with AsyncWinnow(command, stderr=-1) as client:
        try:
            await asyncio.wait_for(client.request("slow", {}), 0.2)
        except asyncio.TimeoutError:
            print("slow timed out")
        task = asyncio.ensure_future(client.request("slow", {}))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        print("cancelled", (await client.request("fine", {}))["cancelled"])
asyncio.run(work())

os.environ["PATH"], os.environ["WINNOW_PROGRAM"] = "", ""
for given in (None, ["/nowhere/winnow"]):
    try:
        Winnow(given)
    except WinnowError as error:
        print(error.code, error.hint)
`

// No request of the Python client waits for ever: one that is too long, one whose answer names
// nobody, one that takes too long or is cancelled, one whose engine ends, and why it did is told. A
// program that is not installed is an error that says how to install it.
func TestPython_everyRequestEnds(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	folder := filepath.Join(outside.Root(t), "rpc", "bindings", "python")
	said, err := exec.CommandContext(t.Context(), python, "-B", "-c", pythonClient, folder, fakeEngine).Output()
	want := `long too-large
lost too-large
fine done
slow timeout
end gone
ended gone
the engine has ended with the code 3: out of memory
code 3
slow timed out
cancelled [2, 3]
missing pip install winnowhq, or see https://github.com/winnowhq/winnow#install
missing name the program in command, or in WINNOW_PROGRAM
`
	if err != nil || string(said) != want {
		t.Errorf("%v: the client said\n%swant\n%s", err, said, want)
	}
}
