package rule

// Retries elides a failure after which the same call worked (S002 6).
type Retries struct {
	Letter bool
	Age    Age
}

// Name is "retries".
func (*Retries) Name() string { return "retries" }

// Find looks at the whole window.
func (r *Retries) Find(w Window) Found { return Found{} }
