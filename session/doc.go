// Package session holds what happened: the log of an agent's session, its messages and parts, with
// the JSON of an OpenCode V1 export, which is the canonical form of a session here.
//
// A log is only ever appended to. Order is position: ids and clocks say nothing about it.
//
// Begin with Session, Message and Part in session.go.
package session
