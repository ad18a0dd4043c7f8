package sqlite

import "database/sql"

// Writer is the connection that writes, for tests that limit it.
func (s *Store) Writer() *sql.Conn { return s.writer.conn }

// Reader is the connection that reads, for tests that look behind the store.
func (s *Store) Reader() *sql.DB { return s.reader.db }

// Version is the version that this program knows.
const Version = version

// Repeated are the queries that indexing repeats for each batch or session.
var Repeated = []string{countBehind, nextStale, nextBehind, nextKept}

// Contradictions are the queries that count what contradicts itself.
var Contradictions = contradictions
