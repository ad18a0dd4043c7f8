package rpc_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// fakeEngine agrees on the protocol, refuses a request without saying which, and ends.
const fakeEngine = `
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    said = {"jsonrpc": "2.0", "id": asked["id"], "result": {"maxLine": 1000}}
    if asked["method"] == "lost":
        said = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "lost", "data": {"code": "too-large"}}}
    if asked["method"] == "end":
        sys.exit(3)
    print(json.dumps(said), flush=True)
`

const pythonClient = `
import sys
sys.path.insert(0, sys.argv[1])
from winnow import Winnow, WinnowError
client = Winnow(command=[sys.executable, "-c", sys.argv[2]])
for method, text in [("long", "a" * 2000), ("lost", ""), ("fine", ""), ("end", ""), ("ended", "")]:
    try:
        client.request(method, {"text": text})
        print(method, "done")
    except WinnowError as error:
        print(method, error.code)
print("code", client.close())
`

// No request of the Python client waits for ever: one that is too long, one whose answer names
// nobody, one whose engine ends.
func TestPython_everyRequestEnds(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	folder := filepath.Join(outside.Root(t), "rpc", "bindings", "python")
	said, err := exec.CommandContext(t.Context(), python, "-B", "-c", pythonClient, folder, fakeEngine).CombinedOutput()
	if want := "long too-large\nlost too-large\nfine done\nend gone\nended gone\ncode 3\n"; err != nil || string(said) != want {
		t.Errorf("%v: the client said\n%swant\n%s", err, said, want)
	}
}
