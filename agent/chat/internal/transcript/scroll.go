package transcript

// View gives exactly height lines of the transcript, the newest at the bottom unless somebody
// scrolled up.
func (t *Transcript) View() []string {
	lines := make([]string, 0, t.Height)
	i, line := t.top, t.line
	if !t.Scrolled {
		i, line = t.end()
	}
	for ; i < len(t.items) && len(lines) < t.Height; i++ {
		drawn := t.laidOut(i)
		if line < 0 && t.gap(i) > 0 {
			lines = append(lines, "")
		}
		for line = max(line, 0); line < len(drawn) && len(lines) < t.Height; line++ {
			lines = append(lines, drawn[line])
		}
		line = -1
	}
	for len(lines) < t.Height {
		lines = append(lines, "")
	}
	return lines
}

// end is the place of the first line of the last screen.
func (t *Transcript) end() (top, line int) {
	left := t.Height
	for i := len(t.items) - 1; i >= 0; i-- {
		n := len(t.laidOut(i))
		if n >= left {
			return i, n - left
		}
		if left -= n + t.gap(i); left <= 0 {
			return i, -t.gap(i)
		}
	}
	return 0, 0
}

// Scroll moves by lines, up where n is negative.
func (t *Transcript) Scroll(n int) {
	if len(t.items) == 0 {
		return
	}
	endTop, endLine := t.end()
	if !t.Scrolled {
		t.top, t.line = endTop, endLine
	}
	t.top = min(t.top, len(t.items)-1)
	for ; n < 0; n++ {
		if t.line > 0 || t.line == 0 && t.top > 0 && t.gap(t.top) > 0 {
			t.line--
			continue
		}
		if !t.back() {
			break
		}
	}
	for ; n > 0; n-- {
		if t.line++; t.line >= len(t.laidOut(t.top)) && t.top < len(t.items)-1 {
			t.top++
			t.line = -t.gap(t.top)
			for len(t.laidOut(t.top)) == 0 && t.top < len(t.items)-1 {
				t.top++
				t.line = -t.gap(t.top)
			}
		}
	}
	t.Scrolled = t.top < endTop || t.top == endTop && t.line < endLine
}

// back goes to the last line of the item before.
func (t *Transcript) back() bool {
	for i := t.top - 1; i >= 0; i-- {
		if n := len(t.laidOut(i)); n > 0 {
			t.top, t.line = i, n-1
			return true
		}
	}
	return false
}

// ToEnd follows what comes.
func (t *Transcript) ToEnd() { t.Scrolled = false }

// ToStart goes to the first line.
func (t *Transcript) ToStart() {
	endTop, endLine := t.end()
	t.top, t.line = 0, 0
	t.Scrolled = endTop > 0 || endLine > 0
}

// Resize keeps the item on top where it is, as well as its lines allow.
func (t *Transcript) Resize(width, height int) {
	if width == t.width && height == t.Height {
		return
	}
	before := 0
	if t.Scrolled && t.top < len(t.items) {
		before = len(t.items[t.top].lines)
	}
	t.width, t.Height = width, height
	if t.Scrolled && before > 0 && t.line > 0 {
		t.line = t.line * len(t.laidOut(t.top)) / before
	}
	t.Scroll(0)
}
