// Package agent lets a model work with tools until it is done. It is the loop around an engine: it
// sends the view, runs what the model calls, appends the results, reports the usage, and lets the
// engine prune and fold in between.
package agent
