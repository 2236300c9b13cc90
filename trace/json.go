package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"cpor/system"
)

// eventJSON is the form of an event in the command's JSON.
type eventJSON struct {
	Thread   string            `json:"thread"`
	Pos      string            `json:"pos"`
	Text     string            `json:"text"`
	Alt      uint64            `json:"alt,omitempty"`
	Calls    []callJSON        `json:"calls,omitempty"`
	Deeds    []string          `json:"deeds,omitempty"`
	Messages []messageJSON     `json:"messages,omitempty"`
	Accesses []accessJSON      `json:"accesses"`
	Locals   map[string]string `json:"locals"`
	Changed  []string          `json:"changed,omitempty"`
}

type callJSON struct {
	Func string `json:"func"`
	Pos  string `json:"pos"`
}

type messageJSON struct {
	Kind    string `json:"kind"` // send, receive
	Channel string `json:"channel"`
	Value   string `json:"value"`
	Step    int    `json:"step,omitempty"` // at the other end, from 1
}

type accessJSON struct {
	Loc      string `json:"loc"`
	Write    bool   `json:"write"`
	Value    string `json:"value"`
	Internal bool   `json:"internal,omitempty"`
}

type threadJSON struct {
	Thread   string            `json:"thread"`
	State    string            `json:"state"` // enabled, blocked, ended
	AtEnd    bool              `json:"at_end,omitempty"`
	Pos      string            `json:"pos,omitempty"`
	Text     string            `json:"text,omitempty"`
	Waits    []accessJSON      `json:"waits,omitempty"`
	WaitsFor []string          `json:"waits_for,omitempty"`
	Locals   map[string]string `json:"locals"`
}

type recordJSON struct {
	Kind    string      `json:"kind,omitempty"`
	Message string      `json:"message,omitempty"`
	Pos     string      `json:"pos"`
	Initial int         `json:"initial"`
	Choices []string    `json:"choices,omitempty"`
	Trace   []Event     `json:"trace"`
	Final   []finalJSON `json:"final"`
	States  []State     `json:"states,omitempty"`
}

type stateJSON struct {
	Shared  map[string]string    `json:"shared"`
	Threads map[string]finalJSON `json:"threads"`
}

type finalJSON Thread

// PosString returns a place as FILE:LINE:COL, without what is not known; ""
// for no place.
func PosString(p system.Pos) string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// MarshalJSON returns the event as it stands in the command's JSON; docs/traces.md
// lists its members.
func (e Event) MarshalJSON() ([]byte, error) {
	j := eventJSON{
		Thread: e.Thread, Pos: PosString(e.Pos), Text: e.Text, Alt: e.Step.Alt, Deeds: e.Deeds,
		Accesses: accessesJSON(e.Accesses), Locals: localsJSON(e.Locals),
	}
	for _, c := range e.Calls {
		j.Calls = append(j.Calls, callJSON{c.Func, PosString(c.Pos)})
	}
	for _, m := range e.Messages {
		kind := "receive"
		if m.Sent {
			kind = "send"
		}
		j.Messages = append(j.Messages, messageJSON{kind, m.Channel, m.Value, m.Other + 1})
	}
	for _, b := range e.Changed {
		j.Changed = append(j.Changed, b.Name)
	}
	return marshal(j)
}

// MarshalJSON returns the state as an object: shared, with the values by name, and
// threads, by name as they stand in final.
func (s State) MarshalJSON() ([]byte, error) {
	j := stateJSON{localsJSON(s.Shared), map[string]finalJSON{}}
	for _, t := range s.Threads {
		j.Threads[t.Name] = finalJSON(t)
	}
	return marshal(j)
}

func (f finalJSON) MarshalJSON() ([]byte, error) {
	j := threadJSON{Thread: f.Name, State: f.Kind.String(), AtEnd: f.AtEnd, Pos: PosString(f.Pos), Text: f.Text, WaitsFor: f.WaitsFor,
		Locals: localsJSON(f.Locals)}
	if f.Kind == system.Moved {
		j.State = "enabled"
	}
	if len(f.Waits) > 0 {
		j.Waits = accessesJSON(f.Waits)
	}
	return marshal(j)
}

// MarshalJSON returns the record as one object: kind, message and pos of the
// violation, initial, choices, trace (the events), final (the threads at the end:
// thread, state, pos, text, waits, waits_for, locals), and states if they were
// recorded.
func (r *Record) MarshalJSON() ([]byte, error) {
	j := recordJSON{Initial: r.Initial, Choices: r.Choices, States: r.States, Trace: r.Events, Final: make([]finalJSON, len(r.Final))}
	if j.Trace == nil {
		j.Trace = []Event{}
	}
	for i, f := range r.Final {
		j.Final[i] = finalJSON(f)
	}
	if v := r.Violation; v != nil {
		j.Kind, j.Message, j.Pos = string(v.Kind), v.Message, PosString(v.Pos)
	}
	return marshal(j)
}

// marshal is json.Marshal without the escapes of HTML, which make source texts
// hard to read.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

func accessesJSON(as []Access) []accessJSON {
	js := make([]accessJSON, len(as))
	for i, a := range as {
		js[i] = accessJSON(a)
	}
	return js
}

func localsJSON(bs []system.Binding) map[string]string {
	m := make(map[string]string, len(bs))
	for _, b := range bs {
		m[b.Name] = b.Value
	}
	return m
}

// WriteJSON writes the record as indented JSON.
func (r *Record) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// NeedsStates tells whether a file of this name shows the whole states, so that the
// record that is written to it must have them: those that end in .itf.json or
// .states.json.
func NeedsStates(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".itf.json") || strings.HasSuffix(name, ".states.json")
}

// WriteFile writes the record to a file, replacing it: in ITF if the name ends in
// .itf.json, as JSON if in .json, as a message-sequence chart if in .svg, otherwise
// as a table with every step. It returns the errors of the file system.
func (r *Record) WriteFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".itf.json"):
		err = r.WriteITF(f)
	case strings.HasSuffix(lower, ".json"):
		err = r.WriteJSON(f)
	case strings.HasSuffix(lower, ".svg"):
		err = r.WriteChart(f)
	default:
		err = r.WriteTable(f, TableOptions{Width: 100})
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
