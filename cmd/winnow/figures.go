package main

import (
	"fmt"
	"time"

	"github.com/winnowhq/winnow/quantity"
)

// marked marks an estimate.
func marked(figure string, estimated bool) string {
	if estimated && figure != "" && figure[0] != '<' {
		return "~" + figure
	}
	return figure
}

// age is a time span in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	case d < 100*24*time.Hour:
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	}
	return fmt.Sprintf("%d mo", int(d.Hours()/24/30))
}

func bytesOf(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%d kB", n/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// short is a number of tokens in four digits.
func short(n int) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fG", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n == 0:
		return ""
	}
	return fmt.Sprint(n)
}

func dollars(cost float64) string {
	switch {
	case cost == 0:
		return ""
	case cost < 0.01:
		return "<$0.01"
	case cost >= 1000:
		return "$" + quantity.Number(int(cost+0.5))
	}
	return fmt.Sprintf("$%.2f", cost)
}
