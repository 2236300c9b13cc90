package cliflag

import (
	"errors"
	"math"
	"strings"

	"github.com/dustin/go-humanize"

	"cpor/internal/human"
)

// Size is the value of a flag that takes a size in bytes above 0, such as 500MB
// or 2GiB. The zero value represents none.
type Size uint64

// String returns the size with a binary unit, or nothing for none.
func (s *Size) String() string {
	if *s == 0 {
		return ""
	}
	return human.Size(uint64(*s))
}

// Set parses a size. The error says what is wanted.
func (s *Size) Set(text string) error {
	if strings.HasPrefix(strings.TrimSpace(text), "-") {
		return errors.New("a size cannot be negative")
	}
	n, err := humanize.ParseBytes(text)
	switch {
	case err != nil:
		return errors.New("want a size such as 500MB or 2GiB")
	case n == 0:
		return errors.New("the size must be above 0")
	case n > math.MaxInt64:
		return errors.New("there is no machine with so much memory")
	}
	*s = Size(n)
	return nil
}

// Assignment takes NAME=VALUE apart, as -D gives it. The error says what is
// wanted.
func Assignment(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || value == "" {
		return "", "", errors.New("want NAME=VALUE, such as -D N=16")
	}
	return name, value, nil
}

// List is the value of a flag that takes names with commas between them, without
// the blanks around each. Given twice, the second list counts.
type List []string

// String returns the names with commas between them.
func (l *List) String() string { return strings.Join(*l, ",") }

// Set parses a list. An empty text is an empty list.
func (l *List) Set(text string) error {
	*l = nil
	if strings.TrimSpace(text) == "" {
		return nil
	}
	for _, name := range strings.Split(text, ",") {
		*l = append(*l, strings.TrimSpace(name))
	}
	return nil
}
