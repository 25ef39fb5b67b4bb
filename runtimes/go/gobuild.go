// Compiles a Go program with the compiler and the linker alone.
//
//	gobuild PREPARED ENTRY
//
// The go command spends most of its time on finding out what it need not do:
// modules, staleness, its cache. A box has no network and no cache, and the
// standard library is prepared, so all that is left is to follow the imports
// of the files given, to compile the packages in order and to link them.
//
// The working directory is the program's root, ENTRY is below it, and the
// program is left in /sandbox/output/main.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
)

const (
	output = "/sandbox/output/main"
	work   = "/tmp"
)

// A package of the program.
type pkg struct {
	path    string   // how it is imported; "main" is the program
	dir     string   // where it is, relative to the root
	files   []string // its Go files, relative to the root, with ./ before them
	imports []*pkg   // packages of the program it needs
	module  *module  // the module it belongs to
	embed   string   // the file that says what is embedded, if anything is
	object  string   // what is made of it
	done    chan struct{}
	failed  bool
	loading bool
}

// A module: the directory of a go.mod file.
type module struct {
	path    string // what its packages' names begin with; "" if there is no go.mod
	dir     string // relative to the root
	version string // of the language, "" for the newest
	replace map[string]string
}

type builder struct {
	tools    string            // directory of the compiler and the linker
	version  string            // of the language
	standard map[string]string // package to file
	config   string            // the file that lists packages for the tools
	lines    []byte            // its content
	main     *module
	packages map[string]*pkg // by directory
	order    []*pkg          // as they were found: what is needed comes first
	output   sync.Mutex      // one compiler's messages at a time
}

func main() {
	if len(os.Args) != 3 {
		die("usage: gobuild PREPARED ENTRY")
	}
	b := &builder{packages: map[string]*pkg{}}
	b.prepared(os.Args[1])
	entry := named(path.Clean(os.Args[2]))
	if strings.HasSuffix(entry, "_test.go") {
		die("./%s:1: %s holds tests, and there is no go test here: give a program with func main in a file of another name",
			entry, path.Base(entry))
	}
	b.main = findModule(path.Dir(entry))
	program := b.load(path.Dir(entry), "main", b.main, entry, "")
	b.configure(program)
	b.compile()
	b.link(program)
}

// Reports what is wrong with the program and ends; the text is as a compiler's, FILE:LINE:COLUMN: before it if known.
func die(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// The entry under a name that the compiler takes for Go.
func named(entry string) string {
	if strings.HasSuffix(entry, ".go") {
		return entry
	}
	if err := os.Rename(entry, entry+".go"); err != nil {
		die("gobuild: %v", err)
	}
	return entry + ".go"
}

// Reads what prepare.sh left.
func (b *builder) prepared(dir string) {
	tools, err := os.ReadFile(filepath.Join(dir, "toolchain"))
	if err != nil {
		die("gobuild: %v", err)
	}
	b.tools, b.version, _ = strings.Cut(strings.TrimSpace(string(tools)), " ")
	b.config = filepath.Join(dir, "importcfg")
	lines, err := os.ReadFile(b.config)
	if err != nil {
		die("gobuild: %v", err)
	}
	b.lines = bytes.ReplaceAll(lines, []byte("=@/"), []byte("="+dir+"/pkg/"))
	b.standard = map[string]string{}
	for _, line := range strings.Split(string(b.lines), "\n") {
		if name, file, ok := strings.Cut(strings.TrimPrefix(line, "packagefile "), "="); ok {
			b.standard[name] = file
		}
	}
	if !bytes.Equal(lines, b.lines) {
		b.config = ""
	}
}

var (
	moduleLine  = regexp.MustCompile(`(?m)^\s*module\s+"?([^\s"]+)"?`)
	versionLine = regexp.MustCompile(`(?m)^\s*go\s+([0-9]+\.[0-9]+)`)
	replaceLine = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?([^\s"]+)(?:\s+v[^\s]+)?\s+=>\s+(\.\.?/[^\s]*|\.\.?)\s*$`)
)

// The go.mod of this directory or the nearest above it.
func findModule(dir string) *module {
	for {
		if m := readModule(dir); m != nil {
			return m
		}
		if dir == "." || dir == "/" {
			return &module{dir: "."}
		}
		dir = path.Dir(dir)
	}
}

func readModule(dir string) *module {
	text, err := os.ReadFile(path.Join(dir, "go.mod"))
	if err != nil {
		return nil
	}
	m := &module{dir: dir, version: "1.16", replace: map[string]string{}}
	if found := moduleLine.FindSubmatch(text); found != nil {
		m.path = string(found[1])
	}
	if found := versionLine.FindSubmatch(text); found != nil {
		m.version = string(found[1])
	}
	for _, found := range replaceLine.FindAllSubmatch(text, -1) {
		m.replace[string(found[1])] = path.Join(dir, string(found[2]))
	}
	return m
}

// Reads the package in a directory, and those it imports. It is the entry's, or imported in the place named.
func (b *builder) load(dir, name string, mod *module, entry, where string) *pkg {
	p := &pkg{path: name, dir: dir, module: mod, loading: true, done: make(chan struct{})}
	b.packages[dir] = p
	found, err := b.read(dir, entry)
	var several *build.MultiplePackageError
	if errors.As(err, &several) {
		die("%s: found packages %s (%s) and %s (%s) in one directory", path.Join(dir, several.Files[1]), several.Packages[0],
			several.Files[0], several.Packages[1], several.Files[1])
	}
	for _, file := range found.GoFiles {
		p.files = append(p.files, "./"+path.Join(dir, file))
	}
	for _, file := range append(found.CgoFiles, found.InvalidGoFiles...) {
		if !contains(found.GoFiles, file) {
			p.files = append(p.files, "./"+path.Join(dir, file))
		}
	}
	if len(p.files) == 0 {
		die("%spackage %s has no Go files but tests and those of other systems (%s)", where, name, dir)
	}
	// What cannot be parsed is given to the compiler all the same: it says best what is wrong.
	if err == nil {
		if entry != "" && found.Name != "main" {
			die("./%s:1: package %s is not a program: it has to be package main", entry, found.Name)
		}
		if len(found.EmbedPatterns) > 0 {
			b.embed(p, found)
		}
		for _, imported := range found.Imports {
			if need := b.find(p, imported, position(found.ImportPos[imported])); need != nil {
				p.imports = append(p.imports, need)
			}
		}
	}
	p.loading = false
	p.object = filepath.Join(work, fmt.Sprintf("%d.a", len(b.order)))
	b.order = append(b.order, p)
	return p
}

// The files of a directory by go/build's rules: constraints, names, tests.
func (b *builder) read(dir, entry string) (*build.Package, error) {
	context := build.Default
	context.CgoEnabled = false
	context.GOPATH = ""
	context.ReadDir = func(name string) ([]fs.FileInfo, error) {
		entries, err := os.ReadDir(name)
		var infos []fs.FileInfo
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || entry != "" && otherProgram(dir, e.Name(), entry) {
				continue
			}
			if info, err := e.Info(); err == nil {
				infos = append(infos, info)
			}
		}
		return infos, err
	}
	here, err := os.Getwd()
	if err != nil {
		die("gobuild: %v", err)
	}
	found, err := context.ImportDir(filepath.Join(here, dir), 0)
	for _, file := range found.IgnoredGoFiles {
		if line := usesC(path.Join(dir, file)); line != 0 {
			die("./%s:%d: import \"C\" (cgo) is not supported: programs are compiled without a C compiler",
				path.Join(dir, file), line)
		}
	}
	if name := path.Base(entry); entry != "" && !contains(found.GoFiles, name) && !contains(found.InvalidGoFiles, name) {
		return alone(found, name, entry)
	}
	return found, err
}

// The entry by itself, as "go run FILE" takes it: //go:build ignore, other systems' names and the like do not count.
func alone(found *build.Package, name, entry string) (*build.Package, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, entry, nil, parser.ImportsOnly)
	only := &build.Package{Dir: found.Dir, GoFiles: []string{name}, ImportPos: map[string][]token.Position{}}
	if err != nil {
		return only, err
	}
	only.Name = file.Name.Name
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		only.Imports = append(only.Imports, imported)
		only.ImportPos[imported] = append(only.ImportPos[imported], set.Position(spec.Pos()))
	}
	return only, nil
}

var mainFunction = regexp.MustCompile(`(?m)^func main\(\)`)

// Whether a file beside the entry is a program of its own: one directory may hold several of one file each.
func otherProgram(dir, name, entry string) bool {
	if name == path.Base(entry) {
		return false
	}
	text, err := os.ReadFile(path.Join(dir, name))
	return err == nil && mainFunction.Match(text) && !strings.HasSuffix(name, "_test.go")
}

// The line that imports "C", 0 if none does.
func usesC(name string) int {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.ImportsOnly)
	if err != nil {
		return 0
	}
	for _, spec := range file.Imports {
		if spec.Path.Value == `"C"` {
			return set.Position(spec.Pos()).Line
		}
	}
	return 0
}

func position(places []token.Position) string {
	if len(places) == 0 {
		return ""
	}
	here, _ := os.Getwd()
	name := strings.TrimPrefix(places[0].Filename, here+"/")
	return fmt.Sprintf("./%s:%d:%d: ", name, places[0].Line, places[0].Column)
}

// The package of the program that an import means; nil for one of the standard library.
func (b *builder) find(p *pkg, imported, where string) *pkg {
	if _, ok := b.standard[imported]; ok || imported == "unsafe" {
		return nil
	}
	dir, name, mod := b.locate(p, imported)
	if dir == "" {
		switch {
		case build.IsLocalImport(imported) || p.module.path != "" && below(imported, p.module.path):
			die("%spackage %s is not among the files given", where, imported)
		case !strings.Contains(strings.Split(imported, "/")[0], "."):
			die("%spackage %s is not in the standard library (Go %s), nor among the files given", where, imported, b.version)
		default:
			die("%spackage %s is not in the standard library; a box has no network, so modules cannot be fetched "+
				"(give its files below vendor/%s)", where, imported, imported)
		}
	}
	if known := b.packages[dir]; known != nil {
		if known.loading {
			die("%simport cycle not allowed: %s imports %s", where, p.path, imported)
		}
		return known
	}
	return b.load(dir, name, mod, "", where)
}

func below(imported, root string) bool {
	return imported == root || strings.HasPrefix(imported, root+"/")
}

// Where an imported package is, what it is called, and its module; "" if it is not here.
func (b *builder) locate(p *pkg, imported string) (string, string, *module) {
	if build.IsLocalImport(imported) {
		dir := path.Join(p.dir, imported)
		if hasGo(dir) {
			return dir, path.Join("main", dir), p.module
		}
		return "", "", nil
	}
	var tries []string
	if p.module.path != "" && below(imported, p.module.path) {
		tries = append(tries, path.Join(p.module.dir, imported[len(p.module.path):]))
	}
	tries = append(tries, path.Join(b.main.dir, "vendor", imported))
	if b.main.path == "" {
		// Without a go.mod a module has no name: sub, main/sub or any/sub are taken for the directory sub.
		tries = append(tries, imported)
		if _, rest, ok := strings.Cut(imported, "/"); ok {
			tries = append(tries, rest)
		}
	}
	for _, dir := range tries {
		if hasGo(dir) {
			return dir, imported, p.module
		}
	}
	for from, to := range b.main.replace {
		if dir := path.Join(to, strings.TrimPrefix(imported, from)); below(imported, from) && hasGo(dir) {
			mod := readModule(to)
			if mod == nil {
				mod = &module{dir: to}
			}
			mod.path = from
			return dir, imported, mod
		}
	}
	return "", "", nil
}

func hasGo(dir string) bool {
	if dir == "" || dir == ".." || strings.HasPrefix(dir, "../") {
		return false
	}
	found, _ := filepath.Glob(path.Join(dir, "*.go"))
	return len(found) > 0
}

func contains(list []string, word string) bool {
	for _, have := range list {
		if have == word {
			return true
		}
	}
	return false
}

// Writes what the compiler has to know of //go:embed lines: which files each pattern means, and where they are.
func (b *builder) embed(p *pkg, found *build.Package) {
	var config struct {
		Patterns map[string][]string
		Files    map[string]string
	}
	config.Patterns, config.Files = map[string][]string{}, map[string]string{}
	for _, pattern := range found.EmbedPatterns {
		where := position(found.EmbedPatternPos[pattern])
		files := embedded(p.dir, pattern)
		if len(files) == 0 {
			die("%spattern %s: no matching files found", where, pattern)
		}
		for _, file := range files {
			config.Files[file], _ = filepath.Abs(path.Join(p.dir, file))
		}
		config.Patterns[pattern] = files
	}
	text, err := json.Marshal(config)
	if err == nil {
		p.embed = filepath.Join(work, fmt.Sprintf("embed%d", len(b.order)))
		err = os.WriteFile(p.embed, text, 0o600)
	}
	if err != nil {
		die("gobuild: %v", err)
	}
}

// The files that a pattern means, relative to the package; those of a directory without the hidden ones.
func embedded(dir, pattern string) []string {
	glob := strings.TrimPrefix(pattern, "all:")
	if path.IsAbs(glob) || glob == ".." || strings.Contains("/"+glob+"/", "/../") {
		return nil
	}
	matched, _ := filepath.Glob(path.Join(dir, glob))
	var files []string
	for _, match := range matched {
		filepath.WalkDir(match, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			hidden := strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_")
			if name != match && hidden && glob == pattern {
				if entry.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			if entry.Type().IsRegular() {
				relative, _ := filepath.Rel(dir, name)
				files = append(files, filepath.ToSlash(relative))
			}
			return nil
		})
	}
	sort.Strings(files)
	return files
}

// The list of packages for the compiler and the linker. Without packages of the program the prepared one will do.
func (b *builder) configure(program *pkg) {
	if len(b.order) == 1 && b.config != "" {
		return
	}
	text := append([]byte{}, b.lines...)
	for _, p := range b.order {
		if p != program {
			text = append(text, fmt.Sprintf("packagefile %s=%s\n", p.path, p.object)...)
		}
	}
	b.config = filepath.Join(work, "importcfg")
	if err := os.WriteFile(b.config, text, 0o600); err != nil {
		die("gobuild: %v", err)
	}
}

// Compiles the packages, each when those it needs are there.
func (b *builder) compile() {
	room := make(chan struct{}, runtime.NumCPU())
	for _, p := range b.order {
		go func(p *pkg) {
			defer close(p.done)
			for _, need := range p.imports {
				<-need.done
				p.failed = p.failed || need.failed
			}
			if !p.failed {
				room <- struct{}{}
				p.failed = !b.run("compile", b.flags(p)...)
				<-room
			}
		}(p)
	}
	failed := false
	for _, p := range b.order {
		<-p.done
		failed = failed || p.failed
	}
	if failed {
		os.Exit(1)
	}
}

func (b *builder) flags(p *pkg) []string {
	flags := []string{"-o", p.object, "-p", p.path, "-complete", "-pack", "-dwarf=false", "-importcfg", b.config,
		"-D", path.Join("main", p.dir)}
	if workers := runtime.NumCPU(); workers > 1 {
		flags = append(flags, "-c="+strconv.Itoa(min(workers, 4)))
	}
	if p.module.version != "" && older(p.module.version, b.version) {
		flags = append(flags, "-lang=go"+p.module.version)
	}
	if p.embed != "" {
		flags = append(flags, "-embedcfg", p.embed)
	}
	return append(flags, p.files...)
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// Whether a version of the language, such as 1.21, is older than another.
func older(a, b string) bool {
	var major, minor, otherMajor, otherMinor int
	fmt.Sscanf(a, "%d.%d", &major, &minor)
	fmt.Sscanf(b, "%d.%d", &otherMajor, &otherMinor)
	return major < otherMajor || major == otherMajor && minor < otherMinor
}

// -s and -w leave out symbols and debugging information, which take the linker longer than the program itself. Stack
// traces have a table of their own.
func (b *builder) link(program *pkg) {
	if !b.run("link", "-o", output, "-importcfg", b.config, "-buildmode=exe", "-buildid=", "-s", "-w", program.object) {
		os.Exit(1)
	}
}

func (b *builder) run(tool string, args ...string) bool {
	command := exec.Command(filepath.Join(b.tools, tool), args...)
	messages, err := command.CombinedOutput()
	b.output.Lock()
	defer b.output.Unlock()
	os.Stderr.Write(messages)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &exit) && exit.Exited():
		// It said why.
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", tool, err)
	}
	return false
}
