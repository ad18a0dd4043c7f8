package display

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// Tone is one colour, on every page and in the terminal.
type Tone struct {
	Class       string // on a page
	Light, Dark string // on a page, six hexadecimal digits, on its light and on its dark ground
	Terminal    int    // of the palette of 256; it reads on black and on white
}

// tools are the tones of tools, by what they do.
var tools = map[string]Tone{
	"shell":  {"t-shell", "0c8a69", "17a07d", 29},
	"read":   {"t-read", "b36f00", "d39a1a", 136},
	"edit":   {"t-edit", "cf5a00", "d9661a", 166},
	"search": {"t-search", "8a7f00", "c9bd43", 100},
	"web":    {"t-web", "0a7f8f", "3ba8b8", 30},
	"agent":  {"t-agent", "8a4f9e", "b584c7", 133},
	"other":  {"t-other", "8a7452", "a08c68", 101},
}

// toolOrder is the order of their layers, from the bottom up.
var toolOrder = []string{"shell", "read", "edit", "search", "web", "agent", "other"}

// The tones of what a window is made of beside the outputs of tools, and of what a bill is for.
var (
	systemTone    = Tone{"l-system", "83868d", "7d828b", 102}
	summaryTone   = Tone{"l-summary", "c0618f", "c8779f", 132}
	userTone      = Tone{"l-user", "0072b2", "2a8fcc", 31}
	assistantTone = Tone{"l-assistant", "478bbd", "4d99c7", 67}
	fileTone      = Tone{"l-file", "7d6bb5", "8f80c9", 97}

	Read   = Tone{"b-read", "478bbd", "4d99c7", 67}
	Write  = Tone{"b-write", "b5487f", "d97fae", 168}
	Input  = Tone{"b-input", "7a5aa8", "a58ad6", 97}
	Output = Tone{"b-output", "0a7f8f", "3ba8b8", 30}
	Other  = Tone{"b-other", "83868d", "7d828b", 102}
	Missed = Tone{"b-missed", "c9452a", "e0674a", 167}
)

// Tones are all there are, each once.
func Tones() []Tone {
	all := []Tone{systemTone, summaryTone, userTone, assistantTone, fileTone}
	for _, name := range toolOrder {
		all = append(all, tools[name])
	}
	return append(all, Read, Write, Input, Output, Other, Missed)
}

// products are the tones of products, the same on every page and in every week.
var products = map[string]Tone{
	"claude-code": tools["edit"], "codex": tools["shell"], "opencode": assistantTone, "kilo": tools["read"],
	"pi": tools["agent"], "gemini-cli": userTone, "qwen-code": fileTone, "copilot": tools["web"],
	"cline": summaryTone, "openhands": tools["search"], "winnow": tools["other"],
}

// ProductTone is the tone of a product, that of the system's prompt for one that nobody knows.
func ProductTone(name string) Tone { return cmp.Or(products[name], systemTone) }

// ToolTone is the tone of a tool, by what tools of its name do.
func ToolTone(tool string) Tone { return tools[toolGroup(tool)] }

// toolGroup says what tools of a name do, as tools names it.
func toolGroup(tool string) string {
	op := call.ToolOf(tool).Op
	switch op {
	case call.Run:
		return "shell"
	case call.Read:
		return "read"
	case call.Search:
		return "search"
	case call.Fetch:
		return "web"
	case call.Delegate:
		return "agent"
	}
	if op.Changes() {
		return "edit"
	}
	return "other"
}

// Toned puts the tones into a style sheet, at its marks: /* tones */ in the rule of the light
// ground and in that of the dark one, /* classes of tones */ where their classes belong.
func Toned(sheet string) string {
	var light, dark, classes strings.Builder
	for _, tone := range Tones() {
		fmt.Fprintf(&light, " --%s: #%s;", tone.Class, tone.Light)
		fmt.Fprintf(&dark, " --%s: #%s;", tone.Class, tone.Dark)
		fmt.Fprintf(&classes, ".%[1]s { fill: var(--%[1]s); }\n", tone.Class)
	}
	sheet = strings.Replace(sheet, " /* tones */", light.String(), 1)
	sheet = strings.Replace(sheet, " /* tones */", dark.String(), 1)
	return strings.Replace(sheet, "/* classes of tones */\n", classes.String(), 1)
}
