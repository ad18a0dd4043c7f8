package main

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
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2   // wrong usage or configuration
	exitInput       = 3   // input not understood
	exitPartly      = 4   // damaged pieces were skipped, some targets refused, an agent stopped at a limit, or doctor found something
	exitNothing     = 5   // nothing to do
	exitInterrupted = 130 // by a signal
)

// usageError is wrong use of the command line.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// hinted adds what to do to an error.
type hinted struct {
	err  error
	hint string
}

func (h hinted) Error() string { return h.err.Error() + "\n  " + h.hint }
func (h hinted) Unwrap() error { return h.err }

// partly is the end of a command that did its work although pieces of the input were damaged, or some of several inputs could not be read.
type partly struct {
	damaged []format.Damage
	across  int // files that they are in, when there are several: then they are only counted
	counted int // damaged pieces in those files of which nothing but their number is known
	failed  []error
	hits    []error // of a search, that cannot be shown
}

// listedDamage is how many damaged pieces are listed for people; --json has all of them.
const listedDamage = 10

func (p partly) Error() string {
	var b strings.Builder
	if n := len(p.damaged); n > 0 && p.across > 1 {
		fmt.Fprintf(&b, "%s in %d files; everything else was read", plural(n, "damaged piece was skipped", "damaged pieces were skipped"), p.across)
		p.damaged = nil
	} else if n > 0 {
		b.WriteString(plural(n, "damaged piece was", "damaged pieces were") + " skipped; everything else was read:")
	}
	for i, d := range p.damaged {
		if i == listedDamage {
			fmt.Fprintf(&b, "\n  and %s more", token.Grouped(len(p.damaged)-i))
			break
		}
		where := fmt.Sprintf("byte %d", d.Offset)
		if d.Line > 0 {
			where = fmt.Sprintf("line %d", d.Line)
		}
		fmt.Fprintf(&b, "\n  %s (%s): %s", where, plural(d.Bytes, "byte", "bytes"), d.Reason)
	}
	if p.counted > 0 {
		fmt.Fprintf(&b, "%s in %s; everything else was read", plural(p.counted, "damaged piece was skipped", "damaged pieces were skipped"), plural(p.across, "file", "files"))
	}
	if len(p.failed) > 0 {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(plural(len(p.failed), "file was", "files were") + " not read:")
		for _, err := range p.failed {
			b.WriteString("\n  " + err.Error())
		}
	}
	if len(p.hits) > 0 {
		b.WriteString(plural(len(p.hits), "hit is", "hits are") + " damaged and not shown:")
		for _, err := range p.hits {
			b.WriteString("\n  " + err.Error())
		}
	}
	return b.String()
}

// plural writes a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return token.Grouped(n) + " " + many
}

// nothing is the end of a command that had nothing to do.
type nothing struct{ reason string }

func (n nothing) Error() string { return n.reason }

// exitCode is what the process ends with.
func exitCode(err error) int {
	var u usageError
	var p partly
	var r refusedTargets
	var n nothing
	var left unsettled
	var ill unhealthy
	var syntax *format.SyntaxError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &p), errors.As(err, &r), errors.As(err, &left), errors.As(err, &ill):
		return exitPartly
	case errors.Is(err, agent.ErrSteps), errors.Is(err, errLength):
		return exitPartly
	case errors.As(err, &n):
		return exitNothing
	case errors.As(err, &syntax), errors.Is(err, opencodedb.ErrNoSessions):
		return exitInput
	case errors.As(err, &u):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	switch winnow.CodeOf(err) {
	case winnow.NothingToFold, winnow.Already, rule.Fits, rule.BelowMinimum:
		return exitNothing
	case winnow.BadConfig:
		return exitUsage
	}
	return exitFailed
}

// loopPrefix is what the errors of a loop begin with: which session it is about is said with how to go on.
var loopPrefix = regexp.MustCompile(`^agent: (session [^ :]*: )?`)

// explainError separates what went wrong from what to do about it. Errors have their hints at the end of their text, for programs
// that print nothing else; here they get lines of their own.
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
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) {
		case *winnow.Error:
			take(e.Hint, "; ", "")
		case *store.Error:
			take(e.Hint, " (", ")")
		case hinted:
			take(e.hint, "\n  ", "")
		case resumable:
			take(e.hint(), "\n  ", "")
		case *inplace.Refusal:
			hints = append(hints, e.Advice()...)
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		}
	}
	walk(err)
	var syntax *format.SyntaxError
	var path *fs.PathError
	var settings *config.Error
	switch {
	case len(hints) > 0:
	case errors.As(err, &syntax) && syntax.Format == all.UnknownFormat:
		text = strings.Replace(text, syntax.Error(), fmt.Sprintf("this is no session that winnow knows: %v", syntax.Err), 1)
		hints = append(hints, "it was looked at for the signs of:")
		for _, f := range all.Formats() {
			hints = append(hints, "  "+f.Title())
		}
	case errors.As(err, &settings) && errors.Is(err, fs.ErrNotExist):
		text = strings.Replace(text, settings.Err.Error(), "there is no such file", 1)
		hints = append(hints, "check the path of the configuration")
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		text = strings.Replace(text, path.Error(), path.Path+": there is no such file", 1)
		hints = append(hints, "check the path; `winnow list` shows the sessions in the store")
	case errors.Is(err, opencodedb.ErrNotFound):
		hints = append(hints, "`winnow list --everywhere` shows the sessions on this computer")
	case errors.Is(err, format.ErrReadOnly):
		hints = append(hints, "write it in another format, for example with --format opencode")
	case errors.Is(err, syscall.ENOSPC):
		hints = append(hints, "make room on the disk and try again; nothing was half-written")
	case errors.Is(err, fs.ErrNotExist):
		hints = append(hints, "check the path; `winnow list` shows the sessions in the store")
	case errors.Is(err, fs.ErrPermission):
		hints = append(hints, "check who may read and write there")
	}
	return text, hints
}
