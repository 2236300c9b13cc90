//go:build 386 || arm || mips || mipsle

package system

// The states are 64-bit words, their counts and the values of the language are
// converted to int and back, and the stores update 64-bit words atomically at
// places that a 32-bit platform does not align. Also a search there would end
// at 4 GiB. So such a platform is refused, with a name that says why; it is
// declared nowhere.
var _ = cpor_needs_a_64_bit_platform
