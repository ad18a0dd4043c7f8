// Package team holds what several gateways on one PostgreSQL share.
//
// Its rooms, in reading order:
//
//   - book: tenants, their tokens, what they spent, and who did what
//   - river: jobs that any of them does, in the database
//   - trace: where the time of requests went, for a collector
//
// Begin with book. The sessions themselves are in store/postgres.
package team
