package search

import (
	"cpor/internal/probe"
	"cpor/statestore"
)

// A state is covered faster if the store keeps it whole and need not take it apart. That takes
// several times the memory. So a search whose expander gains from that ([Whole]) moves its states
// to a Whole store while there are few of them, and back when there are many. The pool pauses for
// both.

const (
	// wholeBytes is how much memory states may take while they are stored whole. Few processes
	// that search take less anyway.
	wholeBytes = 256 << 20
	// A store must be allowed to take at least so many times as much. So what is stored whole
	// does not end a search for lack of memory.
	wholeShare = 8
	// mostMoved is how many states there may be when they are moved there.
	mostMoved = 1 << 17
)

// whole is what a search needs to store states whole.
type whole struct {
	store *statestore.Whole // nil if they are not
	most  uint64            // how many bytes it may take
	pause func()            // pauses the pool to move the states
}

// mayStoreWhole prepares a search for storing states whole, if it can and x may want it.
func (r *run) mayStoreWhole(x Expander) {
	if probe.On {
		return // what is simulated is one pool with one store
	}
	_, can := x.(Whole)
	_, alone := r.place.(memoryPlace)
	limit, most := r.watch.Memory().ForStores(), r.o.sizes.WholeBytes
	if most == 0 && r.o.sizes == (Sizes{}) {
		most = wholeBytes
	}
	if can && alone && most > 0 && r.o.Store == statestore.Tree && r.o.Hook == nil &&
		(limit == 0 || limit >= wholeShare*most) {
		r.whole = &whole{most: most}
	}
}

// due reports whether it is time to move the states of a store.
func (w *whole) due(x Expander, store statestore.Store) bool {
	wants, refuses := x.(Whole).Whole(w.store != nil)
	if w.store == nil {
		return wants
	}
	return refuses || store.Bytes() > w.most
}

// moveStates moves the states to the other store, there and back once. No worker runs.
func (r *run) moveStates() error {
	for _, w := range r.workers {
		if d, ok := w.to.(*deferred); ok && d.open > 0 {
			if err := d.settleInto(r.ws); err != nil {
				return err
			}
		}
	}
	name, err := r.moveStore()
	if name == nil {
		return err
	}
	r.ws.Rename(name)
	for f := range r.found.All() {
		f.ref = name(f.ref)
	}
	for _, w := range r.workers {
		if w.to != nil {
			w.join()
		}
	}
	return nil
}

// moveStore moves the states to the other store, and returns what maps their Refs; nil if they stay
// where they are, or there is no memory to move them back.
func (r *run) moveStore() (name func(statestore.Ref) statestore.Ref, err error) {
	w := r.whole
	if w.store != nil {
		r.whole = nil
		r.store, name, err = w.store.Return()
		return name, err
	}
	if r.store.Len() <= mostMoved {
		o := statestore.Options{MaxBytes: r.watch.Memory().ForStores()}
		w.store, name, _ = statestore.TakeOver(r.store, o)
	}
	if name == nil {
		r.whole = nil
		return nil, nil
	}
	r.store = w.store
	return name, nil
}
