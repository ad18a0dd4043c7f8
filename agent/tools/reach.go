package tools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// reach is how far away a host is: who agrees to an address on the web has not agreed to one in the house.
type reach int

const (
	public reach = iota
	private
	loopback
)

// note is what is added to an address when permission is asked for, so that nobody overlooks it.
func (r reach) note() string {
	switch r {
	case private:
		return " (a private network)"
	case loopback:
		return " (this computer)"
	}
	return ""
}

// reachOf looks where a host is: the nearest of its addresses counts. What cannot be found is on the web: a proxy may find it.
func reachOf(ctx context.Context, host string) (reach, error) {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return loopback, nil
	}
	if at, err := netip.ParseAddr(host); err == nil {
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

// shared are addresses of networks that are neither private by name nor reachable from the web.
var shared = []netip.Prefix{netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("64:ff9b:1::/48")}

func reachOfAddress(at netip.Addr) reach {
	at = at.Unmap().WithZone("")
	switch {
	case at.IsLoopback(), at.IsUnspecified():
		return loopback
	case at.IsPrivate(), at.IsLinkLocalUnicast(), at.IsMulticast():
		return private
	}
	for _, p := range shared {
		if p.Contains(at) {
			return private
		}
	}
	return public
}

var errNearer = errors.New("the host is nearer than it was when permission was asked for")

// transport connects to addresses as far away as this one, or farther: a name may mean another address by the time of the connection. What a proxy of the
// environment is for goes to that, wherever it is.
func (r reach) transport(to *url.URL) *http.Transport {
	dialer := &net.Dialer{Timeout: fetchTime}
	t := &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true, MaxResponseHeaderBytes: 256 << 10}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: to}); err == nil && proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
		return t
	}
	dialer.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil && reachOfAddress(at.Addr()) > r {
			return fmt.Errorf("%w: %s", errNearer, at.Addr())
		}
		return nil
	}
	return t
}
