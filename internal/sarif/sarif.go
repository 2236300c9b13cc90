// Package sarif writes findings as SARIF 2.1.0 (Static Analysis Results Interchange Format, OASIS,
// 2020), which code hosts and editors show at the lines that they are about.
//
//	log := sarif.Log{Version: "v1.0", Done: true}
//	log.Add(sarif.Finding{Rule: "deadlock", Message: "A waits", At: sarif.Place{"a.go", 3, 0}})
//	err := log.WriteFile("found.sarif")
//
// Libraries for the format cover all of it, with a type and a builder for each of its sixty
// objects. These are the ten that findings with executions need.
package sarif

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Place is a place in a file. Line and Col count from 1; 0 is unknown.
type Place struct {
	File      string // as on the command line: relative to the working directory, or absolute
	Line, Col int
}

// Step is a step of an execution.
type Step struct {
	Thread, Text string
	At           Place
}

// Finding is something that is wrong.
type Finding struct {
	Rule    string // its kind, such as deadlock
	Message string
	Warning bool // not an error
	At      Place
	Steps   []Step // the execution that leads there; nil if it is not known
}

// Log is the result of a run of cpor.
type Log struct {
	Version string // of cpor
	// Done: everything was covered, or searched for until a failure. Otherwise Notes say what is
	// open.
	Done     bool
	Notes    []string
	findings []Finding
}

// Add adds a finding.
func (l *Log) Add(f Finding) { l.findings = append(l.findings, f) }

// Note adds a note on what is open, so the run is not done.
func (l *Log) Note(text string) {
	l.Notes = append(l.Notes, text)
	l.Done = false
}

// mostSteps bounds the steps of an execution, since readers of the format do, too. The last ones
// are kept.
const mostSteps = 1000

// The names are those of the format.
type (
	logObject struct {
		Schema  string      `json:"$schema"`
		Version string      `json:"version"`
		Runs    []runObject `json:"runs"`
	}
	runObject struct {
		Tool struct {
			Driver driver `json:"driver"`
		} `json:"tool"`
		Invocations []invocation `json:"invocations"`
		Results     []result     `json:"results"`
	}
	driver struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		Rules   []rule `json:"rules"`
	}
	rule struct {
		ID string `json:"id"`
	}
	invocation struct {
		Successful    bool           `json:"executionSuccessful"`
		Notifications []notification `json:"toolExecutionNotifications,omitempty"`
	}
	notification struct {
		Level   string  `json:"level"`
		Message message `json:"message"`
	}
	message struct {
		Text string `json:"text"`
	}
	result struct {
		RuleID    string     `json:"ruleId"`
		RuleIndex int        `json:"ruleIndex"`
		Level     string     `json:"level"`
		Message   message    `json:"message"`
		Locations []location `json:"locations"`
		CodeFlows []codeFlow `json:"codeFlows,omitempty"`
	}
	location struct {
		Physical *physical `json:"physicalLocation,omitempty"`
		Message  *message  `json:"message,omitempty"`
	}
	physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *region `json:"region,omitempty"`
	}
	region struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	codeFlow struct {
		Flows []threadFlow `json:"threadFlows"`
	}
	threadFlow struct {
		ID        string     `json:"id"`
		Locations []flowStep `json:"locations"`
	}
	flowStep struct {
		Location location `json:"location"`
		Order    int      `json:"executionOrder"`
	}
)

// MarshalJSON returns the log in the format.
func (l *Log) MarshalJSON() ([]byte, error) {
	var run runObject
	run.Tool.Driver = driver{Name: "cpor", Version: l.Version, Rules: []rule{}}
	inv := invocation{Successful: l.Done}
	for _, n := range l.Notes {
		inv.Notifications = append(inv.Notifications, notification{"warning", message{n}})
	}
	run.Invocations, run.Results = []invocation{inv}, []result{}
	rules := map[string]int{}
	for _, f := range l.findings {
		i, known := rules[f.Rule]
		if !known {
			i = len(rules)
			rules[f.Rule] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule{f.Rule})
		}
		r := result{RuleID: f.Rule, RuleIndex: i, Level: "error", Message: message{f.Message},
			Locations: []location{}, CodeFlows: flows(f.Steps)}
		if f.Warning {
			r.Level = "warning"
		}
		if p := f.At.physical(); p != nil {
			r.Locations = append(r.Locations, location{Physical: p})
		}
		run.Results = append(run.Results, r)
	}
	return json.MarshalIndent(logObject{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []runObject{run}}, "", "  ")
}

// WriteFile writes the log to a file.
func (l *Log) WriteFile(name string) error {
	b, err := l.MarshalJSON()
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o666)
}

// flows returns an execution as the format wants it: the steps of each thread, with their numbers.
func flows(steps []Step) []codeFlow {
	first := max(0, len(steps)-mostSteps)
	var threads []threadFlow
	index := map[string]int{}
	for i, s := range steps[first:] {
		k, known := index[s.Thread]
		if !known {
			k = len(threads)
			index[s.Thread] = k
			threads = append(threads, threadFlow{ID: s.Thread})
		}
		threads[k].Locations = append(threads[k].Locations, flowStep{
			Location: location{Physical: s.At.physical(), Message: &message{s.Text}},
			Order:    first + i + 1})
	}
	if threads == nil {
		return nil
	}
	return []codeFlow{{threads}}
}

// physical returns a place in the format; nil if it is in no file.
func (p Place) physical() *physical {
	if p.File == "" || strings.HasPrefix(p.File, "<") { // such as <stdin>
		return nil
	}
	out := new(physical)
	out.Artifact.URI = uri(p.File)
	if p.Line > 0 {
		out.Region = &region{p.Line, p.Col}
	}
	return out
}

// uri returns the URI of a file: relative if it is below the working directory, since then a
// reader finds it in another copy of the sources, too.
func uri(file string) string {
	if filepath.IsAbs(file) {
		here, err := os.Getwd()
		if err == nil {
			if rel, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(rel) {
				file = rel
			}
		}
	}
	path := filepath.ToSlash(filepath.Clean(file))
	if !filepath.IsAbs(file) {
		return (&url.URL{Path: path}).String()
	}
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
}
