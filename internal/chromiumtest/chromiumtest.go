// Package chromiumtest opens pages in a headless Chromium, for tests of what a person sees and does
// there. The browser is driven over two pipes, by the protocol of its developer tools: no port, no
// module.
package chromiumtest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Browser is a window of a browser.
type Browser struct {
	T       testing.TB // is told what goes wrong: the test at hand
	in      io.WriteCloser
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

// chromium finds a browser, or skips the test.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	t.Skip("there is no Chromium here (CHROMIUM names one); this check opens the page in a browser")
	return ""
}

// Start starts a browser, which ends with the test. Without one, and with -short, it skips the
// test.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := chromium(t)
	if testing.Short() {
		t.Skip("it starts a browser")
	}
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "winnow-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--no-proxy-server", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Skipf("the browser does not start: %v", err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &Browser{T: t, in: in, waiting: map[int]chan message{}, ended: make(chan struct{})}
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
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &got)
	b.Call("Target.attachToTarget", map[string]any{"targetId": got.Target, "flatten": true}, &got)
	b.session = got.Session
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

func (b *Browser) listen(out io.Reader) {
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

// Call asks the browser for something and waits for the answer; a result of nil is not looked at.
func (b *Browser) Call(method string, params map[string]any, result any) {
	b.T.Helper()
	if err := b.try(method, params, result); err != nil {
		b.T.Fatalf("%s: %v", method, err)
	}
}

func (b *Browser) try(method string, params map[string]any, result any) error {
	b.mu.Lock()
	b.next++
	id, waiting := b.next, make(chan message, 1)
	b.waiting[id] = waiting
	b.mu.Unlock()
	request := map[string]any{"id": id, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case m := <-waiting:
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.ended:
		return errors.New("the browser ended")
	case <-time.After(time.Minute):
		return errors.New("no answer in a minute")
	}
}

// address is that of a page: its own, or a file's by its path.
func address(page string) string {
	if strings.HasPrefix(page, "/") {
		return "file://" + page
	}
	return page
}

// Open goes to a page, a path or an address, and waits until it is loaded.
func (b *Browser) Open(page string) {
	b.T.Helper()
	b.mu.Lock()
	b.events = nil
	b.mu.Unlock()
	b.Call("Page.navigate", map[string]any{"url": address(page)}, nil)
	scheme, _, _ := strings.Cut(address(page), "//")
	b.Until(fmt.Sprintf("document.readyState === 'complete' && location.protocol === '%s'", scheme))
}

// Eval evaluates an expression, a promise too, and reads its value.
func (b *Browser) Eval(expression string, value any) {
	b.T.Helper()
	var got struct {
		Result struct {
			Value jsontext.Value `json:"value"`
		} `json:"result"`
		Exception jsontext.Value `json:"exceptionDetails"`
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true,
		"userGesture": true}, &got)
	if len(got.Exception) > 0 {
		b.T.Fatalf("%s: %s", expression, got.Exception)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(got.Result.Value, value); err != nil {
		b.T.Fatalf("%s gives %s: %v", expression, got.Result.Value, err)
	}
}

// Until waits for an expression to become true.
func (b *Browser) Until(expression string) {
	b.T.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ok := false
		if b.Eval("!!("+expression+")", &ok); ok {
			return
		}
		if time.Now().After(deadline) {
			text := ""
			b.Eval("document.body?.innerText.slice(0, 10000) ?? ''", &text)
			b.T.Fatalf("not within a minute: %s\n%s", expression, text)
		}
	}
}

// Click clicks with the mouse at the middle of what a selector finds.
func (b *Browser) Click(selector string) {
	b.T.Helper()
	var at struct{ X, Y float64 }
	b.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q); e.scrollIntoView({ block: 'center' });
		const r = e.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }
	})()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.Call("Input.dispatchMouseEvent",
			map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// Press presses a key: Enter, End, Home, ArrowLeft or ArrowRight.
func (b *Browser) Press(key string) {
	b.T.Helper()
	code := map[string]int{"Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}[key]
	text := map[string]string{"Enter": "\r"}[key]
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.Call("Input.dispatchKeyEvent",
			map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}, nil)
		text = ""
	}
}

// Screen sets width and height in pixels, and the colour scheme: light or dark.
func (b *Browser) Screen(width, height int, scheme string) {
	b.T.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height,
		"deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.Call("Emulation.setEmulatedMedia", map[string]any{"media": "",
		"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Shoot writes what the page shows from a height on, in pixels, when WINNOW_SHOTS names a folder.
func (b *Browser) Shoot(name string, y, width, height int) {
	b.T.Helper()
	folder := os.Getenv("WINNOW_SHOTS")
	if folder == "" {
		return
	}
	var got struct {
		Data string `json:"data"`
	}
	b.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": y, "width": width, "height": height, "scale": 1}}, &got)
	raw, err := base64.StdEncoding.DecodeString(got.Data)
	if err == nil {
		err = os.WriteFile(folder+"/"+name, raw, 0o644)
	}
	if err != nil {
		b.T.Fatal(err)
	}
}

// Quiet wants a page, a path or an address, that since it was opened asked for nothing but itself
// and what is below it, wrote nothing on the console, and had no exception and nothing blocked.
func (b *Browser) Quiet(page string) {
	b.T.Helper()
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
			asked, own := p.Request.URL, address(page)
			if asked != own && !strings.HasPrefix(asked, own+"/") && !strings.HasPrefix(asked, "about:") {
				b.T.Errorf("it asks for %s", asked)
			}
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening":
			b.T.Errorf("%s: %.400s", e.Method, e.Params)
		}
	}
}
