// Package chat answers: how does a person work with the loop? It is a terminal program around
// package agent: what is said and done as it happens, what the window holds and what it costs, and
// commands that look at the engine's decisions, make them and take them back.
//
// It knows no provider, no store and no file format: Config brings what it works with.
package chat
