package rule

import (
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // the size of a picture stands in its header
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"net/url"
	"strconv"
	"strings"
)

// namedFiles is how many files of one part a placeholder names.
const namedFiles = 3

// withoutFiles is the placeholder of the files of a part.
//
//	[winnow k3f9a2: image.png, image/png, 640×480, 12 KB left out]
func (w Window) withoutFiles(x *Item, after string) string {
	files := media(x.Part)
	var named []string
	for _, f := range files[:min(namedFiles, len(files))] {
		what := fileName(f) + ", " + Shorten(f.Mime, 40)
		if width, height, ok := dimensions(f.URL); ok {
			what += fmt.Sprintf(", %d×%d", width, height)
		}
		if size, ok := FileSize(f.URL); ok {
			what += ", " + weight(size)
		}
		named = append(named, what)
	}
	if more := len(files) - namedFiles; more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return opening + w.handleOf(x) + ": " + strings.Join(named, "; ") + " left out" + after + "]"
}

// FileSize is how many bytes a data: URL holds. Of other addresses nothing is known.
func FileSize(address string) (size int, ok bool) {
	text, coded, ok := dataOf(address)
	switch {
	case !ok:
		return 0, false
	case coded:
		return len(strings.TrimRight(text, "=")) * 3 / 4, true
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return len(plain), true
	}
	return len(text), true
}

// dataOf is what a data: URL holds, coded in base64 or as it is.
func dataOf(address string) (text string, coded, ok bool) {
	head, text, ok := strings.Cut(address, ",")
	if !ok || !strings.HasPrefix(head, "data:") {
		return "", false, false
	}
	return text, strings.HasSuffix(head, ";base64"), true
}

// headerBytes of base64 are looked at for the header of a picture: what cameras put before it is less.
const headerBytes = 128 << 10

// dimensions of a picture in pixels, where its header tells.
func dimensions(address string) (width, height int, ok bool) {
	text, coded, _ := dataOf(address)
	if !coded {
		return 0, 0, false
	}
	head := text[:min(len(text), headerBytes)]
	config, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(head)))
	return config.Width, config.Height, err == nil && config.Width > 0 && config.Height > 0
}

// weight says how big a file is, for a reader.
func weight(n int) string {
	switch {
	case n < 1024:
		return strconv.Itoa(n) + " bytes"
	case n < 1<<20:
		return strconv.Itoa((n+512)/1024) + " KB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MB"
}
