package shaping

import "github.com/winnowhq/winnow/rule"

func pinOf(text string) rule.Pin { return rule.Pin{Text: text} }
