package rule

// AttachedFiles elides files that were attached to messages and results (S002 7).
type AttachedFiles struct {
	Letter bool
	Age    Age
}

// Name is "attachments".
func (*AttachedFiles) Name() string { return "attachments" }

// Find looks at the whole window.
func (r *AttachedFiles) Find(w Window) Found { return Found{} }
