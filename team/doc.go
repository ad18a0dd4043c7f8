// Package team holds what several gateways on one PostgreSQL share.
//
// Its rooms, in reading order:
//
//   - book: tenants, their tokens, what they spent, and who did what
//   - river: jobs that any of them does, in the database
//   - signin: people who sign in to the page
//   - metrics: what is counted, for Prometheus
//
// Begin with Parts in team.go. The sessions themselves are in store/postgres.
package team
