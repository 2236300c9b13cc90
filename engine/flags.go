package engine

import (
	"errors"
	"strconv"
)

// Flag is an option of engines that a user sets by name. Entries that have the
// same option share one Flag. It is a *FlagOf some type.
type Flag interface {
	// About returns what the help says of the flag.
	About() *FlagInfo
	parse(old any, s string) (any, error)
}

// FlagInfo is what the help says of a flag.
type FlagInfo struct {
	Name  string
	Usage string // the name of the value is in backquotes
	Group string // the heading that it stands under
	Bool  bool   // it is on or off, and needs no value
	// Values are the words that the value can be, for people who complete them; nil if it
	// is a number, a name or a file.
	Values []string
	// Try are values that change what an engine does; every engine with the flag is
	// held to its promises with each of them.
	Try []string
}

// FlagOf is a flag whose value is a T.
type FlagOf[T any] struct {
	FlagInfo
	// Parse returns the value for a text; old is the value before, for flags that
	// are given several times. The error says what is wanted.
	Parse func(old T, s string) (T, error)
}

// About returns what the help says of the flag.
func (f *FlagOf[T]) About() *FlagInfo { return &f.FlagInfo }

func (f *FlagOf[T]) parse(old any, s string) (any, error) {
	t, _ := old.(T)
	return f.Parse(t, s)
}

// Of returns the flag's value, the zero value if it was not given.
func (f *FlagOf[T]) Of(v *Values) T {
	t, _ := v.get(&f.FlagInfo).(T)
	return t
}

// Put gives the flag a value as if by default: it does not count as given.
func (f *FlagOf[T]) Put(v *Values, value T) { v.put(&f.FlagInfo, value) }

// Values are the values of flags. A nil *Values has none.
type Values struct {
	of    map[*FlagInfo]any
	given map[string]bool
}

func (v *Values) get(f *FlagInfo) any {
	if v == nil {
		return nil
	}
	return v.of[f]
}

func (v *Values) put(f *FlagInfo, value any) {
	if v.of == nil {
		v.of = map[*FlagInfo]any{}
	}
	v.of[f] = value
}

// Set parses a flag's value.
func (v *Values) Set(f Flag, s string) error {
	value, err := f.parse(v.get(f.About()), s)
	if err != nil {
		return err
	}
	v.put(f.About(), value)
	v.Give(f.About().Name)
	return nil
}

// Give notes that the user gave the flag of that name, which may be one of the
// command's own.
func (v *Values) Give(name string) {
	if v.given == nil {
		v.given = map[string]bool{}
	}
	v.given[name] = true
}

// Given reports whether the user gave a flag.
func (v *Values) Given(name string) bool { return v != nil && v.given[name] }

// ParseBool parses the value of a flag that is on or off.
func ParseBool(_ bool, s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("want true or false")
	}
	return b, nil
}

// ParseInt parses a number.
func ParseInt(_ int, s string) (int, error) {
	n, err := strconv.ParseInt(s, 0, strconv.IntSize)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("value out of range")
	case err != nil:
		return 0, errors.New("want a number")
	}
	return int(n), nil
}
