package fact

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// dayForms are how dates are written without a doubt which figure is the month, and otherDays how
// they are written as well.
var (
	dayForms  = []string{"2006-01-02", "2006/01/02", "20060102", "02.01.2006", "2.1.2006"}
	otherDays = []string{
		"01/02/2006", "1/2/2006", "02/01/2006", "January 2", "Jan 2", "2 January", "2 Jan", "2006年1月2日",
	}
)

// day reports whether a figure is a date that occurs, however it is written.
func (s *Source) day(figure string) bool {
	for _, layout := range slices.Concat(dayForms, []string{"2006.01.02"}) {
		d, err := time.Parse(layout, figure)
		if err != nil || d.Year() < 1970 || d.Year() > 2100 {
			continue
		}
		for _, other := range slices.Concat(dayForms, otherDays) {
			if s.find(d.Format(other), nil, asFigure) {
				return true
			}
		}
	}
	return false
}

// clock reports whether a figure is a time of day that occurs, of twelve hours or of twenty-four.
func (s *Source) clock(figure, half string) bool {
	hour, minute, ok := strings.Cut(figure, ":")
	h, whole1 := whole(hour)
	if _, whole2 := whole(minute[:min(2, len(minute))]); !ok || !whole1 || !whole2 || len(hour) > 2 ||
		len(minute) < 2 || h > 23 {
		return false
	}
	forms := []string{strconv.Itoa(h), hour}
	if half = strings.ToLower(half); strings.HasPrefix(half, "p") && h < 12 {
		forms = append(forms, strconv.Itoa(h+12))
	} else if strings.HasPrefix(half, "a") && h == 12 {
		forms = append(forms, "00")
	} else if h < 10 {
		forms = append(forms, "0"+strconv.Itoa(h))
	}
	for _, form := range forms {
		if s.find(form+":"+minute, nil, asFigure) {
			return true
		}
	}
	return false
}

// asFigure fits where no digit precedes or follows.
func asFigure(text string, i, j int) bool {
	return (i == 0 || !isDigit(text[i-1])) && (j == len(text) || !isDigit(text[j]))
}
