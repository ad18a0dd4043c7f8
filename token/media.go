package token

// Tokens of media, whatever their size in bytes: providers bill an image by its area, and one that
// was scaled to their limit takes about this much; they bill a PDF by its pages, whose number is not
// known.
const (
	Image = 1500
	PDF   = 2000
)
