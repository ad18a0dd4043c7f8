package command

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/transport"
)

// soundServe is what serve --check prints as JSON: what the configuration means.
type soundServe struct {
	Listen    string            `json:"listen"`
	Mode      string            `json:"mode"`
	Upstreams map[string]string `json:"upstreams"`
	Clients   []string          `json:"clients"`
	Encrypted bool              `json:"encrypted"`
	Store     string            `json:"store"` // "" in mode off
	Retention string            `json:"retention"`
	Capture   string            `json:"capture"`
	Drain     float64           `json:"drain"` // seconds
}

// checkServe says what serve would do, or what is wrong with its configuration. It opens neither
// the listener nor the store.
func checkServe(s *listening) error {
	a := s.a
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	s.settings = settings
	if err := s.check(settings); err != nil {
		return err
	}
	g := settings.Gateway
	sound := soundServe{Listen: s.address(settings), Mode: string(s.modeOf(settings)), Upstreams: s.upstreams(settings),
		Clients: append([]string{}, slices.Sorted(maps.Keys(g.Clients))...), Encrypted: s.encrypts(),
		Retention: g.Retention, Capture: g.Capture, Drain: s.drain().Seconds()}
	if s.modeOf(settings) != transport.Off {
		sound.Store = source.StoreAt(a)
	}
	return a.Tell(sound, func() {
		a.Printf("the configuration is sound\n")
		for _, line := range [][2]string{{"listen", sound.Listen}, {"mode", sound.Mode},
			{"upstreams", strings.Join(slices.Sorted(maps.Keys(sound.Upstreams)), " ")},
			{"clients", strings.Join(sound.Clients, " ")}, {"store", sound.Store}, {"retention", sound.Retention},
			{"capture", sound.Capture}, {"drain", s.drain().String()}} {
			if line[1] != "" {
				a.Printf("  %-9s  %s\n", line[0], line[1])
			}
		}
	})
}

// drain is how long answers that are under way may take when it ends.
func (s *listening) drain() time.Duration {
	d, err := config.Age(s.settings.Gateway.Drain)
	if err != nil {
		return patience // a configuration that was not checked
	}
	return d
}
