package rpc_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// pruneEngine answers pruneMessages from its arguments, one after the other: null refuses, "end" ends it.
const pruneEngine = `
import json, sys
answers = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    said = {"jsonrpc": "2.0", "id": asked["id"]}
    answer = {} if asked["method"] == "initialize" else answers.pop(0)
    if answer == "end":
        sys.exit(3)
    if answer is None:
        said["error"] = {"code": -32000, "message": "no", "data": {"code": "bad-input"}}
    else:
        said["result"] = answer
    print(json.dumps(said), flush=True)
`

const pythonPrune = `
import json, os, sys
sys.path.insert(0, sys.argv[1])
import winnow_prune
from winnow import Winnow, WinnowError
from winnow_prune import Pruner

user = {"role": "user", "content": "Go on."}
call = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "function": {"name": "read", "arguments": "{}"}}]}
result = {"role": "tool", "tool_call_id": "call_1", "content": "long"}
less = {**result, "content": "less"}
summary = {"role": "user", "content": [{"type": "text", "text": "<s> Read all."}]}
turn = [user, call, result]
answers = [
    {"messages": turn + [user, call, less], "from": [0, 1, 2, 3, 4, -1], "sent": {"summary": ""}},
    {"messages": [summary, user, call, less] + turn, "from": [-1, 0, 1, -1, 3, 4, 5], "sent": {"summary": "Read all."}},
    {"messages": [summary, call, less] + turn, "from": [-1, 1, -1, 3, 4, 5], "sent": {"summary": "Read all."}},
    {"messages": turn, "from": [0, 1, 2], "sent": {"summary": ""}},
    None,
    "end",
]
winnow = Winnow([sys.executable, "-c", sys.argv[2], json.dumps(answers)], stderr=-3)
pruner = Pruner(winnow=winnow)
for turns in (2, 3, 3, 1, 1, 1):
    decided = pruner.decide(turn * turns)
    print(decided and [(at, shown and ("summary" if shown == summary else shown["content"])) for at, shown in decided])
winnow.close()
print(pruner.decide([]), pruner.decide([{"role": "user", "content": {1, 2}}]))
os.environ["PATH"], os.environ["WINNOW_PROGRAM"] = "", ""
try:
    Pruner().decide(turn)
except WinnowError as error:
    print(error.code)
`

// Behind a summary the newest of equal messages are meant. A failure of the engine costs no request,
// but one that cannot be started is told.
func TestPython_decisions(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	folder := filepath.Join(outside.Root(t), "rpc", "bindings", "python")
	said, err := exec.CommandContext(t.Context(), python, "-B", "-c", pythonPrune, folder, pruneEngine).Output()
	want := `[(0, None), (1, None), (2, None), (3, None), (4, None), (5, 'less')]
[(-1, 'summary'), (3, None), (4, None), (5, 'less'), (6, None), (7, None), (8, None)]
[(-1, 'summary'), (4, None), (5, 'less'), (6, None), (7, None), (8, None)]
None
None
None
None None
missing
`
	if err != nil || string(said) != want {
		t.Errorf("%v: Python said\n%swant\n%s", err, said, want)
	}
}
