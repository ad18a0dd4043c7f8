module github.com/winnowhq/winnow/gateway/adapters/fantasy

go 1.26.6

require github.com/winnowhq/winnow v0.0.0

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/charmbracelet/x/exp/slice v0.0.0-20250904123553-b4e2667e5ad5 // indirect
	github.com/go-viper/mapstructure/v2 v2.5.0 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/kaptinlin/jsonpointer v0.4.28 // indirect
	github.com/kaptinlin/jsonschema v0.9.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/net v0.61.0 // indirect
)

require (
	charm.land/fantasy v0.42.0
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	golang.org/x/text v0.43.0 // indirect
	mvdan.cc/sh/v3 v3.14.1 // indirect
)

replace github.com/winnowhq/winnow => ../../..
