// Package store defines how sessions are kept. store/sqlite and store/memory implement its
// interface; internal/storetest is its contract as a test suite.
//
// Its rooms, in reading order:
//
//   - memory: in this process
//   - cache: the memory that caches of sessions share
//   - sqlite: in one file
//   - postgres: by tenant, for several processes
//   - transfer: copies a store into another one
//   - report: explains a session, its window and its costs
//   - edit: prunes and restores parts by name
//   - fold: compacts a session, from the cut to the messages that are published
//
// Begin with Store in store.go, then memory.
package store
