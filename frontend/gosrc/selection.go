package gosrc

import (
	"fmt"
	"regexp"
	"strings"
)

// Selection returns which tests and subtests, by their full names, are chosen by patterns like
// those of go test's flags -run and -skip. The error names an invalid pattern.
func Selection(run, skip string) (func(name string) bool, error) {
	r, err := elements("run", run)
	if err != nil {
		return nil, err
	}
	s, err := elements("skip", skip)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		parts := strings.Split(name, "/")
		if len(s) > 0 && len(parts) >= len(s) && matches(parts, s) {
			return false
		}
		return matches(parts, r)
	}, nil
}

// matches reports whether each part of a name matches its element, as far as there are both.
func matches(parts []string, elems []*regexp.Regexp) bool {
	for i := range min(len(parts), len(elems)) {
		if !elems[i].MatchString(parts[i]) {
			return false
		}
	}
	return true
}

// elements compiles the parts of a pattern between slashes outside brackets, as package testing
// does.
func elements(name, pattern string) ([]*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	var out []*regexp.Regexp
	for i, p := range splitRegexp(pattern) {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("-%s: element %d (%q): %w", name, i, p, err)
		}
		out = append(out, re)
	}
	return out, nil
}

func splitRegexp(s string) []string {
	var out []string
	brackets, parens, from := 0, 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			brackets++
		case ']':
			brackets = max(0, brackets-1)
		case '(':
			if brackets == 0 {
				parens++
			}
		case ')':
			if brackets == 0 {
				parens--
			}
		case '\\':
			i++
		case '/':
			if brackets == 0 && parens == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}
