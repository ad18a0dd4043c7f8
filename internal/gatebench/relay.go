//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/store/sqlite"
)

// relayRole is the first argument of a process that relays. It prints its address, then, for each
// line that it is sent, what it took; at the end of its input it ends.
const relayRole = "relay"

// warm is the line with which profiles begin: every session was seen once.
const warm = "warm"

func relay(args []string) {
	kind, to, profile := args[0], args[1], args[2]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var handler http.Handler
	path := ""
	if kind == "winnow" {
		folder, err := os.MkdirTemp("", "gatebench")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(folder)
		handler, path = gateway(to, folder), "/up"
	} else {
		handler = plain(to)
	}
	go func() { log.Fatal(http.Serve(l, handler)) }()
	fmt.Println("http://" + l.Addr().String() + path)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == warm && profile != "" {
			f, err := os.Create(profile)
			if err != nil {
				log.Fatal(err)
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				log.Fatal(err)
			}
			defer pprof.StopCPUProfile()
		}
		var use syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
			log.Fatal(err)
		}
		fmt.Println(use.Utime.Nano()+use.Stime.Nano(), use.Maxrss)
	}
}

func plain(to string) http.Handler {
	u, err := url.Parse(to)
	if err != nil {
		log.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 256}, FlushInterval: -1}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An answer that begins at once must not close the body while its end is being read.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			log.Fatal(err)
		}
		proxy.ServeHTTP(w, r)
	})
}

// gateway is winnow as `winnow serve` makes it, with a store in a folder.
func gateway(to, folder string) http.Handler {
	store, err := sqlite.Open(context.Background(), sqlite.Config{Path: filepath.Join(folder, "winnow.db")})
	if err != nil {
		log.Fatal(err)
	}
	set := settings.Default()
	set.Compaction.Auto = false
	engine, err := winnow.Open(winnow.Config{Store: store, Settings: &set})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := serve.New(serve.Config{Upstreams: map[string]string{"up": to},
		Transport: transport.New(engine, transport.Options{Base: serve.Direct(), Later: true, Behind: true})})
	if err != nil {
		log.Fatal(err)
	}
	return handler
}

// child is a process that relays.
type child struct {
	address string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startRelay(kind, to, profile string) *child {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	c := &child{cmd: exec.Command(self, relayRole, kind, to, profile)}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		log.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		log.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if _, err := fmt.Fscanln(c.out, &c.address); err != nil {
		log.Fatal(err)
	}
	return c
}

func (c *child) asked(line string) (cpu time.Duration, memory int64) {
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		log.Fatal(err)
	}
	if _, err := fmt.Fscanln(c.out, &cpu, &memory); err != nil {
		log.Fatal(err)
	}
	return cpu, memory
}

// cpu is the processor time that the process took so far.
func (c *child) cpu() time.Duration {
	took, _ := c.asked("")
	return took
}

// memory is the most that was resident, in megabytes. Linux tells it in kilobytes.
func (c *child) memory() float64 {
	_, most := c.asked("")
	return float64(most) / 1024
}

func (c *child) stop() {
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		log.Fatal(err)
	}
}
