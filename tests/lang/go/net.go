package main

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

func main() {
	_, err := net.DialTimeout("tcp", "192.0.2.1:80", 5*time.Second)
	switch {
	case err == nil:
		fmt.Println("connected")
	case errors.Is(err, syscall.ENETUNREACH):
		fmt.Println("unreachable")
	default:
		fmt.Println("denied")
	}
}
