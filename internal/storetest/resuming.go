package storetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Resuming makes a store a [store.Resumer], which keeps each log that it ever had.
func Resuming(s store.Store) store.Store {
	return &resuming{Store: s, logs: map[string]map[int64][]session.Message{}}
}

type resuming struct {
	store.Store

	mu      sync.Mutex
	logs    map[string]map[int64][]session.Message // by session and revision
	deleted int64
}

func (r *resuming) Delete(ctx context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.logs, id)
	r.deleted++
	return r.Store.Delete(ctx, id)
}

func (r *resuming) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	revision, err := r.Store.Apply(ctx, id, c)
	if err == nil {
		_, _, err = r.read(ctx, id)
	}
	return revision, err
}

// read reads a session, and keeps its log.
func (r *resuming) read(ctx context.Context, id string) (state store.State, log []session.Message, err error) {
	if state, err = r.State(ctx, id); err != nil {
		return state, nil, err
	}
	for m, err := range r.Messages(ctx, id) {
		if err != nil {
			return state, nil, err
		}
		log = append(log, m)
	}
	slices.Reverse(log)
	if r.logs[id] == nil {
		r.logs[id] = map[int64][]session.Message{}
	}
	r.logs[id][state.Revision] = log
	return state, log, nil
}

// Resume implements store.Resumer.
func (r *resuming) Resume(ctx context.Context, id string, since store.Mark) (
	state store.State, now store.Mark, fresh map[int]session.Message, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.logs[id][since.Revision]
	state, log, err := r.read(ctx, id)
	if err != nil {
		return state, now, nil, err
	}
	now = store.Mark{Origin: fmt.Sprint(r.deleted), Revision: state.Revision, Messages: len(log)}
	if since.Origin != now.Origin || !known || len(before) != since.Messages {
		return state, now, nil, nil
	}
	fresh = map[int]session.Message{}
	for at := range log {
		if at >= len(before) || !reflect.DeepEqual(before[at], log[at]) {
			fresh[at] = log[at]
		}
	}
	return state, now, fresh, nil
}
