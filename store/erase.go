package store

import "context"

// Eraser is a store that can erase: nothing is left of what is erased, neither in an index of
// words, nor in free pages of its file or in its write-ahead log. Not every store is one.
type Eraser interface {
	// Erase deletes sessions with everything that belongs to them. Large texts stay while another
	// session has them, too. An unknown id is not an error. After an error some sessions may be
	// deleted, and something may be left of them: erase them again.
	Erase(ctx context.Context, ids ...string) (Amount, error)
	// Forget takes the name of a person off all requests (Live.Person), and returns off how many.
	Forget(ctx context.Context, person string) (requests int, err error)
}

// Amount is how much was erased.
type Amount struct {
	Sessions int `json:"sessions"` // how many sessions were erased
	Messages int `json:"messages"` // how many messages were erased
	// How many large texts were erased, which no session has any more.
	Texts int   `json:"texts"`
	Bytes int64 `json:"bytes"` // the size of these messages and texts as they were stored
}

// Plus is the sum of two.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Sessions + b.Sessions, a.Messages + b.Messages, a.Texts + b.Texts, a.Bytes + b.Bytes}
}
