package serve

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds what another part of the program counts to what GET /metrics shows. Its names begin
// with winnow_, and its labels have few values; a name that is taken panics.
func (m *Metrics) Register(c prometheus.Collector) { m.registry.MustRegister(c) }

// Names are the names of all that GET /metrics may show, in order.
func (m *Metrics) Names() []string {
	all := make(chan *prometheus.Desc)
	go func() {
		m.registry.Describe(all)
		close(all)
	}()
	var names []string
	for desc := range all {
		_, after, _ := strings.Cut(desc.String(), "fqName: ")
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			continue // a form of the library that is not known
		}
		name, err := strconv.Unquote(quoted)
		if err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
