package trial

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/soon"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// Stage is a request of a compaction.
type Stage string

const (
	Aligned    Stage = "the request that extends the conversation"
	Unaligned  Stage = "the request by itself, after an answer to the aligned one that did not count"
	Plain      Stage = "the request that stands by itself"
	Retry      Stage = "the request after an answer that did not count"
	First      Stage = "the first piece of several"
	Piece      Stage = "the second piece of several"
	PieceRetry Stage = "the second piece, after an answer that did not count"
	Merge      Stage = "the last piece, that merges all"
	Update     Stage = "the update of an earlier summary"
	Threshold  Stage = "the fold of what is over its budget"
	Rejection  Stage = "the fold after a rejection"
	Ahead      Stage = "the request beside the work, published later"
	Awaited    Stage = "the request beside the work, that a fold waits for"
	Every      Stage = "every request"
)

// Stages are all of them.
func Stages() []Stage {
	return []Stage{Aligned, Plain, Retry, Piece, Every, Unaligned, First, PieceRetry, Merge, Update, Threshold,
		Rejection, Ahead, Awaited}
}

// inEvery is how many of them, from the first, are tried with every upstream.
const inEvery = 5

// aligned reports whether the requests of the stage extend the conversation.
func (s Stage) aligned() bool { return s == Aligned || s == Unaligned || s == Every }

// pieces reports whether the session of the stage is too long for one request.
func (s Stage) pieces() bool { return s == First || s == Piece || s == PieceRetry || s == Merge }

// again reports whether an answer has not counted before the stage: there is no third chance.
func (s Stage) again() bool { return s == Unaligned || s == Retry || s == PieceRetry || s == Every }

// Words by which a request is known, whatever wire format it is written in.
const (
	alignedWords = "Do not call tools, although they are offered"
	retryWords   = "An earlier answer did not count"
	systemWords  = "You are the agent of this test."
	pieceWords   = "Notes on the first piece."
	lastWords    = "And that was the last place."
	updateWords  = "Change the parser, and look at the printer."
	goodWords    = "Change the parser."
)

// play is the provider of one case: it strikes once at its stage, or always where that is what the
// stage is.
type play struct {
	stage Stage
	fault Fault

	mu     sync.Mutex
	armed  bool // what was before is the beginning of the session
	struck int
	seen   int           // requests while armed
	hit    chan struct{} // closed at the first strike
	stop   func()        // called at each strike
	begins func()        // called with the first request while armed; may be nil
	told   atomic.Pointer[soon.Watch]
}

// stops has a context end soon after a strike, and takes the time from then on.
func (p *play) stops(cancel func()) {
	p.stop = func() {
		time.AfterFunc(20*time.Millisecond, func() {
			now := soon.Start()
			p.told.CompareAndSwap(nil, &now)
			cancel()
		})
	}
}

// took is the time since then, as it would have been on a computer with nothing else to do.
func (p *play) took() time.Duration {
	if told := p.told.Load(); told != nil {
		return told.Took()
	}
	return 0
}

func (p *play) answer(body string) Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	good := Reply{Good, "## Goal\n\n" + goodWords + "\n\n## Constraints\n\nNever touch the lexer."}
	if !p.armed {
		good.Text = "## Goal\n\n" + updateWords
		return good
	}
	if p.seen++; p.seen == 1 && p.begins != nil {
		p.begins()
	}
	first, again := p.struck == 0, strings.Contains(body, retryWords)
	strikes := false
	switch p.stage {
	case Aligned:
		strikes = strings.Contains(body, alignedWords)
	case Unaligned, Retry:
		if first && !again {
			return Reply{Fault: NoHeadings}
		}
		strikes = first && again && !strings.Contains(body, alignedWords)
	case Piece, PieceRetry:
		if p.seen == 1 {
			good.Text += "\n\n" + pieceWords
		}
		strikes = first && strings.Contains(body, pieceWords)
		if p.stage == PieceRetry && strikes && !again {
			return Reply{Fault: NoHeadings}
		}
	case Merge:
		strikes = first && strings.Contains(body, lastWords)
	case Update:
		strikes = first && strings.Contains(body, updateWords)
	case Every:
		strikes = true
	default:
		strikes = first
	}
	if !strikes {
		return good
	}
	if p.struck++; first {
		close(p.hit)
	}
	p.stop()
	return Reply{Fault: p.fault}
}

// ready makes the session what the stage wants it to be.
func (p *play) ready(t TB, c *Case) {
	t.Helper()
	if p.stage == Update {
		if _, err := c.Compact(t.Context(), c.ID, winnow.CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		c.append(t, conversation(c.model, "That was the last one, again.")...)
	}
	if p.stage == Rejection {
		c.append(t, session.Message{MessageInfo: session.MessageInfo{Role: session.User, Agent: "build"},
			Parts: []session.Part{{Type: session.TextPart, Text: newest}}})
	}
	c.mark(t)
	if p.stage == Threshold { // the report of usage that leads to the fold is kept whatever becomes of it
		p.begins = func() { c.look(t) }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = true
}

// newest is what the user said that was rejected.
const newest = "Now look at the printer, too."

// fold does what leads to the request of the stage.
func (p *play) fold(ctx context.Context, t TB, c *Case) ending {
	switch p.stage {
	case Threshold:
		v, err := c.View(ctx, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.Observe(ctx, c.ID, session.Usage{Input: v.Tokens, Output: 100})
		took := p.took()
		p.mu.Lock() // what it began with was looked at
		defer p.mu.Unlock()
		return ending{receipt: out.Compacted, err: err, took: took}
	case Rejection:
		out, rejected, err := c.Rejected(ctx, c.ID, budget.Rejection{Status: 400, Code: "context_length_exceeded"})
		took := p.took()
		if !rejected {
			t.Error("what was rejected as too long is not")
		}
		return ending{receipt: out.Compacted, err: err, took: took}
	case Ahead:
		return p.ahead(ctx, t, c)
	case Awaited:
		return p.awaited(ctx, t, c)
	}
	receipt, err := c.Compact(ctx, c.ID, winnow.CompactOptions{})
	return ending{receipt: receipt, err: err, took: p.took()}
}

// ahead writes the summary beside the work and publishes it once the work went on.
func (p *play) ahead(ctx context.Context, t TB, c *Case) ending {
	err := c.Prepare(ctx, c.ID)
	e := ending{err: err, took: p.took()}
	c.still(t, "a preparation")
	c.append(t, session.Message{MessageInfo: session.MessageInfo{Role: session.User, Agent: "build"},
		Parts: []session.Part{{Type: session.TextPart, Text: newest}}})
	c.show(t)
	receipt, published := c.Compact(context.Background(), c.ID, winnow.CompactOptions{Prepared: true})
	if err != nil {
		if receipt != nil || published != nil {
			t.Errorf("of a preparation that failed, %+v was published: %v", receipt, published)
		}
		return e
	}
	return ending{receipt: receipt, err: published}
}

// awaited begins to write the summary beside the work, and needs it before it is there.
func (p *play) awaited(ctx context.Context, t TB, c *Case) ending {
	beside, cancel := context.WithCancel(context.Background())
	defer cancel()
	prepared := make(chan error, 1)
	go func() { prepared <- c.Prepare(beside, c.ID) }()
	select {
	case <-p.hit:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was asked")
	}
	receipt, err := c.Compact(ctx, c.ID, winnow.CompactOptions{})
	e := ending{receipt: receipt, err: err, took: p.took()}
	cancel()
	failed := <-prepared
	e.beside = failed != nil
	if failed != nil && winnow.CodeOf(failed) != winnow.BadSummary && !errors.Is(failed, context.Canceled) {
		t.Errorf("the preparation ended with %v", failed)
	}
	return e
}

// ending is what became of a fold.
type ending struct {
	receipt *pivot.Receipt
	err     error
	took    time.Duration // since it was told to stop
	beside  bool          // a summary beside the work failed before
}

// lastAnswer is what the session of a stage ends with.
func lastAnswer(stage Stage) string {
	if !stage.pieces() {
		return "That was the last one."
	}
	return strings.Repeat("I looked at the parser again and found another place that has to be changed.\n", 1700) +
		lastWords
}
