package recall

import "testing"

// Sentences of the kind that people write to agents.
var (
	standing = []string{
		"Never force-push to main.", "never commit without running the linter", "Always write the test first.",
		"You must never log a customer's address.", "Please do not touch anything under vendor/.",
		"don't touch the migrations", "dont rename exported functions", "DO NOT edit generated files!",
		"Only use the packages that are in go.mod already.", "Use only ASCII in identifiers.",
		"and only ever write to /tmp/out",
		"From now on answer in French.", "Under no circumstances delete the backup folder.", "Stick to Python 3.8.",
		"Avoid global state.", "try to avoid new allocations in the hot path",
		"Keep in mind that the API is public.",
		"The response must not contain stack traces.", "Every handler must return JSON.",
		"Functions should not be longer than 40 lines.", "Make sure that every exported name has a comment.",
		"Be sure to run gofmt before each commit.",
		"no emojis!", "No third-party dependencies.", "Write it in plain SQL, no ORM.",
		"stop adding comments to every line", "Stop committing without asking.",
		"Before you commit, run the whole suite.",
		"When you change a migration, bump the schema version.",
		"When adding an endpoint, update the OpenAPI file too.", "Whenever a test fails, show me the output.",
		"You may only change files in src/ui.", "You cannot use the network here.",
		"hands off the billing module", "I don't want any new abstractions.", "we don't want a breaking change",
		"Never push, ok?", "Could you please always quote file names?", "run the linter after every change",
		"The config file should stay where it is.",
		"I only want unit tests, nothing that needs a browser.", "Change only the parser.", "At most three retries.",
		"never use \"any\" as a type",
		"Rühre die Datei config.yml nie an.", "Du darfst keine neuen Abhängigkeiten einführen, auf keinen Fall.",
		"Achte darauf, dass alle Texte übersetzbar bleiben.", "Bitte nicht committen.",
		"Verwende nur Funktionen der Standardbibliothek.", "Finger weg von der Datenbank!",
		"Ne modifie pas les tests existants.", "N’utilise que des fonctions pures.",
		"Il faut toujours valider l'entrée.", "Ne supprime rien sans demander.",
		"No toques la carpeta vendor.", "Siempre usa comillas simples.", "No borres ningún archivo.",
		"Non toccare il file di configurazione.", "Não altere os testes.",
		"Gebruik alleen de standaardbibliotheek.",
		"Nigdy nie zmieniaj schematu bazy.", "Никогда не удаляй файлы.", "不要修改测试文件。", "请勿提交到主分支", "テストは変更しないでください。",
		"테스트는 절대 수정하지 마세요.",
		"Keep every file below 300 lines.", "No function longer than a screen.", "A commit has at most ten files.",
		"Leave the vendor folder alone, please.", "The schema stays as it is.", "Das Schema bleibt wie es ist.",
		"Ask me before you add a package.", "Frag mich vorher, bevor du etwas löschst.", "Tests live beside the code.",
		"Error messages are written in lower case.", "Use American spelling in comments.", "We use semicolons here.",
		"Every handler needs a test.", "Nothing goes out without a review.", "I want every branch to be rebased.",
		"In this repository all shell scripts are POSIX.", "Answer in Italian.", "Schreib mir bitte auf Deutsch.",
		"Führe vor jedem Commit die Tests aus.", "Lance les tests avant chaque commit.",
	}
	wished = []string{"I prefer tabs.", "Ideally one commit per change.", "Please use conventional commits.",
		"keep the diff small", "Mir sind kurze Namen lieber.", "Je préfère les petites fonctions.",
		"Prefiero nombres largos."}
	passing = []string{
		"The button never appears.", "it always returns null", "this endpoint always fails on the second call",
		"The cache is never cleared.", "You never ran the tests.", "you always forget the semicolon",
		"That was never merged.", "I never said that.",
		"It has always been slow.", "this should never happen", "i think the parser must be broken somewhere",
		"There must be a typo.", "It must be the proxy.", "That must be because of the cache.", "They don't match.",
		"The tests don't pass.", "these values dont line up",
		"I don't see the file.", "we don't load it twice", "If you don't find it, tell me.",
		"i dont know what happened", "why don't you use a map here", "Do not worry about it.",
		"Should we never retry?", "Don't we have a helper for that?", "Must I restart it?",
		"Is it always like this?",
		"Use a mutex to avoid the race.", "No, the other file.", "no idea why", "No problem.", "No results found.",
		"No Changes Needed", "no longer works", "we can load it lazily, no?", "Looks good, no need to change it.",
		"no such file or directory",
		"Rename the function, then make sure the build passes.", "move the helpers, but be sure to keep the history",
		"make sure the footer is also blue", "Only the last one fails.", "only 3 tests are red",
		"Only two of them work.", "It has at most two children.",
		"stop doing that", "When I open the page, it crashes.", "When loading, the list flickers.",
		"When you are done, commit and push.", "When you think it works, tell me.",
		"The message says \"you must never do this\".", "rename `never_used` to `unused`",
		"\"Do not disturb the neighbours\" is the title.",
		"Add a column to the table.", "Can you fix the build?", "Thanks, that works now.", "Never mind.",
		"as always, great work", "I almost always use vim.",
		"Das geht nie.", "Es ist immer noch rot.", "Ich muss kurz weg.", "Keine Ahnung.",
		"Im Mai kommt die neue Version.", "Wir müssen noch den Parser umbauen.", "Müssen wir das ändern?",
		"Ça ne marche toujours pas.", "J'ai jamais vu ça.", "Pas de souci.", "Je dois partir.", "C'est toujours rouge.",
		"Nunca funciona.", "Siempre sale el mismo error.", "¿Siempre es así?", "Não sei.", "Não funciona.",
		"The button stays.", "it remains", "The tests stay red.", "Leave me a note, I am alone today.", "Tests are failing.", "Errors are shown twice.", "Use the parser in tests of the store.",
		"We use the old parser and it crashes.", "Every test fails.", "I want a page that shows the list.",
		"In this repository there is a bug in the parser.", "The answer was in French.", "A test has 300 lines.",
		"Ask me anything.", "I said that before.", "Nothing happened.", "Ik moet even weg.", "总是报错", "要不要重构一下？", "只能这样了吗",
	}
)

func TestInstruction_findsRulesAndWishes(t *testing.T) {
	for _, s := range standing {
		if rule, _ := Instruction(s); !rule {
			t.Errorf("%q is no rule, want one", s)
		}
	}
	for _, s := range wished {
		if rule, preference := Instruction(s); rule || !preference {
			t.Errorf("%q: rule %v, preference %v; want a preference", s, rule, preference)
		}
	}
}

func TestInstruction_leavesOutReportsQuestionsAndQuotations(t *testing.T) {
	for _, s := range passing {
		if rule, preference := Instruction(s); rule || preference {
			t.Errorf("%q: rule %v, preference %v; want neither", s, rule, preference)
		}
	}
}
