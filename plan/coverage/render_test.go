package coverage

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// held is a file that a tool reads: its text, and the lines that it has.
type held struct {
	text  string
	lines []string
}

func drawFile(t *rapid.T) held {
	// Lines that readers and this package could stumble over: blank ones, numbers, words that look like a notice.
	line := rapid.SampledFrom([]string{"", "", "a", "b", "\tindented", "7: seven", "     3\tthree", "4→", "[3 more lines]", "... (2 lines omitted)", "</content>", "<system-reminder>", "(End of file)", "x…2 tokens truncated…y", "00001| one"})
	f := held{lines: rapid.SliceOfN(line, 1, 12).Draw(t, "lines")}
	f.text = strings.Join(f.lines, "\n")
	if rapid.Bool().Draw(t, "newline") || f.lines[len(f.lines)-1] == "" {
		f.text += "\n"
	}
	return f
}

// upTo are the lines from the first to the last of these numbers, as far as they exist.
func (f held) upTo(from, to int) []string {
	return f.lines[min(from-1, len(f.lines)):min(to, len(f.lines))]
}

// split is the text at its newlines, which gives one line more than there are where it ends in one.
func (f held) split() []string { return strings.Split(f.text, "\n") }

func numberedBy(format string, from int, lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, format, from+i)
		b.WriteString(line + "\n")
	}
	return b.String()
}

// tools print a file as the products do, a number of lines from one line on.
var tools = map[string]func(f held, from, limit int) (tool, input, output string){
	"Claude Code": func(f held, from, limit int) (string, string, string) {
		all := f.split()
		some := all[min(from-1, len(all)):min(from-1+limit, len(all))]
		return "Read", fmt.Sprintf(`{"file_path":"/repo/a","offset":%d,"limit":%d}`, from, limit), strings.TrimSuffix(numberedBy("%6d→", from, some), "\n") + reminder
	},
	"OpenCode": func(f held, from, limit int) (string, string, string) {
		note := fmt.Sprintf("\n(Showing lines %d-%d of %d. Use offset=%d to continue.)", from, from+limit-1, len(f.lines), from+limit)
		if from+limit > len(f.lines) {
			note = fmt.Sprintf("\n(End of file - total %d lines)", len(f.lines))
		}
		return "read", fmt.Sprintf(`{"filePath":"/repo/a","offset":%d,"limit":%d}`, from, limit),
			"<path>/repo/a</path>\n<type>file</type>\n<content>\n" + numberedBy("%d: ", from, f.upTo(from, from+limit-1)) + note + "\n</content>"
	},
	"pi": func(f held, from, limit int) (string, string, string) {
		all := f.split()
		to := min(from-1+limit, len(all))
		output := strings.Join(all[min(from-1, to):to], "\n")
		if to < len(all) {
			output += fmt.Sprintf("\n\n[%d more lines in file. Use offset=%d to continue]", len(all)-to, to+1)
		}
		return "read", fmt.Sprintf(`{"path":"a","offset":%d,"limit":%d}`, from, limit), output
	},
	"sed": func(f held, from, limit int) (string, string, string) {
		return "exec_command", fmt.Sprintf(`{"cmd":"sed -n '%d,%dp' a"}`, from, from+limit-1), "Process exited with code 0\nOutput:\n" + f.sed(from, limit)
	},
	"sed, trimmed": func(f held, from, limit int) (string, string, string) {
		return "Bash", fmt.Sprintf(`{"command":"sed -n '%d,%dp' a"}`, from, from+limit-1), trimmed(f.sed(from, limit))
	},
	"sed, trimmed, in another folder": func(f held, from, limit int) (string, string, string) {
		return "Bash", fmt.Sprintf(`{"command":"cd /repo && sed -n '%d,%dp' a"}`, from, from+limit-1), trimmed(f.sed(from, limit)) + "\nShell cwd was reset to /repo"
	},
	"head, trimmed": func(f held, _, limit int) (string, string, string) {
		return "Bash", fmt.Sprintf(`{"command":"head -%d a"}`, limit), trimmed(f.sed(1, limit))
	},
	"nl": func(f held, from, limit int) (string, string, string) {
		return "Bash", fmt.Sprintf(`{"command":"nl -ba a | sed -n '%d,%dp'"}`, from, from+limit-1), trimmed(numberedBy("%6d\t", from, f.upTo(from, from+limit-1)))
	},
	"cat, cut in its middle": func(f held, from, limit int) (string, string, string) {
		whole := f.sed(1, len(f.lines))
		head, tail := min(from*2, len(whole)), max(len(whole)-limit, 0)
		if head < tail {
			whole = "Total output lines: 9\n\n" + whole[:head] + fmt.Sprintf("…%d tokens truncated…", tail-head) + whole[tail:]
		}
		return "exec_command", `{"cmd":"cat a"}`, "Process exited with code 0\nOutput:\n" + whole
	},
	"cat -n, cut in its middle": func(f held, from, limit int) (string, string, string) {
		whole := numberedBy("%6d\t", 1, f.lines)
		head, tail := min(from*9, len(whole)), max(len(whole)-limit*9, 0)
		if head < tail {
			whole = "Total output lines: 9\n\n" + whole[:head] + fmt.Sprintf("…%d tokens truncated…", tail-head) + whole[tail:]
		}
		return "exec_command", `{"cmd":"cat -n a"}`, "Process exited with code 0\nOutput:\n" + whole
	},
}

// sed is what sed -n prints: a last line without a newline stays without.
func (f held) sed(from, limit int) string {
	some := f.upTo(from, from+limit-1)
	if len(some) == 0 {
		return ""
	}
	text := strings.Join(some, "\n")
	if from+limit <= len(f.lines) || strings.HasSuffix(f.text, "\n") {
		text += "\n"
	}
	return text
}

// trimmed takes off what Claude Code takes off the output of a command: blank lines before it, and all white space behind.
func trimmed(output string) string {
	for {
		line, rest, ok := strings.Cut(output, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			return strings.TrimRight(output, " \t\r\n")
		}
		output = rest
	}
}

// Whatever a tool prints of a file, the views say only what is there: the right lines under the right numbers, an end that is one, and a whole that is.
func TestOf_saysOnlyWhatIsThere(t *testing.T) {
	seen, whole := map[string]int{}, map[string]int{}
	for name, print := range tools {
		rapid.Check(t, func(t *rapid.T) {
			f := drawFile(t)
			from, limit := rapid.IntRange(1, len(f.lines)).Draw(t, "from"), rapid.IntRange(1, 14).Draw(t, "limit")
			tool, input, output := print(f, from, limit)
			for _, v := range Of(finished(tool, input, output), "/repo").Views {
				seen[name]++
				if v.Full {
					whole[name]++
				}
				for i, h := range v.Lines {
					n := v.Start + i
					if n > len(f.lines) && h == blank && n == len(f.split()) && !v.End {
						continue // the line that some readers show behind the last newline
					}
					if n > len(f.lines) || hash(f.lines[n-1]) != h {
						t.Fatalf("%s: line %d is not what the view says\nfile %q\n%s\n%s\nview %+v", name, n, f.text, input, output, v)
					}
				}
				if v.End && v.last() != len(f.lines) {
					t.Fatalf("%s: a view to line %d says it comes to the end\nfile %q\n%s\n%s", name, v.last(), f.text, input, output)
				}
			}
		})
	}
	for name := range tools {
		if testing.Short() {
			break // so few draws may show nothing of one of them
		}
		if seen[name] == 0 || whole[name] == 0 && !strings.Contains(name, "trimmed") { // whether a trimmed output is whole is never known
			t.Errorf("%s: %d views, %d of whole files", name, seen[name], whole[name])
		}
	}
	t.Logf("views %v, whole files %v", seen, whole)
}
