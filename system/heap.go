package system

// Renaming is implemented by machines whose locations can get other names when an encoded state is
// loaded. For example, an object of a heap is named by the thread that allocated it while the
// machine runs, and by its place in the encoding after Load. The encoding of a ring begins with its
// oldest value. Locations of other machines keep their names.
//
// What is remembered about locations across states must follow the renaming.
type Renaming interface {
	// Renamed returns what location l of the live state is called after Load
	// of the live state's encoding. ok is false if it is not in the encoding,
	// because nothing can reach it any more.
	Renamed(l Loc) (name Loc, ok bool)
}
