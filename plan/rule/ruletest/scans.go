package ruletest

import (
	_ "embed" // of the sessions
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Scan is a session at the end of a turn, and what the backward scan of S000 marks in it, with its
// defaults.
type Scan struct {
	Name    string
	Session session.Session
	Marked  []string // ids of parts, oldest first
}

//go:embed testdata/scans.txt
var scans string

// Scans are sessions for the backward scan. Each is a line of testdata/scans.txt: its name, its
// messages in words, and the parts that are marked, as MESSAGE.PART counted from 1.
//
// A word is a message: u of the user, m a marker, s a summary; else one of the assistant, its parts
// between the signs +. A part is t, a text, r, reasoning, or a call: TOOL:N has an output of N
// signs, each of one UTF-16 unit, with w behind it of two, with e of one that takes two bytes.
// ! behind it is a call that failed, ~ one that runs, ? one that waits, and * one whose output was
// compacted before.
func Scans() []Scan {
	var all []Scan
	for line := range strings.Lines(scans) {
		fields := strings.Split(strings.TrimSpace(line)+" ", "|")
		s := Scan{Name: strings.TrimSpace(fields[0])}
		s.Session.Info = session.Info{ID: fmt.Sprintf("ses_scan%02d", len(all)+1), Title: s.Name}
		for _, word := range strings.Fields(fields[1]) {
			s.Session.Messages = append(s.Session.Messages, scanned(word, len(s.Session.Messages)+1))
		}
		for _, at := range strings.Fields(fields[2]) {
			message, part, _ := strings.Cut(at, ".")
			s.Marked = append(s.Marked, scanID("prt", message, part))
		}
		all = append(all, s)
	}
	return all
}

func scanID(kind string, numbers ...string) string {
	id := kind
	for _, n := range numbers {
		id += fmt.Sprintf("_%03s", n)
	}
	return id
}

// scanned is the message that a word says.
func scanned(word string, number int) session.Message {
	at := strconv.Itoa(number)
	m := session.Message{MessageInfo: session.MessageInfo{ID: scanID("msg", at), Role: session.Assistant,
		Finish: "stop", Time: session.MessageTime{Created: session.Millis(1_700_000_000_000 + 1000*number)}}}
	switch word {
	case "u":
		m.Role, m.Finish, m.Parts = session.User, "", []session.Part{{Type: session.TextPart, Text: "Go on."}}
	case "m":
		m.Role, m.Finish, m.Parts = session.User, "", []session.Part{{Type: session.CompactionPart}}
	case "s":
		m.ParentID, m.Summary = scanID("msg", strconv.Itoa(number-1)), jsontext.Value("true")
		m.Parts = []session.Part{{Type: session.TextPart, Text: "## Goal\nGo on."}}
	default:
		for part := range strings.SplitSeq(word, "+") {
			m.Parts = append(m.Parts, scannedPart(part))
		}
	}
	for j := range m.Parts {
		p := &m.Parts[j]
		p.ID, p.MessageID = scanID("prt", at, strconv.Itoa(j+1)), m.ID
		if p.Type == session.ToolPart {
			p.CallID = scanID("call", at, strconv.Itoa(j+1))
		}
	}
	return m
}

func scannedPart(word string) session.Part {
	switch word {
	case "t":
		return session.Part{Type: session.TextPart, Text: "Done."}
	case "r":
		return session.Part{Type: session.ReasoningPart, Text: "Well."}
	}
	tool, size, _ := strings.Cut(word, ":")
	digits := strings.TrimRight(size, "we!~?*")
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic("testdata/scans.txt: " + word)
	}
	sign, state := "x", &session.ToolState{Status: session.Completed, Input: jsontext.Value(`{}`)}
	for _, kind := range size[len(digits):] {
		switch kind {
		case 'w':
			sign = "😀"
		case 'e':
			sign = "é"
		case '!':
			state.Status = session.Failed
		case '~':
			state.Status = session.Running
		case '?':
			state.Status = session.Pending
		case '*':
			state.Time = &session.Span{Start: 1, End: 2, Compacted: 3}
		}
	}
	switch text := strings.Repeat(sign, n); state.Status {
	case session.Completed:
		state.Output = text
	case session.Failed:
		state.Error = text
	}
	return session.Part{Type: session.ToolPart, Tool: tool, State: state}
}
