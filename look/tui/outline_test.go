package tui

import "strings"

func outlined() Outline {
	curve := ChangedFile{Name: "kiln/firing/curve.go", Status: "modified", Added: 2, Deleted: 1,
		Patch: "diff --git a/kiln/firing/curve.go b/kiln/firing/curve.go\nindex 1..2 100644\n--- a/kiln/firing/curve.go\n+++ b/kiln/firing/curve.go\n@@ -1,3 +1,4 @@\n package firing\n-const steep = 9\n+const steep = 3\n+\tvar \x1b[31mslow = true\n"}
	return Outline{
		Title: "Teach the kiln to cool down slowly",
		Files: []ChangedFile{curve, {Name: "old.md", Status: "deleted", Deleted: 1_204},
			{Name: "cup.png", Status: "added"}},
		Turns: []TurnOutline{
			{Number: 1, Message: "msg_1", Title: "Let the kiln cool more slowly, and mind that the curve in the first hour is what cracks the glaze of the large bowls", Body: strings.Repeat("The curve is flatter now. ", 12), Files: []ChangedFile{curve}},
			{Number: 2, Message: "msg_2", Title: "Is it done?"},
			{Number: 30, Message: "msg_3", Title: "Clean up", Body: "Gone.", Files: []ChangedFile{
				{Name: "old.md", Status: "deleted", Deleted: 1_204}, {Name: "cup.png", Status: "added"},
				{Name: strings.Repeat("deep/", 30) + "file.go", Status: "added", Added: 1},
			}},
		},
	}
}
