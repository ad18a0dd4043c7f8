module github.com/winnowhq/winnow

go 1.26

require (
	github.com/bmatcuk/doublestar/v4 v4.10.4
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/google/go-cmp v0.7.0
	github.com/tiktoken-go/tokenizer v0.10.0
	pgregory.net/rapid v1.3.0
)

require github.com/dlclark/regexp2/v2 v2.5.1 // indirect
