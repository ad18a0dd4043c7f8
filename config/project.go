package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
)

// A project's file comes with the folder, and the folder may be anybody's. It may hold Winnow back, and no more: protect more, leave less out, deny
// more, keep summaries on this computer. Whatever makes a request to a provider, says to whom, when or with what words, makes one dearer, or lets an
// agent do more, is for the user's own file, the environment and flags.

// consent says what a project's file may make of one key: of the value in force and the one in the file, the one to take. A reason says that
// the file's value is not taken, or not all of it.
type consent func(own, theirs jsontext.Value) (taken jsontext.Value, reason string)

// projectMay is what a project's file may set. A key that is not in it is the user's alone, so that one that was forgotten is safe.
var projectMay = map[string]consent{
	"schedule":                  only(`"economic"`),
	"compaction.background":     only("false"),
	"compaction.prune":          only("false"),
	"compaction.summarizer":     only(`"offline"`),
	"compaction.protect":        more,
	"compaction.minimum":        more,
	"compaction.protectTurns":   more,
	"compaction.protectedTools": added,
	"compaction.protectedPaths": added,
	permissions:                 denials,

	"strategies.handles":                               only("false"),
	"strategies.aggressivePruning.pruneToolInputs":     only("false"),
	"strategies.aggressivePruning.pruneStepMarkers":    only("false"),
	"strategies.aggressivePruning.pruneSourceUrls":     only("false"),
	"strategies.aggressivePruning.pruneFiles":          only("false"),
	"strategies.aggressivePruning.pruneSnapshots":      only("false"),
	"strategies.aggressivePruning.pruneRetryParts":     only("false"),
	"strategies.aggressivePruning.pruneUserCodeBlocks": only("false"),
	"strategies.aggressivePruning.truncateOldErrors":   only("false"),
	"strategies.aggressivePruning.aggressiveFilePrune": only("false"),
	"strategies.aggressivePruning.stateQuerySupersede": only("false"),
	"strategies.balancedPruning.pruneToolInputs":       only("false"),
	"strategies.balancedPruning.pruneStepMarkers":      only("false"),
	"strategies.balancedPruning.pruneSourceUrls":       only("false"),
	"strategies.balancedPruning.pruneFiles":            only("false"),
	"strategies.balancedPruning.pruneSnapshots":        only("false"),
	"strategies.balancedPruning.pruneRetryParts":       only("false"),
	"strategies.balancedPruning.pruneUserCodeBlocks":   only("false"),
	"strategies.balancedPruning.truncateOldErrors":     only("false"),
	"strategies.balancedPruning.aggressiveFilePrune":   only("false"),
	"strategies.balancedPruning.stateQuerySupersede":   only("false"),
	"strategies.balancedPruning.pruneDuplicates":       only("false"),
	"strategies.balancedPruning.pruneTodos":            only("false"),
	"strategies.balancedPruning.pruneIdle":             only("false"),
	"strategies.balancedPruning.minTokens":             more,
	"strategies.balancedPruning.quietSteps":            more,
	"strategies.balancedPruning.keepSnapshots":         more,
}

// permissions say what an agent may do on this computer. Rules of a project's file come behind the user's, of which the last one counts.
const permissions = "permissions"

// only takes one value.
func only(value string) consent {
	return func(own, theirs jsontext.Value) (jsontext.Value, string) {
		if string(theirs) == value {
			return theirs, ""
		}
		return own, "a project's file may only set it to " + value
	}
}

// more takes a number that is larger than the user's.
func more(own, theirs jsontext.Value) (jsontext.Value, string) {
	ours, _ := strconv.Atoi(string(own))
	if n, err := strconv.Atoi(string(theirs)); err == nil && n >= ours {
		return theirs, ""
	}
	return own, fmt.Sprintf("a project's file may only raise it, and it is %s", own)
}

// added lays entries of a list beside the user's.
func added(own, theirs jsontext.Value) (jsontext.Value, string) {
	var all, more []string
	if json.Unmarshal(own, &all) != nil || json.Unmarshal(theirs, &more) != nil {
		return own, "it must be a list of texts"
	}
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	taken, err := json.Marshal(all)
	if err != nil {
		return own, "it cannot be written down"
	}
	return taken, ""
}

// denials takes the rules that take something away. They are laid behind all others when everything is read, so that the list in force stays the user's.
func denials(own, theirs jsontext.Value) (jsontext.Value, string) {
	var rules []winnow.Permission
	if json.Unmarshal(theirs, &rules) != nil {
		return own, "it must be a list of objects"
	}
	if slices.ContainsFunc(rules, func(p winnow.Permission) bool { return p.Verdict != "deny" }) {
		return own, "a project's file may deny, not allow or ask"
	}
	return own, ""
}

const usersAlone = "it is for your own file to say"

// reasons say of some keys why they are the user's alone, for who would rather know.
var reasons = map[string]string{
	"providers":          "it says where your keys and sessions are sent",
	"model":              "it says whom your sessions are sent to, and who is paid",
	"titles":             "it says whom your sessions are sent to, and who is paid",
	"compaction.model":   "it says whom your sessions are sent to, and who is paid",
	"compaction.prompt":  "it tells the model that writes summaries what to keep and what to leave out",
	"compaction.context": "it tells the model that writes summaries what to keep and what to leave out",
	"snapshots":          "it says whether what an agent did can be taken back",
}

// allow is what becomes of a project's value.
func allow(key string, own, theirs jsontext.Value) (taken jsontext.Value, reason string) {
	if may := projectMay[key]; may != nil {
		return may(own, theirs)
	}
	return own, cmp.Or(reasons[key], usersAlone)
}

// ProjectMay is an error that says why a project's file may not say this of a key, nil when it may. The settings are those that are in force
// without that file.
func ProjectMay(key, value string, own winnow.Settings) error {
	if wanted(key) == "" {
		return nil // what is no key is told by who sets it
	}
	leaf := key
	for !slices.Contains(Keys(), leaf) && strings.Contains(leaf, ".") {
		leaf = leaf[:strings.LastIndexByte(leaf, '.')] // an entry of providers, a member of a rule
	}
	if projectMay[leaf] == nil || leaf != key {
		return errors.New(cmp.Or(reasons[leaf], usersAlone))
	}
	text, err := valueOf(key, value)
	if err != nil {
		return nil // of that too
	}
	_, values, err := Loaded{Settings: own}.Values()
	if err != nil {
		return err
	}
	if _, reason := allow(key, values[key], text); reason != "" {
		return errors.New(reason)
	}
	return nil
}

// Ignored is a value of a project's file that is not taken.
type Ignored struct {
	Key    string `json:"key"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Reason string `json:"reason"`
}

// project lays over what is there what a project's file may say, and notes the rest. A mistake in the file is an error, as in any other.
func (l *Loaded) project(name string, data []byte) error {
	theirs := Loaded{Settings: winnow.DefaultSettings(), Origins: map[string]string{}}
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
	for _, key := range Keys() {
		if theirs.Origins[key] == "" || bytes.Equal(own[key], said[key]) {
			continue
		}
		taken, reason := allow(key, own[key], said[key])
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
	l.denied = slices.DeleteFunc(theirs.Settings.Permissions, func(p winnow.Permission) bool { return p.Verdict != "deny" })
	if len(l.denied) > 0 {
		l.Origins[permissions] = name
	}
	return nil
}
