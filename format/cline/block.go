package cline

import (
	"cmp"
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// block is a piece of a message.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
	ToolUseID string         `json:"tool_use_id"`
	Failed    bool           `json:"is_error"`
	Content   jsontext.Value `json:"content"` // of a result, or the text of a file
	Data      jsontext.Value `json:"data"`    // of a picture, or thinking that was redacted
	Mime      string         `json:"mediaType"`
	Path      string         `json:"path"`
	Media     *media         `json:"media"`

	at int // its position in the content
}

// media is what a model drew or spoke.
type media struct {
	Mime   string `json:"mediaType"`
	Name   string `json:"name"`
	Source struct {
		Data string `json:"data"`
		URL  string `json:"url"`
		ID   string `json:"artifactId"`
	} `json:"source"`
}

// blocksOf reads a content: a text, or a list of blocks.
func blocksOf(content jsontext.Value) []block {
	var all []block
	for i, text := range entries.Blocks(content) {
		var b block
		if span.Decode(text, &b) == nil {
			b.at = i
			all = append(all, b)
		}
	}
	return all
}

func (b *block) data() string { return transcript.Text(b.Data) }

// parts are what a block that is neither a call nor a result nor reasoning becomes; nil is a block
// of an unknown type.
func (b *block) parts(synthetic bool) []session.Part {
	var p session.Part
	switch {
	case b.Type == "text":
		return spoken(b.Text, synthetic)
	case b.Type == "image":
		p = session.Part{Mime: b.Mime, URL: "data:" + b.Mime + ";base64," + b.data()}
	case b.Type == "file":
		text := base64.StdEncoding.EncodeToString([]byte(transcript.Text(b.Content)))
		p = session.Part{Mime: "text/plain", Filename: path.Base(b.Path), URL: "data:text/plain;base64," + text}
	case b.Type == "media" && b.Media != nil:
		url := b.Media.Source.URL
		if url == "" && b.Media.Source.Data != "" {
			url = "data:" + b.Media.Mime + ";base64," + b.Media.Source.Data
		}
		p = session.Part{Mime: b.Media.Mime, Filename: b.Media.Name, URL: url}
	default:
		return nil
	}
	p.Type, p.Synthetic = session.FilePart, synthetic
	return []session.Part{p}
}

// output is what a tool answered: its text, what it found to each query, the blocks of text of a
// list, or else the JSON that the product sends. Pictures are apart. The title has the queries.
func (b *block) output() (title, text string, failed bool, pictures []session.Part) {
	content := b.Content
	if content.Kind() == '"' {
		text = transcript.Text(content)
		if content = jsontext.Value(text); content.Kind() != '{' || !span.Valid(content) {
			return "", text, b.Failed, nil
		}
	} else {
		text = compact(content)
	}
	if queries, found, failed, ok := found(content); ok {
		return queries, found, b.Failed || failed, nil
	}
	if content.Kind() != '[' {
		return "", text, b.Failed, nil
	}
	var texts []string
	for _, inner := range blocksOf(content) {
		switch inner.Type {
		case "text":
			texts = append(texts, inner.Text)
		case "image":
			pictures = append(pictures, inner.parts(false)...)
		case "file":
			texts = append(texts, transcript.Text(inner.Content))
		default:
			return "", text, b.Failed, nil
		}
	}
	return "", strings.Join(texts, "\n"), b.Failed, pictures
}

// found reads what the product's own tools answer: a query and what it gave, or a list of them. It
// failed if every query did. ok is false for anything else.
func found(content jsontext.Value) (title, text string, failed, ok bool) {
	if content.Kind() == '{' {
		content = slices.Concat(jsontext.Value("["), content, jsontext.Value("]"))
	}
	var answers []struct {
		Query   *string `json:"query"`
		Result  *string `json:"result"`
		Error   string  `json:"error"`
		Success *bool   `json:"success"`
	}
	if content.Kind() != '[' || json.Unmarshal(content, &answers, session.ReadOptions()) != nil || len(answers) == 0 {
		return "", "", false, false
	}
	failed = true
	var titles, texts []string
	for _, a := range answers {
		if a.Query == nil || a.Result == nil || a.Success == nil {
			return "", "", false, false
		}
		failed = failed && !*a.Success
		text := cmp.Or(*a.Result, a.Error)
		if len(answers) > 1 {
			text = *a.Query + "\n" + text
		}
		titles, texts = append(titles, *a.Query), append(texts, text)
	}
	return strings.Join(titles, ", "), strings.Join(texts, "\n\n"), failed, true
}

func compact(v jsontext.Value) string {
	v = v.Clone()
	_ = v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) // or it stays as it is
	return string(v)
}

// What the product writes around what the user said, and in the user's name.
const (
	resumption = "[TASK RESUMPTION]"
	approval   = "The user approved switching to act mode. Continue with the approved plan now."
)

// spoken takes a text in the user's name apart. In <user_input> is what the user said, a
// <mode_notice> and what else is around it are the product's. Without the tag it is the user's
// unless it is synthetic.
func spoken(text string, synthetic bool) []session.Part {
	var parts []session.Part
	add := func(text string, synthetic bool) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, session.Part{Type: session.TextPart, Text: text, Synthetic: synthetic})
		}
	}
	for {
		before, notice, after, ok := element(text, "mode_notice", strings.Index)
		if !ok {
			break
		}
		add(notice, true)
		text = before + after
	}
	before, inner, after, ok := element(text, "user_input", strings.LastIndex)
	if !ok {
		inner = text
	}
	synthetic = synthetic && !ok
	add(before, true)
	if _, command, _, ok := element(inner, "user_command", strings.LastIndex); ok {
		inner = command
	}
	inner = strings.TrimSpace(inner)
	add(inner, synthetic || strings.HasPrefix(inner, resumption) || inner == approval)
	add(after, true)
	return parts
}

// element finds the first element of a name. closing finds its closing tag in what follows: the
// last one around what the user said, who may have said anything.
func element(text, name string, closing func(text, tag string) int) (before, inner, after string, ok bool) {
	start := strings.Index(text, "<"+name)
	if start < 0 {
		return "", "", "", false
	}
	open := strings.IndexByte(text[start:], '>')
	if open < 0 || !strings.ContainsRune(" >", rune(text[start+1+len(name)])) {
		return "", "", "", false
	}
	tag, rest := "</"+name+">", text[start+open+1:]
	end := closing(rest, tag)
	if end < 0 {
		return "", "", "", false
	}
	return text[:start], rest[:end], rest[end+len(tag):], true
}
