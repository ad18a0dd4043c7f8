package live

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
)

const (
	// mostStreams is how many pages may be open at a time.
	mostStreams = 32
	// patience is how long a browser may take to take in what it is sent.
	patience = 20 * time.Second
)

// events tells a browser what has changed, until it leaves. It goes on where the browser left off.
func (p *page) events(w http.ResponseWriter, r *http.Request, tenant string) {
	ended, ok := p.hub.enter()
	if !ok {
		tell(w, http.StatusServiceUnavailable, result{
			Error: "no more pages can be open: close one, or winnow is about to end"})
		return
	}
	defer p.hub.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	say := func(text string) error {
		_ = out.SetWriteDeadline(time.Now().Add(patience)) // not every way has one
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
		return out.Flush()
	}
	seq := p.hub.resume(r.Header.Get("Last-Event-ID"))
	beat := time.NewTicker(p.Beat)
	defer beat.Stop()
	gather := time.NewTimer(0)
	defer gather.Stop()
	for first := true; ; first = false {
		changes, next := p.hub.since(seq, tenant)
		if first || changes.Seq != seq {
			seq, changes.Mode = changes.Seq, p.Mode
			text, err := json.Marshal(changes, jsontext.AllowInvalidUTF8(true))
			if err == nil {
				err = say(fmt.Sprintf("retry: 1000\nid: %s-%d\ndata: %s\n\n", p.hub.epoch, seq, text))
			}
			if err != nil {
				return
			}
		}
		select {
		case <-next:
		case <-beat.C:
			if say(": still here\n\n") != nil {
				return
			}
			continue
		case <-r.Context().Done():
			return
		case <-ended:
			return
		}
		gather.Reset(p.Every) // more may come with it
		select {
		case <-gather.C:
		case <-r.Context().Done():
			return
		case <-ended:
			return
		}
	}
}

// enter counts a stream; it ends when the channel is closed.
func (h *Hub) enter() (ended <-chan struct{}, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.streams >= mostStreams {
		return nil, false
	}
	h.streams++
	return h.ended, true
}

func (h *Hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
}

// resume is the number after which a stream goes on, 0 from the beginning: the browser may have
// followed a process that has ended.
func (h *Hub) resume(id string) int64 {
	epoch, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseInt(number, 10, 64)
	if epoch != h.epoch || err != nil || seq < 0 {
		return 0
	}
	return seq
}

// looks are the details of sessions that were looked at last. To look at a session holds up its
// requests, so that it is not done more often than need be.
type looks struct {
	mu   sync.Mutex // held while one is looked at: one at a time
	made map[string]*look
}

type look struct {
	detail Detail
	at     time.Time
	took   time.Duration
}

const (
	// leastApart is how often a session is looked at, at most, and workShare how many times as long
	// as that takes is between two looks.
	leastApart = time.Second
	workShare  = 20
	// mostLooks is how many details are remembered.
	mostLooks = 16
)

// session shows one session.
func (p *page) session(w http.ResponseWriter, r *http.Request, tenant string) {
	id := r.URL.Query().Get("id")
	row := p.hub.row(id, tenant)
	switch {
	case row == nil:
		tell(w, http.StatusNotFound, result{Error: "no such session is shown here"})
		return
	case p.Engine == nil:
		tell(w, http.StatusConflict, result{Error: "in the mode off no session is looked at"})
		return
	}
	if err := p.Audit(r.Context(), Deed{Did: "read", Session: id}); err != nil {
		tell(w, http.StatusServiceUnavailable, unaudited)
		return
	}
	d, err := p.look(r, row)
	if err != nil {
		tell(w, statusOf(err), failed(err))
		return
	}
	tell(w, http.StatusOK, d)
}

func (p *page) look(r *http.Request, row *Row) (Detail, error) {
	p.looks.mu.Lock()
	defer p.looks.mu.Unlock()
	now := p.Now()
	l := p.looks.made[row.ID]
	if l != nil && (l.detail.Seq == row.Seq || now.Sub(l.at) < max(leastApart, workShare*l.took)) {
		return l.detail, nil
	}
	d, err := winnow.Look(r.Context(), p.Engine, row.ID, detail(p.hub.withheld, p.models.Lookup))
	if err != nil {
		return d, err
	}
	d.Seq = row.Seq
	p.hub.learn(row.ID, d.Decisions)
	if len(p.looks.made) >= mostLooks {
		clear(p.looks.made)
	}
	at := p.Now()
	p.looks.made[row.ID] = &look{d, at, at.Sub(now)}
	return d, nil
}

// failed is what a browser is told of an error of the engine's.
func failed(err error) result {
	f := result{Error: err.Error(), Code: winnow.CodeOf(err)}
	var known *winnow.Error
	if errors.As(err, &known) {
		f.Hint = known.Hint
	}
	return f
}

func statusOf(err error) int {
	switch winnow.CodeOf(err) {
	case winnow.NotFound:
		return http.StatusNotFound
	case winnow.BadInput:
		return http.StatusBadRequest
	case "":
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}
