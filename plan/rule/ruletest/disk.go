package ruletest

import (
	"fmt"
	"slices"
	"strings"
)

// Disk is a small file system under the tools of agents. What a tool is asked and what it prints
// have the shape that the products give them; a file is its lines, each of which ends in a newline.
type Disk struct {
	files map[string][]string // by absolute path
}

// Folder is where the agents of a Disk work.
const Folder = "/repo"

// Use is one use of a tool.
type Use struct {
	Tool   string
	Args   Args
	Output string
	Failed bool // the call ended in an error, and Output is its message
	// Exit is the status that a shell command ended with.
	Exit int
}

// Readers are the ways to read a file: tools of products, and shell commands. The last five print
// lines without their numbers.
var Readers = []string{"claude", "claude-tab", "opencode", "opencode-old", "cat -n", "nl", "pi", "cat", "sed", "head",
	"tail"}

// Writers are the vocabularies in which files are written and edited.
var Writers = []string{"claude", "opencode", "pi", "patch"}

// Spellings of the path of a file.
var Spellings = []string{"%s", "./%s", "/repo/%s", "/repo/sub/../%s"}

// Path of a file by its name.
func Path(name string) string { return Folder + "/" + name }

// Lines of a file; nil when it is not there.
func (d *Disk) Lines(name string) []string { return slices.Clone(d.files[Path(name)]) }

// Change gives a file other lines without any agent's doing; nil removes it.
func (d *Disk) Change(name string, lines []string) {
	if d.files == nil {
		d.files = map[string][]string{}
	}
	if lines == nil {
		delete(d.files, Path(name))
		return
	}
	d.files[Path(name)] = slices.Clone(lines)
}

// Read lets a reader print lines of a file: limit lines from the line from on, numbered from 1; a
// limit of 0 asks for all of them. Some readers take no limit, or no first line, and print more.
func (d *Disk) Read(reader, name, spelled string, from, limit int) Use {
	lines, there := d.files[Path(name)]
	from = max(1, from)
	whole := from == 1 && limit == 0
	args := func(key string) Args {
		a := Args{key: spelled}
		if from > 1 {
			a["offset"] = from
		}
		if limit > 0 {
			a["limit"] = limit
		}
		return a
	}
	part := func(all []string) []string {
		all = all[min(len(all), from-1):]
		if limit > 0 {
			all = all[:min(len(all), limit)]
		}
		return all
	}
	number := func(format string, all []string) string {
		var b strings.Builder
		for i, line := range part(all) {
			fmt.Fprintf(&b, format+"\n", from+i, line)
		}
		return b.String()
	}
	switch reader {
	case "claude", "claude-tab":
		u := Use{Tool: "Read", Args: args("file_path")}
		format := "%6d→%s"
		if reader == "claude-tab" {
			format = "%d\t%s"
		}
		// After the last newline one more line is shown, which is empty.
		u.Output = strings.TrimSuffix(number(format, append(slices.Clone(lines), "")), "\n")
		switch {
		case !there:
			u.Failed, u.Output = true, "File does not exist."
		case u.Output == "":
			u.Output = fmt.Sprintf("<system-reminder>Warning: the file exists but is shorter than the provided offset "+
				"(%d). The file has %d lines.</system-reminder>", from, len(lines)+1)
		}
		return u
	case "opencode", "opencode-old":
		u := Use{Tool: "read", Args: args("filePath")}
		if !there {
			u.Failed, u.Output = true, "Error: File not found: "+Path(name)
			return u
		}
		notice := fmt.Sprintf("\n(End of file - total %d lines)\n", len(lines))
		if last := from - 1 + len(part(lines)); last < len(lines) {
			notice = fmt.Sprintf("\n(File has more lines. Use 'offset' parameter to read beyond line %d)\n", last)
		}
		if reader == "opencode-old" {
			if from > 1 {
				u.Args["offset"] = from - 1 // it counted from 0
			}
			u.Output = "<file>\n" + number("%05d| %s", lines) + notice + "</file>"
		} else {
			u.Output = "<path>" + Path(name) + "</path>\n<type>file</type>\n<content>\n" + number("%d: %s", lines) +
				notice + "</content>"
		}
		return u
	case "pi":
		u := Use{Tool: "read", Args: args("path")}
		// Text after the last newline counts as a line.
		lines = append(slices.Clone(lines), "")
		switch shown := part(lines); {
		case !there:
			u.Failed, u.Output = true, "ENOENT: no such file or directory, access '"+Path(name)+"'"
		case len(shown) == 0:
			u.Failed, u.Output = true, fmt.Sprintf("Offset %d is beyond end of file (%d lines total)", from, len(lines))
		case from-1+len(shown) < len(lines):
			u.Output = strings.Join(shown, "\n") +
				fmt.Sprintf("\n\n[%d more lines in file. Use offset=%d to continue]", len(lines)-len(shown)-from+1,
					from+len(shown))
		default:
			u.Output = strings.Join(shown, "\n")
		}
		return u
	}
	command := ""
	shown := part(lines)
	switch {
	case reader == "cat -n" || reader == "nl":
		command = map[string]string{"cat -n": "cat -n ", "nl": "nl -ba "}[reader] + spelled
		from, limit = 1, 0
		shown = strings.SplitAfter(strings.TrimSuffix(number("%6d\t%s", lines), "\n"), "\n")
		for i := range shown {
			shown[i] = strings.TrimSuffix(shown[i], "\n")
		}
	case reader == "sed" && !whole:
		to := "$"
		if limit > 0 {
			to = fmt.Sprint(from + limit - 1)
		}
		command = fmt.Sprintf("sed -n '%d,%sp' %s", from, to, spelled)
	case reader == "head" && limit > 0:
		from = 1
		shown = part(lines)
		command = fmt.Sprintf("head -n %d %s", limit, spelled)
	case reader == "tail" && from > 1:
		limit = 0
		shown = part(lines)
		command = fmt.Sprintf("tail -n +%d %s", from, spelled)
	default:
		shown, command = lines, "cat "+spelled
	}
	u := Use{Tool: "bash", Args: Args{"command": command}, Output: text(shown)}
	if !there {
		u.Output, u.Exit = strings.Fields(command)[0]+": "+spelled+": No such file or directory\n", 1
	} else if len(lines) == 0 {
		u.Output = ""
	}
	return u
}

// Write gives a file its lines, as an agent does.
func (d *Disk) Write(writer, name, spelled string, lines []string) Use {
	_, there := d.files[Path(name)]
	switch writer {
	case "claude":
		d.Change(name, lines)
		return Use{Tool: "Write", Args: Args{"file_path": spelled, "content": text(lines)},
			Output: "File created successfully at: " + spelled}
	case "pi":
		d.Change(name, lines)
		return Use{Tool: "write", Args: Args{"path": spelled, "content": text(lines)},
			Output: fmt.Sprintf("Successfully wrote %d bytes to %s", len(text(lines)), spelled)}
	case "patch":
		verb, body := "Add", ""
		for _, line := range lines {
			body += "+" + line + "\n"
		}
		patch := fmt.Sprintf("*** Begin Patch\n*** %s File: %s\n%s*** End Patch", verb, spelled, body)
		if there {
			return Use{Tool: "apply_patch", Args: Args{"input": patch}, Failed: true,
				Output: "apply_patch verification failed: " + spelled + " already exists"}
		}
		d.Change(name, lines)
		return Use{Tool: "apply_patch", Args: Args{"input": patch},
			Output: "Success. Updated the following files:\nA " + spelled}
	}
	d.Change(name, lines)
	return Use{Tool: "write", Args: Args{"filePath": spelled, "content": text(lines)},
		Output: "Wrote file successfully."}
}

// Edit replaces one line of a file by others, as an agent does. It fails where the line is not
// there exactly once.
func (d *Disk) Edit(writer, name, spelled, old string, lines []string) Use {
	content, there := d.files[Path(name)]
	at, unique := slices.Index(content, old), false
	if at >= 0 && old != "" {
		unique = strings.Count(text(content), old) == 1
	}
	replacement := strings.Join(lines, "\n")
	if unique {
		if len(lines) == 0 {
			old += "\n"
		}
		d.Change(name, slices.Concat(content[:at], lines, content[at+1:]))
	}
	var u Use
	switch writer {
	case "claude":
		u = Use{Tool: "Edit", Args: Args{"file_path": spelled, "old_string": old, "new_string": replacement},
			Output: "The file " + spelled + " has been updated."}
	case "pi":
		u = Use{Tool: "edit", Args: Args{"path": spelled, "oldText": old, "newText": replacement},
			Output: "Successfully replaced text in " + spelled + "."}
	case "patch":
		body := "-" + strings.TrimSuffix(old, "\n") + "\n"
		for _, line := range lines {
			body += "+" + line + "\n"
		}
		u = Use{Tool: "apply_patch", Args: Args{"input": "*** Begin Patch\n*** Update File: " + spelled + "\n@@\n" +
			body + "*** End Patch"},
			Output: "Success. Updated the following files:\nM " + spelled}
	default:
		u = Use{Tool: "edit", Args: Args{"filePath": spelled, "oldString": old, "newString": replacement},
			Output: "Edit applied successfully."}
	}
	if !unique {
		u.Failed, u.Output = true, "oldString not found in content"
		if !there {
			u.Output = "File not found: " + Path(name)
		}
	}
	return u
}

// Remove deletes a file, as an agent does.
func (d *Disk) Remove(name, spelled string) Use {
	u := Use{Tool: "bash", Args: Args{"command": "rm " + spelled}}
	if _, there := d.files[Path(name)]; !there {
		u.Output, u.Exit = "rm: cannot remove '"+spelled+"': No such file or directory\n", 1
	}
	d.Change(name, nil)
	return u
}

// text of lines, a newline behind each.
func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
