package siege

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/team/book"
)

// bill is the sum of a tenant's providers' bills, in US dollars.
type bill struct {
	budget float64
	whole  float64 // of all of them, but for those whose client left before the answer began
	most   float64 // of one
	each   []paid
}

// paid is a request that a provider was paid for.
type paid struct {
	gate         int
	began, ended time.Time
	dollars      float64
}

// end is the kill of a gateway.
type end struct {
	gate  int
	since time.Time // what it was answered since then may not be booked
	at    time.Time
}

// budget is that of a tenant for a month: every other one is stopped by it, but for the last, who
// has whoever is left over.
func (m *team) budget(stay int) float64 {
	if stay%2 == 1 && stay < m.stays-1 {
		return 1
	}
	return 10_000
}

const (
	// booked is how long after an answer its cost may be in the memory of its gateway alone.
	booked = time.Second
	// bookedLater is how long if the database was away: what an answer cost is told to the session
	// and to the book, which is every two seconds, and neither may have worked.
	bookedLater = 4 * time.Second
)

var noting = regexp.MustCompile(`time=(\S+) \S+ msg="what was spent can(not)? be noted`)

// killed notes the kill of a gateway.
func (m *team) killed(gate int, log string) {
	now := time.Now()
	since := now.Add(-booked)
	if now.Sub(time.Unix(0, m.struck.Load())) < away {
		since = now.Add(-bookedLater)
	}
	if lines := noting.FindAllStringSubmatch(log, -1); len(lines) > 0 && lines[len(lines)-1][2] != "" {
		if failed := must(time.Parse(time.RFC3339, lines[len(lines)-1][1])).Add(-bookedLater); failed.Before(since) {
			since = failed
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ends = append(m.ends, end{gate, since, now})
}

// lost is the cost of a tenant's requests that a gateway may not have booked when it was killed.
func (m *team) lost(b *bill) (dollars float64) {
	for _, p := range b.each {
		if slices.ContainsFunc(m.ends, func(e end) bool {
			return e.gate == p.gate && p.began.Before(e.at) && p.ended.After(e.since)
		}) {
			dollars += p.dollars
		}
	}
	return dollars
}

// billed adds what a provider answered to the bill of a tenant.
func (m *team) billed(name string, records []llmtest.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.bills[name]
	for _, r := range records {
		gate, _ := came(&r.Request)
		p := paid{gate, r.Began, r.Ended, tworuns.Bill(r.Model, r.Usage)}
		b.whole += p.dollars
		b.most = max(b.most, p.dollars)
		b.each = append(b.each, p)
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
		lost := m.lost(bill)
		got, late := tenant.Spent{}, time.Now().Add(20*time.Second)
		for least := (bill.whole - lost) * (1 - 1e-6); got.Month < least; time.Sleep(100 * time.Millisecond) {
			if got = must(b.Spent(t.Context(), name, time.Now())); time.Now().After(late) && got.Month < least {
				m.wrong("costs that are missing", "the book of %s has %+v, the providers bill $%.4f, of that $%.4f may be lost with a gateway",
					name, got, bill.whole, lost)
				break
			}
		}
		m.add("hundredths of a cent that were billed", int(bill.whole*1e4))
		m.add("hundredths of a cent that the book has, without estimates", int((got.Month-got.Estimated)*1e4))
		m.add("hundredths of a cent that the book estimates", int(got.Estimated*1e4))
		m.add("hundredths of a cent that may be lost with a gateway", int(lost*1e4))
		if bill.whole >= bill.budget {
			m.add("tenants who spent their budget", 1)
		}
		over := (bill.whole - lost - bill.budget) / bill.most
		worst = max(worst, over)
		if over > 1 {
			m.add("tenants who exceeded it by more than one request", 1)
		}
		if over > 3 { // without the database each of three processes is by itself
			m.wrong("overspent", "%s spent $%.4f of $%.2f, of that $%.4f may be lost with a gateway; its dearest request cost $%.4f",
				name, bill.whole, bill.budget, lost, bill.most)
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
