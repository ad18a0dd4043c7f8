package claudecode

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// name stands for a uuid or an id, by its number in format.Names: 0 is the empty one. A session has
// hundreds of thousands of entries, and each uuid is in two of them.
type name = uint32

// trait is what the tree must know of an entry beside its names.
type trait uint32

const (
	chained     trait = 1 << iota // a node of the tree that the product walks
	speaking                      // a user's or an assistant's message
	fromModel                     // the assistant's
	sideways                      // of a side chain
	progressing                   // a progress record
	prompting                     // a last-prompt record
	explicitly                    // the user went back to where it points
	bounding                      // a compaction cut the chain here
	preserving                    // and kept a tail
	summarising                   // the summary of a compaction
	resulting                     // a user's entry with a tool's result
	telling                       // it makes a user's message, which ends the assistant's
	asking                        // what the user wrote himself
	commanding                    // a slash command
	printing                      // what a slash command printed
	keeping                       // a message that the engine made, written whole
	waiting                       // calls before it have no result yet
)

func (t trait) has(other trait) bool { return t&other != 0 }

// node is an entry as far as the tree needs it.
type node struct {
	uuid, parent, logical, leaf, message name
	trait
	time session.Millis
}

// nodeOf reads an entry's place in the tree.
func nodeOf(n *format.Names, e *entry) node {
	to := node{
		uuid: n.Of(e.UUID), parent: n.Of(e.Parent), logical: n.Of(e.Logical),
		leaf: n.Of(e.Leaf), message: n.Of(e.Message.ID), time: e.time,
	}
	set := func(t trait, is bool) {
		if is {
			to.trait |= t
		}
	}
	set(chained, e.chained())
	set(speaking, e.speaks())
	set(fromModel, e.Kind == "assistant")
	set(sideways, e.Side)
	set(progressing, e.Kind == "progress")
	set(prompting, e.Kind == "last-prompt")
	set(explicitly, e.Explicit)
	set(bounding, e.boundary())
	set(preserving, bytes.Contains(e.of(e.Compact), []byte(`"preserved`)))
	set(summarising, e.Summed)
	set(resulting, e.Kind == "user" && bytes.Contains(e.content(), []byte(`"tool_result"`)))
	return to
}
