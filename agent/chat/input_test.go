package chat

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// A key is drawn twenty thousand lines later still: what a paste costs is one look at its bytes.
func TestPaste_aMegabyteIsOneSignAndIsSentWhole(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("read it")}, nil)
	line := strings.Repeat("x", 51) + "\n"
	text := strings.Repeat(line, (1<<20)/len(line))
	text += strings.Repeat("y", 1<<20-len(text))
	b.types("look at ")
	b.send(tea.PasteMsg{Content: text})
	b.types(" well")
	if got := len(b.input.Typed()); got != len("look at  well")+1 {
		t.Errorf("the editor holds %d characters: a paste is one", got)
	}
	laid := b.transcript.Laid()
	if got := b.look(); !strings.Contains(got, "› look at [pasted 1,048,576 bytes, 20,165 lines] well") {
		t.Errorf("the screen is\n%s", got)
	}
	b.press("enter")
	b.shows("read it")
	b.rests()
	if got := b.upstream.Records()[0]; !got.Contains("look at " + text + " well") {
		t.Errorf("the request of %d bytes has not the whole text", len(got.Body))
	}
	if got := b.look(); !strings.Contains(got, "… 20,") {
		t.Errorf("the message is not folded:\n%s", got)
	}
	if n := b.transcript.Laid() - laid; n > 200 {
		t.Errorf("%d lines were laid out for a message of which 12 are seen", n)
	}
}

// Terminals without bracketed paste send keys: they are taken in, and not each of them is drawn.
func TestPaste_asSingleKeysIsNotDrawnForEach(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	drawn := 0
	for range 20_000 {
		b.Update(tea.KeyPressMsg{Code: 'x', Text: "x"}) // the clock stands still
		if b.drawing.due {
			drawn++
			b.View()
		}
	}
	if drawn > 1 {
		t.Errorf("20,000 keys in an instant were drawn %d times", drawn)
	}
	b.Update(redrawMsg{})
	if !b.drawing.due {
		t.Error("the last of them is not drawn in the end")
	}
	if got := len(b.input.Typed()); got != 20_000 {
		t.Errorf("the editor has %d characters", got)
	}
}
