package rule

// Todos elides todo lists that a newer one replaced.
type Todos struct {
	Age Age
}

// Name is "todos".
func (*Todos) Name() string { return "todos" }

// Find looks at the whole window.
func (r *Todos) Find(w Window) Found { return Found{} }
