package demo

import (
	"fmt"
	"strings"
)

// todos is the list of the tour, the first of them done.
func todos(done int) toolCall {
	var list []any
	for i, what := range []string{"Repair lamp.sh", "Read the logs", "Write REPORT.md"} {
		status := "pending"
		if i < done {
			status = "completed"
		} else if i == done {
			status = "in_progress"
		}
		list = append(list, map[string]any{"content": what, "status": status})
	}
	return call("todowrite", "todos", list)
}

func look() topic {
	return topic{steps: []step{
		{"Looked at lamp.sh and test.sh", func([]string) reply {
			return reply{
				Reasoning: "I should see what there is before I change anything.",
				Text:      "I look at what is there first.",
				Calls: []toolCall{call("list"), call("read", "filePath", "lamp.sh"),
					call("read", "filePath", "test.sh")},
			}
		}},
		calls("Ran sh test.sh: testdata/night.csv failed", "Now the test.",
			call("bash", "command", "sh test.sh", "description", "Run the test")),
	}}
}

const before, after = `	sum += end - begin
`, `	if (end < begin) end += 24 * 60
	sum += end - begin
`

func fix() topic {
	return topic{[]step{
		{"Repaired lamp.sh: a lamp that is put out after midnight counts the next day",
			func(results []string) reply {
				text := "The night is the trouble: the lamp is lit at 21:00 and put out at 07:00, and the script " +
					"takes the second for earlier the same day. A day is added there."
				if passed(results) {
					text = "The test passes already; the edit will find nothing to do, and that is fine."
				}
				return reply{Text: text, Calls: []toolCall{todos(0),
					call("edit", "filePath", "lamp.sh", "oldString", before, "newString", after)}}
			}},
		calls("Ran sh test.sh again", "And the test again, to see it.",
			call("bash", "command", "sh test.sh", "description", "Run the test")),
		{"", func(results []string) reply {
			if passed(results) {
				return reply{Text: "Both cases pass now.", Calls: []toolCall{todos(1)}}
			}
			return reply{Text: "The test does not pass here. It needs sh and awk, and your permission to run " +
				"it. I go on without it.", Calls: []toolCall{todos(1)}}
		}},
	}, "lamp.sh is repaired: when the lamp is put out after midnight, a day is added. What the test says stands above."}
}

func passed(results []string) bool {
	all := strings.Join(results, "\n")
	return strings.Contains(all, "ok    testdata/night.csv") && !strings.Contains(all, "FAIL")
}

func read() topic {
	var all []step
	for _, month := range months {
		file := "logs/" + month + ".csv"
		all = append(all, calls("Read "+file, fmt.Sprintf("The log of %s.", month), call("read", "filePath", file)),
			calls("Added up the minutes of "+file, notes(month)+"How long the lamp burned in all:",
				call("bash", "command", "sh lamp.sh "+file, "description", "Add up the minutes"),
				call("grep", "pattern", "fog", "path", file)))
	}
	for _, month := range months[:2] { // some of it was pruned by now
		all = append(all, calls("Looked at logs/"+month+".csv again",
			"Once more the first days of "+month+", which are not before me any more.",
			call("read", "filePath", "logs/"+month+".csv", "limit", 12)))
	}
	return topic{all, "I have read the four logs. The minutes of each month stand above. If they are below zero, " +
		"lamp.sh is not repaired yet: fix the test."}
}

// notes is what the script makes of a log: a text of some length, for texts of a conversation stay
// when results are pruned, and are what is folded.
func notes(month string) string {
	text := "In " + month + " I note the nights that were not clear:\n\n"
	for _, line := range strings.Split(project()["logs/"+month+".csv"], "\n") {
		cells := strings.Split(line, ",")
		if len(cells) < 6 || strings.HasPrefix(line, "#") || cells[0] == "day" || cells[4] == "clear" {
			continue
		}
		text += "- " + cells[0] + ": " + cells[4] + ", " + cells[3] + " on watch from " + cells[1] + " to " + cells[2] +
			"; " + strings.Join(cells[5:], ",") + "\n"
	}
	return text + "\n"
}

func report() topic {
	return topic{[]step{
		{"Added up all four months for the report", func([]string) reply {
			var commands []string
			for _, month := range months {
				commands = append(commands, "sh lamp.sh logs/"+month+".csv")
			}
			return reply{Text: "The figures of all months, freshly added up.", Calls: []toolCall{
				call("bash", "command", strings.Join(commands, " && "), "description", "Add up all months"),
			}}
		}},
		{"Wrote REPORT.md", func(results []string) reply {
			text := "# How long the lamp burned\n\nMinutes by month, as lamp.sh adds them up:\n\n"
			sums := strings.Fields(strings.Join(results, "\n"))
			for i, month := range months {
				if i < len(sums) && len(sums) == len(months) {
					text += "- " + month + ": " + sums[i] + "\n"
				}
			}
			return reply{Text: "Now the report.",
				Calls: []toolCall{call("write", "filePath", "REPORT.md", "content", text), todos(2)}}
		}},
		calls("", "A look at what I wrote.", call("read", "filePath", "REPORT.md"), todos(3)),
	}, "REPORT.md is written, with the minutes of each month."}
}
