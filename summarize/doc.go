// Package summarize holds those who write summaries: pivot.Summarizer is their interface.
//
// Its rooms, in reading order:
//
//   - offline: without a model
//   - model: by asking one
//
// Begin with offline.
package summarize
