package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/explore"
)

// conformed is what `cpor conform -json` prints.
type conformed struct {
	Verdict string           `json:"verdict"`
	Why     string           `json:"why"`
	Model   string           `json:"model"`
	Logs    []string         `json:"logs"`
	Reading logs.Options     `json:"reading"`
	Cut     map[string]int32 `json:"cut"`
	Next    []coming         `json:"next"`
	Offers  []struct {
		Thread string `json:"thread"`
		Host   string `json:"host"`
		Pos    string `json:"pos"`
		Text   string `json:"text"`
		Does   string `json:"does"`
		Why    string `json:"why"`
	} `json:"offers"`
	Trace json.RawMessage `json:"trace"`
}

type coming struct {
	Host  string   `json:"host"`
	Index int32    `json:"index"`
	Event string   `json:"event"`
	After []coming `json:"after"`
}

// readConform reads a result of `cpor conform`, and the log that it is about.
func readConform(text []byte, dir string) (*explore.Kept, error) {
	var j conformed
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("the result is damaged: %v", err)
	}
	c, err := j.log(dir)
	if err != nil {
		return nil, err
	}
	other := func(what string) error {
		return fmt.Errorf("the log %s is not the one that was checked: %s",
			strings.Join(j.Logs, " "), what)
	}
	cut := c.Initial()
	for host, k := range j.Cut {
		i, ok := c.Process(host)
		if !ok || k < 0 || k > c.Events(i) {
			return nil, other(fmt.Sprintf("it has no event %d of %s", k, host))
		}
		cut[i] = k
	}
	d, rows := document(c, closed(c, cut))
	d.Kind, d.Title = "conform", "the model cannot do what the log shows"
	switch j.Verdict {
	case "accepted":
		d.Kind, d.Title = "detect", "the model can do what the log shows"
	case "incomplete":
		d.Kind, d.Title = "detect", "no answer: "+j.Why
	}
	d.Message = d.Title
	if j.Verdict == "rejected" {
		if d.Parting, err = j.parting(c, rows); err != nil {
			return nil, other(err.Error())
		}
		for _, x := range d.Parting.Next {
			if x.Row >= 0 && len(x.After) == 0 {
				d.Rows[x.Row].Violation = "the model cannot do this here"
			}
		}
	}
	k := &explore.Kept{Documents: []*explore.Document{d}, Summary: strings.Join(j.Logs, " ") +
		" and " + j.Model}
	if len(j.Trace) > 0 {
		t, err := explore.ReadTrace(j.Trace)
		if err != nil {
			return nil, err
		}
		t.Kind, t.Title = "detect", "the model's execution up to there"
		k.Documents = append(k.Documents, t)
	}
	return k, nil
}

// log reads the log again.
func (j *conformed) log(dir string) (*computation.Computation, error) {
	files, err := logFiles(strings.Join(j.Logs, " "), "cpor conform", dir)
	if err != nil {
		return nil, err
	}
	execs, err := logs.ReadFiles(files, strings.NewReader(""), j.Reading)
	if err != nil {
		return nil, fmt.Errorf("the log that the result is about: %v", err)
	}
	return execs[0].Computation, nil
}

// closed returns a cut with the events that those in it depend on. The mapping does not name
// these, so that the result's cut may lack them.
func closed(c *computation.Computation, cut computation.Cut) computation.Cut {
	out := cut.Clone()
	for i, k := range cut {
		if k > 0 {
			out.Join(c.Clock(i, k))
		}
	}
	return out
}

// parting returns where log and model part.
func (j *conformed) parting(c *computation.Computation, rows map[computation.Event]int) (
	*explore.Parting, error) {
	p := &explore.Parting{Next: []explore.Coming{}, Offers: []explore.Offer{}}
	for _, x := range j.Next {
		i, ok := c.Process(x.Host)
		if !ok || x.Index < 1 || x.Index > c.Events(i) {
			return nil, fmt.Errorf("it has no event %d of %s", x.Index, x.Host)
		}
		row, ok := rows[computation.Event{Process: i, Index: x.Index}]
		if !ok {
			row = -1
		}
		next := explore.Coming{Column: i, Row: row, Text: x.Event, After: []string{}}
		for _, a := range x.After {
			next.After = append(next.After, a.Host+": "+a.Event)
		}
		p.Next = append(p.Next, next)
	}
	for _, o := range j.Offers {
		p.Offers = append(p.Offers, explore.Offer{Thread: o.Thread, Host: o.Host,
			Pos: explore.ParsePlace(o.Pos), Text: o.Text, Does: o.Does, Why: o.Why})
	}
	// What the hosts whose events can come now could do comes first.
	now := map[string]int{}
	for _, x := range p.Next {
		if len(x.After) == 0 {
			now[c.Name(x.Column)] = 1
		}
	}
	slices.SortStableFunc(p.Offers, func(a, b explore.Offer) int {
		return now[b.Host] - now[a.Host]
	})
	return p, nil
}
