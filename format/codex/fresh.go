package codex

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/winnowhq/winnow/session"
)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ThreadID is the id by which the product knows a session: the session's own where it is a UUID, else one that is
// derived from it.
func ThreadID(id string) string {
	if uuid.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x80 // version 8: made as its maker likes
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Path is where the product looks for a session's rollout, below its folder sessions. It finds a thread by the id in the
// file's name.
func Path(info *session.Info) string {
	at := time.UnixMilli(int64(info.Time.Created)).UTC()
	return fmt.Sprintf("%s/rollout-%s-%s.jsonl", at.Format("2006/01/02"), at.Format("2006-01-02T15-04-05"), ThreadID(info.ID))
}

// fresh writes a rollout of its own.
func (w *writer) fresh(out io.Writer) error {
	info := &w.change.Session.Info
	w.time = info.Time.Created
	meta := struct {
		ID         string `json:"id"`
		Timestamp  string `json:"timestamp"`
		Cwd        string `json:"cwd"`
		Originator string `json:"originator"`
		Version    string `json:"cli_version"`
		Source     string `json:"source"`
	}{ThreadID(info.ID), stamp(info.Time.Created), cmp.Or(info.Directory, "/"), "winnow", "0.0.0", "cli"}
	if err := w.line("session_meta", marshal(meta), &mark{Info: info, Session: w.change.Session.Unknown}); err != nil {
		return err
	}
	if err := w.append(); err != nil {
		return err
	}
	if _, err := out.Write(w.tail.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
