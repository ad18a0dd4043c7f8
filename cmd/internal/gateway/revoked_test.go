package gateway

import (
	"bufio"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/team/book"
)

// endsWithin is how soon a token that counts no more must have ended what it let in.
const endsWithin = 2 * time.Second

// stream opens a stream of ann's, and returns when it has begun. The channel tells when it ended.
func (l *till) stream(token, path, body string, through int) (ended chan time.Time) {
	l.t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	ctx, leave := context.WithTimeout(context.Background(), 20*time.Second)
	l.t.Cleanup(leave)
	r, err := http.NewRequestWithContext(ctx, method, "http://"+l.relays[through].Address()+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header = http.Header{"X-Winnow-Token": {token}, "Content-Type": {"application/json"}, "Authorization": {"Bearer own"},
		"Anthropic-Version": {"2023-06-01"}}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		l.t.Fatal(err)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || answer.StatusCode != http.StatusOK {
		l.t.Fatalf("%s: no stream: %d", path, answer.StatusCode)
	}
	ended = make(chan time.Time, 1)
	go func() {
		defer answer.Body.Close()
		for lines.Scan() {
		}
		ended <- time.Now()
	}()
	return ended
}

// A token that is revoked, expires, or whose tenant is removed ends its open streams within two
// seconds, through every replica, whatever the clock of the machine says on which that was done; the
// streams of others go on.
func TestToken_endsItsStreams(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for what, do := range map[string]func(tenant.Book, tenant.Token) error{
			"revoked": func(b tenant.Book, k tenant.Token) error { _, err := b.Revoke(t.Context(), "test", k.ID); return err },
			"rotated": func(b tenant.Book, k tenant.Token) error {
				_, _, _, err := b.Rotate(t.Context(), "test", k.ID, 0)
				return err
			},
			"removed": func(b tenant.Book, k tenant.Token) error { return b.Remove(t.Context(), "test", k.Tenant) },
			"expired": nil,
		} {
			if kind == "postgres" && do == nil {
				continue // the clock of each process tells it, whatever the book is in
			}
			t.Run(kind+" "+what, func(t *testing.T) {
				at := ""
				if kind == "postgres" {
					at = pgtest.Start(t)
				}
				l := newTill(t, at, plenty, says)
				l.relay()
				of := l.at
				if !store.IsURL(of) {
					of = filepath.Join(filepath.Dir(of), "tenants", "book.sqlite")
				}
				ahead, err := book.Open(t.Context(), of, func() time.Time { return time.Now().Add(time.Hour) })
				if err != nil {
					t.Fatal(err)
				}
				defer ahead.Close()
				if err := l.book.Add(t.Context(), "test", tenant.Tenant{Name: "bob"}); err != nil {
					t.Fatal(err)
				}
				lasts := time.Duration(0)
				if do == nil {
					lasts = 4 * time.Second
				}
				shown, kept, err := tenant.NewToken("bob", "", tenant.AllScopes(), time.Now(), lasts)
				if err == nil {
					err = l.book.AddToken(t.Context(), "test", kept)
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range l.relays {
					if _, err := r.tenants.look(t.Context(), true); err != nil {
						t.Fatal(err)
					}
				}
				q := asks(llmtest.Anthropic, true, "")
				l.provider.Inject(llmtest.HangMidStream)
				others := l.stream(l.token, "/up"+q.path, q.body, 0)
				var streams []chan time.Time
				for through := range 2 {
					l.provider.Inject(llmtest.HangMidStream)
					streams = append(streams, l.stream(shown, "/up"+q.path, q.body, through), l.stream(shown, "/~/events", "", through))
				}
				from := kept.Expires
				if do != nil {
					from = time.Now()
					if err := do(ahead, kept); err != nil {
						t.Fatal(err)
					}
				}
				for i, ended := range streams {
					select {
					case at := <-ended:
						if at.Before(from) {
							t.Errorf("stream %d ended %v before", i, from.Sub(at))
						}
					case <-time.After(time.Until(from.Add(endsWithin))):
						t.Errorf("stream %d is open %v after", i, endsWithin)
					}
				}
				select {
				case <-others:
					t.Error("the stream of another tenant ended")
				default:
				}
			})
		}
	}
}
