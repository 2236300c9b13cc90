package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"cpor/system"
)

// A trace file is one JSON object:
//
//	trace   = { ["params"] ["flags"] ["kind" "message"] "pos" "initial" ["choices"]
//	            "trace": [ event... ] "final": [ thread... ] ["states": [ state... ]]
//	            ["history"] } .
//	event   = { "thread" "pos" "text" ["alt"] ["calls"] ["deeds"] ["messages"]
//	            "accesses" "locals" ["changed"] } .
//	state   = { "shared" "threads": { name: thread } } .
//
// Members in brackets are left out if empty. States, if there are any, are one more than events.
// The types below have all members, and docs/traces.md says what they mean.

// RecordJSON is the form of an execution in the command's JSON; docs/traces.md lists the
// members. Places are as [PosString] prints them.
type RecordJSON struct {
	Params  map[string]string `json:"params,omitempty"` // as in [Record]
	Flags   map[string]string `json:"flags,omitempty"`
	Kind    string            `json:"kind,omitempty"` // of the violation, with Message and Pos
	Message string            `json:"message,omitempty"`
	Pos     string            `json:"pos"`
	Initial int               `json:"initial"`
	Choices []string          `json:"choices,omitempty"`
	Trace   []EventJSON       `json:"trace"`
	Final   []ThreadJSON      `json:"final"`
	States  []StateJSON       `json:"states,omitempty"`
	History *History          `json:"history,omitempty"`
}

// EventJSON is the form of an [Event].
type EventJSON struct {
	Thread   string            `json:"thread"`
	Pos      string            `json:"pos"`
	Text     string            `json:"text"`
	Alt      uint64            `json:"alt,omitempty"`
	Calls    []CallJSON        `json:"calls,omitempty"`
	Deeds    []string          `json:"deeds,omitempty"`
	Messages []MessageJSON     `json:"messages,omitempty"`
	Accesses []AccessJSON      `json:"accesses"`
	Locals   map[string]string `json:"locals"`
	Changed  []string          `json:"changed,omitempty"`
}

// CallJSON is a call around an event.
type CallJSON struct {
	Func string `json:"func"`
	Pos  string `json:"pos"`
}

// MessageJSON is a message that an event sent or received.
type MessageJSON struct {
	Kind    string `json:"kind"` // send, receive
	Channel string `json:"channel"`
	Value   string `json:"value"`
	Step    int    `json:"step,omitempty"` // at the other end, from 1
	With    string `json:"with,omitempty"` // the thread at the other end, if it is the same step
}

// AccessJSON is the form of an [Access].
type AccessJSON struct {
	Loc      string `json:"loc"`
	Write    bool   `json:"write"`
	Value    string `json:"value"`
	Internal bool   `json:"internal,omitempty"`
}

// ThreadJSON is the form of a [Thread].
type ThreadJSON struct {
	Thread   string            `json:"thread"`
	State    string            `json:"state"`             // enabled, blocked, ended
	Stopped  bool              `json:"stopped,omitempty"` // it has ended by violating a property
	AtEnd    bool              `json:"at_end,omitempty"`
	Pos      string            `json:"pos,omitempty"`
	Text     string            `json:"text,omitempty"`
	Waits    []AccessJSON      `json:"waits,omitempty"`
	WaitsFor []string          `json:"waits_for,omitempty"`
	Locals   map[string]string `json:"locals"`
}

// StateJSON is the form of a [State]: its values and its threads by name.
type StateJSON struct {
	Shared  map[string]string     `json:"shared"`
	Threads map[string]ThreadJSON `json:"threads"`
}

// PosString returns a place as FILE:LINE:COL, without the parts that are unknown; "" for no place.
func PosString(p system.Pos) string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// MarshalJSON returns the event as it appears in the command's JSON: [EventJSON].
func (e Event) MarshalJSON() ([]byte, error) { return marshal(e.form()) }

func (e *Event) form() EventJSON {
	j := EventJSON{
		Thread: e.Thread, Pos: PosString(e.Pos), Text: e.Text, Alt: e.Step.Alt, Deeds: e.Deeds,
		Accesses: accessesJSON(e.Accesses), Locals: localsJSON(e.Locals),
	}
	for _, c := range e.Calls {
		j.Calls = append(j.Calls, CallJSON{c.Func, PosString(c.Pos)})
	}
	for _, m := range e.Messages {
		kind := "receive"
		if m.Sent {
			kind = "send"
		}
		j.Messages = append(j.Messages, MessageJSON{kind, m.Channel, m.Value, m.Other + 1,
			m.WithName})
	}
	for _, b := range e.Changed {
		j.Changed = append(j.Changed, b.Name)
	}
	return j
}

func (s *State) form() StateJSON {
	j := StateJSON{localsJSON(s.Shared), map[string]ThreadJSON{}}
	for i := range s.Threads {
		j.Threads[s.Threads[i].Name] = s.Threads[i].form()
	}
	return j
}

func (t *Thread) form() ThreadJSON {
	j := ThreadJSON{Thread: t.Name, State: t.Kind.String(), Stopped: t.Stopped, AtEnd: t.AtEnd,
		Pos: PosString(t.Pos), Text: t.Text, WaitsFor: t.WaitsFor,
		Locals: localsJSON(t.Locals)}
	if t.Kind == system.Moved {
		j.State = "enabled"
	}
	if len(t.Waits) > 0 {
		j.Waits = accessesJSON(t.Waits)
	}
	return j
}

// MarshalJSON returns the record as it appears in the command's JSON: [RecordJSON].
func (r *Record) MarshalJSON() ([]byte, error) {
	j := RecordJSON{Params: r.Params, Flags: r.Flags, Initial: r.Initial, Choices: r.Choices,
		Trace: make([]EventJSON, len(r.Events)), Final: make([]ThreadJSON, len(r.Final)),
		History: r.History}
	for i := range r.Events {
		j.Trace[i] = r.Events[i].form()
	}
	for i := range r.Final {
		j.Final[i] = r.Final[i].form()
	}
	for i := range r.States {
		j.States = append(j.States, r.States[i].form())
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

func accessesJSON(as []Access) []AccessJSON {
	js := make([]AccessJSON, len(as))
	for i, a := range as {
		js[i] = AccessJSON(a)
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

// NeedsStates reports whether a file of this name shows whole states, so that the record must
// contain them: names that end in .itf.json or .states.json.
func NeedsStates(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".itf.json") || strings.HasSuffix(name, ".states.json")
}

// Headline returns the kind and the message of a violation, as "kind: message",
// without saying the kind twice.
func Headline(v *system.Violation) string {
	kind := string(v.Kind)
	if rest, ok := strings.CutPrefix(v.Message, kind); ok && (rest == "" || rest[0] == ':' ||
		rest[0] == ' ') {
		return v.Message
	}
	return kind + ": " + v.Message
}
