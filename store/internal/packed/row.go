package packed

import (
	"fmt"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
)

// Decode reads an encoded value, or returns store.ErrCorrupt.
func Decode[T any](data []byte) (T, error) {
	v, err := exact.Decode[T](data)
	if err != nil {
		err = fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return v, err
}

// All decodes values, nil if there are none.
func All[T any](rows [][]byte) (values []T, err error) {
	for _, data := range rows {
		v, err := Decode[T](data)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// Set is a set of texts, nil if there are none.
func Set[K string | []byte](keys []K) map[string]bool {
	if len(keys) == 0 {
		return nil
	}
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[string(key)] = true
	}
	return set
}

// Renamed encodes the info of a session again, with another id.
func Renamed(data []byte, id string) (any, error) {
	info, err := Decode[session.Info](data)
	if err != nil {
		return nil, err
	}
	info.ID = id
	return exact.Encode(info)
}

// Failed encodes a request again, as one that failed.
func Failed(data []byte) (any, error) {
	spend, err := Decode[store.Spend](data)
	if err != nil {
		return nil, err
	}
	spend.Failed = true
	return exact.Encode(spend)
}

// Nobodys encodes a request again, as one that nobody in particular made. of is false if it is none
// of the person's.
func Nobodys(data []byte, person string) (encoded any, of bool, err error) {
	spend, err := Decode[store.Spend](data)
	if err != nil || spend.Live == nil || spend.Live.Person != person {
		return nil, false, err
	}
	live := *spend.Live
	live.Person, spend.Live = "", &live
	encoded, err = exact.Encode(spend)
	return encoded, true, err
}
