package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/tools"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/sqlite"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/wire"
)

// errand is work that an agent does in a process that is killed, and goes on with in the next: it
// reads file after file, writes one for each, adds a line to a log with a command and counts on in
// a third. The model stands in the process that kills.
type errand struct {
	URL      string           `json:"url"` // of the upstream
	Protocol llmtest.Protocol `json:"protocol"`
	Folder   string           `json:"folder"`
	Rounds   int              `json:"rounds"`
	Lines    int              `json:"lines"`  // of each file that is read
	Window   int              `json:"window"` // of the model, in tokens
	Scribe   bool             `json:"scribe"` // the model writes the summaries
	Letter   bool             `json:"letter"` // the policy is classic, which queues compactions
}

const (
	errandSession = "ses_errand"
	errandPrompt  = "Copy the key of each file in the folder in. " + errandRule
	errandRule    = "Never touch a file in the folder in."
)

// prepare writes the files that there are at the beginning.
func (e errand) prepare() error {
	for _, folder := range []string{"in", "out"} {
		if err := os.MkdirAll(filepath.Join(e.Folder, folder), 0o755); err != nil {
			return err
		}
	}
	for i := range e.Rounds {
		var b strings.Builder
		for line := range e.Lines {
			if line == e.Lines/2 {
				fmt.Fprintf(&b, "key: lamp%d\n", i*i+7)
			}
			fmt.Fprintf(&b, "at hour %d somebody looked at lamp %d and wrote %x\n", line%24, i, line*(i+3))
		}
		if err := os.WriteFile(filepath.Join(e.Folder, source(i)), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(e.Folder, "progress.md"), []byte("next: 0\n"), 0o644)
}

func source(i int) string { return fmt.Sprintf("in/%02d.txt", i) }

// work does the errand as far as this process comes. It says "working" when it begins, and
// "finished" at the end.
func (e errand) work(ctx context.Context, path string) error {
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	defer kept.Close()
	set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{
		"p": {Protocol: e.Protocol, BaseURL: e.URL, KeyEnv: "KEY"},
	})
	if err != nil {
		return err
	}
	client, err := set.Client("p")
	if err != nil {
		return err
	}
	m := model.Model{Provider: "p", ID: "m", Limits: model.Limits{Context: e.Window, Output: 2_000}, Price: model.Price{Input: 3, Output: 15}}
	var loop *agent.Loop
	setting := winnow.Config{Store: kept, Models: &model.Catalogue{Models: []model.Model{m}}, Model: m.String(), Queue: true}
	if e.Letter {
		s := settings.Default()
		s.Policy, s.Compaction.Threshold = "classic", budget.Thresholds{"*": 0.5} // what calls give back is not counted
		setting.Settings = &s
	}
	if e.Scribe {
		setting.SummarizerFor = func(m model.Model) (pivot.Summarizer, error) {
			return asking.New(llm.Retry(client, llm.RetryOptions{}), m, asking.Options{}), nil
		}
		setting.Prefix = func(ctx context.Context, id string) (winnow.Prefix, error) { return loop.Prefix(ctx, id) }
	}
	engine, err := winnow.Open(setting)
	if err != nil {
		return err
	}
	defer engine.Close()
	loop, err = agent.New(agent.Config{
		Engine: engine, Client: client, Model: m, Protocol: e.Protocol, System: "You run errands.", Directory: e.Folder,
		Tools: tools.Standard(tools.Options{Directory: e.Folder, Without: []string{"webfetch", "task"}}), Ask: func(context.Context, agent.Permission) error { return nil },
	})
	if err != nil {
		return err
	}
	log, _, err := engine.Session(ctx, errandSession)
	if winnow.CodeOf(err) == winnow.NotFound {
		_, err = engine.Create(ctx, session.Info{ID: errandSession, Directory: e.Folder})
	}
	if err != nil {
		return err
	}
	fmt.Println("working")
	if len(log.Messages) == 0 {
		_, err = loop.Run(ctx, errandSession, errandPrompt)
	} else {
		_, err = loop.Resume(ctx, errandSession)
	}
	if err != nil {
		return err
	}
	status, _ := os.ReadFile("/proc/self/status") // not everywhere
	if most := mostMemory.FindSubmatch(status); most != nil {
		fmt.Printf("memory %s\n", most[1])
	}
	fmt.Println("finished")
	return nil
}

var mostMemory = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

var (
	next   = regexp.MustCompile(`next: (\d+)`)
	key    = regexp.MustCompile(`key: (\w+)`)
	copied = regexp.MustCompile(`(\d+) (lamp\d+)`)
)

// answer is what the model says. It knows nothing but what stands in the request: after an
// interruption, a failure and a summary it looks at the files first, and does again what was not
// done.
func (e errand) answer(r llmtest.Request) llmtest.Reply {
	reply := e.decide(r)
	reply.Delay = 400 * time.Microsecond
	if sums(r) {
		reply.Delay, reply.Pieces = 2*time.Millisecond, 40 // there are few of them
	}
	reply.Output = 20 + r.Number // so that each request can be told from the others by what it took
	return reply
}

func (e errand) decide(r llmtest.Request) llmtest.Reply {
	if sums(r) {
		text := "## Goal\n\nTo copy the keys.\n\n## Next\n\nLook at progress.md."
		if e.Letter { // nothing is carried over beside it
			text += " " + errandRule
		}
		return llmtest.Reply{Text: text}
	}
	look := calls("I look how far it came.", "read", map[string]any{"filePath": "progress.md"},
		"bash", map[string]any{"command": "tail -n 1 log.txt; ls out | tail -n 1"})
	last := r.Messages[len(r.Messages)-1]
	var done []session.Part
	for _, p := range last.Parts {
		if p.Type != session.ToolPart {
			continue
		}
		if strings.Contains(p.State.Result(), wire.Interrupted) || p.State.Status != session.Completed && p.Tool != "bash" {
			return look // not every protocol says in another way that a call failed
		}
		done = append(done, p)
	}
	if len(done) == 0 {
		return look
	}
	first, result := done[0], done[0].State.Result()
	given := string(first.State.Input)
	switch {
	case len(done) == 2: // it looked
		found := next.FindStringSubmatch(result)
		if found == nil {
			return look
		}
		i, _ := strconv.Atoi(found[1])
		if log := copied.FindStringSubmatch(done[1].State.Result()); log != nil && log[1] == fmt.Sprintf("%02d", i) {
			return count(i)
		}
		return e.read(i)
	case first.Tool == "read":
		found := key.FindStringSubmatch(result)
		if found == nil {
			return look
		}
		at := regexp.MustCompile(`in/(\d+)`).FindStringSubmatch(given)
		return calls("", "write", map[string]any{"filePath": "out/" + at[1] + ".txt", "content": strings.Repeat(at[1]+" "+found[1]+"\n", 20)})
	case first.Tool == "write":
		return calls("", "bash", map[string]any{"command": "sleep 0.03; echo '" + copied.FindString(given) + "' >> log.txt"})
	case first.Tool == "bash" && first.State.Status == session.Completed:
		i, _ := strconv.Atoi(copied.FindStringSubmatch(given)[1])
		return count(i)
	case first.Tool == "edit":
		i, _ := strconv.Atoi(regexp.MustCompile(`newString":"next: (\d+)`).FindStringSubmatch(given)[1])
		return e.read(i)
	}
	return look
}

func (e errand) read(i int) llmtest.Reply {
	if i >= e.Rounds {
		return llmtest.Reply{Text: "All keys are copied."}
	}
	return calls("The next one.", "read", map[string]any{"filePath": source(i)})
}

func count(i int) llmtest.Reply {
	return calls("", "edit", map[string]any{"filePath": "progress.md", "oldString": fmt.Sprintf("next: %d\n", i), "newString": fmt.Sprintf("next: %d\n", i+1)})
}

// calls is an answer with calls: a name and the arguments of each.
func calls(text string, each ...any) llmtest.Reply {
	r := llmtest.Reply{Text: text}
	for i := 0; i < len(each); i += 2 {
		arguments, err := json.Marshal(each[i+1], json.Deterministic(true))
		if err != nil {
			panic(err)
		}
		r.Calls = append(r.Calls, llmtest.Call{Name: each[i].(string), Arguments: string(arguments)})
	}
	return r
}

// sums reports whether a summary is asked for.
func sums(r llmtest.Request) bool {
	return strings.Contains(r.Last(), "What did we do so far?") || strings.Contains(r.Last(), "no part of the task")
}

// temporary is the name of a file that a killed tool was about to put in the place of another.
var temporary = regexp.MustCompile(`^\.winnow-.*\.tmp$`)

// files are the texts of a folder by name, with how many are left of files that were not finished.
func files(folder string) (all map[string]string, unfinished int, err error) {
	all = map[string]string{}
	err = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if temporary.MatchString(d.Name()) {
			unfinished++
			return nil
		}
		text, err := os.ReadFile(path)
		name, relative := filepath.Rel(folder, path)
		all[name] = string(text)
		return errors.Join(err, relative)
	})
	return all, unfinished, err
}
