package call

// shellWord is a word of a shell text: a piece of the text as long as nothing was taken out of it.
type shellWord struct {
	text     string
	from, to int
	begun    bool
	copied   []byte // once it is no piece
}

// add takes a piece of the text in.
func (w *shellWord) add(from, to int) {
	switch {
	case w.copied != nil:
		w.copied = append(w.copied, w.text[from:to]...)
	case w.from == w.to:
		w.from, w.to = from, to
	case w.to == from:
		w.to = to
	default:
		w.copied = append(append(make([]byte, 0, 2*(w.to-w.from)+16), w.text[w.from:w.to]...), w.text[from:to]...)
	}
	w.begun = true
}

func (w *shellWord) string() string {
	if w.copied != nil {
		return view(w.copied)
	}
	return w.text[w.from:w.to]
}

// take gives the word and begins another one.
func (w *shellWord) take() string {
	word := w.string()
	*w = shellWord{text: w.text}
	return word
}
