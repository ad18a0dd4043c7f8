package coverage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

// shown writes views as a reader of the tests wants them: "/repo/a 3-4 output full: x|y", lines looked up among those of the texts.
func shown(s Shown, texts ...string) []string {
	known := map[uint64]string{}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			known[hash(line)] = line
		}
	}
	var all []string
	for _, v := range s.Views {
		if v.Change {
			all = append(all, fmt.Sprintf("%s change", v.Path))
			continue
		}
		text := fmt.Sprintf("%s %d-%d %s", v.Path, v.Start, v.last(), v.Field)
		switch {
		case v.Full:
			text += " full"
		case v.End:
			text += " end"
		}
		var lines []string
		for _, h := range v.Lines {
			line, ok := known[h]
			if !ok {
				line = "?"
			}
			lines = append(lines, line)
		}
		all = append(all, text+": "+strings.Join(lines, "|"))
	}
	if s.OutputIsViews {
		all = append(all, "nothing else")
	}
	return all
}

// file is what the cases read: line n is its name in words.
const file = "one\ntwo\n\n\tfour\nfive\n"

type vocabulary []struct {
	name, tool, input, output string
	want                      []string
}

func (cases vocabulary) check(t *testing.T) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := shown(Of(finished(c.tool, c.input, c.output), "/repo"), file)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s %s\n%s\n(-want +got)\n%s", c.tool, c.input, c.output, diff)
			}
		})
	}
}

const reminder = "\n\n<system-reminder>\nThink of what a file may hold before 3 lines are changed.\n</system-reminder>\n"

func TestOf_claudeCode(t *testing.T) {
	whole := []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}
	vocabulary{
		{"arrows, the line behind the last newline is none of the file", "Read", `{"file_path":"/repo/a"}`, "     1→one\n     2→two\n     3→\n     4→\tfour\n     5→five\n     6→", whole},
		{"a reminder behind", "Read", `{"file_path":"/repo/a"}`, "     1→one\n     2→two\n     3→\n     4→\tfour\n     5→five\n     6→" + reminder, whole},
		{"tabs", "Read", `{"file_path":"/repo/b/../a"}`, "1\tone\n2\ttwo\n3\t\n4\t\tfour\n5\tfive\n6\t", whole},
		{"tabs, the last one trimmed away", "Read", `{"file_path":"a"}`, "1\tone\n2\ttwo\n3\t\n4\t\tfour\n5\tfive\n6", whole},
		{"no newline at the end", "Read", `{"file_path":"./a"}`, "1\tone\n2\ttwo", []string{"/repo/a 1-2 output full: one|two", "nothing else"}},
		{"as many lines as asked for", "Read", `{"file_path":"/repo/a","offset":2,"limit":2}`, "     2→two\n     3→", []string{"/repo/a 2-3 output: two|", "nothing else"}},
		{"fewer lines than asked for", "Read", `{"file_path":"/repo/a","offset":4,"limit":9}`, "     4→\tfour\n     5→five\n     6→", []string{"/repo/a 4-5 output end: \tfour|five", "nothing else"}},
		{"counted from zero", "Read", `{"file_path":"/repo/a","offset":0,"limit":2}`, "     0→one\n     1→two", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"a reminder that tells of more", "Read", `{"file_path":"/repo/a"}`, "1\tone\n2\ttwo\n\n<system-reminder>Truncated to a PARTIAL view of 2 lines.</system-reminder>", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"instructions behind are no view", "Read", `{"file_path":"/repo/a"}`, "1\tone\n2\ttwo\n\n<system-reminder>Instructions from: /repo/b/AGENTS.md\nUse tabs.</system-reminder>", []string{"/repo/a 1-2 output full: one|two"}},
		{"something else behind", "Read", `{"file_path":"/repo/a"}`, "1\tone\n2\ttwo\nand then?", []string{"/repo/a 1-2 output: one|two"}},
		{"a gap ends the view", "Read", `{"file_path":"/repo/a"}`, "     1→one\n     2→two\n     5→five", []string{"/repo/a 1-2 output: one|two"}},
		{"the note that nothing changed shows nothing", "Read", `{"file_path":"/repo/a"}`, "File unchanged since the last look; see there.", nil},
		{"an empty file", "Read", `{"file_path":"/repo/a"}`, "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>", nil},
		{"a notebook", "Read", `{"file_path":"/repo/a.ipynb"}`, "1\tone", nil},
		{"Write", "Write", `{"file_path":"/repo/a","content":"one\ntwo\n\n"}`, "File created successfully at: /repo/a", []string{"/repo/a 1-3 input full: one|two|"}},
		{"Write of what a person changed first", "Write", `{"file_path":"/repo/a","content":"one\n"}`, "The file /repo/a has been updated. The user modified your text.", []string{"/repo/a change"}},
		{"Write of nothing", "Write", `{"file_path":"/repo/a","content":""}`, "File created successfully at: /repo/a", []string{"/repo/a change"}},
		{"Edit with a snippet", "Edit", `{"file_path":"/repo/a","old_string":"zwei","new_string":"two"}`, "The file /repo/a has been updated. Here is `cat -n` of a piece:\n     2→two\n     3→\n     4→\tfour",
			[]string{"/repo/a change", "/repo/a 2-4 output: two||\tfour", "nothing else"}},
		{"Edit without", "Edit", `{"file_path":"/repo/error.go","old_string":"zwei","new_string":"two"}`, "The file /repo/error.go has been updated.", []string{"/repo/error.go change"}},
		{"Edit of the whole file is a change", "Edit", `{"file_path":"/repo/a","old_string":"","new_string":"one\ntwo\n"}`, "The file /repo/a has been updated.", []string{"/repo/a change"}},
		{"MultiEdit", "MultiEdit", `{"file_path":"/repo/a","edits":[{"old_string":"x","new_string":"y"}]}`, "Applied 1 edit to /repo/a", []string{"/repo/a change"}},
		{"NotebookEdit", "NotebookEdit", `{"notebook_path":"/repo/n.ipynb","new_source":"x"}`, "Updated cell 3", []string{"/repo/n.ipynb change"}},
		{"an edit that said it failed", "Edit", `{"file_path":"/repo/a","old_string":"x","new_string":"y"}`, "String not found in file.", nil},
		{"no tool of files", "Grep", `{"pattern":"one","path":"/repo"}`, "/repo/a\n1\tone", nil},
	}.check(t)
}

func TestOf_openCode(t *testing.T) {
	vocabulary{
		{"five digits and a bar", "read", `{"filePath":"/repo/a"}`, "<file>\n00001| one\n00002| two\n00003| \n00004| \tfour\n00005| five\n00006| \n\n(End of file - total 6 lines)\n</file>",
			[]string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}},
		{"more lines", "read", `{"filePath":"/repo/a","limit":2}`, "<file>\n00001| one\n00002| two\n\n(File has more lines. Use 'offset' parameter to read beyond line 2)\n</file>",
			[]string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"a colon", "read", `{"filePath":"/repo/a"}`, "<path>/repo/a</path>\n<type>file</type>\n<content>\n1: one\n2: two\n3: \n4: \tfour\n5: five\n\n(End of file - total 5 lines)\n</content>",
			[]string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}},
		{"a colon, the end of a file", "read", `{"filePath":"a","offset":4}`, "<path>/repo/a</path>\n<type>file</type>\n<content>\n4: \tfour\n5: five\n\n(End of file - total 5 lines)\n</content>",
			[]string{"/repo/a 4-5 output end: \tfour|five", "nothing else"}},
		{"a colon, a piece", "read", `{"filePath":"/repo/a","limit":1}`, "<path>/repo/a</path>\n<type>file</type>\n<content>\n1: one\n\n(Showing lines 1-1 of 5. Use offset=2 to continue.)\n</content>",
			[]string{"/repo/a 1-1 output: one", "nothing else"}},
		{"without a word about the end it is not known", "read", `{"filePath":"/repo/a"}`, "<file>\n00001| one\n</file>", []string{"/repo/a 1-1 output: one", "nothing else"}},
		{"a shortened line is not the whole file", "read", `{"filePath":"/repo/a"}`, "<file>\n00001| " + strings.Repeat("x", 2000) + "...\n00002| two\n\n(End of file - total 2 lines)\n</file>",
			[]string{"/repo/a 1-2 output end: ?|two", "nothing else"}},
		{"a folder", "read", `{"filePath":"/repo"}`, "<path>/repo</path>\n<type>directory</type>\n<entries>\na\nb\n</entries>", nil},
		{"write", "write", `{"filePath":"/repo/a","content":"one\ntwo"}`, "Wrote file successfully.", []string{"/repo/a 1-2 input full: one|two"}},
		{"edit", "edit", `{"filePath":"/repo/a","oldString":"x","newString":"y"}`, "Edit applied successfully.", []string{"/repo/a change"}},
		{"apply_patch", "apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: b\n+one\n+\n*** Delete File: c\n*** End Patch"}`, "Success. Updated the following files:\nM a\nA b\nD c",
			[]string{"/repo/a change", "/repo/b 1-2 input full: one|"}},
		{"bash", "bash", `{"command":"cat a","description":"look"}`, "one\ntwo\n", []string{"/repo/a 1-2 output full: one|two", "nothing else"}},
		{"bash, cut", "bash", `{"command":"cat a"}`, "one\ntwo\nfi\n\n<bash_metadata>\nbash tool truncated output as it exceeded 30000 char limit\n</bash_metadata>", nil},
	}.check(t)
}

func TestOf_codex(t *testing.T) {
	ran := func(output string) string {
		return "Chunk ID: 7b0a\nWall time: 0.0100 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n" + output
	}
	whole := []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}
	vocabulary{
		{"exec_command", "exec_command", `{"cmd":"cat a"}`, ran(file), whole},
		{"its command above it", "exec_command", `{"cmd":"cat a"}`, "Command: /usr/bin/bash -lc 'cat a'\n" + ran(file), whole},
		{"its command of two lines above it", "exec_command", `{"cmd":"cat a"}`, "Command: /usr/bin/bash -lc '\ncat a'\n" + ran(file), whole},
		{"in another folder", "exec_command", `{"cmd":"cat a","workdir":"/repo/b"}`, ran("one\n"), []string{"/repo/b/a 1-1 output full: one", "nothing else"}},
		{"a list of words", "shell", `{"command":["bash","-lc","cat a"],"workdir":"/repo"}`, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n" + file, whole},
		{"a list of plain words", "shell", `{"command":["cat","a"]}`, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n" + file, whole},
		{"a shell in a text", "shell_command", `{"command":"bash -lc 'cat a'"}`, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n" + file, whole},
		{"the older JSON", "local_shell", `{"command":["cat","a"]}`, `{"output":"one\ntwo\n","metadata":{"exit_code":0,"duration_seconds":0.1}}`, []string{"/repo/a 1-2 output full: one|two", "nothing else"}},
		{"the older JSON of a failure", "local_shell", `{"command":["cat","a"]}`, `{"output":"one\n","metadata":{"exit_code":1,"duration_seconds":0.1}}`, nil},
		{"a failure", "exec_command", `{"cmd":"cat a"}`, "Process exited with code 1\nOutput:\none\n", nil},
		{"still at it", "exec_command", `{"cmd":"cat a"}`, "Process running with session ID 4\nOutput:\none\n", nil},
		{"cut in the middle: the head counts", "exec_command", `{"cmd":"cat a"}`, ran("Warning: truncated output (original token count: 900)\nTotal output lines: 90\n\none\ntwo\nfi…800 tokens truncated…ty\nlast\n"),
			[]string{"/repo/a 1-1 output: one"}},
		{"cut, and the place is not found", "exec_command", `{"cmd":"cat a"}`, ran("Total output lines: 90\n\none\ntwo\n"), nil},
		{"cut numbered lines count on both sides", "exec_command", `{"cmd":"nl -ba a"}`, ran("Total output lines: 90\n\n     1\tone\n     2\ttwo\n     3\tx…80 tokens truncated…\n    49\tno\n    50\ttwo\n    51\tfive\n"),
			[]string{"/repo/a 1-1 output: one", "/repo/a 50-51 output: two|five"}},
		{"a patch by itself", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: b/a\n+one\n+two\n*** Update File: /repo/c\n*** Move to: d\n@@\n-x\n+y\n*** End Patch\n"}`,
			`{"output":"Success. Updated the following files:\nA b/a\nM d\n","metadata":{"exit_code":0}}`, []string{"/repo/b/a 1-2 input full: one|two", "/repo/c change", "/repo/d change"}},
		{"a patch that did not apply", "apply_patch", `{"input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n"}`, "Exit code: 1\nWall time: 0 seconds\nOutput:\napply_patch verification failed: no such lines", nil},
		{"a patch in a shell", "shell", `{"command":["apply_patch","*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch"]}`, "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a\n", []string{"/repo/a change"}},
		{"a patch in a here-document", "exec_command", `{"cmd":"cd b && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+one\n*** End Patch\nEOF\n"}`, ran("Success. Updated the following files:\nA a\n"), []string{"/repo/b/a 1-1 input full: one"}},
		{"a patch and a build", "exec_command", `{"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+one\n*** End Patch\nEOF\nmake"}`, ran("Success. Updated the following files:\nA a\n"), nil},
		{"read_file", "read_file", `{"file_path":"/repo/a","offset":2,"limit":2}`, "L2: two\nL3: ", []string{"/repo/a 2-3 output: two|", "nothing else"}},
	}.check(t)
}

func TestOf_piAndPlainReaders(t *testing.T) {
	vocabulary{
		{"pi reads the bare text", "read", `{"path":"a"}`, file, []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}},
		{"pi, a piece", "read", `{"path":"a","offset":2,"limit":2}`, "two\n\n\n[3 more lines in file. Use offset=4 to continue]", []string{"/repo/a 2-3 output: two|", "nothing else"}},
		{"pi, an older notice", "read", `{"path":"a","limit":2}`, "one\ntwo\n\n... (3 more lines not shown. Use offset=3 to continue reading)", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"pi, by size", "read", `{"path":"a"}`, "one\ntwo\n\n[Showing lines 1-2 of 5 (50.0KB limit). Use offset=3 to continue]", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"pi, the end", "read", `{"path":"a","offset":4}`, "\tfour\nfive\n", []string{"/repo/a 4-5 output end: \tfour|five", "nothing else"}},
		{"pi, a picture", "read", `{"path":"a.png"}`, "Read image file [image/png]", nil},
		{"pi writes", "write", `{"path":"a","content":"one\r\ntwo\r\n"}`, "Successfully wrote 10 bytes to a", []string{"/repo/a 1-2 input full: one|two"}},
		{"pi edits", "edit", `{"path":"a","oldText":"x","newText":"y"}`, "Successfully replaced text in a.", []string{"/repo/a change"}},
		{"pi's shell shows the end of a long output", "bash", `{"command":"cat a"}`, "\tfour\nfive\n\n[Showing lines 4-5 of 5 (50.0KB limit). Full output: /tmp/pi.log]", nil},
		{"MCP", "mcp__fs__read_file", `{"path":"/repo/a"}`, file, []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}},
		{"MCP, a head", "mcp__fs__read_text_file", `{"path":"/repo/a","head":2}`, "one\ntwo", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"MCP, a tail begins somewhere", "mcp__fs__read_text_file", `{"path":"/repo/a","tail":2}`, "\tfour\nfive", nil},
		{"MCP, an argument that nobody knows", "mcp__x__read_file", `{"path":"/repo/a","section":"two"}`, "two", nil},
		{"MCP writes", "mcp__fs__write_file", `{"path":"/repo/a","content":"one\n"}`, "Successfully wrote to /repo/a", []string{"/repo/a 1-1 input full: one"}},
		{"MCP appends", "mcp__fs__write_file", `{"path":"/repo/a","content":"one\n","mode":"append"}`, "Successfully wrote to /repo/a", []string{"/repo/a change"}},
		{"MCP edits", "mcp__fs__edit_file", `{"path":"/repo/a","edits":[{"oldText":"x","newText":"y"}]}`, "```diff\n-x\n+y\n```", []string{"/repo/a change"}},
		{"MCP tries an edit", "mcp__fs__edit_file", `{"path":"/repo/a","edits":[{"oldText":"x","newText":"y"}],"dryRun":true}`, "```diff\n-x\n+y\n```", nil},
		{"a reader that numbers and says nothing of the end", "view_file", `{"path":"/repo/a"}`, "1\tone\n2\ttwo\n", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"a plain reader of a file that looks numbered", "read", `{"path":"/repo/a"}`, "1\tone\n", []string{"/repo/a 1-1 output full: ?", "nothing else"}},
		{"Gemini CLI", "read_file", `{"absolute_path":"/repo/a"}`, file, []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}},
		{"Gemini CLI, a piece", "read_file", `{"file_path":"/repo/a","offset":1,"limit":1}`,
			"\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 2-2 of 5 total lines.\n\n--- FILE CONTENT (truncated) ---\ntwo\n", []string{"/repo/a 2-2 output: two", "nothing else"}},
		{"Gemini CLI, an offset without a word", "read_file", `{"file_path":"/repo/a","offset":1}`, "two\n", nil},
		{"a note in the place of the text", "read_file", `{"path":"/repo/a"}`, "[Old tool result content cleared]", nil},
	}.check(t)
}

func TestOf_editorsOfSWEAgent(t *testing.T) {
	head := "Here's what `cat -n` prints of /repo/a:\n"
	vocabulary{
		{"view", "str_replace_editor", `{"command":"view","path":"/repo/a"}`, head + "     1\tone\n     2\ttwo\n     3\t\n     4\t\tfour\n     5\tfive\n     6\t\n", []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}},
		{"view of a range", "str_replace_editor", `{"command":"view","path":"/repo/a","view_range":[2, 3]}`, head + "     2\ttwo\n     3\t\n", []string{"/repo/a 2-3 output: two|", "nothing else"}},
		{"view to the end", "str_replace_editor", `{"command":"view","path":"/repo/a","view_range":[4,-1]}`, head + "     4\t\tfour\n     5\tfive\n", []string{"/repo/a 4-5 output end: \tfour|five", "nothing else"}},
		{"view, clipped", "str_replace_editor", `{"command":"view","path":"/repo/a"}`, head + "     1\tone\n     2\ttwo\n<response clipped><NOTE>Only part is shown.</NOTE>", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"view of a folder", "str_replace_editor", `{"command":"view","path":"/repo"}`, "Here are the files up to 2 levels deep:\n/repo/a\n", nil},
		{"view in OpenHands", "file_editor", `{"command":"view","path":"/repo/a","view_range":[1,2]}`, head + "     1\tone\n     2\ttwo\n", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"create", "str_replace_editor", `{"command":"create","path":"/repo/a","file_text":"one\ntwo\n"}`, "File created successfully at: /repo/a", []string{"/repo/a 1-2 input full: one|two"}},
		{"str_replace", "str_replace_editor", `{"command":"str_replace","path":"/repo/a","old_str":"x","new_str":"two"}`, "The file /repo/a has been edited. Here's `cat -n` of a piece:\n     1\tone\n     2\ttwo\nReview the changes and make sure they are right.",
			[]string{"/repo/a change", "/repo/a 1-2 output: one|two", "nothing else"}},
		{"insert", "str_replace_editor", `{"command":"insert","path":"/repo/a","insert_line":1,"new_str":"two"}`, "The file /repo/a has been edited.", []string{"/repo/a change"}},
		{"str_replace without a match", "str_replace_editor", `{"command":"str_replace","path":"/repo/a","old_str":"x","new_str":"y"}`, "No replacement was performed, x did not appear.", nil},
		{"the window of the line editor", "bash", `{"command":"open a 3"}`, "[File: /repo/a (5 lines total)]\n(1 more line above)\n2:two\n3:\n4:\tfour\n(1 more lines below)\n(Open file: /repo/a)\n(Current directory: /repo)\nbash-$", []string{"/repo/a 2-4 output: two||\tfour", "nothing else"}},
		{"all in the window", "open", `{"path":"a"}`, "[File: /repo/a (5 lines total)]\n1:one\n2:two\n3:\n4:\tfour\n5:five\n", []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}},
	}.check(t)
}

func TestOf_simpleShellReads(t *testing.T) {
	all := []string{"/repo/a 1-5 output full: one|two||\tfour|five", "nothing else"}
	numbers := "     1\tone\n     2\ttwo\n     3\t\n     4\t\tfour\n     5\tfive\n"
	some := []string{"/repo/a 2-3 output: two|", "nothing else"}
	for _, c := range []struct {
		command, output string
		want            []string
	}{
		{"cat a", file, all},
		{"cd /repo && cat ./a", file, all},
		{"cat 'a' 2>/dev/null", file, all},
		{"cat -n a", numbers, all},
		{"nl -ba a", numbers, all},
		{"nl -b a a", numbers, all},
		{"nl a", "     1\tone\n     2\ttwo\n       \n     3\t\tfour\n     4\tfive\n", nil},
		{"cat -n a | sed -n '2,3p'", "     2\ttwo\n     3\t\n", some},
		{"cat -n a | sed -n '2,3p'", "     2\ttwo\n     3", some},
		{"nl -ba a | sed -n '4,90p'", "     4\t\tfour\n     5\tfive\n", []string{"/repo/a 4-5 output end: \tfour|five", "nothing else"}},
		{"nl -ba a | head -n 2", "     1\tone\n     2\ttwo\n", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"nl -ba a | sed -n '2,3p'", "     4\t\tfour\n", nil},
		{"sed -n '2,3p' a", "two\n\n", some},
		{"sed -n 2,3p a", "two\n\n", some},
		{"sed -n '2,+1p' a", "two\n\n", some},
		{"sed -n '2,3p;4q' a", "two\n\n", some},
		{"sed -n -e '2,3p' a", "two\n\n", some},
		{"cat a | sed -n '2,3p'", "two\n\n", some},
		{"sed -n '1,200p' a", file, all},
		{"sed -n '1,$p' a", file, all},
		{"sed -n '4,$p' a", "\tfour\nfive\n", []string{"/repo/a 4-5 output end: \tfour|five", "nothing else"}},
		{"sed -n '1,2p;5,9p' a", "one\ntwo\nfive\n", []string{"/repo/a 1-2 output: one|two", "/repo/a 5-5 output end: five", "nothing else"}},
		{"head -n 2 a", "one\ntwo\n", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"head -2 a", "one\ntwo\n", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"head -n2 a", "one\ntwo\n", []string{"/repo/a 1-2 output: one|two", "nothing else"}},
		{"head a", file, all},
		{"cat a | head -40", file, all},
		{"tail -n +4 a", "\tfour\nfive\n", []string{"/repo/a 4-5 output end: \tfour|five", "nothing else"}},
		{"cd b && head -n 1 a", "one\nShell cwd was reset to /repo", []string{"/repo/b/a 1-1 output: one", "nothing else"}},

		// A range that came out short may have lost blank lines at its head when the output was trimmed.
		{"sed -n '3,9p' a", "\tfour\nfive", nil},
		{"head -n 9 a", "one\ntwo", nil},
		{"sed -n '2,3p' a", "two\n\nand what is this\n", nil},
		{"tail -n 2 a", "\tfour\nfive\n", nil},
		{"head -c 20 a", "one\n", nil},
		{"head -n -2 a", "one\n", nil},
		{"sed -n '/one/,/two/p' a", "one\ntwo\n", nil},
		{"sed -n '3,2p' a", "\n", nil},
		{"sed 's/x/y/' a", file, nil},
		{"sed -i 's/x/y/' a", "", nil},
		{"cat a b", file, nil},
		{"cat a; make", file, nil},
		{"cat a && make", file, nil},
		{"cat a || true", file, nil},
		{"cat a | grep o", file, nil},
		{"cat a > b", file, nil},
		{"cat a &", file, nil},
		{"cat *.go", file, nil},
		{"cat a[12]", file, nil},
		{`cat C:\x\a`, file, nil},
		{"cat $F", file, nil},
		{"cat `ls`", file, nil},
		{"cat", file, nil},
		{"time cat a", file, nil},
		{"cat -A a", file, nil},
		{"ls\ncat a", file, nil},
		{"sed -n '1,9p' a | head -2", "one\ntwo\n", nil},
		{"cat a", "cat: a: No such file or directory\n", nil},
		{"cat a", "(no output)", nil},
		{"cat a", "", nil},
	} {
		t.Run(c.command, func(t *testing.T) {
			input := fmt.Sprintf(`{"command":%q}`, c.command)
			if diff := cmp.Diff(c.want, shown(Of(finished("bash", input, c.output), "/repo"), file)); diff != "" {
				t.Errorf("%s\n%s\n(-want +got)\n%s", c.command, c.output, diff)
			}
		})
	}
}

// A relative name in a folder that is not known may be another file the next time; a tool's own path is relative to one root.
func TestOf_shellReadsNeedTheirFolder(t *testing.T) {
	for _, c := range []struct {
		tool, input string
		want        int
	}{
		{"bash", `{"command":"cat a"}`, 0},
		{"bash", `{"command":"cd b && cat a"}`, 0},
		{"bash", `{"command":"cat /repo/a"}`, 1},
		{"bash", `{"command":"cd /repo && cat a"}`, 1},
		{"exec_command", `{"cmd":"cat a","workdir":"/repo"}`, 1},
		{"read", `{"path":"a"}`, 1},
	} {
		if got := len(Of(finished(c.tool, c.input, "one\n"), "").Views); got != c.want {
			t.Errorf("%s %s: %d views, want %d", c.tool, c.input, got, c.want)
		}
	}
}

func TestOf_failedAndUnfinishedCallsShowNothing(t *testing.T) {
	for _, status := range []session.Status{session.Pending, session.Running, session.Failed} {
		p := finished("Write", `{"file_path":"/repo/a","content":"one\n"}`, "")
		p.State.Status = status
		if s := Of(p, "/repo"); s.Views != nil || s.OutputIsViews {
			t.Errorf("a call that is %s shows %v, want nothing", status, s)
		}
	}
	p := finished("bash", `{"command":"cat /repo/a"}`, "one\n")
	p.State.Metadata = []byte(`{"exit":1}`)
	if s := Of(p, "/repo"); s.Views != nil {
		t.Errorf("cat that ended with 1 shows %v, want nothing", s)
	}
	if s := Of(nil, ""); s.Views != nil {
		t.Errorf("no part shows %v", s)
	}
	if s := Of(&session.Part{Type: session.TextPart, Text: "one"}, ""); s.Views != nil {
		t.Errorf("a text shows %v", s)
	}
}
