package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

const sailing = "---\nname: sailing\ndescription: >\n  How to sail,\n  and when not to.\nallowed: [a]\n---\n\n# " +
	"Sailing\n\nLook at the flag first.\n"

func TestSkill_loadsWhatItLists(t *testing.T) {
	b := newBench(t,
		".claude/skills/sail/SKILL.md", sailing,
		".winnow/skills/mooring/SKILL.md", "# Mooring a boat\n\nTwo ropes.",
		".agents/skills/crlf/SKILL.md", "\xef\xbb\xbf---\r\ndescription: \"Quoted: yes\"\r\n---\r\nText.\r\n",
		".opencode/skill/mooring/SKILL.md", "another of this name",
		".claude/skills/empty/other.md", "no skill",
		".claude/skills/SKILL.md", "not in a folder of its own",
	)
	own := newBench(t, "cooking/SKILL.md", "Soup.", "sailing/SKILL.md", "not this one")
	tool := Skill{FindSkills(b.folder, own.folder, own.at("nosuch"))}
	want := "Load the instructions for a kind of work before you begin it. There are:\n- cooking: Soup.\n- crlf: " +
		"Quoted: yes\n- mooring: Mooring a boat\n- sailing: How to sail, and when not to."
	if got := tool.Description(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, want := range map[string]string{
		"sailing": "# Sailing\n\nLook at the flag first.\n\n(Files that it names are in .claude/skills/sail.)",
		"Mooring": "# Mooring a boat\n\nTwo ropes.\n\n(Files that it names are in .winnow/skills/mooring.)",
		"cooking": "Soup.\n\n(Files that it names are in " + own.at("cooking") + ".)",
		" crlf ":  "Text.\n\n(Files that it names are in .agents/skills/crlf.)",
	} {
		if got := b.run(tool, args{"name": name}).Output; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	b.fails(tool, args{"name": "flying"}, "no skill flying", "cooking, crlf, mooring, sailing")
	b.fails(tool, args{}, `needs the argument "name"`)

	// What was found stays what is told, whatever becomes of the files.
	if err := os.RemoveAll(b.at(".claude")); err != nil {
		t.Fatal(err)
	}
	if tool.Description() != want {
		t.Error("the description changed")
	}
	b.fails(tool, args{"name": "sailing"}, "no file")
}

// What a call of it loaded is an instruction to all that look for those.
func TestSkill_isKnownAsAnInstruction(t *testing.T) {
	b := newBench(t, ".winnow/skills/sail/SKILL.md", sailing)
	tool := Skill{FindSkills(b.folder)}
	in := args{"name": "sailing"}
	p := b.part(tool, in, b.run(tool, in))
	c := call.Of(p, b.folder)
	if len(c.Actions) != 1 || c.Actions[0].Op != call.Load || c.Actions[0].Query != "sailing" {
		t.Errorf("the call is understood as %+v", c.Actions)
	}
	log := []session.Message{{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant},
		Parts: []session.Part{*p}}}
	if s := recall.Skills(call.Calls(log)); len(s) != 1 || s[0].Name != "sailing" {
		t.Errorf("the instructions of the log are %+v", s)
	}
}

func TestSkill_aLinkOutOfTheFolderAsks(t *testing.T) {
	away := newBench(t, "secret", "not for everybody")
	b := newBench(t, ".claude/skills/x/readme", "")
	if err := os.Symlink(away.at("secret"), b.at(".claude/skills/x/SKILL.md")); err != nil {
		t.Skip(err)
	}
	tool := Skill{FindSkills(b.folder)}
	if told := tool.Description(); !strings.HasSuffix(told, "\n- x") {
		t.Errorf("it tells of what the link leads to before somebody was asked:\n%s", told)
	}
	b.run(tool, args{"name": "x"})
	want := agent.Permission{Tool: "skill", Action: "read", Target: away.at("secret")}
	if !slices.Equal(b.asked, []agent.Permission{want}) {
		t.Errorf("asked for %+v, want %+v", b.asked, want)
	}
}

func TestSkill_isBounded(t *testing.T) {
	b := newBench(t)
	for i := range 120 {
		b.put(filepath.Join(".winnow/skills", fmt.Sprintf("skill-%03d", i), "SKILL.md"),
			"---\ndescription: "+strings.Repeat("long ", 2000)+"\n---\ntext")
	}
	b.put(".winnow/skills/a/SKILL.md", "---\n"+strings.Repeat("x", skillBytes))
	b.put(".winnow/skills/b/SKILL.md", "---\nname: b\n---\n")
	tool := Skill{FindSkills(b.folder)}
	if n := len(tool.Skills.Names()); n != mostSkills {
		t.Errorf("%d skills are told of, want %d", n, mostSkills)
	}
	if n := len(tool.Description()); n > mostSkills*400 {
		t.Errorf("the description has %d bytes", n)
	}
	b.fails(tool, args{"name": "a"}, "1,048,576 at most")
	b.fails(tool, args{"name": "b"}, "says nothing")
}
