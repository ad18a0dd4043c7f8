package config

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/settings"
)

// A project's file comes with the folder, and the folder may be anybody's. It may say how a session
// is pruned and counted, as a team agrees on it, and protect or deny more. It may not make anything
// leave this computer or cost money: whatever reaches a provider, says to whom, when or with what
// words, or lets an agent do more, is for the user's own file, the environment and flags.

// consent says what a project's file may make of one key: given the value in force and the one in
// the file, the one to use. paid is set if the user has a model write summaries. A reason says why
// the file's value is ignored, or part of it.
type consent func(own, theirs jsontext.Value, paid bool) (taken jsontext.Value, reason string)

// projectMay is what a project's file may set, beside the strategies: see mayOf. Only the user may
// set a key that is not in it, so that a forgotten key is safe.
var projectMay = map[string]consent{
	"policy":                    frugal,
	"schedule":                  anything,
	"counter":                   anything,
	"compaction.prune":          anything,
	"compaction.protect":        anything,
	"compaction.minimum":        anything,
	"compaction.protectTurns":   anything,
	"compaction.auto":           unpaid,
	"compaction.threshold":      unpaid,
	"compaction.reserved":       unpaid,
	"compaction.keep":           unpaid,
	"compaction.coldFold":       unpaid,
	"compaction.userMessages":   unpaid,
	"compaction.background":     only("false"),
	"compaction.summarizer":     only(`"offline"`),
	"compaction.protectedTools": added,
	"compaction.protectedPaths": added,
	permissions:                 denials,
}

// mayOf is what a project's file may make of a key, nil for one that only the user may set. Which
// rules prune, and how far, reaches nobody and can be undone.
func mayOf(key string) consent {
	if strings.HasPrefix(key, "strategies.") {
		return anything
	}
	return projectMay[key]
}

// permissions say what an agent may do on this computer. Rules of a project's file come behind the
// user's, of which the last one counts.
const permissions = "permissions"

// anything accepts any value.
func anything(_, theirs jsontext.Value, _ bool) (jsontext.Value, string) { return theirs, "" }

// unpaid accepts any value if summaries cost nothing: it is about when they are written.
func unpaid(own, theirs jsontext.Value, paid bool) (jsontext.Value, string) {
	if paid {
		return own, "it decides when summaries are written, and yours are written by a model"
	}
	return theirs, ""
}

// frugal accepts any policy but, where summaries cost something, the one that decides when they are
// written.
func frugal(own, theirs jsontext.Value, paid bool) (jsontext.Value, string) {
	if string(theirs) == `"`+policy.Thrifty+`"` {
		return unpaid(own, theirs, paid)
	}
	return theirs, ""
}

// only accepts one value.
func only(value string) consent {
	return func(own, theirs jsontext.Value, _ bool) (jsontext.Value, string) {
		if string(theirs) == value {
			return theirs, ""
		}
		return own, "a project's file may only set it to " + value
	}
}

// added lays entries of a list beside the user's, as the file has them.
func added(own, theirs jsontext.Value, _ bool) (jsontext.Value, string) {
	var all settings.Protected
	var more []string
	if json.Unmarshal(own, &all) != nil || json.Unmarshal(theirs, &more) != nil {
		return own, "it must be a list of texts"
	}
	reason := ""
	if slices.ContainsFunc(more, removes) {
		reason = "a project's file may protect more, not less: entries with ! are left out"
	}
	text, err := json.Marshal(slices.DeleteFunc(more, removes))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	taken, failed := json.Marshal(all)
	if err != nil || failed != nil {
		return own, "it cannot be written down"
	}
	return taken, reason
}

// removes reports whether an entry of a list takes another one away.
func removes(entry string) bool { return strings.HasPrefix(entry, "!") }

// denials accepts the rules that deny something. They are appended to all others after everything
// was read, so that the list in force stays the user's.
func denials(own, theirs jsontext.Value, _ bool) (jsontext.Value, string) {
	var rules []Permission
	if json.Unmarshal(theirs, &rules) != nil {
		return own, "it must be a list of objects"
	}
	if slices.ContainsFunc(rules, func(p Permission) bool { return p.Verdict != "deny" }) {
		return own, "a project's file may deny, not allow or ask"
	}
	return own, ""
}

const (
	usersAlone = "only your own file may set it"
	runs       = "it is a command that would run on your computer"
)

// reasons say why only the user may set some keys.
var reasons = map[string]string{
	"models":                  "it says what your requests cost, and when your sessions are folded",
	"providers":               "it decides where your keys and sessions are sent",
	"model":                   "it decides who your sessions are sent to, and who is paid",
	"titles":                  "it decides who your sessions are sent to, and who is paid",
	"compaction.model":        "it decides who your sessions are sent to, and who is paid",
	"compaction.system":       "it tells the model that writes summaries what to keep and what to leave out",
	"compaction.prompt":       "it tells the model that writes summaries what to keep and what to leave out",
	"compaction.context":      "it tells the model that writes summaries what to keep and what to leave out",
	"compaction.temperature":  "it tells the model that writes summaries how to word them",
	"gateway.listen":          "it decides who reaches your providers through this computer",
	"gateway.upstreams":       "it decides where your keys and sessions are sent",
	"gateway.mode":            "it decides what your requests cost",
	"gateway.tools.drop":      "it decides which tools your agents have",
	"gateway.capture":         "it decides what of your sessions is written down",
	"gateway.retention":       "it decides which of your sessions are deleted",
	"gateway.auditRetention":  "it decides how long it is known who did what",
	"gateway.clients":         "it decides who reaches your providers through this computer",
	"gateway.origins":         "it decides which web pages reach your providers through this computer",
	"gateway.keys":            "it decides which keys are sent to providers",
	"gateway.oidc.issuer":     "it decides who sees your sessions",
	"gateway.oidc.clientID":   "it decides who sees your sessions",
	"gateway.oidc.secretFile": "it decides who sees your sessions",
	"gateway.oidc.redirect":   "it decides who sees your sessions",
	"gateway.oidc.groups":     "it decides who sees your sessions",
	"gateway.oidc.cookieFile": "it decides who sees your sessions",
	"gateway.oidc.access":     "it decides who sees your sessions",
	"gateway.tls.cert":        "it decides who can read what is sent to this computer",
	"gateway.tls.key":         "it decides who can read what is sent to this computer",
	"gateway.tls.inFront":     "it decides who can read what is sent to this computer",
	"gateway.delegate":        "it decides what your provider leaves out of your requests",
	"gateway.keepWarm":        "it sends requests that you pay for",
	"gateway.page":            "it decides who sees your sessions",
	"gateway.searchIndex":     "it decides which of your sessions are found",
	"gateway.drain":           "it decides how long a program of yours takes to end",
	"gateway.profile":         "it decides who can read the memory of a program of yours",
	"gateway.metrics":         "it decides who sees what your requests cost",
	"agents":                  "it decides how the sessions of your agents are pruned, and when they are folded",
	"mcp.compact":             "it decides when your sessions are compacted",
	"notify":                  "it decides what is sent to your terminal",
	"snapshots":               "it decides whether what an agent did can be undone",

	hooks + "session.compacting": runs,
	hooks + "session.compacted":  runs,
	hooks + "elision.committed":  runs,
}

// paid reports whether a model writes summaries by these settings.
func paid(s Settings) bool {
	return s.Compaction.Summarizer == "llm" || len(s.SummaryModels()) > 0
}

// allow is what becomes of a project's value.
func allow(key string, own, theirs jsontext.Value, paid bool) (taken jsontext.Value, reason string) {
	if may := mayOf(key); may != nil {
		return may(own, theirs, paid)
	}
	return own, cmp.Or(reasons[key], usersAlone)
}

// ProjectMay says why a project's file may not set a key to a value, nil if it may. The settings
// are those in force without that file.
func ProjectMay(key, value string, own Settings) error {
	if wanted(key) == "" {
		return nil // setting it says that there is no such key
	}
	leaf := key
	for !slices.Contains(Keys(), leaf) && strings.Contains(leaf, ".") {
		leaf = leaf[:strings.LastIndexByte(leaf, '.')] // an entry of providers, a member of a rule
	}
	if mayOf(leaf) == nil || leaf != key {
		return errors.New(cmp.Or(reasons[leaf], usersAlone))
	}
	text, err := setting(key, value)
	if err != nil {
		return nil // the same
	}
	_, values, err := Loaded{Settings: own}.Values()
	if err != nil {
		return err
	}
	if _, reason := allow(key, values[key], text, paid(own)); reason != "" {
		return errors.New(reason)
	}
	return nil
}

// Ignored is a value of a project's file that is not accepted.
type Ignored struct {
	Key    string `json:"key"`    // dotted key
	File   string `json:"file"`   // the file that has it
	Line   int    `json:"line"`   // its line, counted from 1
	Column int    `json:"column"` // its column, counted from 1
	Reason string `json:"reason"` // why it is ignored
}

// payer reports whether the environment, which is read later, has a model write summaries.
func payer(environ []string) bool {
	return slices.ContainsFunc(environ, func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		asks := name == Variable("compaction.model") || name == Variable("compaction.summarizer") && value != "offline"
		return value != "" && asks
	})
}

// project lays what a project's file may set over what was set, and notes the rest. payer is set if
// the environment has a model write summaries. A mistake in the file is an error, as in any other.
func (l *Loaded) project(name string, data []byte, payer bool) error {
	theirs := Loaded{Settings: Default(), Origins: map[string]string{}}
	if err := theirs.file(name, data); err != nil {
		return err
	}
	if err := theirs.Settings.Validate(); err != nil {
		return theirs.Blame(err)
	}
	l.keep(name, data)
	_, said, err := theirs.Values()
	if err != nil {
		return err
	}
	_, own, err := l.Values()
	if err != nil {
		return err
	}
	costs := paid(l.Settings) || payer
	for _, key := range Keys() {
		if layered(key) {
			said[key] = written(data, key) // what it takes away, too
		}
		if theirs.Origins[key] == "" || bytes.Equal(own[key], said[key]) {
			continue
		}
		taken, reason := allow(key, own[key], said[key], costs)
		if reason != "" {
			i := Ignored{Key: key, File: name, Reason: reason}
			i.Line, i.Column = position(data, int64(max(0, offsetOf(data, key))))
			l.Ignored = append(l.Ignored, i)
		}
		if !bytes.Equal(taken, own[key]) {
			if err := decode(nested(key, taken), &l.Settings); err != nil {
				return positioned(name, data, err)
			}
			l.Origins[key] = name
		}
	}
	l.denied = slices.DeleteFunc(theirs.Settings.Permissions,
		func(p Permission) bool { return p.Verdict != "deny" })
	if len(l.denied) > 0 {
		l.Origins[permissions] = name
	}
	return nil
}
