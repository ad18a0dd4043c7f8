// Package team holds the state that several gateways on one PostgreSQL share.
//
// Its rooms, in reading order:
//
//   - book: tenants, their tokens and spending, and an audit log
//   - river: jobs in the database, for any of the gateways
//   - bus: changes of the live page, from process to process
//   - signin: people who sign in to the page
//   - metrics: counters for Prometheus
//   - api: tenants and their tokens by HTTP, for admins
//
// Begin with Parts in team.go. The sessions themselves are in store/postgres.
package team
