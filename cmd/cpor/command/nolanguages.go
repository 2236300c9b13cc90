//go:build gotests

package command

const onlyTag = "gotests"
