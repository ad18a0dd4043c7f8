package postgres_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
	"github.com/winnowhq/winnow/store/sqlite"
)

// BenchmarkStores does the same to a file and to a database, side by side: the database is durable
// and on the same computer, so what it takes more is its protocol and its wait for the disk.
func BenchmarkStores(b *testing.B) {
	file, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "s.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	database := open(b, pgtest.NewCluster(b, true).URL(), postgres.Options{}).Tenant("acme")
	stores := []struct {
		name string
		store.Store
	}{{"sqlite", file}, {"postgres", database}}
	for _, s := range stores {
		stock(b, s.Store)
	}
	type do func(b *testing.B, s store.Store, n int) error
	message := func(n int) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("n", n), Role: session.User},
			Parts: []session.Part{{ID: "p", Type: session.TextPart, Text: strings.Repeat("a word ", 40)}}}
	}
	for _, c := range []struct {
		name string
		do
	}{
		{"Revision", func(b *testing.B, s store.Store, n int) error { _, err := s.Revision(b.Context(), "ses0"); return err }},
		{"State", func(b *testing.B, s store.Store, n int) error { _, err := s.State(b.Context(), "ses0"); return err }},
		{"Messages", func(b *testing.B, s store.Store, n int) error {
			for _, err := range s.Messages(b.Context(), "ses0") {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"ApplyOne", func(b *testing.B, s store.Store, n int) error {
			_, err := s.Apply(b.Context(), "ses1", store.Change{Append: []session.Message{message(n)}})
			return err
		}},
		{"ApplyLarge", func(b *testing.B, s store.Store, n int) error {
			m := message(n)
			m.Parts[0].Text = strings.Repeat(fmt.Sprint(n, " of a long output\n"), 1000)
			_, err := s.Apply(b.Context(), "ses2", store.Change{Append: []session.Message{m}})
			return err
		}},
		{"List", func(b *testing.B, s store.Store, n int) error { _, err := s.List(b.Context()); return err }},
		{"Search", func(b *testing.B, s store.Store, n int) error {
			found, err := s.(store.Searcher).Search(b.Context(), store.Search{Words: "heron"})
			if err == nil && found.Total != 200 {
				err = fmt.Errorf("%d hits", found.Total)
			}
			return err
		}},
	} {
		for _, s := range stores {
			b.Run(c.name+"/"+s.name, func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					if err := c.do(b, s.Store, n); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkNotify commits changes of rows of their own over several connections at once, with and
// without NOTIFY in the transaction: those with it wait for one another, to the disk and back.
func BenchmarkNotify(b *testing.B) {
	url := pgtest.NewCluster(b, true).URL()
	query(b, url, `CREATE TABLE counted (id int PRIMARY KEY, n int)`)
	for _, connections := range []int{1, 4, 16, 64} {
		for name, also := range map[string]string{"silent": "", "notifying": "; NOTIFY winnow, 'ses'"} {
			b.Run(fmt.Sprintf("%s/%d", name, connections), func(b *testing.B) {
				var work, ready sync.WaitGroup
				begin := make(chan struct{})
				for id := range connections {
					ready.Add(1)
					work.Go(func() {
						c, err := pgx.Connect(context.Background(), url)
						if err == nil {
							defer c.Close(context.Background())
							_, err = c.Exec(context.Background(), fmt.Sprintf(`INSERT INTO counted VALUES (%d, 0) ON CONFLICT DO NOTHING`, id))
						}
						ready.Done()
						<-begin
						for range b.N {
							if err != nil {
								b.Error(err)
								return
							}
							_, err = c.Exec(context.Background(), fmt.Sprintf(`UPDATE counted SET n = n + 1 WHERE id = %d`, id)+also)
						}
					})
				}
				ready.Wait()
				b.ResetTimer()
				close(begin)
				work.Wait()
				b.ReportMetric(float64(connections*b.N)/b.Elapsed().Seconds(), "commits/s")
			})
		}
	}
}

// stock puts 200 sessions into a store, of 50 messages each, the first with 500 elisions.
func stock(b *testing.B, s store.Store) {
	for i := range 200 {
		id := fmt.Sprint("ses", i)
		var log []session.Message
		for n := range 50 {
			log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", n), Role: session.Assistant},
				Parts: []session.Part{{ID: fmt.Sprint("p", n), Type: session.ToolPart, Tool: "read", State: &session.ToolState{
					Status: session.Completed, Output: strings.Repeat(fmt.Sprintf("line %d of file %d\n", n, i), 100)}}}})
		}
		log[7].Parts[0].State.Output += "a heron"
		c := store.Change{Create: &session.Info{ID: id}, Append: log}
		for n := range 500 {
			if i > 0 {
				break
			}
			c.Commit = append(c.Commit, rule.Elision{Part: fmt.Sprint("p", n), Field: rule.Output, Rule: "coverage", Shown: "[read again]"})
		}
		if _, err := s.Apply(b.Context(), id, c); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.(store.Searcher).Index(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFamily compares finding a session and its fork among many with reading the list of all.
func BenchmarkFamily(b *testing.B) {
	for _, sessions := range []int{100, 10_000} {
		file, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "s.db")})
		if err != nil {
			b.Fatal(err)
		}
		database := open(b, pgtest.NewCluster(b, true).URL(), postgres.Options{}).Tenant("acme")
		for name, s := range map[string]store.Store{"sqlite": file, "postgres": database} {
			for n := range sessions {
				info := session.Info{ID: fmt.Sprint("ses", n), Directory: "/work"}
				if n%10 == 1 {
					info.ParentID = fmt.Sprint("ses", n-1)
				}
				if err := s.Create(b.Context(), info); err != nil {
					b.Fatal(err)
				}
			}
			b.Run(fmt.Sprintf("%s/%d/Family", name, sessions), func(b *testing.B) {
				for n := range b.N {
					found, err := store.Family(b.Context(), s, fmt.Sprint("ses", n*10%sessions))
					if err != nil || len(found) != 2 {
						b.Fatal(len(found), err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%d/List", name, sessions), func(b *testing.B) {
				for range b.N {
					if found, err := s.List(b.Context()); err != nil || len(found) != sessions {
						b.Fatal(len(found), err)
					}
				}
			})
		}
		file.Close()
	}
}
