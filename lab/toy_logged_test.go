package lab

import (
	"testing"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// kept says of a step how many tokens were written to the cache, and how many of them for an hour.
func (y *toy) kept(message, written, hour int) *toy {
	u := session.Usage{Input: 110 - written, Cache: session.CacheUsage{Write: written, Write1h: hour}}
	y.Messages[message].Tokens = &u
	return y
}

func (y *toy) answeredBy(message int, name string) *toy {
	y.Messages[message].ProviderID, y.Messages[message].ModelID = "test", name
	return y
}

func TestToy_logged(t *testing.T) {
	price := model.Price{Input: 10, CacheRead: 1, CacheWrite: 12, CacheWrite1h: 20, Output: 50}
	usual := model.Model{Provider: "test", ID: "usual", Price: price, Cache: model.Cache{Lifetime: 5 * time.Minute}}
	cheap := usual
	cheap.ID, cheap.Cache.MinPrefix = "cheap", 150
	cheap.Price = model.Price{Input: 5, CacheRead: 0.5, CacheWrite: 6, CacheWrite1h: 10, Output: 20}
	find := func(name string) model.Model {
		if name == "test/cheap" {
			return cheap
		}
		return model.Model{ID: name} // without a price
	}
	gap := []int{1, 2, 10, 400} // step 3 is cold after five minutes
	reference := Reference()
	logged := Options{Logged: true}
	for _, c := range []struct {
		name    string
		session *toy
		opts    Options
		want    Bill // in millionths
	}{
		{"for an hour, by the first step: so are the others", three(gap...).kept(1, 100, 100), logged,
			Bill{Read: 250, Write: 178 * 20, Output: 1250}},
		{"mostly for an hour", three(gap...).kept(1, 100, 60), logged, Bill{Read: 250, Write: 178 * 20, Output: 1250}},
		{"for the usual time", three(gap...).kept(1, 100, 0), logged, Bill{Read: 110, Write: 140*12 + 178*12, Output: 1250}},
		{"the log does not tell", three(gap...), logged, Bill{Read: 110, Write: 140*12 + 178*12, Output: 1250}},
		{"nobody asks for what is logged", three(gap...).kept(1, 100, 100), Options{}, Bill{Read: 110, Write: 140*12 + 178*12, Output: 1250}},
		// What step 2 wrote for five minutes is gone at step 3, which writes for an hour.
		{"by the step", three(gap...).kept(1, 100, 0).kept(3, 100, 100), logged, Bill{Read: 110, Write: 140*12 + 178*20, Output: 1250}},
		// What step 2 wrote for an hour is there.
		{"by the step, the other way", three(gap...).kept(1, 100, 100).kept(3, 100, 0), logged,
			Bill{Read: 250, Write: 140*20 + 38*12, Output: 1250}},
		{"before the first that tells: as that", three(gap...).kept(3, 100, 100), logged, Bill{Read: 250, Write: 178 * 20, Output: 1250}},
		{"chosen prices without one for an hour: twice the input's", three(gap...).kept(1, 100, 100), Options{Logged: true, Terms: &reference},
			Bill{Read: 25, Write: 178 * 2, Output: 125}},
		// Another model answers step 2: it has a cache of its own, and 140 is too short for it. Step
		// 3 is of the first model again.
		{"another model's step", three().answeredBy(2, "cheap"), Options{},
			Bill{Write: 110*12 + 140*5 + 178*12, Output: 10*50 + 8*20 + 7*50}},
		{"a model without a price is billed as the trace's", three().answeredBy(2, "unknown"), Options{}, Bill{Read: 250, Write: 178 * 12, Output: 1250}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := NewTrace(c.session.Session, usual, byWord{})
			trace.Base = 100
			trace.Priced(find)
			got, err := Run(t.Context(), trace, Setup{Policy: nothing(), Window: Unlimited}, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			b := got.Bill
			if diff := difference(c.want, Bill{Read: b.Read * 1e6, Write: b.Write * 1e6, Output: b.Output * 1e6}); diff != "" {
				t.Error("the bill differs from the one made by hand:\n" + diff)
			}
			if bound := Bound(trace, c.opts) * 1e6; bound > c.want.Total()+1e-6 {
				t.Errorf("the bound is %v, more than the bill of %v", bound, c.want.Total())
			}
		})
	}
}
