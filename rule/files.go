package rule

// Files elides older views of files that newer ones cover (S002 10).
type Files struct {
	Letter bool
	Age    Age
}

// Name is "files".
func (*Files) Name() string { return "files" }

// Find looks at the whole window.
func (r *Files) Find(w Window) Found {
	if r.Letter {
		return r.letter(w)
	}
	return Found{}
}
