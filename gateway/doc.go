// Package gateway holds what stands between agents and their providers.
//
// Its rooms, in reading order:
//
//   - tenant: who may ask, how often, and for how much
//   - admin: tenants and their tokens, shown and changed
//   - job: work that no request waits for; job/local does it in this process
//   - transport: what the engine decided, left out of requests on their way
//   - serve: the listener: routing, refusals, metrics
//   - shared: the parts that several processes share; package team makes them
//   - trace: spans of requests, for a collector
//   - adapters: decorators for frameworks over transport.Ask, modules of their own
//   - live: what goes through it, on a page
//   - mcp: what was left out, as tools for the agent
//
// Begin with transport.RoundTrip in roundtrip.go; serve.New for the listener.
package gateway
