package rule

// Inputs elides the arguments of calls that newer ones make redundant, to what identifies them (S002 1).
type Inputs struct {
	Letter bool
	Age    Age // the newest calls keep their arguments: models imitate what they see
}

// Name is "inputs".
func (*Inputs) Name() string { return "inputs" }

// Find looks at the whole window.
func (r *Inputs) Find(w Window) Found {
	if r.Letter {
		return r.letter(w)
	}
	return Found{}
}
