package tools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/idna"
)

// reach is how far away a host is: who agrees to an address on the web has not agreed to one in the
// house.
type reach int

const (
	public reach = iota
	private
	loopback
	metadata // of a cloud: it gives out the keys of this computer
)

// note is what is added to an address when permission is asked for, so that nobody overlooks it.
func (r reach) note() string {
	switch r {
	case private:
		return " (a private network)"
	case loopback:
		return " (this computer)"
	case metadata:
		return " (a service that gives out this computer's keys)"
	}
	return ""
}

// reachOf looks where a host is: the nearest of its addresses counts. What cannot be found is on
// the web: a proxy may find it.
func reachOf(ctx context.Context, host string) (reach, error) {
	// digits have other forms, which a connection is made to all the same
	if plain, err := idna.Lookup.ToASCII(host); err == nil {
		host = plain
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return loopback, nil
	}
	if at, ok := addressIn(host); ok {
		return reachOfAddress(at), nil
	}
	waits, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(waits, "ip", host)
	if err != nil {
		return public, ctx.Err()
	}
	nearest := public
	for _, at := range all {
		nearest = max(nearest, reachOfAddress(at))
	}
	return nearest, nil
}

// addressIn reads a host that is an address, also in the old ways that resolvers and proxies still
// understand: 127.1, 0x7f000001, 2130706433, 0177.0.0.1.
func addressIn(host string) (netip.Addr, bool) {
	if at, err := netip.ParseAddr(host); err == nil {
		return at, true
	}
	words := strings.Split(host, ".")
	if len(words) > 4 {
		return netip.Addr{}, false
	}
	var number uint64
	for i, word := range words {
		if strings.Contains(word, "_") {
			return netip.Addr{}, false
		}
		base := 10
		if rest, hex := strings.CutPrefix(word, "0x"); hex {
			word, base = rest, 16
		} else if len(word) > 1 && word[0] == '0' {
			base = 8
		}
		n, err := strconv.ParseUint(word, base, 32)
		bits := 8
		if i == len(words)-1 {
			bits = 8 * (5 - len(words)) // the last one is what is left
		}
		if err != nil || n >= 1<<bits {
			return netip.Addr{}, false
		}
		number = number<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)}), true
}

func prefixes(of ...string) (all []netip.Prefix) {
	for _, text := range of {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

var (
	// keepers are where clouds give a computer its keys: AWS, Azure, Google and most others;
	// containers of AWS; Alibaba; Oracle; Azure's own; AWS and Google by IPv6.
	keepers = prefixes("169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32",
		"192.0.0.192/32", "168.63.129.16/32",
		"fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128")
	// shared are addresses of networks that are neither private by name nor reachable from the web:
	// of providers, for tests, for examples, for what is to come, translated within a network, once
	// of a site.
	shared = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b:1::/48", "100::/64", "2001:db8::/32", "fec0::/10")
)

// carriers are the ways in which an IPv6 address leads to an IPv4 one, by the position of that in
// it. Teredo has two, the client's with every bit turned round.
var carriers = []struct {
	prefix netip.Prefix
	at     int
	turned bool
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},    // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, false},  // NAT64 within a network
	{netip.MustParsePrefix("2002::/16"), 2, false},        // 6to4
	{netip.MustParsePrefix("2001::/32"), 4, false},        // Teredo: its server
	{netip.MustParsePrefix("2001::/32"), 12, true},        // Teredo: the client
	{netip.MustParsePrefix("::/96"), 12, false},           // compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false}, // translated
}

// carried are the IPv4 addresses that an IPv6 one leads to.
func carried(at netip.Addr) (all []netip.Addr) {
	if !at.Is6() {
		return nil
	}
	b := at.As16()
	take := func(from int, turned bool) {
		four := [4]byte(b[from : from+4])
		if turned {
			for i := range four {
				four[i] ^= 0xff
			}
		}
		all = append(all, netip.AddrFrom4(four))
	}
	for _, c := range carriers {
		if c.prefix.Contains(at) {
			take(c.at, c.turned)
		}
	}
	if b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP
		take(12, false)
	}
	return all
}

func reachOfAddress(at netip.Addr) reach {
	at = at.Unmap().WithZone("")
	within := func(networks []netip.Prefix) bool {
		return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(at) })
	}
	nearest := public
	switch {
	case within(keepers):
		return metadata
	case at.IsLoopback(), at.IsUnspecified():
		return loopback
	case at.IsPrivate(), at.IsLinkLocalUnicast(), at.IsMulticast(), within(shared):
		nearest = private
	}
	for _, four := range carried(at) {
		nearest = max(nearest, reachOfAddress(four))
	}
	return nearest
}

var errNearer = errors.New("the host is nearer than it was when permission was asked for")

// transport connects to addresses as far away as this one, or farther: a name may mean another
// address by the time of the connection. What a proxy of the environment is for goes to that,
// wherever it is.
func (r reach) transport(to *url.URL) *http.Transport {
	dialer := &net.Dialer{Timeout: fetchTime}
	t := &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true, MaxResponseHeaderBytes: 256 << 10}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: to}); err == nil && proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
		return t
	}
	dialer.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %s is not an address", errNearer, address)
		}
		if reachOfAddress(at.Addr()) > r {
			return fmt.Errorf("%w: %s", errNearer, at.Addr())
		}
		return nil
	}
	return t
}
