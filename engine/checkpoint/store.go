package checkpoint

import (
	"errors"
	"io"

	"cpor/engine"
	"cpor/statestore"
)

// SaveStore writes a store. The states that the checkpoint with the mark m has not are added to its
// log; m becomes the mark of this one.
func SaveStore(w io.Writer, s statestore.Store, m *Mark) error {
	if err := statestore.Save(s, w); err != nil {
		return err
	}
	next, err := Append(w, *m, func(w io.Writer, anew bool) error {
		return statestore.SaveStates(s, w, anew)
	})
	if err != nil {
		return err
	}
	if next != *m {
		statestore.Keep(s)
	}
	*m = next
	return nil
}

// RestoreStore reads what SaveStore has written, and returns the mark. The error is
// [statestore.ErrFull] or of type [*engine.OptionError].
func RestoreStore(r io.Reader, o statestore.Options) (statestore.Store, Mark, error) {
	s, err := statestore.Restore(r, o)
	if err == nil {
		var m Mark
		m, err = Appended(r, func(r io.Reader) error {
			return statestore.RestoreStates(s, r)
		})
		if err == nil {
			return s, m, nil
		}
	}
	if !errors.Is(err, statestore.ErrFull) {
		err = engine.Unreadable(err)
	}
	return nil, Mark{}, err
}
