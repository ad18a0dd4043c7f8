// Package store defines how sessions are kept. store/sqlite and store/memory implement its
// interface; internal/storetest is its contract as a test suite.
//
// Its rooms, in reading order:
//
//   - memory: in this process
//   - sqlite: in one file
//   - postgres: by tenant, for several processes
//   - transfer: all of a store into another one
//   - report: what people look at, computed from a session and its state
//   - edit: what becomes of parts that somebody names
//   - fold: how a session is compacted, from the cut to what is published
//
// Begin with Store in store.go, then memory.
package store
