package system

// Renaming is implemented by machines whose locations can get other names when
// an encoded state is loaded: those of a heap, whose objects are named by who
// allocated them while the machine runs, and by their place in the encoding
// after it was loaded; or those of a ring, which the encoding begins with its
// oldest value. Locations of other machines keep their names.
//
// What is remembered of locations across states has to follow the renaming.
type Renaming interface {
	// Renamed returns what location l of the live state is called after Load
	// of the live state's encoding. ok is false if it is not in the encoding,
	// because nothing can reach it any more.
	Renamed(l Loc) (name Loc, ok bool)
}
