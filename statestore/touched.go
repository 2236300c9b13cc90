package statestore

// Parts implements [Numbering].
func (x *treeSession) Parts(length int, word int32, mask uint64) (parts uint32) {
	f := x.cur
	if f == nil || f.sh.n != length {
		return 0
	}
	for _, v := range f.sh.vertex[f.sh.leafOf[word]:f.sh.leafOf[word+1]] {
		if v.mask&mask != 0 {
			parts |= 1 << v.part
		}
	}
	return parts
}
