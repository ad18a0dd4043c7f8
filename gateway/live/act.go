package live

import (
	"cmp"
	"context"
	"crypto/hmac"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/text/quantity"
)

// Action is what a button asks for.
type Action struct {
	Do      string `json:"do"` // undo, redo, restore, pin, unpin, foresee, discard, mode
	Session string `json:"session,omitzero"`
	Receipt string `json:"receipt,omitzero"` // of undo and redo
	Part    string `json:"part,omitzero"`    // of restore and pin: its id
	Pin     string `json:"pin,omitzero"`     // of unpin: its id
	Name    string `json:"name,omitzero"`    // of foresee and discard: "turn:3" or "message:31"
	Mode    string `json:"mode,omitzero"`
}

// wordHeader is the header in which a page shows its word.
const wordHeader = "X-Winnow-Page"

const mostAsked = 4 << 10 // bytes of an action

// act does what a button asks for.
func (p *page) act(w http.ResponseWriter, r *http.Request, tenant string) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		tell(w, http.StatusMethodNotAllowed, result{Error: "use POST"})
		return
	}
	if !hmac.Equal([]byte(r.Header.Get(wordHeader)), []byte(p.hub.word(tenant))) {
		tell(w, http.StatusForbidden, result{Error: "this page is of another run of winnow", Hint: "load it again"})
		return
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		tell(w, http.StatusUnsupportedMediaType, result{Error: "an action is JSON"})
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostAsked))
	var a Action
	if err == nil {
		err = json.Unmarshal(text, &a, json.RejectUnknownMembers(true))
	}
	if err != nil {
		tell(w, http.StatusBadRequest, result{Error: "the action cannot be read"})
		return
	}
	if a.Do == "mode" {
		p.switchTo(w, r, tenant, a.Mode)
		return
	}
	switch {
	case p.hub.row(a.Session, tenant) == nil:
		tell(w, http.StatusNotFound, result{Error: "no such session is shown here"})
		return
	case p.Engine == nil:
		tell(w, http.StatusConflict, result{Error: "in the mode off nothing of a session is changed",
			Hint: "switch the mode"})
		return
	}
	if a.Do != "foresee" {
		if err := p.Audit(r.Context(), Deed{a.Do, a.Session, cmp.Or(a.Receipt, a.Part, a.Pin, a.Name)}); err != nil {
			tell(w, http.StatusServiceUnavailable, unaudited)
			return
		}
	}
	// The browser may leave, and what it asked for is done all the same.
	said, err := p.do(context.WithoutCancel(r.Context()), a)
	if err != nil {
		tell(w, statusOf(err), failed(err))
		return
	}
	tell(w, http.StatusOK, result{Done: said})
}

// unaudited is what is told where it cannot be noted who does what.
var unaudited = result{Error: "the audit log cannot be written, so nothing was done", Hint: "winnow's log says why"}

// switchTo puts another mode in force.
func (p *page) switchTo(w http.ResponseWriter, r *http.Request, tenant, mode string) {
	switch {
	case p.Switch == nil || tenant != "":
		tell(w, http.StatusForbidden, result{Error: "the mode cannot be switched here"})
	case !slices.Contains(p.Modes, mode):
		tell(w, http.StatusBadRequest, result{Error: fmt.Sprintf("unknown mode %q", mode)})
	case mode == p.Mode:
		tell(w, http.StatusOK, result{Done: "The mode is " + mode + " already."})
	default:
		if err := p.Switch(context.WithoutCancel(r.Context()), mode); err != nil {
			tell(w, http.StatusConflict, result{Error: err.Error()})
			return
		}
		tell(w, http.StatusOK, result{Done: "Mode " + mode + ": it counts for new requests."})
	}
}

// next is when all of it takes effect.
const next = " It takes effect with the next request; what follows the change is written to the cache again."

// do changes a session as the command line does, and says what was done.
func (p *page) do(ctx context.Context, a Action) (string, error) {
	bad := func(what string) error {
		return &winnow.Error{Code: winnow.BadInput, Op: a.Do, Session: a.Session, Err: fmt.Errorf("%s is missing",
			what)}
	}
	switch {
	case (a.Do == "undo" || a.Do == "redo") && a.Receipt == "":
		return "", bad("the receipt")
	case (a.Do == "restore" || a.Do == "pin") && a.Part == "":
		return "", bad("the part")
	case a.Do == "unpin" && a.Pin == "":
		return "", bad("the pin")
	case (a.Do == "foresee" || a.Do == "discard") && !named.MatchString(a.Name):
		return "", bad("the number of a message or turn")
	}
	switch a.Do {
	case "undo", "redo":
		turn := p.Engine.Undo
		if a.Do == "redo" {
			turn = p.Engine.Redo
		}
		receipt, err := turn(ctx, a.Session, a.Receipt)
		if err == nil || winnow.CodeOf(err) == winnow.Already { // somebody else did it
			p.hub.touch(a.Session, nil, a.Receipt, a.Do == "undo")
		}
		if err != nil {
			return "", err
		}
		return turned(a.Do, receipt) + next, nil
	case "restore":
		done, err := p.Engine.Edit(ctx, a.Session, edit.Request{Restore: []string{a.Part}, All: true})
		if err != nil {
			return "", err
		}
		entry := p.entry(a, "restore", "a part is shown again")
		if done.Receipt != nil {
			entry.Receipt, entry.Tokens = done.Receipt.ID, done.Receipt.Saved
		}
		p.hub.touch(a.Session, entry, "", false)
		return "Restored." + next, nil
	case "pin":
		pin, err := p.Engine.Pin(ctx, a.Session, rule.Pin{Part: a.Part})
		if err != nil {
			return "", err
		}
		entry := p.entry(a, string(pivot.Pinning), "kept whatever is pruned and folded")
		entry.Pin = pin.ID
		p.hub.touch(a.Session, entry, "", false)
		return "Pinned." + next, nil
	case "unpin":
		if err := p.Engine.Unpin(ctx, a.Session, a.Pin); err != nil {
			return "", err
		}
		p.hub.touch(a.Session, nil, a.Pin, true)
		return "No longer pinned." + next, nil
	case "foresee":
		return p.foresee(ctx, a)
	case "discard":
		return p.discard(ctx, a)
	}
	return "", &winnow.Error{Code: winnow.BadInput, Op: "act", Session: a.Session,
		Err: fmt.Errorf("unknown action %q", a.Do)}
}

// entry is a line of the feed about what a button did.
func (p *page) entry(a Action, kind, reason string) *Entry {
	return &Entry{Time: session.Millis(p.Now().UnixMilli()), Session: a.Session, Kind: kind, Reason: reason,
		Parts: []Part{{Part: a.Part}}}
}

func turned(do string, r *pivot.Receipt) string {
	word := "Undone"
	if do == "redo" {
		word = "Done again"
	}
	if r.Marker != "" {
		return word + ": a compaction."
	}
	if n := len(r.Committed); n > 0 {
		return word + ": " + quantity.Count(n, "part") + "."
	}
	return word + "."
}
