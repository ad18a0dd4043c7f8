package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Done is the data of the last event of a stream in OpenAI's protocols.
const Done = "[DONE]"

// MaxEvent is how many bytes the data of one event may have.
const MaxEvent = 32 << 20

// ErrEndless is the error of an event that is longer than MaxEvent.
var ErrEndless = errors.New("an event without end")

// NotEventsError is the error of a line that cannot be part of a stream of events.
type NotEventsError struct{ Line []byte }

func (e *NotEventsError) Error() string {
	return fmt.Sprintf("the answer is not a stream of events: %s", e.Line[:min(len(e.Line), 100)])
}

// Event is one event that has data.
type Event struct {
	Name string // "" if the stream does not name it
	Data []byte // several lines of data are joined by spaces: a line break between JSON tokens is white space
}

// EventReader reads events. Comments, empty events and fields that say nothing about the data are
// passed over.
type EventReader struct{ lines *bufio.Reader }

// NewEventReader returns a reader of the events in r.
func NewEventReader(r io.Reader) *EventReader { return &EventReader{bufio.NewReader(r)} }

// Next returns the next event. At the end of the stream the error is io.EOF. An event that the end
// of the stream cuts off does not count, unless its data is whole: some servers omit the line
// breaks after the last event.
func (r *EventReader) Next() (Event, error) {
	var e Event
	for {
		line, err := r.line()
		if err != nil {
			return e.cut(line, err)
		}
		if len(line) == 0 {
			if len(e.Data) > 0 {
				return e, nil
			}
			e = Event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.Name = string(value)
		case "data":
			if len(e.Data) > 0 {
				e.Data = append(e.Data, ' ')
			}
			if e.Data = append(e.Data, value...); len(e.Data) > MaxEvent {
				return Event{}, ErrEndless
			}
		case "", "id", "retry":
		default:
			return Event{}, &NotEventsError{line}
		}
	}
}

// cut decides what becomes of an event that the stream ended in, with the beginning of its last
// line.
func (e Event) cut(line []byte, err error) (Event, error) {
	if !errors.Is(err, io.EOF) {
		return Event{}, err
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	fields := []string{"event", "data", "id", "retry"}
	if !slices.ContainsFunc(fields, func(name string) bool { return strings.HasPrefix(name, string(field)) }) {
		return Event{}, &NotEventsError{line}
	}
	if string(field) == "data" && len(e.Data) == 0 {
		e.Data = bytes.TrimSpace(value)
	}
	if string(e.Data) == Done || bytes.HasPrefix(e.Data, []byte("{")) &&
		jsontext.Value(e.Data).IsValid(session.ReadOptions()) {
		return e, nil
	}
	return Event{}, io.EOF
}

// line reads a line without its end. If the stream ends first, the beginning of the line comes with
// the error.
func (r *EventReader) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > MaxEvent:
			return nil, ErrEndless
		}
	}
}
