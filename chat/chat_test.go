package chat

import (
	"testing"

	"github.com/winnowhq/winnow/llm/llmtest"
)

func TestChat_aPromptIsAnswered(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("# Well\n\nIt **rains** in Bergen:\n\n```go\nfunc main() {}\n```\n\n- one\n- two")}, nil)
	t.Log("\n" + b.look())
	b.says("what is it like in Bergen?")
	b.shows("two")
	b.rests()
	t.Log("\n" + b.look())
}
