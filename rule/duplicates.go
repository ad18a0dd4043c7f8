package rule

// Duplicates elides an output that a later, equal call gave again, byte for byte.
type Duplicates struct {
	Age Age
}

// Name is "duplicates".
func (*Duplicates) Name() string { return "duplicates" }

// Find looks at the whole window.
func (r *Duplicates) Find(w Window) Found { return Found{} }
