package logs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"cpor/detect/computation"
)

// members calls f for each member of a JSON object that is known to be valid
// (json.Valid), with the text of its value. Names with escapes are decoded.
func members(text []byte, f func(name, value []byte) error) error {
	i := skipSpace(text, 1)
	for text[i] != '}' {
		end := endOfString(text, i)
		name := text[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var s string
			if err := json.Unmarshal(text[i:end], &s); err != nil {
				return err
			}
			name = []byte(s)
		}
		i = skipSpace(text, end)
		i = skipSpace(text, i+1) // the colon
		end = endOfValue(text, i)
		if err := f(name, text[i:end]); err != nil {
			return err
		}
		i = skipSpace(text, end)
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return nil
}

// endOfValue returns the index after the JSON value that begins at i.
func endOfValue(text []byte, i int) int {
	switch text[i] {
	case '"':
		return endOfString(text, i)
	case '{', '[':
		depth := 0
		for {
			switch text[i] {
			case '"':
				i = endOfString(text, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] > ' ' {
		i++
	}
	return i
}

// jsonValue returns the value of valid JSON text.
func (a *assignments) jsonValue(text []byte) (computation.Value, error) {
	switch c := text[0]; {
	case c == 'n':
		return computation.Value{}, nil
	case c == '"' && bytes.IndexByte(text, '\\') < 0:
		return computation.StringValue(string(text[1 : len(text)-1])), nil
	case c == '"' || c == '[' || c == '{':
		return computation.ParseJSON(text)
	}
	return a.token(text), nil // a number, true or false
}

// vars assigns the members of a valid JSON object; those of an object within
// become variables of their own.
func (a *assignments) vars(prefix string, text []byte) error {
	return members(text, func(name, value []byte) error {
		if prefix != "" {
			name = append([]byte(prefix), name...)
		}
		if value[0] == '{' {
			return a.vars(string(name)+".", value)
		}
		v, err := a.jsonValue(value)
		if err != nil {
			return err
		}
		a.set(name, v)
		return nil
	})
}

// fastLine is an event of a JSON-lines log, by the texts of its members.
type fastLine struct {
	host, clock, event, vars []byte
}

// parse reads a line if it is an event and nothing else; ok is unset if it has
// to be read by ParseLine.
func (l *fastLine) parse(text []byte) (ok bool) {
	if text[0] != '{' || !json.Valid(text) {
		return false
	}
	*l = fastLine{}
	errOther := fmt.Errorf("other")
	plain := func(value []byte) ([]byte, error) {
		if value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
			return nil, errOther
		}
		return value[1 : len(value)-1], nil
	}
	err := members(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "host":
			l.host, err = plain(value)
		case "event":
			l.event, err = plain(value)
		case "clock":
			l.clock = value
		case "vars":
			if l.vars = value; value[0] != '{' {
				err = errOther
			}
		default:
			err = errOther
		}
		return err
	})
	return err == nil && len(l.host) > 0 && len(l.clock) > 0 && l.clock[0] == '{'
}
