package transport

import "github.com/winnowhq/winnow/store"

// passes reports whether a request passes as it came because the server of the store is lost: it
// would only wait for it. What was left out of its conversation before is in it then, and is left
// out again once the server is back.
func (t *Transport) passes() bool {
	lost := store.Lost(t.engine.Store())
	if was := t.lost.Swap(lost != nil); was != (lost != nil) {
		if lost != nil {
			t.log.Error("the store is lost: until it is back, requests pass as they came", "error", lost)
		} else {
			t.log.Info("the store is back: requests are decided about again")
		}
	}
	if lost != nil {
		t.count(func(all *Totals) { all.Passed++ })
	}
	return lost != nil
}
