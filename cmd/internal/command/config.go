package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/text/visible"
)

// completeKeys offers the settings.
func completeKeys(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var keys []string
	for _, key := range config.Keys() {
		if len(args) == 0 && strings.HasPrefix(key, begun) {
			keys = append(keys, key+"\t"+config.Describe(key))
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// configured is the JSON document of config.
type configured struct {
	// Value by dotted key, including defaults.
	Settings map[string]jsontext.Value `json:"settings"`
	// File or variable by key, for keys that are not at their default.
	Origins map[string]string `json:"origins"`
	Files   []string          `json:"files"` // the files that were read, lowest precedence first
	// Settings in the project's file that are not allowed there.
	Ignored []config.Ignored `json:"ignored"`
	// Why the policy in force does not read a key, by key, for those that it does not.
	Unread       map[string]string `json:"unread"`
	Descriptions map[string]string `json:"descriptions"` // each key's meaning, in a line
}

// configSet is the JSON document of config set.
type configSet struct {
	File string `json:"file"` // the file that was written
	Key  string `json:"key"`  // the key that was set
	// Why the policy in force does not read the key; empty if it does.
	Unread string `json:"unread"`
}

func configCommand(a *cli.App) *cobra.Command {
	var describe bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings and where each was set, or change one",
		Long: `config shows every setting, its value, and the file or variable that it comes from; with
--describe also what each of them is. "config get KEY" prints one, "set" and "unset" change it, "add" and
"remove" change a list, and "edit" opens the file in $VISUAL or $EDITOR.
Settings are read from $XDG_CONFIG_HOME/winnow/winnow.jsonc, then winnow.jsonc in the current folder,
then the environment (WINNOW_COMPACTION_AUTO and so on), then flags. OPENCODE_DISABLE_AUTOCOMPACT and
OPENCODE_DISABLE_PRUNE, set to 1 or true, turn compaction.auto and compaction.prune off. A key that
the policy in force does not read says so here, and when it is set.

compaction.protectedPaths and compaction.protectedTools are lists to which each of these adds: an entry
"!X" takes X away, also where it is a default, and set KEY '[]' takes all defaults away. Any other list
replaces the one before it.

strategies.handles (true, false) shows the model a line such as "[handle k3f9a2]" under every result
of 200 tokens or more: the name by which the tools discard, distill and restore take that result. It
is off because each line is sent with every request, which pays only where those tools are offered.

What the policy's rules find is left out by its schedule: eager, when a turn has ended; economic,
when it saves more than it costs to write the prompt to the provider's cache again; or cold, only
when that cache has forgotten the prompt. With
compaction.prune false (or OPENCODE_DISABLE_PRUNE=1) nothing is pruned unless it is forced; only the
strategies of aggressive go on, each by its own switch.
compaction.threshold is how full the window may become, by model: a fraction, tokens, economic,
which decides by what requests cost, or late, which is 92 % of it in place of the reserve.

compaction.model (provider/model) and compaction.summarizer (auto, llm, offline) say who writes
summaries. compaction.system replaces the system prompt, compaction.prompt what is asked for behind
the messages; compaction.context (a list) is added to it. compaction.temperature is 0 to 2, or null
for the provider's default. compaction.background (true, false; null: on under balanced) lets a loop
have the summary written while it works on.

A provider that winnow does not know is defined under providers.NAME, in the user's file only: protocol
(openai-chat, openai-responses, anthropic, gemini), baseURL, keyEnv (the variable that holds the key),
headers, body, idle and longest (seconds), maxTokens, models.

models says what you know better about models than "winnow config models", by provider/id or pattern:
context (tokens; 0 is unlimited), input, output, price (input, output, cacheRead, cacheWrite,
cacheWrite1h: dollars per million tokens), cache (seconds, minPrefix, explicit), boundReasoning.

For "winnow run" and "winnow chat": model (provider/model) is the one they ask, titles
(provider/model) a small one that gives finished turns titles for lists: "auto" is a small one of the
same provider, if that is known and at its own address, and "off" uses their first sentences.
notify (off, bell, osc9, osc777) is how the chat tells that a turn of over a minute has ended.
snapshots (true, false) keeps the state of the folder's files, for diffs and "winnow revert".
permissions is a list of rules about what their tools may do, {"tool", "action", "target", "verdict"};
the last that matches counts. action is read, write, run, fetch or env, target a glob for a path, or
the words that a command begins with, verdict allow, ask or deny; --allow comes after them. env is
about a variable that holds a key: commands get it only if it is allowed.

For "winnow wrap" and "winnow serve": gateway.mode (off, observe, safe, full) sets the treatment of
requests, gateway.listen the address of serve, gateway.upstreams the addresses of additional
providers; anthropic, openai and gemini are built in. gateway.tools.drop removes tools from new
conversations. gateway.retention (30d, or never) deletes idle conversations, gateway.memory limits
their memory in bytes, and gateway.capture none leaves message text out of the store.
gateway.keepWarm limits the requests that keep the provider's cache alive while an agent is idle
(0: none; each one costs money). gateway.page (true, false) serves a live page for browsers.
gateway.searchIndex false turns the word index off: search then reads only the newest messages.
gateway.clients has the hashes of client tokens, which "winnow serve token add" creates, and
gateway.tls the certificate files. See docs/gateway.md.

hooks are commands that take part: session.compacting (before a summary is asked for; it may add to
the request, write the summary or cancel), session.compacted and elision.committed (told what
happened), each a list of a program and its arguments, and timeout in seconds. See docs/hooks.md.

A project's file may be anybody's: it may say how sessions are pruned and folded, protect more and
deny more, but it may not make a request leave this computer or cost money. Everything else in it is
ignored, which is reported once and shown here; --config winnow.jsonc accepts all of it.`,
		Example: `  winnow config
  winnow config --describe
  winnow config get compaction.keep --describe
  winnow config unset compaction.keep
  winnow config edit
  winnow config set compaction.protect 60000
  winnow config add compaction.protectedPaths 'docs/**' --project
  winnow config set compaction.threshold economic
  winnow config set compaction.threshold '{"*": "late", "local/*": 0.5}'
  winnow config set compaction.model anthropic/claude-haiku-4-5
  winnow config set model anthropic/claude-sonnet-4-5
  winnow config set titles anthropic/claude-haiku-4-5
  winnow config set hooks.session.compacting '["python3", "/home/me/hooks/journal.py"]'
  winnow config add permissions '{"action": "run", "target": "go test", "verdict": "allow"}'
  winnow config set gateway.upstreams.house http://127.0.0.1:9000
  winnow config set providers.house.baseURL http://127.0.0.1:9000/v1
  winnow config set models.house/llama-4.context 65536`,
		Args: cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error { return runConfig(a, describe) },
	}
	cmd.Flags().BoolVar(&describe, "describe", false, "say what each setting is")
	var project bool
	set := &cobra.Command{
		Use:     "set KEY VALUE",
		Short:   "Write a setting into the user's configuration file",
		Example: `  winnow config set compaction.keep 8000`,
		Args:    cli.Exactly(2, "KEY and VALUE"),

		ValidArgsFunction: completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := a.OwnConfig()
			if project && a.ConfigFile == "" {
				file, err = a.ProjectConfig(args[0], args[1])
			}
			if err != nil {
				return err
			}
			set := func() error { return config.Set(file, args[0], args[1]) }
			if err := a.ConfigSources().Keep(file, set); err != nil {
				return cli.Misuse(err)
			}
			return tellSet(a, file, args[0])
		},
	}
	set.Flags().BoolVar(&project, "project", false, "write into winnow.jsonc of the current folder instead")
	cmd.AddCommand(modelsCommand(a), set, configAddCommand(a), configRemoveCommand(a), configGetCommand(a), configUnsetCommand(a),
		configEditCommand(a))
	return cmd
}

func runConfig(a *cli.App, describe bool) error {
	loaded, err := config.Load(a.ConfigSources())
	if err != nil {
		return cli.Misuse(err)
	}
	keys, values, err := loaded.Values()
	if err != nil {
		return errors.Join(errors.New("the settings cannot be written down"), err)
	}
	doc := configured{values, loaded.Origins, append([]string{}, loaded.Files...),
		append([]config.Ignored{}, loaded.Ignored...), map[string]string{}, map[string]string{}}
	for _, key := range keys {
		doc.Descriptions[key] = config.Describe(key)
		if why := unread(a, loaded.Settings, key); why != "" {
			doc.Unread[key] = why
		}
	}
	return a.Tell(doc, func() { showConfig(a, loaded, keys, doc, describe) })
}

// unread says why the policy in force takes no notice of a key, "" where it does.
func unread(a *cli.App, s config.Settings, key string) string {
	return policy.Unread(key, cmp.Or(a.Policy, s.Policy), cmp.Or(a.Schedule, s.Schedule))
}

// tellSet says what was set, and whether it has an effect under the policy in force.
func tellSet(a *cli.App, file, key string) error {
	doc := configSet{File: file, Key: key}
	loaded, err := config.Load(a.ConfigSources())
	if err == nil { // what is wrong elsewhere is told by the commands that need it
		doc.Unread = unread(a, loaded.Settings, key)
	}
	return a.Tell(doc, func() {
		a.Printf("%s is set in %s", key, file)
		if now, err := got(a, key); err == nil && config.Layered(key) {
			a.Printf("; it is %s now", cmp.Or(plainValue(now.Value), "[]"))
		}
		a.Printf("\n")
		if doc.Unread != "" {
			a.Printf("it has no effect under %s, the policy in force: %s\n",
				cmp.Or(a.Policy, loaded.Settings.Policy), doc.Unread)
		}
	})
}

func showConfig(a *cli.App, loaded config.Loaded, keys []string, doc configured, describe bool) {
	for _, key := range keys {
		beside := loaded.Origins[key]
		if why := doc.Unread[key]; why != "" {
			beside = strings.TrimPrefix(beside+"; "+why, "; ")
		}
		line := fmt.Sprintf("%-52s %-28s %s", key, strings.ReplaceAll(string(doc.Settings[key]), `","`, `", "`), beside)
		a.Printf("%s\n", strings.TrimRight(line, " "))
		if describe {
			showIndented(a, 4, doc.Descriptions[key])
		}
	}
	for _, i := range loaded.Ignored {
		a.Printf("%s is ignored at %s:%d:%d: %s\n", i.Key, visible.Line(a.Short(i.File)), i.Line, i.Column,
			visible.Line(i.Reason))
	}
}
