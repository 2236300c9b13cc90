package models

import (
	"fmt"

	"cpor/model"
)

// Role is what a server is.
type Role uint8

// The roles.
const (
	Follower Role = iota
	Candidate
	Leader
)

// String returns the name of a role.
func (r Role) String() string { return [...]string{"Follower", "Candidate", "Leader"}[r] }

// Message asks for a vote, or gives one.
type Message struct {
	Vote bool
	Term uint8
	From int8
}

// Raft is the election of a leader in Raft (Ongaro, Ousterhout 2014, sections 5.1 and 5.2). Servers
// crash and come back with their term and vote, and a full inbox loses messages. With BUG, the vote
// is lost in a crash, too, and a term can have two leaders.
var Raft = model.New("raft", func(b *model.Builder) {
	const nobody = -1
	n, terms, most := b.Int("N", 3), uint8(b.Int("TERMS", 1)), uint8(b.Int("CRASHES", 1))
	bug := b.Bool("BUG", false)
	inbox := model.NewChans[Message](b, "inbox", n, 1)
	crashes := model.NewVar(b, "crashes", uint8(0))
	leads := make([][]*model.Var[bool], n) // by server and term
	for i := range leads {
		leads[i] = model.NewVars(b, fmt.Sprintf("leads[%d]", i), int(terms)+1, false)
	}

	b.Processes("Server", n, func(p *model.Process, me int) {
		term := model.NewLocal(p, "term", uint8(0))
		votedFor := model.NewLocal[int8](p, "votedFor", nobody)
		role := model.NewLocal(p, "role", Follower)
		votes := model.NewLocal(p, "votes", uint8(0))
		follow := func() { role.Set(Follower); votes.Clear() }

		receive := func() {
			m := inbox[me].Receive()
			if m.Term > term.Get() {
				term.Set(m.Term)
				votedFor.Set(nobody)
				follow()
			}
			switch {
			case m.Term < term.Get():
			case !m.Vote && votedFor.Get() == nobody:
				votedFor.Set(m.From)
				inbox[m.From].TrySend(Message{Vote: true, Term: term.Get(), From: int8(me)})
			case m.Vote && role.Get() == Candidate:
				if votes.Set(votes.Get() + 1); int(votes.Get()) > n/2 {
					role.Set(Leader)
					votes.Clear()
					leads[me][term.Get()].Set(true)
				}
			}
		}
		p.Loop(func() {
			p.MayEnd()
			p.Select(
				model.When(func() bool { return role.Get() != Leader && term.Get() < terms },
					func() { // the timer ends
						term.Set(term.Get() + 1)
						role.Set(Candidate)
						votedFor.Set(int8(me))
						votes.Set(1)
					}).Then(func() {
					for i := range n {
						if i != me {
							p.Step(func() {
								inbox[i].TrySend(Message{Term: term.Get(), From: int8(me)})
							})
						}
					}
				}),
				model.When(func() bool { return crashes.Get() < most }, func() { // and comes back
					crashes.Set(crashes.Get() + 1)
					if follow(); bug {
						votedFor.Set(nobody)
					}
				}),
				model.Do(receive))
		})
	})
	b.Invariant("one leader", func() bool {
		for t := range int(terms) + 1 {
			leaders := 0
			for i := range n {
				leaders += model.Count(leads[i][t].Get())
			}
			if leaders > 1 {
				return false
			}
		}
		return true
	})
})
