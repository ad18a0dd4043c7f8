// Package summarize holds those who write summaries: pivot.Summarizer is their interface.
//
// Its rooms, in reading order:
//
//   - offline: without a model
//   - model: by asking one
//   - ask: a request to one of them, again or in pieces until its answer counts
//
// Begin with offline.
package summarize
