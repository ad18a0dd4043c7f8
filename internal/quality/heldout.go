package quality

// HeldOut are phrasings that were written before anything was measured, and not looked at while the
// program was improved: what they give is what a stranger's words may give.
func HeldOut() Phrasings {
	return Phrasings{
		Name: "held-out",
		forbid: []string{
			"Under no circumstances modify {path}.", "Don't you dare change {path}.", "{path} is read-only for you.",
			"Nothing in {path} may be changed.", "Keep your fingers out of {path}.", "{path} must remain untouched.",
			"I don't want any edits in {path}.", "Lass {path} bitte in Ruhe.", "Il est interdit de modifier {path}.",
			"Prohibido tocar {path}.",
		},
		always: []string{
			"Every commit needs a green {command} first.", "Don't commit unless {command} passes.",
			"{command} has to succeed before anything is pushed.", "Remember to run {command} prior to each commit.",
			"Nothing gets merged without {command}.", "Vor dem Commit bitte immer {command} laufen lassen.",
			"Il faut lancer {command} avant chaque commit.", "Antes de cada commit hay que ejecutar {command}.",
		},
		limit: []string{
			"Functions must stay under {number} lines.", "Files over {number} lines are not acceptable.",
			"I don't accept functions with more than {number} lines.", "Lines are never wider than {number} columns.",
		},
		language: []string{
			"Please reply in {language} only.", "I'd like your replies to be in {language}.",
			"Use {language} when you write to me.", "All explanations should be in {language}.",
		},
		fixed: []string{
			"No third-party packages without my consent.|third-party", "Indent with two spaces everywhere.|spaces",
			"Every exported function needs a doc comment.|comment", "Prefer small commits over big ones.|small",
			"Logs must never contain e-mail addresses.|e-mail", "Bitte keine Emojis in Commit-Nachrichten.|Emojis",
		},
		allow: []string{
			"It is fine to edit {path} from now on.", "The restriction on {path} no longer applies.",
			"You're allowed to touch {path} after all.", "We took over {path}, so go ahead and change it if needed.",
		},
		insteadRun: []string{
			"Stop running {old}; {command} is the check before a commit from today.",
			"Use {command} rather than {old} before each commit.",
			"Before committing, {command} takes the place of {old}.",
		},
		otherLanguage: []string{
			"I changed my mind: reply in {language}, not {old}.",
			"Let's drop {old} and talk in {language} from here on.",
			"No more {old}, please: use {language} when you answer.",
		},
		value: []string{
			"Please keep the {name} at {value}.", "We need a {name} of {value}.",
			"Our {name} must be {value}, no matter what.",
			"Let the {name} be {value}.", "For the {name} take {value}.", "Stell den {name} auf {value}.",
			"Mets le {name} à {value}.", "Pon el {name} en {value}.",
		},
		newValue: []string{
			"Make the {name} {value} rather than {old}.", "The {name} must be {value}, not {old}.",
			"Bump the {name} to {value}.",
			"Let's raise the {name} from {old} to {value}.", "Correction: the {name} is {value}.",
			"Erhöhe den {name} von {old} auf {value}.", "Finalement, {name} : {value} au lieu de {old}.",
		},
		decision: []string{
			"I chose {thing} for the {what}, since {reason}.",
			"The decision is to go with {thing} for the {what}: {reason}.",
			"For the {what} we settled on {thing} because {reason}.", "{thing} wins as the {what}, as {reason}.",
			"Wir bleiben beim {what} bei {thing}, weil alle es kennen.|kennen",
			"On part sur {thing} pour le {what}, parce que c'est le plus simple.|simple",
		},
		newDecision: []string{
			"Going with {thing} instead of {old} for the {what}, since {reason}.",
			"I have decided to switch the {what} from {old} to {thing}, because {reason}.",
			"Wir wechseln beim {what} von {old} zu {thing}, weil alle es kennen.|kennen",
		},
		places: []string{
			"In {a} we have {name} {v}, in {b} it's {w}.", "{name}: {v} ({a}), {w} ({b}).",
			"{a} runs with a {name} of {v} while {b} runs with {w}.",
			"Remember that the {name} differs: {v} on {a} and {w} on {b}.",
		},
		people: []string{
			"{v} is the job of {a}, {w} that of {b}.", "Questions on {v} go to {a}, those on {w} to {b}.",
			"{a} is responsible for {v} and {b} for {w}.",
		},
	}
}
