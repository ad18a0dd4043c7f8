package live_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// browser is a headless Chromium that is driven over two pipes, by the protocol of its developer
// tools, as in package page.
type browser struct {
	t       *testing.T
	in      *os.File
	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	session string
	events  []message
	ended   chan struct{}
}

// message is what the browser answers, or tells by itself.
type message struct {
	ID     int            `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a browser")
	}
	program := ""
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil && name != "" && program == "" {
			program = found
		}
	}
	if program == "" {
		t.Skip("there is no Chromium here (CHROMIUM names one); this check opens the page in a browser")
	}
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "winnow-live-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--no-proxy-server", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Skipf("the browser does not start: %v", err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, waiting: map[int]chan message{}, ended: make(chan struct{})}
	go b.listen(out)
	t.Cleanup(func() {
		fmt.Fprint(in, `{"id":0,"method":"Browser.close"}`+"\x00")
		in.Close()
		kill := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		kill.Stop()
		out.Close()
		for range 20 { // its children may still be writing
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	var got struct {
		Target  string `json:"targetId"`
		Session string `json:"sessionId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &got)
	b.call("Target.attachToTarget", map[string]any{"targetId": got.Target, "flatten": true}, &got)
	b.session = got.Session
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "Accessibility"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) listen(out *os.File) {
	defer close(b.ended)
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m, jsontext.AllowInvalidUTF8(true)) != nil {
			continue
		}
		b.mu.Lock()
		if waiting := b.waiting[m.ID]; waiting != nil {
			delete(b.waiting, m.ID)
			waiting <- m
		} else if m.Method != "" {
			b.events = append(b.events, m)
		}
		b.mu.Unlock()
	}
}

// call asks the browser for something and waits for the answer.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.mu.Lock()
	b.next++
	id, waiting := b.next, make(chan message, 1)
	b.waiting[id] = waiting
	b.mu.Unlock()
	request := map[string]any{"id": id, "method": method, "params": params}
	if params == nil {
		delete(request, "params")
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	_, err := fmt.Fprintf(b.in, "%s\x00", must(json.Marshal(request)))
	if err == nil {
		select {
		case m := <-waiting:
			if m.Error != nil {
				err = errors.New(m.Error.Message)
			} else if result != nil {
				err = json.Unmarshal(m.Result, result)
			}
		case <-b.ended:
			err = errors.New("the browser ended")
		case <-time.After(time.Minute):
			err = errors.New("no answer in a minute")
		}
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// open goes to an address.
func (b *browser) open(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	b.until("document.readyState === 'complete' && location.protocol === 'http:'")
}

// eval evaluates an expression, a promise too, and reads its value.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var got struct {
		Result struct {
			Value jsontext.Value `json:"value"`
		} `json:"result"`
		Exception jsontext.Value `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true,
		"userGesture": true}, &got)
	if len(got.Exception) > 0 {
		b.t.Fatalf("%s: %s", expression, got.Exception)
	}
	if value != nil {
		if err := json.Unmarshal(got.Result.Value, value); err != nil {
			b.t.Fatalf("%s gives %s: %v", expression, got.Result.Value, err)
		}
	}
}

// until waits for an expression to become true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ok := false
		if b.eval("!!("+expression+")", &ok); ok {
			return
		}
		if time.Now().After(deadline) {
			text := ""
			b.eval("document.body.innerText", &text)
			b.t.Fatalf("not within half a minute: %s\n%s", expression, text)
		}
	}
}

// click clicks with the mouse at the middle of what a selector finds.
func (b *browser) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({ block: 'center' });
		const r = e.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 } })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// press presses a key.
func (b *browser) press(key string) {
	b.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13}[key]
	text := map[string]string{"Enter": "\r"}[key]
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
			"text": text}, nil)
		text = ""
	}
}

// screen sets size and colour scheme.
func (b *browser) screen(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1,
		"mobile": width < 500}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": "",
		"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// shoot writes what the screen shows, when WINNOW_SHOTS names a folder.
func (b *browser) shoot(name string, width, height int) {
	b.t.Helper()
	folder := os.Getenv("WINNOW_SHOTS")
	if folder == "" {
		return
	}
	var got struct {
		Data string `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}, &got)
	raw, err := base64.StdEncoding.DecodeString(got.Data)
	if err == nil {
		err = os.WriteFile(folder+"/"+name, raw, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// quiet wants a page that asks for nothing but its listener and complains of nothing.
func (b *browser) quiet(address string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		switch e.Method {
		case "Network.requestWillBeSent":
			var p struct {
				Request struct {
					URL string `json:"url"`
				} `json:"request"`
			}
			json.Unmarshal(e.Params, &p)
			if !strings.HasPrefix(p.Request.URL, address+"/") && !strings.HasPrefix(p.Request.URL, "about:") {
				b.t.Errorf("it asks for %s", p.Request.URL)
			}
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening":
			b.t.Errorf("%s: %.400s", e.Method, e.Params)
		}
	}
}
