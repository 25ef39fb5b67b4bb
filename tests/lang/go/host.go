package main

import (
	"fmt"
	"os"
)

func main() {
	_, shadow := os.ReadFile("/etc/shadow")
	_, root := os.ReadDir("/root")
	_, home := os.ReadDir("/home")
	usr := os.WriteFile("/usr/x", []byte("x"), 0o644)
	if shadow == nil || root == nil || home == nil || usr == nil {
		fmt.Println("reached:", shadow, root, home, usr)
		os.Exit(1)
	}
	fmt.Println("host is out of reach")
}
