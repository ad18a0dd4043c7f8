package token

// rarePairs has a bit for each pair of small letters that is rare inside words: rarePairs[first]>>second.
// Row 31 is for a letter without one before it.
var rarePairs [32]uint32

// weights holds a weight for each feature.
var weights = func() (w Features64) {
	for i := range w {
		w[i] = 1
	}
	return w
}()

// Features64 holds a weight for each feature.
type Features64 = [featCount]float64
