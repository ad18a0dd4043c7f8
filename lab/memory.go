package lab

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Memory keeps results in a file as they arrive, so that a stopped replay continues where it was
// and the next one reuses what did not change. Damaged lines are skipped; a file that cannot be
// written is not used. A nil Memory remembers nothing. It is safe for concurrent use, also by
// several processes.
//
// Each line is a JSON object: {"key":"…","version":"…","value":{…}}.
type Memory struct {
	path    string
	version string

	mu    sync.Mutex
	known map[string][]byte // values by key
	file  *os.File          // for appending; nil until the first put
	err   error             // the first error of writing
}

// line is a line of the file.
type line struct {
	Key     string         `json:"key"`
	Version string         `json:"version"`
	Value   jsontext.Value `json:"value"`
}

// mostBytes is the size from which the file is rewritten.
const mostBytes = 512 << 20

// OpenMemory returns a memory in a file. Results of another version of the program are ignored.
func OpenMemory(path, version string) *Memory {
	return &Memory{path: path, version: fingerprint(version)}
}

// recall reads the wanted results. It rewrites the file if most of it belongs to other versions.
func (m *Memory) recall(wanted map[string]bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = map[string][]byte{}
	file, err := os.Open(m.path)
	if err != nil {
		return
	}
	defer file.Close()
	var ours, all int64
	read := bufio.NewReaderSize(file, 1<<20)
	for {
		text, err := read.ReadBytes('\n')
		all += int64(len(text))
		key, version, ok := header(text)
		if ok && version == m.version {
			ours += int64(len(text))
			var l line
			if wanted[key] && err == nil && json.Unmarshal(text, &l) == nil {
				m.known[key] = l.Value
			}
		}
		if err != nil {
			break
		}
	}
	if all-ours > ours+1<<20 || all > mostBytes {
		m.renew()
	}
}

// header reads only the key and the version of a line.
func header(text []byte) (key, version string, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"key":"`))
	if !ok {
		return "", "", false
	}
	before, rest, ok := bytes.Cut(rest, []byte(`","version":"`))
	if !ok {
		return "", "", false
	}
	after, _, ok := bytes.Cut(rest, []byte(`",`))
	return string(before), string(after), ok
}

// renew rewrites the file with the known results alone.
func (m *Memory) renew() {
	var text bytes.Buffer
	for key, value := range m.known {
		if out, err := json.Marshal(line{key, m.version, value}); err == nil {
			text.Write(append(out, '\n'))
		}
	}
	next, err := os.CreateTemp(filepath.Dir(m.path), ".results.*") // mode 0600
	if err != nil {
		return
	}
	_, err = next.Write(text.Bytes())
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), m.path)
	}
	if err != nil {
		os.Remove(next.Name())
	}
}

// get reads a known value.
func (m *Memory) get(key string, value any) bool {
	if m == nil || key == "" {
		return false
	}
	m.mu.Lock()
	text, ok := m.known[key]
	m.mu.Unlock()
	return ok && json.Unmarshal(text, value) == nil
}

// put appends a value at once, in one write.
func (m *Memory) put(key string, value any) {
	if m == nil || key == "" {
		return
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return
	}
	out, err := json.Marshal(line{key, m.version, text})
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	if m.file == nil {
		if m.file, m.err = appendTo(m.path); m.err != nil {
			return
		}
	}
	_, m.err = m.file.Write(append(out, '\n'))
}

// appendTo opens a file for appending. A line that a killed process left unfinished gets its line
// end.
func appendTo(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			_, _ = file.Write([]byte{'\n'})
		}
	}
	return file, nil
}

// Close closes the file. The error is the first that kept a result from being remembered.
func (m *Memory) Close() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.err
	if m.file != nil {
		err = errors.Join(err, m.file.Close())
		m.file = nil
	}
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
