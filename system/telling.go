package system

// Telling is implemented by machines that can report what a step did, where that says more than
// [Machine.Next] before the step: which alternative was taken, and all statements of a transition
// with several.
type Telling interface {
	// Told returns the place and the text of what the last Step did. Tracking must be on, and so
	// must the telling of a [Narrating] machine.
	Told() (pos Pos, text string)
}

// Narrating is implemented by machines that can describe what a step did besides reading and
// writing variables: what was sent and where, which case was taken, what a blocked thread waits
// for.
type Narrating interface {
	// Narrate switches the recording on or off; it needs tracking. A new
	// machine has it off, because a search needs none of it.
	Narrate(on bool)
	// Story tells of the last Step. It is valid until the next one.
	Story() Story
	// Internal reports whether to hide an access to a location from people, because the story
	// describes it: the tail of a channel, the owner of a mutex.
	Internal(l Loc) bool
}

// Story describes a step besides its accesses.
type Story struct {
	Calls []Call   // the calls around the statement, the outermost first
	Deeds []Deed   // what the step did, in order
	Waits []string // of a step that is blocked: what it waits for ("m, held by P[1]")
	// Within: the step is in the same call of a library as the last step of its thread, or as
	// the last one before the library called the program back.
	Within bool
}

// Call is a call of a function.
type Call struct {
	Func string
	Pos  Pos // of the call
}

// DeedKind tells those deeds apart that a picture of the messages needs to know.
type DeedKind uint8

// The kinds of deeds.
const (
	// Act is any deed that is said in words only.
	Act DeedKind = iota
	// Send puts a message into a channel.
	Send
	// Receive takes a message out of a channel.
	Receive
	// Withdraw takes a message back that its sender had put into a channel
	// without a buffer, because it does something else instead.
	Withdraw
	// Print prints Value, as the program has it, with its line breaks.
	Print
)

// Deed is one thing that a step did.
type Deed struct {
	Kind DeedKind
	// Text is a sentence without its subject, the thread: "send 3 to c (2 of 4)".
	// It is empty if the text of the step says all.
	Text string
	// Channel and Value are what Send, Receive and Withdraw are about, as people
	// see them, and Value what Print prints.
	Channel, Value string
	// Object tells channels of one name apart.
	Object uint64
	// Place is the position among the messages of the channel, the oldest of which is number 0, at
	// which the message was put or taken.
	Place int
	// Direct: the message went from one thread to another in this very step, without
	// a buffer. With is the thread at the other end.
	Direct bool
	With   int
}

// Showing is implemented by machines that can show their whole state to people.
type Showing interface {
	// Variables returns what is shared in the live state: each variable or its elements, and each
	// object such as a channel with its contents, in the order of declaration.
	Variables() []Binding
}

// Beginning is implemented by systems that can say how their initial states come
// about.
type Beginning interface {
	// Choices returns the choices of the initialization that lead to an initial
	// state, each with its place: "choose(0, 2) is 1 at 12:7". Nil if there are
	// none.
	Choices(initial int) []string
}
