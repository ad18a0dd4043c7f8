package transport

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// interrupted is a store before one use of which something else happens.
type interrupted struct {
	store.Store
	uses, at int
	happens  func()
}

func (s *interrupted) use() {
	if s.uses++; s.uses == s.at {
		s.happens()
	}
}

func (s *interrupted) List(ctx context.Context) ([]store.Listing, error) {
	s.use()
	return s.Store.List(ctx)
}

func (s *interrupted) State(ctx context.Context, id string) (store.State, error) {
	s.use()
	return s.Store.State(ctx, id)
}

func (s *interrupted) Revision(ctx context.Context, id string) (int64, error) {
	s.use()
	return s.Store.Revision(ctx, id)
}

func (s *interrupted) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	s.use()
	return s.Store.Messages(ctx, id)
}

func (s *interrupted) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	s.use()
	return s.Store.Apply(ctx, id, c)
}

// The provider refuses what another gateway has left out of a conversation, which is to be sent whole
// from then on. Whenever that one writes it down, before any use of the store that this one makes for
// a request and its answer, this one's next requests are whole, and it decides nothing more.
func TestTransport_learnsThatAConversationIsToBeWhole(t *testing.T) {
	sequential(t)
	for _, at := range []int{15, 22, 23, 24} {
		uses := 1
		for k := 1; k <= uses; k++ {
			uses = frozenMeanwhile(t, at, k)
		}
		t.Logf("step %d: %d uses of the store", at, uses)
	}
}

// frozenMeanwhile plays a session in which another gateway freezes the conversation before the kth
// use of the store in a step. It returns how many the step has.
func frozenMeanwhile(t *testing.T, step, k int) (uses int) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 40, Options{Base: b})
	defer s.server.Close()
	other := s.transport // on the same store, with an engine of its own
	shared := &interrupted{Store: s.store, at: -1}
	s.store = shared
	s.restart()
	decided := -1
	for i, at := range s.steps()[:step+4] {
		if i == step {
			shared.uses, shared.at = 0, k
			shared.happens = func() {
				f := other.lineage(s.transport.Totals().Sessions[0])
				if err := f.load(context.Background(), other.engine); err != nil {
					t.Fatal(err)
				}
				other.freeze(&exchange{request: request{lineage: f}, conversation: f.conversations[0]}, "400 no")
			}
		}
		asked := s.request(at)
		if status, answer := s.send(asked); status != 200 {
			t.Fatalf("step %d: %d %s", i, status, answer)
		}
		original := must(io.ReadAll(must(asked.GetBody())))
		if edited := !bytes.Equal(b.sent[len(b.sent)-1], original); edited && i > step {
			t.Fatalf("step %d, frozen before use %d of the store in step %d: it is not sent whole", i, k, step)
		}
		if i == step {
			uses, shared.at, decided = shared.uses, -1, s.receipts()
		}
		s.now = s.now.Add(20 * time.Second)
	}
	if n := s.receipts(); n != decided {
		t.Errorf("frozen before use %d of the store in step %d: %d decisions came later", k, step, n-decided)
	}
	return uses
}
