package rule

// Snapshots elides older snapshots of a page (S002 5).
type Snapshots struct {
	Letter bool
	Age    Age
	Keep   int // of each page, the newest; at least 1
}

// Name is "snapshots".
func (*Snapshots) Name() string { return "snapshots" }

// Find looks at the whole window.
func (r *Snapshots) Find(w Window) Found { return Found{} }
