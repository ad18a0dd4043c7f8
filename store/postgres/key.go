package postgres

import (
	"crypto/sha256"
)

// longestKey is the length of the longest key in bytes. An index takes a third of a page of 8 KB,
// and some have two keys.
const longestKey = 512

// key is an id as it stands in an index: as it is, or if it is too long for one, its beginning and
// its hash. Different ids have different keys.
func key(id string) []byte {
	if len(id) < longestKey {
		return []byte(id)
	}
	hash := sha256.Sum256([]byte(id))
	return append([]byte(id[:longestKey-len(hash)]), hash[:]...)
}

// bytesOf is a value that package exact encoded, nil if there is none.
func bytesOf(encoded any) []byte {
	if text, ok := encoded.(string); ok {
		return []byte(text)
	}
	data, _ := encoded.([]byte)
	return data
}
