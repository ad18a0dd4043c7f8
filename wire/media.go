package wire

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Media is a file that goes with a message or a result: an image, a document, a recording.
type Media struct {
	Mime string
	Name string
	Data string // base64; empty when URL or At is set
	URL  string // http or https, for everybody to fetch
	// At is where else it is: "anthropic:ID" and "openai:ID" for files that are stored with a
	// provider, an address at Google, a path.
	At string

	part string // the id of its part
}

// Owners of stored files, as they begin At.
const (
	AtAnthropic = "anthropic:"
	AtOpenAI    = "openai:"
)

// AtGoogle reports whether the file is stored with Google.
func (m Media) AtGoogle() bool {
	return strings.HasPrefix(m.At, "gs://") || strings.HasPrefix(m.At, "https://")
}

// Stored is the id of a file that is stored with an owner.
func (m Media) Stored(owner string) (id string, ok bool) { return strings.CutPrefix(m.At, owner) }

// PDF reports whether the media is a PDF, which providers treat as a document, not as an image.
func (m Media) PDF() bool { return m.Mime == "application/pdf" }

// Is reports whether the media is of a kind: "image", "audio", "video", "text".
func (m Media) Is(kind string) bool { return strings.HasPrefix(m.Mime, kind+"/") }

// DataURL is the media as one URL: its own, or its bytes in a data URL.
func (m Media) DataURL() string {
	if m.URL != "" || m.At != "" {
		return m.URL + m.At
	}
	return "data:" + m.Mime + ";base64," + m.Data
}

// Plain is the text of a text file that is there; ok is false for any other.
func (m Media) Plain() (text string, ok bool) {
	if !m.Is("text") && m.Mime != "application/json" {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(m.Data)
	return string(data), err == nil && len(data) > 0 && utf8.Valid(data)
}

// Line tells of the media in text, for a reader that cannot be shown it: the text of a text file;
// of anything else what it is, how large, and where it can be had.
func (m Media) Line() string {
	line := "[Attached file " + cmp.Or(m.Name, "without a name")
	if m.Mime != "" {
		line += ", " + m.Mime
	}
	switch text, ok := m.Plain(); {
	case ok:
		return line + "]\n" + text
	case m.Data != "":
		line += ", " + quantity.Bytes(base64.StdEncoding.DecodedLen(len(m.Data)))
		if m.part != "" {
			line += "; the session has it: " + m.part
		}
	case m.URL != "":
		line += "; it is at " + m.URL
	case strings.HasPrefix(m.At, "file:"):
	case m.At != "":
		line += "; it is stored as " + m.At
	}
	return line + "]"
}

// Common reports whether the media is of a type that every provider accepts: JPEG, PNG, GIF, WebP,
// PDF. It must be there, or at an address.
func (m Media) Common() bool {
	switch m.Mime {
	case "image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf":
		return m.Data != "" || m.URL != ""
	}
	return false
}

// filePiece is what a file of the user's becomes; ok is false for folders, and for text files that
// did not come with a request: the program that attached them wrote their contents next to them.
func filePiece(p *session.Part) (Piece, bool) {
	if p.Mime == "application/x-directory" || strings.HasPrefix(p.Mime, "text/") && !p.Sent() {
		return Piece{}, false
	}
	m := MediaOf(p)
	return Piece{Part: p, Media: &m}, true
}

// MediaOf reads the URL of a file part.
func MediaOf(p *session.Part) Media {
	m := Media{Mime: p.Mime, Name: p.Filename, part: p.ID}
	switch {
	case strings.HasPrefix(p.URL, "https://generativelanguage.googleapis.com/"):
		m.At = p.URL
	case strings.HasPrefix(p.URL, "https://"), strings.HasPrefix(p.URL, "http://"):
		m.URL = p.URL
	case !strings.HasPrefix(p.URL, "data:"):
		m.At = p.URL
	default:
		head, data, found := strings.Cut(p.URL[len("data:"):], ",")
		if !found {
			break
		}
		if strings.HasSuffix(head, ";base64") {
			m.Data = data
		} else if plain, err := url.PathUnescape(data); err == nil {
			m.Data = base64.StdEncoding.EncodeToString([]byte(plain))
		}
	}
	return m
}

// FilePart makes a part of media.
func (m Media) FilePart() session.Part {
	return session.Part{Type: session.FilePart, Mime: m.Mime, Filename: m.Name, URL: m.DataURL()}
}

// ParseDataURL reads the media type and the base64 data of a data URL; any other URL is kept as it
// is.
func ParseDataURL(address, mime, name string) Media {
	p := session.Part{Type: session.FilePart, Mime: mime, Filename: name, URL: address}
	if data, ok := strings.CutPrefix(address, "data:"); ok && strings.Contains(data, ",") {
		head, _, _ := strings.Cut(data, ",")
		kind, _, _ := strings.Cut(head, ";")
		p.Mime = cmp.Or(kind, mime)
	}
	return MediaOf(&p)
}

// AddressedMedia reads the media of a block of OpenAI's that has its URL in one of the members
// "url", "image_url", "file_url" or "file_data", or the id of a stored file in "file_id", and its
// name in "filename"; mime is its type if the URL does not tell.
func AddressedMedia(v Value, mime string) (session.Part, bool) {
	var url, image, file, data, id, name string
	v.Read("url", &url, "image_url", &image, "file_url", &file, "file_data", &data, "file_id", &id, "filename", &name)
	address := cmp.Or(url, image, file, data)
	if address == "" && id != "" {
		address = AtOpenAI + id
	}
	return ParseDataURL(address, mime, name).FilePart(), address != ""
}

// Recording reads audio as OpenAI's blocks have it: data and a format.
func Recording(v Value) (session.Part, bool) {
	m := Media{}
	format := ""
	v.Read("data", &m.Data, "format", &format)
	if m.Mime = "audio/" + format; format == "mp3" {
		m.Mime = "audio/mpeg"
	}
	return m.FilePart(), m.Data != "" && format != ""
}

// RecordingFormat is the format of audio that OpenAI takes; ok is false for any other media.
func (m Media) RecordingFormat() (format string, ok bool) {
	switch m.Mime {
	case "audio/wav", "audio/x-wav":
		return "wav", m.Data != ""
	case "audio/mpeg", "audio/mp3":
		return "mp3", m.Data != ""
	}
	return "", false
}
