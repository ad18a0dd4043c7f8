package winnow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/recall"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/store"
)

// Dismiss says of sentences that were taken for instructions that they are not, or, with dismiss false, that they are after
// all. Each is named by its number or by its words; a piece of the sentence is enough if no other has it. From the next
// compaction on what is dismissed is not carried over; the message that it stands in stays as it is. Dismiss returns them as
// they are now. NotFound names what there is; Already if nothing changes.
func (e *Engine) Dismiss(ctx context.Context, id string, dismiss bool, which ...string) ([]report.Instruction, error) {
	op := "dismiss"
	if !dismiss {
		op = "undismiss"
	}
	var changed []report.Instruction
	err := e.change(ctx, op, id, func(l *live) (store.Change, error) {
		changed = nil
		var c store.Change
		all := report.InstructionsOf(l.log, l.state.Dismissed)
		for _, name := range which {
			found, err := named(all, name)
			if err != nil {
				return c, &Error{Code: NotFound, Op: op, Session: id, Err: err, Hint: listed(all)}
			}
			was := found.Dismissed
			if found.Dismissed = dismiss; slices.Contains(changed, found) {
				continue
			}
			changed = append(changed, found)
			switch key := recall.Key(found.Text); {
			case was == dismiss:
			case dismiss:
				c.Dismiss = append(c.Dismiss, key)
			default:
				c.Undismiss = append(c.Undismiss, key)
			}
		}
		switch {
		case len(which) == 0:
			return c, &Error{Code: BadInput, Op: op, Session: id, Err: fmt.Errorf("no constraint is named"), Hint: "give its number or its words"}
		case len(c.Dismiss)+len(c.Undismiss) > 0:
			return c, nil
		case dismiss:
			return c, &Error{Code: Already, Op: op, Session: id, Err: fmt.Errorf("it is dismissed already")}
		}
		return c, &Error{Code: Already, Op: op, Session: id, Err: fmt.Errorf("it is not dismissed")}
	}, nil)
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// named finds a constraint by its number, its words, or a piece of them that no other has.
func named(all []report.Instruction, name string) (report.Instruction, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(all) {
			return all[n-1], nil
		}
		return report.Instruction{}, fmt.Errorf("there is no constraint %d", n)
	}
	key := recall.Key(name)
	var having []report.Instruction
	for _, c := range all {
		switch its := recall.Key(c.Text); {
		case its == key && key != "":
			return c, nil
		case key != "" && strings.Contains(" "+its+" ", " "+key+" "):
			having = append(having, c)
		}
	}
	switch len(having) {
	case 1:
		return having[0], nil
	case 0:
		return report.Instruction{}, fmt.Errorf("there is no constraint %q", name)
	}
	return report.Instruction{}, fmt.Errorf("%d constraints say %q", len(having), name)
}

// listed says which constraints there are, for an error.
func listed(all []report.Instruction) string {
	const most = 8
	if len(all) == 0 {
		return "none was found in this session"
	}
	var names []string
	for _, c := range all[:min(len(all), most)] {
		names = append(names, fmt.Sprintf("%d %q", c.Number, rule.Shorten(c.Text, 60)))
	}
	text := "there are: " + strings.Join(names, ", ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// noConstraints tells a summariser which sentences of what is folded are none, "" when there are none of them.
func noConstraints(f *folding) string {
	if len(f.dismissed) == 0 {
		return ""
	}
	text := ""
	for _, c := range recall.Constraints(f.log) {
		if f.dismissed[recall.Key(c.Text)] {
			text += "\n- " + c.Text
		}
	}
	if text == "" {
		return ""
	}
	return "\n\nThe user said that these sentences are no standing constraints. Do not list them as such:" + text
}
