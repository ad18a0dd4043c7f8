//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// stepRequests is how many requests of a conversation come between two times that the job brings the
// index of words up to date: a live session asks every 39 s, the job comes every five minutes.
const stepRequests = 8

// indexing brings the index of words up to date during a run.
type indexing struct {
	cluster *pgtest.Cluster
	tenant  string
	every   int64 // requests, of all conversations that ask at a time; 0 for never
	asked   atomic.Int64
}

// answered is told of each request that has ended.
func (i *indexing) answered() {
	if i.every > 0 && i.asked.Add(1)%i.every == 0 {
		i.index()
	}
}

// index does what the job search_index does.
func (i *indexing) index() {
	ctx := context.Background()
	s, err := postgres.OpenStore(ctx, store.WithTenant(i.cluster.URL(), i.tenant), postgres.Options{Connections: 1})
	must(err)
	defer s.Close()
	must(s.KeepIndex(ctx, true))
	if err := s.Index(ctx, nil); !errors.Is(err, store.ErrLocked) { // the job is at it
		must(err)
	}
}

// weight is the size of all tenants' indexes: bytes of the documents, and of the words' own index;
// with the WAL of everything by now, and how many whole pages are in that: the server writes each page
// whole that it changes first after a checkpoint.
type weight struct{ documents, words, wal, pages int64 }

func (w weight) minus(v weight) weight {
	return weight{w.documents - v.documents, w.words - v.words, w.wal - v.wal, w.pages - v.pages}
}

func (w weight) size() int64 { return w.documents + w.words }

// weigh reads it. Before, the server puts what it has in a list of
// new words into their index: it does so whenever 4 MB have come together. Space that was freed is
// counted, as the disk has it.
func weigh(c *pgtest.Cluster) (w weight) {
	must(execute(c, `SELECT gin_clean_pending_list('found_words'::regclass)`))
	must(query(c, `SELECT coalesce(pg_total_relation_size(to_regclass('found')), 0)
			- coalesce(pg_relation_size(to_regclass('found_words')), 0),
		coalesce(pg_relation_size(to_regclass('found_words')), 0), (pg_current_wal_insert_lsn() - '0/0')::bigint,
		(SELECT wal_fpi FROM pg_stat_wal)`, &w.documents, &w.words, &w.wal, &w.pages))
	return w
}

// indexRow is a line of the table of the index's cost for each request: made once at the end, and in
// steps. plain is what the requests took without one.
func (c *coster) indexRow(name string, requests int, plain figures, once, steps weight) {
	n := float64(max(1, requests))
	each := func(bytes int64) string { return bytesOf(float64(bytes) / n) }
	c.indexRows = append(c.indexRows, fmt.Sprintf("| %s | %s | %s | %s | %s (%.2f) | %s | %s | %s (%.2f) |", name,
		each(plain.size), each(plain.walBytes), each(once.size()), each(once.wal), float64(once.pages)/n,
		each(steps.documents), each(steps.words), each(steps.wal), float64(steps.pages)/n))
}
