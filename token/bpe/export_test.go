package bpe

// LongestToken, for the test that no token is longer.
const LongestToken = longestToken

// Unpack, for the test against the library, gives how many tokens there are and the rank of each.
func Unpack(file []byte) (tokens int, rank func(token string) uint32, err error) {
	v, err := unpack(file)
	if err != nil {
		return 0, nil, err
	}
	return len(v.ends), v.rank, nil
}
