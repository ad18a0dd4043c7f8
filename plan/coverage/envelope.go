package coverage

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// printed is what a command printed, taken out of what a product wrote around it.
type printed struct {
	text string
	// short is set when the product says that it left something out, wherever in the text.
	short bool
}

// unwrap takes the output of a command out of its envelope. It is not ok when the envelope says
// that the command failed or goes on.
func unwrap(output string) (out printed, ok bool) {
	out.text = output
	if strings.HasPrefix(output, "{") {
		var e struct {
			Output   *string `json:"output"`
			Metadata struct {
				Exit int `json:"exit_code"`
			} `json:"metadata"`
			Unknown jsontext.Value `json:",embed"`
		}
		if json.Unmarshal([]byte(output), &e, session.ReadOptions()) == nil && e.Output != nil &&
			strings.Contains(output, `"exit_code"`) {
			if e.Metadata.Exit != 0 {
				return out, false
			}
			out.text = *e.Output
		}
	}
	if !out.head() {
		return out, false
	}
	if strings.HasPrefix(out.text, "Warning: truncated output") {
		_, out.text = cut(out.text)
		out.short = true
	}
	if strings.HasPrefix(out.text, "Total output lines: ") {
		_, out.text = cut(out.text)
		out.text, out.short = strings.TrimPrefix(out.text, "\n"), true
	}
	out.foot()
	return out, true
}

// head takes off the lines that Codex writes above an output, up to "Output:". It reports false for
// a command that failed or goes on.
func (out *printed) head() bool {
	text, short := out.text, false
	if strings.HasPrefix(text, "Command: ") { // it may have many lines
		if at := strings.Index(text, "\nChunk ID: "); at >= 0 {
			text = text[at+1:]
		}
	}
	for i := 0; i < 8; i++ {
		line, rest := cut(text)
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "Output:" && i > 0:
			out.text, out.short = rest, short
			return true
		case name == "Exit code":
			if strings.TrimSpace(value) != "0" {
				return false
			}
		case strings.HasPrefix(line, "Process exited with code "):
			if line != "Process exited with code 0" {
				return false
			}
		case strings.HasPrefix(line, "Process running with session ID"):
			return false
		case name == "Total output lines":
			short = true
		case name == "Chunk ID" || name == "Wall time" || name == "Original token count":
		default:
			return true // no such envelope
		}
		text = rest
	}
	return true
}

// foot takes off what products write below an output: notes about the folder, the exit status,
// time.
func (out *printed) foot() {
	for {
		text := strings.TrimRight(out.text, " \r\n")
		at := strings.LastIndexByte(text, '\n') + 1
		line := text[at:]
		switch {
		case strings.HasPrefix(line, "Shell cwd was reset to "),
			strings.HasPrefix(line, "[The command completed with exit code 0"),
			strings.HasPrefix(line, "[Command finished with exit code 0"),
			strings.HasPrefix(line, "[Current working directory: "), strings.HasPrefix(line, "[Python interpreter: "),
			strings.HasPrefix(line, "(Open file: "), strings.HasPrefix(line, "(Current directory: "), line == "bash-$":
			// Whether the output ended in a newline of its own is not known any more.
			out.text = strings.TrimRight(text[:at], "\r\n")
		case line == "</system-reminder>" || line == "</bash_metadata>":
			start := strings.LastIndex(text, "<"+line[2:])
			if start < 0 {
				return
			}
			out.short = out.short || leavesOut(text[start:]) || line == "</bash_metadata>"
			out.text = strings.TrimRight(text[:start], "\r\n")
		default:
			return
		}
	}
}
