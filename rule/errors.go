package rule

// Errors shortens old errors (S002 9).
type Errors struct {
	Letter bool
	Age    Age
}

// Name is "errors".
func (*Errors) Name() string { return "errors" }

// Find looks at the whole window.
func (r *Errors) Find(w Window) Found { return Found{} }
