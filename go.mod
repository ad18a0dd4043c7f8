module github.com/winnowhq/winnow

go 1.26
