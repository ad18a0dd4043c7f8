package rule

// CodeBlocks elides blocks of code in old messages of the user (S002 8).
type CodeBlocks struct {
	Letter bool
	Age    Age
}

// Name is "code".
func (*CodeBlocks) Name() string { return "code" }

// Find looks at the whole window.
func (r *CodeBlocks) Find(w Window) Found { return Found{} }
