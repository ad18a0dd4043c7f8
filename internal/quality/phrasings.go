package quality

// Phrasings are the ways in which facts are said. In a phrasing {x} stands for a piece of the fact;
// what follows a "|" are further words of it that must be told with it.
type Phrasings struct {
	Name string // "known" or "held-out"

	forbid, always, limit, language, fixed []string // rules
	allow, insteadRun, otherLanguage       []string // the same rules, replaced
	value, newValue                        []string
	decision, newDecision                  []string
	places, people                         []string // two that must not be mixed up
}

// Known are the phrasings that the program was improved with.
func Known() Phrasings {
	return Phrasings{
		Name: "known",
		forbid: []string{
			"Never touch {path}.", "Do not edit anything under {path}, another team owns it.",
			"Please leave {path} alone, it is generated.", "Hands off {path}.", "{path} is off limits.",
			"You must not change {path} without asking me.", "{path} stays as it is.",
			"Ändere niemals etwas an {path}.", "Ne touche jamais à {path}.", "No modifiques nunca {path}.",
		},
		always: []string{
			"Always run {command} before committing.", "Run {command} before every commit.",
			"Before you push, run {command}.", "Make sure that {command} passes before you call something done.",
			"I want {command} to be green before each commit.", "Führe vor jedem Commit {command} aus.",
			"Lance toujours {command} avant de committer.", "Ejecuta siempre {command} antes de cada commit.",
		},
		limit: []string{
			"No function may be longer than {number} lines.", "Keep every file below {number} lines.",
			"Never let a test take longer than {number} ms.", "A commit has at most {number} changed lines.",
		},
		language: []string{
			"Answer in {language}.", "Always answer in {language}, please.",
			"Write your answers in {language} from now on.", "Talk to me in {language}.",
		},
		fixed: []string{
			"Ask me before you add a dependency.|dependency", "We use tabs here, not spaces.|tabs",
			"Tests must not sleep.|sleep", "Use British spelling in comments.|British",
			"Commit messages are written in the imperative.|imperative", "Don't rename exported functions.|exported",
			"Schreib keine neuen Abhängigkeiten in go.mod.|Abhängigkeiten",
		},
		allow: []string{
			"You may change {path} now, the other team is done with it.", "{path} can be edited again.",
			"Forget what I said about {path}: it is ours now.", "The ban on {path} is lifted.",
			"Du darfst {path} jetzt doch ändern.",
		},
		insteadRun: []string{
			"Run {command} instead of {old} before committing.",
			"From now on run {command} before a commit, no longer {old}.",
			"{old} is gone; before every commit it is {command} now.",
			"Replace {old} by {command} in what you run before a commit.",
		},
		otherLanguage: []string{
			"From now on answer in {language}, no longer in {old}.", "Please answer in {language} instead of {old}.",
			"Switch from {old} to {language} for your answers.",
		},
		value: []string{
			"The {name} is {value}.", "Set the {name} to {value}.", "Use {value} as the {name}, please.",
			"{name}: {value}",
			"We agreed on {value} for the {name}.", "Der {name} ist {value}.", "Le {name} est {value}.",
			"El {name} es {value}.",
		},
		newValue: []string{
			"Use {name} {value} instead of {old}.", "The {name} is now {value}.",
			"Change the {name} from {old} to {value}.",
			"Make that {name} {value}, not {old}.", "Doch lieber {name} {value} statt {old}.",
			"Le {name} passe de {old} à {value}.", "Usa {name} {value} en lugar de {old}.",
		},
		decision: []string{
			"I decided to use {thing} for the {what}, because {reason}.",
			"We'll use {thing} for the {what}, because {reason}.",
			"I'm going with {thing} for the {what}, since {reason}.", "{thing} is our {what}: {reason}.",
			"Ich habe mich beim {what} für {thing} entschieden, weil es schon im Image ist.|Image",
			"J'ai décidé de prendre {thing} pour le {what}, parce que l'équipe le connaît.|équipe",
			"He decidido usar {thing} para {what}, porque ya está en la imagen.|imagen",
		},
		newDecision: []string{
			"We'll use {thing} instead of {old} for the {what}, because {reason}.",
			"I decided on {thing} rather than {old} for the {what}, because {reason}.",
			"Ich nehme beim {what} {thing} statt {old}, weil es schon im Image ist.|Image",
			"He decidido usar {thing} en lugar de {old} para {what}, porque ya está en la imagen.|imagen",
		},
		places: []string{
			"{a} uses {name} {v}, {b} {w}.", "On {a} the {name} is {v}; on {b} it is {w}.",
			"The {a} {name} is {v}. The {b} {name} is {w}.", "{name} for {a}: {v}, for {b}: {w}.",
			"The {name} of {a} is {v}, and {b} has {w}.", "Auf {a} ist der {name} {v}, auf {b} {w}.",
		},
		people: []string{
			"{a} owns {v}, and {b} owns {w}.", "{a} reviews {v}; {w} goes to {b}.",
			"Ask {a} about {v} and {b} about {w}.", "{v} belongs to {a}, {w} to {b}.",
		},
	}
}
