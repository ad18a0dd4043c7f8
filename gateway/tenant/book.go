package tenant

import (
	"context"
	"errors"
	"time"
)

// Book keeps tenants, their tokens, what they spent, and who did what. Package team/book has it in
// a file or a database. It is safe for concurrent use, also by several processes.
//
// Tenants and tokens are asked for by a tenant's name; what was spent, reserved and audited by the
// name of its store, so that a tenant inherits nothing from one that had its name before.
type Book interface {
	Close() error

	// Revision is a number that changes with every change of a tenant or a token.
	Revision(ctx context.Context) (int64, error)
	// Directory is what the book has of all tenants and tokens, as of one moment.
	Directory(ctx context.Context) (*Directory, error)

	// Add adds a tenant. ErrExists if there is one of that name.
	Add(ctx context.Context, who string, t Tenant) error
	// Set changes a tenant. ErrNotFound if there is none of that name.
	Set(ctx context.Context, who, name string, edit func(*Tenant) error) (Tenant, error)
	// Remove removes a tenant with its tokens. ErrNotFound if there is none of that name.
	Remove(ctx context.Context, who, name string) error
	// Removed are the removed tenants of a name, "" for all, oldest first.
	Removed(ctx context.Context, name string) ([]Removed, error)
	// EraseRemoved erases what the book has of removed tenants, by their stores, and adds an entry
	// to the audit log. It returns how many entries went. ErrExists if one of them was not removed.
	EraseRemoved(ctx context.Context, e Entry, stores ...string) (entries int, err error)
	// ErasePerson takes a person out of a tenant's rows in the book, and has every process forget
	// what it holds of the tenant's sessions. note is an entry to add to the audit log, nil for
	// none.
	ErasePerson(ctx context.Context, name, person string, note *Entry) (tokens, entries int, err error)
	// Clear has every process forget what it holds of a tenant's sessions, and adds an entry to the
	// audit log.
	Clear(ctx context.Context, name string, e Entry) error
	Tenant(ctx context.Context, name string) (Tenant, error)
	Tenants(ctx context.Context) ([]Tenant, error)

	AddToken(ctx context.Context, who string, t Token) error
	Revoke(ctx context.Context, who, id string) (Token, error)
	// Rotate makes a token in the place of another one, which counts for an overlap more. The new
	// one is shown once.
	Rotate(ctx context.Context, who, id string, overlap time.Duration) (shown string, next, old Token, err error)
	Token(ctx context.Context, id string) (Token, error)
	// Tokens are those of a tenant, "" for all.
	Tokens(ctx context.Context, of string) ([]Token, error)
	// Used notes when tokens were shown last, by id.
	Used(ctx context.Context, when map[string]time.Time) error

	// Reserve makes a reservation, unless allow is against it, which is told what the tenant and
	// the person have spent and reserved, through every process. Its error is returned as it is.
	Reserve(ctx context.Context, r Reservation, now time.Time, allow func(all, person Account) error) error
	// Renew lets the reservations of a process expire later.
	Renew(ctx context.Context, process string, expires, now time.Time) error
	// Settle adds what a tenant spent, by day, and forgets reservations, in one transaction.
	Settle(ctx context.Context, name string, days map[Spender]Expense, reservations []string) error
	// Spend adds what a tenant spent on the day of a time.
	Spend(ctx context.Context, name string, e Expense, at time.Time) error
	// AtLeast raises what a tenant spent on the day of a time to a sum, if it is less.
	AtLeast(ctx context.Context, name string, dollars float64, at time.Time) error
	// Spent is what a tenant spent in the day and the month of a time.
	Spent(ctx context.Context, name string, at time.Time) (Spent, error)
	// People are what the people of a tenant spent in the day and the month of a time, by person.
	People(ctx context.Context, name string, at time.Time) (map[string]Spent, error)
	// Sums are the spending of some tenants, and of the people of some, in the day and the month of
	// a time, by tenant. Each is asked for once, however many they are.
	Sums(ctx context.Context, of, peopleOf []string, at time.Time) (spent map[string]Spent,
		people map[string]map[string]Spent, err error)
	// OpenSince is the first day of a tenant whose sum may still grow; CloseUntil closes those before
	// the day of a time.
	OpenSince(ctx context.Context, name string) (time.Time, error)
	CloseUntil(ctx context.Context, name string, at time.Time) error
	// Uses are how much each tenant asks, as of a time, by store. A tenant that never asked is not
	// among them.
	Uses(ctx context.Context, at time.Time) (map[string]Use, error)

	// As is the book for somebody whose changes are noted with the person beside the token.
	As(person string) Book
	// Audit notes who did what. A zero time is now.
	Audit(ctx context.Context, e Entry) error
	// ExpireAudit deletes the entries that are older than a time, of all tenants, and notes that as
	// who did it. It returns how many there were.
	ExpireAudit(ctx context.Context, who string, before time.Time) (int, error)
	// Audited are the newest entries about a tenant, "" for all, the newest first, at most so many.
	Audited(ctx context.Context, of string, most int) ([]Entry, error)
}

// Removed is a tenant that was removed.
type Removed struct {
	Store     string
	Retention int // its own, in days; 0 as gateway.retention says
	Removed   time.Time
	Erased    time.Time // when everything that was kept of it was erased; zero: it is kept
}

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
)

// Erased is the deed in the Entry of a tenant that was erased. Such entries stay.
const Erased = "tenant erase"

// Entry is one line of the audit log: who did what. It holds no content of a session.
type Entry struct {
	Time   time.Time `json:"time"`   // when it was done
	Tenant string    `json:"tenant"` // the tenant, by the name of its store
	// The id of a token, a person who signed in, or "cli:" and the account that ran the command.
	Who string `json:"who"`
	// The owner of the token, or the person who signed in; empty if nobody is named.
	Person  string `json:"person"`
	Did     string `json:"did"`     // the action, such as "undo", "read" or "token add": see above
	Session string `json:"session"` // the session that it is about; empty if it is about none
	What    string `json:"what"`    // the receipt, part or settings that it is about
}

// Reservation is what a request under way may cost.
type Reservation struct {
	ID      string
	Tenant  string // the name of its store
	Person  string // see Token.Person
	Process string // that relays it
	Dollars float64
	Expires time.Time
}

// Account is what was spent and is reserved, through every process.
type Account struct {
	Spent    Spent
	Reserved float64 // US dollars
}

// Spender is who spent something on a day; a person of "" is nobody in particular, as of summaries.
type Spender struct{ Day, Person string }

// Expense is what some requests cost.
type Expense struct {
	Dollars   float64
	Estimated float64 // of them: no provider reported it
	Requests  int     // that were answered
}

// Plus is the sum of two.
func (e Expense) Plus(other Expense) Expense {
	return Expense{e.Dollars + other.Dollars, e.Estimated + other.Estimated, e.Requests + other.Requests}
}

// Use is how much a tenant asks.
type Use struct {
	Spent    Spent
	Requests Requests
	// Seen is when one of its tokens was last shown, to a minute; zero: never.
	Seen time.Time
}

// Requests are how many requests were answered within a day and its month.
type Requests struct {
	Day   int64 `json:"day"`
	Month int64 `json:"month"`
}
