package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
)

// Exit codes.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2   // wrong usage or configuration
	ExitInput       = 3   // input not understood
	ExitPartly      = 4   // done in part: damage was skipped, some targets were refused, an agent stopped at a limit
	ExitNothing     = 5   // nothing to do
	ExitInterrupted = 130 // by a signal
)

// An ending is an error that says which exit code the command ends with, and what to do about it.
type ending struct {
	err  error
	code int    // 0: that of err
	hint string // what to do, "" if the error says it
	kept bool   // the work can be continued: the command ends as it is, even after an interruption
}

func (e ending) Error() string {
	if e.hint == "" {
		return e.err.Error()
	}
	return e.err.Error() + "\n  " + e.hint
}

func (e ending) Unwrap() error { return e.err }

// ExitCode is what the error says about the end of the command, 0 if it says nothing.
func (e ending) ExitCode() int { return e.code }

// Passed is the end of a command that ran a program: the exit code is the program's, and nothing is
// said about it.
type Passed int

func (p Passed) Error() string { return fmt.Sprintf("exit code %d", int(p)) }

// Usage is wrong use of the command line.
func Usage(format string, args ...any) error { return Misuse(fmt.Errorf(format, args...)) }

// Misuse makes an error one of wrong usage or configuration.
func Misuse(err error) error { return ending{err: err, code: ExitUsage} }

// IsMisuse reports whether an error is wrong usage or configuration.
func IsMisuse(err error) bool { return endings(err)[ExitUsage] }

// Hint adds to an error what to do about it.
func Hint(err error, hint string) error { return ending{err: err, hint: hint} }

// Nothing is the end of a command that had nothing to do.
func Nothing(reason string) error { return ending{err: errors.New(reason), code: ExitNothing} }

// IsNothing reports whether an error says that there was nothing to do.
func IsNothing(err error) bool { return endings(err)[ExitNothing] }

// Incomplete is the end of a command that did only some of its work.
func Incomplete(reason string) error { return ending{err: errors.New(reason), code: ExitPartly} }

// Resumable is the error of work that the command named in resume continues.
func Resumable(err error, resume string) error {
	return ending{err: err, hint: "the session is kept; continue with: " + resume, kept: true}
}

// Partly is the end of a command that did its work, although pieces of the input were damaged or
// some of several inputs could not be read.
type Partly struct {
	Damaged []format.Damage
	Across  int     // files with damage, if there are several: the pieces are then only counted
	Counted int     // damaged pieces in those files of which only the number is known
	Failed  []error // files that could not be read
	Hits    []error // of a search, that cannot be shown
}

// listedDamage is how many damaged pieces are listed for people; --json has all of them.
const listedDamage = 10

func (p Partly) Error() string {
	var told []string
	skipped := func(n int) string {
		return quantity.Plural(n, "damaged piece was skipped", "damaged pieces were skipped")
	}
	switch n := len(p.Damaged); {
	case n > 0 && p.Across > 1:
		told = append(told, fmt.Sprintf("%s in %d files; everything else was read", skipped(n), p.Across))
	case n > 0:
		told = append(told, skipped(n)+"; everything else was read:")
		for _, d := range p.Damaged[:min(n, listedDamage)] {
			where := fmt.Sprintf("byte %d", d.Offset)
			if d.Line > 0 {
				where = fmt.Sprintf("line %d", d.Line)
			}
			told = append(told, fmt.Sprintf("  %s (%s): %s", where, quantity.Plural(d.Bytes, "byte", "bytes"),
				d.Reason))
		}
		if n > listedDamage {
			told = append(told, fmt.Sprintf("  and %s more", quantity.Number(n-listedDamage)))
		}
	case p.Counted > 0:
		told = append(told, fmt.Sprintf("%s in %s; everything else was read", skipped(p.Counted),
			quantity.Plural(p.Across, "file", "files")))
	}
	list := func(errs []error, one, more string) {
		if len(errs) > 0 {
			told = append(told, quantity.Plural(len(errs), one, more))
		}
		for _, err := range errs {
			told = append(told, "  "+err.Error())
		}
	}
	list(p.Failed, "file was not read:", "files were not read:")
	list(p.Hits, "hit is damaged and not shown:", "hits are damaged and not shown:")
	return strings.Join(told, "\n")
}

// ExitCode is that of a command that did its work in part.
func (p Partly) ExitCode() int { return ExitPartly }

// exitCode is what the process ends with.
func exitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	var passed Passed
	if errors.As(err, &passed) {
		return int(passed)
	}
	codes := endings(err)
	var syntax *format.SyntaxError
	codes[ExitPartly] = codes[ExitPartly] || errors.Is(err, agent.ErrSteps)
	codes[ExitInput] = errors.As(err, &syntax) || errors.Is(err, opencodedb.ErrNoSessions)
	codes[ExitInterrupted] = errors.Is(err, context.Canceled)
	for _, code := range []int{ExitPartly, ExitNothing, ExitInput, ExitUsage, ExitInterrupted} {
		if codes[code] {
			return code
		}
	}
	switch winnow.CodeOf(err) {
	case winnow.NothingToFold, winnow.Already, rule.Fits, rule.BelowMinimum:
		return ExitNothing
	case winnow.BadConfig:
		return ExitUsage
	}
	return ExitFailed
}

// endings are the exit codes that an error and all that it wraps ask for.
func endings(err error) map[int]bool {
	codes := map[int]bool{}
	each(err, func(err error) {
		if e, ok := err.(interface{ ExitCode() int }); ok {
			codes[e.ExitCode()] = true
		}
	})
	return codes
}

// each calls do with an error and with all that it wraps.
func each(err error, do func(error)) {
	if err == nil {
		return
	}
	do(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		each(e.Unwrap(), do)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			each(inner, do)
		}
	}
}

// loopPrefix is what the errors of a loop begin with. The hint on how to continue names the
// session.
var loopPrefix = regexp.MustCompile(`^agent: (session [^ :]*: )?`)

// explainError separates what went wrong from what to do about it. Errors have their hints at the
// end of their text, for programs that print nothing else; here they get lines of their own.
func explainError(err error) (text string, hints []string) {
	text = loopPrefix.ReplaceAllString(strings.TrimPrefix(err.Error(), "winnow: "), "")
	take := func(hint, before, after string) {
		if hint == "" {
			return
		}
		text = strings.Replace(text, before+hint+after, "", 1)
		if !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	each(err, func(err error) {
		switch e := err.(type) {
		case *winnow.Error:
			take(e.Hint, "; ", "")
		case *store.Error:
			take(e.Hint, " (", ")")
		case ending:
			take(e.hint, "\n  ", "")
		case *inplace.Refusal:
			hints = append(hints, e.Advice()...)
		}
	})
	var syntax *format.SyntaxError
	var path *fs.PathError
	var settings *config.Error
	missing := errors.Is(err, fs.ErrNotExist)
	if errors.As(err, &path) && !(missing && errors.As(err, &settings)) { // without the system's call
		reason := path.Err.Error()
		if missing {
			reason = "there is no such file"
		}
		text = strings.Replace(text, path.Error(), path.Path+": "+reason, 1)
	}
	switch {
	case len(hints) > 0:
	case errors.As(err, &syntax) && syntax.Format == all.UnknownFormat:
		told := fmt.Sprintf("not a session format winnow recognises: %v", syntax.Err)
		text = strings.Replace(text, syntax.Error(), told, 1)
		hints = append(hints, "winnow recognises:")
		for _, f := range all.Formats() {
			hints = append(hints, "  "+f.Title())
		}
	case errors.As(err, &settings) && missing:
		text = strings.Replace(text, settings.Err.Error(), "there is no such file", 1)
		hints = append(hints, "check the path of the configuration")
	case errors.Is(err, opencodedb.ErrNotFound):
		hints = append(hints, "`winnow ls` shows the sessions on this computer")
	case errors.Is(err, format.ErrReadOnly):
		hints = append(hints, "write it in another format, for example with --format opencode")
	case errors.Is(err, syscall.ENOSPC):
		hints = append(hints, "make room on the disk and try again; nothing was half-written")
	case missing:
		hints = append(hints, "check the path; `winnow ls --store` shows the sessions in the store")
	case errors.Is(err, fs.ErrPermission):
		hints = append(hints, "check who may read and write there")
	}
	return text, hints
}
