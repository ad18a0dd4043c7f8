package recall

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// wordings are phrases of several words each, by their first one.
type wordings map[string][][]string

func wordingsOf(all ...string) wordings {
	m := wordings{}
	for _, p := range all {
		words := strings.Fields(p)
		m[words[0]] = append(m[words[0]], words)
	}
	return m
}

// Words of English, German, French, Spanish, Italian and Portuguese by which sentences state values.
var (
	// links stand between a name and its value.
	links = set(`is are be was were to at of as on by now stays stay remains remain becomes become equals set must should shall will would can may exactly
		still only always the a an only just about around max min up
		ist sind sei sein wird werden auf bei bleibt bleiben lautet beträgt soll sollen muss müssen darf jetzt nun künftig ab sofort immer nur genau höchstens der die das ein eine einen dem den
		est sont être sera reste restent doit doivent à au maintenant désormais toujours passe le la les un une
		es son ser será sigue queda debe deben ahora siempre a al en el los las una pasa está
		è sono essere sarà resta deve ora adesso sempre il lo
		é são fica deve agora sempre o os as um uma`)
	// setting are those that say that somebody wants it so.
	setting = set(`is are be stays stay remains remain becomes become equals set must should shall will to now at ist sind bleibt lautet beträgt soll muss wird auf jetzt nun künftig
		est sera reste doit à maintenant désormais passe es ser será sigue queda debe ahora pasa en è sarà resta deve ora é fica agora`)
	// joining stand inside of a name: "the size of the batch".
	joining = set(`of for the von für der des vom du de des la le l' del della do da per para pour`)
	// empty say nothing about what it is.
	empty = set(`it we you i they this that these those there here and or but so if when then than because please let us set use used using uses change changed changes switch switched move moved keep kept make made bump bumped raise raised lower lowered increase increased
		reduce reduced put decided decide picked chose going go run runs running listen listens listening with in into via vs from actually instead our your my its new old current default
		er sie es wir ihr ich und oder aber bitte nimm nehmen nehme setze setz stell stelle ändere benutze verwende verwenden benutzen lass mit im in unser unsere dein neue neuer alte aktuell stattdessen
		il elle nous vous je on et ou mais utilise utiliser utilisons mets mettre garde gardons change changer avec dans notre votre mon ce cette nouveau nouvelle ancien
		nosotros yo y o pero usa usar usamos usaremos pon poner cambia cambiar mantén con en nuestro tu este esta nuevo nueva viejo
		usiamo usa con nel nostro noi e ma usamos com no nosso vamos`)
	from = set(`from von vom de desde da`)
	to   = set(`to auf zu nach à a al au vers para`)
	// denying says that a value is the one no more.
	denying = set(`not no longer never nicht mehr kein keine statt pas plus sino non não`)
	// asWords stand between a value and a name behind it.
	asWords = set(`as als comme como come per for für pour para`)
	// numbered are things that have a number and no value.
	numbered = set(`step steps phase option section line lines item items page issue pr task part point points turn chapter test tests run exit status code commit row rows column figure table example error errors warning warnings file files
		schritt zeile zeilen seite aufgabe punkt tests fehler étape ligne lignes page tâche point paso línea líneas página tarea punto errores case cases attempt day week month year time times january february march april may june july august september october november december`)
	// measured are what assistants report, not what holds.
	measured = set(`took takes passed pass passes failed fail fails found added removed deleted inserted matches results hits bytes characters chars words tokens lines total count seconds ran output outputs exit elapsed duration coverage assertions cause problem reason bug gone race mark finding findings summary result passing failures tests occurrences changes insertions deletions functions methods classes imports usages references tool uses`)
	units    = set(`s ms µs ns sec secs second seconds min mins minute minutes h hour hours day days week weeks month months year years b kb mb gb tb kib mib gib byte bytes % percent px em rem hz khz mhz ghz rpm rps qps req requests items rows entries connections workers threads retries attempts users eur usd dollars euros
		sekunde sekunden minuten stunde stunden tag tage wochen monate prozent verbindungen versuche seconde secondes heure heures jour jours mois connexions segundo segundos minuto minutos hora horas día días meses conexiones intentos secondi minuti ore giorni`)
	changing = []string{"chang", "switch", "mov", "migrat", "wechs", "umst", "änder", "remplac", "cambi", "mud", "reempl", "replac", "ersetz", "pas", "convert", "port", "upgrad"}
	// replacing stands between the new and the old, becoming between the old and the new.
	replacing = wordingsOf("instead of", "rather than", "in place of", "in lieu of", "replaces", "replacing", "statt", "anstatt", "anstelle von", "anstelle", "an stelle von", "ersetzt", "au lieu de", "au lieu du", "au lieu d'", "plutôt que", "à la place de", "remplace", "en lugar de", "en lugar del", "en vez de", "en vez del", "reemplaza", "sustituye a", "invece di", "al posto di", "em vez de", "no lugar de", "and not", "und nicht", "et non", "y no")
	becoming  = wordingsOf("becomes", "is now", "are now", "with", "by", "but", "sondern", "mais", "sino", "wird zu", "ist jetzt", "ist nun", "durch", "par", "por", "devient", "est maintenant", "pasa a", "ahora es", "bensì")
)
