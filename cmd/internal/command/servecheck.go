package command

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/text/visible"
)

// soundServe is what serve --check prints as JSON: what the configuration means.
type soundServe struct {
	Listen string `json:"listen"` // the address at which it would listen
	// The setting "gateway.mode": what would be done to requests.
	Mode      string            `json:"mode"`
	Upstreams map[string]string `json:"upstreams"` // providers: address by name
	// The names of those who have a token of the configuration; empty: tenants may ask, or at a
	// loopback address without tenants anyone who reaches it.
	Clients   []string `json:"clients"`
	Encrypted bool     `json:"encrypted"` // whether the listener has a certificate
	// The store of sessions; empty in the mode "off". The password of a database is left out.
	Store     string  `json:"store"`
	Retention string  `json:"retention"` // the setting "gateway.retention"
	Capture   string  `json:"capture"`   // the setting "gateway.capture"
	Drain     float64 `json:"drain"`     // how many seconds answers have when it ends
	// Settings that "serve" reads or tries before it listens.
	Findings []gateway.Finding `json:"findings"`
	Warnings []string          `json:"warnings"` // settings that are allowed and probably wrong
}

// checkServe says what serve would do, or what is wrong with its configuration. It tries to listen,
// and does not open the store.
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
		Retention: g.Retention, Capture: g.Capture, Drain: s.drain().Seconds(),
		Findings: append(s.tryListening(), gateway.Check(a, settings)...), Warnings: s.warnings()}
	if s.modeOf(settings) != transport.Off {
		sound.Store = source.StoreAt(a)
	}
	var problems []error
	for _, f := range sound.Findings {
		problems = append(problems, f.Err)
	}
	err = errors.Join(problems...)
	return errors.Join(a.Tell(sound, func() { s.show(&sound, err == nil) }), err)
}

// show prints the meaning of the configuration, and the findings.
func (s *listening) show(doc *soundServe, sound bool) {
	if sound {
		s.a.Printf("the configuration is sound\n")
	} else {
		s.a.Printf("serve does not start with this configuration\n")
	}
	for _, line := range [][2]string{{"listen", doc.Listen}, {"mode", doc.Mode},
		{"upstreams", strings.Join(slices.Sorted(maps.Keys(doc.Upstreams)), " ")},
		{"clients", strings.Join(doc.Clients, " ")}, {"store", doc.Store}, {"retention", doc.Retention},
		{"capture", doc.Capture}, {"drain", s.drain().String()}} {
		if line[1] != "" {
			s.a.Printf("  %-9s  %s\n", line[0], line[1])
		}
	}
	for _, f := range doc.Findings {
		s.a.Printf("  %s: %s\n", f.Setting, visible.Line(cmp.Or(f.Found, "see below")))
	}
	for _, warning := range doc.Warnings {
		s.a.Printf("  warning: %s\n", warning)
	}
}

// tryListening opens each listener of the settings and closes it, and says what is in the
// certificate. An address that is in use is no problem: serve may be running.
func (s *listening) tryListening() (all []gateway.Finding) {
	g := s.settings.Gateway
	for _, l := range []struct {
		setting, address string
		open             func() (net.Listener, error)
	}{
		{"gateway.listen", s.address(s.settings), s.open},
		{"gateway.metrics", g.Metrics, func() (net.Listener, error) { return listenForMetrics(g.Metrics) }},
		{"gateway.profile", g.Profile, func() (net.Listener, error) { return serve.Listen(g.Profile) }},
	} {
		if l.address == "" {
			continue
		}
		found := l.address + " is free"
		opened, err := l.open()
		if errors.Is(err, syscall.EADDRINUSE) {
			found, err = l.address+" is in use now, by a running serve or another program", nil
		} else if err == nil {
			err = opened.Close()
		}
		all = append(all, gateway.Finds(l.setting, found, err))
	}
	if c := s.certificate.Load(); c != nil && c.Leaf != nil {
		found := g.TLS.Cert + " is valid until " + c.Leaf.NotAfter.UTC().Format(time.DateOnly)
		all = append(all, gateway.Finds("gateway.tls.cert", found, nil))
	}
	return all
}

// warnings are about what serve starts with, and hardly anybody means.
func (s *listening) warnings() []string {
	all := []string{}
	upstreams := s.upstreams(s.settings)
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		if address := strings.TrimRight(upstreams[name], "/"); strings.HasSuffix(address, "/v1") {
			all = append(all, fmt.Sprintf("gateway.upstreams.%s ends in /v1, and the path of a request is appended: "+
				"/%s/v1/… goes to /v1/v1/…; leave /v1 out", name, name))
		}
	}
	if c := s.certificate.Load(); c != nil && c.Leaf != nil && s.a.Env.Now().After(c.Leaf.NotAfter) {
		all = append(all, "gateway.tls.cert has expired")
	}
	return all
}

// drain is how long answers that are under way may take when it ends.
func (s *listening) drain() time.Duration {
	d, err := config.Age(s.settings.Gateway.Drain)
	if err != nil {
		return patience // a configuration that was not checked
	}
	return d
}
