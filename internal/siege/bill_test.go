package siege

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/team/book"
)

// bill is what a tenant's requests cost by its providers, in US dollars.
type bill struct {
	budget float64
	whole  float64 // of all of them
	lost   float64 // of those that were under way in a gateway when that was killed
	most   float64 // of one
}

// end is the kill of a gateway.
type end struct {
	gate int
	at   time.Time
}

// budget is that of a tenant for a month: every other one is stopped by it, but for the last, who
// has whoever is left over.
func (m *team) budget(stay int) float64 {
	if stay%2 == 1 && stay < m.stays-1 {
		return 1
	}
	return 10_000
}

// booked is how long after an answer its cost may be in the memory of its gateway alone.
const booked = 100 * time.Millisecond

// billed adds what a provider answered to the bill of a tenant.
func (m *team) billed(name string, records []llmtest.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.bills[name]
	for _, r := range records {
		dollars := tworuns.Bill(r.Model, r.Usage)
		b.whole += dollars
		b.most = max(b.most, dollars)
		gate, _ := came(&r.Request)
		for _, e := range m.ends {
			if e.gate == gate && e.at.After(r.Began) && e.at.Before(r.Ended.Add(booked)) {
				b.lost += dollars
				break
			}
		}
	}
}

// reckon holds the book of tenants against what the providers bill. The gateways are killed and
// started before, and have a request of each tenant: that reads what a process that was killed did
// not tell the book.
func (m *team) reckon() {
	t := m.t
	for i := range m.gates {
		m.kill(i)
		m.start(i)
	}
	b := must(book.Open(t.Context(), m.pair.URL(), time.Now))
	defer b.Close()
	worst := 0.0
	for name, bill := range m.bills {
		if bill.whole == 0 {
			continue
		}
		m.touch(name)
		got, late := 0.0, time.Now().Add(20*time.Second)
		for {
			spent, err := b.Spent(t.Context(), name, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if got = spent.Month; got >= 0.98*(bill.whole-bill.lost) || time.Now().After(late) {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got < 0.98*(bill.whole-bill.lost) {
			m.wrong("costs that are missing", "the book of %s has $%.4f, the providers bill $%.4f, of that $%.4f were under way at a kill",
				name, got, bill.whole, bill.lost)
		}
		m.add("hundredths of a cent that were billed", int(bill.whole*1e4))
		m.add("hundredths of a cent that the book has", int(got*1e4))
		m.add("hundredths of a cent under way at a kill", int(bill.lost*1e4))
		if bill.whole >= bill.budget {
			m.add("tenants who spent their budget", 1)
		}
		over := (bill.whole - bill.lost - bill.budget) / bill.most
		worst = max(worst, over)
		if over > 1 {
			m.add("tenants who exceeded it by more than one request", 1)
		}
		if over > 3 { // without the database each of three processes is by itself
			m.wrong("overspent", "%s spent $%.4f of $%.2f, of that $%.4f under way at a kill; its dearest request cost $%.4f",
				name, bill.whole, bill.budget, bill.lost, bill.most)
		}
	}
	t.Logf("the budget that was exceeded most was by %.2f of its dearest request", worst)
}

// touch has a tenant served: its request is refused by the provider or by the gateway.
func (m *team) touch(name string) {
	ctx, stop := context.WithTimeout(m.t.Context(), within)
	defer stop()
	r := must(http.NewRequestWithContext(ctx, "POST", fmt.Sprint("http://", m.gates[0].address, "/up0/v1/messages"),
		bytes.NewReader([]byte("{}"))))
	r.Header.Set("X-Winnow-Token", m.tokens[name])
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.t.Error(err)
		return
	}
	answer.Body.Close()
}
