// A walk through the standard library; each part checks itself.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func check(good bool, what string) {
	if !good {
		fmt.Fprintln(os.Stderr, "tour:", what)
		os.Exit(1)
	}
}

func files() {
	dir, err := os.MkdirTemp("", "tour")
	check(err == nil, "a temporary directory")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "note.txt")
	check(os.WriteFile(name, []byte("one\ntwo\n"), 0o600) == nil, "writing a file")
	text, err := os.ReadFile(name)
	check(err == nil && string(text) == "one\ntwo\n", "reading it back")
	_, err = os.Stat(filepath.Join(dir, "none"))
	check(errors.Is(err, fs.ErrNotExist), "a missing file")
}

func patterns() {
	pattern := regexp.MustCompile(`(\w+)@(\w+)\.org`)
	check(pattern.ReplaceAllString("write to ada@example.org", "$2:$1") == "write to example:ada", "a pattern")
}

func objects() {
	var value struct {
		Name string `json:"name"`
		List []int  `json:"list"`
	}
	check(json.Unmarshal([]byte(`{"name":"ember","list":[1,2,3]}`), &value) == nil, "reading JSON")
	check(value.Name == "ember" && len(value.List) == 3, "what JSON says")
	text, err := json.Marshal(map[string]any{"b": nil, "a": 1.5})
	check(err == nil && string(text) == `{"a":1.5,"b":null}`, "writing JSON")
}

func dates() {
	day := time.Date(2024, time.February, 28, 23, 0, 0, 0, time.UTC).Add(2 * time.Hour)
	check(day.Format(time.RFC3339) == "2024-02-29T01:00:00Z", "a leap day")
	check(day.Weekday() == time.Thursday, "its weekday")
}

func threads() {
	var group sync.WaitGroup
	var sum int64
	for i := 1; i <= 100; i++ {
		group.Add(1)
		go func(n int64) {
			defer group.Done()
			atomic.AddInt64(&sum, n)
		}(int64(i))
	}
	group.Wait()
	check(sum == 5050, "goroutines")
}

func processes() {
	out, err := exec.Command("cat", "/proc/self/comm").Output()
	check(err == nil && string(out) == "cat\n", "a process")
}

func sockets() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err == nil, "listening")
	go func() {
		conn, err := listener.Accept()
		check(err == nil, "accepting")
		fmt.Fprintln(conn, "hello from the other side")
		conn.Close()
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	check(err == nil, "connecting")
	line, err := bufio.NewReader(conn).ReadString('\n')
	check(err == nil && line == "hello from the other side\n", "what was sent")

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.ToUpper(r.URL.Path))
	}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/ember")
	check(err == nil && answer.StatusCode == http.StatusOK, "a web server")
}

func main() {
	files()
	patterns()
	objects()
	dates()
	threads()
	processes()
	sockets()
	fmt.Println("tour ok")
}
