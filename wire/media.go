package wire

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Media is an image or a PDF.
type Media struct {
	Mime string
	Name string
	Data string // base64; empty when URL is set
	URL  string // http or https
}

// PDF reports whether the media is a PDF, which providers treat as a document, not as an image.
func (m Media) PDF() bool { return m.Mime == "application/pdf" }

// DataURL is the media as one URL: its own, or its bytes in a data URL.
func (m Media) DataURL() string {
	if m.URL != "" {
		return m.URL
	}
	return "data:" + m.Mime + ";base64," + m.Data
}

// Line names the media in a line of text, for a reader that cannot be shown it.
func (m Media) Line() string { return fileLine(m.Name, m.Mime) }

// Common reports whether the media is of a type that every provider accepts: JPEG, PNG, GIF, WebP,
// PDF.
func (m Media) Common() bool {
	switch m.Mime {
	case "image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf":
		return true
	}
	return false
}

// filePiece is what a file of the user's becomes; ok is false for text files and folders.
func filePiece(p *session.Part) (Piece, bool) {
	if strings.HasPrefix(p.Mime, "text/") || p.Mime == "application/x-directory" {
		return Piece{}, false
	}
	if p.IsMedia() {
		if m := mediaOf(p); m.Data != "" || m.URL != "" {
			return Piece{Part: p, Media: &m}, true
		}
	}
	return Piece{Part: p, Text: FileLine(p)}, true
}

// FileLine names the file of a part that no model can be shown.
func FileLine(p *session.Part) string { return fileLine(p.Filename, p.Mime) }

func fileLine(name, mime string) string {
	if name == "" {
		name = "without a name"
	}
	if mime == "" {
		return "[Attached file " + name + "]"
	}
	return "[Attached file " + name + ", " + mime + "]"
}

// mediaOf reads the URL of a media part. Files on a disk have neither data nor URL: no provider can
// fetch them.
func mediaOf(p *session.Part) Media {
	m := Media{Mime: p.Mime, Name: p.Filename}
	switch {
	case strings.HasPrefix(p.URL, "https://"), strings.HasPrefix(p.URL, "http://"):
		m.URL = p.URL
	case strings.HasPrefix(p.URL, "data:"):
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
	m := mediaOf(&p)
	if m.Data == "" && m.URL == "" {
		m.URL = address
	}
	return m
}

// AddressedMedia reads the media of a block that has its URL in one of the members "url",
// "image_url", "file_url" or "file_data", and its name in "filename"; mime is its type if the URL
// does not tell.
func AddressedMedia(v Value, mime string) (session.Part, bool) {
	var url, image, file, data, name string
	v.Read("url", &url, "image_url", &image, "file_url", &file, "file_data", &data, "filename", &name)
	address := cmp.Or(url, image, file, data)
	return ParseDataURL(address, mime, name).FilePart(), address != ""
}
