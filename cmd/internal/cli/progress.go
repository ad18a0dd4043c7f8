package cli

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/quantity"
)

// Work that is done within a second is not told of: a line that comes and goes says nothing.
const (
	silence = time.Second
	tick    = time.Second            // between two lines that only say how long it takes
	least   = 100 * time.Millisecond // between two lines that count
)

// busy reports whether progress is shown.
func (a *App) busy() bool { return a.Env.StderrTerminal && !a.Quiet }

// Say replaces the line of progress; "" removes it. A terminal that does not accept it misses
// nothing. It is cut to one line of the terminal: a line that wraps cannot be wiped away.
func (a *App) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if width := a.Env.ErrWidth; width > 0 {
		text = tui.Cut(tui.Clean(text), max(1, width-1)) // the cursor stands behind it
	}
	_ = a.Err.Progress(text)
}

// Progress says on a terminal what is being done, once that has taken a second, and for how long;
// the returned function wipes it away. It may be called again.
func (a *App) Progress(what string) func() {
	if !a.busy() {
		return func() {}
	}
	began, ended := time.Now(), make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		told := false
		for {
			select {
			case <-ticker.C:
				told = true
				a.Say("%s… %s", what, quantity.Duration(time.Since(began).Truncate(time.Second)))
			case <-ended:
				if told {
					a.Say("")
				}
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(ended); shown.Wait() })
}

// Counting says on a terminal how far the command is, once it has taken a second, with the rate and
// the time that is left: all is how many things there are, 0 if that is unknown. done wipes it
// away. say must not be called by two goroutines at a time.
func (a *App) Counting() (say func(done, all int, format string, args ...any), done func()) {
	if !a.busy() {
		return func(int, int, string, ...any) {}, func() {}
	}
	began, last := a.Env.Now(), time.Time{}
	first := -1 // what was done before the first call: it tells nothing of the rate
	say = func(done, all int, format string, args ...any) {
		if first < 0 {
			first = done
		}
		now := a.Env.Now()
		if now.Sub(began) >= silence && now.Sub(last) >= least {
			last = now
			a.Say("%s%s", fmt.Sprintf(format, args...), pace(done-first, all-first, now.Sub(began)))
		}
	}
	return say, func() {
		if !last.IsZero() {
			a.Say("")
		}
	}
}

// pace is the rate at which something goes on, and the time that is left: ", 14/s, 21 s left"; "…"
// if nothing is known yet.
func pace(done, all int, passed time.Duration) string {
	if done <= 0 || passed <= 0 {
		return "…"
	}
	rate := float64(done) / passed.Seconds()
	text := fmt.Sprintf(", %s/s", quantity.Number(int(math.Round(rate))))
	if rate < 10 {
		text = fmt.Sprintf(", %s/s", quantity.Decimal(rate, 1))
	}
	if left := all - done; all > 0 && left >= 0 {
		seconds := math.Ceil(float64(left) / rate)
		text += ", " + quantity.Duration(time.Duration(seconds)*time.Second) + " left"
	}
	return text
}
