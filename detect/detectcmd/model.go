package detectcmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cpor/detect/computation"
	"cpor/detect/monitor"
	"cpor/internal/cliflag"
)

// Follower takes the events: the name for those who need not know package monitor.
type Follower = monitor.Follower

// Model is what `cpor monitor -model` compares the events with. The rest of the program provides
// it, because nothing below detect depends on models.
type Model interface {
	// Define defines the flags that are only for models, and returns their names.
	Define(f *cliflag.Set) (names []string)
	// Load loads the model.
	Load(file string) error
	// Hosts are those that the model and its mapping name; nil if they name none.
	Hosts() []string
	// About identifies the model and its mapping.
	About() string
	// Follow returns a new follower. The bounds are 0 for none.
	Follow(ctx context.Context, hosts []string, init map[string]map[string]computation.Value,
		maxStates int, maxBytes int64) (Follower, error)
	// Refusal describes where the events and the model of the last follower part, as text and for
	// JSON.
	Refusal() (text string, object any)
	// Why says why there is no answer; empty if there is one.
	Why() string
	// Notes are what else there is to say, a line each.
	Notes() []string
}

// checkModel refuses flags that do not go together with -model, or without it.
func (f *monitorFlags) checkModel() error {
	for _, name := range f.onlyModel {
		if f.Given(name) && f.model == "" {
			return fmt.Errorf("-%s needs -model", name)
		}
	}
	switch {
	case f.model == "" && (f.poss == "") == (f.def == ""):
		return errors.New("want one of -poss EXPR, -def EXPR and -model MODEL")
	case f.model != "" && f.poss+f.def != "":
		return errors.New("want one of -poss EXPR, -def EXPR and -model MODEL, not two")
	}
	return nil
}

// modelConfig completes the configuration for -model.
func (f *monitorFlags) modelConfig(ctx context.Context, m Model, cfg *monitor.Config) error {
	if err := m.Load(f.model); err != nil {
		return err
	}
	if len(cfg.Hosts) == 0 {
		cfg.Hosts = m.Hosts()
	}
	cfg.About = m.About()
	cfg.Follow = func(c monitor.Config) (monitor.Follower, error) {
		return m.Follow(ctx, c.Hosts, c.Init, c.MaxStates, c.MaxBytes*3/4)
	}
	return nil
}

// refuse prints that the events are not those of the model: as text, head prints the first line.
func (c *monitorCommand) refuse(head func()) error {
	text, object := c.model.Refusal()
	if c.json {
		return c.encode(map[string]any{"event": "refused", "model": c.predicate,
			"refusal": object, "status": c.s.Status()})
	}
	head()
	_, err := io.WriteString(c.stdout, text)
	return err
}

const refused = "the model cannot do what the log shows"

// announceModel prints a refusal before the end.
func (c *monitorCommand) announceModel() error {
	return c.refuse(func() {
		fmt.Fprintf(c.stdout, "%s, after %d events\n", refused, c.s.Status().Detected.Events)
	})
}

// endModel says whether the events that have arrived are those of the model, when no more come.
func (c *monitorCommand) endModel() int {
	fits, _, err := c.s.End()
	if err != nil {
		return c.mistake("%v", err)
	}
	for _, n := range c.model.Notes() {
		c.log("note: %s", n)
	}
	switch why := c.model.Why(); {
	case fits:
		c.print("end", "the model can do what the log shows")
		return exitFine
	case why != "":
		c.print("end", "no answer: "+why)
		return exitIncomplete
	}
	c.refuse(func() { c.print("end", refused) })
	return exitAlarm
}
