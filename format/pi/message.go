package pi

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// message reads a message; anything but an object is none.
func (d *decoder) message() *message {
	if d.dec.PeekKind() != '{' {
		d.skip()
		return nil
	}
	m := &message{}
	d.object(func(name []byte) {
		switch string(name) {
		case "role":
			m.role = d.word()
		case "content":
			m.content = d.content()
		case "timestamp":
			m.timestamp = d.number()
		case "api":
			m.api = d.word()
		case "provider":
			m.provider = d.word()
		case "model":
			m.model = d.word()
		case "usage":
			d.usage(&m.usage)
		case "stopReason":
			m.stop = d.word()
		case "errorMessage":
			m.failure = d.string()
		case "toolCallId":
			m.callID = d.string()
		case "toolName":
			m.tool = d.word()
		case "isError":
			m.isError = d.bool()
		case "details":
			m.details = d.raw()
		case "command":
			m.command = d.string()
		case "output":
			m.output = d.string()
		case "exitCode":
			m.exit = int(d.number())
		case "cancelled":
			m.cancelled = d.bool()
		case "truncated":
			m.truncated = d.bool()
		case "fullOutputPath":
			m.fullOutput = d.string()
		case "excludeFromContext":
			m.hidden = d.bool()
		default:
			d.skip()
		}
	})
	return m
}

// content reads a message's content: a text, or a list of blocks. Elements that are no objects are dropped.
func (d *decoder) content() []block {
	switch d.dec.PeekKind() {
	case '"':
		return []block{{kind: textBlock, text: d.string()}}
	case '[':
	default:
		d.skip()
		return nil
	}
	blocks := make([]block, 0, 2)
	d.array(func() {
		if d.dec.PeekKind() != '{' {
			d.skip()
			return
		}
		blocks = append(blocks, block{})
		d.block(&blocks[len(blocks)-1])
	})
	return blocks
}

func (d *decoder) block(b *block) {
	d.object(func(name []byte) {
		switch string(name) {
		case "type":
			b.kind = d.word()
		case "text", "thinking":
			b.text = d.string()
		case "textSignature", "thinkingSignature", "thoughtSignature":
			b.signature = d.string()
		case "redacted":
			b.redacted = d.bool()
		case "mimeType":
			b.mime = d.word()
		case "data":
			b.data = d.string()
		case "id":
			b.id = d.string()
		case "name":
			b.name = d.word()
		case "arguments":
			b.arguments = d.raw()
		default:
			d.skip()
		}
	})
}

func (d *decoder) usage(u *usage) {
	if d.dec.PeekKind() != '{' {
		d.skip()
		return
	}
	u.known = true
	d.object(func(name []byte) {
		switch string(name) {
		case "input":
			u.input = d.count()
		case "output":
			u.output = d.count()
		case "cacheRead":
			u.cacheRead = d.count()
		case "cacheWrite":
			u.cacheWrite = d.count()
		case "cacheWrite1h":
			u.hour = d.count()
		case "totalTokens":
			u.total = d.count()
		case "cost":
			if d.dec.PeekKind() != '{' {
				d.skip()
				return
			}
			d.object(func(name []byte) {
				if string(name) == "total" {
					u.cost = d.number()
				} else {
					d.skip()
				}
			})
		default:
			d.skip()
		}
	})
}

// object reads an object, member by member; visit must read exactly one value. The name is valid until then.
func (d *decoder) object(visit func(name []byte)) {
	start := d.open()
	for d.err == nil && d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadValue()
		if err != nil {
			d.err = err
			return
		}
		if plain := name[1 : len(name)-1]; bytes.IndexByte(plain, '\\') < 0 {
			visit(plain)
		} else {
			unquoted, _ := jsontext.AppendUnquote(nil, name)
			visit(unquoted)
		}
	}
	d.close(start)
}

func (d *decoder) array(visit func()) {
	start := d.open()
	for d.err == nil && d.dec.PeekKind() != ']' {
		visit()
	}
	d.close(start)
}

func (d *decoder) open() (start int) {
	if d.err == nil {
		_, d.err = d.dec.ReadToken()
	}
	return int(d.dec.InputOffset()) - 1
}

func (d *decoder) close(start int) {
	if d.err == nil {
		_, d.err = d.dec.ReadToken()
	}
	d.last = span{start, int(d.dec.InputOffset())}
}

// raw reads any value as it stands, without copying it.
func (d *decoder) raw() jsontext.Value {
	if d.err != nil {
		return nil
	}
	v, err := d.dec.ReadValue()
	if err != nil {
		d.err = err
		return nil
	}
	end := int(d.dec.InputOffset())
	d.last = span{end - len(v), end}
	return jsontext.Value(d.text[d.last.start:d.last.end:d.last.end])
}

func (d *decoder) skip() { d.raw() }

func (d *decoder) string() string {
	v := d.raw()
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if plain := v[1 : len(v)-1]; bytes.IndexByte(plain, '\\') < 0 && isASCII(plain) {
		return string(plain)
	}
	text, _ := jsontext.AppendUnquote(nil, v) // invalid UTF-8 becomes U+FFFD
	return string(text)
}

// word reads a string that is most likely one of few.
func (d *decoder) word() string {
	v := d.raw()
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	switch plain := v[1 : len(v)-1]; string(plain) {
	case messageEntry:
		return messageEntry
	case userRole:
		return userRole
	case assistantRole:
		return assistantRole
	case resultRole:
		return resultRole
	case textBlock:
		return textBlock
	case thinkingBlock:
		return thinkingBlock
	case callBlock:
		return callBlock
	case "bash":
		return "bash"
	case "read":
		return "read"
	case "edit":
		return "edit"
	case "write":
		return "write"
	}
	text, _ := jsontext.AppendUnquote(nil, v)
	return string(text)
}

func (d *decoder) number() float64 {
	v := d.raw()
	if len(v) == 0 || v.Kind() != '0' {
		return 0
	}
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || n > 1<<53 || n < -1<<53 {
		return 0
	}
	return n
}

// count is how many tokens of a kind there were: -1 for a number that is no count.
func (d *decoder) count() int {
	v := d.raw()
	if len(v) == 0 || v.Kind() != '0' {
		return 0
	}
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || n > 1<<53 || n < 0 {
		return -1
	}
	return int(n)
}

func (d *decoder) bool() bool { v := d.raw(); return len(v) > 0 && v.Kind() == 't' }

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
