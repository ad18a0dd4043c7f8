package sweagent

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// blocks makes parts of a content.
func blocks(content jsontext.Value) []session.Part {
	if content.Kind() == '"' {
		return []session.Part{{Type: session.TextPart, Text: plain(content)}}
	}
	var list []struct {
		Type  string         `json:"type"`
		Text  string         `json:"text"`
		Image jsontext.Value `json:"image_url"` // a URL, or an object with one
	}
	if content.Kind() != '[' || json.Unmarshal(content, &list, session.ReadOptions()) != nil {
		return nil
	}
	var parts []session.Part
	for _, b := range list {
		if b.Type != "image_url" {
			parts = append(parts, session.Part{Type: session.TextPart, Text: b.Text})
			continue
		}
		var image struct {
			URL string `json:"url"`
		}
		if image.URL = plain(b.Image); image.URL == "" {
			_ = json.Unmarshal(b.Image, &image, session.ReadOptions())
		}
		mime := "image/png"
		if data, ok := strings.CutPrefix(image.URL, "data:"); ok {
			mime, _, _ = strings.Cut(data, ";")
		}
		parts = append(parts, session.Part{Type: session.FilePart, Mime: mime, URL: image.URL})
	}
	return parts
}

// plain is the text of a JSON string, "" for anything else.
func plain(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, bytes.TrimSpace(v)) // invalid UTF-8 becomes U+FFFD
	return string(text)
}
