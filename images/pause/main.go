// The pause of node images. Debian's catatonit does the waiting and the reaping; what it has not is `-v`, which kubeadm's
// check before an upgrade runs, and which must end.
package main

import (
	"os"
	"slices"
	"syscall"
)

const catatonit = "/catatonit"

func main() {
	mode := "-P"
	if slices.Contains(os.Args[1:], "-v") {
		mode = "--version"
	}
	err := syscall.Exec(catatonit, []string{catatonit, mode}, os.Environ())
	os.Stderr.WriteString("pause: cannot run " + catatonit + ": " + err.Error() + "\n")
	os.Exit(1)
}
