package recall

import "strings"

// rules make a sentence a rule where they stand in it; several words are a phrase.
var rules = phrases(
	"never", "always", "must", "must not", "mustn't", "make sure", "ensure that", "be sure to", "from now on", "at all times", "under no circumstances", "not allowed", "forbidden", "is required",
	"do not", "don't", "dont", "avoid", "no new", "stick to", "only use", "use only", "only the", "only touch", "only change", "only edit", "only modify", "only want", "want only", "keep in mind", "at most", "no more than",
	"without changing", "without breaking", "leave alone", "has to stay", "should stay", "should never", "should always", "should not", "shouldn't", "cannot change", "can't change", "only ever", "remember to", "remember that",
	"you cannot", "you can only", "you may only", "you may not", "you are not to", "hands off", "off limits", "off-limits", "whenever", "each time you", "every time you",
	"before you commit", "before committing", "before every", "before each", "before you push", "before pushing", "after every", "after each", "at each step", "at every step",

	"nie", "niemals", "immer", "muss", "müssen", "musst", "darf nicht", "darfst", "dürfen nicht", "darf kein", "darf keine", "auf keinen fall", "ausschließlich", "stelle sicher", "stell sicher", "achte darauf", "achte", "nicht anfassen", "nicht ändern",
	"nicht verändern", "nicht verwenden", "nicht benutzen", "keine neuen", "kein neues", "vermeide", "vermeiden", "ab jetzt", "nur die", "nur den", "nur das", "verwende nur", "nutze nur", "benutze nur", "soll nicht", "sollen nicht", "sollte nicht",
	"ohne zu", "bitte keine", "bitte nicht", "bitte kein", "finger weg",

	"jamais", "toujours", "uniquement", "seulement", "il faut", "il ne faut pas", "doit", "doivent", "dois", "évite", "évitez", "éviter", "assure-toi", "assurez-vous", "n'utilise", "n'utilisez", "ne touche", "ne touchez", "ne change", "ne changez",
	"ne modifie", "ne modifiez", "ne supprime", "n'ajoute", "n'ajoutez", "sans changer", "sans modifier", "interdit", "désormais", "aucune nouvelle",

	"nunca", "jamás", "siempre", "solo usa", "sólo usa", "usa solo", "usa sólo", "solamente", "únicamente", "debe", "deben", "debes", "hay que", "evita", "evite", "asegúrate", "asegúrese", "no toques", "no uses", "no cambies", "no modifiques",
	"no toque", "no añadas", "no agregues", "no borres", "no elimines", "sin cambiar", "sin modificar", "prohibido", "a partir de ahora", "sólo la", "solo la",

	"sempre", "deve", "não use", "não mexa", "não toque", "não altere", "não mude", "não faça", "não adicione", "não modifique", "não apague", "não crie", "use apenas", "use somente",
	"mai", "non toccare", "non usare", "non modificare", "non cambiare", "usa solo",
	"nooit", "altijd", "niet aanpassen", "niet aanraken", "gebruik alleen", "moet",
	"nigdy", "zawsze", "nie zmieniaj", "nie dotykaj", "nie używaj", "używaj tylko", "aldrig", "alltid", "altid", "asla", "her zaman",
	"никогда", "всегда", "нельзя", "только", "не трогай", "не меняй", "не используй", "не изменяй", "не удаляй", "ніколи", "завжди",
)

// wishes make a sentence a preference.
var wishes = phrases(
	"prefer", "i'd rather", "i would rather", "please use", "please keep", "please stick", "ideally", "preferably", "try to minimize", "try to keep",
	"bevorzuge", "bevorzugt", "lieber", "bitte verwende", "bitte nutze", "bitte benutze", "am liebsten", "statt",
	"je préfère", "préfère", "de préférence", "plutôt que", "utilise plutôt",
	"prefiero", "preferiría", "de preferencia", "en lugar de", "en vez de", "por favor usa", "prefiro", "preferisco",
)

// unspaced are words of languages that put no blanks between them.
var unspaced = []string{
	"不要修改", "不要改", "不要动", "不要碰", "不要使用", "不要用", "不要删", "不要添加", "不要提交", "不要再", "请不要", "必须", "必須", "务必", "禁止", "请勿", "别碰", "别动", "别改", "只能用", "只能使用", "只用", "只使用", "仅使用", "始终使用", "永远不",
	"しないで", "ないでください", "必ず", "絶対", "のみ使用", "だけを使", "절대", "항상", "반드시", "하지 마", "하지마", "만 사용",
}

// innocent are phrases in which a word of the list makes no rule.
var innocent = phrases("don't know", "don't understand", "don't see", "don't think", "don't get", "don't have", "do not have", "do not know", "do not see", "don't worry", "don't remember", "don't need", "don't care", "don't mind", "don't really", "don't exist", "they don't", "actually don't", "don't tink", "i never", "must be because", "must have been",
	"why don't", "if you don't", "if you do not", "if u dont", "if you dont", "if we don't", "if i don't", "if they don't", "doesn't", "it never", "it always", "seems to always", "i always get", "must be a", "must be the", "must be some", "must be an", "never mind", "never seen", "never happens", "never happened", "don't bother", "still don't", "still dont", "as always", "like always", "do not work", "don't work",
	"do not need", "do not think", "do not understand", "do not care", "do not worry", "dont know", "dont think", "dont see", "dont get", "dont understand", "dont have", "dont care", "dont need", "dont worry", "you must be kidding", "you must be joking", "almost always", "almost never", "not always", "better than never", "shouldn't have", "should not have", "shouldn't it", "shouldn't this", "shouldn't that", "shouldn't be hard", "shouldn't take", "only the first time",

	"nie gesehen", "noch nie", "wie immer", "immer noch", "immer mehr", "immer wieder", "immer wenn ich", "ist immer", "ist nie", "war nie", "war immer", "wird immer", "kommt immer", "geht nie", "hat nie", "ich muss", "muss ich", "muss man", "müssen wir", "wir müssen", "muss wohl", "muss an",
	"comme toujours", "toujours pas", "est toujours", "sont toujours", "a toujours", "ai toujours", "j'ai toujours", "c'est toujours", "a jamais", "j'ai jamais", "ai jamais", "jamais vu", "marche jamais", "fonctionne jamais", "ça doit être", "doit être un", "je dois", "il doit y avoir", "non seulement", "si seulement", "pas seulement", "il faut que je",
	"como siempre", "para siempre", "es siempre", "está siempre", "siempre sale", "siempre falla", "nunca funciona", "nunca he", "nunca ha", "nunca vi", "debe ser por", "debe haber", "debe ser un", "hay que ver",
	"é sempre", "sempre que eu", "ik moet", "dat moet", "moet ik", "всегда было", "никогда не видел", "только что",
)

// states are verbs that say how something is or was: "is always", "was never".
var states = []string{"is", "are", "was", "were", "has", "have", "had", "been", "be", "it's", "that's", "isn't", "i've", "we've", "you've", "they've", "seems", "gets", "works", "almost", "nearly", "not"}

// subjects are those of whom a sentence with "don't" tells what they do not.
var subjects = []string{"i", "we", "they", "it", "these", "those", "which", "that", "who", "people", "users", "things", "tests", "colors", "some", "both", "them", "he", "she", "most", "others", "why", "if"}

// joints are words between which and a verb nothing but a new request can stand.
var joints = []string{"please", "pls", "plz", "and", "but", "so", "also", "just", "then", "or", "now", "ok", "okay", "you", "again", "otherwise", "instead", "simply", "definitely", "really", "btw"}

// deeds are what an agent is told to do, or not to.
var deeds = []string{
	"touch", "change", "modify", "edit", "add", "remove", "delete", "rewrite", "commit", "push", "run", "create", "use", "block", "break", "rename", "refactor", "install", "write", "read", "ask", "move", "replace", "update", "introduce", "log", "print", "mock", "skip", "disable",
	"include", "keep", "fix", "show", "return", "format", "reformat", "alter", "overwrite", "guess", "assume", "start", "stop", "deploy", "merge", "revert", "publish", "call", "import", "hardcode", "expose", "mention", "repeat", "explain", "summarize", "work", "look", "test",
}

// noRule follow "no" in answers, noStatus end what a form or a program says.
var (
	noRule = []string{"problem", "worries", "idea", "it", "i", "that", "this", "need", "we", "not", "wait", "thanks", "you", "the", "he", "they", "longer", "sé", "se", "lo", "me", "one", "clue", "way", "matter", "there", "don't", "its", "it's", "im", "i'm", "but", "just", "please",
		"such", "rush", "hurry", "luck", "doubt", "changes", "errors", "issues", "issue", "effect", "difference", "output", "response", "reason", "use", "that's", "what", "nothing", "don", "still", "then", "so", "only", "is", "go", "thank", "my", "can", "did", "does", "do", "if", "should", "yes", "wonder", "biggie", "chance", "offense"}
	noStatus = []string{"provided", "found", "available", "given", "needed", "specified", "detected", "yet", "anymore", "either", "matter", "though", "required", "applied", "neither", "lol", "set", "shown", "visible", "left"}
)

type phrase []string

func phrases(texts ...string) map[string][]phrase {
	byFirst := map[string][]phrase{}
	for _, text := range texts {
		p := phrase(strings.Fields(text))
		byFirst[p[0]] = append(byFirst[p[0]], p)
	}
	return byFirst
}

// longest is how many words the longest phrase has that stands at i, 0 for none.
func longest(of map[string][]phrase, all []string, i int) (n int) {
	for _, p := range of[all[i]] {
		if len(p) > n && p.at(all, i) {
			n = len(p)
		}
	}
	return n
}

func (p phrase) at(all []string, i int) bool {
	if i+len(p) > len(all) {
		return false
	}
	for k, w := range p {
		if all[i+k] != w {
			return false
		}
	}
	return true
}
