// Package hub sends messages to everybody who has subscribed.
package hub

import "sync"

// Hub knows its subscribers.
type Hub struct {
	mu   sync.Mutex
	subs map[*Sub]bool
}

// Sub is one subscription.
type Sub struct {
	C    chan string
	gone chan struct{} // closed by Unsubscribe
	hub  *Hub
}

// New returns a hub without subscribers.
func New() *Hub { return &Hub{subs: map[*Sub]bool{}} }

// Subscribe adds a subscriber.
func (h *Hub) Subscribe() *Sub {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Sub{C: make(chan string), gone: make(chan struct{}), hub: h}
	h.subs[s] = true
	return s
}

// Publish sends a message to each subscriber that does not leave meanwhile. It
// holds no lock while it waits.
func (h *Hub) Publish(msg string) {
	h.mu.Lock()
	var subs []*Sub
	for s := range h.subs {
		subs = append(subs, s)
	}
	h.mu.Unlock()
	for _, s := range subs {
		select {
		case s.C <- msg:
		case <-s.gone:
		}
	}
}

// Unsubscribe ends the subscription. It is to be called once.
func (s *Sub) Unsubscribe() {
	s.hub.mu.Lock()
	delete(s.hub.subs, s)
	s.hub.mu.Unlock()
	close(s.gone)
}
