package fold

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// draft is a summary that was written before it is needed, as it is in the store (store.Prepared):
// with what it replaces, so that any engine can tell whether it still fits.
type draft struct {
	Messages []string   `json:"messages"`          // digests of what is folded
	Previous string     `json:"previous,omitzero"` // id of the summary before
	LeftOut  []rule.Key `json:"stood"`             // of what is folded
	Split    bool       `json:"split,omitzero"`
	Tail     int        `json:"tail"` // messages behind it
	Summary
	Paid int   `json:"paid"` // position of its first request in State.Spent
	Took int64 `json:"took"` // nanoseconds, to write it
}

// Written reports whether a summary behind a pivot is there.
func Written(p *store.Prepared, pivot string) bool {
	return p != nil && p.Written != "" && p.Pivot == pivot
}

// Same reports whether what is prepared is what it was.
func Same(is, was *store.Prepared) bool { return is != nil && *is == *was }

// Turn is the id of the newest message that the user wrote, "" without one.
func Turn(log []session.Message) string {
	if m := newestWritten(log); m != nil {
		return m.ID
	}
	return ""
}

// PaidFor are the requests for a summary that is prepared, by their positions among all that was
// spent.
func PaidFor(p *store.Prepared) (all []int) {
	if p == nil || p.Written == "" {
		return nil
	}
	var d draft
	if d.read(p) != nil {
		return nil // of another version
	}
	for i := range d.Spent {
		all = append(all, d.Paid+i)
	}
	return all
}

func (d *draft) read(p *store.Prepared) error {
	return json.Unmarshal([]byte(p.Written), d, jsontext.AllowInvalidUTF8(true))
}

// Draft writes a summary of a plan down for another moment, or another engine. paid is how many
// requests were spent before those for it.
func (p *Plan) Draft(w Summary, paid int, took time.Duration) ([]byte, error) {
	d := draft{Split: p.Cut.Split, Tail: len(p.Cut.Tail), Summary: w, Paid: paid, Took: took.Nanoseconds()}
	if p.Cut.Previous != nil {
		d.Previous = p.Cut.Previous.ID
	}
	for i := range p.Cut.Fold {
		m := &p.Cut.Fold[i]
		d.Messages = append(d.Messages, digest(m))
		for j := range m.Parts {
			for _, el := range p.Ledger.Of(m.Parts[j].ID) {
				d.LeftOut = append(d.LeftOut, el.Key())
			}
		}
	}
	return json.Marshal(d, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// Rebase is a plan of the session as it is now for a summary that was prepared: the same messages
// are folded, what came since stays behind them, and what is carried over and elided is decided
// anew. took is how long the summary took to write.
func Rebase(s *report.Session, o Options, prepared *store.Prepared) (p *Plan, w Summary, took time.Duration,
	err error) {
	stale := func(format string, args ...any) (*Plan, Summary, time.Duration, error) {
		err := fmt.Errorf("the summary that was prepared "+format, args...)
		return nil, Summary{}, 0, &Error{Code: rule.Stale, Err: err}
	}
	var d draft
	if err := d.read(prepared); err != nil {
		return stale("cannot be read: %w", err)
	}
	p = uncut(s, o)
	p.Cut = pivot.Find(p.Window, p.Reduced, s.Facts, pivot.Wanted{Everything: true}) // all there is
	if why := d.stale(p, s); why != "" {
		return stale("does not fit any more: %s", why)
	}
	n := len(d.Messages)
	p.Cut.Fold, p.Cut.Tail, p.Cut.Split = p.Cut.Fold[:n:n], p.Cut.Fold[n:], d.Split
	if p.Options.Rejected {
		if why := p.refusedAgain(s); why != "" {
			return stale("is not enough: %s", why)
		}
		p.Cut = p.Cut.Replaying()
	}
	w = d.Summary
	w.Prepared = prepared
	note := "the summary was written before it was needed"
	if since := len(p.Cut.Tail) - d.Tail; since > 0 {
		note = "the summary was written while the work went on: " + quantity.Count(since, "message") + " came in meanwhile"
	}
	w.Notes = append(w.Notes, note)
	return p, w, time.Duration(d.Took), nil
}

// stale says why a summary that was prepared does not stand for what a window begins with any more,
// "" when it does. Elisions that were committed since change nothing: it was written from more.
func (d *draft) stale(now *Plan, s *report.Session) string {
	fold, previous := now.Cut.Fold, ""
	if now.Cut.Previous != nil {
		previous = now.Cut.Previous.ID
	}
	switch {
	case d.Previous != previous:
		return "another compaction was made or taken back meanwhile"
	case len(fold) < len(d.Messages):
		return "messages are gone"
	}
	leftOut := map[string][]rule.Key{}
	for _, k := range d.LeftOut {
		leftOut[k.Part] = append(leftOut[k.Part], k)
	}
	pinned := rule.Window{Pins: s.State.Pins}
	for i := range d.Messages {
		is := &fold[i]
		if digest(is) != d.Messages[i] {
			return fmt.Sprintf("message %s was changed", is.ID)
		}
		for j := range is.Parts {
			p := &is.Parts[j]
			for _, k := range leftOut[p.ID] {
				// what is pinned is carried over word for word
				if !s.State.Ledger.Has(k) && !pinned.Pinned(p.ID, is.ID) {
					return fmt.Sprintf("part %s is shown whole again", p.ID)
				}
			}
		}
	}
	return ""
}

// digest tells what a message holds from what another one does.
func digest(m *session.Message) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %t\n", m.ID, m.Failed())
	for i := range m.Parts {
		err := json.MarshalWrite(h, &m.Parts[i], json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return "" // it equals nothing that was digested
		}
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
