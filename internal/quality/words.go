package quality

import "strings"

func list(text string) []string { return strings.Split(text, ", ") }

// What the sessions are made of.
var (
	areas     = list("db/migrations, vendor, third_party, deploy/legacy, api/generated")
	checks    = list("lint, check, vet, verify, audit")
	languages = list("French, Spanish, Portuguese, Dutch, Swedish, Polish")
	nouns     = list("batch, ledger, parcel, invoice, courier, depot, route, label, manifest, quota, docket, tariff, " +
		"pallet, carrier, waybill, scanner")
	// names of figures; every fourth value is a name that was agreed on, of a thing in queues
	names = list("port, request timeout, batch size, queue name, memory limit, retry limit, session lifetime, " +
		"bucket name, cache size, worker count")
	queues = list("topic, branch name, queue name, bucket prefix, schema name, index name, stream name, " +
		"bucket name")
	sharedNames = list("database port, pool size, replica limit")
	places      = [][2]string{{"staging", "production"}, {"eu-west", "us-east"}, {"planner", "coder"}}
	people      = [][2]string{{"Alice", "Bernhard"}, {"Chidi", "Dolores"}, {"Emeka", "Farida"}}
	// reasons of decisions, each with the word that tells it
	reasons = []string{
		"it keeps its data over a restart|restart", "it is in the image already|image",
		"the operators know it|operators", "it needs no server of its own|server",
		"it is the only one with a licence that we can ship|licence",
	}
	// choices are what is decided, and what is used first and later
	choices = []struct {
		what   string
		things [2]string
	}{
		{"cache", [2]string{"Redis", "Valkey"}}, {"queue", [2]string{"RabbitMQ", "NATS"}},
		{"search", [2]string{"Elasticsearch", "Typesense"}}, {"scheduler", [2]string{"Temporal", "Airflow"}},
		{"tracing", [2]string{"Jaeger", "Zipkin"}},
	}
	backgrounds = []string{
		"A {a} comes with its {b}, and the {c} is looked up when it is written.",
		"Some {a} rows have a {b} without a {c}, which the old program skipped.",
		"The {a} of a {b} is known before the {c} arrives.",
		"I saw a {a} twice in the {b} yesterday, so the {c} was counted wrong.",
		"It would be nice if the {a} told which {b} has no {c}.",
		"The {a} and the {b} come from two systems that share a {c}.",
		"Look at how the {a} does it, the {b} can work like the {c} there.",
		"In the {a} there is a {b} for each {c}, sorted by day.",
	}
)
