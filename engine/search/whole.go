package search

import (
	"cpor/internal/probe"
	"cpor/statestore"
)

// A state is covered faster if the store keeps it whole and need not take it apart. That takes
// several times the memory. So a search whose expander is one for that ([Whole]) unpacks its states
// while there are few of them, and packs them again when there are many. No worker runs meanwhile.

const (
	// wholeBytes is how much memory states may take while they are stored whole. Few processes
	// that search take less anyway.
	wholeBytes = 64 << 20
	// A store must be allowed to take at least so many times as much. So what is stored whole
	// does not end a search for lack of memory.
	wholeShare = 8
	// mostUnpacked is how many states there may be when they are unpacked.
	mostUnpacked = 1 << 17
)

// whole is what a search needs to store states whole.
type whole struct {
	store *statestore.Packed // nil if they are not
	most  uint64             // how many bytes it may take
	pause func()             // pauses the pool to move the states
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
	wants := x.(Whole).Whole()
	if w.store == nil {
		return wants
	}
	return !wants || store.Bytes() > w.most
}

// moveStates unpacks the states, or packs them again. That happens once. No worker runs.
func (r *run) moveStates() error {
	for _, w := range r.workers {
		if d, ok := w.to.(*deferred); ok && d.open > 0 {
			if err := d.settleInto(r.ws); err != nil {
				return err
			}
		}
	}
	w := r.whole
	var name func(statestore.Ref) statestore.Ref
	var err error
	if w.store != nil {
		r.whole = nil
		r.store, name, err = w.store.Return()
		if err != nil {
			return err
		}
	} else {
		if r.store.Len() > mostUnpacked {
			r.whole = nil
			return nil
		}
		o := statestore.Options{MaxBytes: r.watch.Memory().ForStores()}
		w.store, name, err = statestore.Unpack(r.store, o)
		if err != nil {
			r.whole = nil
			return nil
		}
		r.store = w.store
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
