package chat

// view gives exactly height lines of the transcript, the newest at the bottom unless somebody
// scrolled up.
func (t *transcript) view() []string {
	lines := make([]string, 0, t.height)
	i, line := t.top, t.line
	if !t.scrolled {
		i, line = t.end()
	}
	for ; i < len(t.items) && len(lines) < t.height; i++ {
		drawn := t.laidOut(i)
		if line < 0 && t.gap(i) > 0 {
			lines = append(lines, "")
		}
		for line = max(line, 0); line < len(drawn) && len(lines) < t.height; line++ {
			lines = append(lines, drawn[line])
		}
		line = -1
	}
	for len(lines) < t.height {
		lines = append(lines, "")
	}
	return lines
}

// end is the place of the first line of the last screen.
func (t *transcript) end() (top, line int) {
	left := t.height
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

// scroll moves by lines, up where n is negative.
func (t *transcript) scroll(n int) {
	if len(t.items) == 0 {
		return
	}
	endTop, endLine := t.end()
	if !t.scrolled {
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
	t.scrolled = t.top < endTop || t.top == endTop && t.line < endLine
}

// back goes to the last line of the item before.
func (t *transcript) back() bool {
	for i := t.top - 1; i >= 0; i-- {
		if n := len(t.laidOut(i)); n > 0 {
			t.top, t.line = i, n-1
			return true
		}
	}
	return false
}

// toEnd follows what comes.
func (t *transcript) toEnd() { t.scrolled = false }

// toStart goes to the first line.
func (t *transcript) toStart() {
	endTop, endLine := t.end()
	t.top, t.line = 0, 0
	t.scrolled = endTop > 0 || endLine > 0
}

// resize keeps the item on top where it is, as well as its lines allow.
func (t *transcript) resize(width, height int) {
	if width == t.width && height == t.height {
		return
	}
	before := 0
	if t.scrolled && t.top < len(t.items) {
		before = len(t.items[t.top].lines)
	}
	t.width, t.height = width, height
	if t.scrolled && before > 0 && t.line > 0 {
		t.line = t.line * len(t.laidOut(t.top)) / before
	}
	t.scroll(0)
}
