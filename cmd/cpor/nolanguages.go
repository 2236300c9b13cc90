//go:build gotests

package main

const onlyTag = "gotests"
