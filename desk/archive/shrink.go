package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/span"
)

// Parts describe the bytes that were taken out of a session's file. The file of their receipt is
// the one before.
type Parts struct {
	Taken      map[string]int64 `json:"taken"`      // bytes that were taken out, by kind
	Hash       string           `json:"hash"`       // SHA-256 of the file without them
	Size       int64            `json:"size"`       // bytes of the file without them
	Packed     string           `json:"packed"`     // SHA-256 of the parts, as the compressed file has them
	PackedSize int64            `json:"packedSize"` // their bytes before compression
}

// parts stands before Ending in the names of their compressed files.
const parts = ".parts"

func (p *Parts) valid() bool { return len(p.Hash) == 64 && p.Size >= 0 && p.PackedSize >= 0 }

// Most is how many bytes a file has at most that is shrunk: it is read into memory.
const Most = 1 << 30

// ErrAlive is the error of a file in which nothing is dead.
var ErrAlive = errors.New("nothing in it is dead")

// Shrinkable reports whether files of a product can be shrunk.
func Shrinkable(product string) bool {
	f, err := all.Named(product)
	_, ok := f.(format.Shrinker)
	return err == nil && ok
}

// Dead reads a session's file and counts the bytes that Shrink would take out, by kind. The errors
// are those of Shrink.
func (a Archive) Dead(f discover.Found) (map[string]int64, error) {
	data, _, err := plainfile.Read(f.Source, Most)
	if err != nil {
		return nil, err
	}
	_, dead, err := deadIn(data)
	if err != nil {
		return nil, err
	}
	return takenBy(dead), a.Room.Look(f.Source)
}

// deadIn reads a file and finds its dead bytes.
func deadIn(data []byte) (*format.Document, []format.Dead, error) {
	doc, err := all.Read(data)
	if err != nil {
		return nil, nil, err
	}
	f, err := all.Named(doc.Format)
	shrinker, ok := f.(format.Shrinker)
	if err != nil || !ok || len(doc.Source) != len(data) { // one that is compressed
		return nil, nil, ErrAlive
	}
	dead := shrinker.Dead(doc)
	if len(dead) == 0 {
		return nil, nil, ErrAlive
	}
	return doc, dead, nil
}

// takenBy are the bytes that edits take out, by kind.
func takenBy(dead []format.Dead) map[string]int64 {
	taken := map[string]int64{}
	for _, d := range dead {
		taken[d.Kind] += int64(d.Len() - len(d.With))
	}
	return taken
}

// Shrink takes bytes out of a session's file that its product never reads again, and archives them.
// now is the time of the run. The file keeps its date. The error is ErrAlive if there is nothing to
// take out, and an *inplace.Refusal if the file cannot be changed now.
func (a Archive) Shrink(ctx context.Context, f discover.Found, now session.Millis) (_ Session, err error) {
	if f.Bytes > Most {
		return Session{}, refused(f.Source, "it is larger than a gigabyte")
	}
	claim, s, err := a.take(ctx, f, now)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	data, err := contentOf(claim)
	if err != nil {
		return s, err
	}
	c, err := cutOf(data)
	if err != nil {
		return s, err
	}
	s.Hash = sumOf(data)
	s.Parts = &Parts{Taken: c.taken, Hash: sumOf(c.data), Size: int64(len(c.data)), PackedSize: int64(len(c.parts))}
	if err := a.store(ctx, &s, bytes.NewReader(c.parts)); err != nil {
		return s, err
	}
	return s, a.replace(ctx, claim, c.data, s.Modified)
}

// contentOf reads a claimed file.
func contentOf(claim *inplace.Claim) ([]byte, error) {
	data, err := io.ReadAll(claim.Content())
	if err != nil {
		return nil, err
	}
	whole, err := claim.Read(data)
	if err == nil && len(whole) < len(data) {
		err = refused(claim.Path, "its last line is incomplete")
	}
	return whole, err
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// cut is a file without its dead bytes.
type cut struct {
	data  []byte
	parts []byte
	taken map[string]int64
}

// place is a place in a file from which bytes were taken: its offset, how many were there, and how
// many are there instead.
type place [3]int

// cutOf takes the dead bytes out of a file, and checks that the rest is read as before.
func cutOf(data []byte) (*cut, error) {
	doc, dead, err := deadIn(data)
	if err != nil {
		return nil, err
	}
	c := &cut{taken: takenBy(dead)}
	edits, places := make([]span.Edit, len(dead)), make([]place, len(dead))
	var taken bytes.Buffer
	for i, d := range dead {
		edits[i], places[i] = d.Edit, place{d.Start, d.Len(), len(d.With)}
		taken.Write(d.Of(data))
	}
	c.data = span.Splice(data, edits...)
	head, err := json.Marshal(places)
	if err != nil {
		return nil, err
	}
	c.parts = bytes.Join([][]byte{head, taken.Bytes()}, []byte{'\n'})
	after, err := all.Read(c.data)
	if err != nil {
		return nil, err
	}
	back, err := join(c.data, c.parts)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(back, data) || !resumesAlike(doc, after) {
		return nil, errChanged
	}
	return c, nil
}

// resumesAlike reports whether two documents have one session: its messages but for the data of
// pictures, and all that is sent of them.
func resumesAlike(a, b *format.Document) bool {
	sent := func(d *format.Document) []session.Message {
		return view.Render(view.Window(d.Session.Messages, nil), d.Ledger)
	}
	return a.Format == b.Format && reflect.DeepEqual(a.Ledger.All(), b.Ledger.All()) &&
		reflect.DeepEqual(a.Beside, b.Beside) && reflect.DeepEqual(sent(a), sent(b)) &&
		reflect.DeepEqual(withoutData(a.Session.Messages), withoutData(b.Session.Messages))
}

// withoutData are messages without the data of their pictures.
func withoutData(messages []session.Message) []session.Message {
	bare := func(parts []session.Part) []session.Part {
		parts = slices.Clone(parts)
		for i := range parts {
			if kind, _, inline := strings.Cut(parts[i].URL, ";base64,"); inline {
				parts[i].URL = kind
			}
		}
		return parts
	}
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Parts = bare(messages[i].Parts)
		for j := range messages[i].Parts {
			if state := messages[i].Parts[j].State; state != nil {
				own := *state
				own.Attachments = bare(state.Attachments)
				messages[i].Parts[j].State = &own
			}
		}
	}
	return messages
}

var errChanged = errors.New("its session would be another one without its dead bytes")

// join puts the parts of a file back to their places.
func join(data, parts []byte) ([]byte, error) {
	head, taken, ok := bytes.Cut(parts, []byte{'\n'})
	var places []place
	if err := json.Unmarshal(head, &places); err != nil || !ok {
		return nil, errors.Join(ErrDamaged, err)
	}
	whole := make([]byte, 0, len(data)+len(taken))
	for _, p := range places {
		before, out, in := p[0]-len(whole), p[1], p[2]
		if before < 0 || out < 0 || in < 0 || out > len(taken) || before > len(data) || in > len(data)-before {
			return nil, ErrDamaged
		}
		whole = append(append(whole, data[:before]...), taken[:out]...)
		data, taken = data[before+in:], taken[out:]
	}
	return append(whole, data...), nil
}

// replace puts other bytes in the place of a claimed file, with a date. The caller has stored the
// old ones, so its original goes, unless a program still writes to it.
func (a Archive) replace(ctx context.Context, claim *inplace.Claim, data []byte, modified time.Time) error {
	name := restoring(claim.Path)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer os.Remove(name) // it has its own name by then, if all went well
	err := a.step("draft", func() error { return os.WriteFile(name, data, 0o600) })
	if err == nil {
		err = os.Chtimes(name, modified, modified)
	}
	if err != nil {
		return err
	}
	done, err := claim.Replace(ctx, inplace.Draft{Name: name, Rename: func(from, to string) error {
		return a.step("rename", func() error { return os.Rename(from, to) })
	}})
	if err != nil {
		return err
	}
	syncFolder(filepath.Dir(claim.Path))
	return a.Room.Drop(done.Original)
}

// dropOriginals removes the originals that interrupted runs have left: the archive has their bytes.
func (a Archive) dropOriginals() error {
	originals, _ := a.Room.Originals() // the doctor tells of those that cannot be read
	var failed []error
	for _, o := range originals {
		if o.Command == command {
			failed = append(failed, a.Room.Drop(o.Path))
		}
	}
	return errors.Join(failed...)
}

// rejoin puts the archived parts of a session back into its file. Lines that were added since stay
// behind them.
func (a Archive) rejoin(ctx context.Context, s Session) (err error) {
	claim, err := a.Room.Take(ctx, s.Source, inplace.Taking{Command: command})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	if err := claim.Removable(a.Unseen); err != nil {
		return err
	}
	data, err := contentOf(claim)
	if err != nil {
		return err
	}
	begins := func(size int64, hash string) bool { return int64(len(data)) >= size && sumOf(data[:size]) == hash }
	if begins(s.Size, s.Hash) {
		return nil // it is whole
	}
	if !begins(s.Parts.Size, s.Parts.Hash) {
		return fmt.Errorf("%s: %w", s.Source, ErrRewritten)
	}
	from, _, err := plainfile.Open(s.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	var packed bytes.Buffer
	if err := unpack(&packed, interruptible{ctx, from}, s.Receipt); err != nil {
		return err
	}
	whole, err := join(data[:s.Parts.Size], packed.Bytes())
	if err != nil {
		return err
	}
	if sumOf(whole) != s.Hash {
		return fmt.Errorf("%w: %s", ErrDamaged, s.Source)
	}
	modified := s.Modified
	if added := data[s.Parts.Size:]; len(added) > 0 {
		whole, modified = append(whole, added...), claim.Info().ModTime()
	}
	return a.replace(ctx, claim, whole, modified)
}

// ErrRewritten is the error of a file that is not brought back because it is not the shrunk one.
var ErrRewritten = errors.New("it was rewritten since it was shrunk; undo that first")
