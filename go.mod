module github.com/winnowhq/winnow

go 1.26

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/google/go-cmp v0.7.0
)

require pgregory.net/rapid v1.3.0
