package rule

// Queries elides the answer to a question about the state of things (ls, git status) when it was asked again (S002 4).
type Queries struct {
	Letter bool
	Age    Age
}

// Name is "queries".
func (*Queries) Name() string { return "queries" }

// Find looks at the whole window.
func (r *Queries) Find(w Window) Found { return Found{} }
