package page

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

// browser is a headless Chromium that is driven over two pipes, by the protocol of its developer
// tools: no port, no module.
type browser struct {
	t       *testing.T
	in      io.WriteCloser
	mu      sync.Mutex
	next    int
	answers map[int]chan answer
	session string
	events  []event
	ended   chan struct{}
}

type answer struct {
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// event is what the browser tells by itself.
type event struct {
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

// chromium finds a browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	t.Skip("there is no Chromium here (CHROMIUM names one); this check opens the page in a browser")
	return ""
}

func openBrowser(t *testing.T) *browser {
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
	profile, err := os.MkdirTemp("", "winnow-page-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4
	var noise bytes.Buffer
	cmd.Stdout, cmd.Stderr = &noise, &noise
	if err := cmd.Start(); err != nil {
		t.Skipf("the browser does not start: %v", err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, answers: map[int]chan answer{}, ended: make(chan struct{})}
	go b.listen(out)
	t.Cleanup(func() {
		b.write(`{"id":0,"method":"Browser.close"}`)
		in.Close()
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		select {
		case <-exited:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			<-exited
		}
		out.Close()
		for range 20 { // its children may still be writing
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	var target struct {
		ID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	b.session = attached.Session
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) listen(out io.Reader) {
	defer close(b.ended)
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		text = bytes.TrimSuffix(text, []byte{0})
		var m struct {
			ID int `json:"id"`
			answer
			event
		}
		if json.Unmarshal(text, &m, jsontext.AllowInvalidUTF8(true)) != nil {
			continue
		}
		b.mu.Lock()
		if waiting := b.answers[m.ID]; m.ID > 0 && waiting != nil {
			delete(b.answers, m.ID)
			waiting <- m.answer
		} else if m.Method != "" {
			b.events = append(b.events, event{m.Method, m.Params.Clone()})
		}
		b.mu.Unlock()
	}
}

func (b *browser) write(text string) error {
	_, err := io.WriteString(b.in, text+"\x00")
	return err
}

// call asks the browser for something and waits for the answer.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	if err := b.try(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *browser) try(method string, params map[string]any, result any) error {
	b.mu.Lock()
	b.next++
	id, waiting := b.next, make(chan answer, 1)
	b.answers[id] = waiting
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
	if err := b.write(string(text)); err != nil {
		return err
	}
	select {
	case a := <-waiting:
		if a.Error != nil {
			return errors.New(a.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-b.ended:
		return errors.New("the browser ended")
	case <-time.After(60 * time.Second):
		return errors.New("no answer in a minute")
	}
}

// open goes to a file and waits until it is loaded.
func (b *browser) open(path string) {
	b.t.Helper()
	b.mu.Lock()
	b.events = nil
	b.mu.Unlock()
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	b.until("document.readyState === 'complete' && location.protocol === 'file:'")
}

// eval evaluates an expression, a promise too, and reads its value.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var got struct {
		Result struct {
			Value jsontext.Value `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string         `json:"text"`
			Exception jsontext.Value `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true,
		"userGesture": true}, &got)
	if got.Exception != nil {
		b.t.Fatalf("%s: %s %s", expression, got.Exception.Text, got.Exception.Exception)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(got.Result.Value, value); err != nil {
		b.t.Fatalf("%s gives %s: %v", expression, got.Result.Value, err)
	}
}

// until waits for an expression to become true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ok := false
		if b.eval("!!("+expression+")", &ok); ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not within a minute: %s", expression)
		}
	}
}

// screen sets size and colour scheme.
func (b *browser) screen(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height,
		"deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"media": "", "features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}},
		nil)
}

// shoot writes what the screen shows from a height on, when WINNOW_SHOTS names a folder.
func (b *browser) shoot(name string, y, width, height int) {
	b.t.Helper()
	folder := os.Getenv("WINNOW_SHOTS")
	if folder == "" {
		return
	}
	var got struct {
		Data string `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": y, "width": width, "height": height, "scale": 1}}, &got)
	b.keep(folder+"/"+name, got.Data)
}

func (b *browser) keep(path, data string) {
	b.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(data)
	if err == nil {
		err = os.WriteFile(path, raw, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// complaints are what the page did that it must not do: requests beside the page itself, messages
// on the console, exceptions, blocked things.
func (b *browser) complaints(path string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, e := range b.events {
		switch e.Method {
		case "Network.requestWillBeSent":
			var p struct {
				Request struct {
					URL string `json:"url"`
				} `json:"request"`
			}
			json.Unmarshal(e.Params, &p)
			if p.Request.URL != "file://"+path && !strings.HasPrefix(p.Request.URL, "about:") {
				all = append(all, "it asks for "+p.Request.URL)
			}
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening":
			all = append(all, fmt.Sprintf("%s: %.300s", e.Method, e.Params))
		}
	}
	return all
}
