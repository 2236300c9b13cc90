package cluster

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"cpor/engine"
	"cpor/engine/cluster/division"
	"cpor/statestore"
)

// The messages between ranks, where uvarint is an unsigned varint of encoding/binary and record
// is in outbox.go:
//
//	message = states | ask | report | stop | pause | end | last | data .
//	states  = 0x01 { record } .         states for their owner, by at least one record
//	ask     = 0x02 wave .               from rank 0
//	report  = 0x03 wave passive sent received progress .        to rank 0
//	stop    = 0x04 { byte } .           to rank 0, and then from it: the reason as text
//	pause   = 0x08 .                    to rank 0, and then from it
//	end     = 0x05 .                    from rank 0
//	last    = 0x06 .                    to all
//	data    = 0x07 { byte } .           after the search: what Gather and Broadcast are given
//
//	wave, sent, received = uvarint .    the number of the wave; messages of states
//	passive  = 0x00 | 0x01 .
//	progress = states transitions attempts queued storeBytes memory maxDepth violations .
//	                                    uvarints

// The kinds of messages: the first byte of each.
const (
	kindStates byte = iota + 1 // states for their owner
	kindAsk                    // rank 0 asks for a report
	kindReport                 // the answer
	kindStop                   // to rank 0: let the search be stopped; from it: it is
	kindEnd                    // from rank 0: everything is covered
	kindLast                   // no message of the search comes from this rank after this one
	kindData                   // what the ranks tell each other when the search is over
	kindPause                  // to rank 0: let the search pause; from it: it is to
)

// Part is one rank's part of a search, as the exchange sees it. All methods are
// called from the goroutine that runs Exchange.Run.
type Part interface {
	// Arrive takes a state that another rank has reached and this one owns. It
	// must not wait for other ranks. The state is valid during the call.
	Arrive(a *Arrival) error
	// Means says what a number of a rank means, before a state with it arrives: in states of
	// that length the part has the value, word by word. The value is valid during the call.
	Means(from, length, part int, number uint32, value []uint64) error
	// Arrived is called at the end of each message.
	Arrived()
	// Passive reports whether no worker holds a state or looks for one, and the work set is
	// empty; then it stays so until something arrives.
	Passive() bool
	// Progress returns the figures of this rank.
	Progress() Progress
	// End tells the part that everything is covered, Stop that the search is to
	// end now, and Pause that it is to pause: no worker begins with another state.
	// All return at once; Done is closed when no worker runs any more, and can be
	// closed before any of them: then Exchange.RequestStop or RequestPause was called.
	End()
	Stop()
	Pause()
	Done() <-chan struct{}
}

// Arrival is a state that came from another rank.
type Arrival struct {
	Depth  int    // moves from an initial state
	From   int    // the rank that sent it
	Parent uint64 // names the state from which it was reached, on the rank that sent it
	State  []uint64
	// If ByNumbers is set, the state has Length words instead, and its parts are what the sender's
	// Numbers mean.
	ByNumbers bool
	Length    int
	Numbers   [statestore.MaxNumbers]uint32
}

// Options say how large things are. The zero value is ready to use.
type Options struct {
	// BufferBytes is the size of a message of states at which it is sent, but for the first
	// ones, which are smaller; 0 chooses one by the number of ranks and workers.
	BufferBytes int
	// Workers is the number of workers of this rank.
	Workers int
	// Parts is the number of parts of the covered set, 0 for one on each rank.
	// Part i is on the rank i modulo the number of ranks.
	Parts int
	// Division says which part a state belongs to; nil means the zero Division.
	Division *division.Division
	// PauseAfter, if not 0, is when rank 0 lets the search pause.
	PauseAfter time.Duration
	// Report, if not nil, is called on rank 0 with the figures of all ranks, every
	// ReportEvery (0 means a second).
	Report      func(Progress)
	ReportEvery time.Duration
	// Limit, if not nil, is called on rank 0 with the figures of all ranks, some
	// hundred times a second. If it returns a text, the search is stopped with it
	// as the reason.
	Limit func(Progress) string
}

// Outcome is how a search on many ranks has ended, the same on every rank.
type Outcome struct {
	Ended  bool   // everything is covered
	Paused bool   // all that was under way has arrived, and another exchange can go on
	Reason string // otherwise, why it was stopped
}

const (
	// maxInFlight bounds the messages under way to one rank.
	maxInFlight = 4
	// A message of states has between minBuffer and maxBuffer bytes, the first ones up to
	// firstBuffer; the buffers of all workers for all ranks together take about allBuffers.
	minBuffer, maxBuffer = 1 << 10, 1 << 16
	firstBuffer          = 1 << 12
	allBuffers           = 1 << 27
	// The speaking goroutine sleeps between minSleep and maxSleep when there is
	// nothing to do.
	minSleep, maxSleep = 20 * time.Microsecond, time.Millisecond
	// limitEvery is how often figures are requested because of a limit.
	limitEvery = 5 * time.Millisecond
)

// Exchange is one rank's side of the traffic of a search.
type Exchange struct {
	comm     engine.Comm
	o        Options
	queue    chan *buffer // full buffers, on their way to the speaking goroutine
	free     chan *buffer
	outboxes []*Outbox
	stop     atomic.Pointer[string] // the first reason that RequestStop got
	pause    atomic.Bool            // RequestPause was called

	// Of the speaking goroutine.
	part           Part
	pending        [][]flight // by destination
	held           *buffer    // taken from queue, for a rank with maxInFlight messages under way
	loopback       [][]byte   // messages of this rank to itself
	sent, recv     uint64     // messages of states
	states         uint64     // sent
	bytes          uint64     // sent
	arrival        Arrival
	read           record // of the message that is read
	det            detector
	began          time.Time // when Run did
	ended          time.Time // when Run did
	slept          time.Duration
	lastWave       time.Time // when the last wave began
	reported       time.Time // when Options.Report was last called
	stopRequested  bool      // the request of RequestStop was sent
	pauseSent      bool      // kindPause was sent to all
	pauseRequested bool      // the request of RequestPause was sent
	outcome        *Outcome
	drained        bool   // kindLast was sent
	last           []bool // by rank: kindLast came from it
	lastCount      int    // how many have sent it
	data           []data // messages of kindData that nobody has asked for yet
}

// data is a message of kindData.
type data struct {
	from int
	m    []byte
}

// flight is a message under way.
type flight struct {
	sending engine.Sending
	b       *buffer // to be used again, nil if it is none of those
}

// buffer is a message of states.
type buffer struct {
	to     int
	m      []byte
	states int
	last   record // the last of them
}

// NewExchange returns a rank's side of the traffic. Where several exchanges follow
// each other, c has to be a [Conn].
func NewExchange(c engine.Comm, o Options) *Exchange {
	o.Workers = max(o.Workers, 1)
	others := max(c.Size()-1, 1)
	if o.BufferBytes <= 0 {
		o.BufferBytes = min(max(allBuffers/(o.Workers*others), minBuffer), maxBuffer)
	}
	if o.ReportEvery <= 0 {
		o.ReportEvery = time.Second
	}
	if c, ok := c.(*Conn); ok {
		c.next()
	}
	queue := o.Workers + others
	x := &Exchange{
		comm: c, o: o,
		queue:   make(chan *buffer, queue),
		free:    make(chan *buffer, queue+maxInFlight*others),
		pending: make([][]flight, c.Size()),
		det:     detector{ranks: c.Size()},
		last:    make([]bool, c.Size()),
	}
	if x.o.Parts == 0 {
		x.o.Parts = c.Size()
	}
	if x.o.Division == nil {
		x.o.Division = &division.Division{}
	}
	words := x.o.Division.Words(x.o.Parts)
	for range o.Workers {
		b := &Outbox{x: x, open: make([]*buffer, c.Size()), full: make([]int, c.Size()),
			words: words}
		for i := range b.full {
			b.full[i] = min(firstBuffer, o.BufferBytes)
		}
		x.outboxes = append(x.outboxes, b)
	}
	return x
}

// Parts returns the number of parts of the covered set.
func (x *Exchange) Parts() int { return x.o.Parts }

// Outbox returns a worker's way out.
func (x *Exchange) Outbox(worker int) *Outbox { return x.outboxes[worker] }

// RequestStop asks for the end of the search on all ranks. The first reason
// that reaches rank 0 is that of all. It may be called from any goroutine.
func (x *Exchange) RequestStop(reason string) { x.stop.CompareAndSwap(nil, &reason) }

// RequestPause asks for a pause on all ranks. If the search ends or is stopped first,
// there is none. It may be called from any goroutine.
func (x *Exchange) RequestPause() { x.pause.Store(true) }

// Next returns the exchange that continues with a search that has paused. What RequestStop was
// given holds for it, too.
func (x *Exchange) Next() *Exchange {
	n := NewExchange(x.comm, x.o)
	n.stop.Store(x.stop.Load())
	return n
}

// Run exchanges states until the search has ended or was stopped on all ranks,
// and nothing of it is under way any more. The
// error is one of the message-passing system or of Part.Arrive; the job
// then has to be aborted ([Left]).
func (x *Exchange) Run(part Part) (Outcome, error) {
	x.part, x.began = part, time.Now()
	sleep := minSleep
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		did, err := x.poll()
		if err != nil {
			return Outcome{}, err
		}
		if x.drained && x.lastCount == x.comm.Size() && x.idle() {
			x.ended = time.Now()
			return *x.outcome, nil
		}
		if did {
			sleep = minSleep
			continue
		}
		slept := time.Now()
		timer.Reset(sleep)
		if x.held == nil {
			select {
			case x.held = <-x.queue:
			case <-timer.C:
			}
		} else {
			<-timer.C
		}
		x.slept += time.Since(slept)
		sleep = min(2*sleep, maxSleep)
	}
}

// idle reports whether nothing of this rank is under way.
func (x *Exchange) idle() bool {
	if x.held != nil || len(x.queue) > 0 || len(x.loopback) > 0 {
		return false
	}
	for _, p := range x.pending {
		if len(p) > 0 {
			return false
		}
	}
	return true
}

// poll does once what there is to do, and reports whether there was anything.
func (x *Exchange) poll() (did bool, err error) {
	for _, f := range []func() (bool, error){x.retire, x.sendQueued, x.receive, x.coordinate,
		x.drain} {
		d, err := f()
		did = did || d
		if err != nil {
			return did, err
		}
	}
	return did, nil
}

// retire looks which messages have left.
func (x *Exchange) retire() (did bool, err error) {
	for to, p := range x.pending {
		n := 0
		for _, f := range p {
			done, err := f.sending.Done()
			if err != nil {
				return did, err
			}
			if !done {
				break // the later ones will hardly be
			}
			if f.b != nil {
				select {
				case x.free <- f.b:
				default:
				}
			}
			n++
		}
		if n > 0 {
			did = true
			x.pending[to] = append(p[:0], p[n:]...)
		}
	}
	return did, nil
}

// sendQueued sends full buffers as long as not too much is under way.
func (x *Exchange) sendQueued() (did bool, err error) {
	for {
		if x.held == nil {
			select {
			case x.held = <-x.queue:
			default:
				return did, nil
			}
		}
		if len(x.pending[x.held.to]) >= maxInFlight {
			return did, nil
		}
		b := x.held
		x.held = nil
		if err := x.send(b); err != nil {
			return did, err
		}
		did = true
	}
}

// send sends a message of states.
func (x *Exchange) send(b *buffer) error {
	s, err := x.comm.Send(b.to, b.m)
	if err != nil {
		return err
	}
	x.pending[b.to] = append(x.pending[b.to], flight{s, b})
	x.sent++
	x.states += uint64(b.states)
	x.bytes += uint64(len(b.m))
	return nil
}

// control sends a message of another kind, which may be to this rank itself.
func (x *Exchange) control(to int, kind byte, body []byte) error {
	m := append([]byte{kind}, body...)
	if to == x.comm.Rank() {
		x.loopback = append(x.loopback, m)
		return nil
	}
	s, err := x.comm.Send(to, m)
	if err != nil {
		return err
	}
	x.pending[to] = append(x.pending[to], flight{sending: s})
	return nil
}

// controlAll sends a message to all ranks, this one included.
func (x *Exchange) controlAll(kind byte, body []byte) error {
	for to := range x.comm.Size() {
		if err := x.control(to, kind, body); err != nil {
			return err
		}
	}
	return nil
}

// receive takes the next message.
func (x *Exchange) receive() (did bool, err error) {
	from, m := x.comm.Rank(), []byte(nil)
	if len(x.loopback) > 0 {
		m = x.loopback[0]
		x.loopback = x.loopback[1:]
	} else if from, m, err = x.comm.Receive(); err != nil || m == nil {
		return false, err
	}
	kind, body := m[0], m[1:]
	if c, ok := x.comm.(*Conn); ok && (x.part == nil || x.last[from]) && kind != kindData {
		// The sender is already in the search that comes after this exchange.
		c.keep(from, m)
		return true, nil
	}
	switch kind {
	case kindStates:
		x.recv++
		err = x.arrive(from, body)
	case kindAsk:
		wave, _ := binary.Uvarint(body)
		err = x.control(0, kindReport, x.report(wave).encode())
	case kindReport:
		err = x.addReport(body)
	case kindStop:
		err = x.stopped(from, body)
	case kindPause:
		err = x.paused(from)
	case kindEnd:
		if x.outcome == nil {
			x.outcome = &Outcome{Ended: true}
			x.part.End()
		}
	case kindLast:
		x.last[from] = true
		x.lastCount++
	case kindData:
		x.data = append(x.data, data{from, append([]byte(nil), body...)})
	default:
		err = fmt.Errorf("rank %d sent a message of the unknown kind %d: do all ranks run the "+
			"same cpor?", from, kind)
	}
	return true, err
}

// stopped ends the search with a reason, if it has not ended; on rank 0 the message of another
// rank is a request to tell all.
func (x *Exchange) stopped(from int, reason []byte) error {
	switch {
	case x.outcome != nil:
	case x.comm.Rank() == 0 && from != 0:
		return x.controlAll(kindStop, reason)
	default:
		x.outcome = &Outcome{Reason: string(reason)}
		x.part.Stop()
	}
	return nil
}

// paused is like stopped, for a pause.
func (x *Exchange) paused(from int) error {
	switch {
	case x.outcome != nil:
	case x.comm.Rank() == 0 && from != 0:
		return x.pauseAll()
	default:
		x.outcome = &Outcome{Paused: true}
		x.part.Pause()
	}
	return nil
}

// arrive hands the states of a message to the part.
func (x *Exchange) arrive(from int, m []byte) error {
	a, last := &x.arrival, &x.read
	*last = record{state: last.state[:0], value: last.value[:0]}
	for len(m) > 0 {
		var ok bool
		if m, ok = last.next(m); !ok {
			return damaged(from)
		}
		var err error
		switch last.kind {
		case meaning:
			if err = x.part.Means(from, last.of, last.part, last.number, last.value); err != nil {
				return fmt.Errorf("a part of states from rank %d: %w", from, err)
			}
			continue
		case byNumbers:
			a.State, a.Length, a.Numbers = nil, last.length, last.numbers
		default:
			a.State = last.state
		}
		a.ByNumbers = last.kind == byNumbers
		a.Depth, a.From, a.Parent = last.depth, from, last.parent
		if err = x.part.Arrive(a); err != nil {
			return err
		}
	}
	x.part.Arrived()
	return nil
}

func damaged(from int) error {
	return fmt.Errorf(
		"a message of states from rank %d is damaged: do all ranks run the same cpor?", from)
}

// report returns what this rank says of itself. Workers that are passive have
// put what they had for others into queue, and only this goroutine takes from there.
func (x *Exchange) report(wave uint64) report {
	return report{wave: wave, passive: x.passive(), sent: x.sent, received: x.recv,
		progress: x.part.Progress()}
}

// passive reports whether this rank becomes active only through a message.
func (x *Exchange) passive() bool {
	return x.part.Passive() && x.held == nil && len(x.queue) == 0
}

// addReport takes a report, on rank 0.
func (x *Exchange) addReport(body []byte) error {
	r, err := decodeReport(body)
	if err != nil {
		return err
	}
	ended := x.det.add(r)
	if !x.det.complete() || x.outcome != nil || x.pauseSent {
		return nil
	}
	if ended {
		return x.controlAll(kindEnd, nil)
	}
	if now := time.Now(); x.o.Report != nil && now.Sub(x.reported) >= x.o.ReportEvery {
		if !x.reported.IsZero() { // the first wave is at the beginning
			x.o.Report(x.det.progress)
		}
		x.reported = now
	}
	if x.o.Limit != nil {
		if reason := x.o.Limit(x.det.progress); reason != "" {
			x.RequestStop(reason)
		}
	}
	return nil
}

// coordinate sends a request to stop; and rank 0 begins a wave if it is passive, or
// if figures are due.
func (x *Exchange) coordinate() (did bool, err error) {
	if x.outcome != nil {
		return false, nil
	}
	if r := x.stop.Load(); r != nil && !x.stopRequested {
		x.stopRequested = true
		if x.comm.Rank() == 0 {
			return true, x.controlAll(kindStop, []byte(*r))
		}
		return true, x.control(0, kindStop, []byte(*r))
	}
	if x.pause.Load() && !x.pauseRequested {
		x.pauseRequested = true
		if x.comm.Rank() == 0 {
			return true, x.pauseAll()
		}
		return true, x.control(0, kindPause, nil)
	}
	if x.comm.Rank() != 0 {
		return false, nil
	}
	// Two waves first: a search that has ended shows that before the next pause.
	if x.o.PauseAfter > 0 && !x.pauseSent && x.det.wave >= 2 && x.det.complete() &&
		time.Since(x.began) >= x.o.PauseAfter {
		return true, x.pauseAll()
	}
	// No wave begins behind kindPause: its answers would come behind kindLast, in the exchange
	// that continues, which has waves of the same numbers.
	if x.pauseSent || !x.det.complete() {
		return false, nil
	}
	now := time.Now()
	if !x.waveDue(now.Sub(x.lastWave)) {
		return false, nil
	}
	x.lastWave = now
	return true, x.controlAll(kindAsk, binary.AppendUvarint(nil, x.det.begin()))
}

// waveDue reports whether a wave begins when the last one began so long ago. A wave that found
// somebody active is not repeated at once.
func (x *Exchange) waveDue(since time.Duration) bool {
	every := x.o.ReportEvery
	if x.o.Limit != nil {
		every = min(every, limitEvery)
	}
	if x.o.PauseAfter > 0 {
		every = min(every, x.o.PauseAfter)
	}
	return since >= every || x.passive() && (x.det.lastPassive || since >= maxSleep)
}

// pauseAll lets the search pause; it is rank 0 that does.
func (x *Exchange) pauseAll() error {
	if x.pauseSent {
		return nil
	}
	x.pauseSent = true
	return x.controlAll(kindPause, nil)
}

// drain sends what is left of the search when no worker runs any more, and that
// it was the last.
func (x *Exchange) drain() (did bool, err error) {
	if x.outcome == nil || x.drained {
		return false, nil
	}
	select {
	case <-x.part.Done():
	default:
		return false, nil
	}
	if x.held != nil || len(x.queue) > 0 {
		return false, nil // first these, so that the last is last
	}
	for _, o := range x.outboxes {
		for to, b := range o.open {
			if b != nil {
				o.open[to] = nil
				if err := x.send(b); err != nil {
					return true, err
				}
			}
		}
	}
	x.drained = true
	return true, x.controlAll(kindLast, nil)
}

// Traffic is what a rank has sent in a search.
type Traffic struct {
	States uint64 `json:"states"` // that belong to other ranks, sent to them
	// ByNumbers is how many of these were sent as the numbers of their parts.
	ByNumbers uint64 `json:"by_numbers"`
	Spared    uint64 `json:"spared"`   // such states that had been sent shortly before
	Bytes     uint64 `json:"bytes"`    // of messages of states
	Messages  uint64 `json:"messages"` // of states
	// Largest is how many states the rank with the most has, in terms of the mean of all.
	Largest float64 `json:"largest"`
	// Speaking is how long the goroutines that speak to other ranks, one on each, did
	// not sleep.
	Speaking time.Duration `json:"speaking_ns"`
}

// Add adds what another rank has sent.
func (t *Traffic) Add(u Traffic) {
	t.States += u.States
	t.ByNumbers += u.ByNumbers
	t.Spared += u.Spared
	t.Bytes += u.Bytes
	t.Messages += u.Messages
	t.Speaking += u.Speaking
}

// Traffic returns what this rank has sent, when Run has returned.
func (x *Exchange) Traffic() Traffic {
	t := Traffic{States: x.states, Bytes: x.bytes, Messages: x.sent,
		Speaking: x.ended.Sub(x.began) - x.slept}
	for _, o := range x.outboxes {
		t.Spared += o.spared
		t.ByNumbers += o.byNumbers
	}
	return t
}

// Gather is called by all ranks when Run has returned, and returns on rank 0
// what each has given, by rank; nil on the others.
func (x *Exchange) Gather(m []byte) ([][]byte, error) {
	if err := x.control(0, kindData, m); err != nil {
		return nil, err
	}
	if x.comm.Rank() != 0 {
		return nil, x.waitUntil(func() bool { return true })
	}
	all := make([][]byte, x.comm.Size())
	have := 0
	err := x.waitUntil(func() bool {
		rest := x.data[:0]
		for _, d := range x.data {
			if all[d.from] == nil {
				all[d.from] = append([]byte{}, d.m...)
				have++
			} else {
				rest = append(rest, d) // of the next Gather
			}
		}
		x.data = rest
		return have == len(all)
	})
	return all, err
}

// Broadcast is called by all ranks when Run has returned, and returns what
// rank 0 has given.
func (x *Exchange) Broadcast(m []byte) ([]byte, error) {
	if x.comm.Rank() == 0 {
		for to := 1; to < x.comm.Size(); to++ {
			if err := x.control(to, kindData, m); err != nil {
				return nil, err
			}
		}
		return m, x.waitUntil(func() bool { return true })
	}
	var got []byte
	err := x.waitUntil(func() bool {
		if len(x.data) == 0 {
			return false
		}
		got = x.data[0].m
		x.data = x.data[1:]
		return true
	})
	return got, err
}

// waitUntil takes messages until there is what the caller waits for, and its own
// have left.
func (x *Exchange) waitUntil(there func() bool) error {
	sleep := minSleep
	have := there()
	for !have || !x.idle() {
		did, err := x.retire()
		// What comes behind what the caller waits for is for somebody else.
		if !have && err == nil {
			var d bool
			d, err = x.receive()
			did = did || d
			have = there()
		}
		if err != nil {
			return err
		}
		if did {
			sleep = minSleep
		} else {
			time.Sleep(sleep)
			sleep = min(2*sleep, maxSleep)
		}
	}
	return nil
}
