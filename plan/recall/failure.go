package recall

import (
	"path"
	"slices"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// Failure is an error after which nothing of the same kind succeeded.
type Failure struct {
	Tool string
	// Target is the command, the path or the query of the call.
	Target            string
	Path              string    // of a file operation
	Lines             []string  // call.ErrorLines of the output, at most six
	Exit              int       // -1 when unknown
	Kind              call.Kind // of a command
	Times             int       // how often it failed like this since its last success
	MessageID, PartID string
	At                int // position in the list of calls
}

// Exploring is for how many calls a failed look (a missing file, a listing) counts as unresolved.
// After that, the question was answered in another way.
const Exploring = 6

// Attempt is for how many calls a failed edit, or a failed command that is not a test, build,
// installation or commit, counts as unresolved. After that, it was done in another way or given up.
const Attempt = 25

// Overtaken is for how many calls a failed test or build counts as unresolved although other tests
// or builds have worked since.
const Overtaken = 60

// Failures returns the unresolved errors of a log with these calls, oldest first. An error is
// resolved by a later success of a command that covers it, of an edit of the same file, or of the
// same tool on the same target.
func Failures(messages []session.Message, calls []call.Call) []Failure {
	var open []failing
	for n := range calls {
		c := &calls[n]
		if c.Outcome.Refused {
			continue
		}
		if !c.Outcome.Known {
			// The same command ran again, and nothing says that it failed again.
			if c.Status == session.Completed && c.Main != nil && !c.Detached {
				open = slices.DeleteFunc(open, func(o failing) bool {
					return o.Tool == c.Tool &&
						o.Target == c.Target()
				})
			}
			continue
		}
		main := c.Main
		if !c.Outcome.Failed {
			open = slices.DeleteFunc(open, func(o failing) bool { return resolves(c, &o) })
			continue
		}
		f := Failure{Tool: c.Tool, Target: c.Target(), Exit: c.Outcome.Exit, MessageID: c.MessageID, PartID: c.PartID,
			At: n, Times: 1}
		for i := range c.Actions {
			if f.Path == "" && c.Actions[i].Op != call.Run && c.Actions[i].Exact {
				f.Path = c.Actions[i].Path
			}
		}
		if main != nil {
			f.Kind = main.Kind
		}
		// A newer failure of the same thing replaces the older one.
		kinds := main != nil && main.Kind != call.Perform && main.Kind != call.Look
		open = slices.DeleteFunc(open, func(o failing) bool {
			same := kinds && o.main != nil && main.Covers(o.main) || o.Tool == f.Tool && o.Target == f.Target
			if same {
				f.Times += o.Times
			}
			return same
		})
		open = append(open, failing{f, main})
	}
	worked := map[call.Kind]int{} // the newest call of a kind that worked
	for n := range calls {
		if c := &calls[n]; c.Outcome.Known && !c.Outcome.Failed && c.Main != nil {
			worked[c.Main.Kind] = n
		}
	}
	var found []Failure
	for _, o := range open {
		f := o.Failure
		if f.Kind == call.Test || f.Kind == call.Build || f.Kind == call.Install || f.Kind == call.History {
			// Long ago, never tried again in this form, and its kind works: it was solved in
			// another way.
			if len(calls)-f.At > Overtaken && max(worked[f.Kind], worked[call.Test]) > f.At {
				continue
			}
		}
		if age := len(calls) - f.At; looked(&calls[f.At], o.main) && age > Exploring ||
			(f.Kind == "" || f.Kind == call.Perform) && age > Attempt {
			continue
		}
		c := &calls[f.At]
		f.Lines = call.ErrorLines(messages[c.Message].Parts[c.Part].State.Result(), 6)
		found = append(found, f)
	}
	return found
}

// failing is a failure with the command that failed, if it was one.
type failing struct {
	Failure
	main *call.Invocation
}

// looked reports whether a call only looked at something: its failure breaks nothing.
func looked(c *call.Call, main *call.Invocation) bool {
	if main != nil {
		return main.Kind == call.Look
	}
	for i := range c.Actions {
		switch c.Actions[i].Op {
		case call.Read, call.Search, call.Fetch, call.Plan, call.Load, call.Ask, call.Other:
		default:
			return false
		}
	}
	return true
}

// resolves reports whether a successful call shows that what failed works now.
func resolves(c *call.Call, f *failing) bool {
	all, failed := c.Ran, f.main
	if c.Tool == f.Tool && c.Target() == f.Target {
		return true
	}
	if failed != nil {
		for i := range all {
			if all[i].Kind != call.Look && all[i].Covers(failed) {
				return true
			}
		}
		// Tests that pass compile.
		if failed.Kind == call.Build && failed.Name == "go vet" || failed.Name == "go build" {
			for i := range all {
				if all[i].Name == "go test" || all[i].Name == "go build" || all[i].Name == "go vet" {
					shadow := all[i]
					shadow.Name = failed.Name
					if shadow.Covers(failed) {
						return true
					}
				}
			}
		}
	}
	for i := range c.Actions {
		a := &c.Actions[i]
		if failed != nil && !a.Exact {
			continue
		}
		if f.Path != "" && a.Path != "" && (a.Path == f.Path || path.Base(a.Path) == path.Base(f.Path)) &&
			(a.Op.Changes() || a.Op == call.Read) {
			return a.Op.Changes() || f.Tool == c.Tool || a.Op == call.Read && f.Kind == ""
		}
	}
	return false
}
